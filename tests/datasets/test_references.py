"""The literature behind the catalogue."""

from __future__ import annotations

import pytest

from gnz_track.datasets import catalogue
from gnz_track.datasets.references import bibtex_of, cited, parse_bibtex, references
from gnz_track.errors import UnknownName
from gnz_track.types import DatasetRow

# The suite ``ten`` spells its citations out.
ROWS = [row for row in catalogue.DATASETS.rows() if row.references or not row.raw.startswith("ten/")]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_has_entries_that_parse_and_its_citation_says_the_same(row: DatasetRow) -> None:
    assert row.references
    entries = parse_bibtex(bibtex_of(row.references))
    assert tuple(entries) == row.references
    assert row.citation == cited(*row.references)["citation"]
    for entry in entries.values():
        assert entry["title"] in row.citation
        assert entry["year"] in row.citation


@pytest.mark.parametrize("key", references())
def test_an_entry_is_whole_and_used(key: str) -> None:
    entry = references()[key]
    venues = {
        "article": "journal",
        "inproceedings": "booktitle",
        "book": "publisher",
        "techreport": "institution",
        "misc": "howpublished",
        "phdthesis": "institution",
    }
    assert entry.get("author") or entry.get("editor")
    assert entry["title"]
    assert entry[venues[entry["kind"]]]
    assert 1900 < int(entry["year"]) < 2100
    assert key.endswith(entry["year"])
    assert any(key in row.references for row in ROWS), f"no row cites {key}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("@book{a,\n  title {B}\n}", "title {B}"),
        ("@book{a,\n  year = {1}\n}\n@book{a,\n  year = {1}\n}", "a second entry"),
        ("nonsense\n@book{a,\n  year = {1}\n}", "nonsense"),
        ("@book{a,\n  year = {1}\n}\n@book{b", "after the last entry"),
    ],
)
def test_what_is_no_bibtex_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_bibtex(text)


def test_an_unknown_key_is_named() -> None:
    with pytest.raises(UnknownName, match="did you mean 'zachary1977'"):
        cited("zachary1978")
