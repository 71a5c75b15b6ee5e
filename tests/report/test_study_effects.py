"""Effects of factors: paired by task, model, seed and all other levels, and equal to what is computed by hand."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from gnz_track.report.page.studies import write_components_page, write_study_page
from gnz_track.report.study_effects import find_components, find_effects
from gnz_track.report.tables.factors import component_table, effect_table, interaction_table
from gnz_track.stats.estimates.variance import REST

LEVELS: dict[str, tuple[Any, ...]] = {"encoding": ("none", "lap8", "order"), "lr": (0.1, 0.01)}


def cell(seed: int, score: float | None, task: str = "t", model: str = "GIN", **chosen: Any) -> dict[str, Any]:
    status = "failed" if score is None else "finished"
    facts = {"metric": "accuracy", "direction": "up", "hyperparameters": json.dumps(chosen), "error": "boom"}
    return {"task": task, "model": model, "seed": seed, "score": score, "status": status, **facts}


def grid(n_seeds: int = 5, tasks: tuple[str, ...] = ("a", "b")) -> list[dict[str, Any]]:
    rng = random.Random(3)
    return [
        cell(
            seed, rng.random() + (encoding == "lap8") * (5 if lr == 0.01 else 3), task, model, encoding=encoding, lr=lr
        )
        for task, model in itertools.product(tasks, ("GCN", "GIN"))
        for encoding, lr in itertools.product(*LEVELS.values())
        for seed in range(n_seeds)
    ]


def scores(rows: list[dict[str, Any]], task: str, model: str, seed: int, **levels: Any) -> list[float]:
    return [
        row["score"]
        for row in rows
        if (row["task"], row["model"], row["seed"]) == (task, model, seed)
        and levels.items() <= json.loads(row["hyperparameters"]).items()
    ]


def test_effects_are_mean_differences_of_seeds_with_one_family_a_factor() -> None:
    rows = grid()
    found = find_effects(pd.DataFrame(rows), LEVELS)
    assert len(found.main) == 2 * 2 * (2 + 1)
    raw = []
    for one in found.main:
        name = {"encoding": one.level} if one.factor == "encoding" else {"lr": one.level}
        usual = {one.factor: one.reference}
        sides = [
            [np.mean(scores(rows, one.task, one.model, seed, **side)) for seed in range(5)] for side in (name, usual)
        ]
        expected = scipy_stats.ttest_rel(*sides)
        assert one.pair.p == pytest.approx(expected.pvalue)
        assert one.pair.effects.mean.mean == pytest.approx(np.mean(sides[0]) - np.mean(sides[1]))
        assert (one.mean, one.mean_of_reference) == pytest.approx((np.mean(sides[0]), np.mean(sides[1])))
        interval = expected.confidence_interval()
        assert (one.pair.effects.mean.low, one.pair.effects.mean.high) == pytest.approx((interval.low, interval.high))
        raw += [(one.pair.p, one.pair.p_adjusted)] if one.factor == "encoding" else []
    # Holm's smallest p is multiplied by all effects of the factor, over tasks and models.
    assert min(adjusted for _, adjusted in raw) == pytest.approx(8 * min(p for p, _ in raw))
    assert "encoding=lap8 against none: better on 4 of 4 pairs of task and model" in found.sentences


def test_interactions_are_effects_at_each_level_and_their_changes() -> None:
    rows = grid()
    found = find_effects(pd.DataFrame(rows), LEVELS)
    assert len(found.by_level) == 4 * 2 * 2
    assert len(found.changes) == 4 * 2
    for one in found.changes:

        def effect(seed: int, lr: float, one: Any = one) -> float:
            high, low = (
                scores(rows, one.task, one.model, seed, encoding=level, lr=lr)[0]
                for level in (one.level, one.reference)
            )
            return high - low

        by_hand = [effect(seed, one.at) - effect(seed, LEVELS["lr"][0]) for seed in range(5)]
        assert one.pair.effects.mean.mean == pytest.approx(np.mean(by_hand))
        assert one.pair.p == pytest.approx(scipy_stats.ttest_1samp(by_hand, 0).pvalue)
        assert (one.outcome == "better") == (one.level == "lap8")


def test_lower_is_better_where_the_metric_says_so() -> None:
    rows = [{**row, "direction": "down"} for row in grid()]
    found = find_effects(pd.DataFrame(rows), LEVELS)
    lap = [one for one in found.main if one.level == "lap8"]
    assert {one.outcome for one in lap} == {"worse"}
    assert all((one.mean or 0) > (one.mean_of_reference or 0) for one in lap)


def test_cells_without_a_score_take_their_seed_and_are_named() -> None:
    rows = grid(tasks=("a",))
    rows[0] = {**rows[0], "score": None, "status": "failed"}
    found = find_effects(pd.DataFrame(rows), LEVELS)
    assert found.missing == (("a", "GCN encoding=none lr=0.1", 0, "boom"),)
    hit = [one for one in found.main if one.model == "GCN" and one.factor == "encoding"]
    assert {(one.pair.n_pairs, one.n_missing) for one in hit} == {(4, 1)}
    assert {one.remarks[0] for one in hit} == {"1 cell without a score"}
    assert {one.pair.n_pairs for one in found.main if one.model == "GIN"} == {5}


def test_a_combination_without_any_score_does_not_take_the_others() -> None:
    rows = [
        {**row, "score": None, "status": "failed"}
        if '"order"' in row["hyperparameters"] and '"lr": 0.01' in row["hyperparameters"]
        else row
        for row in grid(tasks=("a",))
    ]
    found = find_effects(pd.DataFrame(rows), LEVELS)
    order = [one for one in found.main if one.level == "order"]
    assert {(one.pair.n_pairs, one.n_combinations) for one in order} == {(5, 1)}
    assert {one.outcome for one in found.changes if one.level == "order"} == {"no pair of scores"}


def test_ties_are_ties_and_no_certainty() -> None:
    rows = [cell(seed, 0.1 * seed, encoding=level) for level in ("none", "lap8") for seed in range(4)]
    found = find_effects(pd.DataFrame(rows), {"encoding": ("none", "lap8")})
    assert [one.outcome for one in found.main] == ["identical"]
    assert (found.by_level, found.changes) == ((), ())


def test_a_factor_that_a_model_does_not_have_is_said_and_not_compared() -> None:
    rows = [cell(seed, seed / 7, model="MLP", lr=lr) for lr in (0.1, 0.01) for seed in range(3)]
    rows += [
        cell(seed, seed / 9, model="GAT", lr=lr, heads=n) for lr in (0.1, 0.01) for n in (1, 2) for seed in range(3)
    ]
    found = find_effects(pd.DataFrame(rows), {"heads": (1, 2), "lr": (0.1, 0.01)})
    assert found.left_out == ("heads changes nothing of MLP on t",)
    assert {(one.factor, one.model) for one in found.main} == {("heads", "GAT"), ("lr", "GAT"), ("lr", "MLP")}


def test_seeds_that_draw_splits_are_warned_of_once_with_real_tasks() -> None:
    told = {"dataset_digest": "d", "n_train": 60, "n_test": 20}
    rows = [{**row, **told, "split_digest": f"s{row['seed']}"} for row in grid()]
    found = find_effects(pd.DataFrame(rows), LEVELS)
    assert {one.tasks for one in found.findings} == {("a", "b")}
    assert all("gnz study NAME --test nadeau_bengio" in str(one) for one in found.findings)
    assert find_effects(pd.DataFrame(rows), LEVELS, test="nadeau_bengio").main[0].pair.chosen.test == "Nadeau-Bengio t"


def test_smaller_training_parts_are_other_splits_by_intention() -> None:
    rows = [
        {**cell(seed, seed / 7 + size / 99, train_size=size), "dataset_digest": "d", "split_digest": f"{size} {seed}"}
        for size in (20, 40)
        for seed in range(4)
    ]
    assert len(find_effects(pd.DataFrame(rows), {"train_size": (20, 40)}).main) == 1


@settings(max_examples=60)
@given(data=st.data())
def test_pairing_is_that_of_a_search_by_hand(data: st.DataObject) -> None:
    """Of any table, with gaps and in any order, an effect is the mean over seeds that have all its cells."""
    cells = list(itertools.product(*LEVELS.values(), range(3)))
    values = data.draw(st.lists(st.one_of(st.none(), st.integers(0, 8)), min_size=len(cells), max_size=len(cells)))
    rows = [
        cell(seed, None if value is None else value / 8, encoding=encoding, lr=lr)
        for (encoding, lr, seed), value in zip(cells, values, strict=True)
    ]
    known = {place: value / 8 for place, value in zip(cells, values, strict=True) if value is not None}
    found = find_effects(pd.DataFrame(data.draw(st.permutations(rows))), LEVELS)
    for one in found.main:
        if one.factor != "encoding":
            continue
        both = {
            lr: [seed for seed in range(3) if {(one.level, lr, seed), ("none", lr, seed)} <= known.keys()]
            for lr in LEVELS["lr"]
        }
        used = [lr for lr, seeds in both.items() if seeds] or list(both)
        seeds = [seed for seed in range(3) if all(seed in both[lr] for lr in used)]
        differences = [np.mean([known[one.level, lr, s] - known["none", lr, s] for lr in used]) for s in seeds]
        assert one.pair.n_pairs == len(seeds)
        assert one.pair.effects.mean.mean == (pytest.approx(np.mean(differences)) if seeds else None)


def test_page_tables_and_figures_are_written_and_show_the_same(tmp_path: Path) -> None:
    rows = [{**row, "score": None, "status": "failed"} if place == 0 else row for place, row in enumerate(grid())]
    found = find_effects(pd.DataFrame(rows), {**LEVELS, "<b>": (1, 2)})
    page = write_study_page(found, tmp_path, title="Study <one>", description="One & all.", facts=[("size", "tiny")])
    text = page.read_text()
    assert "Study &lt;one&gt;" in text
    assert "GCN encoding=none lr=0.1" in text
    assert text.count("<svg") == 5
    names = {"effects_encoding", "effects_lr", "effects_encoding_by_lr", "changes_encoding_by_lr"}
    drawn = {file.name for file in (tmp_path / "figures").iterdir()}
    assert {f"{name}.{kind}" for name in names for kind in ("svg", "png", "pdf")} <= drawn
    effects = pd.read_csv(tmp_path / "effects.csv")
    assert len(effects) == len(found.main)
    assert effects["advantage"].tolist() == pytest.approx([one.pair.effects.mean.mean for one in found.main])
    kinds = pd.read_csv(tmp_path / "interactions.csv")["kind"].value_counts()
    assert dict(kinds) == {"effect": len(found.by_level), "change": len(found.changes)}
    shown = effect_table(found).to_text(), interaction_table(found).to_text()
    assert "encoding=lap8 against none" in shown[0]
    assert "changes by" in shown[1]
    assert all(table.to_latex().count("\\begin{tabular") for table in (effect_table(found), interaction_table(found)))


DRAWN = {"init_seed": (0, 1, 2), "split_seed": (0, 1, 2, 3)}


def crossed(*, n_seeds: int = 1) -> list[dict[str, Any]]:
    """Return cells whose scores have effects of the split, none of first weights, and some noise."""
    rng = np.random.default_rng(1)
    of_split = rng.normal(0, 2, 4)
    return [
        cell(seed, float(of_split[split] + rng.normal(0, 0.1)), init_seed=init, split_seed=split)
        for init, split, seed in itertools.product(*DRAWN.values(), range(n_seeds))
    ]


def test_components_are_those_of_the_textbook() -> None:
    """Two crossed random factors without repetition, by expected mean squares (Searle et al., 1992, section 4.7)."""
    rows = crossed()
    y = np.array([row["score"] for row in rows]).reshape(3, 4)
    of_init, of_split, mean = y.mean(axis=1), y.mean(axis=0), y.mean()
    rest = ((y - of_init[:, None] - of_split + mean) ** 2).sum() / (2 * 3)
    wanted = {
        "init_seed": (4 * ((of_init - mean) ** 2).sum() / 2 - rest) / 4,
        "split_seed": (3 * ((of_split - mean) ** 2).sum() / 3 - rest) / 3,
        REST: rest,
    }
    (found,) = find_components(pd.DataFrame(rows), DRAWN).spreads
    assert {one.factor: one.moment for one in found.found.components} == pytest.approx(wanted)
    assert found.found.mean == pytest.approx(mean)


def test_seeds_of_cells_are_a_factor_where_there_are_several() -> None:
    for n_seeds, has in ((1, False), (2, True)):
        (found,) = find_components(pd.DataFrame(crossed(n_seeds=n_seeds)), DRAWN).spreads
        assert ("seed" in {one.factor for one in found.found.components}) is has


def test_page_of_components_shows_what_is_missing_too(tmp_path: Path) -> None:
    rows = [*crossed(), *({**row, "model": "<b>"} for row in crossed())]
    found = find_components(pd.DataFrame(rows), DRAWN)
    text = write_components_page(found, tmp_path, title="Spread", facts=[("size", "tiny")]).read_text()
    assert ("split_seed" in text, text.count("<svg"), "All 24 cells have a score" in text) == (True, 1, True)
    written = pd.read_csv(tmp_path / "components.csv")
    assert written["variance"].tolist() == [one.variance for part in found.spreads for one in part.found.components]
    assert "init\\_seed" in component_table(found).to_latex()
    assert (tmp_path / "figures" / "components.pdf").is_file()
    rows[0] |= {"score": None, "status": "failed"}
    lacking = find_components(pd.DataFrame(rows), DRAWN)
    assert [len(one.found.components) for one in lacking.spreads] == [0, 3]
    shown = component_table(lacking).to_text()
    assert "not combined equally often" in shown
    empty = write_components_page(find_components(pd.DataFrame(rows[:1]), DRAWN), tmp_path, title="Spread")
    assert "There is no component to draw" in empty.read_text()
