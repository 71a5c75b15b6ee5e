"""``gnz compare`` sets two sweeps against one another."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cells import ENVIRONMENT, REGRESSION, TASK, cell_of, context_of, finished, result_of
from score_tables import table_of

from gnz_track.report.sweep_comparison import UNTOLD, compare_sweeps
from gnz_track.store.environment import Environment, GitState
from gnz_track.store.run_record import SweepContext
from gnz_track.store.writer import open_store

Gnz = Callable[..., Any]
SEEDS = range(6)
# Advantages by seed: clearly above zero, with some spread.
BETTER = (0.05, 0.06, 0.055, 0.045, 0.05, 0.06)
UPGRADED = Environment(
    **{
        **{name: getattr(ENVIRONMENT, name) for name in ("python", "pyg", "os", "cpu", "cores", "memory_mib")},
        "torch": "2.14.0+cpu",
        "packages": {"numpy": "2.4.0", "torch": "2.14.0+cpu", "scipy": "1.17.1"},
    }
)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with a sweep, and one after an upgrade: GCN changed, GAT did not, zinc has other data."""
    file = tmp_path_factory.mktemp("upgraded") / "gnz.db"
    before = context_of("before")
    after = context_of("after", environment=UPGRADED, git=GitState(commit="e" * 40, branch="main"))
    with open_store(str(file)) as store:
        for context, is_after in ((before, False), (after, True)):
            run_id = store.open_sweep(context)
            for seed in SEEDS:
                for made in made_of(context, seed, is_after=is_after):
                    store.finish(made)
            store.close_sweep(run_id)
    return file


def made_of(context: SweepContext, seed: int, *, is_after: bool) -> list[Any]:
    results = [
        result_of(cell_of("GAT", seed)),
        result_of(cell_of("GCN", seed)),
        result_of(cell_of("GCN", seed, task=REGRESSION)),
    ]
    if is_after:
        changed = (results[1].score or 0.0) + BETTER[seed]
        results[1] = result_of(cell_of("GCN", seed), score=changed, scores={"accuracy": changed})
        results[2] = result_of(cell_of("GCN", seed, task=REGRESSION), dataset_digest="e" * 32)
    return [finished(result, context=context, attempt="2" if is_after else "1") for result in results]


