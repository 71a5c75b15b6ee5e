"""The golden record: what the package computes, writes and says, to tell a change of its form from one of it.

``python tests/golden/record.py --renew [PART ...]`` writes all parts anew, or those that are named; do so only where a
change of numbers, files or words is meant, and read the difference before it is committed. The numbers are those of
the processor and the versions in ``made_with.json``. Module paths of the package itself are left out everywhere.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).with_name("record")
# Nobody listens there: what is written waits on the disk.
AWAY = "http://127.0.0.1:9"
SHORT = ("--seeds", "0", "--epochs", "2")
CALLS = (
    ("run", "--suite", "quick", *SHORT),
    ("tune", "--task", "les_miserables", "--models", "GCN", "--trials", "4", "--tuning-seeds", "100,101", *SHORT),
    ("run", "--task", "les_miserables", "--models", "GCN", *SHORT, "--store", AWAY),
    ("ls", "--trials", "--json"),
)
# Several calls in one process: what is heavy is imported once.
ONE_PROCESS = """
import json, sys
from gnz_track.__main__ import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["gnz", *words]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    print("\\0", end="")
"""
AS_JSON = """
from gnz_track import BenchmarkReport
print(BenchmarkReport.from_store(sweep={!r}).to_json())
"""
# A store that was written before modules of the package moved: two sweeps of built-in models, one with a class of the
# user's by import path and one that fails, one with a class by value, a search, and a record that waits for a store.
OLD = ("custom-536dd706", "custom-0c4471ba")
QUESTIONS = (
    ("ls",),
    ("ls", "--failed"),
    ("ls", "--searches", "--json"),
    ("ls", "--trials", "--csv"),
    ("compare", *OLD),
    ("query", "--columns", "task,model,seed,metric,score,status,model_source,fingerprint"),
)
# What differs from run to run: who, when, where, how long, from which commit.
VARYING = re.compile(
    r"gnz\.(bookkeeping|record|attempt|owner|heartbeat|host|env|cells|version|git\..*|table.*|files)|env\..*"
    r"|mlflow\.(source|user|parentRunId).*"
    r"|usage/(?!parameters|epochs|.*trials).*"
)
VARYING_FIELDS = {
    *("attempt", "owner", "version", "git", "environment", "environment_tags", "digest"),
    *("started_at", "ended_at", "seconds", "seconds_per_epoch", "cpu_seconds", "peak_rss_mib", "peak_device_mib"),
    *("memory_mib", "storage", "versions", "book", "files"),
}
TERMINAL = {"TZ": "UTC", "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
MODULE = re.compile(r"\bgnz_track(\.\w+)+:")
END_KEY = re.compile(r"\bend [0-9a-f]{12}\b")


class Workshop:
    """A folder in which everything is made once, with an environment that holds nothing of the user's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if name not in {"GNZ_MIRROR", "FORCE_COLOR"}}
        places = {"GNZ_DATA": "data", "GNZ_STORE": "gnz.db", "XDG_DATA_HOME": "own"}
        own = {name: str(folder / place) for name, place in places.items()}
        # By Torch alone, which computes here as it did when the record was made.
        own["GNZ_KERNELS"] = "off"
        self.environment = {**kept, **own, "PYTHONPATH": str(ROOT), **TERMINAL, **ONE_THREAD}
        self.trials = ""

    def python(self, *words: str) -> str:
        """Return what a process prints; it must end well."""
        command = [sys.executable, *words]
        ended = subprocess.run(
            command, env=self.environment, cwd=self.folder, capture_output=True, text=True, check=False, timeout=500
        )
        if ended.returncode:
            raise RuntimeError(f"{words[:3]}: {ended.stdout[-2000:]}{ended.stderr[-3000:]}")
        return ended.stdout

    def gnz(self, calls: Iterable[Iterable[str]]) -> list[str]:
        """Return what each call of the command line prints."""
        return self.python("-c", ONE_PROCESS, json.dumps([list(words) for words in calls])).split("\0")[:-1]

    def old(self) -> Workshop:
        """Return a workshop with the store of an earlier version; frozen data are shared."""
        found = Workshop(self.folder / uuid.uuid4().hex)
        with tarfile.open(Path(__file__).with_name("old_store.tar.xz")) as packed:
            packed.extractall(found.folder, filter="data")
        found.environment["GNZ_DATA"] = self.environment["GNZ_DATA"]
        found.environment["PYTHONPATH"] += os.pathsep + str(found.folder / "project")
        return found

    def train(self) -> None:
        """Do all that needs training; done once."""
        if not (self.folder / "gnz.db").exists():
            *_, self.trials = self.gnz(CALLS)
            self.python(str(Path(__file__).with_name("record_cells.py")), str(self.folder / "gnz.db"))


