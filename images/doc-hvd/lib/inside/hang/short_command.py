"""Runs a program that has to be brief."""

import subprocess
from collections.abc import Sequence


def output_of(command: Sequence[str], limit_s: float) -> tuple[int | None, str]:
    """Its exit code and all that it printed; no code where it did not start or took too long. It is not
    waited for then: what hangs in a driver cannot even be killed."""
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
