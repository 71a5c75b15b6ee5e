"""Files of runs that nobody needs: of cells that failed or were deleted, and what killed writers left."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from cells import cell_of, failed_result_of, finished, result_of

from gnz_track.errors import StoreUnusable
from gnz_track.store.artifacts import find_place
from gnz_track.store.cell_files.inventory import count_files, find_unneeded
from gnz_track.store.run_record import RunRecord
from gnz_track.store.writer import Store, open_store

FILES = {"predictions.parquet": b"outputs", "curves.parquet": b"curves", "model/MLmodel": b"flavors"}


def write(store: Store, one: RunRecord) -> tuple[str, Path]:
    run_id = store.finish(one)
    store.add_files(run_id, FILES)
    return run_id, Path(find_place(store.address, store.tracking.get_run(run_id).info.artifact_uri))


def test_files_of_finished_cells_stay(store: Store) -> None:
    _, kept = write(store, finished(result_of(cell_of())))
    _, failed = write(store, finished(failed_result_of(cell_of(seed=1))))
    gone, deleted = write(store, finished(result_of(cell_of(seed=2))))
    store.tracking.delete_run(gone)
    own = kept / "notes.txt"
    own.write_text("mine")
    (failed / "notes.txt").write_text("mine too")
    (failed / "model" / "notes.txt").write_text("of mine")
    (failed / "MLmodel").write_text("of another tool")
    assert set(find_unneeded(store.address)) == {folder / name for folder in (failed, deleted) for name in FILES}
    assert (failed / "traceback.txt").is_file(), "why it failed lies there too"


def test_files_of_another_store_in_the_same_folder_stay(store: Store, empty_database: Path, tmp_path: Path) -> None:
    _, mine = write(store, finished(failed_result_of(cell_of())))
    beside = Path(shutil.copy(empty_database, tmp_path / "other.db"))
    with open_store(str(beside)) as other:
        write(other, finished(result_of(cell_of(seed=1))))
        assert other.address.artifacts == store.address.artifacts, "as any two stores of one folder"
        assert {mine / name for name in FILES} == set(find_unneeded(store.address))
    beside.unlink()
    assert find_unneeded(other.address) == [], "a store that is away does not say what nobody needs"


def test_unfinished_files_are_left_an_hour(store: Store) -> None:
    _, folder = write(store, finished(result_of(cell_of())))
    young, old = folder / "a.1234.new", folder / "b.1234.new"
    for file in (young, old):
        file.write_bytes(b"half")
    os.utime(old, (0, 0))
    assert find_unneeded(store.address) == [old]


def test_bytes_are_counted_and_links_are_not_followed(store: Store, tmp_path: Path) -> None:
    _, folder = write(store, finished(result_of(cell_of())))
    outside = tmp_path / "outside"
    (outside / "run" / "artifacts").mkdir(parents=True)
    (outside / "run" / "artifacts" / "predictions.parquet").write_bytes(b"x" * 1000)
    (folder.parents[2] / "linked").symlink_to(outside)
    (folder / "link").symlink_to(outside / "run" / "artifacts" / "predictions.parquet")
    found = count_files(store.address)
    assert found is not None
    assert (found.n_runs, found.n_bytes) == (1, sum(map(len, FILES.values())))
    assert find_unneeded(store.address) == []


def test_files_behind_links_are_nobodys_to_remove(store: Store, tmp_path: Path) -> None:
    _, folder = write(store, finished(failed_result_of(cell_of())))
    outside = tmp_path / "outside"
    folder.rename(outside)
    folder.symlink_to(outside)
    assert find_unneeded(store.address) == []
    folder.unlink()
    outside.rename(folder)
    root = folder.parents[2]
    root.rename(outside)
    root.symlink_to(outside)
    with pytest.raises(StoreUnusable, match="behind a link"):
        find_unneeded(store.address)


def test_store_without_files_has_none(store: Store, tmp_path: Path) -> None:
    assert count_files(store.address) is None
    assert find_unneeded(store.address) == []
    assert count_files(replace(store.address, artifacts=tmp_path)) is not None
