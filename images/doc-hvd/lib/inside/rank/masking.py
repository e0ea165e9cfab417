"""Replaces secrets by stars in a stream of bytes, wherever the stream is cut into pieces. The rank wrapper
does this, so that nothing between rank and terminal holds a secret or has to know one. Pure."""

import re
from collections.abc import Iterable, Iterator

STARS = b"***"
# Shortest line of a secret that is masked, and shortest beside longer lines of the same secret. Shorter words
# occur in any output, and stars there would reveal more than they hide.
MIN_MASKED = 4
MIN_MASKED_OF_MANY = 8
# Longer lines are masked in pieces, so that no more than this is held back.
MAX_MASKED = 4096


def words_to_mask(values: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return the byte strings to mask: every line of every secret, stripped of blanks, in pieces of at most
    4096 bytes."""
    found: set[bytes] = set()
    for value in values:
        lines = [line.strip() for line in re.split(rb"[\r\n]+", value) if line.strip()]
        long = [line for line in lines if len(line) >= MIN_MASKED_OF_MANY]
        for line in long or [line for line in lines if len(line) >= MIN_MASKED]:
            found.update(split_long_line(line))
    return tuple(sorted(found))


def split_long_line(line: bytes) -> list[bytes]:
    """Split a long line into pieces; the last may overlap the one before."""
    starts = range(0, max(len(line) - MAX_MASKED, 0), MAX_MASKED)
    return [*(line[start : start + MAX_MASKED] for start in starts), line[-MAX_MASKED:]]


class Masker:
    """Masks one stream. It holds back only bytes that may be the start of a secret, never a whole line, and
    without a time limit: a command that prints half a secret and waits reveals nothing. Held bytes are
    released by later bytes that rule a secret out, or by the end of the stream."""

    def __init__(self, words: Iterable[bytes]) -> None:
        self._words = tuple(words)
        self._held = b""
        # How many of the held bytes belong to a secret that began before them.
        self._covered = 0
        self._ends_in_stars = False

    def feed(self, data: bytes) -> bytes:
        """Take the next piece of the stream; return what may be shown of it and of the bytes held back."""
        data = self._held + data
        return self._settle(data, min((partial_match_at(word, data) for word in self._words), default=len(data)))

    def close(self) -> bytes:
        """Take the end of the stream; return the bytes held back."""
        return self._settle(self._held, len(self._held))

    def _settle(self, data: bytes, until: int) -> bytes:
        """Return the bytes before `until`, masked. Later input cannot change them; the rest is held back."""
        spans = [span for word in self._words for span in occurrences(word, data)]
        out, at = [], 0
        for start, end in merge_spans([(0, self._covered), *spans]):
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


def partial_match_at(word: bytes, data: bytes) -> int:
    """Return the first position from which all the rest of `data` may be the start of `word`, or the length
    of `data`. No word contains the end of a line."""
    at = max(len(data) - len(word) + 1, data.rfind(b"\n") + 1, 0)
    while (at := data.find(word[:1], at)) >= 0:
        if word.startswith(data[at:]):
            return at
        at += 1
    return len(data)


def occurrences(word: bytes, data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the spans of `word` in `data`, overlapping ones included."""
    at = data.find(word)
    while at >= 0:
        yield at, at + len(word)
        at = data.find(word, at + 1)


def merge_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans in order; those that touch or overlap are joined, empty ones left out."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found
