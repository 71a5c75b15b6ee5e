from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnz_track import errors
from gnz_track.errors import GnzError

NAMES = ["GCN", "GAT", "GraphSAGE"]

TEXTS: dict[str, tuple[GnzError, str]] = {
    "UnknownName": (
        errors.UnknownName("model", "graphsage", NAMES, command="gnz models"),
        "unknown model 'graphsage'; did you mean 'GraphSAGE'? List all with: gnz models",
    ),
    "UnknownName, nothing near": (
        errors.UnknownName("model", "xyz", NAMES),
        "unknown model 'xyz'; known: GAT, GCN, GraphSAGE",
    ),
    "UnknownName, nothing near but a list": (
        errors.UnknownName("model", "xyz", NAMES, command="gnz models"),
        "unknown model 'xyz'; known: GAT, GCN, GraphSAGE. List all with: gnz models",
    ),
    "UnknownName, two near": (
        errors.UnknownName("model", "gxt", ["gat", "gut"]),
        "unknown model 'gxt'; did you mean 'gat' or 'gut'?",
    ),
    "UnknownName, none known": (errors.UnknownName("model", "xyz", []), "unknown model 'xyz'; known: none"),
    "UnknownName, many known": (
        errors.UnknownName("model", "xyz", [f"m{n:02}" for n in range(13)]),
        "unknown model 'xyz'; known: m00, m01, m02, m03, m04, m05, m06, m07, m08, m09, m10, m11, ...",
    ),
    "UnknownName, of somebody": (
        errors.UnknownName("setting", "hed", ["heads", "lr"], of={"heads": ["A", "B", "C", "D", "E"]}, command="gnz x"),
        "unknown setting 'hed'; did you mean 'heads' (of A, B, C, D, ...)? List all with: gnz x",
    ),
    "UnknownName, meant": (
        errors.UnknownName("setting", "learning_rate", ["heads", "lr"], meant="lr"),
        "unknown setting 'learning_rate'; did you mean 'lr'?",
    ),
    "UnknownOption": (
        errors.UnknownOption("--lr", "lr", "0.01"),
        "no such option '--lr'; settings are chosen by --set. Try: gnz run --set lr=0.01",
    ),
    "EveryCellFails": (
        errors.EveryCellFails("KeyError: 'x'", n_tried=2, n_cells=5, command="gnz ls --failed"),
        (
            "2 of 5 cells fail in the same way before the first epoch; the other 3 were not trained: KeyError: 'x'. "
            "List them with: gnz ls --failed"
        ),
    ),
    "EveryCellFails, of one": (
        errors.EveryCellFails("KeyError: 'x'", n_tried=1, n_cells=1, command="gnz ls --failed"),
        "the only cell fails before the first epoch: KeyError: 'x'. List them with: gnz ls --failed",
    ),
    "EveryCellFails, none left": (
        errors.EveryCellFails("KeyError: 'x'", n_tried=3, n_cells=3, command="gnz ls --failed"),
        "all 3 cells fail in the same way before the first epoch: KeyError: 'x'. List them with: gnz ls --failed",
    ),
    "SeveralMissing": (
        errors.SeveralMissing([errors.DataMissing(name, [], command="") for name in ("cora", "qm9")], ["mutag"]),
        (
            "the data of 2 datasets are not here: cora, qm9. Fetch with: gnz data get cora qm9; "
            "or train without them: --task mutag"
        ),
    ),
    "SeveralMissing, no other": (
        errors.SeveralMissing([errors.DataMissing(name, [], command="") for name in ("cora", "qm9")], []),
        "the data of 2 datasets are not here: cora, qm9. Fetch with: gnz data get cora qm9",
    ),
    "DuplicateName": (
        errors.DuplicateName("model", "GCN"),
        "model 'GCN' is registered already; choose another name or remove the first one",
    ),
    "TargetMissing": (
        errors.TargetMissing("a:b", "there is no module 'a'"),
        (
            "cannot import 'a:b': there is no module 'a'; expected 'package.module:attribute' importable from here "
            "(is its folder on PYTHONPATH?)"
        ),
    ),
    "TargetMissing, module there": (
        errors.TargetMissing("a:onehop", "module 'a' has no attribute 'onehop'", name="onehop", known=["OneHop", "x"]),
        "cannot import 'a:onehop': module 'a' has no attribute 'onehop'; did you mean 'OneHop'?",
    ),
    "BadExpression": (
        errors.BadExpression("tusk = 3", 0, "there is no column 'tusk'", columns=["task", "seed"]),
        (
            "cannot read the expression 'tusk = 3' at character 1, before 'tusk = 3': there is no column 'tusk'. "
            "Columns: task, seed. Write it like: \"task = 'cora' and model in ('GCN', 'GAT')\""
        ),
    ),
    "BadSeeds": (
        errors.BadSeeds("3-1"),
        (
            "cannot read seeds '3-1'; allowed: '0-9', '3', '0,1,5' or '0-4,10', whole numbers from 0 to 2147483647, "
            "each once. Try: --seeds 0-4"
        ),
    ),
    "BadValue": (
        errors.BadValue("epochs", 0, "a whole number", command="--epochs 5"),
        "epochs is 0; allowed: a whole number. Try: --epochs 5",
    ),
    "DataMissing": (
        errors.DataMissing("cora", ["data", "mirror"], command="gnz data get cora", reason="no mirror"),
        "the data of 'cora' are not here (no mirror); looked in: data, mirror. Fetch with: gnz data get cora",
    ),
    "DataMissing, nowhere": (
        errors.DataMissing("cora", [], command="gnz data get cora"),
        "the data of 'cora' are not here; looked in: nowhere. Fetch with: gnz data get cora",
    ),
    "DataCorrupted": (
        errors.DataCorrupted("cora", "data/cora", expected="aa", found="bb", command="gnz data get cora"),
        (
            "the frozen dataset 'cora' in data/cora is corrupted: expected digest aa, found bb. "
            "Rebuild with: gnz data get cora"
        ),
    ),
    "DataUnusable": (
        errors.DataUnusable("cora", "data/cora", "it has no card", command="gnz data get cora"),
        "the dataset 'cora' in data/cora cannot be used: it has no card. Rebuild with: gnz data get cora",
    ),
    "SplitImpossible": (
        errors.SplitImpossible("cora", "published", "it has no masks"),
        "dataset 'cora' cannot be split by policy 'published': it has no masks",
    ),
    "ModelInvalid": (
        errors.ModelInvalid("Net", "it has no forward", remedy="add one"),
        "model 'Net' cannot be used: it has no forward; add one",
    ),
    "Diverged": (
        errors.Diverged("train/loss", float("nan"), 7),
        "diverged: train/loss is nan at epoch 7; the cell was stopped. A smaller learning rate is the usual remedy",
    ),
    "ScoreUndefined": (
        errors.ScoreUndefined("auc", "test", float("nan")),
        (
            "metric 'auc' is nan on the test part: its labels do not define it (one class only, or none observed); "
            "choose another metric for the task or larger parts"
        ),
    ),
    "NothingToRun": (
        errors.NothingToRun(["cora x GIN: it serves graph_cls, not node_cls", "mutag x A: b"]),
        (
            "nothing to run: cora x GIN: it serves graph_cls, not node_cls; mutag x A: b. "
            "See what fits: gnz models, gnz tasks"
        ),
    ),
    "StoreUnusable": (
        errors.StoreUnusable("sqlite:///gnz.db", "it is read-only", remedy="choose another with --store"),
        "the store 'sqlite:///gnz.db' cannot be used: it is read-only; choose another with --store",
    ),
    "StoreUnreachable": (
        errors.StoreUnreachable("http://localhost:5000", "connection refused"),
        (
            "the store 'http://localhost:5000' does not answer: connection refused; start it, or check the address. "
            "Records that were spooled are replayed with: gnz sync --store http://localhost:5000"
        ),
    ),
    "OutboxCorrupted": (
        errors.OutboxCorrupted(["a.jsonl:3"], "a.jsonl.bad"),
        ("no record can be read at a.jsonl:3; the lines are kept in a.jsonl.bad. Rerun their cells: gnz run"),
    ),
    "OutboxBusy": (
        errors.OutboxBusy("s"),
        "sweep 's' is being written by another process; wait for it, or name another sweep",
    ),
    "NothingToCompare": (
        errors.NothingToCompare("the table has no row"),
        "nothing to compare: the table has no row. See what has finished, and why cells failed: gnz ls --failed",
    ),
    "DuplicateCells": (
        errors.DuplicateCells(["cora GCN s0 (r1) and cora GCN s0 (r2)"]),
        (
            "1 cell is in the table more than once: cora GCN s0 (r1) and cora GCN s0 (r2); allowed is one score for "
            "each task, model and seed. Keep one sweep or version; list them with: gnz ls"
        ),
    ),
    "DuplicateCells, many": (
        errors.DuplicateCells("abcde"),
        (
            "5 cells are in the table more than once: a; b; c; and 2 more; allowed is one score for "
            "each task, model and seed. Keep one sweep or version; list them with: gnz ls"
        ),
    ),
    "MetricsMixed": (
        errors.MetricsMixed("cora", "metric", {"accuracy": "cora GCN s0", "auc": "cora GAT s0"}),
        (
            "the cells of 'cora' have several values of metric: 'accuracy' (cora GCN s0), 'auc' (cora GAT s0); allowed "
            "is one for each task. List them with: gnz ls --task cora"
        ),
    ),
    "NotComparable": (
        errors.NotComparable("protocol", "'cora'", {"a@1": "cora GCN s0", "a@2": "cora GAT s0"}, task="cora"),
        (
            "cells of 'cora' cannot be compared: protocol is 'a@1' (cora GCN s0), 'a@2' (cora GAT s0); allowed is one "
            "protocol for all models. Leave some out, or run them again: gnz ls --task cora"
        ),
    ),
    "UnknownRun": (
        errors.UnknownRun("abc123", "sqlite:///gnz.db", "no id begins so"),
        "no run 'abc123' in sqlite:///gnz.db: no id begins so. List runs with: gnz ls --sweep NAME",
    ),
    "NotReproducible": (
        errors.NotReproducible("0123456789abcdef", "it was killed before it ended", remedy="gnz run trains it anew"),
        "run '01234567' cannot be reproduced: it was killed before it ended; gnz run trains it anew",
    ),
    "ProgramFailed": (
        errors.ProgramFailed("dvc push", 1, "remote 'x' does not exist"),
        "'dvc push' ended with code 1: remote 'x' does not exist. See more with: dvc push --verbose",
    ),
    "ModelNotLoaded": (
        errors.ModelNotLoaded("0123456789abcdef", "it has kept no weights", remedy="gnz reproduce RUN --keep weights"),
        "the model of run '0123456789ab' cannot be loaded: it has kept no weights; gnz reproduce RUN --keep weights",
    ),
    "DownloadFailed": (
        errors.DownloadFailed("https://h/a", "404 Not Found"),
        (
            "cannot fetch https://h/a: 404 Not Found. Try again later, or give a mirror: "
            "gnz data get NAME --mirror FOLDER"
        ),
    ),
    "ArchiveUnusable": (
        errors.ArchiveUnusable("a.zip", "it is empty"),
        "the archive a.zip cannot be used: it is empty. Remove it, then type: gnz data get NAME",
    ),
    "FetchFailed": (
        errors.FetchFailed(
            "x", ["a", "b"], [("m", "no folder"), ("u", "404")], by_hand=["put a into F", "put z into G"]
        ),
        (
            "the raw files of 'x' cannot be fetched. Wanted: a, b. Looked in: m (no folder); u (404). "
            "By hand: put a into F, or put z into G; then type: gnz data get x"
        ),
    ),
    "FetchFailed, of many files": (
        errors.FetchFailed("x", "abcdefghij", [], by_hand=["put them into F"]),
        (
            "the raw files of 'x' cannot be fetched. Wanted: a, b, c, d, e, f, g, h and 2 more. "
            "Looked in: nowhere, as it names no origin. By hand: put them into F; then type: gnz data get x"
        ),
    ),
    "DataRetired": (
        errors.DataRetired("x", "its host is gone", "F"),
        (
            "the dataset 'x' is retired: its host is gone. Who has its raw files puts them into F, "
            "or types: gnz data get x --mirror FOLDER"
        ),
    ),
    "ExtraMissing": (
        errors.ExtraMissing("x", "chem", "rdkit"),
        "the dataset 'x' needs rdkit, which is not installed. Install it with: pip install 'gnz-track[chem]'",
    ),
    "NothingToRun, for no reason": (
        errors.NothingToRun([]),
        "nothing to run: no task or no model was chosen. See what fits: gnz models, gnz tasks",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_of_an_error(name: str) -> None:
    error, text = TEXTS[name]
    assert str(error) == text
    assert isinstance(error, GnzError)
    assert type(error).__name__ == name.partition(",")[0]


def test_every_error_has_its_text_tested() -> None:
    public = {name for name in errors.__all__ if isinstance(getattr(errors, name), type)} - {"GnzError"}
    assert public == {name.partition(",")[0] for name in TEXTS}


def test_errors_carry_their_facts() -> None:
    unknown = errors.UnknownName("model", "gcm", NAMES)
    assert (unknown.kind, unknown.name, unknown.near) == ("model", "gcm", ["GCN"])
    corrupted = errors.DataCorrupted("cora", "data", expected="aa", found="bb", command="x")
    assert (corrupted.expected, corrupted.found) == ("aa", "bb")
    assert errors.DataMissing("cora", [], command="x").dataset == "cora"
    assert errors.Diverged("loss", 1.0, 7).epoch == 7


CLASSES = [item for name in errors.__all__ if isinstance(item := getattr(errors, name), type) and item is not GnzError]
# Items as they come: names, sentences of other libraries with their stop, lists that were cut, paths.
ITEMS = st.sampled_from(["a file", "It cannot be read.", "a, b, ...", "../data", "etc.", "50 %.", "(closed).", ""])
OF_KIND: dict[str, Callable[[str], Any]] = {
    "Iterable[str]": lambda item: [item],
    "Iterable[object]": lambda item: [item],
    "Iterable[DataMissing]": lambda item: [errors.DataMissing(item, [], command="")],
    "Iterable[tuple[object, str]]": lambda item: [(item, item)],
    "Sequence[str]": lambda item: [item],
    "Mapping[str, Sequence[str]] | None": lambda item: {item: [item]},
    "Mapping[str, str]": lambda item: {item: item},
    "int": lambda _: 3,
    "float": lambda _: 0.5,
}


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_no_item_doubles_a_full_stop(kind: type[GnzError], data: st.DataObject) -> None:
    given_: dict[str, Any] = {
        name: OF_KIND.get(parameter.annotation, str)(data.draw(ITEMS, label=name))
        for name, parameter in inspect.signature(kind).parameters.items()
    }
    for word in str(kind(**given_)).split():
        tail = word[len(word.rstrip(".;")) :]
        # Three dots stand for what was cut.
        assert tail in {"", ".", ";", "...", "...;"}, word


@pytest.mark.parametrize(
    "text", ["in ..", "in ../data; here", "a, ... and b", "1..2", "data/.. is a folder", "a...", "e.g., x."]
)
def test_dots_that_are_meant_stay(text: str) -> None:
    assert str(GnzError(text)) == text


def test_a_stop_is_one_stop() -> None:
    assert str(errors.NothingToCompare("It is empty.")).startswith("nothing to compare: It is empty. See")
    assert str(errors.StoreUnusable("x", "Locked.", remedy="wait")).endswith("cannot be used: Locked; wait")
    many = errors.UnknownName("model", "xyz", [f"m{n:02}" for n in range(13)], command="gnz models")
    assert str(many).endswith("m11, ... List all with: gnz models")
