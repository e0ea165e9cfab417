"""Runs a short program with a time limit."""

import subprocess
from collections.abc import Sequence


def run_with_limit(command: Sequence[str], limit_s: float) -> tuple[int | None, str]:
    """Run `command` (a program and its arguments); return its exit code and its output (stdout and stderr). If it did
    not start or took longer than `limit_s`, return None and the reason. A program that took too long is killed but not
    waited for, because a program that hangs in a driver does not react even to SIGKILL."""
    try:
        process = subprocess.Popen(
            list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    except OSError as error:
        return None, f"cannot run {command[0]}: {error}\n"
    try:
        printed, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        return None, f"{command[0]} did not answer within {limit_s:g} s\n"
    return process.returncode, printed.decode("utf-8", "replace")
