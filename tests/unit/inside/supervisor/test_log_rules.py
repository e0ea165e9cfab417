"""LineSplitter of ranks, and the rules about them."""

import pytest
from inside.supervisor.line_splitter import MAX_LINE_BYTES, LineSplitter
from inside.supervisor.log_rules import CompiledRules, RuleMatcher

from hvdocker.protocol.resilience import Rule


def heard(*pieces: bytes) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    lines = LineSplitter(lambda rank, text: found.append((rank, text)))
    for piece in pieces:
        lines.feed(piece)
    lines.close()
    return found


def test_lines_are_heard_whole_with_their_rank() -> None:
    assert heard(b"[0]<stdout>:one\n[11]<st", b"derr>:tw", b"o\nof the launcher\n[1]<stdout>:rest") == [
        (0, "one"),
        (11, "two"),
        (1, "rest"),
    ]


def test_a_carriage_return_does_not_disturb() -> None:
    assert heard(b"[3]<stdout>:50 %\r[3]<stdout>:100 %\r\n") == [
        (3, "50 %"),
        (3, "100 %"),
    ]


def test_of_a_line_without_end_only_the_beginning_is_kept() -> None:
    [(rank, text)] = heard(b"[0]<stdout>:", *[b"x" * 10000] * 20, b"\n")
    assert (rank, len(text) <= MAX_LINE_BYTES) == (0, True)


def test_bytes_that_are_no_text_are_heard_all_the_same() -> None:
    assert heard(b"[0]<stdout>:\xff ECC\n") == [(0, "� ECC")]


def test_a_rule_that_cannot_be_read_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    book = CompiledRules([Rule("(", "drop"), Rule("b+", "stop")])
    assert [rule.pattern for rule in book.matches("abba (")] == ["b+"]
    assert capsys.readouterr().err.startswith("hvdocker: the rule '(' is not understood")


def test_where_two_ranks_have_one_number_nobody_is_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    dropped: list[str] = []
    judge = RuleMatcher([Rule("ECC", "drop")], "h1", dropped.append)
    assert not judge.match_line(2, "ECC", lambda _rank: None)
    assert (dropped, judge.dropped) == ([], {})
    assert "it cannot be told on which host that is" in capsys.readouterr().err
    assert judge.match_line(2, "ECC", lambda _rank: "h2")
    assert not judge.match_line(2, "ECC", lambda _rank: "h2")
    assert dropped == ["h2"]
    assert "h2 is dropped from the job" in capsys.readouterr().err
    assert [match.host for match in judge.left_out(["h1"])] == ["h2"]
    assert judge.left_out(["h1", "h2"]) == ()
