"""Small problems that can be learned, one for each kind of objective."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from toy_problems import TOYS, Toy


@pytest.fixture(params=TOYS.values(), ids=TOYS)
def toy(request: pytest.FixtureRequest) -> Toy:
    """Return one problem after another."""
    return request.param()


@pytest.fixture
def toys() -> dict[str, Callable[[], Toy]]:
    """Return the makers of all problems by name."""
    return TOYS
