"""The literature behind the catalogue: BibTeX entries by key, and the sentence that a card prints of each.

The entries stand in ``references.bib``, one field a line.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypedDict

from gnz_track.errors import UnknownName

__all__ = ["Cited", "bibtex_of", "cited", "parse_bibtex", "references"]

_ENTRY = re.compile(r"@(?P<kind>[a-z]+)\{(?P<key>\w+),\n(?P<fields>.*?)\n\}", re.DOTALL)
_FIELD = re.compile(r"  (?P<name>[a-z]+) = \{(?P<value>.*)\},?")
_VENUES = ("journal", "booktitle", "publisher", "institution", "howpublished")


class Cited(TypedDict):
    """Two fields of a row: the keys of its references, and what they say."""

    references: tuple[str, ...]
    citation: str


@functools.cache
def references() -> Mapping[str, Mapping[str, str]]:
    """Return the fields of all entries by key, with ``kind`` and the whole entry under ``bibtex``."""
    return parse_bibtex(Path(__file__).with_suffix(".bib").read_text(encoding="utf-8"))


def cited(*keys: str) -> Cited:
    """Return the fields ``references`` and ``citation`` of a row.

    >>> cited("zachary1977")["citation"].split(". Journal")[0]
    'Zachary: An information flow model for conflict and fission in small groups'
    """
    return {"references": keys, "citation": "; ".join(_sentence(_find_entry(key)) for key in keys)}


def bibtex_of(keys: Iterable[str]) -> str:
    """Return the BibTeX entries of some keys, in their order."""
    return "\n".join(_find_entry(key)["bibtex"] for key in keys)


def parse_bibtex(text: str) -> dict[str, dict[str, str]]:
    """Parse entries written with one field a line; anything else raises ``ValueError`` with the place.

    >>> parse_bibtex(bibtex_of(["zachary1977"]))["zachary1977"]["year"]
    '1977'
    """
    found: dict[str, dict[str, str]] = {}
    end = 0
    for entry in _ENTRY.finditer(text):
        lines = [(line, _FIELD.fullmatch(line)) for line in entry["fields"].split("\n")]
        odd = next((line for line, field in lines if field is None), text[end : entry.start()].strip())
        if odd or entry["key"] in found:
            message = f"before or in entry {entry['key']!r}: {odd or 'a second entry of this key'!r}"
            raise ValueError(message)
        fields = {field["name"]: field["value"] for _, field in lines if field}
        found[entry["key"]] = {**fields, "kind": entry["kind"], "bibtex": entry[0]}
        end = entry.end()
    if text[end:].strip():
        message = f"after the last entry: {text[end:].strip()[:40]!r}"
        raise ValueError(message)
    return found


def _find_entry(key: str) -> Mapping[str, str]:
    known = references()
    if key not in known:
        raise UnknownName("reference", key, known)
    return known[key]


def _sentence(entry: Mapping[str, str]) -> str:
    names = entry.get("author") or entry["editor"]
    last_names = ", ".join(name.partition(",")[0].strip("{}") for name in names.split(" and "))
    venue = next(entry[name] for name in _VENUES if name in entry)
    details = [venue, *(entry[name].replace("--", "-") for name in ("volume", "pages") if name in entry), entry["year"]]
    link = f", doi:{entry['doi']}" if "doi" in entry else f", {entry['url']}" if "url" in entry else ""
    return f"{last_names}: {entry['title']}. {', '.join(details)}{link}"
