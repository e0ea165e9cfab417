"""Builders for offers, and short forms of placements to compare with."""

from hvdocker.placement.slots import HeldSlots, Offer, Slot
from hvdocker.protocol.placement import Placement

MEMORY = {"A100": 81920, "T4": 15360}


def gpus(host: str, *models: str, holds: tuple[HeldSlots, ...] = ()) -> Offer:
    """Return an offer with one GPU per model; the devices of host a are a0, a1, …"""
    slots = tuple(Slot(f"{host}{n}", model, MEMORY.get(model)) for n, model in enumerate(models))
    return Offer(host, slots, holds)


def cpus(host: str, slots: int, *holds: HeldSlots) -> Offer:
    return Offer(host, (Slot(),) * slots, holds)


def gpu_offers(*free: int) -> list[Offer]:
    """Return offers of hosts a, b, … with that many GPUs of one model."""
    return [gpus(host, *["A100"] * slots) for host, slots in zip("abcdefghij", free, strict=False)]


def shares(placement: Placement) -> dict[str, int]:
    """Return the number of slots per host, the head first."""
    return {share.host: share.slots for share in placement.shares}


def devices(placement: Placement) -> str:
    """Return the devices in the order of ranks: `a0 a1 b0`."""
    return " ".join(device for share in placement.shares for device in share.devices)
