"""The state of a cluster that should be up."""

from __future__ import annotations

from collections.abc import Collection

from hvdocker.errors import raise_all
from hvdocker.inventory.locate import Located
from hvdocker.observe.state import ClusterState
from hvdocker.transport.session import Session


def members_state(
    located: Located,
    session: Session,
    with_images: bool = False,
    without_gpus: Collection[str] = (),
    may_miss: bool = False,
) -> ClusterState:
    """The state of a cluster that should be up. Hosts that cannot be used are no matter where it was asked
    for some slots only, and has them all elsewhere; nor where some may be missing."""
    from hvdocker.observe.hosts import partial_state
    from hvdocker.placement.scope import is_complete

    state, unfit = partial_state(located.inventory, session.links, with_images, without_gpus)
    failed = [*session.failed.values(), *unfit.values()]
    if may_miss and state.hosts:
        return state
    if failed and not is_complete(located.inventory, state):
        raise_all("some hosts cannot be used", failed)
    return state
