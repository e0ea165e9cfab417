"""Chooses the compression of a stream, from the speed of the link and from how much a sample of the files shrinks.
Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

MB = 1_000_000
# Bytes per second. On a slower link, a core compresses faster than the link sends. 13 MB/s is a 100 Mbit/s line.
ZSTD_BELOW_BYTES_PER_S = 250 * MB
GZIP_BELOW_BYTES_PER_S = 13 * MB
# Above this ratio (images, archives, random bytes) compression only costs time.
MAX_RATIO = 0.9

_MIN_SAMPLE_BYTES = 1 << 20
_MAX_SAMPLE_BYTES = 4 << 20
_UNMEASURED_BYTES = 8 << 20


class Codec(Enum):
    NONE = "none"
    GZIP = "gzip"
    ZSTD = "zstd"


@dataclass(frozen=True)
class LinkSpeed:
    """The facts from which the compression for one host is chosen.

    `bytes_per_s` is the speed of the link to the host while all hosts receive at once. `ratio` is the compressed size
    of the files divided by their original size. `has_zstd` says whether the host has the program zstd."""

    bytes_per_s: float
    ratio: float
    has_zstd: bool


def choose_codec(speed: LinkSpeed) -> Codec:
    """Return the compression for a host. If the files hardly shrink (`speed.ratio` above MAX_RATIO), that is no
    compression.

    Otherwise the speed of the link decides. Below ZSTD_BELOW_BYTES_PER_S it is zstd, if the host has zstd. Below
    GZIP_BELOW_BYTES_PER_S it is gzip. Faster links get no compression."""
    if speed.ratio > MAX_RATIO:
        return Codec.NONE
    if speed.has_zstd and speed.bytes_per_s < ZSTD_BELOW_BYTES_PER_S:
        return Codec.ZSTD
    return Codec.GZIP if speed.bytes_per_s < GZIP_BELOW_BYTES_PER_S else Codec.NONE


def sample_bytes(total: int) -> int:
    """Return how many bytes to send uncompressed to measure the link before `total` bytes are synced. Return 0 if
    `total` is too small to be worth a measurement."""
    if total <= _UNMEASURED_BYTES:
        return 0
    return max(_MIN_SAMPLE_BYTES, min(_MAX_SAMPLE_BYTES, total // 8))


def bytes_per_s(sent: int, took_s: float, answer_s: float) -> float:
    """Return the speed of a transfer of `sent` bytes in `took_s` seconds. `answer_s` is the time of a command that
    carries no data; it is subtracted."""
    return sent / max(took_s - answer_s, 0.001)
