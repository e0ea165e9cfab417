"""How many processes each command of `up` and `down` starts on a host, besides those that every command starts.

What a command costs a host is mostly its processes. A change that adds one fails here. If it is worth its price, change
the table and justify it in the commit. No duration is measured. Processes of the engine are not counted: their number
depends on its version, and on the threads of its programs."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hvdocker.inventory.inventory import Host, SshSettings
from hvdocker.locks.holder import Claim
from hvdocker.locks.lock_takeover_commands import beat_lock, look_at_lock, release_lock, take_lock
from hvdocker.observe.probe import listeners, probe
from hvdocker.shell import host_folders
from hvdocker.shell.command import Command, command
from hvdocker.transport.ssh.connect import Credentials
from hvdocker.transport.ssh.link import SshLink, open_ssh
from tests.cluster.lab import Lab, LabHost

# The fourth host of a lab is tidy: the login shells of the others run programs of their own at their start.
TIDY = 4
TRIES = 3
LOCK = "/tmp/hvdocker-counted.lock"
CLAIM = Claim("c0de", "ada", "laptop", "ada", "up", "lab")
FOLDER = "/home/trainer/.hvdocker/counted/h4"
# The login shell, which becomes the shell of the script, and one that decodes the script.
EVERY_COMMAND = 2
EXPECTED = {
    "probe, host without the cluster": 6,
    "probe, host with the cluster": 5,
    "ports": 2,
    "take the lock": 7,
    "renew the lock": 3,
    "read the lock": 5,
    "release the lock": 5,
    "make the folders": 3,
    "write the members": 4,
    "remove the folders": 4,
}


def commands() -> Iterator[tuple[str, Command, bytes]]:
    """Yield the commands in the order in which they run, each with its name in EXPECTED and its standard input."""
    folders = (f"{FOLDER}/code", f"{FOLDER}/jobs")
    yield "probe, host without the cluster", probe("counted", "h4", []), b""
    yield "ports", listeners(), b""
    yield "take the lock", take_lock(CLAIM, LOCK), b""
    yield "renew the lock", beat_lock(CLAIM.token, LOCK), b""
    yield "read the lock", look_at_lock(LOCK), b""
    yield "make the folders", host_folders.make_folders(FOLDER, folders, members="h4=10.0.0.4"), b""
    yield "write the members", host_folders.write_members(FOLDER), b"h4=10.0.0.4\n"
    yield "probe, host with the cluster", probe("counted", "h4", []), b""
    yield "remove the folders", host_folders.remove_tree(FOLDER), b""
    yield "release the lock", release_lock(CLAIM.token, LOCK), b""


@contextmanager
def last_process_id(host: LabHost) -> Iterator[Callable[[], int]]:
    """Yield a function that returns the last process id that the host's kernel gave. It starts no process on it."""
    script = "while read line; do read a b c d last < /proc/loadavg; echo $last; done"
    argv = ["docker", "exec", "-i", host.container, "sh", "-c", script]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdin and reader.stdout
        asks, answers = reader.stdin, reader.stdout

        def read() -> int:
            asks.write("\n")
            asks.flush()
            return int(answers.readline())

        yield read
        asks.close()


def count_processes(link: SshLink, last_id: Callable[[], int]) -> dict[str, int]:
    """Run all commands and return how many processes each started."""
    counts: dict[str, int] = {}
    for name, what, text in (("every command", command("true"), b""), *commands()):
        before = last_id()
        result = link.run(what, [text] if text else None)
        counts[name] = last_id() - before
        assert result.code == 0, result
    return counts


def test_the_processes_that_commands_start_on_a_host(lab: Lab, tmp_path: Path) -> None:
    host = lab.fresh(TIDY)[-1]
    assert host.name == f"h{TIDY}"
    settings = SshSettings(user="trainer", key=str(host.key("trainer")))
    accepted = {(host.address, host.exec("cut -d' ' -f2 /etc/ssh/ssh_host_ed25519_key.pub").strip())}
    link = open_ssh(Host(host.name, host.address, ssh=settings), Credentials(accepted=accepted))
    try:
        with last_process_id(host) as last_id:
            tries = [count_processes(link, last_id) for _ in range(TRIES)]
    finally:
        link.close()
    # Something else on the host may start a process meanwhile.
    counts = {name: min(found[name] for found in tries) for name in tries[0]}
    assert counts.pop("every command") == EVERY_COMMAND
    own = {name: count - EVERY_COMMAND for name, count in counts.items()}
    assert own == EXPECTED, f"measured: {own}"
