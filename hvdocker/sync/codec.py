"""Whether what travels is worth compressing: a decision about numbers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

MB = 1_000_000
# Below these speeds a core compresses faster than the link carries.
ZSTD_BELOW = 250 * MB
GZIP_BELOW = 13 * MB
# Pictures, archives and random bytes only get slower.
WORTH_IT_BELOW = 0.9

_LEAST_SAMPLE = 1 << 20
_MOST_SAMPLE = 4 << 20
_NOT_WORTH_MEASURING = 8 << 20


class Codec(Enum):
    NONE = "none"
    GZIP = "gzip"
    ZSTD = "zstd"


@dataclass(frozen=True)
class LinkSpeed:
    """`bytes_per_s` as measured with all hosts at once; `ratio` of a compressed sample to the sample."""

    bytes_per_s: float
    ratio: float
    has_zstd: bool


def choose_codec(speed: LinkSpeed) -> Codec:
    if speed.ratio > WORTH_IT_BELOW:
        return Codec.NONE
    if speed.has_zstd and speed.bytes_per_s < ZSTD_BELOW:
        return Codec.ZSTD
    return Codec.GZIP if speed.bytes_per_s < GZIP_BELOW else Codec.NONE


def sample_bytes(total: int) -> int:
    """How much is sent as it is, to measure the link with; 0 where the rest is not worth it."""
    if total <= _NOT_WORTH_MEASURING:
        return 0
    return max(_LEAST_SAMPLE, min(_MOST_SAMPLE, total // 8))


def bytes_per_s(sent: int, took_s: float, answer_s: float) -> float:
    """`answer_s` is what a command takes that carries nothing."""
    return sent / max(took_s - answer_s, 0.001)
