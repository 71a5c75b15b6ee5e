"""Any name that a file may have is a store's name: written by us, read by SQL and by MLflow itself."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy
from cells import failed_record, record
from hypothesis import given, settings
from hypothesis import strategies as st

from gnz_track.errors import StoreUnreachable, StoreUnusable
from gnz_track.store.address import parse_address
from gnz_track.store.artifacts import read_artifact
from gnz_track.store.listings import has_tables
from gnz_track.store.outbox import make_outbox_folder, outbox_folder
from gnz_track.store.reader import read_table
from gnz_track.store.writer import open_store
from gnz_track.text import sync_command

ODD = [
    "a b", "a%20b", "%2e%2e", "%", "%zz", "%(x)s", "a#b", "?mode=ro", "a&b+c;d=e", "it's \"it\"", "a\\b", "a\nb\tc",
    "ümläut 漢字", "-dash", "~tilde", "dots...", " edges ", "u:p@h", "$HOME *", "\x7f\u2028", "sqlite:", "token=a ***",
]  # fmt: skip
# All that a file of one folder may be named.
names = st.text(st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1, max_size=20).filter(
    lambda name: name not in {".", ".."}
)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("GNZ_STORE", raising=False)


@given(names, names)
def test_every_name_comes_back_by_every_way_out(folder: str, name: str) -> None:
    file = Path("/stores") / folder / name
    found = parse_address(str(file))
    assert found.file == file
    assert sqlalchemy.make_url(found.uri).database == str(file), "MLflow would open another file"
    command = shlex.split(sync_command(found))
    assert parse_address(command[command.index("--store") + 1]) == found, "a printed command names another store"
    assert "\n" not in found.masked
    assert "\x1b" not in found.masked
    if not set(folder + name) & set("%?") and (folder + name).isprintable():
        assert found.uri == f"sqlite:///{file}", "stores that are there would not be found again"


@given(names, names)
@settings(max_examples=300)
def test_no_two_files_share_an_address_or_a_spool(one: str, other: str) -> None:
    first, second = (parse_address(f"/stores/{name}/gnz.db") for name in (one, other))
    assert (one == other) == (first.uri == second.uri) == (outbox_folder(first) == outbox_folder(second))


def test_what_looks_like_a_password_in_a_path_is_none() -> None:
    one, other = (parse_address(f"/stores/token={word}/gnz.db") for word in ("a", "b"))
    assert outbox_folder(one) != outbox_folder(other)
    assert str(one) == "sqlite:////stores/token=a/gnz.db"


@pytest.mark.parametrize("name", ODD)
def test_store_of_any_name_is_written_and_read(name: str, empty_database: Path, tmp_path: Path) -> None:
    place = tmp_path / "stores"
    (place / name).mkdir(parents=True)
    address = parse_address(str(place / name / name))
    shutil.copy(empty_database, address.file)
    with open_store(address) as store:
        run_id = store.finish(failed_record())
        # By MLflow itself, as any of its users does.
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        run = store.tracking.get_run(run_id)
        repository = get_artifact_repository(run.info.artifact_uri, tracking_uri=address.uri)
        assert Path(repository.download_artifacts("traceback.txt")).read_text().startswith("Traceback")
    assert read_table(address)["run_id"].tolist() == [run_id]
    assert (read_artifact(address, run.info.artifact_uri, "traceback.txt") or "").startswith("Traceback")
    assert (make_outbox_folder(address) / "store.txt").read_text() == f"{address}\n"
    assert [path.name for path in place.iterdir()] == [name], "something was made beside the folder"
    made = {path.name.removesuffix("-wal").removesuffix("-shm") for path in (place / name).iterdir()}
    assert made == {name, "artifacts"}
    engine = sqlalchemy.create_engine(address.uri, poolclass=sqlalchemy.pool.NullPool)
    with engine.connect() as connection:
        assert connection.execute(sqlalchemy.text("SELECT count(*) FROM runs")).scalar() == 1


def test_store_is_made_where_the_name_is_odd(tmp_path: Path) -> None:
    address = parse_address(str(tmp_path / "100% new?" / "a%20b#c.db"))
    with open_store(address) as store:
        store.finish(record())
    assert len(read_table(address)) == 1
    # Empty tables are kept at home.
    assert {path.name for path in tmp_path.iterdir()} - {"home"} == {"100% new?"}


@pytest.mark.slow
def test_user_interface_shows_a_store_of_an_odd_name(empty_database: Path, tmp_path: Path) -> None:
    import json
    import urllib.request

    from gnz_track.store.ui import choose_port, serve

    address = parse_address(str(tmp_path / "a%20b?" / "c%25#d.db"))
    address.file.parent.mkdir()
    shutil.copy(empty_database, address.file)
    with open_store(address) as store:
        run_id = store.finish(record())
    with serve(address, port=choose_port(0)) as interface:
        page = f"{interface.url}/ajax-api/2.0/mlflow/runs/get?run_id={run_id}"
        with urllib.request.urlopen(page, timeout=60) as answer:  # noqa: S310  (a page of this machine)
            assert json.load(answer)["run"]["info"]["status"] == "FINISHED"
    assert [path.name for path in tmp_path.iterdir()] == ["a%20b?"]


def test_addresses_are_read_as_mlflow_reads_them(tmp_path: Path) -> None:
    assert parse_address(f"sqlite:///{tmp_path}/a%20b%3F.db").file == tmp_path / "a b?.db"
    assert parse_address(f"{tmp_path}/a%20b?.db").file == tmp_path / "a%20b?.db"
    with pytest.raises(StoreUnusable, match=r"options behind .* write %3F"):
        parse_address(f"sqlite:///{tmp_path}/a.db?mode=ro")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (os.fsdecode(b"/stores/\xff/gnz.db"), "bytes that are no UTF-8"),
        ("/stores/\0/gnz.db", "a zero byte"),
        ("/" + "/".join(["漢" * 60] * 4) + "/gnz.db", "more than 1800 characters"),
    ],
)
def test_what_mlflow_cannot_keep_is_refused_before_anything_is_made(path: str, reason: str) -> None:
    with pytest.raises(StoreUnusable, match=reason):
        parse_address(path)


@pytest.mark.parametrize("left", [("-wal",), ("-journal",), ("-wal", "-shm")])
@pytest.mark.parametrize("is_empty", [True, False])
def test_no_store_begins_beside_remains(
    left: tuple[str, ...], empty_database: Path, tmp_path: Path, *, is_empty: bool
) -> None:
    folder = tmp_path / "it's here"
    folder.mkdir()
    address = parse_address(str(folder / "gnz.db"))
    for ending in left:
        (folder / f"gnz.db{ending}").write_bytes(b"precious")
    if is_empty:
        address.file.touch()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for ask in (open_store, has_tables, read_table):
        with pytest.raises(StoreUnusable, match=f"gnz.db{left[0]}") as caught:
            ask(address)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    command = str(caught.value).partition("begin anew: ")[2]
    subprocess.run(["sh", "-c", command], check=True)  # noqa: S607
    shutil.copy(empty_database, address.file)
    with open_store(address):
        pass
    assert {path.name for path in (folder / "gnz.db.remains").iterdir()} == {f"gnz.db{ending}" for ending in left}


def test_store_begins_anew_beside_what_a_reader_left(database: Path) -> None:
    with open_store(str(database)) as store:
        store.finish(record(0))
    read_table(str(database))
    left = [database.with_name(f"gnz.db{ending}") for ending in ("-wal", "-shm")]
    if not all(path.exists() for path in left):
        pytest.skip("this sqlite leaves nothing beside a file that was read")
    with contextlib.closing(sqlite3.connect(database)) as in_use:
        in_use.execute("SELECT count(*) FROM runs").fetchone()
        inodes = {path.stat().st_ino for path in left}
        database.unlink()
        assert not has_tables(parse_address(str(database)))
        with open_store(str(database)) as store:
            store.finish(record(1))
            assert not inodes & {path.stat().st_ino for path in left}, "two databases write into one log"
    assert read_table(str(database))["seed"].tolist() == [1]
    assert integrity(database) == "ok"


# Writes cells until it is killed, so that its log is left beside the file.
WRITER = """
import os, sys
sys.path.insert(0, sys.argv[2])
from cells import record
from gnz_track.store.writer import open_store
store = open_store(sys.argv[1])
for seed in range(int(sys.argv[3]), int(sys.argv[4])):
    store.finish(record(seed))
