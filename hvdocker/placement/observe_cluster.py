"""Observes a cluster that should be up. Changes nothing on a host."""

from __future__ import annotations

from collections.abc import Collection

from hvdocker.errors import raise_all
from hvdocker.inventory.locate import Located
from hvdocker.observe.state import ClusterState
from hvdocker.transport.session import Session


def observe_cluster(
    located: Located,
    session: Session,
    with_images: bool = False,
    without_gpus: Collection[str] = (),
    may_miss: bool = False,
) -> ClusterState:
    """Return the observed state of the cluster of the inventory (`located`), over the links of `session`.

    If a host cannot be reached or used, its error is raised (HostErrors for several hosts). There are two
    exceptions: such hosts are ignored if the cluster was created for a request (`up -np 6`) and the other hosts have
    all slots of the request, or with `may_miss` if at least one other host was observed. `with_images` also looks
    for the cluster's image on the controller. The GPUs of the hosts in `without_gpus` are not queried."""
    from hvdocker.observe.hosts import partial_state
    from hvdocker.placement.scope import is_complete

    state, unfit = partial_state(located.inventory, session.links, with_images, without_gpus)
    failed = [*session.failed.values(), *unfit.values()]
    if may_miss and state.hosts:
        return state
    if failed and not is_complete(located.inventory, state):
        raise_all("some hosts cannot be used", failed)
    return state
