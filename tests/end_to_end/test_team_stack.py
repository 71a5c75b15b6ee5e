"""The team's stack as it is shipped: two users at once, and each part of it going away in the middle of a sweep."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from team_servers import Database, Team, ask, team

sys.path.insert(0, str(Path(__file__).parent))

from sweeps import SECONDS_TO_END, Place, finished_runs, numbers_of, wait_for

pytestmark = pytest.mark.slow

MODELS = ("MLP", "GCN")
WORDS = ("run", "--task", "planted_partition", "--models", ",".join(MODELS), "--epochs", "10")
BROKEN = """
import torch


class Net(torch.nn.Module):
    task_types = {"node_cls"}

    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.layer = torch.nn.Linear(in_channels, out_channels)

    def forward(self, data):
        raise RuntimeError("broken on purpose")
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    since = time.monotonic()
    with team(tmp_path_factory.mktemp("stack")) as running:
        print(f"the stack was up after {time.monotonic() - since:.0f} s")  # noqa: T201
        yield running


@pytest.fixture(autouse=True)
def database_password(stack: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process look into the database itself."""
    monkeypatch.setenv("PGPASSWORD", stack.database.secret)


def user_of(stack: Team, name: str, folder: Path, root: Path) -> Place:
    """Return the place of a new user of the server: an account, an outbox and frozen data of their own."""
    account = stack.add_user(name)
    return Place(folder / name, root, stack.address, {**account, "GNZ_DATA": str(folder / name / "frozen")})


def looking(stack: Team, place: Place) -> Place:
    """Return the same runs as the database holds them."""
    return Place(place.folder, place.root, stack.database.uri)


def report_of(place: Place, *words: str) -> tuple[str, dict[str, bytes]]:
    """Return what a report says, and its files."""
    shutil.rmtree(place.folder / "report", ignore_errors=True)
    done = place.call("report", "--out", "report", *words)
    assert (done.returncode, done.stderr) == (0, "")
    folder = place.folder / "report"
    return done.stdout, {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.*"))}


def without_ids(text: bytes) -> bytes:
    """Return a file of a report without the ids of runs, which are random; all else is to be equal."""
    return re.sub(rb"[0-9a-f]{32}", b"ID", text)


def without_files(text: str) -> list[str]:
    """Return the lines that a report says, but for how many files it has."""
    return [line for line in text.splitlines() if not line.startswith("files")]


def sweep_name(place: Place) -> str:
    return [line for line in place.output.splitlines() if line.startswith("tracked as sweep")][-1].split()[3]


# a. Two users -------------------------------------------------------------------------------------------------------


def test_two_users_sweep_at_once(stack: Team, tmp_path: Path, root: Path) -> None:
    alice, bob = (user_of(stack, name, tmp_path, root) for name in ("alice", "bob"))
    seeds = {alice.folder: "0-7", bob.folder: "8-15"}
    since = time.monotonic()
    started = [place.start("--jobs", "1", words=WORDS, seeds=seeds[place.folder]) for place in (alice, bob)]
    assert [process.wait(SECONDS_TO_END) for process in started] == [0, 0], alice.output + bob.output
    seconds = time.monotonic() - since
    assert "note:" not in alice.output + bob.output
    alone = Place(tmp_path / "alone", root)
    for place in (alice, bob):
        alone.finish("--jobs", "1", words=WORDS, seeds=seeds[place.folder])
    expected = numbers_of(alone)
    assert len(expected) == 32
    here = {key: row for key, row in numbers_of(looking(stack, alice)).items() if key in expected}
    assert here == expected
    runs = Counter(one for one in finished_runs(looking(stack, alice)) if one in expected)
    assert (len(runs), set(runs.values())) == (32, {1})
    for place in (alice, bob):
        mine, theirs = (report_of(one, "--sweep", sweep_name(place)) for one in (place, alone))
        assert mine[0] == theirs[0]
        # What training took is measured, and never the same twice.
        tables = [name for name in mine[1] if name.endswith((".csv", ".tex", ".md")) and "/training." not in name]
        assert len(tables) >= 4
        for name in tables:
            assert without_ids(mine[1][name]) == without_ids(theirs[1][name]), name
    # Whoever may ask the database itself reads the same there, but for files of cells, which the server alone gives;
    # and what Alice finished is finished for Bob.
    assert without_files(report_of(looking(stack, alice), "--sweep", sweep_name(alice))[0]) == without_files(
        report_of(alice, "--sweep", sweep_name(alice))[0]
    )
    again = bob.call(*WORDS, "--seeds", "0-7")
    assert again.returncode == 0
    assert "16 of 16 cells are finished already" in again.stderr
    print(f"two users at once: 32 cells in {seconds:.0f} s, 0 lost, 0 twice; both reports equal those of sqlite")  # noqa: T201


def test_nobody_without_an_account_is_let_in(stack: Team) -> None:
    search = f"{stack.address}/api/2.0/mlflow/experiments/search"
    assert ask(search, body={"max_results": "1"}) == 401
    assert ask(f"{stack.address}/api/2.0/mlflow-artifacts/artifacts?path=") == 401
    assert ask(f"{stack.address}/health") == 200
    assert ask(search, headers={"Host": "elsewhere.example.org"}) == 403


# b. PostgreSQL ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["server", "direct"])
@pytest.mark.parametrize("back", ["meanwhile", "after"])
def test_database_goes_away_in_a_sweep(way: str, back: str, stack: Team, tmp_path: Path, root: Path) -> None:
    if way == "direct":
        name = f"direct_{back}"
        stack.database.call("createdb", name)
        place = looking_place = Place(tmp_path / name, root, _beside(stack.database, name))
    else:
        place = user_of(stack, f"dora_{back}", tmp_path, root)
        looking_place = looking(stack, place)
    seeds = {"meanwhile": "100-139", "after": "140-179"}[back]
    # Long enough that the database is back before the sweep ends.
    words = (*WORDS[:-1], "400") if back == "meanwhile" else WORDS
    n_cells = 80
    n_before = len(finished_runs(looking_place)) if way == "server" else 0
    process = place.start("--jobs", "1", words=words, seeds=seeds)
    wait_for(lambda: _n_finished(looking_place) > n_before + 8)
    stack.database.stop("immediate" if back == "after" else "fast")
    assert process.poll() is None, "the sweep was over before the database went"
    since = time.monotonic()
    if back == "meanwhile":
        # The client of a server asks thrice, which bridges some seconds; a longer absence is noticed.
        time.sleep(15 if way == "server" else 3)
        assert process.poll() is None, "the sweep was over before the database was back"
        stack.database.start()
    code = process.wait(SECONDS_TO_END)
    if back == "after":
        stack.database.start()
    assert code == 0, place.output[-3000:]
    notes = [line for line in place.output.splitlines() if line.startswith("note:")]
    assert "does not answer" in notes[0]
    assert "Traceback" not in place.output
    n_then = len(finished_runs(looking_place)) - n_before
    if back == "meanwhile":
        assert "results that waited are written" in notes[-1]
    else:
        assert n_then < n_cells
        assert "wait on this disk; when the store answers again, type: gnz sync" in notes[-1]
        synced = place.call("sync")
        assert synced.returncode == 0, synced.stderr
    runs = Counter(finished_runs(looking_place))
    assert (len(runs) - n_before, set(runs.values())) == (n_cells, {1})
    assert not list((place.folder / "gnz_track" / "spool").rglob("*.jsonl"))
    print(f"{way}, database back {back}: {n_then} of {n_cells} at the end, all after that, 0 twice; {notes[-1]}")  # noqa: T201
    print(f"  {time.monotonic() - since:.0f} s from its stop to the last word")  # noqa: T201


def _beside(database: Database, name: str) -> str:
    return f"{database.uri.rpartition('/')[0]}/{name}"


def _n_finished(place: Place) -> int:
    from gnz_track.errors import StoreUnusable

    try:
        return len(finished_runs(place))
    except StoreUnusable:
        # Its first client is just making the tables.
        return 0


# c. The artifact store ----------------------------------------------------------------------------------------------


def test_artifact_store_goes_away_in_a_sweep(stack: Team, tmp_path: Path, root: Path) -> None:
    place = user_of(stack, "carol", tmp_path, root)
    looking_place = looking(stack, place)
    n_before = len(finished_runs(looking_place))
    process = place.start("--jobs", "1", words=WORDS, seeds="200-229")
    wait_for(lambda: len(finished_runs(looking_place)) > n_before + 5)
    stack.artifacts.stop(signal.SIGKILL)
    try:
        assert process.poll() is None
        assert process.wait(SECONDS_TO_END) == 0, place.output[-3000:]
        notes = [line for line in place.output.splitlines() if line.startswith("note:")]
        assert len(finished_runs(looking_place)) - n_before == 60, "cells without files did not wait for the files"
        waiting = r"note: files of \d+ cells and the sweep's plan and table wait on this disk; "
        again = f"when the store answers again, type: gnz sync --store {stack.address}"
        assert re.fullmatch(waiting + re.escape(again), notes[-1])
        assert any("the server is there, and its artifact store is not" in note for note in notes)
        listed = place.call("sync", "--list")
        n_waiting = re.findall(r"\d+", notes[-1])[0]
        row = [stack.address, sweep_name(place), "0", n_waiting, "yes"]
        assert listed.stdout.splitlines()[2].split()[:5] == row
        early = place.call("sync")
        assert (early.returncode, len(early.stderr.splitlines())) == (2, 1)
    finally:
        stack.artifacts.start()
    synced = place.call("sync")
    assert synced.returncode == 0, synced.stderr
    assert place.call("sync").stdout.startswith("nothing waits")
    files = files_of_sweep(stack, sweep_name(place))
    alone = Place(tmp_path / "alone", root)
    alone.finish("--jobs", "1", words=WORDS, seeds="200-229")
    check_files(stack, files, sweep_name(place), alone)
    print(f"artifact store away: 60 cells, exit code 0; {notes[-1]}")  # noqa: T201


def test_artifact_store_that_is_away_from_the_start(stack: Team, tmp_path: Path, root: Path) -> None:
    place = user_of(stack, "erin", tmp_path, root)
    # A cell's own file names the folder of its data.
    alone = Place(tmp_path / "alone", root, "", {"GNZ_DATA": place.more["GNZ_DATA"]})
    words = ("run", "--task", "planted_partition", "--models", "MLP,broken:Net", "--epochs", "10", "--seeds", "300-302")
    for one in (place, alone):
        one.folder.mkdir(parents=True)
        (tmp_path / "broken.py").write_text(BROKEN, encoding="utf-8")
    shared = {"PYTHONPATH": os.pathsep.join([str(root), str(tmp_path)])}
    place, alone = (Place(one.folder, root, one.store, {**one.more, **shared}) for one in (place, alone))
    stack.artifacts.stop()
    try:
        done = place.call(*words)
        assert done.returncode == 1, done.stderr
        assert "6 results and the sweep's plan and table wait on this disk" in done.stderr
        (waiting,) = (place.folder / "gnz_track" / "spool").rglob("*.jsonl")
        sweep = waiting.stem
    finally:
        stack.artifacts.start()
    synced = place.call("sync")
    assert synced.returncode == 0, synced.stderr
    beside = alone.call(*words)
    assert beside.returncode == 1
    for name in ("traceback.txt", "cell.json"):
        mine = sorted(path.read_bytes() for path in artifacts_of_failed(stack, sweep, name))
        theirs = sorted(path.read_bytes() for path in (alone.folder / "artifacts").rglob(name))
        assert len(mine) == 3
        assert mine == theirs
    print("artifact store away from the start: 3 tracebacks and 3 cells arrived, byte for byte")  # noqa: T201


def files_of_sweep(stack: Team, sweep: str) -> dict[str, bytes]:
    """Return the files of a sweep's run as they lie in the artifact store, by name."""
    from gnz_track.store.address import parse_address
    from gnz_track.store.reader import find_sweep_run, open_reader

    found = find_sweep_run(open_reader(parse_address(stack.database.uri)), sweep)
    assert found is not None
    return read_folder(stack.bucket / "runs" / found.artifacts.removeprefix("mlflow-artifacts:/"))


def read_folder(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def artifacts_of_failed(stack: Team, sweep: str, name: str) -> list[Path]:
    from gnz_track.store import schema
    from gnz_track.store.writer import open_store

    with open_store(stack.database.uri) as store:
        runs = store.search(store.experiments(), {schema.SWEEP: sweep}, "attributes.status = 'FAILED'")
    return [
        stack.bucket / "runs" / run.info.artifact_uri.removeprefix("mlflow-artifacts:/") / name
        for run in runs
        if run.info.run_name.startswith("Net")
    ]


def check_files(stack: Team, files: dict[str, bytes], sweep: str, alone: Place) -> None:
    """See that a sweep has the files that the same sweep has in sqlite, and a table of the promised digest."""
    from gnz_track.store import schema
    from gnz_track.store.address import parse_address
    from gnz_track.store.reader import find_sweep_run, open_reader

    own = find_sweep_run(open_reader(parse_address(alone.uri)), sweep)
    assert own is not None
    beside = read_folder(Path(own.artifacts.removeprefix("file://")))
    assert set(files) == set(beside)
    table = schema.TABLE_FILE
    assert {name: text for name, text in files.items() if name != table} == {
        name: text for name, text in beside.items() if name != table
    }
    found = find_sweep_run(open_reader(parse_address(stack.database.uri)), sweep)
    assert found is not None
    assert found.tags[schema.TABLE] == hashlib.sha256(files[table]).hexdigest()
    assert found.tags.get(schema.ERROR, "") == ""


# d. Refusals --------------------------------------------------------------------------------------------------------


def test_refusals_are_one_line_and_code_2(stack: Team, tmp_path: Path, root: Path) -> None:
    account = stack.add_user("frank")
    direct = f"postgresql://gnz@127.0.0.1:{stack.database.port}/gnz"
    with_password = direct.replace("gnz@", "gnz:open-sesame@")
    wrong = {**account, "MLFLOW_TRACKING_PASSWORD": "open-sesame"}
    cases = {
        "wrong password of the server": (
            stack.address,
            wrong,
            "refuses the user 'frank' with this password; set ML",
        ),
        "no password of the server": (stack.address, {}, "it asks for a user and a password; set MLFLOW_TRACKING_USER"),
        "wrong database password": (with_password, {}, "refuses this user with this password; check the user"),
        "no database password": (direct, {"PGPASSWORD": ""}, "it asks for a password, and none was given; "),
        "wrong database": (direct + "z", {}, "it holds no such database; check its name"),
    }
    for name, (store, more, words) in cases.items():
        for call in (("ls",), (*WORDS, "--seeds", "0")):
            place = Place(tmp_path / "frank", root, store, more)
            done = place.call(*call)
            assert (done.returncode, done.stdout) == (2, ""), name
            (line,) = done.stderr.splitlines()
            assert line.startswith("error: the store")
            assert words in line, name
            assert "open-sesame" not in line
        print(f"{name}: {line}")  # noqa: T201


def test_server_that_is_down_is_one_line(stack: Team, tmp_path: Path, root: Path) -> None:
    place = user_of(stack, "gerda", tmp_path, root)
    stack.server.stop()
    try:
        done = place.call("ls")
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"error: the store '{stack.address}' does not answer: ")
        assert "refused" in line
        sweep = place.call(*WORDS, "--seeds", "400")
        assert sweep.returncode == 0
        assert "2 results and the sweep's plan and table wait on this disk" in sweep.stderr
        assert "Traceback" not in sweep.stderr
    finally:
        stack.server.start()
    assert place.call("sync").returncode == 0
    print(f"server down: {line}")  # noqa: T201


# e. Backup and restore ----------------------------------------------------------------------------------------------


def test_restored_store_gives_the_same_report(stack: Team, tmp_path: Path, root: Path) -> None:
    place = user_of(stack, "heidi", tmp_path, root)
    place.finish("--jobs", "1", words=WORDS, seeds="500-505")
    before = report_of(place)
    backup = tmp_path / "gnz.dump"
    stack.server.stop()
    stack.database.call("pg_dump", "--format", "custom", "--file", str(backup), "gnz")
    shutil.copytree(stack.bucket, tmp_path / "files")
    stack.database.call("dropdb", "gnz")
    shutil.rmtree(stack.bucket)
    stack.bucket.mkdir()
    stack.database.call("createdb", "gnz")
    stack.database.call("pg_restore", "--dbname", "gnz", "--exit-on-error", str(backup))
    shutil.copytree(tmp_path / "files", stack.bucket, dirs_exist_ok=True)
    stack.server.start()
    after = report_of(place)
    assert after[0] == before[0]
    assert after[1].keys() == before[1].keys()
    assert [name for name in before[1] if after[1][name] != before[1][name]] == []
    assert len(before[1]) > 10
    again = place.call(*WORDS, "--seeds", "500-505")
    assert again.returncode == 0, again.stderr
    assert "12 of 12 cells are finished already" in again.stderr
    print(f"restored: {len(before[1])} files of the report are identical; backup of {backup.stat().st_size} bytes")  # noqa: T201
