"""The program `check`: its command line, and the checks that an sshd responds and that this container can log
in to others."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from inside.checks.wait_gone import wait_gone
from inside.protocol import paths

AT_ONCE = 32
MESH_TIMEOUT_S = 20
USAGE = (
    "usage: check sshd ADDRESS PORT SECONDS | check mesh ALIAS... | check gone JOB SECONDS"
    " | check listen|pairs|bandwidth JSON"
)


def main(arguments: Sequence[str]) -> int:
    """Run the check that the arguments name, and return the exit code. `sshd`, `mesh` and `gone` return 0 on
    success, else 1. `listen`, `pairs` and `bandwidth` print their results as JSON and return 0 whatever they find.
    Wrong arguments return 2."""
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
    """Run one of the checks that only `doctor` uses: `listen`, `pairs` or `bandwidth`. `order` is its JSON
    argument. Their modules are imported only here, when they are needed."""
    from inside.checks import listen, pairs

    return {"listen": listen.main, "pairs": pairs.main, "bandwidth": pairs.bandwidth}[what](order)


def check_sshd(address: str, port: int, seconds: float) -> int:
    """Wait up to `seconds` until an SSH server at address:port sends its banner; return the exit code."""
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
    """Return None if an SSH server at address:port sends its banner, else the reason why it does not."""
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
    """Log in to every alias (a host's name in the SSH configuration). Print a JSON object that maps each alias to
    null, or to the last lines of the error. Return the exit code."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        errors: dict[str, str | None] = dict(zip(aliases, pool.map(login_error, aliases), strict=True))
    print(json.dumps(errors))
    return 1 if any(errors.values()) else 0


def login_error(alias: str) -> str | None:
    """Return None if `ssh alias true` works, else the last lines of its error output."""
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
    """Return the last `count` lines of the output, blank lines left out."""
    lines = output.decode("utf-8", "replace").split("\n")
    return "\n".join([line.rstrip("\r") for line in lines if line.strip()][-count:])
