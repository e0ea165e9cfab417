"""Carries out the steps of `steps.py`: writes and removes secrets in containers."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hvdocker import names
from hvdocker.engine import archive
from hvdocker.engine.container_exec import exec_output
from hvdocker.errors import HostUnreachable, HvdockerError
from hvdocker.jobs.secrets.steps import OverwriteSecrets, PutSecrets, RemoveSecrets
from hvdocker.plan.apply import Context
from hvdocker.plan.plan import Step
from hvdocker.transport.errors import translating_errors


def _put(step: PutSecrets, context: Context) -> None:
    if not step.is_master:
        # A master needs no undo here: undoing its creation removes it with all its files.
        context.add_undo(
            step.host, f"the secrets of {step.job}", lambda: _remove(context, step.host, step.container, [step.job])
        )
    values = {secret.name: context.secrets[secret.name].reveal() for secret in step.secrets}
    archive.put_secrets(context.engine(step.host), step.container, step.job, values, step.uid, step.gid)


def _remove_left(step: RemoveSecrets, context: Context) -> None:
    with _errors_as_notes(step, context):
        _remove(context, step.host, step.container, step.jobs)


def _remove(context: Context, host: str, container: str, jobs: Sequence[str]) -> None:
    argv = ["rm", "-rf", "--", *(f"{names.SECRETS_FOLDER}/{job}" for job in jobs)]
    code, said = exec_output(context.engine(host), container, argv)
    if code != 0:
        raise HvdockerError(
            "removing the secrets of earlier jobs failed",
            command=shlex.join(("docker", "exec", container, *argv)),
            lines=said.splitlines()[-3:],
        )


@contextmanager
def _errors_as_notes(step: Step, context: Context) -> Iterator[None]:
    """If the `with` block fails, send a note that secrets may be left in the container of the step, and do not raise
    the error. Only HostUnreachable is raised.

    So the next job can start even if the secrets of an ended job cannot be removed."""
    try:
        with translating_errors(step.host, step.describe()):
            yield
    except HostUnreachable:
        raise
    except HvdockerError as error:
        why = ": ".join([error.what, *error.lines[-1:]])
        context.report_progress(
            "note", f"secrets of an earlier job may be left there ({why}); down removes them", step.host
        )


def _overwrite(step: OverwriteSecrets, context: Context) -> None:
    """Overwrite the secrets in a stopped master with empty files: no command can run in a stopped container to delete
    them. If that fails, send only a note, unless the host is unreachable."""
    empty = dict.fromkeys(step.names, b"")
    with _errors_as_notes(step, context):
        archive.put_secrets(context.engine(step.host), step.container, step.job, empty, 0, 0)


ACTIONS: dict[type[Any], Callable[[Any, Context], None]] = {
    PutSecrets: _put,
    RemoveSecrets: _remove_left,
    OverwriteSecrets: _overwrite,
}
