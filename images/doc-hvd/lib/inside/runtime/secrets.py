"""Reads and removes a job's secrets. Secrets are files that the controller puts into this container, in a folder of the
job. They are removed when the job ends."""

import shlex
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from hvdocker.protocol import paths

REMOVE_CONNECT_S = 3
REMOVE_S = 5.0


class SecretError(Exception):
    """The error that a secret of the job cannot be read in this container. `code` is the exit code with which the rank
    then ends."""

    code = 2


def read_secrets(job: str, names: Sequence[str], run: Path = paths.RUN) -> list[bytes]:
    """Return the values of the job's secrets `names`, so that they can be masked in the output. Raises SecretError if
    one cannot be read. `run` is the folder /run/hvdocker."""
    folder = paths.secrets_folder(job, run)
    try:
        return [(folder / name).read_bytes() for name in names]
    except OSError as error:
        raise SecretError(f"cannot read the secret {error.filename}: {error.strerror}") from error


def remove_secrets(job: str, run: Path = paths.RUN) -> None:
    """Remove the job's secrets from this container, if they are there. Errors are ignored. `run` is the folder
    /run/hvdocker."""
    shutil.rmtree(paths.secrets_folder(job, run), ignore_errors=True)


def remove_secrets_on_hosts(job: str, hosts: Sequence[str], programs: Path = paths.BIN) -> list[str]:
    """Remove the job's secrets from the workers on `hosts`, all at once. Returns the hosts on which the removal failed
    or took longer than REMOVE_S. `programs` is the folder with hvdocker's `ssh`."""
    line = shlex.join(["rm", "-rf", "--", str(paths.secrets_folder(job))])
    words = [str(programs / "ssh"), "-o", "BatchMode=yes", "-o", f"ConnectTimeout={REMOVE_CONNECT_S}"]
    quiet = subprocess.DEVNULL
    logins = [subprocess.Popen([*words, host, line], stdin=quiet, stdout=quiet, stderr=quiet) for host in hosts]
    deadline = time.monotonic() + REMOVE_S
    return [host for host, login in zip(hosts, logins, strict=True) if not _succeeds(login, deadline)]


def _succeeds(login: "subprocess.Popen[bytes]", deadline: float) -> bool:
    try:
        return login.wait(max(0.0, deadline - time.monotonic())) == 0
    except subprocess.TimeoutExpired:
        login.kill()
        login.wait()
        return False
