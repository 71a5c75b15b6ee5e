"""Every message that the questions quote is one that the code says today, and every error is among them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from doc_pages import DOCS, ROOT, agrees, read_blocks
from torch_geometric.data import Data

import gnz_track as gnz
from gnz_track import errors
from gnz_track.cli import main
from gnz_track.cli.terminal.working_folder import FolderGone
from gnz_track.errors import GnzError
from gnz_track.registry import PluginBroken
from gnz_track.store.address import parse_address

FAQ = DOCS / "faq.md"
TEXT = FAQ.read_text(encoding="utf-8")
CELL = {"task": "cora", "model": "GCN", "seed": 0, "score": 0.8, "metric": "accuracy", "direction": "up"}


class Net(torch.nn.Module):
    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        del hidden_channels
        self.layer = torch.nn.Linear(in_channels, out_channels)

    def forward(self, data: Data) -> torch.Tensor:
        return self.layer(data.x)


class Wide(Net):
    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, hidden_channels, out_channels + 1)


class Mad(Net):
    def forward(self, data: Data) -> torch.Tensor:
        return super().forward(data) * float("nan")


def train(*models: Any, tasks: tuple[Any, ...] = ("grid_mines",), **options: Any) -> str:
    """Return the errors of cells that fail."""
    try:
        found = gnz.run_benchmark(tasks=tasks, models=list(models), seeds=[0], epochs=1, verbose=False, **options)
    except errors.EveryCellFails as error:
        return error.reason
    return "\n".join(found.table["error"])


def train_without_way() -> None:
    class Narrow(Net):
        """Fits no data."""

        def forward(self, data: Data) -> torch.Tensor:
            return self.layer(data.x[:, :3])

    gnz.run_benchmark(tasks=["grid_mines"], models=[(Narrow, {"node_cls"})], seeds=range(5), verbose=False)


def train_a_pair() -> str:
    graph = Data(x=torch.ones(2, 2), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0, 1]))
    return train("MLP", tasks=(gnz.task_from_dataset("pair", "node_cls", graph),))


def compare(second: dict[str, Any], **first: Any) -> str:
    return str(gnz.compare(pd.DataFrame([{**CELL, **first}, {**CELL, **second}])))


def spoil() -> str:
    """Change a bit of a frozen dataset, and train on it."""
    frozen = gnz.prepare(gnz.TASKS.get("les_miserables"), seed=0)
    file = frozen.folder / "tensors.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.chmod(0o644)
    file.write_bytes(content)
    return train("MLP", tasks=("les_miserables",))


def remove_store() -> None:
    """Leave of a store what sqlite keeps beside it."""
    file = parse_address().file
    file.parent.mkdir()
    file.with_name(f"{file.name}-wal").write_bytes(b"results")
    gnz.read_table()


def register_twice() -> None:
    gnz.register_model(type("GCN", (Net,), {}), task_type="node_cls")


def reproduce_own(call: Callable[..., str]) -> str:
    class Own(Net):
        """Importable by nobody, as the classes of a notebook."""

    train((Own, {"node_cls"}))
    return call("reproduce", str(gnz.read_table()["run_id"].iloc[-1]))


def load_without_weights() -> None:
    train("MLP")
    gnz.load_model(str(gnz.read_table()["run_id"].iloc[-1]))


# Heading -> class of the error, and what provokes it: words for gnz, or a function.
PROVOKED: dict[str, tuple[str, tuple[str, ...] | Callable[[], Any]]] = {
    "unknown model, task, protocol, sweep": ("UnknownName", ("run", "--models", "graphsage")),
    "cannot import": ("TargetMissing", ("run", "--models", "mynets:Net")),
    "cannot read seeds": ("BadSeeds", ("run", "--seeds", "9-0")),
    "is ...; allowed": ("BadValue", ("run", "--epochs", "0")),
    "a flag without a value": ("BadValue", ("run", "--task", "")),
    "no such option": ("UnknownOption", ("run", "--lr", "0.01")),
    "search is": ("BadValue", lambda: train("GCN", search="a lot")),
    "is registered already": ("DuplicateName", register_twice),
    "cannot read the expression": ("BadExpression", ("query", "task = cora")),
    "nothing to run": ("NothingToRun", ("run", "--task", "grid_mines", "--models", "GIN")),
    "it does not say which task types it serves": ("ModelInvalid", lambda: train(Net)),
    "its forward returned shape": ("ModelInvalid", lambda: train((Wide, {"node_cls"}))),
    "fail in the same way": ("EveryCellFails", train_without_way),
    "diverged": ("Diverged", lambda: train((Mad, {"node_cls"}))),
    "the data are not here": ("DataMissing", ("run", "--task", "cora")),
    "the data of several datasets are not here": ("SeveralMissing", ("run", "--task", "cora,pubmed,grid_mines")),
    "is corrupted": ("DataCorrupted", spoil),
    "cannot be split": ("SplitImpossible", train_a_pair),
    "is retired": ("DataRetired", ("data", "get", "shapenet")),
    "the store cannot be used": ("StoreUnusable", ("ls", "--store", "mysql://x/y")),
    "its file is gone or empty": ("StoreUnusable", remove_store),
    "the store does not answer": ("StoreUnreachable", ("ls", "--store", "http://127.0.0.1:9")),
    "nothing to compare": ("NothingToCompare", ("report",)),
    "in the table more than once": ("DuplicateCells", lambda: compare({})),
    "have several values of metric": ("MetricsMixed", lambda: compare({"model": "GAT", "metric": "auc"})),
    "cannot be compared": ("NotComparable", lambda: compare({"model": "GAT", "protocol": "a@2"}, protocol="a@1")),
    "no run": ("UnknownRun", ("reproduce", "123456")),
    "it has kept no weights": ("ModelNotLoaded", load_without_weights),
}
# What needs a broken network, disk or clock is built as the code builds it; other tests provoke it.
BUILT: dict[str, GnzError] = {
    "metric is nan": errors.ScoreUndefined("auc", "test", float("nan")),
    "cannot be used ... rebuild": errors.DataUnusable("cora", "cora", "it has no card", command="gnz data get cora"),
    "cannot be fetched": errors.FetchFailed(
        "cora", ["ind.cora.x"], [("the mirror", "there is no such folder")], by_hand=["put it into raw/Cora"]
    ),
    "cannot fetch": errors.DownloadFailed("https://example.org/cora.zip", "it answered 503"),
    "the archive cannot be used": errors.ArchiveUnusable("cora.zip", "it ends too early"),
    "which is not installed": errors.ExtraMissing("ogbg_molhiv", "ogb", "ogb"),
    "ended with code": errors.ProgramFailed("dvc push", 1, "no remote"),
    "is being written by another process": errors.OutboxBusy("quick-f9ca854a"),
    "has been removed": FolderGone("torch"),
    "is missing: the installed package": PluginBroken(
        "model",
        EntryPoint("Net", "nets:Row", "gnz_track.models"),
        "ModuleNotFoundError: No module named 'torchnets'",
    ),
    "no record can be read": errors.OutboxCorrupted(["a.jsonl:3"], "a.jsonl.bad"),
}
# Provoked by a test of its own, because it needs a run first.
AFTER_A_RUN = {"cannot be reproduced": "NotReproducible"}


def quoted() -> Iterator[tuple[str, str]]:
    """Return (heading, message) of all entries, in order."""
    headings = [(number, line[4:]) for number, line in enumerate(TEXT.splitlines(), 1) if line.startswith("### ")]
    for block in read_blocks(FAQ):
        heading = [name for line, name in headings if line < block.line][-1]
        yield heading, " ".join(block.text.split())


MESSAGES = dict(quoted())


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that calls ``gnz`` in this process, and what it printed."""
    places = {"GNZ_DATA": "data", "GNZ_STORE": "runs/gnz.db", "XDG_DATA_HOME": "share"}
    for name, folder in places.items():
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.delenv("GNZ_MIRROR", raising=False)
    monkeypatch.setenv("COLUMNS", "100")

    def call(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["gnz", *words])
        capfd.readouterr()
        with pytest.raises(SystemExit):
            main()
        return "".join(capfd.readouterr())

    return call


