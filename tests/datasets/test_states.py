"""Each row is in exactly one state."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import pytest

from gnz_track.datasets.catalogue import DATASETS
from gnz_track.datasets.homes import missing_library, state_of
from gnz_track.datasets.sources.fetch import find_complete
from gnz_track.types import Category, DatasetRow, Download, PackageFile, TaskType

ROW = DatasetRow(
    name="made_up",
    category=Category.custom,
    task_types=(TaskType.node_cls,),
    loader="math:sqrt",
    source="made up in a test",
    licence="none",
    citation="none",
    raw="Made/up",
    origins=(Download(url="https://example.org/a.txt", path="a.txt"),),
)
PACKAGED = PackageFile(
    project="made", version="1", file="made-1.whl", sha256="0" * 64, n_bytes=1, members={"a.txt": "made/a.txt"}
)


def _fill(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("1 2\n")


def test_raw_files_are_looked_up_in_the_mirror_and_in_the_home(tmp_path: Path) -> None:
    home, mirror = tmp_path / "home", tmp_path / "mirror"
    assert state_of(ROW, home=home, mirror=mirror) == "to fetch"
    assert state_of(dataclasses.replace(ROW, origins=()), home=home) == "from a mirror only"
    _fill(mirror / ROW.raw)
    assert state_of(ROW, home=home, mirror=mirror) == "raw files here"
    assert state_of(ROW, home=home) == "to fetch"
    _fill(home / "raw" / ROW.raw)
    assert state_of(ROW, home=home) == "raw files here"


def test_a_raw_folder_that_lacks_a_file_does_not_count(tmp_path: Path) -> None:
    _fill(tmp_path / "raw" / ROW.raw)
    two = dataclasses.replace(ROW, origins=(*ROW.origins, Download(url="https://example.org/b", path="b")))
    assert state_of(two, home=tmp_path) == "to fetch"


def test_what_a_package_ships_is_to_be_fetched(tmp_path: Path) -> None:
    row = dataclasses.replace(ROW, origins=(PACKAGED,))
    assert state_of(row, home=tmp_path) == "to fetch"


def test_a_retired_row_lives_on_where_its_files_are(tmp_path: Path) -> None:
    row = dataclasses.replace(ROW, retired="its server is gone")
    assert state_of(row, home=tmp_path) == "retired"
    _fill(tmp_path / "raw" / ROW.raw)
    assert state_of(row, home=tmp_path) == "raw files here"


def test_an_extra_that_is_not_installed_is_named(tmp_path: Path) -> None:
    row = dataclasses.replace(ROW, extra="no_such_library", raw="")
    assert state_of(row, home=tmp_path) == "needs no_such_library: pip install 'gnz-track[no_such_library]'"
    assert state_of(dataclasses.replace(row, extra="json"), home=tmp_path) == "generated"


def test_what_is_frozen_needs_nothing_else(tmp_path: Path) -> None:
    row = dataclasses.replace(ROW, extra="no_such_library", retired="gone")
    for folder in ("made_up", "seeded/seed-7"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "card.json").write_text("{}")
    assert state_of(row, home=tmp_path) == "frozen"
    seeded = dataclasses.replace(row, name="seeded", is_seed_aware=True)
    assert state_of(seeded, home=tmp_path) == "frozen"


@pytest.mark.mirror
def test_every_row_is_in_exactly_one_state(tmp_path: Path, mirror: Path) -> None:
    found = {row.name: state_of(row, home=tmp_path, mirror=mirror) for row in DATASETS.rows()}
    for row in DATASETS.rows():
        state, missing = found[row.name], missing_library(row)
        print(f"{row.category:15} {row.name:26} {state}")  # noqa: T201  (the table that -s shows)
        is_here = not row.raw or find_complete(row, home=tmp_path, mirror=mirror) is not None
        is_left = not is_here and not row.retired and not missing
        expected = {
            "retired": bool(row.retired) and not is_here,
            f"needs {missing}: pip install 'gnz-track[{row.extra}]'": bool(missing) and (is_here or not row.retired),
            "raw files here": is_here and not missing and bool(row.raw),
            "generated": not row.raw and not missing,
            "to fetch": is_left and bool(row.origins),
            "from a mirror only": is_left and not row.origins,
        }
        assert [name for name, holds in expected.items() if holds] == [state]
    generated = [row for row in DATASETS.rows() if not row.raw and not row.extra]
    assert not {row.name for row in generated if found[row.name] != "generated"}
    print(Counter(found.values()))  # noqa: T201
