"""When compressing is worth it."""

import pytest

from hvdocker.sync.codec import MB, Codec, LinkSpeed, bytes_per_s, choose_codec, sample_bytes


@pytest.mark.parametrize(
    ("mb_per_s", "ratio", "has_zstd", "codec"),
    [
        (1, 0.3, True, Codec.ZSTD),
        (118, 0.3, True, Codec.ZSTD),
        (249, 0.3, True, Codec.ZSTD),
        (251, 0.3, True, Codec.NONE),
        (1, 0.3, False, Codec.GZIP),
        (12, 0.3, False, Codec.GZIP),
        (118, 0.3, False, Codec.NONE),
        (1, 0.95, True, Codec.NONE),
        (1, 1.01, False, Codec.NONE),
    ],
)
def test_the_choice(mb_per_s: float, ratio: float, has_zstd: bool, codec: Codec) -> None:
    assert choose_codec(LinkSpeed(mb_per_s * MB, ratio, has_zstd)) is codec


@pytest.mark.parametrize(
    ("total", "sample"),
    [
        (0, 0),
        (8 << 20, 0),
        ((8 << 20) + 1, 1 << 20),
        (20 << 20, (20 << 20) // 8),
        (3 << 30, 4 << 20),
    ],
)
def test_how_much_a_link_is_measured_with(total: int, sample: int) -> None:
    assert sample_bytes(total) == sample


def test_the_time_that_a_command_takes_anyway_is_not_the_links() -> None:
    assert bytes_per_s(4 * MB, 0.5, 0.1) == pytest.approx(10 * MB)
    assert bytes_per_s(MB, 0.01, 0.02) == pytest.approx(1000 * MB)