def made_with(shop: Workshop) -> Any:
    """Return what numbers depend on: versions of Torch and PyG, and the instructions of the processor."""
    shop.train()
    found = rows(shop, "SELECT DISTINCT key, value FROM tags WHERE key LIKE 'env.%' ORDER BY key")
    return {key: value for key, value in found if key in {"env.torch", "env.pyg", "env.instructions"}}


def help_texts(shop: Workshop) -> Any:
    """Return the help of every command, by its words."""
    (first,) = shop.gnz([["--help"]])
    outer = commands_in(first)
    second = dict(zip(outer, shop.gnz([name, "--help"] for name in outer), strict=True))
    inner = [(name, word) for name, text in second.items() for word in commands_in(text)]
    third = shop.gnz([*words, "--help"] for words in inner)
    deepest = {" ".join(words): text for words, text in zip(inner, third, strict=True)}
    return {
        words: [line.rstrip() for line in text.splitlines()] for words, text in {"": first, **second, **deepest}.items()
    }


def commands_in(text: str) -> list[str]:
    """Return the commands that a help text lists."""
    return re.findall(r"^│ (\w+) ", text.partition("─ Commands ─")[2], flags=re.MULTILINE)


def cells(shop: Workshop) -> Any:
    """Return tags and all numbers of every cell: its scores, and its curves epoch by epoch."""
    shop.train()
    kinds = "SELECT run_uuid FROM tags WHERE key = 'gnz.kind' AND value = 'cell'"
    found: dict[str, dict[str, Any]] = {run: {} for (run,) in rows(shop, kinds)}
    for run, key, value in rows(shop, "SELECT run_uuid, key, value FROM tags ORDER BY key"):
        if run in found and not VARYING.fullmatch(key) and not key.startswith(("gnz.kind", "gnz.metric.key")):
            found[run].setdefault("tags", {})[key] = steady(value)
    for run, key, value, is_nan in rows(shop, "SELECT run_uuid, key, value, is_nan FROM metrics ORDER BY key, step"):
        if run in found and not VARYING.fullmatch(key):
            found[run].setdefault("numbers", {}).setdefault(key, []).append("nan" if is_nan else value)
    for run, key, value in rows(shop, "SELECT run_uuid, key, value FROM params ORDER BY key"):
        if run in found:
            found[run].setdefault("params", {})[key] = value
    facts = ("gnz.task", "gnz.model", "gnz.protocol", "gnz.sweep")
    return dict(sorted((" ".join(one["tags"][name] for name in facts), one) for one in found.values()))


def waiting(shop: Workshop) -> Any:
    """Return the lines of the file in which a run waits whose store is away."""
    shop.train()
    (file,) = (shop.folder / "own").rglob("*.jsonl")
    found = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [{**line, "digest": len(line["digest"]), "text": steady(json.loads(line["text"]))} for line in found]


def manifest(shop: Workshop) -> Any:
    """Return what the sweep of the quick suite wrote of its cells: the plan, and the book to rebuild them from."""
    shop.train()
    (plan,) = shop.folder.glob("artifacts/gnz_quick-*/*/artifacts/plan.json")
    (book,) = plan.parent.glob("cells/*.json")
    return {"plan": load(plan), "book": load(book)}


