"""Marks are taken out of the output, and nothing else is changed or delayed."""

import pytest
from inside.launchers import named
from inside.supervisor.mark_filter import MarkFilter

from hvdocker.protocol.marks import Mark, encode_mark, extract_mark

EXIT = {"event": "rank-exit", "rank": 1, "code": 3}
MARK = encode_mark(EXIT)


def run(*pieces: bytes, close: bool = True) -> tuple[bytes, list[Mark]]:
    written: list[bytes] = []
    marks: list[Mark] = []
    stream = MarkFilter(written.append, marks.append, named("horovod"))
    for piece in pieces:
        stream.feed(piece)
    if close:
        stream.close()
    return b"".join(written), marks


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        (MARK, b""),
        (b"[1]<stderr>:" + MARK, b""),
        (b"[1]<stderr>:no newline" + MARK, b"[1]<stderr>:no newline\n"),
        (b"[0]<stderr>:no newline[1]<stderr>:" + MARK, b"[0]<stderr>:no newline\n"),
        (MARK[:-1] + b" more\n", b" more\n"),
    ],
)
def test_a_mark_is_taken_out_of_its_line(line: bytes, kept: bytes) -> None:
    assert extract_mark(line) == (kept, EXIT)


@pytest.mark.parametrize("line", [b"plain\n", b"\x1ehvdocker {broken\n", b"\x1ehvdocker 5\n", b"\x1e other\n", b""])
def test_what_is_no_mark_stays(line: bytes) -> None:
    assert extract_mark(line) == (line, None)


def test_json_that_is_nested_too_deeply_is_no_mark() -> None:
    line = b"\x1ehvdocker " + b"[" * 100_000 + b"\n"
    assert extract_mark(line) == (line, None)


def test_a_stream_cut_anywhere_gives_the_same() -> None:
    whole = b"[0]<stdout>:a\n[1]<stderr>:" + MARK + b"[0]<stdout>:50%\r[0]<stdout>:\xff end"
    expected = b"[0]<stdout>:a\n[0]<stdout>:50%\r[0]<stdout>:\xff end", [EXIT]
    for cut in range(len(whole) + 1):
        assert run(whole[:cut], whole[cut:]) == expected
    assert run(*(whole[i : i + 1] for i in range(len(whole)))) == expected


@pytest.mark.parametrize("text", [b"half a line", b"50%\r", b"[1]<stdout>:a progress bar without end"])
def test_unended_text_is_not_held_back(text: bytes) -> None:
    assert run(text, close=False) == (text, [])


def test_a_header_with_a_date_becomes_neutral() -> None:
    date = b"Mon Nov 16 01:49:12 2026"
    assert run(date + b"[1]<stderr>:" + MARK, date + b"[1]<std", b"out>:text\n") == (b"[1]<stdout>:text\n", [EXIT])
