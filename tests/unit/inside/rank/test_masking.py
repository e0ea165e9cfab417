"""Secrets become stars wherever a stream is cut, and nothing else changes or is kept back."""

import random
import re
from itertools import pairwise

import pytest
from inside.rank.masking import MAX_MASKED, Masker, words_to_mask

WORDS = (b"s3cr3t", b"abcabd", b"abcd", b"cdef", b"aaaa", b"\xff\x00\xfe-")


def whole(words: tuple[bytes, ...], text: bytes) -> bytes:
    """By definition: every byte of every occurrence is covered; a run of covered bytes is three stars."""
    covered = [False] * len(text)
    for word in words:
        for found in re.finditer(b"(?=" + re.escape(word) + b")", text):
            covered[found.start() : found.start() + len(word)] = [True] * len(word)
    marked = b"".join(b"\0" if hidden else text[i : i + 1] for i, hidden in enumerate(covered))
    return re.sub(rb"\0+", b"***", marked)


def masked(words: tuple[bytes, ...], *pieces: bytes) -> bytes:
    masker = Masker(words)
    return b"".join([*(masker.feed(piece) for piece in pieces), masker.close()])


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (b"token s3cr3t!\n", b"token ***!\n"),
        (b"s3cr3t", b"***"),
        (b"s3cr3ts3cr3t", b"***"),
        (b"abcdef", b"***"),
        (b"abcabcabd", b"abc***"),
        (b"aaaaaaa b", b"*** b"),
        (b"s3cr3", b"s3cr3"),
        (b"nothing", b"nothing"),
        (b"", b""),
    ],
)
def test_cut_at_every_two_places(text: bytes, seen: bytes) -> None:
    assert whole(WORDS, text) == seen
    for first in range(len(text) + 1):
        for second in range(first, len(text) + 1):
            assert masked(WORDS, text[:first], text[first:second], text[second:]) == seen


def test_any_text_cut_anywhere() -> None:
    """Of few letters, so that words overlap, repeat and nearly come about."""
    dice = random.Random(4)
    for _ in range(3000):
        letters = dice.choice([b"ab", b"abc\n", b"abcd ", b"s3crt\r\n"])
        words = tuple({bytes(dice.choices(letters.strip(), k=dice.randint(4, 7))) for _ in range(3)})
        text = b"".join(dice.choice([dice.choice(words), bytes(dice.choices(letters, k=3))]) for _ in range(9))
        cuts = sorted(dice.choices(range(len(text) + 1), k=dice.randint(0, 6)))
        pieces = [text[a:b] for a, b in pairwise([0, *cuts, len(text)])]
        assert masked(words, *pieces) == whole(words, text), (words, pieces)


def test_only_what_may_be_a_beginning_is_held_back() -> None:
    masker = Masker((b"s3cr3t",))
    assert masker.feed(b"step 1 of s") == b"step 1 of "
    assert masker.feed(b"3c") == b""
    assert masker.feed(b"ale\n") == b"s3cale\n"
    assert masker.feed(b"progress 10% ") == b"progress 10% "
    assert masker.feed(b"s3cr") == b""
    assert masker.close() == b"s3cr"


def test_a_whole_line_is_never_held_back() -> None:
    masker = Masker((b"s3cr3t",))
    assert masker.feed(b"s3c\n") == b"s3c\n"


def test_what_is_looked_for() -> None:
    assert words_to_mask([b" tok3n\n", b"abc", b"line one of it\r\nshort\n  the last line  "]) == (
        b"line one of it", b"the last line", b"tok3n",
    )  # fmt: skip
    # Where no line is long, short ones will have to do.
    assert words_to_mask([b"user1\npw12345\nabc"]) == (b"pw12345", b"user1")


def test_a_long_line_is_masked_whole_although_it_is_looked_for_in_pieces() -> None:
    line = random.Random(1).randbytes(3 * MAX_MASKED + 5).replace(b"\n", b"x").replace(b"\r", b"y").strip()
    words = words_to_mask([line])
    assert max(map(len, words)) == MAX_MASKED
    assert masked(words, b"a" + line[:5000], line[5000:] + b"b") == b"a***b"
