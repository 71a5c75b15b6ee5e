"""Which way inputs go: those that reach code that none has reached become examples for the next ones."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from fuzz_mutation import mutate

__all__ = ["Guide"]

PACKAGE = "gnz_track"
# So many of the inputs come from the examples, however many others there are by then.
FRESH = 0.3

# Where a function begins, and two lines of it, one after the other.
Arc = tuple[str, int, int, int]


class Guide:
    """Examples of a format, and the arcs (from line to line of a package) that inputs have reached.

    The same seed gives the same inputs: neither time nor the addresses of objects decide anything.
    """

    def __init__(
        self, examples: Sequence[bytes], words: Sequence[bytes], draw: random.Random, *, package: str = PACKAGE
    ) -> None:
        self.arcs: set[Arc] = set()
        self.found: list[bytes] = []
        self._examples, self._words, self._draw, self._package = list(examples), words, draw, package

    def next(self) -> bytes:
        """Return a changed example, or a changed input that went where no example does."""
        is_fresh = not self.found or self._draw.random() < FRESH
        parent = self._draw.choice(self._examples) if is_fresh else self.found[self._late()]
        content = mutate([parent], self._words, self._draw)
        # Now and then with a piece of any other.
        return mutate([content, *self._examples, *self.found], self._words, self._draw) if self._splices() else content

    def follow(self, content: bytes, read: Callable[[], Any]) -> Any:
        """Read an input, and keep it where it went a new way."""
        n_before = len(self.arcs)
        with self._watching():
            found = read()
        if len(self.arcs) > n_before:
            self.found.append(content)
        return found

    def _late(self) -> int:
        # Those that came late went furthest.
        return max(self._draw.randrange(len(self.found)) for _ in range(2))

    def _splices(self) -> bool:
        return self._draw.random() < 0.1

    @contextmanager
    def _watching(self) -> Iterator[None]:
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, _: str, __: Any) -> Callable[..., Any] | None:
        code = frame.f_code
        # Lines of others, of which there are millions, are not looked at.
        if not frame.f_globals.get("__name__", "").startswith(self._package):
            return None
        file, first, add = code.co_filename, code.co_firstlineno, self.arcs.add
        last = first

        def step(frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
            nonlocal last
            if event == "line":
                add((file, first, last, frame.f_lineno))
                last = frame.f_lineno
            return step

        return step
