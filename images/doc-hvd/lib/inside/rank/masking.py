"""Replaces secrets by stars in a stream of bytes, even if a secret is cut into several pieces of the stream. The rank
wrapper does this, so that no program between the rank and the terminal gets a secret or has to know one. Pure."""

import re
from collections.abc import Iterable, Iterator

STARS = b"***"
# Lines of a secret that are shorter than MIN_MASKED are not masked. If a secret has lines of at least
# MIN_MASKED_OF_MANY bytes, only these are masked. Shorter words occur in any output, and stars there would
# reveal more than they hide.
MIN_MASKED = 4
MIN_MASKED_OF_MANY = 8
# Longer lines are masked in pieces, so that no more than this is held back.
MAX_MASKED = 4096


def words_to_mask(values: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return the byte strings to mask: the lines of every secret, stripped of blanks, in pieces of at most MAX_MASKED
    bytes. `values` are the secrets. Lines shorter than MIN_MASKED bytes are left out. If a secret has lines of at least
    MIN_MASKED_OF_MANY bytes, its shorter lines are left out too."""
    found: set[bytes] = set()
    for value in values:
        lines = [line.strip() for line in re.split(rb"[\r\n]+", value) if line.strip()]
        long = [line for line in lines if len(line) >= MIN_MASKED_OF_MANY]
        for line in long or [line for line in lines if len(line) >= MIN_MASKED]:
            found.update(split_long_line(line))
    return tuple(sorted(found))


def split_long_line(line: bytes) -> list[bytes]:
    """Split a line into pieces of at most MAX_MASKED bytes. The last piece may overlap the piece before."""
    starts = range(0, max(len(line) - MAX_MASKED, 0), MAX_MASKED)
    return [*(line[start : start + MAX_MASKED] for start in starts), line[-MAX_MASKED:]]


class Masker:
    """Masks the secrets (`words`, from `words_to_mask`) in one stream. It holds back only bytes that may be the start
    of a secret, never a whole line. Held bytes are released when later bytes rule a secret out, or at the end of the
    stream. There is no time limit: a command that prints half a secret and waits must not reveal it."""

    def __init__(self, words: Iterable[bytes]) -> None:
        self._words = tuple(words)
        self._held = b""
        # How many of the held bytes belong to a secret that began before them.
        self._covered = 0
        self._ends_in_stars = False

    def feed(self, data: bytes) -> bytes:
        """Process the next piece of the stream. Return the bytes that may be shown now, with secrets masked. They are
        from this piece and from bytes held back before. The end of the piece is held back if it may be the start of a
        secret."""
        data = self._held + data
        return self._settle(data, min((partial_match_at(word, data) for word in self._words), default=len(data)))

    def close(self) -> bytes:
        """Process the end of the stream; return the bytes held back, masked."""
        return self._settle(self._held, len(self._held))

    def _settle(self, data: bytes, until: int) -> bytes:
        """Return the bytes of `data` before position `until`, with secrets masked, and hold back the rest. The caller
        chooses `until` so that no secret that is still incomplete begins before it."""
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
    """Return the first position in `data` from which all bytes up to the end may be the start of `word`. If there is
    none, return the length of `data`. The search begins after the last newline, because no word contains a newline."""
    at = max(len(data) - len(word) + 1, data.rfind(b"\n") + 1, 0)
    while (at := data.find(word[:1], at)) >= 0:
        if word.startswith(data[at:]):
            return at
        at += 1
    return len(data)


def occurrences(word: bytes, data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of every occurrence of `word` in `data`, overlapping ones included."""
    at = data.find(word)
    while at >= 0:
        yield at, at + len(word)
        at = data.find(word, at + 1)


def merge_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans, each (start, end), in order. Spans that touch or overlap are joined, and empty spans are left
    out."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found
