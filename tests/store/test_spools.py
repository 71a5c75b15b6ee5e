from __future__ import annotations

import stat
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from cells import context_of, record

from gnz_track.files import file_lock
from gnz_track.store.address import parse_address
from gnz_track.store.outbox import Outbox, clear_outbox, deliver, describe_outboxes, make_outbox_folder, outbox_folder
from gnz_track.store.writer import Store


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_every_store_has_a_folder_of_its_own_without_its_password(tmp_path: Path) -> None:
    texts = ["a.db", "b.db", "http://host:1", "http://host:2"]
    folders = {outbox_folder(parse_address(text)) for text in texts}
    assert len(folders) == 4
    assert not (tmp_path / "data").exists(), "asking for a folder has made it"
    one, other = (parse_address(f"postgresql://me:{word}@host/db") for word in ("secret", "changed"))
    assert outbox_folder(one) == outbox_folder(other)
    assert "secret" not in (make_outbox_folder(one) / "store.txt").read_text()


def test_what_waits_is_readable_by_its_owner_alone() -> None:
    address = parse_address("http://node1:5000")
    for _ in range(2):
        folder = make_outbox_folder(address)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        # As an earlier version made it.
        folder.chmod(0o755)


def test_what_waits_is_told_for_all_stores(store: Store) -> None:
    folder = make_outbox_folder(store.address)
    with Outbox(folder, context_of()) as outbox:
        deliver(outbox, store, record(0))
        outbox.append(record(1))
        outbox.append(record(2))
    away = make_outbox_folder(parse_address("http://host:5000"))
    torn = context_of("torn")
    with Outbox(away, torn) as outbox:
        outbox.append(record(1, context=torn))
    outbox.path.write_bytes(outbox.path.read_bytes() + b"garbage\n")
    told = {one.store: one for one in describe_outboxes()}
    assert not any(one.is_unended for one in told.values())
    assert (told[str(store.address)].sweep, told[str(store.address)].n_records) == ("first", 2)
    assert told[str(store.address)].n_unreadable == 0
    bad = told["http://host:5000"]
    assert (bad.sweep, bad.n_records, bad.n_unreadable, bad.folder) == ("torn", 1, 1, away)


def test_only_what_is_empty_is_cleared(store: Store) -> None:
    folder = make_outbox_folder(store.address)
    with Outbox(folder, context_of("crashed")) as crashed:
        deliver(crashed, store, record(0, context=context_of("crashed")))
        kept = crashed.path.read_bytes(), crashed.path.with_suffix(".done").read_bytes()
    # As a crash between the last mark and the end leaves them.
    crashed.path.write_bytes(kept[0])
    crashed.path.with_suffix(".done").write_bytes(kept[1])
    with Outbox(folder, context_of("waits")) as waits:
        waits.append(record(0, context=context_of("waits")))
    with Outbox(folder, context_of("unended")) as unended:
        unended.append_end("{}")
    (folder / "aside.corrupted").write_text("line 3: garbage\n")
    waiting = {"waits.jsonl", "unended.jsonl", "aside.corrupted", "store.txt"}
    with Outbox(folder, context_of("busy")):
        before = files_in(folder)
        listed = clear_outbox(folder, removes=False)
        assert files_in(folder) == before
        assert clear_outbox(folder) == listed
        assert {path.name for path in listed} == {"crashed.jsonl", "crashed.done"}
        assert files_in(folder) == {*waiting, "busy.jsonl", "busy.lock"}
    clear_outbox(folder)
    assert files_in(folder) == waiting
    assert {one.sweep: (one.n_records, one.is_unended) for one in describe_outboxes()} == {
        "unended": (0, True),
        "waits": (1, False),
    }
    assert clear_outbox(folder / "none") == []


def test_record_that_the_store_refused_is_not_cleared(store: Store) -> None:
    folder = make_outbox_folder(store.address)
    with Outbox(folder, context_of()) as outbox:
        outbox.append(replace(record(0), split_digest="s" * 9000))
    assert clear_outbox(folder) == []
    assert outbox.path.exists()


def test_lock_whose_file_was_removed_is_not_shared(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    has_begun, may_go_on = threading.Event(), threading.Event()
    held = []

    def waits_for_it() -> None:
        has_begun.set()
        with file_lock(path) as is_ours:
            held.append(is_ours)
            may_go_on.wait(10)

    with file_lock(path):
        waiting = threading.Thread(target=waits_for_it)
        waiting.start()
        has_begun.wait(10)
        time.sleep(0.2)  # until it has opened the file
        path.unlink()
    while not held:
        waiting.join(0.01)
    with file_lock(path, waits=False) as another:
        assert not another, "the one that waited holds the lock of a file that is gone"
    may_go_on.set()
    waiting.join()
