"""Where a job's ranks go: as it was asked for, as few as an elastic job can do with, or anew on the hosts
that are left when its head is gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hvdocker.commands.worker import Place
from hvdocker.errors import HeadLost, NotEnoughSlots
from hvdocker.model.endurance import Elastic, Endurance
from hvdocker.model.event import Event
from hvdocker.model.inventory import Inventory
from hvdocker.model.offer import Request
from hvdocker.model.placement import Placement
from hvdocker.model.seen import ClusterState
from hvdocker.ops.env import Env
from hvdocker.ops.links import read_links
from hvdocker.ops.locate import Located
from hvdocker.ops.placing import request_of
from hvdocker.ops.train_request import TrainRequest, Wish
from hvdocker.plan.offers import offers_to_job
from hvdocker.plan.owner import refuse_foreign_owner
from hvdocker.plan.places import places
from hvdocker.plan.placing import place_most
from hvdocker.plan.train import check_workers, standing


@dataclass(frozen=True)
class Anew:
    """A job whose head is gone, to be placed on the hosts that are left: the same id, fewer restarts, and at
    most as many ranks."""

    job: str
    endurance: Endurance
    np: int
    code_hash: str
    # Why: what the person is told where it cannot be placed.
    lost: HeadLost


def choose_slots(
    env: Env, located: Located, wish: Wish, state: ClusterState, anew: Anew | None = None
) -> Placement:
    """Where the ranks of a wish go, by what was seen of the hosts."""
    inventory, request, elastic = located.inventory, wish.request, wish.endurance.elastic
    placed = places_for(inventory, state, anew)
    check_workers(inventory, placed, state, located.flag, may_miss=anew is not None)
    refuse_foreign_owner(inventory, state, env.maker().owner, request.is_forced)
    offers, links = offers_to_job(inventory, state, placed), read_links(located)
    wanted = request_for(inventory, request, placed if anew is None else places(inventory, state))
    if anew and wanted.exact:
        left = tuple(share for share in wanted.exact if share.host in placed)
        if not left:
            raise NotEnoughSlots("none of the hosts that -H names is left")
        wanted = replace(wanted, np=None, exact=left, head="")
    if anew and not elastic and not wanted.exact:
        elastic = Elastic(1, wanted.np or anew.np)
    return place_most(replace(wanted, elastic=elastic), offers, links)


def places_for(inventory: Inventory, state: ClusterState, anew: Anew | None) -> Mapping[str, Place]:
    """Of a job that is placed anew only what still stands."""
    placed = places(inventory, state)
    return standing(placed, state, anew.job) if anew else placed


def tell_fewer(env: Env, wanted: int | None, got: int) -> None:
    if wanted and got < wanted:
        env.listener(Event("note", f"of {wanted} ranks {got} fit now: the job begins with these"))


def request_for(inventory: Inventory, request: TrainRequest, placed: Mapping[str, Place]) -> Request:
    addresses = {name: found.address for name, found in placed.items()}
    return request_of(request.wanted, inventory, addresses)