os._exit(0)
"""


def write_and_die(file: Path, start: int, stop: int) -> None:
    command = [sys.executable, "-c", WRITER, str(file), str(Path(__file__).parents[1]), str(start), str(stop)]
    subprocess.run(command, check=True, cwd=file.parent)


def integrity(file: Path) -> str:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])


def test_file_that_was_put_back_beside_the_log_of_another_is_refused_unharmed(database: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    write_and_die(database, 0, 3)
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(database, backup)
    with open_store(str(database)) as store:
        for seed in range(3, 40):
            store.finish(record(seed))
    write_and_die(database, 40, 42)
    shutil.copy(backup, database)
    with pytest.raises(StoreUnusable, match=r"gnz.db-wal beside it belongs to another file") as caught:
        open_store(str(database))
    assert database.read_bytes() == backup.read_bytes()
    subprocess.run(["sh", "-c", str(caught.value).partition("put back: ")[2]], check=True)  # noqa: S607
    with open_store(str(database)) as store:
        store.finish(record(99))
    assert integrity(database) == "ok"
    assert len(read_table(str(database))) == 4


def test_log_of_a_killed_writer_is_no_remains(database: Path) -> None:
    write_and_die(database, 0, 2)
    assert database.with_name("gnz.db-wal").stat().st_size
    with open_store(str(database)) as store:
        store.finish(record(2))
    assert len(read_table(str(database))) == 3
    assert integrity(database) == "ok"


def test_writer_makes_no_file_and_writes_into_no_other(database: Path, empty_database: Path) -> None:
    with open_store(str(database)) as store:
        store.finish(record(0))
        database.rename(database.with_name("away.db"))
        with pytest.raises(StoreUnreachable, match="its file was removed; put it back"):
            store.finish(record(1))
        assert not database.exists()
        shutil.copy(empty_database, database)
        before = database.read_bytes()
        with pytest.raises(StoreUnreachable, match="its file was replaced by another one"):
            store.finish(record(1))
        assert database.read_bytes() == before


def test_file_swapped_between_two_calls_of_one_process_is_read_and_written_itself(
    database: Path, empty_database: Path
) -> None:
    with open_store(str(database)) as store:
        store.finish(record(0))
    for path in database.parent.glob("gnz.db*"):
        path.rename(path.with_name(f"first.{path.name}"))
    with open_store(str(database)) as store:
        store.finish(record(1))
    assert read_table(str(database))["seed"].tolist() == [1], "the process wrote into the file of before"
    for path in database.parent.glob("gnz.db*"):
        path.unlink()
    shutil.copy(empty_database, database)
    with open_store(str(database)) as store:
        store.finish(record(2))
    assert read_table(str(database))["seed"].tolist() == [2]
    assert integrity(database) == "ok"


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9])
def test_half_of_a_store_is_told_in_one_line(kept: float, database: Path) -> None:
    with open_store(str(database)) as store:
        for seed in range(5):
            store.finish(record(seed))
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = database.read_bytes()
    database.write_bytes(whole[: int(len(whole) * kept)])
    for ask in (open_store, read_table):
        with pytest.raises(StoreUnusable, match=r"malformed|not a database|damaged"):
            ask(str(database))


def test_copy_taken_while_it_was_written_is_read_as_far_as_it_goes(database: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    write_and_die(database, 0, 6)
    log = database.with_name("gnz.db-wal").read_bytes()
    shutil.copy(database, copy)
    copy.with_name("copy.db-wal").write_bytes(log[: len(log) // 2])
    with open_store(str(copy)) as store:
        store.finish(record(7))
    found = set(read_table(str(copy))["seed"])
    assert 7 in found
    assert found <= {*range(6), 7}
    assert integrity(copy) == "ok"


def test_reader_makes_no_store_where_one_was(database: Path) -> None:
    from gnz_track.store.connection import connect

    address = parse_address(str(database))
    database.unlink()
    with pytest.raises(StoreUnusable, match="there is no such file"):
        connect(address, creates=False)
    assert not database.exists()
