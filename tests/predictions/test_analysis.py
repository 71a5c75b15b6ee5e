"""Facts of stored predictions, against the same by loops over the examples of a sweep that was really trained."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize_scalar
from sklearn.metrics import confusion_matrix, log_loss, roc_auc_score
from stored_sweep import MODELS, RINGS, ROOMS, SEEDS, StoredSweep

from gnz_track import read_predictions
from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.predictions import TaskPredictions, analyse, find_data
from gnz_track.records import from_json, to_json
from gnz_track.store.cell_files.joined_predictions import Predictions
from gnz_track.store.reader import read_table

PARTITION = "planted_partition"


@pytest.fixture(scope="module")
def rooms(stored_sweep: StoredSweep) -> Predictions:
    return read_predictions(stored_sweep.store, task=ROOMS)


@pytest.fixture(scope="module")
def data(stored_sweep: StoredSweep) -> FrozenDataset:
    (digest,) = set(read_table(stored_sweep.store, task=ROOMS)["dataset_digest"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GNZ_DATA", str(stored_sweep.home))
        found = find_data(ROOMS, ROOMS, digest)
        assert find_data(ROOMS, ROOMS, "0" * 32) is None
    assert found is not None
    return found


@pytest.fixture(scope="module")
def validation(stored_sweep: StoredSweep) -> Predictions:
    return read_predictions(stored_sweep.store, task=ROOMS, part="val")


@pytest.fixture(scope="module")
def facts(rooms: Predictions, validation: Predictions, data: FrozenDataset) -> TaskPredictions:
    return analyse(rooms, task_type="node_cls", metric="accuracy", validation=validation, dataset=data)


def softmax(logits: Any) -> Any:
    p = np.exp(np.asarray(logits, dtype=np.float64) - np.max(logits, axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def right(found: Predictions, model: str, seed: int) -> list[bool]:
    outputs = found.outputs[found.models.index(model), seed]
    return [int(np.argmax(row)) == target for row, target in zip(outputs, found.targets.tolist(), strict=True)]


def test_means_are_the_scores_of_the_runs_and_intervals_over_seeds_those_of_student(
    facts: TaskPredictions, stored_sweep: StoredSweep
) -> None:
    rows = read_table(stored_sweep.store, task=ROOMS)
    assert [one.model for one in facts.models] == sorted(
        MODELS, key=lambda model: -rows[rows["model"] == model]["score"].mean()
    )
    for one in facts.models:
        scores = rows[rows["model"] == one.model]["score"].to_numpy()
        assert one.score is not None
        assert one.score.value == pytest.approx(scores.mean())
        low, high = stats.t.interval(0.95, len(SEEDS) - 1, scores.mean(), stats.sem(scores))
        assert (one.score.new_seeds.low, one.score.new_seeds.high) == pytest.approx((low, high))
        wider = one.score.new_examples
        assert (wider.low or 0.0) < low < high < (wider.high or 0.0)


def test_pairs_have_both_verdicts_adjusted_over_all_of_them(facts: TaskPredictions, rooms: Predictions) -> None:
    order = [one.model for one in facts.models]
    assert [(one.first, one.second) for one in facts.pairs] == list(itertools.combinations(order, 2))
    raw = []
    for one in facts.pairs:
        gains = [
            np.mean(right(rooms, one.first, seed)) - np.mean(right(rooms, one.second, seed))
            for seed in range(len(SEEDS))
        ]
        assert one.advantage.value == pytest.approx(np.mean(gains))
        raw.append(stats.ttest_1samp(gains, 0.0).pvalue)
        errors = [
            [{n for n, hit in enumerate(right(rooms, name, s)) if not hit} for name in (one.first, one.second)]
            for s in range(len(SEEDS))
        ]
        assert one.shared_errors == pytest.approx(np.mean([len(a & b) / len(a | b) for a, b in errors]))
    ordered = sorted(range(3), key=lambda place: raw[place])
    adjusted = np.maximum.accumulate([min(1.0, (3 - rank) * raw[place]) for rank, place in enumerate(ordered)])
    for place, p in zip(ordered, adjusted, strict=True):
        assert facts.pairs[place].p_seeds == pytest.approx(p)
        assert facts.pairs[place].verdict_seeds == ("different" if p <= 0.05 else "undetermined")


def test_parts_of_slices_are_those_of_loops_and_sum_to_the_win(facts: TaskPredictions, rooms: Predictions) -> None:
    assert facts.explained
    for one in facts.explained:
        assert {part.descriptor for part in one.slices} == {"degree", "homophily", "class", "distance to training"}
        for name in {part.descriptor for part in one.slices}:
            assert sum(part.part for part in one.slices if part.descriptor == name) == pytest.approx(one.advantage)
        for part in (part for part in one.slices if part.descriptor == "class"):
            chosen = [n for n, label in enumerate(rooms.targets.tolist()) if label == int(part.slice)]
            gains = [
                right(rooms, one.first, seed)[n] - right(rooms, one.second, seed)[n]
                for seed in range(len(SEEDS))
                for n in chosen
            ]
            assert part.n_examples == len(chosen)
            assert part.part == pytest.approx(sum(gains) / len(SEEDS) / len(rooms.targets))
            assert part.excess == pytest.approx(part.part - len(chosen) / len(rooms.targets) * one.advantage)


def test_what_nobody_solves_and_suspected_labels_are_those_of_loops(
    facts: TaskPredictions, rooms: Predictions, data: FrozenDataset
) -> None:
    heads, tails = data.global_edge_index.numpy()
    unsolved, suspects = {}, []
    for n, (node, label) in enumerate(zip(rooms.ids.tolist(), rooms.targets.tolist(), strict=True)):
        answers = Counter(int(np.argmax(rooms.outputs[m, s, n])) for m in range(3) for s in range(len(SEEDS)))
        if label not in answers:
            unsolved[node] = max(answers.values()) / 9
        p = softmax(rooms.outputs[:, :, n]).mean(axis=(0, 1))
        answer = int(p.argmax())
        if answer != label and answers[answer] >= 0.8 * 9:
            suspects.append((p[answer] - p[label], node, label, answer))
    assert facts.n_unsolved == len(unsolved) > 0
    assert {one.id: one.agreement for one in facts.unsolved} == pytest.approx(unsolved)
    for one in facts.unsolved:
        neighbours = {int(b) for a, b in zip(heads, tails, strict=True) if a == one.id}
        about = dict(one.about)
        assert about["degree"] == len(neighbours)
        labels = data.tensors["y"].tolist()
        assert labels[one.id] == one.label != one.answer
        if neighbours:
            assert about["homophily"] == pytest.approx(np.mean([labels[b] == one.label for b in neighbours]))
    assert facts.n_suspects == len(suspects)
    for one, (margin, *rest) in zip(facts.suspects, sorted(suspects, reverse=True), strict=True):
        assert [one.id, one.label, one.answer] == rest
        assert one.margin == pytest.approx(margin)


def test_calibration_and_confusion_are_those_of_other_libraries(
    facts: TaskPredictions, rooms: Predictions, validation: Predictions
) -> None:
    best = rooms.models.index(facts.best)
    losses, after, temperatures = [], [], []
    for seed in range(len(SEEDS)):
        logits, shown = rooms.outputs[best, seed], validation.outputs[best, seed]

        def loss(inverse: float, shown: Any = shown) -> float:
            return float(log_loss(validation.targets, softmax(shown * inverse), labels=range(3)))

        temperatures.append(1 / minimize_scalar(loss, bounds=(1e-3, 1e2), method="bounded", options={"xatol": 1e-10}).x)
        losses.append(log_loss(rooms.targets, softmax(logits), labels=range(3)))
        after.append(log_loss(rooms.targets, softmax(logits / temperatures[-1]), labels=range(3)))
    found = facts.models[0].calibration
    assert found is not None
    assert found.log_loss == pytest.approx(np.mean(losses))
    assert found.temperature == pytest.approx(np.mean(temperatures), rel=1e-4)
    assert found.log_loss_after == pytest.approx(np.mean(after), rel=1e-6)
    assert facts.confusion is not None
    counts = [confusion_matrix(rooms.targets, rooms.outputs[best, s].argmax(axis=1)) for s in range(len(SEEDS))]
    np.testing.assert_allclose(facts.confusion.counts, np.mean(counts, axis=0))
    assert facts.reliability is not None
    assert sum(facts.reliability.n) == len(SEEDS) * len(rooms.targets)


def test_ensembles_are_held_against_the_best_model_on_its_own_score(facts: TaskPredictions, rooms: Predictions) -> None:
    of_seeds, of_models = facts.ensembles
    mean = softmax(rooms.outputs[rooms.models.index(facts.best)]).mean(axis=0)
    accuracy = float(np.mean(mean.argmax(axis=1) == rooms.targets))
    for one in (of_seeds, of_models):
        assert [line.score for line in one.scores] == ["accuracy", "log loss"]
        assert one.scores[0].single == pytest.approx(np.mean([right(rooms, facts.best, s) for s in range(3)]))
        assert one.scores[0].advantage.value == pytest.approx(one.scores[0].value - one.scores[0].single, abs=1e-12)
        assert one.scores[1].advantage.value == pytest.approx(one.scores[1].single - one.scores[1].value)
    assert of_seeds.scores[0].value == pytest.approx(accuracy)
    assert of_seeds.scores[1].value == pytest.approx(log_loss(rooms.targets, mean))
    assert sum(weight for _, weight in of_models.members) == pytest.approx(1.0)


def test_splits_of_single_seeds_are_masked(stored_sweep: StoredSweep) -> None:
    test = read_predictions(stored_sweep.store, task=PARTITION)
    facts = analyse(test, task_type="node_cls", metric="accuracy")
    assert not facts.has_one_split
    assert any("no ensemble of seeds" in reason for reason in facts.left_out)
    assert any("no slices" in reason for reason in facts.left_out)
    assert not facts.ensembles
    unsolved = [
        n
        for n in range(len(test.ids))
        if not any(
            int(np.argmax(test.outputs[m, s, n])) == test.targets[n]
            for m in range(3)
            for s in range(len(SEEDS))
            if test.mask[m, s, n]
        )
    ]
    assert facts.n_unsolved == len(unsolved)
    assert {one.n_cells for one in facts.unsolved} <= {3, 6, 9}
    scores = read_table(stored_sweep.store, task=PARTITION).groupby("model")["score"].mean()
    assert {one.model: one.score and one.score.value for one in facts.models} == pytest.approx(scores.to_dict())


def test_numbers_are_judged_by_their_errors(stored_sweep: StoredSweep) -> None:
    test = read_predictions(stored_sweep.store, task=RINGS)
    validation = read_predictions(stored_sweep.store, task=RINGS, part="val")
    facts = analyse(test, task_type="graph_reg", metric="mae", validation=validation)
    scores = read_table(stored_sweep.store, task=RINGS).groupby("model")["score"].mean().sort_values()
    assert (facts.score, facts.best) == ("mean absolute error", scores.index[0])
    assert [one.score and one.score.value for one in facts.models] == pytest.approx(scores.tolist(), rel=1e-5)
    assert all((one.advantage.value or 0.0) >= 0.0 for one in facts.pairs)
    means = np.nanmean(test.outputs[test.models.index(facts.best), :, :, 0], axis=0)
    expected = sorted(zip(test.targets[:, 0].tolist(), means.tolist(), strict=True))
    np.testing.assert_allclose(sorted(facts.points), expected, rtol=1e-6)
    assert (facts.n_unsolved, facts.confusion) == (None, None)


def test_links_are_judged_by_areas_of_single_cells(stored_sweep: StoredSweep) -> None:
    test = read_predictions(stored_sweep.store, task="les_miserables")
    facts = analyse(test, task_type="link_pred", metric="auc")
    for one in facts.models:
        row = test.models.index(one.model)
        areas = [
            roc_auc_score(test.targets[test.mask[row, s]], test.outputs[row, s, test.mask[row, s], 0])
            for s in range(len(SEEDS))
        ]
        assert one.area == pytest.approx(np.mean(areas))
    assert facts.best == facts.curves[0].model
    assert not facts.pairs
    assert "no mean over examples" in facts.left_out[0]


def test_ranks_are_counted_by_model(stored_sweep: StoredSweep) -> None:
    test = read_predictions(stored_sweep.store, task="les_miserables")
    assert analyse(test, task_type="link_pred").ranks == ()
    rng = np.random.default_rng(0)
    shape = test.mask.shape
    # False triples have no rank, and one cell has none at all.
    is_true = test.targets[None, None, :] == 1
    ranks = {
        name: np.where(is_true, 1 + np.floor(np.exp(rng.normal(2, 2, shape)) * 2) / 2, np.nan)
        for name in ("rank_of_tail", "rank_of_head")
    }
    for values in ranks.values():
        values[1, 2] = np.nan
    facts = analyse(replace(test, ranks=ranks), task_type="link_pred", metric="mrr")
    assert {one.model for one in facts.ranks} == set(test.models)
    assert [one.reciprocal for one in facts.ranks] == sorted((one.reciprocal for one in facts.ranks), reverse=True)
    for one in facts.ranks:
        row = test.models.index(one.model)
        cells = [[*ranks["rank_of_tail"][row, s], *ranks["rank_of_head"][row, s]] for s in range(len(SEEDS))]
        each = [[rank for rank in cell if not math.isnan(rank)] for cell in cells]
        each = [cell for cell in each if cell]
        assert (one.n_seeds, one.n_ranks) == (2 if row == 1 else 3, 2 * int(is_true.sum()))
        assert one.reciprocal == pytest.approx(np.mean([np.mean([1 / rank for rank in cell]) for cell in each]))
        assert sum(one.shares) == pytest.approx(1.0)
        for upper, hits in zip(one.uppers, one.hits, strict=True):
            within = [np.mean([upper is None or rank <= upper for rank in cell]) for cell in each]
            assert hits == pytest.approx(np.mean(within))
        assert one.hits == pytest.approx(np.cumsum(one.shares))
    assert from_json(TaskPredictions, to_json(facts)) == facts


def test_missing_runs_are_named_with_the_command_that_makes_them(rooms: Predictions) -> None:
    mask, outputs = rooms.mask.copy(), rooms.outputs.copy()
    mask[1, 2], outputs[1, 2] = False, np.nan
    facts = analyse(replace(rooms, mask=mask, outputs=outputs), task_type="node_cls", missing=("feedbeef" * 4,))
    assert facts.missing == ("feedbeef" * 4, rooms.run_ids[1, 2])
    assert facts.command == "gnz reproduce feedbeeffeed --keep predictions"
    assert {one.model: one.n_seeds for one in facts.models}[rooms.models[1]] == 2


def test_another_metric_and_several_labels_are_said(rooms: Predictions) -> None:
    facts = analyse(rooms, task_type="node_cls", metric="f1_macro")
    assert any("f1_macro is no mean over examples: models are compared by accuracy" in one for one in facts.left_out)
    several = analyse(replace(rooms, targets=np.ones((len(rooms.targets), 2))), task_type="graph_cls")
    assert several.left_out == ("an example has several labels, or unknown ones",)
    assert not several.models


def test_cells_of_infinite_outputs_are_none(rooms: Predictions) -> None:
    outputs = rooms.outputs.copy()
    outputs[0, 1, 3] = math.inf
    facts = analyse(replace(rooms, outputs=outputs), task_type="node_cls")
    assert {one.model: one.n_seeds for one in facts.models}[rooms.models[0]] == 2


def test_facts_are_a_record(facts: TaskPredictions) -> None:
    assert from_json(TaskPredictions, to_json(facts)) == facts
