"""Offers in few words."""

from hvdocker.placement.slots import HeldSlots, Offer, Slot
from hvdocker.protocol.placement import Placement

MEMORY = {"A100": 81920, "T4": 15360}


def gpus(host: str, *models: str, holds: tuple[HeldSlots, ...] = ()) -> Offer:
    """A GPU of each of these models; their devices are a0, a1, …"""
    slots = tuple(Slot(f"{host}{n}", model, MEMORY.get(model)) for n, model in enumerate(models))
    return Offer(host, slots, holds)


def cpus(host: str, slots: int, *holds: HeldSlots) -> Offer:
    return Offer(host, (Slot(),) * slots, holds)


def sizes(*free: int) -> list[Offer]:
    """Hosts a, b, … with so many GPUs of one model."""
    return [gpus(host, *["A100"] * slots) for host, slots in zip("abcdefghij", free, strict=False)]


def shares(placement: Placement) -> dict[str, int]:
    """The head first."""
    return {share.host: share.slots for share in placement.shares}


def devices(placement: Placement) -> str:
    """`a0 a1 b0`, in the order of ranks."""
    return " ".join(device for share in placement.shares for device in share.devices)
