"""Errors for requests that do not fit: how many slots are missing, what holds them, and what would fit. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hvdocker.errors import NotEnoughSlots
from hvdocker.placement.slots import GpuRequest, Offer
from hvdocker.placement.strategies.eligible import EligibleSlots

# Holders that the first sentence of the error names; the lines below it name all.
MAX_HOLDERS = 2
MAX_LINES = 40


def not_enough_error(found: EligibleSlots, np: int, most: int) -> NotEnoughSlots:
    """Return the error for a request of `np` slots if too few are free. `most` is the largest number of slots that
    would fit; the error suggests it unless it is 0. `found` are the slots that the request may use (from
    `eligible_slots`)."""
    what = f"{np} wanted, {_free_text(found)}"
    fix = _fix(found, np, most)
    return NotEnoughSlots(what + _holders_text(found.offers), lines=_host_lines(found, found.offers), fix=fix)


def not_enough_on_host_error(found: EligibleSlots, host: str, slots: int) -> NotEnoughSlots:
    """Return the error for `host`, which has fewer eligible free slots than the `slots` that `-H` names. `found` are
    the slots that the request may use (from `eligible_slots`)."""
    offer = next(offer for offer in found.offers if offer.host == host)
    free = next((room.size for room in found.by_host if room.host == host), 0)
    what = f"{slots} wanted on {host}, {free} free"
    fix = "ask for less there, or let slots be placed: -np instead of -H"
    return NotEnoughSlots(
        what + _holders_text([offer]), lines=_host_lines(found, [offer]), fix=_with_stop_advice(fix, [offer])
    )


def unequal_shares_error(found: EligibleSlots, np: int, near: Sequence[int]) -> NotEnoughSlots:
    """Return the error for `np` slots that are free, but not with the same number of slots on each host.

    `near` are the nearest numbers of slots that are possible. `near` is never empty, because one rank on one host is
    always possible. `found` are the slots that the request may use (from `eligible_slots`)."""
    what = f"{np} wanted, {_free_text(found)}, but not in equal shares"
    would = " or ".join(_np_flag(found, number) for number in near)
    fix = f"{would} can be had in equal shares; or take --strategy pack"
    return NotEnoughSlots(what + _holders_text(found.offers), lines=_host_lines(found, found.offers), fix=fix)


def gpu_request_text(gpu_request: GpuRequest) -> str:
    """Return the request as the user writes it after `--gpu`, such as `A100:80GB` or `none`."""
    if gpu_request.is_none:
        return "none"
    gib, rest = divmod(gpu_request.memory_mb, 1024)
    memory = "" if not gpu_request.memory_mb else f"{gpu_request.memory_mb}MB" if rest else f"{gib}GB"
    return ":".join(part for part in (gpu_request.model, memory) if part)


def _free_text(found: EligibleSlots) -> str:
    gpu_request = found.request.gpu
    if gpu_request is None:
        return f"{found.free_count} free"
    return (
        f"{found.free_count} free without a GPU"
        if gpu_request.is_none
        else f"{found.free_count} free of {gpu_request_text(gpu_request)}"
    )


def _holders_text(offers: Sequence[Offer]) -> str:
    """Return a text such as `: 2 on b are held by mnist-4kq2 of kim`, with the largest holders first. It is appended
    to the message of an error.

    It names at most MAX_HOLDERS holders. It is empty if no slot of `offers` is held."""
    holds = [(offer.host, hold) for offer in offers for hold in offer.held_slots]
    holds.sort(key=lambda held: -held[1].slots)
    shown = [
        f"{hold.slots} on {host} {'is' if hold.slots == 1 else 'are'} held by {hold.by}"
        for host, hold in holds[:MAX_HOLDERS]
    ]
    if len(holds) > MAX_HOLDERS:
        rest = sum(hold.slots for _, hold in holds[MAX_HOLDERS:])
        shown.append(f"and {rest} more by others")
    return f": {', '.join(shown)}" if shown else ""


def _host_lines(found: EligibleSlots, offers: Sequence[Offer]) -> list[str]:
    sizes = {room.host: room.size for room in found.by_host}
    lines = [_host_line(offer, sizes.get(offer.host, 0)) for offer in offers]
    more = [f"… and {len(lines) - MAX_LINES} more hosts"] if len(lines) > MAX_LINES else []
    out = [f"left out, as you said: {', '.join(found.left_out[:MAX_LINES])}"] if found.left_out else []
    return lines[:MAX_LINES] + more + out


def _host_line(offer: Offer, fitting: int) -> str:
    others = len(offer.free) - fitting
    parts = [f"{offer.host}: {len(offer.free)} of {offer.total} free"]
    if others:
        parts.append(f"{others} of them not as wanted" if fitting else "not as wanted")
    parts += [f"{hold.slots} held by {hold.by}" for hold in offer.held_slots]
    return ", ".join(parts)


def _fix(found: EligibleSlots, np: int, most: int) -> str:
    ways = [f"ask for fewer: {_np_flag(found, most)}"] if most else []
    if found.ineligible_count:
        ways.append(_gpu_flag_fix(found.request.gpu))
    if found.left_out:
        ways.append("leave out fewer hosts")
    elif np > sum(offer.total for offer in found.offers):
        ways.append("add hosts" if found.wants_gpus else "say `slots:` in the inventory")
    return _with_stop_advice("; ".join(ways), found.offers if _is_enough_when_released(found, np) else [])


def _np_flag(found: EligibleSlots, number: int) -> str:
    """Return the flag that the user should give to get `number` slots, such as `-np 4`. `found` has the request.

    For an elastic job, all numbers within its bounds were tried before, so `number` is outside of them. The flag is
    then `--min-np` if `number` is below the bounds, and `--max-np` if it is above."""
    elastic = found.request.elastic
    if elastic is None:
        return f"-np {number}"
    return f"--min-np {number}" if number < elastic.min_np else f"--max-np {number}"


def _gpu_flag_fix(gpu_request: GpuRequest | None) -> str:
    if gpu_request is None:
        return "want processors: --gpu none"
    return "leave out --gpu" if gpu_request.is_none else "wish for another --gpu: hvdocker gpus shows them"


def _is_enough_when_released(found: EligibleSlots, np: int) -> bool:
    """Whether the eligible free slots and all held slots of the allowed hosts are together at least `np`. If so, the
    error suggests to stop the jobs or clusters that hold slots. `found` are the slots that the request may use (from
    `eligible_slots`)."""
    return np <= found.free_count + sum(offer.held_count for offer in found.offers)


def _with_stop_advice(ways: str, offers: Sequence[Offer]) -> str:
    if not any(offer.held_slots for offer in offers):
        return ways
    return "; ".join(part for part in (ways, "stop what holds them") if part)
