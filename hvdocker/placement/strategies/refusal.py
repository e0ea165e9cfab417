"""Errors for requests that do not fit: what is missing, who holds it on each host, what would fit. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from hvdocker.errors import NotEnoughSlots
from hvdocker.placement.slots import GpuRequest, Offer
from hvdocker.placement.strategies.eligible import EligibleSlots

# Holders that the first sentence of the error names; the lines below it name all.
MOST_HOLDERS = 2
MOST_LINES = 40


def not_enough(found: EligibleSlots, np: int, most: int) -> NotEnoughSlots:
    """Return the error for too few free slots. `most` is the largest number that could be placed."""
    what = f"{np} wanted, {_free(found)}"
    fix = _fix(found, np, most)
    return NotEnoughSlots(what + _held(found.offers), lines=_lines(found, found.offers), fix=fix)


def not_enough_on(found: EligibleSlots, host: str, slots: int) -> NotEnoughSlots:
    """Return the error for a host of `-H` that has too few free slots."""
    offer = next(offer for offer in found.offers if offer.host == host)
    free = next((room.size for room in found.rooms if room.host == host), 0)
    what = f"{slots} wanted on {host}, {free} free"
    fix = "ask for less there, or let slots be placed: -np instead of -H"
    return NotEnoughSlots(
        what + _held([offer]), lines=_lines(found, [offer]), fix=_with_waiting(fix, [offer])
    )


def not_equal(found: EligibleSlots, np: int, near: Sequence[int]) -> NotEnoughSlots:
    """Return the error for slots that cannot be had in equal shares.

    `near` are the nearest possible numbers. It is never empty: one rank on one host is always possible."""
    what = f"{np} wanted, {_free(found)}, but not in equal shares"
    would = " or ".join(_flag(found, number) for number in near)
    fix = f"{would} can be had in equal shares; or take --strategy pack"
    return NotEnoughSlots(what + _held(found.offers), lines=_lines(found, found.offers), fix=fix)


def show_wish(wish: GpuRequest) -> str:
    """Return the request as the user writes it after `--gpu`."""
    if wish.is_none:
        return "none"
    gib, rest = divmod(wish.memory_mb, 1024)
    memory = "" if not wish.memory_mb else f"{wish.memory_mb}MB" if rest else f"{gib}GB"
    return ":".join(part for part in (wish.model, memory) if part)


def _free(found: EligibleSlots) -> str:
    wish = found.request.gpu
    if wish is None:
        return f"{found.free} free"
    return f"{found.free} free without a GPU" if wish.is_none else f"{found.free} free of {show_wish(wish)}"


def _held(offers: Sequence[Offer]) -> str:
    """Return `: 2 on b are held by mnist-4kq2 of kim`, with the largest holders first."""
    holds = [(offer.host, hold) for offer in offers for hold in offer.holds]
    holds.sort(key=lambda held: -held[1].slots)
    shown = [
        f"{hold.slots} on {host} {'is' if hold.slots == 1 else 'are'} held by {hold.by}"
        for host, hold in holds[:MOST_HOLDERS]
    ]
    if len(holds) > MOST_HOLDERS:
        rest = sum(hold.slots for _, hold in holds[MOST_HOLDERS:])
        shown.append(f"and {rest} more by others")
    return f": {', '.join(shown)}" if shown else ""


def _lines(found: EligibleSlots, offers: Sequence[Offer]) -> list[str]:
    sizes = {room.host: room.size for room in found.rooms}
    lines = [_line(offer, sizes.get(offer.host, 0)) for offer in offers]
    more = [f"… and {len(lines) - MOST_LINES} more hosts"] if len(lines) > MOST_LINES else []
    out = [f"left out, as you said: {', '.join(found.left_out[:MOST_LINES])}"] if found.left_out else []
    return lines[:MOST_LINES] + more + out


def _line(offer: Offer, fitting: int) -> str:
    others = len(offer.free) - fitting
    parts = [f"{offer.host}: {len(offer.free)} of {offer.total} free"]
    if others:
        parts.append(f"{others} of them not as wanted" if fitting else "not as wanted")
    parts += [f"{hold.slots} held by {hold.by}" for hold in offer.holds]
    return ", ".join(parts)


def _fix(found: EligibleSlots, np: int, most: int) -> str:
    ways = [f"ask for fewer: {_flag(found, most)}"] if most else []
    if found.unfit:
        ways.append(_other_wish(found.request.gpu))
    if found.left_out:
        ways.append("leave out fewer hosts")
    elif np > sum(offer.total for offer in found.offers):
        ways.append("add hosts" if found.wants_gpus else "say `slots:` in the inventory")
    return _with_waiting("; ".join(ways), found.offers if _would_do(found, np) else [])


def _flag(found: EligibleSlots, number: int) -> str:
    """Return the flag that requests this number. For an elastic job the number is outside its bounds, because
    all numbers within them were tried."""
    elastic = found.request.elastic
    if elastic is None:
        return f"-np {number}"
    return f"--min-np {number}" if number < elastic.min_np else f"--max-np {number}"


def _other_wish(wish: GpuRequest | None) -> str:
    if wish is None:
        return "want processors: --gpu none"
    return "leave out --gpu" if wish.is_none else "wish for another --gpu: hvdocker gpus shows them"


def _would_do(found: EligibleSlots, np: int) -> bool:
    """Whether there are enough slots once all held ones are released."""
    return np <= found.free + sum(offer.held for offer in found.offers)


def _with_waiting(ways: str, offers: Sequence[Offer]) -> str:
    if not any(offer.holds for offer in offers):
        return ways
    return "; ".join(part for part in (ways, "stop what holds them") if part)
