import pytest

from hvdocker.units import exact_size, forgotten_unit, parse_bytes, parse_seconds, show_bytes, show_seconds

GIB = 1024**3


@pytest.mark.parametrize(
    ("text", "count"),
    [("16GB", 16 * GIB), ("512m", 512 * 1024**2), ("1.5 GiB", GIB * 3 // 2), ("7", 7), ("8B", 8),
     ("2tb", 2 * 1024 * GIB), (" 3 k ", 3072), ("0", 0)],
)  # fmt: skip
def test_sizes_as_people_write_them(text: str, count: int) -> None:
    assert parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "GB", "-1", "1,5G", "1 2", "1PB", "1e9", "0x10", "16 giga"])
def test_what_is_no_size(text: str) -> None:
    assert parse_bytes(text) is None


@pytest.mark.parametrize(
    ("text", "example", "problem"),
    [
        ("20", "16GB", "20 bytes? write 20GB or 20MB"),
        (" 16.5 ", "16GB", "16.5 bytes? write 16.5GB or 16.5MB"),
        ("500", "500MB", "500 bytes? write 500MB"),
        ("2000000", "16GB", "2000000 means bytes, which is 1.9 MB; write a unit, such as 16GB"),
        ("16777215", "500MB", "16777215 means bytes, which is 16 MB; write a unit, such as 500MB"),
    ],
)
def test_a_size_whose_unit_was_forgotten(text: str, example: str, problem: str) -> None:
    assert forgotten_unit(text, example) == problem


@pytest.mark.parametrize("text", ["20B", "1KB", "16.5GB", "16777216", "0", "much"])
def test_sizes_with_a_unit_and_numbers_that_are_bytes(text: str) -> None:
    assert forgotten_unit(text, "16GB") is None


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KB"), (10 * 1024, "10 KB"), (1.5 * GIB, "1.5 GB"),
     (3 * 1024 * GIB, "3.0 TB"), (5000 * 1024 * GIB, "5000.0 TB")],
)  # fmt: skip
def test_sizes_shown(count: float, text: str) -> None:
    assert show_bytes(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (59.4, "59.4 s"), (60, "1 min 00 s"), (3599, "59 min 59 s"), (3600, "1 h 00 min"),
     (90061, "25 h 01 min")],
)  # fmt: skip
def test_times_shown(seconds: float, text: str) -> None:
    assert show_seconds(seconds) == text


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1.5 h", 5400), ("2d", 172800), ("0", 0)]
)
def test_times_as_people_write_them(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "-1", "10 min", "1h30m", "inf", "9" * 30])
def test_what_is_no_time(text: str) -> None:
    assert parse_seconds(text) is None


@pytest.mark.parametrize("text", ["16GB", "500MB", "3KB", "2TB", "1048577B"])
def test_a_size_is_written_with_its_unit_and_read_back(text: str) -> None:
    size = parse_bytes(text)
    assert size is not None and exact_size(size) == text