def search(shop: Workshop) -> Any:
    """Return the record of a search, and its trials."""
    shop.train()
    (file,) = shop.folder.glob("artifacts/**/search.json")
    return {"search": steady(load(file)), "trials": steady(json.loads(shop.trials))}


def report(shop: Workshop) -> Any:
    """Return the tables of a report on the old store, in each form, and what is printed of it."""
    old = shop.old()
    words = ["report", "--sweep", OLD[0], "--out", "report", "--training"]
    printed, said = old.python("-c", ONE_PROCESS + AS_JSON.format(OLD[0]), json.dumps([words])).split("\0")
    files = sorted((old.folder / "report" / "tables").iterdir())
    texts = {"printed": printed, "json": said, **{file.name: file.read_text("utf-8") for file in files}}
    return {name: without_places(text, old).splitlines() for name, text in texts.items()}


def old_store(shop: Workshop) -> Any:
    """Return what commands say of the old store, before and after the record that waits for it is written."""
    old = shop.old()
    before = dict(zip(map(" ".join, QUESTIONS), old.gnz(QUESTIONS), strict=True))
    # The record waited for a store that was away; here it waits for this one.
    here = hashlib.sha256(f"sqlite:///{old.folder / 'gnz.db'}".encode()).hexdigest()[:12]
    outbox = old.folder / "own" / "gnz_track" / "spool"
    (outbox / hashlib.sha256(AWAY.encode()).hexdigest()[:12]).rename(outbox / here)
    after = zip(("sync", "ls after sync", "query after sync"), old.gnz([["sync"], *QUESTIONS[::5]]), strict=True)
    return {words: without_places(text, old).splitlines() for words, text in {**before, **dict(after)}.items()}


def without_places(text: str, shop: Workshop) -> str:
    """Return a text without the folder in which it was made, and without versions."""
    return re.sub(r"\d+\.\d+\.\d+(\.dev\d+)?(\+\w+)?", "VERSION", text.replace(str(shop.folder), "FOLDER"))


def rows(shop: Workshop, question: str) -> list[tuple[Any, ...]]:
    """Return what the store answers."""
    with sqlite3.connect(shop.folder / "gnz.db") as store:
        return store.execute(question).fetchall()


def load(file: Path) -> Any:
    """Return the JSON of a file, without module paths."""
    return json.loads(MODULE.sub("gnz_track:", file.read_text("utf-8")))


def steady(content: Any) -> Any:
    """Return JSON without what varies; the names of its fields stay."""
    if isinstance(content, dict):
        return {key: "..." if key in VARYING_FIELDS else steady(value) for key, value in content.items()}
    if isinstance(content, list):
        return [steady(item) for item in content]
    return END_KEY.sub("end ...", MODULE.sub("gnz_track:", content)) if isinstance(content, str) else content


PARTS: dict[str, Callable[[Workshop], Any]] = {
    "made_with": made_with,
    "help": help_texts,
    "cells": cells,
    "waiting": waiting,
    "manifest": manifest,
    "search": search,
    "report": report,
    "old_store": old_store,
}


def read(part: str) -> Any:
    """Return a part as it was recorded."""
    return json.loads((FOLDER / f"{part}.json").read_text("utf-8"))


to_text = json.JSONEncoder(ensure_ascii=False).encode


def write(part: str, content: Any) -> None:
    """Record a part, an entry a line."""
    FOLDER.mkdir(exist_ok=True)
    is_list = isinstance(content, list)
    entries = map(to_text, content) if is_list else (f"{to_text(key)}: {to_text(content[key])}" for key in content)
    first, last = "[]" if is_list else "{}"
    text = "\n".join([first, ",\n".join(entries), last, ""])
    (FOLDER / f"{part}.json").write_text(text, "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--renew", nargs="*", choices=list(PARTS), required=True, metavar="PART")
    wanted = parser.parse_args().renew or list(PARTS)
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(Path(folder))
        for part in wanted:
            write(part, PARTS[part](shop))
            print(f"renewed {FOLDER.name}/{part}.json")  # noqa: T201


if __name__ == "__main__":
    main()