@pytest.fixture
def upgraded(database: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    shutil.copytree(database.parent, folder)
    return folder / "gnz.db"


@pytest.mark.usefixtures("upgraded")
def test_what_changed_and_what_did_not_is_told(gnz: Gnz) -> None:
    found = json.loads(gnz("compare", "before", "after", "--json").out)
    cells = {(cell["task"], cell["model"]): cell for cell in found["cells"]}
    assert set(cells) == {(TASK.name, "GAT"), (TASK.name, "GCN")}
    same, better = cells[TASK.name, "GAT"], cells[TASK.name, "GCN"]
    assert (same["n_identical"], same["advantage"], same["verdict"]) == (6, 0.0, "identical")
    assert same["note"] == "bit-identical"
    assert (better["n_identical"], better["verdict"]) == (0, "different")
    assert better["advantage"] == pytest.approx(sum(BETTER) / len(BETTER))
    assert 0 < better["low"] < better["advantage"] < better["high"]
    assert (found["n_compared"], found["n_identical"]) == (12, 6)
    assert found["left_out"] == ["6 cells have other data in the second sweep"]


@pytest.mark.usefixtures("upgraded")
def test_the_other_way_round_is_the_mirror_image(gnz: Gnz) -> None:
    there, back = (
        json.loads(gnz("compare", *names, "--json").out) for names in (("before", "after"), ("after", "before"))
    )
    for one, two in zip(there["cells"], back["cells"], strict=True):
        assert one["advantage"] == pytest.approx(-two["advantage"])
        assert (one["verdict"], one["p_adjusted"]) == (two["verdict"], two["p_adjusted"])
        if one["low"] is not None:
            assert (one["low"], one["high"]) == (pytest.approx(-two["high"]), pytest.approx(-two["low"]))


@pytest.mark.usefixtures("upgraded")
def test_what_may_have_caused_it_is_named(gnz: Gnz) -> None:
    answer = gnz("compare", "before", "after")
    assert (answer.code, answer.err) == (0, "left out: 6 cells have other data in the second sweep\n")
    words = [" ".join(line.split()) for line in answer.out.splitlines()]
    assert words[0] == (
        "before against after: 6 of 12 cells bit-identical; of 2 pairs of task and model 1 different, 1 identical"
    )
    assert any(line.startswith(f"git commit {'c' * 40} {'e' * 40}") for line in words)
    assert "package torch 2.13.0+cpu 2.14.0+cpu" in words
    assert "package scipy - 1.17.1" in words
    assert not any(line.startswith("package numpy") for line in words)
    assert f"digest of the data {'d' * 32} {'e' * 32} zinc" in words


@pytest.mark.usefixtures("upgraded")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("befor", "after"), ("unknown sweep 'befor'", "did you mean 'before'?", "gnz ls")),
        (("before", "before"), ("another sweep",)),
        (("before", "after", "--alpha", "2"), ("alpha",)),
        (("before", "after", "--test", "tee"), ("unknown test 'tee'",)),
    ],
)
def test_mistake_is_one_line(gnz: Gnz, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    answer = gnz("compare", *arguments)
    assert (answer.code, answer.out, len(answer.err.splitlines())) == (2, "", 1)
    assert all(word in answer.err for word in words), answer.err


def test_sweeps_without_a_cell_in_common_are_a_sentence(gnz: Gnz, upgraded: Path) -> None:
    with open_store(str(upgraded)) as store:
        context = context_of("elsewhere")
        store.open_sweep(context)
        store.finish(finished(result_of(cell_of("MLP", 50)), context=context))
    answer = gnz("compare", "before", "elsewhere")
    assert answer.code == 2
    assert "share no finished cell" in answer.err


def test_what_is_in_one_sweep_alone_explains_nothing_and_changed_code_is_named(gnz: Gnz, upgraded: Path) -> None:
    other_net, late_net = (
        dataclasses.replace(cell_of("GCN", 0).model, source_digest=digest) for digest in ("1" * 32, "2" * 32)
    )
    alone = dataclasses.replace(cell_of("MLP", 0), device="cuda")
    with open_store(str(upgraded)) as store:
        for name, net, version in (("old", other_net, "0.1"), ("new", late_net, "0.2")):
            context = dataclasses.replace(context_of(name), version=version if name == "old" else "0.1")
            cells = [dataclasses.replace(cell_of("GCN", seed), model=net) for seed in SEEDS]
            # Of the second sweep alone, and under another version.
            only = [dataclasses.replace(alone, seed=7)] if name == "new" else []
            store.open_sweep(context)
            for cell in cells:
                store.finish(finished(result_of(cell), context=context))
            elsewhere = dataclasses.replace(context, version="9.9")
            for cell in only:
                store.finish(finished(result_of(cell), context=elsewhere))
    found = json.loads(gnz("compare", "old", "new", "--json").out)
    told = {item["what"]: (item["first"], item["second"]) for item in found["differences"]}
    assert told == {"source of the model GCN": ("1" * 32, "2" * 32)}
    assert found["left_out"] == ["1 cells are in the second sweep alone"]


def test_other_hyperparameters_and_code_that_is_not_recorded_are_told() -> None:
    columns = {"protocol": "graphnetz@1", "epochs": 30, "version": "0.1"}
    first, second = (table_of(np.full((1, 2, 3), 0.5), **columns) for _ in range(2))
    second["hyperparameters"] = np.where(second["model"] == "m00", '{"lr": 0.1}', "{}")
    first["hyperparameters"] = "{}"
    for table, mark in ((first, "a"), (second, "b")):
        table["fingerprint"] = [f"{mark}{row}" for row in range(len(table))]
    found = compare_sweeps(first, second, names=("one", "two"))
    told = {item.what: (item.first, item.second) for item in found.differences}
    assert told["hyperparameters of m00"] == ("{}", '{"lr": 0.1}')
    assert told[UNTOLD] == ("m01", "m01")
    second["fingerprint"] = first["fingerprint"]
    assert UNTOLD not in {item.what for item in compare_sweeps(first, second, names=("one", "two")).differences}


@pytest.mark.parametrize(
    ("then", "told"), [("gnz_track.models.gcn:GCN", []), ("mine.nets:GCN", ["import path of the model GCN"])]
)
def test_module_of_a_model_of_the_package_makes_no_difference(then: str, told: list[str]) -> None:
    scores = [[[0.5, 0.6, 0.7]]]
    first = table_of(scores, models=["GCN"], model_source=then)
    second = table_of(scores, models=["GCN"], model_source="gnz_track.models:GCN")
    compared = compare_sweeps(first, second, names=("before", "after"))
    assert [difference.what for difference in compared.differences] == told
