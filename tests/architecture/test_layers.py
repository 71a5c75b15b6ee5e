"""The package keeps the rules of the house."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from house import EXCEPTIONS, RULES, Source, read_package


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_package_keeps_the_rule(rule: Callable[[Iterable[Source]], list[str]], root: Path) -> None:
    sources = read_package(root / "gnz_track")
    assert len(sources) >= 5, "the package is not where it is looked for"
    found = rule(sources)
    assert not found, "\n" + "\n".join(found)


def test_every_exception_has_a_reason_and_a_file(root: Path) -> None:
    for place, reason in EXCEPTIONS.items():
        assert reason, place
        assert (root / "gnz_track" / place.split(":")[0]).is_file(), place
