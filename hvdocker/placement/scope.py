"""The scope of a cluster: which hosts have a worker, and which slots and GPUs each worker holds. Pure.

`up` decides the scope before it locks the hosts, and again when it has the locks, because another hvdocker command may
have changed the hosts in between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hvdocker import names
from hvdocker.errors import HostUnfit, HvdockerError, NotEnoughSlots, raise_all
from hvdocker.inventory.inventory import Host, Inventory
from hvdocker.observe.state import ClusterState, ContainerSeen
from hvdocker.placement.offers import offers_to_cluster
from hvdocker.placement.scope_label import (
    expected_slots,
    has_slot_count,
    label_for_request,
    scope_label_of_cluster,
    scope_label_of_worker,
    with_slot_count,
    without_slot_count,
)
from hvdocker.placement.slots import Offer, SlotRequest
from hvdocker.placement.strategies import Explanation, explain, place_most, request_as_placed
from hvdocker.protocol.placement import Share


@dataclass(frozen=True)
class ClusterScope:
    """The slots and GPUs (share) of each host of a cluster, by host name.

    `request_label` is the request that the cluster was created for, as in the label `hvdocker.asked` (`{"np":6}` for
    `up -np 6`); hosts without a share are then not part of the cluster. It is empty if `up` was given no flag
    that chooses slots (`-np`, `-H`, `--gpu`, `--include`, …)."""

    shares: Mapping[str, Share]
    request_label: str = ""


def current_scope(inventory: Inventory, state: ClusterState) -> ClusterScope:
    """Return the scope (hosts with their slots and GPUs) that the labels of the existing workers describe.

    If the cluster was created for a request (`up -np 6`), only hosts with a worker are in the scope. Otherwise a host
    without a worker is in the scope too, with all slots that it offers."""
    workers = state.workers()
    asked = scope_label_of_cluster(state)
    if asked:
        return ClusterScope({name: _share_of(inventory, worker) for name, worker in workers.items()}, asked)
    offers = {offer.host: offer for offer in offers_to_cluster(inventory, state)}
    return ClusterScope(
        {
            name: _share_of(inventory, workers[name]) if name in workers else _share_of_whole_offer(offer)
            for name, offer in offers.items()
        }
    )


def scope_with_other_hosts(inventory: Inventory, state: ClusterState) -> ClusterScope:
    """Return the current scope (hosts with their slots and GPUs), and in addition every other observed host of the
    inventory with all slots that it offers to the cluster."""
    inside = current_scope(inventory, state)
    offers = offers_to_cluster(inventory, state)
    return replace(
        inside, shares={offer.host: inside.shares.get(offer.host, _share_of_whole_offer(offer)) for offer in offers}
    )


def full_scope(inventory: Inventory, state: ClusterState) -> ClusterScope:
    """Return the scope (hosts with their slots and GPUs) of `up` without a request: all free slots of all hosts.

    Hosts on which a job runs keep the slots and GPUs that they have. In a local cluster all hosts keep their slots
    and GPUs if any job runs. Raise HostUnfit or NotEnoughSlots if a host with GPUs (not of a local cluster) has no
    usable or no free GPU, or fewer GPUs than its `slots:`; HostErrors if there are several such hosts."""
    if inventory.is_local and state.running_jobs():
        # All workers share the GPUs of one machine, so one worker's share cannot change without the others.
        return replace(current_scope(inventory, state), request_label="")
    offers = offers_to_cluster(inventory, state)
    raise_all("some hosts have no GPU to give", list(_hosts_without_gpus(inventory, state, offers)))
    kept = _shares_used_by_jobs(inventory, state)
    return ClusterScope({offer.host: kept.get(offer.host, _share_of_whole_offer(offer)) for offer in offers})


def requested_scope(
    inventory: Inventory, state: ClusterState, request: SlotRequest, links: Mapping[frozenset[str], float]
) -> ClusterScope:
    """Return the scope (hosts with their slots and GPUs) for the requested slots. Raise NotEnoughSlots if they are not
    free, and UsageProblem if the request is wrong.

    If the existing workers already meet the request (`_is_request_met`), the current scope is returned. So a second
    `up -np 6` changes nothing. `links` are the measured speeds of pairs of hosts in bits per second: of hosts that are
    otherwise equally good, those with the fastest network between them are chosen."""
    words = label_for_request(request)
    offers = _offers_for_request(inventory, state, request)
    if _is_request_met(inventory, state, words, offers):
        return current_scope(inventory, state)
    try:
        placement = place_most(request, offers, links)
    except NotEnoughSlots:
        # Place again with the held slots in the offers, so that the error names their holders.
        placement = place_most(request, offers_to_cluster(inventory, state), links)
    shares = {share.host: share for share in placement.shares}
    ordered = {host.name: shares[host.name] for host in inventory.hosts if host.name in shares}
    return ClusterScope(
        ordered, with_slot_count(label_for_request(request_as_placed(request, placement)), placement.np)
    )


def explain_requested_scope(
    inventory: Inventory, state: ClusterState, request: SlotRequest, links: Mapping[frozenset[str], float]
) -> Explanation | None:
    """Return why `requested_scope` places the request as it does, for `--explain`. `links` are the measured speeds of
    pairs of hosts in bits per second.

    Returns None if the cluster for this request already exists, so that nothing is placed."""
    offers = _offers_for_request(inventory, state, request)
    if _is_request_met(inventory, state, label_for_request(request), offers):
        return None
    return explain(request_as_placed(request, place_most(request, offers, links)), offers, links)


def _offers_for_request(inventory: Inventory, state: ClusterState, request: SlotRequest) -> list[Offer]:
    """Return the slots that the hosts offer to the cluster, for this request.

    A request without a number of slots (no `-np`, no `-H`) means all free slots. In this case held slots are removed
    from the offers. Otherwise placement would treat them as requested slots that are not free, and refuse the
    request."""
    offers = offers_to_cluster(inventory, state)
    if request.np is None and not request.exact:
        return [replace(offer, held_slots=(), has_gpus=offer.offers_gpus) for offer in offers]
    return offers


def is_complete(inventory: Inventory, state: ClusterState) -> bool:
    """Whether the cluster was created for a request (`up -np 6`) and the observed workers have all its slots.

    If so, hosts without a worker are not needed and may be unreachable. Always False for a cluster that was
    created without a request."""
    scope = current_scope(inventory, state)
    asked = expected_slots(scope.request_label)
    return asked is not None and sum(share.slots for share in scope.shares.values()) == asked


def _is_request_met(inventory: Inventory, state: ClusterState, words: str, offers: Sequence[Offer]) -> bool:
    """Whether the existing workers were created for this request, have all its slots, and can keep their GPUs.

    `words` is the label of the request (`label_for_request`). `offers` are the slots that the cluster may take. A
    request without a number of slots counts as met only while a job runs. While no job runs, such a request is
    placed again, so that the cluster may grow."""
    workers = state.workers()
    labels = {scope_label_of_worker(worker) for worker in workers.values()}
    if len(labels) != 1 or without_slot_count(label := labels.pop()) != words:
        return False
    if not has_slot_count(words) and not state.running_jobs():
        return False
    free = {slot.device for offer in offers for slot in offer.free}
    shares = [_share_of(inventory, worker) for worker in workers.values()]
    is_whole = sum(share.slots for share in shares) == expected_slots(label)
    return is_whole and all(device in free for share in shares for device in share.devices)


def _share_of(inventory: Inventory, worker: ContainerSeen) -> Share:
    """Return the share (slots and GPUs) that the worker holds according to its labels.

    A worker without GPUs that was not created for a request has the host's `slots:` of the inventory, by default 1."""
    if devices := worker.devices:
        return Share(worker.host, len(devices), devices)
    told = worker.labels.get(names.LABEL_SLOTS, "")
    if scope_label_of_worker(worker) and told.isdigit():
        return Share(worker.host, int(told))
    return Share(worker.host, inventory.named(worker.host).slots or 1)


