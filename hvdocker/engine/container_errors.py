"""Detects that the container of a job was removed by another command, such as `down`, while this command uses it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hvdocker.errors import JobStopped
from hvdocker.transport.errors import translating_errors
from hvdocker.transport.link import HostLink

# The states that an engine reports for a container that is being removed.
_REMOVAL_STATES = ("removing", "dead")


@contextmanager
def translating_container_errors(link: HostLink, container: str, what: str) -> Iterator[None]:
    """Translate the errors of the engine and of the link that the code in the `with` block raises into HvdockerErrors.
    If the container was removed meanwhile, the error is JobStopped. `what` says what is being done, for the error
    message, such as `reading the job's output`.

    The engine's answer for a container that is being removed depends on how far the removal is: 404, 409, or 500 for
    missing files. So after any API error the engine is asked whether the container still exists."""
    from docker.errors import APIError

    with translating_errors(link.name, what):
        try:
            yield
        except APIError as error:
            if is_container_gone(link, container):
                raise container_gone_error(link.name) from error
            raise


def is_container_gone(link: HostLink, container: str) -> bool:
    """Return whether the container does not exist or is being removed."""
    from docker.errors import NotFound

    try:
        state = link.engine().inspect_container(container)["State"]
    except NotFound:
        return True
    return state.get("Status") in _REMOVAL_STATES


def container_gone_error(host: str) -> JobStopped:
    """Return the error for a job whose container was removed by another command, such as a `down` of another user.
    `host` is the host that had the container."""
    return JobStopped(
        "the job was taken down by someone else: its container is gone",
        host=host,
        fix="hvdocker jobs shows what there is now; outputs are where `down` was run, unless it was told to "
        "discard them",
    )
