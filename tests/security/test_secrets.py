"""Passwords of stores: in no output, no log, no file, no run; temporary files are private."""

from __future__ import annotations

import os
import re
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).resolve().parents[1] / "end_to_end"))

from sweeps import Place

from gnz_track.store.address import mask, parse_address
from gnz_track.store.ui import HOST, choose_port

SECRET = "s3cr3t-of-the-store"  # noqa: S105  (made up)
CALL = ("run", "--task", "random_tsp", "--models", "MLP", "--epochs", "1")

words = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="@/:#?%&='\" []"), min_size=8)


@given(words, st.sampled_from(["postgresql", "postgresql+psycopg", "https"]))
def test_address_with_a_password_is_never_written_whole(secret: str, scheme: str) -> None:
    text = f"{scheme}://alice:{secret}@db.example.org:5432/runs"
    for shown in (str(parse_address(text)), repr(parse_address(text)), mask(f"could not reach {text} in time")):
        assert secret not in shown
        assert "db.example.org" in shown


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.slow
def test_password_is_in_no_output_and_in_no_file_of_a_sweep(tmp_path: Path, root: Path) -> None:
    # Nobody listens there: all that a sweep writes waits on the disk, under the name of the address.
    place = Place(tmp_path / "place", root, store=f"postgresql://alice:{SECRET}@127.0.0.1:1/runs?sslpassword={SECRET}")
    said = place.call(*CALL, "--seeds", "0")
    listed = place.call("sync", "--list")
    refused = place.call("sync")
    assert "wait" in said.stderr + listed.stdout
    for done in (said, listed, refused):
        assert SECRET not in done.stdout + done.stderr
    written = files_below(place.folder)
    assert any("spool" in str(path) for path in written)
    for path in written:
        assert SECRET not in str(path)
        assert SECRET.encode() not in path.read_bytes(), path


@pytest.mark.slow
def test_password_is_in_no_run_and_in_no_report(postgresql_database: str, tmp_path: Path, root: Path) -> None:
    store = postgresql_database.replace("gnz@", f"gnz:{SECRET}@")
    place = Place(tmp_path / "place", root, store=store)
    done = place.call(*CALL, "--seeds", "0-2")
    report = place.call("report", "--out", str(tmp_path / "report"))
    for call in (done, report):
        assert call.returncode == 0, call.stderr
        assert SECRET not in call.stdout + call.stderr
    for path in [*files_below(place.folder), *files_below(tmp_path / "report")]:
        assert SECRET.encode() not in path.read_bytes(), path
    import psycopg

    with psycopg.connect(postgresql_database) as connection:
        for table in ("tags", "params", "experiment_tags", "runs", "experiments", "inputs", "datasets"):
            assert SECRET not in str(connection.execute(f"SELECT * FROM {table}").fetchall())  # noqa: S608


@pytest.mark.slow
def test_spool_and_store_are_for_their_owner_alone(tmp_path: Path, root: Path) -> None:
    place = Place(tmp_path / "place", root, store="http://127.0.0.1:1")
    assert "wait" in place.call(*CALL, "--seeds", "0").stderr
    spools = [path for path in files_below(place.folder) if "spool" in str(path)]
    assert spools
    for path in spools:
        closed = [part for part in (path, *path.parents) if not stat.S_IMODE(part.stat().st_mode) & 0o077]
        assert closed, f"{path} can be read by everybody"


def test_user_interface_listens_on_this_machine_alone() -> None:
    assert HOST == "127.0.0.1"
    assert choose_port(0) > 0


def test_no_server_of_ours_listens_to_others(root: Path) -> None:
    texts = {path: path.read_text() for path in (root / "gnz_track").rglob("*.py")}
    for path, text in texts.items():
        assert not re.search(r"0\.0\.0\.0|\bhost=[\"']{2}", text), path


def test_data_sent_to_a_node_are_in_a_private_folder_that_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gnz_track.runs.executors.ray.data import node_folder

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ours = node_folder()
    assert stat.S_IMODE(ours.stat().st_mode) == 0o700
    assert node_folder() == ours
    # Somebody else made it before, or put a link in its place.
    ours.chmod(0o777)
    assert node_folder() != ours
    ours.rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    ours.symlink_to(tmp_path / "elsewhere")
    assert node_folder() != ours
    assert not any((tmp_path / "elsewhere").iterdir())
    assert os.getuid() == ours.lstat().st_uid
