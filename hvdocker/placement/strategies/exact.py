"""Places a job on exactly the hosts and slots that `-H` names, as in `-H a:2,b:1`. Such a job may mix hosts with and
without GPUs. Pure."""

from __future__ import annotations

from hvdocker.errors import NotEnoughSlots, UsageProblem
from hvdocker.placement.strategies.choose import ChosenSlots
from hvdocker.placement.strategies.eligible import EligibleSlots
from hvdocker.placement.strategies.host_devices import choose_slots_on_host
from hvdocker.placement.strategies.refusal import not_enough_on_host_error


def choose_exact(found: EligibleSlots) -> list[ChosenSlots] | NotEnoughSlots:
    """Return the slots that `-H` names. If hosts have too few eligible free slots, return the error for the first such
    host; it is not raised here.

    Raise UsageProblem if `-H` names a host twice or a host that is unknown or not allowed by `--include` and
    `--exclude`, or contradicts `-np`. `found` are the slots that the request may use (from `eligible_slots`)."""
    wanted = {share.host: share.slots for share in found.request.exact}
    _check_hosts_flag(found, wanted)
    rooms = {room.host: room for room in found.by_host}
    for host, slots in wanted.items():
        if host not in rooms or rooms[host].size < slots:
            return not_enough_on_host_error(found, host, slots)
    return [
        ChosenSlots(room, choose_slots_on_host(room, wanted[room.host]))
        for room in found.by_host
        if room.host in wanted
    ]


def _check_hosts_flag(found: EligibleSlots, wanted: dict[str, int]) -> None:
    request = found.request
    if len(wanted) != len(request.exact):
        raise UsageProblem("-H names a host twice, perhaps by its name and its address")
    hosts = [offer.host for offer in found.offers]
    for host in wanted:
        if host not in hosts:
            why = "left out" if host in request.exclude or request.include else "not in the inventory"
            raise UsageProblem(f"-H names {host!r}, which is {why}", fix=f"hosts are {', '.join(hosts)}")
    total = sum(wanted.values())
    if request.np is not None and request.np != total:
        raise UsageProblem(f"-np {request.np} and -H ({total} slots) disagree", fix="leave one of them out")
