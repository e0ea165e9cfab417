"""How far a cluster reaches: which hosts have a worker, and which slots and GPUs each of them holds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hvdocker.errors import HostUnfit, HvdockerError, NotEnoughSlots, raise_together
from hvdocker.model import names
from hvdocker.model.inventory import Host, Inventory
from hvdocker.model.offer import Offer, Request
from hvdocker.model.placement import Share, from_label
from hvdocker.model.seen import ClusterState, ContainerSeen
from hvdocker.plan.offers import offers_to_cluster
from hvdocker.plan.placing import place


@dataclass(frozen=True)
class Extent:
    """`asked` is the request in words where not simply everything was asked for: hosts without a share are
    then no part of the cluster."""

    shares: Mapping[str, Share]
    asked: str = ""


def as_it_is(inventory: Inventory, state: ClusterState) -> Extent:
    """What the labels of its workers tell; a host that lacks one counts with what it has to offer, unless
    the cluster was asked for some slots only."""
    workers = state.workers()
    asked = next(filter(None, (_asked_of(worker) for worker in workers.values())), "")
    if asked:
        return Extent({name: _share_of(inventory, worker) for name, worker in workers.items()}, asked)
    offers = {offer.host: offer for offer in offers_to_cluster(inventory, state)}
    return Extent(
        {
            name: _share_of(inventory, workers[name]) if name in workers else _all_of(offer)
            for name, offer in offers.items()
        }
    )


def with_outsiders(inventory: Inventory, state: ClusterState) -> Extent:
    """As it is, and what hosts that are no part of it have to offer."""
    inside = as_it_is(inventory, state)
    offers = offers_to_cluster(inventory, state)
    return replace(
        inside, shares={offer.host: inside.shares.get(offer.host, _all_of(offer)) for offer in offers}
    )


def everything(inventory: Inventory, state: ClusterState) -> Extent:
    """`up` alone takes all that is free. A cluster does not grow beneath a job that runs on it."""
    offers = offers_to_cluster(inventory, state)
    raise_together("some hosts have no GPU to give", list(_empty_handed(inventory, state, offers)))
    kept = _kept_by_jobs(inventory, state)
    return Extent({offer.host: kept.get(offer.host, _all_of(offer)) for offer in offers})


def asked_for(
    inventory: Inventory,
    state: ClusterState,
    request: Request,
    links: Mapping[frozenset[str], float],
) -> Extent:
    """The request's slots and no more. The cluster that the same request made stays where it is."""
    words = request_words(request)
    offers = offers_to_cluster(inventory, state)
    if _still_has(inventory, state, request, words, offers):
        return as_it_is(inventory, state)
    if request.np is None and not request.exact:
        offers = [replace(offer, holds=()) for offer in offers]
    placement = place(request, offers, links)
    shares = {share.host: share for share in placement.shares}
    ordered = {host.name: shares[host.name] for host in inventory.hosts if host.name in shares}
    return Extent(ordered, words)


def request_words(request: Request) -> str:
    """What a worker's label says of the request that it was made for; equal for equal requests."""
    gpu = request.gpu and {key: value for key, value in vars(request.gpu).items() if value}
    words = {
        "np": request.np,
        "strategy": None if request.strategy == "pack" else request.strategy,
        "gpu": gpu,
        "include": sorted(request.include),
        "exclude": sorted(request.exclude),
        "exact": {share.host: share.slots for share in request.exact},
    }
    return json.dumps({key: value for key, value in words.items() if value}, separators=(",", ":"))


def asked_np(words: str) -> int | None:
    """How many slots the request was for, where it said so."""
    try:
        asked = json.loads(words)
        exact = asked.get("exact")
        return sum(int(slots) for slots in exact.values()) if exact else int(asked["np"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def is_complete(inventory: Inventory, state: ClusterState) -> bool:
    """Whether the cluster was asked for some slots only, and the workers there are have them all."""
    extent = as_it_is(inventory, state)
    asked = asked_np(extent.asked)
    return asked is not None and sum(share.slots for share in extent.shares.values()) >= asked


def _still_has(
    inventory: Inventory, state: ClusterState, request: Request, words: str, offers: Sequence[Offer]
) -> bool:
    """Whether the workers are those of this request, all of them, and nobody took their GPUs meanwhile."""
    workers = state.workers()
    if not workers or any(_asked_of(worker) != words for worker in workers.values()):
        return False
    if asked_np(words) is None:
        return bool(state.running_jobs())
    free = {slot.device for offer in offers for slot in offer.free}
    shares = [_share_of(inventory, worker) for worker in workers.values()]
    is_whole = sum(share.slots for share in shares) == asked_np(words)
    return is_whole and all(device in free for share in shares for device in share.devices)


def _asked_of(worker: ContainerSeen) -> str:
    return worker.labels.get(names.LABEL_ASKED, "")


def _share_of(inventory: Inventory, worker: ContainerSeen) -> Share:
    devices = tuple(filter(None, worker.labels.get(names.LABEL_GPUS, "").split(",")))
    if devices:
        return Share(worker.host, len(devices), devices)
    told = worker.labels.get(names.LABEL_SLOTS, "")
    if _asked_of(worker) and told.isdigit():
        return Share(worker.host, int(told))
    return Share(worker.host, inventory.named(worker.host).slots or 1)


def _all_of(offer: Offer) -> Share:
    devices = tuple(slot.device for slot in offer.free if slot.device)
    return Share(offer.host, len(offer.free), devices)


def _kept_by_jobs(inventory: Inventory, state: ClusterState) -> dict[str, Share]:
    placements = [from_label(job.labels.get(names.LABEL_PLACEMENT, "{}")) for job in state.running_jobs()]
    busy = {host for placement in placements for host in placement.hosts}
    workers = state.workers()
    return {name: _share_of(inventory, workers[name]) for name in workers if name in busy}


def _empty_handed(
    inventory: Inventory, state: ClusterState, offers: Sequence[Offer]
) -> Iterator[HvdockerError]:
    for offer in offers:
        host, seen = inventory.named(offer.host), state.hosts[offer.host]
        if seen.gpu_problem:
            yield HostUnfit(
                f"its GPUs cannot be used: {seen.gpu_problem}",
                host=offer.host,
                command="nvidia-smi",
                lines=[seen.gpu_problem],
                fix="sudo dmesg | grep -i nvrm; a driver that hangs needs a reboot of the host",
            )
        elif not offer.free:
            yield _nothing_free(offer)
        elif seen.gpus and not host.is_local and (host.slots or 0) > len(seen.gpus):
            yield _too_many_slots(host, len(seen.gpus))


def _nothing_free(offer: Offer) -> HvdockerError:
    held = ", ".join(f"{hold.slots} held by {hold.by}" for hold in offer.holds)
    return NotEnoughSlots(
        f"none of its GPUs is free: {held}",
        host=offer.host,
        command="nvidia-smi",
        lines=[f"{hold.slots} held by {hold.by}" for hold in offer.holds],
        fix="say how many you want, and they are found elsewhere: hvdocker up -np N; hvdocker gpus shows all",
    )


def _too_many_slots(host: Host, gpus: int) -> HvdockerError:
    return HostUnfit(
        f"`slots: {host.slots}` is more than the {gpus} GPUs that it has",
        host=host.name,
        command="nvidia-smi -L",
        lines=[f"nvidia-smi lists {gpus}"],
        fix="leave `slots:` out, or write fewer into the inventory",
    )
