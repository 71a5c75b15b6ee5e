"""Which way layers take: their fast forward or PyG's own. A hook would tell too, but be a reason to take the latter."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from gnz_track.training.acceleration.layers import FORWARDS


@contextlib.contextmanager
def watch_fast_forwards() -> Iterator[list[str]]:
    """Give a list that grows by the name of its class whenever a layer, accelerated meanwhile, is fast."""
    calls: list[str] = []

    def watched(cls: type, compute: Any) -> Any:
        def forward(*given: Any) -> Any:
            calls.append(cls.__name__)
            return compute(*given)

        return forward

    with pytest.MonkeyPatch.context() as patch:
        for cls, compute in FORWARDS.items():
            patch.setitem(FORWARDS, cls, watched(cls, compute))
        yield calls
