"""Choices of a report under their published names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gnz_track.stats.choices import choose

__all__ = ["ChoiceName", "level_of", "translate"]

# Field of the choices -> published words for its values.
PUBLISHED = {"interval": {"bootstrap": "percentile"}}


class ChoiceName:
    """A choice of the report under its published name; reading and setting it reads and sets ``report.choices``."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._words = {ours: word for word, ours in PUBLISHED.get(name, {}).items()}

    def __get__(self, report: Any, owner: type | None = None) -> Any:
        if report is None:
            return self
        value = getattr(report.choices, self._name)
        return self._words.get(value, value)

    def __set__(self, report: Any, value: Any) -> None:
        report.choices = choose(report.choices, translate({self._name: value}))


def translate(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return choices in the words of :class:`Choices`; those that are None are left out."""
    return {
        name: PUBLISHED.get(name, {}).get(value, value) if isinstance(value, str) else value
        for name, value in given.items()
        if value is not None
    }


def level_of(ci: float) -> float:
    """Return alpha of an interval of level ``ci``, without the noise of the subtraction."""
    return round(1 - ci, 12)
