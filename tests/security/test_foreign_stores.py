"""Stores from elsewhere, read by every command: nothing is asked of the hosts they name, and nothing of theirs runs."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from foreign_stores import (
    OF_NETRC,
    SECRETS,
    Grounds,
    has_credentials,
    make_address_kinds,
    make_book_kinds,
    make_file_kinds,
    make_link_kinds,
    make_schema_kinds,
    recording,
)

from gnz_track.errors import StoreUnusable
from gnz_track.store.reader import read_table

READER = Path(__file__).parents[1] / "foreign_reader.py"
BASE = """
import sys
sys.path.append({store_tests!r})
import dataclasses
from searches import search_of
from gnz_track import TASKS, run_benchmark
from gnz_track.store.searches import write_search
from gnz_track.store.writer import open_store
if __name__ == "__main__":
    tasks = [TASKS.get(name) for name in ("planted_partition", "les_miserables", "random_tsp")]
    run_benchmark(None, ["GCN", "MLP"], tasks=tasks, seeds=[0, 1], epochs=2, store="gnz.db", root="home", verbose=False)
    with open_store("gnz.db") as store:
        write_search(store, search_of())
"""
# What is called in the folder of each store; RUN and SWEEP are those of the real one, OUT is a folder of its own.
CALLS = {
    "ls": ("ls",),
    "ls --sweep": ("ls", "--sweep", "SWEEP"),
    "ls --searches": ("ls", "--searches", "--trials"),
    "query": ("query", "seed < 2"),
    "report": ("report", "--sweep", "SWEEP", "--out", "OUT"),
    "compare": ("compare", "SWEEP", "SWEEP"),
    "reproduce": ("reproduce", "RUN"),
    "recommend": ("recommend", "planted_partition", "--task-type", "node_cls"),
    "gc": ("gc", "--dry-run"),
    "sync": ("sync",),
    "doctor": ("doctor",),
    "api": ("api",),
}
# They draw figures or measure graphs, for seconds at each store: each of them reads every sixth, beginning at its own
# place; what they read is read of all stores by the others.
SLOW, STEP = ("report", "compare", "recommend"), 6
SECONDS = 1200


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    """Return a folder with a store, its files and its data, made by a process of its own."""
    folder = tmp_path_factory.mktemp("real")
    script = folder / "script.py"
    script.write_text(BASE.format(store_tests=str(root / "tests" / "store")))
    kept = {name: value for name, value in os.environ.items() if name not in {"GNZ_MIRROR", "GNZ_STORE"}}
    own = {"XDG_DATA_HOME": str(folder / "data"), "PYTHONPATH": str(root)}
    subprocess.run([sys.executable, str(script)], env={**kept, **own}, cwd=folder, check=True, capture_output=True)
    with closing(sqlite3.connect(folder / "gnz.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.execute("PRAGMA journal_mode=DELETE").fetchall()
    return folder


class Foreign:
    """Foreign stores of all kinds, and what reads them: processes with every secret that a user may have set."""

    def __init__(self, grounds: Grounds, folder: Path, sweep: str, *, secrets: dict[str, str]) -> None:
        self.grounds, self.folder, self.sweep = grounds, folder, sweep
        self.traces = folder / "traces"
        (folder / "user").mkdir(exist_ok=True)
        (folder / "user" / ".netrc").write_text(f"default login alice password {OF_NETRC}\n")
        (folder / "user" / ".netrc").chmod(0o600)
        kept = {name: os.environ[name] for name in ("PATH", "OMP_NUM_THREADS", "TMPDIR") if name in os.environ}
        proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), f"http://{grounds.host}")
        self.environment = {
            **kept,
            **secrets,
            **proxies,
            "MLFLOW_S3_ENDPOINT_URL": f"http://{grounds.host}/endpoint-of-s3",
            "HOME": str(folder / "user"),
            "XDG_DATA_HOME": str(folder / "user" / "data"),
            "GNZ_DATA": str(grounds.base / "home"),
            "CANARY_TRACES": str(self.traces),
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }

    def read(self, call: str, kinds: dict[str, Path] | None = None, **settings: str) -> dict[str, Any]:
        """Call a command in the folder of each store, within one process, and return what was noted of each."""
        places = {"RUN": self.grounds.run_id, "SWEEP": self.sweep, "OUT": str(self.folder / "out")}
        calls, answer = self.folder / "calls.json", self.folder / "answer.json"
        answer.unlink(missing_ok=True)
        stores = self.grounds.stores if kinds is None else kinds
        words = [places.get(word, word) for word in CALLS[call]]
        listed = {kind: [str(folder), self._at(words, folder)] for kind, folder in stores.items()}
        calls.write_text(json.dumps(listed))
        command = [sys.executable, str(READER), str(calls), str(self.grounds.outside), str(answer)]
        ended = subprocess.run(
            command,
            env={**self.environment, **settings},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert ended.returncode == 0, (call, ended.stderr[-3000:])
        found: dict[str, Any] = json.loads(answer.read_text())
        assert set(found) == set(stores)
        return found

    def _at(self, words: list[str], folder: Path) -> list[str]:
        return [*words] if words == ["doctor"] else [*words, "--store", str(folder / "gnz.db")]

    def ran(self) -> list[str]:
        """Return what of the stores ran, and forget it."""
        found = self.traces.read_text().splitlines() if self.traces.exists() else []
        self.traces.unlink(missing_ok=True)
        return found


@pytest.fixture
def foreign(real: Path, tmp_path: Path) -> Iterator[tuple[Foreign, list[bytes]]]:
    """Return foreign stores without any kind yet, and what the host that they name has seen."""
    outside = tmp_path / "outside"
    shutil.copytree(real / "artifacts", outside)
    base = tmp_path / "base"
    base.mkdir()
    for name in ("gnz.db", "artifacts", "home"):
        copy = shutil.copytree if (real / name).is_dir() else shutil.copy
        copy(real / name, base / name)
    with closing(sqlite3.connect(base / "gnz.db")) as connection, connection:
        for table, column in (("runs", "artifact_uri"), ("experiments", "artifact_location")):
            text = f"UPDATE {table} SET {column} = replace({column}, ?, ?)"  # noqa: S608
            connection.execute(text, (real.as_uri(), base.as_uri()))
        wanted = "SELECT t.run_uuid FROM tags t JOIN tags m ON m.run_uuid = t.run_uuid WHERE t.key = 'gnz.task' AND "
        wanted += "t.value = 'planted_partition' AND m.key = 'gnz.model' AND m.value = 'GCN' LIMIT 1"
        [[run_id]] = connection.execute(wanted).fetchall()
        [[sweep]] = connection.execute("SELECT value FROM tags WHERE key = 'gnz.sweep' AND run_uuid = ?", (run_id,))
    with recording() as (host, seen), recording(f"http://{host}/after-redirect") as (redirecting, seen_first):
        grounds = Grounds(base=base, run_id=run_id, outside=outside, host=redirecting)
        seen_by_all = _Both(seen, seen_first)
        yield Foreign(grounds, tmp_path, sweep, secrets=SECRETS), seen_by_all


class _Both(list[bytes]):
    """What two hosts have seen, together."""

    def __init__(self, *lists: list[bytes]) -> None:
        super().__init__()
        self._lists = lists

    def __len__(self) -> int:
        return sum(map(len, self._lists))

    def __iter__(self) -> Iterator[bytes]:
        return (item for one in self._lists for item in one)

    def clear(self) -> None:
        for one in self._lists:
            one.clear()


def make_all(grounds: Grounds) -> None:
    for make in (make_address_kinds, make_link_kinds, make_book_kinds, make_file_kinds, make_schema_kinds):
        make(grounds)


@pytest.mark.slow
def test_no_command_asks_a_host_or_runs_code_that_a_store_names(foreign: tuple[Foreign, list[bytes]]) -> None:
    stores, seen = foreign
    make_all(stores.grounds)
    kinds = stores.grounds.stores
    assert len(kinds) >= 60
    table = {kind: {"requests": 0, "code": 0, "files": 0} for kind in kinds}
    unattributed: list[str] = []
    tracebacks: list[str] = []
    noted: list[str] = []
    for call in CALLS:
        listed = list(kinds.items())[SLOW.index(call) :: STEP] if call in SLOW else kinds.items()
        found = stores.read(call, dict(listed))
        for kind, one in found.items():
            for column, word in (("requests", "network "), ("code", "code "), ("files", "file ")):
                table[kind][column] += sum(note.startswith(word) for note in one["notes"])
            noted += [f"{call}, {kind}: {note}" for note in one["notes"]]
            if one["code"] == 70:
                tracebacks.append(f"{call}, {kind}: {one['said'].splitlines()[-1]}")
        unattributed += [f"{call}: {line}" for line in stores.ran()]
        unattributed += [f"{call}: {request[:200]!r}" for request in seen]
        unattributed += [f"{call}: with credentials" for request in seen if has_credentials(request)]
        seen.clear()
    print_table(table)
    assert unattributed == []
    assert noted == []
    assert tracebacks == []


def test_server_that_redirects_hands_no_password_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    with recording() as (other, seen), recording(f"http://{other}/elsewhere") as (named, seen_by_named):
        for store in (f"http://{named}/redirect", f"http://alice:guess@{named}/redirect"):
            with pytest.raises(StoreUnusable):
                read_table(store)
        assert any(has_credentials(request) for request in seen_by_named), "who was named is told"
        assert seen == []


def print_table(table: dict[str, dict[str, int]]) -> None:
    columns = list(next(iter(table.values())))
    lines = [f"{'kind':<36}" + "".join(f"{column:>18}" for column in columns)]
    lines += [f"{kind:<36}" + "".join(f"{row[column]:>18}" for column in columns) for kind, row in table.items()]
    totals = [sum(row[column] for row in table.values()) for column in columns]
    lines.append(f"{len(table)} kinds, {len(CALLS)} calls: " + ", ".join(map(str, totals)))
    sys.stdout.write("\n" + "\n".join(lines) + "\n")
