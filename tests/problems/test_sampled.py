"""Batches with drawn neighbours: of one graph's nodes, decided by names, scored along all edges, refused elsewhere."""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.datasets.catalogue import DATASETS
from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.generators.large import large_communities
from gnz_track.datasets.own.tasks import task_from_dataset
from gnz_track.datasets.preparation import prepare
from gnz_track.datasets.streaming import freeze_blocks
from gnz_track.errors import BadValue
from gnz_track.models.building import build
from gnz_track.models.catalogue import MODELS
from gnz_track.problems.catalogue import pose
from gnz_track.problems.sampled import SampledLinks, SampledObjective, prefetch
from gnz_track.training.acceleration import NeighbourSampler, Structure, attach_rows, layers, structure_of
from gnz_track.training.forwards import compute_as_asked
from gnz_track.training.loop import train
from gnz_track.types import CellSettings, Optimiser, Selection, TaskType

N = 90


def _generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _graph(**more: Tensor) -> Data:
    """Return a graph whose first feature is the number of a node, and whose edges carry both of their ends."""
    edges = torch.randint(N, (2, 800), generator=_generator())
    x = torch.cat([torch.arange(N).float()[:, None], torch.randn(N, 3, generator=_generator())], dim=1)
    part = torch.arange(N) % 3
    masks = {name: part == place for place, name in enumerate(("train_mask", "val_mask", "test_mask"))}
    return Data(x=x, y=torch.arange(N) % 4, edge_index=edges, edge_attr=edges.t().float(), **masks, **more)


@pytest.fixture
def dataset(tmp_path: Path) -> FrozenDataset:
    return prepare(task_from_dataset("numbered", "node_cls", _graph()), seed=0, home=tmp_path)


def _settings(**more: Any) -> CellSettings:
    given = {"seed": 0, "metric": "accuracy", "optimiser": Optimiser(lr=0.01, batch_size=8), "neighbours": "4x2"}
    return CellSettings(**{"task_type": TaskType.node_cls, **given, **more})


def _objective(dataset: FrozenDataset, **more: Any) -> SampledObjective:
    found = pose(dataset, _settings(**more)).objective
    assert isinstance(found, SampledObjective)
    return found


def test_an_epoch_has_every_training_node_once_as_one_of_the_first_of_a_batch(dataset: FrozenDataset) -> None:
    batches = list(_objective(dataset).batches(_generator()))
    seeds = torch.cat([batch.n_id[: batch.batch_size] for batch in batches])
    assert [batch.batch_size for batch in batches] == [8, 8, 8, 6]
    assert sorted(seeds.tolist()) == list(range(0, N, 3))
    assert seeds.tolist() != sorted(seeds.tolist())


def test_fields_of_nodes_and_edges_are_those_of_the_graph(dataset: FrozenDataset) -> None:
    edges = set(map(tuple, dataset.tensors["edge_index"].t().tolist()))
    for batch in _objective(dataset).batches(_generator()):
        assert batch.x[:, 0].tolist() == batch.n_id.tolist()
        assert torch.equal(batch.n_id[batch.edge_index].t().float(), batch.edge_attr)
        assert set(map(tuple, batch.edge_attr.long().tolist())) <= edges


def test_labels_of_validation_and_test_are_in_no_batch(dataset: FrozenDataset) -> None:
    for batch in _objective(dataset).batches(_generator()):
        is_training = batch.n_id % 3 == 0
        assert batch.y[is_training].tolist() == (batch.n_id[is_training] % 4).tolist()
        assert (batch.y[~is_training] == -1).all()
        assert not is_training.all()


def test_batches_are_decided_by_the_generator_alone(dataset: FrozenDataset) -> None:
    objective = _objective(dataset)

    def drawn(seed: int) -> list[list[int]]:
        return [
            batch.n_id.tolist() + batch.edge_index.flatten().tolist() for batch in objective.batches(_generator(seed))
        ]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    generator = _generator(1)
    assert drawn(1) == [
        batch.n_id.tolist() + batch.edge_index.flatten().tolist() for batch in objective.batches(generator)
    ]
    second = [batch.n_id.tolist() for batch in objective.batches(generator)]
    assert second != [batch.n_id.tolist() for batch in objective.batches(_generator(1))]