def _share_of_whole_offer(offer: Offer) -> Share:
    devices = tuple(slot.device for slot in offer.free if slot.device)
    return Share(offer.host, len(offer.free), devices)


def _shares_used_by_jobs(inventory: Inventory, state: ClusterState) -> dict[str, Share]:
    busy = {host for job in state.running_jobs() for host in state.placement_of(job).hosts}
    workers = state.workers()
    return {name: _share_of(inventory, workers[name]) for name in workers if name in busy}


def _hosts_without_gpus(inventory: Inventory, state: ClusterState, offers: Sequence[Offer]) -> Iterator[HvdockerError]:
    for offer in offers:
        host, seen = inventory.named(offer.host), state.hosts[offer.host]
        if host.is_local:
            continue
        if seen.gpu_problem:
            yield HostUnfit(
                f"its GPUs cannot be used: {seen.gpu_problem}",
                host=offer.host,
                command="nvidia-smi",
                lines=[seen.gpu_problem],
                fix="sudo dmesg | grep -i nvrm; a driver that hangs needs a reboot of the host",
            )
        elif not offer.free:
            yield _no_free_gpu_error(offer)
        elif seen.gpus and (host.slots or 0) > len(seen.gpus):
            yield _too_many_slots_error(host, len(seen.gpus))


def _no_free_gpu_error(offer: Offer) -> HvdockerError:
    held = ", ".join(f"{hold.slots} held by {hold.by}" for hold in offer.held_slots)
    return NotEnoughSlots(
        f"none of its GPUs is free: {held}",
        host=offer.host,
        command="nvidia-smi",
        lines=[f"{hold.slots} held by {hold.by}" for hold in offer.held_slots],
        fix="say how many you want, and they are found elsewhere: hvdocker up -np N; hvdocker gpus shows all",
    )


def _too_many_slots_error(host: Host, gpus: int) -> HvdockerError:
    return HostUnfit(
        f"`slots: {host.slots}` is more than the {gpus} GPUs that it has",
        host=host.name,
        command="nvidia-smi -L",
        lines=[f"nvidia-smi lists {gpus}"],
        fix="leave `slots:` out, or write fewer into the inventory",
    )
