"""Stars instead of secrets in a stream of bytes, wherever the stream is cut into pieces."""

import re
from collections.abc import Iterable, Iterator

STARS = b"***"
# Bytes that a line of a secret must have to be masked, and beside longer lines: shorter words stand in any
# output, and stars there would tell more than they hide.
LEAST = 4
LEAST_OF_MANY = 8
# A longer line is masked piece by piece, so that never more than this is held back.
LONGEST = 4096


def words_of(values: Iterable[bytes]) -> tuple[bytes, ...]:
    """What must not be seen: every line of every secret, without the blanks around it."""
    found: set[bytes] = set()
    for value in values:
        lines = [line.strip() for line in re.split(rb"[\r\n]+", value) if line.strip()]
        long = [line for line in lines if len(line) >= LEAST_OF_MANY]
        for line in long or [line for line in lines if len(line) >= LEAST]:
            found.update(pieces(line))
    return tuple(sorted(found))


def pieces(line: bytes) -> list[bytes]:
    """The whole line in pieces that can be looked for; the last may overlap the one before."""
    starts = range(0, max(len(line) - LONGEST, 0), LONGEST)
    return [*(line[start : start + LONGEST] for start in starts), line[-LONGEST:]]


class Masker:
    """One stream. Holds back only what may be the beginning of a word, which is never a whole line: whatever
    is held is let go by the next bytes that prove it harmless, or by the end of the stream."""

    def __init__(self, words: Iterable[bytes]) -> None:
        self._words = tuple(words)
        self._held = b""
        # How many bytes of what is held belong to a word that began before it.
        self._covered = 0
        self._ends_in_stars = False

    def feed(self, data: bytes) -> bytes:
        """The next piece of the stream in; what may be seen of it, and of what was held, out."""
        data = self._held + data
        return self._settle(data, min((begins_at(word, data) for word in self._words), default=len(data)))

    def close(self) -> bytes:
        """The stream has ended: what is held is no word any more."""
        return self._settle(self._held, len(self._held))

    def _settle(self, data: bytes, until: int) -> bytes:
        """Nothing that follows can change what the bytes before `until` are."""
        spans = [span for word in self._words for span in places_of(word, data)]
        out, at = [], 0
        for start, end in merged([(0, self._covered), *spans]):
            if start >= until:
                break
            if start > at or not self._ends_in_stars:
                out += [data[at:start], STARS]
            at, self._ends_in_stars = min(end, until), True
        if at < until:
            out.append(data[at:until])
            self._ends_in_stars = False
        reach = max([self._covered, *(end for start, end in spans if start < until)])
        self._covered = max(0, reach - until)
        self._held = data[until:]
        return b"".join(out)


def begins_at(word: bytes, data: bytes) -> int:
    """The first place from which all the rest of `data` may be the beginning of `word`; its end if none.
    No word has a line's end in it."""
    at = max(len(data) - len(word) + 1, data.rfind(b"\n") + 1, 0)
    while (at := data.find(word[:1], at)) >= 0:
        if word.startswith(data[at:]):
            return at
        at += 1
    return len(data)


def places_of(word: bytes, data: bytes) -> Iterator[tuple[int, int]]:
    """Where `word` stands, overlaps included."""
    at = data.find(word)
    while at >= 0:
        yield at, at + len(word)
        at = data.find(word, at + 1)


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """In order; spans that touch or overlap become one, empty ones none."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found
