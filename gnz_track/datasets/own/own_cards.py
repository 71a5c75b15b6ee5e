"""Source, licence and citation that users state of their own data."""

from __future__ import annotations

from collections.abc import Mapping

from gnz_track.errors import BadValue, UnknownName

__all__ = ["USUAL_FACTS", "check_facts"]

# What a card says where its user says nothing.
USUAL_FACTS = {"source": "given by the user", "licence": "not stated", "citation": "not stated", "url": "", "notes": ""}


def check_facts(card: Mapping[str, object] | None) -> dict[str, str]:
    """Return the facts of a card, complete; unknown names and empty values are errors.

    >>> check_facts({"licence": "CC-BY-4.0"})["licence"]
    'CC-BY-4.0'
    """
    facts = dict(USUAL_FACTS)
    for name, value in (card or {}).items():
        if name not in USUAL_FACTS:
            raise UnknownName("field of a card", name, USUAL_FACTS)
        may_be_empty = not USUAL_FACTS[name]
        if not isinstance(value, str) or not (value.strip() or may_be_empty):
            raise BadValue(f"{name} of the card", value, "a text, such as 'CC-BY-4.0' for a licence")
        facts[name] = value.strip()
    return facts
