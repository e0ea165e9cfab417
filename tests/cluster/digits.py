"""Writes images of ten classes that a network can learn to separate, in the format of the examples'
prepare.py (.npz). Works without numpy, which the tests do not have."""

import random
import struct
import zipfile
from array import array
from pathlib import Path

SIDE = 28


def write_digits(path: Path, train: int = 200, test: int = 50) -> None:
    chance = random.Random(0)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        for part, count in (("train", train), ("test", test)):
            labels = [chance.randrange(10) for _ in range(count)]
            pixels = array("f", (pixel for label in labels for pixel in _picture(label, chance)))
            bundle.writestr(f"{part}_images.npy", _npy("<f4", (count, SIDE, SIDE, 1), pixels.tobytes()))
            bundle.writestr(f"{part}_labels.npy", _npy("<i8", (count,), struct.pack(f"<{count}q", *labels)))


def _picture(label: int, chance: random.Random) -> list[float]:
    """Return the pixels of an image: noise, and two bright rows whose position encodes the label."""
    rows = (2 * label + 4, 2 * label + 5)
    return [chance.random() * 0.3 + (0.7 if row in rows else 0.0) for row in range(SIDE) for _ in range(SIDE)]


def _npy(kind: str, shape: tuple[int, ...], data: bytes) -> bytes:
    """Return an array in NumPy's .npy format, version 1: a header padded to 64 bytes, then the numbers."""
    header = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    padded = header.ljust(-(len(header) + 11) % 64 + len(header)) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded + data
