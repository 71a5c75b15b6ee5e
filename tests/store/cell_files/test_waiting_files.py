"""Files of cells on their way to the store: on this disk first, in the run next, and never in half."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from cells import cell_of, context_of, failed_result_of, finished, record, result_of

from gnz_track.store import schema
from gnz_track.store.artifacts import find_place
from gnz_track.store.cell_files.kept_files import (
    describe_files,
    digest_of_bytes,
    files_from_tag,
    spool_files,
    tag_of_files,
)
from gnz_track.store.outbox import Outbox, clear_outbox, deliver, describe_outboxes, waiting_files
from gnz_track.store.replay import replay
from gnz_track.store.run_record import RunRecord
from gnz_track.store.writer import Store

FILES = {"predictions.parquet": b"outputs " * 50, "config.json": b"{}"}


def with_files(seed: int = 0, **files: bytes) -> tuple[RunRecord, dict[str, bytes]]:
    """Return a record with files that are those of its cell alone."""
    found = {**FILES, "curves.parquet": b"seed %d" % seed, **files}
    return finished(replace(result_of(cell_of(seed=seed)), files=found)), found


def files_of_run(store: Store, run_id: str) -> dict[str, bytes]:
    run = store.tracking.get_run(run_id)
    folder = Path(find_place(store.address, run.info.artifact_uri))
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def kept(store: Store) -> dict[str, dict[str, bytes]]:
    return {run_id: files_of_run(store, run_id) for run_id, _ in store.runs_of_sweep("quick", "first").values()}


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """Return the place of the artifacts, which takes nothing: a file lies there."""
    place = tmp_path / "artifacts"
    place.write_text("not a folder")
    return place


def test_files_go_into_the_run_and_wait_no_more(store: Store, tmp_path: Path) -> None:
    one, files = with_files()
    heard: list[str] = []
    with Outbox(tmp_path / "spool", context_of()) as outbox:
        outbox.spool(files)
        assert {path.read_bytes() for path in outbox.files.iterdir()} == set(files.values())
        run_id = deliver(outbox, store, one, tell=heard.append)
        assert list(outbox.files.iterdir()) == []
    assert files_of_run(store, run_id) == files
    assert (heard, list((tmp_path / "spool").iterdir())) == ([], [])
    tag = store.tracking.get_run(run_id).data.tags[schema.FILES]
    assert files_from_tag(tag) == describe_files(files) == dict(one.files)


def test_file_of_two_records_stays_until_both_have_it(store: Store, tmp_path: Path) -> None:
    (first, files), (second, more) = with_files(0), with_files(1)
    with Outbox(tmp_path / "spool", context_of()) as outbox:
        outbox.spool(files)
        outbox.append(first)
        outbox.spool(more)
        deliver(outbox, store, second, tell=print)
        assert {path.read_bytes() for path in outbox.files.iterdir()} == set(files.values())
    replay(tmp_path / "spool", store)
    assert sorted(kept(store).values(), key=str) == sorted([files, more], key=str)
    assert list((tmp_path / "spool").iterdir()) == []


def test_store_that_takes_no_files_has_the_record_and_the_files_wait(
    store: Store, tmp_path: Path, closed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "data" / "gnz_track" / "spool" / "0123456789ab"
    one, files = with_files()
    heard: list[str] = []
    with Outbox(folder, context_of()) as outbox:
        outbox.spool(files)
        run_id = deliver(outbox, store, one, tell=heard.append)
        assert outbox.waiting == "files of 1 cell"
    assert len(heard) == 1
    assert store.tracking.get_run(run_id).info.status == "FINISHED"
    [waiting] = describe_outboxes()
    assert (waiting.n_records, waiting.n_files) == (0, 1)
    assert clear_outbox(folder) == [], "files that wait were taken for nothing"
    done = replay(folder, store)
    assert "files of 1 cell of sweep first wait on this disk" in done.complaints[0]
    assert "gnz sync --store" in done.complaints[0]
    assert done.is_left_over
    closed.unlink()
    done = replay(folder, store)
    assert (done.complaints, len(done.filed), files_of_run(store, run_id)) == ((), 1, files)
    assert list(folder.iterdir()) == []
    assert replay(folder, store).filed == ()


@pytest.mark.parametrize("moves", [False, True])
def test_crash_between_writing_and_marking_writes_the_same_again(store: Store, tmp_path: Path, *, moves: bool) -> None:
    one, files = with_files()
    with Outbox(tmp_path / "spool", context_of()) as outbox:
        outbox.spool(files)
        outbox.append(one)
        run_id = store.finish(one)
        store.keep_files(run_id, outbox.paths_of(one), moves=moves)
    done = replay(tmp_path / "spool", store)
    assert (done.present, len(done.filed), kept(store)) == ((one.key,), 1, {run_id: files})
    assert done.complaints == (), "a file that was moved into its run is not lost"


def test_waiting_file_that_was_changed_is_named_and_not_written(store: Store, tmp_path: Path) -> None:
    one, files = with_files()
    with Outbox(tmp_path / "spool", context_of()) as outbox:
        outbox.spool(files)
        outbox.append(one)
    paths = outbox.paths_of(one)
    paths["predictions.parquet"].write_bytes(b"other outputs")
    paths["config.json"].unlink()
    done = replay(tmp_path / "spool", store)
    [said] = done.lost_files
    assert "predictions.parquet was changed on this disk (digest mismatch" in said
    assert "config.json cannot be read on this disk" in said
    assert f"--keep predictions --store {store.address}" in said
    [found] = kept(store).values()
    assert found == {"curves.parquet": files["curves.parquet"]}
    assert list((tmp_path / "spool").iterdir()) == []


def test_refused_record_takes_its_files_with_it(store: Store, tmp_path: Path) -> None:
    one, files = with_files()
    refused = replace(one, split_digest="s" * 9000)
    with Outbox(tmp_path / "spool", context_of()) as outbox:
        outbox.spool(files)
        outbox.append(refused)
    assert len(replay(tmp_path / "spool", store).refused) == 1
    aside = tmp_path / "spool" / "refused"
    [lines] = aside.glob("*.jsonl")
    assert len(waiting_files(lines)) == 1
    assert {path.read_bytes() for path in lines.with_suffix(".files").iterdir()} == set(files.values())
    assert not list((tmp_path / "spool").glob("*.files"))


def test_record_without_files_is_as_before(store: Store, tmp_path: Path) -> None:
    with Outbox(tmp_path / "spool", context_of()) as outbox:
        run_id = deliver(outbox, store, record(), tell=print)
        assert not outbox.files.exists()
    assert schema.FILES not in store.tracking.get_run(run_id).data.tags


def test_failed_cell_shows_no_predictions() -> None:
    failed = finished(replace(failed_result_of(cell_of()), files=FILES))
    assert set(failed.files) == {"config.json"}
    infinite = finished(replace(result_of(cell_of()), score=float("nan"), files=FILES))
    assert set(infinite.files) == {"config.json"}


KILLED = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from gnz_track.store.cell_files import kept_files
threads = ThreadPoolExecutor(4)
print("ready", flush=True)
files = {str(n): os.urandom(1 << 22) for n in range(4)}
while True:
    kept_files.spool_files(Path(sys.argv[1]), {name: os.urandom(1 << 22) for name in files}, threads)
"""


