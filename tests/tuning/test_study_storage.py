"""Where studies are kept, and what is said where they cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnz_track.errors import BadValue, StoreUnreachable, StoreUnusable
from gnz_track.store.address import parse_address, store_home
from gnz_track.tuning.study_storage import StudyPlace, open_studies, parse_place


def test_place_is_beside_the_store_unless_it_is_named(tmp_path: Path) -> None:
    store = parse_address(str(tmp_path / "runs" / "gnz.db"))
    assert parse_place("", store) == StudyPlace(file=tmp_path / "runs" / "studies" / "gnz.log")
    assert parse_place(str(tmp_path / "mine.log"), store) == StudyPlace(file=tmp_path / "mine.log")
    team = parse_address("postgresql://me:secret@host/runs")
    assert parse_place("", team) == StudyPlace(uri="postgresql+psycopg://me:secret@host/runs")
    assert str(parse_place("", team)) == "postgresql+psycopg://me:***@host/runs"
    server = parse_place("", parse_address("http://host:5000"))
    assert server.file is not None
    assert server.file.parent == store_home() / "studies"
    assert server != parse_place("", parse_address("http://host:5001"))


@pytest.mark.parametrize("text", ["sqlite:///studies.db", "http://host:5000"])
def test_place_of_another_kind_is_refused(text: str) -> None:
    with pytest.raises(BadValue, match=r"the place of studies is .*; allowed: a file, or postgresql://"):
        parse_place(text, parse_address("x.db"))


def test_place_that_cannot_be_made_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with (
        pytest.raises(StoreUnusable, match="choose another file: --study-store FILE"),
        open_studies(StudyPlace(file=tmp_path / "file" / "studies.log")),
    ):
        pass


def test_database_that_does_not_answer_is_told_without_its_password() -> None:
    place = StudyPlace(uri="postgresql+psycopg://me:secret@127.0.0.1:9/runs")
    with pytest.raises(StoreUnreachable, match="does not answer") as raised, open_studies(place):
        pass
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_studies_and_runs_share_a_database(postgresql_database: str) -> None:
    """Optuna and MLflow both have a table of the same name there."""
    from gnz_track.store.listings import has_tables
    from gnz_track.store.writer import open_store

    address = parse_address(postgresql_database)
    with open_studies(parse_place("", address)) as studies:
        assert studies.names() == []
        assert studies.are_shared
    open_store(address).close()
    assert has_tables(address)
    with open_studies(parse_place("", address)) as studies:
        assert studies.names() == []
