"""Audits: what is measured of which graphs, and what scores add to it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data
from worlds import draw

from gnz_track.errors import BadValue, DataUnusable
from gnz_track.quality.audit import RANDOM_MODES, Depth, audit_graphs
from gnz_track.quality.complementarity import measure_complementarity
from gnz_track.quality.judgement import TRAINED_MODES, gather_scores, judge_dataset
from gnz_track.quality.measures import FIXED_MODES, Measure
from gnz_track.quality.separability import SeparabilitySettings
from gnz_track.store.audits import AuditRecord, audit_from_json

QUICK = Depth(times=(1, 2), n_draws=2, n_neighbourhoods=12, most_nodes=12)
GRAPHS = [draw(8 + number % 4, 12, seed=number) for number in range(14)]


@pytest.fixture(scope="module")
def record() -> AuditRecord:
    return audit_graphs(GRAPHS, QUICK, task="made_up", task_type="graph_cls")


def test_what_is_measured_is_the_complementarity_of_the_graphs(record: AuditRecord) -> None:
    found = measure_complementarity(GRAPHS, times=(1, 2))
    modes = {mode.name: mode for mode in record.modes}
    assert list(modes) == [*FIXED_MODES, *RANDOM_MODES]
    for name in FIXED_MODES:
        assert modes[name].means == pytest.approx([found.mean(name, 1), found.mean(name, 2)])
        assert modes[name].sds == pytest.approx([found.sd(name, 1), found.sd(name, 2)])
        shown = modes[name].values  # noqa: PD011  (no frame)
        assert shown == pytest.approx(list(found.at(name, 1)), abs=1e-6)
    delta = 1 - np.abs(1 - 2 * found.at("empty-features", 1))
    assert record.structure.mean == pytest.approx(delta.mean())
    assert record.structure.sd == pytest.approx(delta.std())
    assert modes["random-features"].n_draws == 2
    assert modes["random-features"].means != modes["original"].means
    # Who exchanges features within a graph changes nothing of what is there without edges.
    assert 0 < (modes["shuffled-features"].means[0] or 0) < 1


def test_audits_are_repeated(record: AuditRecord) -> None:
    again = audit_graphs(GRAPHS, QUICK, task="made_up", task_type="graph_cls")
    assert again.modes == record.modes
    assert audit_from_json(record.to_json()) == record


def test_few_graphs_are_measured_by_neighbourhoods_and_it_is_said() -> None:
    found = audit_graphs([draw(80, 160, seed=1)], QUICK)
    assert "neighbourhoods of 12 sampled nodes" in found.source
    assert "extension" in found.source
    assert len(found.modes[0].values) == 12


def test_many_graphs_are_drawn_from_and_it_is_said() -> None:
    found = audit_graphs(GRAPHS, Depth(times=(1,), n_draws=1, most_graphs=11))
    assert found.n_graphs == 14
    assert len(found.modes[0].values) == 11
    assert found.notes[0] == "11 of 14 graphs, drawn at random, stand for all"


def test_without_features_degrees_are_taken_as_one_hot_vectors() -> None:
    bare = [Data(edge_index=graph.edge_index, num_nodes=graph.num_nodes) for graph in GRAPHS]
    found = audit_graphs(bare, QUICK)
    assert any("one-hot degree" in note for note in found.notes)
    one_hot = []
    for graph in bare:
        degrees = torch.bincount(graph.edge_index[0], minlength=graph.num_nodes)
        x = torch.nn.functional.one_hot(degrees, 12).float()
        one_hot.append(Data(x=x, edge_index=graph.edge_index))
    expected = measure_complementarity(one_hot, times=(1,))
    for name, mode in zip(FIXED_MODES, found.modes, strict=False):
        assert mode.means[0] == pytest.approx(expected.mean(name, 1))


def test_nothing_to_measure() -> None:
    with pytest.raises(DataUnusable, match="no graph"):
        audit_graphs([])
    broken = [Data(x=torch.full((4, 1), torch.nan), edge_index=torch.tensor([[0, 1], [1, 0]])) for _ in range(12)]
    found = audit_graphs(broken, QUICK)
    assert (found.structure.mean, found.structure.grade, found.decision) == (None, "", "undecided")
    assert "no numbers" in found.notes[0]
    assert audit_from_json(found.to_json()) == found


def table_of(means: dict[str, float], *, n: int = 10, metric: str = "accuracy") -> pd.DataFrame:
    """Return a results table in which two models have scores around a mean on each version; MLP is always worse."""
    rows = []
    for mode, mean in means.items():
        task = "made_up" if mode == "original" else f"made_up~{mode}"
        for model, behind in (("GCN", 0.0), ("MLP", 0.3)):
            for seed in range(n):
                score = mean - behind + 0.001 * seed
                rows.append((f"{task}-{model}-{seed}", task, model, seed, metric, score, "finished"))
    return pd.DataFrame(rows, columns=["run_id", "task", "model", "seed", "metric", "score", "status"])


ALL_LOWER = {"original": 0.9, **dict.fromkeys(TRAINED_MODES[1:], 0.6)}


def judged(record: AuditRecord, table: pd.DataFrame, settings: SeparabilitySettings | None = None) -> AuditRecord:
    return judge_dataset(record, gather_scores(table, "made_up", {}), settings)


def test_models_that_need_both_modes_say_keep_or_what_the_structure_says(record: AuditRecord) -> None:
    found = judged(record, table_of(ALL_LOWER))
    assert found.informative == {"structure": 2, "features": 2}
    assert (found.score, found.performance) == (5.0, "++")
    assert found.decision == ("keep" if record.structure.grade in {"o", "+", "++"} else "deprecate")
    assert {sample.model for sample in found.samples} == {"GCN"}, "the best model stands for all"
    assert len(found.pairs) == 15
    assert found.test == "ks"
    assert audit_from_json(found.to_json()) == found


def test_models_that_need_no_edges_say_so(record: AuditRecord) -> None:
    found = judged(record, table_of({**ALL_LOWER, "empty-graph": 0.95}))
    assert found.informative == {"structure": 0, "features": 2}
    assert found.performance == "-"
    assert found.decision == ("realign" if record.structure.grade in {"o", "+", "++"} else "deprecate")


def test_too_few_seeds_leave_it_undecided_with_a_remedy(record: AuditRecord) -> None:
    found = judged(record, table_of(ALL_LOWER, n=5))
    assert found.performance == ""
    assert any("with 5 scores each" in note and "--seeds 0-6 can" in note for note in found.notes)


def test_a_second_metric_has_a_say(record: AuditRecord) -> None:
    table = table_of(ALL_LOWER)
    # By its area under the curve, nothing is lost with the edges.
    others = {run: {"accuracy": 0.5, "auc": 0.7 if "features" in run else 0.9} for run in table["run_id"]}
    scores = gather_scores(table, "made_up", others)
    assert list(scores) == ["accuracy", "auc"]
    found = judge_dataset(record, scores)
    assert found.informative == {"structure": 1, "features": 2}
    missing = {run: scores for run, scores in others.items() if not run.endswith("3")}
    assert list(gather_scores(table, "made_up", missing)) == ["accuracy"], "a metric that some runs lack"


def test_smaller_errors_are_better_and_a_bootstrap_tells_them_apart(record: AuditRecord) -> None:
    errors = {"original": 0.5, **dict.fromkeys(TRAINED_MODES[1:], 0.9)}
    table = table_of(errors, metric="mae")
    table.loc[table["model"] == "MLP", "score"] += 1.0
    regression = audit_graphs(GRAPHS, QUICK, task="made_up", task_type="graph_reg")
    found = judged(regression, table)
    assert found.test == "bootstrap"
    assert found.informative == {"structure": 2, "features": 2}
    assert found.direction == "down"
    against = next(pair for pair in found.pairs if pair.first == "original")
    assert against.high is not None
    assert against.high < 0
    assert record.test == ""


@pytest.mark.parametrize("metric", ["accuracy", "mae"])
def test_few_scores_decide_nothing(metric: str) -> None:
    kind = "graph_reg" if metric == "mae" else "graph_cls"
    table = table_of({"original": 0.9, **dict.fromkeys(TRAINED_MODES[1:], 0.5)}, metric=metric)
    few = table[table["seed"] < 2]
    found = judged(audit_graphs(GRAPHS, QUICK, task="made_up", task_type=kind), few)
    assert (found.performance, found.informative) == ("", {})
    assert found.decision in {"undecided", "deprecate"}
    assert any(note.startswith("with 2 scores each, no pair of 15 can be told apart") for note in found.notes)


def test_versions_without_scores_are_named(record: AuditRecord) -> None:
    table = table_of({name: mean for name, mean in ALL_LOWER.items() if name != "complete-graph"})
    table.loc[table["task"].str.endswith("random-graph"), "status"] = "failed"
    found = judged(record, table)
    assert found.informative == {"structure": 2, "features": 2}
    assert found.notes[-1] == "no score on complete-graph, random-graph: nothing was asked of these versions"
    nothing = judge_dataset(record, {})
    assert any("no model was trained" in note for note in nothing.notes)
    assert nothing.performance == ""


def test_correlation_is_pearsons_turned_upwards(record: AuditRecord) -> None:
    gammas = {mode.name: mode.means[0] or 0.0 for mode in record.modes}
    means = {name: 0.5 + 0.4 * gammas[name] for name in TRAINED_MODES}
    assert judged(record, table_of(means)).correlation == pytest.approx(1.0)
    assert judged(record, table_of(means, metric="mae")).correlation == pytest.approx(-1.0)
    assert judged(record, table_of(dict.fromkeys(TRAINED_MODES, 0.5))).correlation is None


def test_other_tests_by_name(record: AuditRecord) -> None:
    found = judged(record, table_of(ALL_LOWER), SeparabilitySettings(test="rank_sum", alpha=0.05, n_permutations=2000))
    assert (found.test, found.alpha, found.n_permutations) == ("rank_sum", 0.05, 2000)
    assert found.performance == "++"


def test_other_distances_by_name() -> None:
    found = audit_graphs(GRAPHS, Depth(times=(1,), n_draws=1, measure=Measure(graph="walk")))
    assert found.measure["graph"] == "walk"


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": 7}', '{"format": 1, "modes": 3}'])
def test_texts_that_are_no_audit(text: str) -> None:
    with pytest.raises(BadValue, match="an audit"):
        audit_from_json(text)
