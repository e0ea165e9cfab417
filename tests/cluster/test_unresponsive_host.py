"""A host that stops responding during a command: an error within a known time, exit 4, never a hang. A host
that is only slow is waited for."""

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

import pytest

from hvdocker.errors import HostUnreachable, HvdockerError
from hvdocker.inventory.inventory import Host, SshSettings
from hvdocker.shell.command import command
from hvdocker.transport.errors import translating_errors
from hvdocker.transport.ssh import tcp
from hvdocker.transport.ssh.connect import Credentials
from hvdocker.transport.ssh.keepalive import KeepaliveMonitor, KeepaliveTimes
from hvdocker.transport.ssh.link import SshLink, open_ssh
from tests.cluster.cli import Cli
from tests.cluster.host_snapshot import cluster_leftovers
from tests.cluster.lab import Lab, LabHost
from tests.cluster.lab.wait import until
from tests.cluster.lab_cluster import SMALL_IMAGE, LabCluster

# What goes out and what comes in vanishes, also of connections that are open.
SILENCE = "iptables -w -I INPUT -p tcp --dport 22 -j DROP; iptables -w -I OUTPUT -p tcp --sport 22 -j DROP"
# The kernel goes on to acknowledge, for sessions that do nothing any more.
FREEZE = "pkill -STOP -u trainer sshd"
THAW = "pkill -CONT -u trainer sshd"
KNOWN_S = max(tcp.DEAD_HOST_S, KeepaliveTimes().longest_s)
HASTY = KeepaliveTimes(keepalive_after_s=1, no_answer_s=4)
PATIENT = "patient"
DEADLINE_S = KNOWN_S + 60  # for a machine that is busy with other things


@pytest.fixture
def pair(lab: Lab) -> Iterator[list[LabHost]]:
    pair = lab.fresh(2)
    yield pair
    for host in pair:
        host.attempt(THAW)
        # Nobody told them that the connection is gone.
        host.attempt("pgrep -u trainer -x sleep | xargs -r kill")
        host.repair()


def open_link(lab: Lab, host: LabHost, jump: LabHost | None = None, times: KeepaliveTimes | None = None) -> SshLink:
    ssh = SshSettings(user="trainer", key=str(lab.state.key), jump=f"trainer@{jump.address}" if jump else None)
    pinned = (line.split() for line in lab.state.known_hosts.read_text().splitlines())
    credentials = Credentials(
        accepted={(name, key) for name, _, key in pinned},
        keepalive=KeepaliveMonitor(times or KeepaliveTimes()),
    )
    return open_ssh(Host(host.name, host.address, ssh=ssh), credentials)


def call(link: SshLink, started: Callable[[], object]) -> None:
    """A call of Docker's API that lasts. (The SDK's own streams just end when a connection breaks.)"""
    with translating_errors(link.name, "waiting for a container"):
        engine = link.engine()
        started()
        engine.wait(PATIENT, timeout=600)


def stream(link: SshLink, started: Callable[[], object]) -> None:
    for _ in link.stream(command("sh", "-c", "echo begun; sleep 600")):
        started()


def feed(link: SshLink, started: Callable[[], object]) -> None:
    def endless() -> Iterator[bytes]:
        for chunk in repeat(bytes(1 << 16)):
            started()
            yield chunk

    link.run(command("sh", "-c", "cat > /dev/null"), endless())


def wait(link: SshLink, started: Callable[[], object]) -> None:
    started()
    link.run(command("sleep", "600"), timeout_s=None)


@pytest.mark.parametrize(
    ("is_behind", "end", "times"),
    [(False, SILENCE, KeepaliveTimes()), (True, SILENCE, KeepaliveTimes()), (False, FREEZE, HASTY)],
    ids=["directly", "behind a jump host", "with a frozen sshd"],
)
def test_whatever_was_under_way_ends_with_an_error(
    lab: Lab, pair: list[LabHost], is_behind: bool, end: str, times: KeepaliveTimes
) -> None:
    jump, host = pair
    before = sleepers(host)
    host.docker("run", "-d", "--network", "none", "--name", PATIENT, host.tiny_image(), "sleep", "600")
    link = open_link(lab, host, jump if is_behind else None, times)
    begun: dict[str, bool] = {}
    works = (call, stream, feed, wait)
    with ThreadPoolExecutor(len(works)) as pool:
        ends = {
            work.__name__: pool.submit(work, link, lambda name=work.__name__: begun.setdefault(name, True))
            for work in works
        }
        try:
            all_under_way(host, before, ends, begun)
            host.exec(end)
            errors = {name: error_of(end) for name, end in ends.items()}
        finally:
            link.close()
    assert {name: type(error) for name, error in errors.items()} == dict.fromkeys(errors, HostUnreachable)
    assert all("the connection was lost" in error.what and error.fix for error in errors.values())
    assert {error.host for error in errors.values()} == {host.name}


def sleepers(host: LabHost) -> int:
    """What runs there for us."""
    return int(host.attempt("pgrep -u trainer -x sleep | wc -l")[1])


def all_under_way(host: LabHost, before: int, ends: dict[str, Future[None]], begun: dict[str, bool]) -> None:
    def look() -> bool | None:
        assert not any(end.done() for end in ends.values()), ends
        return True if len(begun) == len(ends) and sleepers(host) == before + 2 else None

    until(look, "everything is under way", 60)


def error_of(end: Future[None]) -> HvdockerError:
    error = end.exception(timeout=DEADLINE_S)
    assert isinstance(error, HvdockerError)
    return error


def test_a_slow_upload_through_a_jump_host_is_not_cut(lab: Lab, pair: list[LabHost]) -> None:
    """4 MB at a quarter of a MB in a second take far longer than the silence that ends a connection; and a
    question waits behind 2 MB that are under way."""
    jump, host = pair
    limit = "-m hashlimit --hashlimit-above 256kb/s --hashlimit-name slow"
    link = open_link(lab, host, jump, KeepaliveTimes(keepalive_after_s=0.2, no_answer_s=3))
    host.exec(f"iptables -w -A INPUT -p tcp --dport 22 {limit} -j DROP")
    data = os.urandom(1 << 22)
    try:
        result = link.run(command("sha256sum"), (data[at : at + 65536] for at in range(0, len(data), 65536)))
    finally:
        link.close()
    assert result.text.split()[0] == hashlib.sha256(data).hexdigest()


def test_up_tells_which_host_fell_silent(lab: Lab, cli: Cli, pair: list[LabHost], tmp_path: Path) -> None:
    """In the longest part: while an image is loaded there."""
    h1, h2 = pair
    h1.load(SMALL_IMAGE)
    h2.attempt(["docker", "rmi", "-f", SMALL_IMAGE])
    site = LabCluster.write(lab, cli, pair)
    process = cli.start("up", site.inventory, cwd=site.folder)
    assert process.stderr is not None
    while "load " not in (line := process.stderr.readline()):
        assert line and process.poll() is None
    h2.exec(SILENCE)
    _, err = process.communicate(timeout=DEADLINE_S + 120)
    assert process.returncode == 4, err
    assert "h2: the connection was lost" in err and "Traceback" not in err
    assert cluster_leftovers([h1], site.cluster) == {}
