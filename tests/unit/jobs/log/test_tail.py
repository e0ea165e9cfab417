"""The last lines of a log, and going on after them: nothing is lost, and nothing comes twice."""

import re

from hvdocker.jobs import job_container
from hvdocker.jobs.log.tail import EXTRA_LINES, LogTail, read_tail
from hvdocker.protocol.output import Line, LineFilter
from hvdocker.protocol.placement import Placement, Share
from tests.unit.jobs.conftest import LOG_START, LogLink

PLACEMENT = Placement((Share("a", 1), Share("b", 1)))
ALL = LineFilter()


def numbered(count: int, per_second: int = 10) -> list[tuple[float, bytes]]:
    return [(n // per_second, f"[{n % 2}]<stdout>:line {n}\n".encode()) for n in range(count)]


def texts(found: LogTail) -> list[str]:
    return [line.text for line in found.lines]


def gone_on(link: LogLink, found: LogTail) -> list[str]:
    heard: list[Line] = []
    job_container.follow_lines(link, "c", PLACEMENT, heard.append, since=found.since, skip=found.skip)
    return [line.text for line in heard]


def test_a_short_log_is_read_whole(link: LogLink) -> None:
    link.logged.log = numbered(5)
    found = read_tail(link, "c", PLACEMENT, 2, ALL)
    assert found == LogTail((Line("line 3", 1, "b"), Line("line 4", 0, "a")), None, 5)
    assert read_tail(link, "c", PLACEMENT, 0, ALL).lines == ()


def test_of_a_long_log_only_the_end_is_read(link: LogLink) -> None:
    link.logged.log = numbered(5000)
    found = read_tail(link, "c", PLACEMENT, 3, ALL)
    assert texts(found) == ["line 4997", "line 4998", "line 4999"]
    assert (found.since, found.skip) == (LOG_START + 499, 10)
    assert [asked["tail"] for asked in link.logged.asked] == [3 + EXTRA_LINES]


def test_it_is_gone_on_where_reading_ended(link: LogLink) -> None:
    link.logged.log = numbered(5000)
    found = read_tail(link, "c", PLACEMENT, 3, ALL, is_open=True)
    link.logged.log = numbered(5004, per_second=10)
    assert gone_on(link, found) == ["line 5000", "line 5001", "line 5002", "line 5003"]


def test_a_second_with_more_lines_than_were_asked_for_is_read_whole(link: LogLink) -> None:
    link.logged.log = [*numbered(2000), *[(300, f"late {n}\n".encode()) for n in range(500)]]
    found = read_tail(link, "c", PLACEMENT, 2, ALL, is_open=True)
    assert (texts(found), found.since, found.skip) == (["late 498", "late 499"], LOG_START + 300, 500)
    link.logged.log.append((300, b"later\n"))
    assert gone_on(link, found) == ["later"]


def test_lines_are_counted_after_the_filter(link: LogLink) -> None:
    link.logged.log = numbered(5000)
    link.logged.log[7] = (0, b"[0]<stdout>:loss 0.5\n")
    found = read_tail(link, "c", PLACEMENT, 1, LineFilter(pattern=re.compile("loss")))
    assert (texts(found), found.since, found.skip) == (["loss 0.5"], None, 5000)
    of_rank = read_tail(link, "c", PLACEMENT, 2, LineFilter(frozenset({1}), frozenset({"b"})))
    assert texts(of_rank) == ["line 4997", "line 4999"]


def test_half_a_line_is_left_to_the_next_reader(link: LogLink) -> None:
    link.logged.log = [(1, b"one\n"), (2, b"tw")]
    found = read_tail(link, "c", PLACEMENT, 5, ALL, is_open=True)
    assert texts(found) == ["one"]
    link.logged.log.append((3, b"o\n"))
    assert gone_on(link, found) == ["two"]
    assert texts(read_tail(link, "c", PLACEMENT, 5, ALL)) == ["one", "two"]


def test_not_before_a_time(link: LogLink) -> None:
    link.logged.log = numbered(40)
    found = read_tail(link, "c", PLACEMENT, 100, ALL, since=LOG_START + 3, is_open=True)
    assert (texts(found), found.since, found.skip) == (
        [f"line {n}" for n in range(30, 40)],
        LOG_START + 3,
        10,
    )


def test_an_engine_that_is_restarted_loses_and_doubles_nothing(link: LogLink) -> None:
    link.logged.log, link.logged.is_running = numbered(5000), True
    found = read_tail(link, "c", PLACEMENT, 3, ALL, is_open=True)
    link.logged.log = numbered(5020)
    link.logged.ends_early = [12, 17]
    assert gone_on(link, found) == [f"line {n}" for n in range(5000, 5020)]


def test_an_empty_log(link: LogLink) -> None:
    found = read_tail(link, "c", PLACEMENT, 3, ALL, is_open=True)
    assert found == LogTail((), None, 0)
    link.logged.log = numbered(1)
    assert gone_on(link, found) == ["line 0"]
