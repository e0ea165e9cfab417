"""Why not: what is missing, who holds it, host by host, and what would work."""

from __future__ import annotations

from collections.abc import Sequence

from hvdocker.errors import NotEnoughSlots
from hvdocker.model.offer import GpuWish, Offer
from hvdocker.model.units import count
from hvdocker.plan.placing.fitting import Fitting

# Holders that the sentence names; the lines name all.
MOST_HOLDERS = 2
MOST_LINES = 40


def not_enough(found: Fitting, np: int) -> NotEnoughSlots:
    what = f"{np} wanted, {_free(found)}"
    return NotEnoughSlots(what + _held(found.offers), lines=_lines(found, found.offers), fix=_fix(found, np))


def not_enough_on(found: Fitting, host: str, slots: int) -> NotEnoughSlots:
    """A host of the user's own `-H`."""
    offer = next(offer for offer in found.offers if offer.host == host)
    free = next((room.size for room in found.rooms if room.host == host), 0)
    what = f"{slots} wanted on {host}, {free} free"
    fix = "ask for less there with -H, or let slots be placed: -np instead of -H"
    return NotEnoughSlots(
        what + _held([offer]), lines=_lines(found, [offer]), fix=_with_waiting(fix, [offer])
    )


def not_equal(found: Fitting, np: int, near: Sequence[int]) -> NotEnoughSlots:
    what = f"{np} wanted, but not in equal shares: {_free(found)}"
    would = " or ".join(f"-np {number}" for number in near)
    fix = f"balanced shares can be had with {would}; or take --strategy pack" if would else None
    return NotEnoughSlots(what + _held(found.offers), lines=_lines(found, found.offers), fix=fix)


def show_wish(wish: GpuWish) -> str:
    if wish.is_none:
        return "none"
    gib, rest = divmod(wish.memory_mb, 1024)
    memory = "" if not wish.memory_mb else f"{wish.memory_mb}MB" if rest else f"{gib}GB"
    return ":".join(part for part in (wish.model, memory) if part)


def _free(found: Fitting) -> str:
    wish = found.request.gpu
    if wish is None:
        return f"{found.free} free"
    return f"{found.free} free without a GPU" if wish.is_none else f"{found.free} free of {show_wish(wish)}"


def _held(offers: Sequence[Offer]) -> str:
    """`: 2 on b are held by mnist-4kq2 of kim`, those who hold most first."""
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


def _lines(found: Fitting, offers: Sequence[Offer]) -> list[str]:
    sizes = {room.host: room.size for room in found.rooms}
    lines = [_line(offer, sizes.get(offer.host, 0)) for offer in offers]
    left_out = len(found.left_out)
    more = [f"… and {len(lines) - MOST_LINES} more hosts"] if len(lines) > MOST_LINES else []
    names = ", ".join(found.left_out[:MOST_LINES])
    out = [f"{count(left_out, 'host')} left out as you said: {names}"] if left_out else []
    return lines[:MOST_LINES] + more + out


def _line(offer: Offer, fitting: int) -> str:
    others = len(offer.free) - fitting
    parts = [f"{offer.host}: {len(offer.free)} of {offer.total} free"]
    if others:
        parts.append(f"{others} of them not as wanted" if fitting else "not as wanted")
    parts += [f"{hold.slots} held by {hold.by}" for hold in offer.holds]
    return ", ".join(parts)


def _fix(found: Fitting, np: int) -> str:
    ways = [f"ask for fewer: -np {found.free}"] if found.free else []
    wish = found.request.gpu
    if wish is not None and any(len(offer.free) for offer in found.offers) and found.unfit:
        ways.append(
            "leave out --gpu" if wish.is_none else "another --gpu (hvdocker gpus shows what there is)"
        )
    if found.left_out:
        ways.append("leave out fewer hosts")
    if np > sum(offer.total for offer in found.offers) and not ways:
        ways.append("add hosts, or say `slots:` in the inventory")
    return _with_waiting("; ".join(ways), found.offers if _would_do(found, np) else [])


def _would_do(found: Fitting, np: int) -> bool:
    """Whether it is enough once all is given back."""
    return np <= found.free + sum(offer.held for offer in found.offers)


def _with_waiting(ways: str, offers: Sequence[Offer]) -> str:
    if not any(offer.holds for offer in offers):
        return ways
    return "; ".join(part for part in (ways, "wait for them with --queue, or stop what holds them") if part)