def test_the_loss_is_that_of_the_first_nodes(dataset: FrozenDataset) -> None:
    objective = _objective(dataset)

    class Sure(nn.Module):
        """Gives the right answer to the seeds of a batch, and nonsense to all others."""

        def forward(self, data: Data) -> Tensor:
            logits = torch.full((data.num_nodes, 4), 0.0)
            logits[torch.arange(data.batch_size), data.x[: data.batch_size, 0].long() % 4] = 50.0
            return logits

    losses = [objective.loss(Sure(), batch) for batch in objective.batches(_generator())]
    assert [n for _, n in losses] == [8, 8, 8, 6]
    assert all(float(loss) < 1e-6 for loss, _ in losses)


@pytest.mark.parametrize("name", ["GCN", "GraphSAGE", "GAT", "GraphTransformer", "MLP", "SGC", "DeepGCN"])
def test_scores_are_those_of_the_whole_graph(dataset: FrozenDataset, name: str) -> None:
    problems = [pose(dataset, _settings(neighbours=neighbours)) for neighbours in ("4x2", "")]
    torch.manual_seed(0)
    model = build(MODELS.get(name), TaskType.node_cls, problems[0].sizes).eval()
    with torch.no_grad(), compute_as_asked(model, _settings(), name=name):
        sampled, whole = (problem.objective.predict(model) for problem in problems)
    # Features that are sparse are summed up otherwise, which is a matter of rounding.
    torch.testing.assert_close(sampled, whole, rtol=1e-4, atol=1e-4)
    scores = [problem.scorers["test"].score(model, sampled, "accuracy") for problem in problems]
    assert scores[0] == scores[1]


