"""Places that a store names for its files: its own, those of its server, those that the user has named, and others."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path

import pytest
from cells import context_of, sweep_records

from gnz_track.errors import BadValue, StoreUnusable
from gnz_track.store import artifacts
from gnz_track.store.address import Address, parse_address
from gnz_track.store.artifacts import PLACES_VARIABLE, fetch_artifact, file_in, find_place, keep_artifact, read_artifact
from gnz_track.store.sweep_manifest import SweepPlan, plan_to_json, read_plan
from gnz_track.store.writer import open_store

RUN = "0123456789abcdef" * 2
OF_RUN = f"quick_cora-0a1b2c3d/{RUN}/artifacts"
SERVER = "http://mlflow.example.org:5000"
DATABASE = "postgresql://alice@db.example.org/runs"


@pytest.fixture
def address(tmp_path: Path) -> Address:
    """Return a database with a folder for the files of one run beside it."""
    (tmp_path / "store" / "artifacts" / OF_RUN).mkdir(parents=True)
    return parse_address(str(tmp_path / "store" / "gnz.db"))


@pytest.mark.parametrize(
    "start",
    [
        "{own}",
        "file://{own}",
        "/where/the/store/was/made",
        "file:///where/the/store/was/made",
        "file:///with%20blanks/%C3%A9",
        "file:///made/from/../elsewhere",
        "file://share.of.a.host/files",
        "C:/made/on/windows",
    ],
)
def test_files_of_a_database_lie_beside_it_wherever_it_was_made(start: str, address: Address) -> None:
    own = address.artifacts
    assert own is not None
    said = f"{start.format(own=own)}/{OF_RUN}"
    if start.startswith("C:"):
        with pytest.raises(StoreUnusable, match="nothing was asked there"):
            find_place(address, said)
    else:
        assert find_place(address, said) == own / OF_RUN


ELSEWHERE = [
    "/etc",
    "file:///etc",
    "/etc/artifacts",
    "file:///../../etc/artifacts",
    f"file:///x/{RUN}/artifacts/../../../etc",
    f"file:///x/..%2f..%2fetc/{RUN}/artifacts",
    f"file:///x/%2e%2e/{RUN}/artifacts",
    f"file:///elsewhere/other-experiment/{RUN}/artifacts",
    rf"\\host\share\{RUN}\artifacts",
    "//host/share",
    "relative",
    "file:relative",
    "",
    f"http://evil.example.org/x/{RUN}/artifacts",
    f"s3://bucket/quick/{RUN}/artifacts",
    f"gs://bucket/quick/{RUN}/artifacts",
    f"ftp://host/quick/{RUN}/artifacts",
    f"hdfs://host/quick/{RUN}/artifacts",
    "dbfs:/quick",
    f"mlflow-artifacts://evil.example.org/x/{RUN}/artifacts",
    f"mlflow-artifacts:/x/{RUN}/artifacts",
    f"runs:/{RUN}/x",
    "models:/evil/1",
    "http://[evil",
]


@pytest.mark.parametrize("said", ELSEWHERE)
def test_other_places_are_refused_and_named(said: str, address: Address) -> None:
    with pytest.raises(StoreUnusable, match=f"{PLACES_VARIABLE}=|name that one with --store") as refused:
        find_place(address, said)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "said",
    [
        "mlflow-artifacts:/1/run/artifacts",
        "mlflow-artifacts://mlflow.example.org:5000/1/run/artifacts",
        "http://mlflow.example.org:5000/api/2.0/mlflow-artifacts/artifacts/1",
        "http://MLFLOW.example.org:5000/1",
    ],
)
def test_server_may_name_itself(said: str) -> None:
    assert find_place(parse_address(SERVER), said) == said
    assert find_place(parse_address(SERVER.replace("//", "//alice:secret@")), said) == said


@pytest.mark.parametrize(
    "said",
    [
        "https://mlflow.example.org:5000/1",
        "http://mlflow.example.org/1",
        "http://mlflow.example.org:5001/1",
        "http://mlflow.example.org:5000@evil.example.org/1",
        "http://alice@mlflow.example.org:5000/1",
        "http://evil.example.org/mlflow.example.org:5000",
        "http://mlflow.example.org.evil.org:5000/1",
        "mlflow-artifacts://evil.example.org:5000/1",
        "mlflow-artifacts:/1/../../../../api/2.0/mlflow/runs/delete",
        "mlflow-artifacts:/1/%2e%2e/%2e%2e/x",
        "s3://bucket/1",
        "file:///etc",
        f"file:///home/alice/.local/share/gnz_track/artifacts/{OF_RUN}",
        *ELSEWHERE[:4],
    ],
)
def test_server_names_nobody_else(said: str) -> None:
    with pytest.raises(StoreUnusable, match="not the server itself; nothing was asked there"):
        find_place(parse_address(SERVER), said)


def test_usual_ports_are_the_same_as_none() -> None:
    assert find_place(parse_address("https://mlflow.example.org"), "https://mlflow.example.org:443/1")
    with pytest.raises(StoreUnusable):
        find_place(parse_address("https://mlflow.example.org"), "http://mlflow.example.org:443/1")


def test_user_names_places(address: Address, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    elsewhere = tmp_path / "with blanks"
    elsewhere.mkdir()
    monkeypatch.setenv(PLACES_VARIABLE, f"s3://team-bucket/runs '{elsewhere}' https://files.example.org")
    for said in (
        f"s3://team-bucket/runs/quick/{RUN}/artifacts",
        "s3://team-bucket/runs",
        "https://files.example.org/a/b",
    ):
        assert find_place(address, said) == said
        assert find_place(parse_address(SERVER), said) == said
    for said in (str(elsewhere / "x"), (elsewhere / "x").as_uri()):
        assert find_place(address, said) == elsewhere / "x"
    for said in (
        "s3://team-bucket/runs-of-others/x",
        "s3://team-bucket/runs/../secret",
        "s3://team-bucket-of-evil/runs",
        "s3://evil@team-bucket/runs",
        "s3://team-bucket/runs?x",
        "https://files.example.org@evil/a",
        "http://files.example.org/a",
        f"{elsewhere}/../x",
        f"{elsewhere}-of-others/x",
    ):
        with pytest.raises(StoreUnusable, match="nothing was asked there"):
            find_place(address, said)


@pytest.mark.parametrize("given", ["relative", "runs:/x", "/a/../b", "//host/share", "s3://bucket/../x", "models:/m/1"])
def test_place_that_says_nothing_plain_cannot_be_named(
    given: str, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PLACES_VARIABLE, given)
    with pytest.raises(BadValue, match=PLACES_VARIABLE):
        find_place(address, "/anything")


def test_links_are_not_followed_out_of_the_folder(
    address: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "plan.json").write_text("secret")
    own = Path(str(address.artifacts), OF_RUN)
    said = own.as_uri()
    (own / "plan.json").symlink_to(outside / "plan.json")
    assert read_artifact(address, said, "plan.json") is None
    with pytest.raises(StoreUnusable, match="behind a link"):
        keep_artifact(address, said, "plan.json", outside / "plan.json")
    for link in (own, own.parent, own.parents[1], own.parents[2]):
        shutil.rmtree(link)
        link.symlink_to(outside)
        assert read_artifact(address, said, "plan.json") is None
        with pytest.raises(StoreUnusable, match="behind a link"):
            keep_artifact(address, said, "plan.json", outside / "plan.json")
        link.unlink()
        link.mkdir()
    # A disk of one's own is named once.
    shutil.rmtree(str(address.artifacts))
    (outside / OF_RUN).mkdir(parents=True)
    (outside / OF_RUN / "plan.json").write_text("mine")
    Path(str(address.artifacts)).symlink_to(outside)
    monkeypatch.setenv(PLACES_VARIABLE, str(outside))
    assert read_artifact(address, said, "plan.json") == "mine"


def test_what_is_no_file_or_too_large_is_not_read(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Path(str(address.artifacts), OF_RUN)
    os.mkfifo(own / "pipe")
    (own / "folder").mkdir()
    (own / "large").write_text("x" * 100)
    said = own.as_uri()
    assert read_artifact(address, said, "large") == "x" * 100
    monkeypatch.setattr(artifacts, "MOST_BYTES", 99)
    for name in ("pipe", "folder", "large", "nothing"):
        assert read_artifact(address, said, name) is None


@pytest.mark.parametrize(
    "name", ["../secret", "a/../../secret", "/etc/passwd", "a//b", "", ".", "a\\b", "a%2fb", "a?b"]
)
def test_names_of_files_are_no_paths(name: str, address: Address, tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="no name of a file"):
        file_in(address, Path(str(address.artifacts)), name)
    assert fetch_artifact(address, Path(str(address.artifacts), OF_RUN).as_uri(), name, tmp_path) is None


def test_warning_comes_once_and_shows_no_password(
    address: Address, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifacts, "_TOLD", set())
    for run in (RUN, RUN[::-1]):
        said = f"http://alice:guess@evil.example.org/x/{run}/artifacts"
        assert read_artifact(address, said, "plan.json") is None
    [told] = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "http://alice:***@evil.example.org/x" in told
    assert "guess" not in told


def test_store_that_moved_keeps_its_files(tmp_path: Path) -> None:
    context = context_of("first")
    first, second = tmp_path / "first", tmp_path / "second"
    with open_store(str(first / "gnz.db")) as store:
        run_id = store.open_sweep(context)
        for one in sweep_records(context):
            store.finish(one)
        store.write_text(run_id, "plan.json", plan_to_json(SweepPlan(cells=(), left_out=(("a", "b", "c"),))))
        store.close_sweep(run_id)
    shutil.move(first, second)
    plan = read_plan(str(second / "gnz.db"), "first")
    assert plan is not None
    assert plan.left_out == (("a", "b", "c"),)
    # What is written from now on lies there too, and the old folder does not come back.
    with open_store(str(second / "gnz.db")) as store:
        store.write_text(run_id, "plan.json", plan_to_json(SweepPlan(cells=())))
    plan = read_plan(str(second / "gnz.db"), "first")
    assert plan is not None
    assert plan.left_out == ()
    assert not first.exists()


def test_database_without_a_folder_of_this_machine_names_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    address = parse_address(DATABASE)
    own = tmp_path / "gnz_track" / "artifacts" / OF_RUN
    said = f"file:///home/bob/.local/share/gnz_track/artifacts/{OF_RUN}"
    with pytest.raises(StoreUnusable, match="home/bob"):
        find_place(address, said)
    assert find_place(address, said, is_read=False) == own
    own.mkdir(parents=True)
    assert find_place(address, said) == own
