"""The program `check`: its command line, and the checks `sshd` (an SSH server responds) and `mesh` (this container can
log in to other hosts)."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from hvdocker.protocol import paths
from inside.checks.wait_gone import wait_gone

AT_ONCE = 32
MESH_TIMEOUT_S = 20
USAGE = (
    "usage: check sshd ADDRESS PORT SECONDS | check mesh ALIAS... | check gone JOB SECONDS"
    " | check listen|pairs|bandwidth JSON"
)


def main(arguments: Sequence[str]) -> int:
    """Run the check that `arguments` name, such as `sshd 10.0.0.2 2222 30`, and return the exit code. `sshd`, `mesh`
    and `gone` return 0 on success, else 1; `mesh` also prints the error of each host as JSON. `listen`, `pairs` and
    `bandwidth` print their results as JSON and return 0 whatever they find. An unknown check or a wrong number of
    arguments prints USAGE and returns 2."""
    if len(arguments) == 4 and arguments[0] == "sshd":
        return check_sshd(arguments[1], int(arguments[2]), float(arguments[3]))
    if len(arguments) > 1 and arguments[0] == "mesh":
        return check_mesh(arguments[1:])
    if len(arguments) == 3 and arguments[0] == "gone":
        return 0 if wait_gone(arguments[1], float(arguments[2])) else 1
    if len(arguments) == 2 and arguments[0] in ("listen", "pairs", "bandwidth"):
        return run_doctor_check(*arguments)
    print(USAGE, file=sys.stderr)
    return 2


def run_doctor_check(what: str, order: str) -> int:
    """Run a check that only `doctor` uses, and return its exit code. `what` is its name: `listen`, `pairs` or
    `bandwidth`. `order` is its JSON argument. The modules of these checks are imported only here, when they are
    needed."""
    from inside.checks import listen, pairs

    return {"listen": listen.main, "pairs": pairs.main, "bandwidth": pairs.bandwidth}[what](order)


def check_sshd(address: str, port: int, seconds: float) -> int:
    """Wait up to `seconds` until an SSH server at address:port sends its banner; return 0 as soon as it does.
    Otherwise print the reason to stderr and return 1."""
    deadline = time.monotonic() + seconds
    while True:
        error = banner_error(address, port, max(0.2, min(2.0, deadline - time.monotonic())))
        if error is None:
            return 0
        if time.monotonic() >= deadline:
            print(f"no SSH server at {address} port {port}: {error}", file=sys.stderr)
            return 1
        time.sleep(0.1)


def banner_error(address: str, port: int, timeout_s: float) -> str | None:
    """Connect once to address:port. Return None if an SSH server there sends its banner, else the reason why not.
    `timeout_s` limits first the time to connect, then the wait for the banner."""
    try:
        with socket.create_connection((address, port), timeout_s) as link:
            link.settimeout(timeout_s)
            banner = link.recv(64)
    except OSError as error:
        return str(error)
    if banner.startswith(b"SSH-"):
        return None
    return f"answered {banner!r}" if banner else "closed the connection at once"


def check_mesh(aliases: Sequence[str]) -> int:
    """Log in to every alias (a host's name in the SSH configuration), many at the same time. Print a JSON object that
    maps each alias to null if the login works, else to its error text. Return 0 if all logins work, else 1."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        errors: dict[str, str | None] = dict(zip(aliases, pool.map(login_error, aliases), strict=True))
    print(json.dumps(errors))
    return 1 if any(errors.values()) else 0


def login_error(alias: str) -> str | None:
    """Log in to a host with `ssh ALIAS true`. Return None if that works, else the reason: the last lines of ssh's error
    output, its exit code, or a message that it took longer than MESH_TIMEOUT_S. `alias` is the host's name in the SSH
    configuration."""
    command = [str(paths.BIN / "ssh"), "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", alias, "true"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=MESH_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {MESH_TIMEOUT_S} s"
    if done.returncode == 0:
        return None
    return last_lines(done.stderr) or f"ssh exited with {done.returncode}"


def last_lines(output: bytes, count: int = 3) -> str:
    """Return the last `count` lines of a command's output as text; blank lines are skipped and not counted."""
    lines = output.decode("utf-8", "replace").split("\n")
    return "\n".join([line.rstrip("\r") for line in lines if line.strip()][-count:])