@pytest.mark.parametrize("option", [{"aggr": "mean"}, {"aggr": "max"}])
def test_gathering_for_some_nodes_at_a_time_changes_no_score(
    dataset: FrozenDataset, option: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = pose(dataset, _settings())
    torch.manual_seed(0)
    model = build(MODELS.get("GraphSAGE"), TaskType.node_cls, problem.sizes, options=option).eval()
    with torch.no_grad(), compute_as_asked(model, _settings(), name="GraphSAGE"):
        expected = problem.objective.predict(model)
        monkeypatch.setattr(layers, "GATHERED", 100)
        torch.testing.assert_close(problem.objective.predict(model), expected)


def test_every_neighbour_is_in_a_batch_where_as_many_are_drawn_as_there_are(dataset: FrozenDataset) -> None:
    # Then the outputs for seeds are those of the whole graph, for layers that do not look at degrees of sources.
    objective, whole = (pose(dataset, _settings(neighbours=one)).objective for one in ("99x99", ""))
    torch.manual_seed(0)
    sizes = pose(dataset, _settings()).sizes
    model = build(MODELS.get("GraphSAGE"), TaskType.node_cls, sizes).eval()
    with torch.no_grad(), compute_as_asked(model, _settings(), name="GraphSAGE"):
        expected = whole.predict(model)
        for batch in objective.batches(_generator()):
            torch.testing.assert_close(model(batch)[: batch.batch_size], expected[batch.n_id[: batch.batch_size]])


def test_features_stay_in_their_file(dataset: FrozenDataset) -> None:
    objective = _objective(dataset)
    assert objective.graph.data.x.data_ptr() == dataset.tensors["x"].data_ptr()
    assert objective.graph.data.edge_index.data_ptr() == dataset.tensors["edge_index"].data_ptr()


def test_an_encoding_and_a_scale_go_with_it(dataset: FrozenDataset) -> None:
    problem = pose(dataset, _settings(encoding="lap3", scale="standard"))
    whole = pose(dataset, _settings(encoding="lap3", scale="standard", neighbours=""))
    for batch in problem.objective.batches(_generator()):
        assert batch.encoding.shape == (batch.num_nodes, 3)
        assert torch.equal(batch.x, whole.objective.inner.data.x[batch.n_id])  # type: ignore[attr-defined]


# -------------------------------------------------------------------------------------------------------------- links


def _links(home: Path, *, is_published: bool = False) -> FrozenDataset:
    graph = _graph()
    pairs = graph.edge_index[:, graph.edge_index[0] != graph.edge_index[1]].sort(dim=0).values.unique(dim=1)
    shown = Data(x=graph.x, edge_index=torch.cat([pairs, pairs.flip(0)], dim=1))
    if is_published:
        codes = pairs[0] * N + pairs[1]
        others = torch.combinations(torch.arange(N)).t()
        others = others[:, ~torch.isin(others[0] * N + others[1], codes)]
        shown.train_link_index, shown.val_link_index, shown.test_link_index = pairs, others[:, :20], others[:, 20:40]
        shown.val_non_link_index, shown.test_non_link_index = others[:, 40:60], others[:, 60:80]
    return prepare(task_from_dataset("pairs", "link_pred", shown), seed=0, home=home)


@pytest.mark.parametrize("parts", ["drawn", "published"])
def test_pairs_come_with_what_is_drawn_around_their_ends_but_for_their_own_links(parts: str, tmp_path: Path) -> None:
    dataset = _links(tmp_path, is_published=parts == "published")
    settings = _settings(task_type=TaskType.link_pred, metric="auc")
    problem, whole = (pose(dataset, replace(settings, neighbours=one)) for one in ("4x2", ""))
    objective: Any = problem.objective
    assert isinstance(objective, SampledLinks)
    message_edges = set(map(tuple, whole.objective.data.edge_index.t().tolist()))  # type: ignore[attr-defined]
    batches, after_key = list(objective.batches(_generator())), _generator()
    torch.randint(2**62, (1,), generator=after_key)
    expected = list(whole.objective.batches(after_key))
    assert len(batches) == len(expected)
    n_hidden = 0
    for batch, other in zip(batches, expected, strict=True):
        pairs, labels = whole.objective.pairs_of(other)  # type: ignore[attr-defined]
        assert torch.equal(batch.n_id[batch.edge_label_index], pairs)
        assert torch.equal(batch.edge_label, labels)
        assert batch.x[:, 0].tolist() == batch.n_id.tolist()
        drawn = set(map(tuple, batch.n_id[batch.edge_index].t().tolist()))
        own = batch.n_id[batch.edge_label_index[:, batch.edge_label > 0]].t().tolist()
        both = {tuple(pair) for pair in own} | {tuple(reversed(pair)) for pair in own}
        assert drawn <= message_edges - both
        n_hidden += len(both & message_edges)
        assert structure_of(batch.edge_index, batch.num_nodes) is not None
    assert n_hidden > 0


def test_codes_and_scores_of_links_are_those_of_the_whole_graph(tmp_path: Path) -> None:
    dataset, settings = _links(tmp_path), _settings(task_type=TaskType.link_pred, metric="auc")
    problems = [pose(dataset, replace(settings, neighbours=one)) for one in ("4x2", "")]
    torch.manual_seed(0)
    model = build(MODELS.get("GCN"), TaskType.link_pred, problems[0].sizes)
    loss, n = problems[0].objective.loss(model, next(problems[0].objective.batches(_generator())))
    assert math.isfinite(float(loss.detach()))
    assert n == 8
    model.eval()
    with torch.no_grad():
        codes = [problem.objective.predict(model) for problem in problems]
        scores = [one.scorers["test"].score(model, found, "auc") for one, found in zip(problems, codes, strict=True)]
    torch.testing.assert_close(*codes)
    assert scores[0] == scores[1]


def test_edges_that_are_left_out_leave_rows_that_fit() -> None:
    edges = torch.tensor([[0, 1, 2, 0, 1], [1, 1, 1, 2, 0]])
    rows = structure_of(attach_rows(edges, 3), 3)
    assert rows is not None
    sampled = NeighbourSampler(rows.plain, [9]).sample(torch.tensor([1, 0, 2]), 0)
    kept = sampled.keep(sampled.nodes[sampled.edge_index[0]] != 0)
    found = structure_of(kept.edge_index, 3)
    assert found is not None
    usual = Structure(kept.edge_index, 3)
    assert kept.edge_index.size(1) == kept.entries.numel() == 3
    assert torch.equal(found.plain.pointers, usual.plain.pointers)
    assert torch.equal(found.plain.columns, usual.plain.columns)


@pytest.mark.parametrize(("name", "kind"), [("csl_generated", "graph_cls"), ("tie_strengths", "edge_reg")])
def test_what_cannot_be_sampled_is_refused(name: str, kind: str, tmp_path: Path) -> None:
    found = prepare(name, seed=0, home=tmp_path)
    with pytest.raises(
        BadValue, match="neighbours is '4x2'; allowed: all: they are drawn around nodes and links of one"
    ):
        pose(found, _settings(task_type=TaskType(kind)))


# ----------------------------------------------------------------------------------------------------------- scores


def _score(dataset: FrozenDataset, seed: int, neighbours: str) -> float:
    """Train GraphSAGE, and return its accuracy on test."""
    optimiser = Optimiser(lr=0.01, weight_decay=5e-4, batch_size=100)
    # An epoch of the whole graph is one step.
    length = {"epochs": 40, "patience": 10} if neighbours else {"epochs": 300, "patience": 50}
    about = {"seed": seed, "neighbours": neighbours, "optimiser": optimiser, **length}
    settings = _settings(selection=Selection.best_validation, **about)
    problem = pose(dataset, settings)
    torch.manual_seed(seed)
    model = build(MODELS.get("GraphSAGE"), TaskType.node_cls, problem.sizes)
    with compute_as_asked(model, settings, name="GraphSAGE"):
        trained = train(model, problem.objective, problem.scorers, settings, batch_seed=seed)
    return trained.scores["test"]["accuracy"]


def test_scores_of_drawn_batches_are_within_the_spread_of_seeds_of_those_of_the_whole_graph(tmp_path: Path) -> None:
    sizes = {"n_nodes": 4000, "n_edges": 40_000, "n_classes": 4, "n_features": 32, "p_within": 0.6, "seed": 0}
    dataset = freeze_blocks(large_communities(**sizes), tmp_path / "graph", row=DATASETS.get("communities_20k"))
    whole, drawn = ([_score(dataset, seed, neighbours) for seed in range(5)] for neighbours in ("", "10x10"))
    assert min(whole) > 0.5, "the task is to be learnt"
    assert abs(statistics.mean(drawn) - statistics.mean(whole)) < max(map(statistics.stdev, (whole, drawn)))


# ----------------------------------------------------------------------------------------------------------- memory

# A cell in a process of its own; prints the bytes that it held at most and that are in no file, and those of features.
IN_LITTLE_MEMORY = """
import sys, threading
from dataclasses import replace
from pathlib import Path
from gnz_track.datasets.catalogue import DATASETS
from gnz_track.datasets.preparation import prepare_dataset
from gnz_track.models.catalogue import MODELS
from gnz_track.runs.run_one import run_one
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell, Task, TaskType

def held():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

sizes = {"n_nodes": 60_000, "n_edges": 300_000, "n_features": 1024, "n_classes": 4}
row = DATASETS.get("communities_20k")
row = replace(row, options={**row.options, **sizes}, expected={"n_graphs": 1, **sizes})
data = prepare_dataset(row, seed=0, home=Path(sys.argv[1]))
protocol = replace(PROTOCOLS.get("sampled"), name="little", neighbours="4x4", hidden_channels=8)
given = {"dataset_digest": data.digest, "data": str(data.folder), "hyperparameters": (("batch_size", 64),)}
given |= {"task": Task("few", TaskType.node_cls), "model": MODELS.get("GraphSAGE"), "seed": 0, "epochs": 1}
cell = Cell(protocol=protocol, **given)
before, peaks, ends = held(), [0], threading.Event()
def look():
    while not ends.wait(0.005):
        peaks.append(held())
thread = threading.Thread(target=look)
thread.start()
result = run_one(cell)
ends.set()
thread.join()
assert result.is_finished, result.failure
print(max(peaks) - before, data.tensors["x"].nbytes)
"""


def test_a_cell_holds_less_than_the_features_alone_would_take(tmp_path: Path, root: Path) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("the system does not tell what is in memory")
    environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", IN_LITTLE_MEMORY, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    held, features = map(int, done.stdout.split())
    assert features == 60_000 * 1024 * 4
    assert held < 0.8 * features


# ------------------------------------------------------------------------------------------------------ prefetching


def test_what_is_made_ahead_comes_in_order_one_ahead_and_from_another_thread() -> None:
    made: list[int] = []
    names: set[str] = set()

    def make(job: int) -> int:
        made.append(job)
        names.add(threading.current_thread().name)
        return job * job

    found = prefetch(make, iter(range(5)))
    assert next(found) == 0
    assert len(made) <= 2
    assert list(found) == [1, 4, 9, 16]
    assert made == list(range(5))
    assert threading.current_thread().name not in names


def test_an_error_of_the_thread_is_raised_where_its_batch_would_be() -> None:
    def make(job: int) -> int:
        return 1 // job

    found = prefetch(make, [1, 0, 1])
    assert next(found) == 1
    with pytest.raises(ZeroDivisionError):
        next(found)


def test_who_stops_early_leaves_no_thread_behind() -> None:
    before = threading.active_count()
    found: Iterator[int] = prefetch(lambda job: job, range(1000))
    next(found)
    found.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


def test_nothing_to_make_makes_nothing() -> None:
    assert list(prefetch(lambda job: job, [])) == []
