"""Commands that are run in containers: checks, and scripts that signal the ranks of a job or the processes of an
`exec`. Pure.

A process is identified by a variable in its environment, which its children inherit. A process id alone is not enough,
because the id of an ended process may be reused."""

from __future__ import annotations

from collections.abc import Iterable

from hvdocker import names
from hvdocker.shell.command import Command, command, shell

JOB_VARIABLE = "HVDOCKER_JOB"
EXEC_VARIABLE = "HVDOCKER_EXEC"
CHECK_PROGRAM = "/opt/hvdocker/bin/check"

# $1 is the signal, $2 the variable with its value, the rest are process ids. Prints the ids that were
# signalled. A process that leads a process group is signalled with its group.
_SIGNAL_SCRIPT = r"""
signal=$1; mark=$2; shift 2
for pid; do
    case $pid in *[!0-9]*|""|0|1|$$) continue;; esac
    tr '\0' '\n' < "/proc/$pid/environ" 2>/dev/null | grep -qxF -e "$mark" || continue
    kill -s "$signal" -- "-$pid" 2>/dev/null || kill -s "$signal" -- "$pid" 2>/dev/null || continue
    echo "$pid"
done
true
"""
# Put before _SIGNAL_SCRIPT, this passes all process ids to it. The shell that runs the script lacks the variable.
_ALL_PROCESSES = 'cd /proc && set -- "$1" "$2" [0-9]*; cd /;'


def check_sshd(address: str, port: int, seconds: int) -> Command:
    """Return the command that waits for the SSH server at `address` and `port`. It exits with 0 as soon as the server
    sends its banner, and with 1 if that does not happen within `seconds`."""
    return command(CHECK_PROGRAM, "sshd", address, str(port), str(seconds))


def check_mesh(members: Iterable[str]) -> Command:
    """Return the command that logs in by ssh to the workers of other hosts. `members` are the names of these hosts. The
    command exits with 0 if all logins work, else with 1."""
    return command(CHECK_PROGRAM, "mesh", *members)


def ranks_folder(job: str) -> str:
    """Return the path of the folder in a container where every rank wrapper of the job `job` writes a file about its
    rank. The file has the process id of the rank's command, by which `end_ranks` finds it."""
    return f"{names.CONTAINER_FOLDER}/ranks/{job}"


def signal_ranks(signal: str, job: str, pids: Iterable[int]) -> Command:
    """Return the command that signals the processes `pids`, but only those that belong to the job `job`, and prints
    their ids. `signal` is a name as for kill, such as `TERM`. With `0` no signal is sent: the command only prints which
    of the processes still run."""
    return shell(_SIGNAL_SCRIPT, signal, f"{JOB_VARIABLE}={job}", *map(str, pids))


def signal_exec(signal: str, token: str) -> Command:
    """Return the command that signals all processes that an `hvdocker exec` started, and prints their ids. `token` is
    the text in their environment that identifies them (`ContainerCommand.token`). `signal` is a name as for kill, such
    as `TERM`. With `0` no signal is sent: the command only prints which of the processes still run."""
    return shell(f"{_ALL_PROCESSES}{_SIGNAL_SCRIPT}", signal, f"{EXEC_VARIABLE}={token}")


def interactive_shell() -> tuple[str, ...]:
    """Return the words of a command that starts an interactive shell: bash if the image has it, else sh."""
    return ("sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash; else exec sh; fi")
