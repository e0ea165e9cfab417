"""A cluster that can train, and helpers to start and inspect jobs on it."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.wait import LabError, until
from tests.cluster.lab_cluster import LabCluster
from tests.cluster.launchers import HOROVOD, LauncherCase

SCRIPTS = Path(__file__).with_name("scripts")
IMAGE = HOROVOD.image
DATA = "/srv/lab-data"
DEADLINE_S = 90.0
# For a line that a restarted job writes.
LINE_DEADLINE_S = 180.0


@contextmanager
def training_cluster(
    lab: Lab,
    desk: Cli,
    mounts: Sequence[str] = (),
    gpus: int = 0,
    asked: Sequence[str] = (),
    count: int = 2,
    launcher: LauncherCase = HOROVOD,
    **extra: Any,
) -> Iterator[LabCluster]:
    """Bring up a cluster that can train with the launcher; `down` and a check for leftovers follow.

    `gpus` is the number of stand-in GPUs of each host, `asked` are flags of `up`, `extra` goes to the
    inventory."""
    hosts = lab.fresh(count)
    with stand_in_gpus(hosts, gpus) if gpus else nullcontext():
        yield from _training_cluster_on(lab, desk, hosts, launcher, asked, {**extra, "mounts": mounts})


@contextmanager
def stand_in_gpus(hosts: Sequence[LabHost], count: int) -> Iterator[None]:
    """Install stand-in GPUs on the hosts. The engine is restarted: it looks for the GPU hook only at its
    start."""
    give = f"echo {count} > /etc/lab-gpus && ln -sf /opt/lab-gpu/* /usr/local/bin/"
    take = "rm -rf /etc/lab-gpus /run/lab-gpu /usr/local/bin/nvidia-*"
    for host in hosts:
        _with_new_engine(host, give)
    try:
        yield
    finally:
        for host in hosts:
            _with_new_engine(host, take)


def _with_new_engine(host: LabHost, script: str) -> None:
    host.stop_engine()
    host.exec(script)
    host.start_engine()


def _training_cluster_on(
    lab: Lab,
    desk: Cli,
    hosts: list[LabHost],
    launcher: LauncherCase,
    asked: Sequence[str],
    extra: Mapping[str, Any],
) -> Iterator[LabCluster]:
    for host in hosts:
        host.exec(f"rm -rf {DATA} && mkdir {DATA} && echo of {host.name} > {DATA}/whose.txt && chmod 777 {DATA}")
    settings: dict[str, Any] = {
        "memory": "2GB",
        "env": {"FROM_INVENTORY": "a b$c;d"},
        **launcher.settings,
        **extra,
        "mounts": [f"{DATA}:/data:ro", *extra["mounts"]],
    }
    site = LabCluster.write(lab, desk, hosts, **settings)
    shutil.copytree(SCRIPTS, site.folder / "code")
    launcher.write_requirements(site.folder / "code")
    try:
        site.run("up", site.inventory, *asked)
        yield site
    finally:
        desk.close()
        site.down("--discard")
        for host in hosts:
            host.exec(f"rm -rf {DATA}")
    assert cluster_leftovers(hosts, site.cluster) == {}


def rank_reports(text: str) -> list[dict[str, Any]]:
    """Parse the JSON that ranks print on lines that begin with `told`; sorted by rank."""
    lines = [line.partition("│ told ")[2] for line in text.splitlines()]
    return sorted((json.loads(line) for line in lines if line), key=lambda rank: int(rank["rank"]))


def job_processes(site: LabCluster, host: LabHost) -> list[str]:
    """Return the command lines in the cluster's containers on that host, without init and idle sshd."""
    names = host.docker("ps", "--filter", f"label=hvdocker.cluster={site.cluster}", "--format", "{{.Names}}")
    tops = [host.docker("top", name, "-eo", "pid,args").splitlines()[1:] for name in names.split()]
    lines = [line.split(None, 1)[1] for top in tops for line in top]
    waiting = ("docker-init", "/sbin/docker-init", "sshd: /usr/sbin/sshd", "/usr/sbin/sshd -D")
    return [line for line in lines if not line.startswith(waiting)]


def await_ranks(site: LabCluster, word: str) -> None:
    """Wait until a process with that word in its command line runs on every host."""
    for host in site.hosts:
        until(partial(_is_running, site, host, word), f"{word} runs on {host.name}", DEADLINE_S)


def _is_running(site: LabCluster, host: LabHost, word: str) -> bool | None:
    return any(word in line for line in job_processes(site, host)) or None


def await_no_ranks(site: LabCluster, hosts: Sequence[LabHost] = (), deadline_s: float = 20) -> None:
    """Wait until nothing but idle workers runs on these hosts; on all hosts by default."""
    for host in hosts or site.hosts:
        until(partial(_has_no_ranks, site, host), f"{host.name} is silent", deadline_s)


def _has_no_ranks(site: LabCluster, host: LabHost) -> bool:
    if left := job_processes(site, host):
        raise LabError("\n".join(left))
    return True


def workers_run(site: LabCluster) -> bool:
    return all(site.inspect_worker(host)["State"]["Running"] for host in site.hosts)


def open_gate(site: LabCluster, name: str) -> None:
    for host in site.hosts:
        host.exec(["touch", f"{DATA}/{name}"])


def train_detached(site: LabCluster, *words: str) -> str:
    """Start a detached job and return its id."""
    return site.run("train", "-d", *words).out.strip()


def wait_for_exit(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    """Wait for a started program; return its exit code, stdout and stderr."""
    out, err = process.communicate(timeout=DEADLINE_S)
    print(out, err, sep="\n--- stderr\n")
    return process.returncode, out, err


@contextmanager
def powered_off(host: LabHost) -> Iterator[None]:
    host.kill()
    try:
        yield
    finally:
        host.start()


def await_line(site: LabCluster, job: str, pattern: str, after: int = 0) -> re.Match[str]:
    """The first match in the job's output from `after` on."""

    def look() -> re.Match[str] | None:
        return re.compile(pattern).search(site.run("logs", job).out, after)

    return until(look, f"{job} says {pattern}", LINE_DEADLINE_S, pause_s=1.0)
