"""Examples changed at random: bytes, words, lines and pieces of other examples."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

__all__ = ["mutate"]


def mutate(examples: Sequence[bytes], words: Sequence[bytes], draw: random.Random) -> bytes:
    """Return an example after one to eight changes."""
    content = bytearray(draw.choice(examples))
    for _ in range(draw.choice((1, 1, 2, 3, 5, 8))):
        draw.choice(CHANGES)(content, examples, words, draw)
    return bytes(content[: 1 << 16])


Change = Callable[[bytearray, Sequence[bytes], Sequence[bytes], random.Random], None]


def _at(content: bytearray, draw: random.Random) -> int:
    return draw.randrange(len(content) + 1)


def _flip(content: bytearray, _: Sequence[bytes], __: Sequence[bytes], draw: random.Random) -> None:
    if content:
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)


def _set(content: bytearray, _: Sequence[bytes], __: Sequence[bytes], draw: random.Random) -> None:
    if content:
        content[draw.randrange(len(content))] = draw.choice((0, 9, 10, 13, 34, 39, 45, 48, 57, 127, 128, 255))


def _cut(content: bytearray, _: Sequence[bytes], __: Sequence[bytes], draw: random.Random) -> None:
    first = _at(content, draw)
    del content[first : first + draw.choice((1, 2, 4, 16, 64, 1024))]


def _repeat(content: bytearray, _: Sequence[bytes], __: Sequence[bytes], draw: random.Random) -> None:
    first = _at(content, draw)
    piece = content[first : first + draw.choice((1, 4, 16, 64))]
    content[first:first] = piece * draw.choice((1, 2, 100))


def _insert(content: bytearray, _: Sequence[bytes], words: Sequence[bytes], draw: random.Random) -> None:
    at = _at(content, draw)
    content[at:at] = draw.choice(words)


def _replace(content: bytearray, _: Sequence[bytes], words: Sequence[bytes], draw: random.Random) -> None:
    at = _at(content, draw)
    word = draw.choice(words)
    content[at : at + len(word)] = word


def _number(content: bytearray, _: Sequence[bytes], __: Sequence[bytes], draw: random.Random) -> None:
    """Put another number in the place of one."""
    places = [at for at, sign in enumerate(content) if 48 <= sign <= 57]
    if places:
        first = last = draw.choice(places)
        while last < len(content) and 48 <= content[last] <= 57:
            last += 1
        content[first:last] = str(draw.choice((0, -1, 1, 2, 255, 2**31, 2**63, 10**30, 1e308))).encode()


def _splice(content: bytearray, examples: Sequence[bytes], _: Sequence[bytes], draw: random.Random) -> None:
    other = draw.choice(examples)
    first, at = draw.randrange(len(other) + 1), _at(content, draw)
    content[at:] = other[first:]


CHANGES: tuple[Change, ...] = (_flip, _set, _cut, _repeat, _insert, _insert, _replace, _number, _splice)
