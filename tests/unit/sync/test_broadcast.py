"""One stream for many readers: in order, within bounds, and never waiting for who is gone."""

import threading
from collections.abc import Iterator

import pytest

from hvdocker.errors import HvdockerError, UsageProblem
from hvdocker.sync.broadcast import Broadcast
from hvdocker.sync.pack import Piece

DEADLINE_S = 30


def numbered(count: int) -> Iterator[Piece]:
    return (Piece(b"%d" % number, number) for number in range(count))


class Reader(threading.Thread):
    """Takes so many pieces, or all."""

    def __init__(self, stream: Broadcast, name: str, most: int | None = None) -> None:
        super().__init__(daemon=True)
        self.stream, self.name, self.most = stream, name, most
        self.got: list[int] = []
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            with self.stream.reading(self.name) as pieces:
                for piece in pieces:
                    self.got.append(piece.done)
                    if len(self.got) == self.most:
                        break
        except HvdockerError as error:
            self.error = error


def run(stream: Broadcast, *readers: Reader) -> None:
    for reader in readers:
        reader.start()
    stream.start()
    for reader in readers:
        reader.join(DEADLINE_S)
        assert not reader.is_alive(), f"{reader.name} waits without end"
    stream.close()


def test_every_reader_gets_every_piece_in_order() -> None:
    stream = Broadcast(numbered(500), "abc", window=3)
    readers = [Reader(stream, name) for name in "abc"]
    run(stream, *readers)
    assert [reader.got for reader in readers] == [list(range(500))] * 3


def test_one_that_leaves_does_not_hold_up_the_others() -> None:
    stream = Broadcast(numbered(500), "ab", window=3)
    leaving, staying = Reader(stream, "a", most=2), Reader(stream, "b")
    run(stream, leaving, staying)
    assert (leaving.got, staying.got) == ([0, 1], list(range(500)))


def test_one_that_never_begins_holds_up_the_others_only_until_it_is_out() -> None:
    stream = Broadcast(numbered(50), "ab", window=3)
    reader = Reader(stream, "b")
    reader.start()
    stream.start()
    with stream.reading("a"):
        pass
    reader.join(DEADLINE_S)
    assert reader.got == list(range(50))
    stream.close()


def test_the_window_bounds_what_is_read_ahead() -> None:
    read: list[int] = []
    stuck = threading.Event()

    def pieces() -> Iterator[Piece]:
        for piece in numbered(100):
            read.append(piece.done)
            if len(read) == 4:
                stuck.set()
            yield piece

    stream = Broadcast(pieces(), "a", window=3)
    stream.start()
    assert stuck.wait(DEADLINE_S)
    stream.close()
    assert read == [0, 1, 2, 3]


def test_when_all_have_left_the_source_is_read_no_further() -> None:
    read: list[int] = []

    def endless() -> Iterator[Piece]:
        number = 0
        while True:
            read.append(number)
            yield Piece(b"", number)
            number += 1

    stream = Broadcast(endless(), "a", window=2)
    run(stream, Reader(stream, "a", most=5))
    assert len(read) <= 9


def test_a_source_that_fails_is_never_taken_for_whole() -> None:
    def failing() -> Iterator[Piece]:
        yield from numbered(3)
        raise UsageProblem("train.py changed")

    stream = Broadcast(failing(), "ab")
    readers = [Reader(stream, name) for name in "ab"]
    run(stream, *readers)
    assert [reader.got for reader in readers] == [[0, 1, 2]] * 2
    assert all("could not be read" in str(reader.error) for reader in readers)
    assert isinstance(stream.error, UsageProblem)


@pytest.mark.parametrize("window", [1, 16])
def test_no_pieces_is_a_stream_too(window: int) -> None:
    stream = Broadcast(numbered(0), "a", window)
    reader = Reader(stream, "a")
    run(stream, reader)
    assert (reader.got, reader.error) == ([], None)
