import random

import pytest

from hvdocker.protocol.output import Line, LineAssembler, parse_line, settle_states, without_states

HOSTS = ("b", "a", "a")


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        ("[0]<stdout>:hello", Line("hello", 0, "b")),
        ("[2]<stderr>:oh: no", Line("oh: no", 2, "a", is_error=True)),
        ("[1,0]<stdout>:mpi's way", Line("mpi's way", 1, "a")),
        ("[0]<stdout>:", Line("", 0, "b")),
        ("[9]<stdout>:a rank we do not know", Line("a rank we do not know", 9, None)),
        ("[0]<stdout>:  indented [1]<stdout>:quoted", Line("  indented [1]<stdout>:quoted", 0, "b")),
        ("Launching horovod task", Line("Launching horovod task")),
        ("[x]<stdout>:no rank", Line("[x]<stdout>:no rank")),
        ("", Line("")),
    ],
)
def test_whose_line_it_is(raw: str, line: Line) -> None:
    assert parse_line(raw, HOSTS) == line


def assembled(*chunks: bytes) -> list[str]:
    assembler = LineAssembler()
    lines = [line for chunk in chunks for line in assembler.feed(chunk)]
    return [*lines, *assembler.flush()]


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ((b"a\nb\n",), ["a", "b"]),
        ((b"a", b"b\n", b"c"), ["ab", "c"]),
        ((b"\n\n",), ["", ""]),
        ((), []),
        ((b"",), []),
        ((b"crlf\r\n",), ["crlf"]),
        ((b"\xed\x95", b"\x9c\n"), ["한"]),
        ((b"\xff\n",), ["�"]),
    ],
)
def test_chunks_become_lines(chunks: tuple[bytes, ...], lines: list[str]) -> None:
    assert assembled(*chunks) == lines


def test_flush_hands_out_the_rest_once() -> None:
    assembler = LineAssembler()
    assert list(assembler.feed(b"no newline")) == []
    assert list(assembler.flush()) == ["no newline"]
    assert list(assembler.flush()) == []


def lines_of(raw: bytes) -> list[Line]:
    return [parse_line(line, HOSTS) for line in assembled(raw)]


def test_of_a_progress_bar_the_last_state_counts() -> None:
    older = b"[0]<stdout>:10%\r[0]<stdout>:50%\r[0]<stdout>:100%\n"
    for raw in (older, older.replace(b"\r", b"\r\n")):
        assert lines_of(raw)[0] == Line("10%", 0, "b", is_state=True)
        assert list(without_states(lines_of(raw))) == [Line("100%", 0, "b")]


def test_a_progress_bar_of_one_rank_does_not_swallow_the_lines_of_another() -> None:
    """horovodrun ends a piece at a carriage return too, and puts the prefix before every piece."""
    older = b"[0]<stdout>:10%\r[1]<stdout>:hello\n[0]<stdout>:20%\r[0]<stdout>:done\n"
    for raw in (older, older.replace(b"\r", b"\r\n")):
        assert list(without_states(lines_of(raw))) == [Line("hello", 1, "a"), Line("done", 0, "b")]


def test_a_state_that_nothing_overwrites_is_final() -> None:
    """A newline alone overwrites nothing, and neither does the end of the output."""
    raw = b"[0]<stdout>:100%\r\n[0]<stdout>:\n[1]<stderr>:5%\r\n"
    assert list(settle_states(lines_of(raw))) == [
        Line("100%", 0, "b", is_state=True),
        Line("100%", 0, "b"),
        Line("5%", 1, "a", is_error=True, is_state=True),
        Line("5%", 1, "a", is_error=True),
    ]
    assert list(without_states(lines_of(raw), is_open=True)) == [Line("100%", 0, "b")]


def test_lines_of_a_rank_that_end_as_on_windows_all_stay() -> None:
    raw = b"[0]<stdout>:one\r\n[0]<stdout>:\n[0]<stdout>:two\r\n[0]<stdout>:\n"
    assert [line.text for line in without_states(lines_of(raw))] == ["one", "two"]


def test_a_long_output_without_a_newline_is_joined_once() -> None:
    """It was joined again at every chunk: 16 MB took 12 s."""
    assembler = LineAssembler()
    chunks = [b"x" * 1000] * 2000
    for chunk in chunks:
        assert list(assembler.feed(chunk)) == []
    assert all(held is chunk for held, chunk in zip(assembler._rest, chunks, strict=True))
    assert [len(line) for line in assembler.feed(b"\n")] == [2_000_000]


def test_where_the_chunks_are_cut_makes_no_difference() -> None:
    choice = random.Random(20260101)
    pieces = [
        "[0]<stdout>:",
        "[12]<stderr>:",
        "\n",
        "\r",
        "\r\n",
        "한국어",
        "é",
        "plain words ",
        "100%",
        ">:",
        "",
    ]
    for _ in range(300):
        whole = "".join(choice.choices(pieces, k=choice.randint(0, 30))).encode()
        cuts = sorted(choice.randint(0, len(whole)) for _ in range(choice.randint(0, 8)))
        chunks = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
        assert assembled(*chunks) == assembled(whole), chunks


def test_a_line_of_a_rank_that_is_not_where_it_was_placed_names_its_host() -> None:
    assert parse_line("[1@c]<stdout>:hello", ["a", "b"]) == Line("hello", 1, "c")
    assert parse_line("[7@c]<stderr>:hello", ["a", "b"]) == Line("hello", 7, "c", is_error=True)
