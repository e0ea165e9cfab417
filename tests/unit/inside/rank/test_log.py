"""A rank's own log on its host."""

import os
from pathlib import Path

from inside.rank.log import RankLog


def no_complaint(message: str) -> None:
    raise AssertionError(message)


def test_every_start_has_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "rank-3.log"
    for start, words in (("0", b"cut off"), ("1", b"whole\n"), ("2", b"")):
        log = RankLog(path, no_complaint)
        log.begin(3, "b", start, 0.0)
        log.write(words)
        log.close()
    heads = [f"hvdocker: rank 3 on b, start {start}, 1970-01-01 00:00:00 UTC" for start in range(3)]
    assert path.read_text().splitlines() == [heads[0], "cut off", heads[1], "whole", heads[2]]


def test_it_is_bounded_and_has_the_last_words(tmp_path: Path) -> None:
    path = tmp_path / "rank-0.log"
    log = RankLog(path, no_complaint, most_bytes=100)
    for number in range(1000):
        log.write(b"%09d\n" % number)
    log.close()
    before, now = (tmp_path / "rank-0.log.1").read_bytes(), path.read_bytes()
    assert len(before) == 100 and len(now) <= 100
    assert (before + now).endswith(b"000000998\n000000999\n")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["rank-0.log", "rank-0.log.1"]


def test_a_log_that_was_full_is_turned_over_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "rank-0.log"
    path.write_bytes(b"x" * 120)
    log = RankLog(path, no_complaint, most_bytes=100)
    log.write(b"more\n")
    log.close()
    assert path.read_bytes() == b"more\n"


def test_a_missing_folder_is_said_once(tmp_path: Path) -> None:
    said: list[str] = []
    log = RankLog(tmp_path / "none" / "rank-0.log", said.append)
    log.begin(0, "a", "0", 0.0)
    log.write(b"words")
    log.close()
    assert len(said) == 1 and said[0].startswith("cannot keep rank-0.log on this host: [Errno 2]")


def test_a_full_disk_is_said_once() -> None:
    said: list[str] = []
    log = RankLog(Path("/dev/full"), said.append)
    log.begin(0, "a", "0", 0.0)
    log.write(b"words")
    assert len(said) == 1 and os.strerror(28) in said[0]
