"""Bringing a cluster up, and `up` on a cluster that is already up."""

import base64
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.benchmark import Bar, Benchmark, Candidate, Row, timed_call
from bench.rows.manual_workers import SSH, ManualWorker, manual_workers
from bench.testbed import SMALL_IMAGE, USER, Testbed, run, run_parallel
from hvdocker.cluster.up import UpOptions, up
from hvdocker.env import Env
from hvdocker.inventory.locate import read_inventory
from hvdocker.transport.pool import for_each_host
from tests.cluster.lab import LabHost
from tests.cluster.lab.wait import in_parallel

PEERS = Path(__file__).parents[1] / "peers"
CLEAR = "docker ps -aq | xargs -r docker rm -f; rm -rf /home/*/.hvdocker /home/*/by-hand"


@contextmanager
def _up(ground: Testbed) -> Iterator[Mapping[str, Candidate]]:
    """Eight hosts that have the image and nothing else. At the end eight workers with the same options, keys
    and files run, and their sshd answers.

    - hvdocker: `hvdocker up` as a process, start to end: connect, observe, plan, create keys, create and
      start the workers, wait for their sshd, log in from one worker to all.
    - floor: ssh to all hosts in parallel; each unpacks the prepared files and does one `docker run` that
      mounts them; then one ssh logs in from the first worker to all.
    - ansible, pyinfra: create, copy files, start, wait for sshd, as four tasks of a playbook, with their
      fastest settings and prepared files; without logins from worker to worker."""
    hosts = ground.hosts()
    inventory = ground.inventory(hosts, SMALL_IMAGE)
    by_hand = manual_workers(ground, hosts, inventory)
    ansible, pyinfra = _ansible(ground, by_hand), _pyinfra(ground, by_hand)

    def clear() -> None:
        in_parallel(lambda host: host.exec(CLEAR), hosts)
        shutil.rmtree(inventory.parent / ".hvdocker", ignore_errors=True)

    yield {
        "hvdocker": Candidate(timed_call(ground.hvdocker, "up", inventory, "-q"), clear),
        "floor": Candidate(timed_call(_floor, ground, by_hand), clear),
        "ansible": Candidate(timed_call(run, ansible, env=_ansible_settings(ground)), clear),
        "pyinfra": Candidate(timed_call(run, pyinfra, cwd=ground.folder), clear),
    }
    clear()


def _floor(ground: Testbed, by_hand: Sequence[ManualWorker]) -> None:
    unpack = "mkdir -p by-hand && tar -xf - -C by-hand"
    lines = [ground.ssh(worker.host, f"{worker.folders} && {unpack} && {worker.run}") for worker in by_hand]
    run_parallel(lines, [worker.files for worker in by_hand])
    names = " ".join(worker.host.name for worker in by_hand)
    begin = f'for host in {names}; do {SSH} $host true & all="$all $!"; done'
    log_in = f"{begin}; for one in $all; do wait $one || exit 1; done"
    # sshd may need a moment after its container has started.
    again = f"for i in 1 2 3 4 5; do docker exec {by_hand[0].name} sh -c '{log_in}' && exit 0; done; exit 1"
    run(ground.ssh(by_hand[0].host, again))


def _variables(worker: ManualWorker) -> dict[str, str]:
    return {
        "worker": worker.name,
        "folders": worker.folders,
        "create": worker.create,
        "files": base64.b64encode(worker.files.read_bytes()).decode(),
        "await_sshd": worker.await_sshd,
    }


def _ansible(ground: Testbed, by_hand: Sequence[ManualWorker]) -> list[str]:
    hosts = {worker.host.address: _variables(worker) for worker in by_hand}
    path = ground.folder / "ansible-hosts.json"
    path.write_text(json.dumps({"all": {"hosts": hosts}}), encoding="utf-8")
    playbook = str(ground.peers / "bin" / "ansible-playbook")
    return [playbook, "-i", str(path), "-f", "50", str(PEERS / "ansible.yaml")]


def _ansible_settings(ground: Testbed) -> dict[str, str]:
    """Return Ansible's fastest settings: pipelining and a shared SSH connection per host."""
    return {
        **os.environ,
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_LOCAL_TEMP": str(ground.folder / "ansible"),
        "ANSIBLE_SSH_ARGS": f"-F {ground.ssh_config} -o ControlMaster=auto -o ControlPersist=1s",
        "ANSIBLE_NOCOLOR": "1",
    }


def _pyinfra(ground: Testbed, by_hand: Sequence[ManualWorker]) -> list[str]:
    way = {
        "ssh_user": USER,
        "ssh_key": str(by_hand[0].host.key(USER)),
        "ssh_known_hosts_file": str(ground.ssh_config.with_name("known_hosts")),
        "ssh_look_for_keys": False,
        "ssh_allow_agent": False,
    }
    hosts = [(worker.host.address, {**way, **_variables(worker)}) for worker in by_hand]
    path = ground.folder / "pyinfra_hosts.py"
    path.write_text(f"hosts = {hosts!r}\n", encoding="utf-8")
    return [str(ground.peers / "bin" / "pyinfra"), "-y", str(path), str(PEERS / "pyinfra_deploy.py")]


@contextmanager
def _up_again(ground: Testbed) -> Iterator[Mapping[str, Candidate]]:
    """Eight healthy workers. Ours: `up` in this process, which observes all hosts and finds nothing to do.
    Theirs: connecting to the same hosts and listing the containers of each engine, also in this process."""
    hosts = ground.hosts()
    env = Env(cwd=ground.folder)
    located = read_inventory(env, ground.inventory(hosts, SMALL_IMAGE))
    up(env, located, UpOptions())

    def ours() -> None:
        assert up(env, located, UpOptions()).plan.is_empty

    def theirs() -> None:
        with ground.links(hosts) as links:
            for_each_host(links, lambda name: links[name].engine().containers(all=True)).or_raise("asking failed")

    yield {"hvdocker": Candidate(ours), "calls": Candidate(theirs)}
    in_parallel(LabHost.reset, hosts)


BENCHMARKS = (
    Benchmark(
        "up",
        _up,
        (
            Row("up, 8 hosts, image present", "ssh docker run, then ssh to all", "hvdocker", "floor", Bar(2.0)),
            Row("up, 8 hosts", "ansible-core", "hvdocker", "ansible", Bar(0.6)),
            Row("up, 8 hosts", "pyinfra", "hvdocker", "pyinfra", Bar(0.9)),
        ),
    ),
    Benchmark(
        "up-again",
        _up_again,
        (
            Row(
                "up again, nothing to do, 8 hosts",
                "connect, one Docker call each",
                "hvdocker",
                "calls",
                Bar(1.5),
            ),
        ),
        is_quick=True,
    ),
)