def said_by(provoke: tuple[str, ...] | Callable[[], Any], call: Callable[..., str]) -> str:
    if isinstance(provoke, tuple):
        return call(*provoke)
    try:
        return str(provoke())
    except GnzError as error:
        return str(error)


def assert_says(heading: str, said: str) -> None:
    lines = [" ".join(line.split()) for line in said.splitlines()]
    assert any(agrees(f"...{MESSAGES[heading]}", line) for line in lines), f"{MESSAGES[heading]!r} is not in: {said}"


@pytest.mark.slow
@pytest.mark.parametrize("heading", PROVOKED)
def test_quoted_message_is_what_is_said(heading: str, call: Callable[..., str]) -> None:
    assert_says(heading, said_by(PROVOKED[heading][1], call))


@pytest.mark.slow
def test_code_out_of_the_store_is_not_run_unasked(call: Callable[..., str]) -> None:
    assert_says("cannot be reproduced", reproduce_own(call))


@pytest.mark.parametrize("heading", BUILT)
def test_quoted_message_is_the_text_of_its_class(heading: str) -> None:
    assert_says(heading, str(BUILT[heading]))


def test_every_entry_quotes_one_message_that_a_test_holds() -> None:
    assert list(MESSAGES) == [name for name, _ in quoted()]
    assert set(MESSAGES) == PROVOKED.keys() | BUILT.keys() | AFTER_A_RUN.keys()
    assert len(BUILT) < len(PROVOKED) / 2, "most are provoked"


def test_every_error_of_the_package_is_among_the_questions() -> None:
    def descend(kind: type[GnzError]) -> Iterator[str]:
        for found in kind.__subclasses__():
            if found.__module__.startswith("gnz_track."):
                yield found.__name__
            yield from descend(found)

    asked = {name for name, _ in PROVOKED.values()} | {type(error).__name__ for error in BUILT.values()}
    assert set(descend(GnzError)) == asked | set(AFTER_A_RUN.values())


def test_what_looks_like_an_error_is_said_somewhere() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "gnz_track").rglob("*.py"))
    rows = re.findall(r"^\| `([^`]+)` \|", TEXT.partition("## What looks like an error")[2], flags=re.MULTILINE)
    assert len(rows) >= 5
    for row in rows:
        assert row in source, row
