import pytest

from hvdocker.errors import UsageProblem
from hvdocker.jobs.log.since import Since, parse_since
from tests.unit.fakes import FakeLink


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("10min", 600), ("1h30m", 5400), ("2d", 172800), ("1.5s", 1.5)],
)
def test_so_long_ago(text: str, seconds: float) -> None:
    assert parse_since(text) == Since(ago_s=seconds)


@pytest.mark.parametrize(
    ("text", "at"),
    [("2024-05-04T03:00:00Z", 1714791600.0), ("2024-05-04T05:00:00+02:00", 1714791600.0)],
)
def test_a_time(text: str, at: float) -> None:
    assert parse_since(text) == Since(at=at)


def test_a_time_without_a_zone_is_ours() -> None:
    found = parse_since("2024-05-04 12:30")
    assert found.at is not None and abs(found.at - 1714825800) <= 14 * 3600


@pytest.mark.parametrize("text", ["", "10", "m", "yesterday", "-5m", "10m ago", "1969-01-01", "2024-13-01"])
def test_neither(text: str) -> None:
    with pytest.raises(UsageProblem, match="--since should be a duration or a time"):
        parse_since(text)


def test_it_counts_from_the_clock_of_the_host_that_has_the_log() -> None:
    link = FakeLink(answer=lambda command, stdin: (0, b"1714791690.5\n", b""))
    assert parse_since("90s").on(link) == 1714791600.5
    assert parse_since("2024-05-04T03:00:00Z").on(FakeLink(answer=lambda *_: (1, b"", b""))) == 1714791600.0
