"""While the container of a job is asked: somebody may take the job down beneath whoever watches it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hvdocker.errors import JobStopped
from hvdocker.transport.errors import translating_errors
from hvdocker.transport.link import HostLink

# What engines say of a container that is on its way out.
_LEAVING = ("removing", "dead")


@contextmanager
def asking_container(link: HostLink, container: str, what: str) -> Iterator[None]:
    """As `talking`. What an engine says of a container that is being removed depends on how far it has come
    (404, 409, or 500 for files that are gone): so it is asked once more whether there is one."""
    from docker.errors import APIError

    with translating_errors(link.name, what):
        try:
            yield
        except APIError as error:
            if is_gone(link, container):
                raise taken_down(link.name) from error
            raise


def is_gone(link: HostLink, container: str) -> bool:
    from docker.errors import NotFound

    try:
        state = link.engine().inspect_container(container)["State"]
    except NotFound:
        return True
    return state.get("Status") in _LEAVING


def taken_down(host: str) -> JobStopped:
    return JobStopped(
        "the job was taken down by someone else: its container is gone",
        host=host,
        fix="hvdocker jobs shows what there is now; outputs are where `down` was run, unless it was told to "
        "discard them",
    )