def test_killed_while_writing_leaves_no_half_file_under_a_digest(tmp_path: Path) -> None:
    folder = tmp_path / "one.files"
    for pause in (0.0, 0.01, 0.03, 0.05, 0.08):
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(folder)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        while not folder.is_dir() or not list(folder.iterdir()):
            time.sleep(0.005)
        time.sleep(pause)
        process.kill()
        process.wait()
        process.stdout.close()
    whole = [path for path in folder.iterdir() if not path.name.endswith(".part")]
    assert all(digest_of_bytes(path.read_bytes()) == path.name for path in whole)
    assert len(list(folder.iterdir())) > 0


def test_next_process_clears_what_a_killed_one_left(tmp_path: Path) -> None:
    one, files = with_files()
    with Outbox(tmp_path, context_of()) as outbox:
        outbox.spool(files)
        outbox.append(one)
    (outbox.files / "0123.part").write_bytes(b"half")
    (outbox.files / ("0" * 64)).write_bytes(b"of no record")
    with Outbox(tmp_path, context_of()):
        assert {path.read_bytes() for path in outbox.files.iterdir()} == set(files.values())


def test_disk_that_takes_nothing_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "one.files"
    with ThreadPoolExecutor() as threads:
        spool_files(folder, {"a": b"first"}, threads)
    code = (
        "import resource, signal, sys\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from pathlib import Path\n"
        "from gnz_track.store.cell_files.kept_files import spool_files\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n"
        "    with ThreadPoolExecutor() as threads:\n"
        "        files = {'a': b'first', 'b': b'x' * 5000, 'c': b'y' * 4000}\n"
        "        spool_files(Path(sys.argv[1]), files, threads)\n"
        "except OSError as error:\n"
        "    print(error.errno)\n"
    )
    said = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    assert int(said.stdout) > 0
    assert [path.read_bytes() for path in folder.iterdir()] == [b"first"]


ZEROS = "0" * 64


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{", '{"a": 1}', "[" * 100_000, '{"a": {"digest": "x", "n_bytes": 1}}'),
        f'{{"../a": {{"digest": "{ZEROS}", "n_bytes": 1}}}}',
        f'{{"a": {{"digest": "{ZEROS}", "n_bytes": -1}}}}',
        f'{{"a": {{"digest": "{ZEROS}", "n_bytes": "1"}}}}',
        f'{{"a": {{"digest": "{ZEROS}", "n_bytes": 1, "code": "x"}}}}',
    ],
)
def test_tags_of_others_name_no_files(text: str) -> None:
    assert files_from_tag(text) == {}


def test_tag_names_what_it_was_given() -> None:
    files = describe_files(FILES)
    assert files_from_tag(tag_of_files(files)) == files
    assert len(tag_of_files({f"{n}.parquet": files["config.json"] for n in range(20)})) < schema.MOST_TAG_CHARACTERS
    assert os.sep not in tag_of_files(files)
