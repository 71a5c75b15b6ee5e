"""A task is described by what a search may see of it: what a split keeps for tests has no say, all else has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from selection.problems import N_NODES, WIDTHS, cells_of, fill_with_past, labelled_graph, shown, with_other_labels
from torch_geometric.data import Data

from gnz_track.cli.tune import _recommender
from gnz_track.datasets.frozen import open_frozen
from gnz_track.datasets.own.tasks import task_from_dataset
from gnz_track.datasets.preparation import prepare
from gnz_track.datasets.splits.links import split_links
from gnz_track.datasets.splits.nodes_and_graphs import split_graphs
from gnz_track.errors import SplitImpossible
from gnz_track.runs.plan import Place, make_plan
from gnz_track.selection.confirmation import warm_starts
from gnz_track.selection.evidence import KEPT, features_of_tasks
from gnz_track.selection.feasibility import reason_against
from gnz_track.selection.features.feature_sets import FEATURE_SETS
from gnz_track.selection.graph_input import OpenedGraph, open_graph, view_as, view_whole
from gnz_track.selection.recommendation import recommend
from gnz_track.store.address import parse_address
from gnz_track.store.reader import read_table
from gnz_track.store.searches import SearchRecord
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.tuning.plan import plan_searches
from gnz_track.tuning.search import SearchContext, run_searches
from gnz_track.tuning.settings import SearchSettings, seeds_to_tune
from gnz_track.tuning.study_storage import StudyPlace
from gnz_track.types import Task, TaskType

TASK_SET = FEATURE_SETS.get("task")
NUMBER_OF = {name: number for number, name in enumerate(TASK_SET.names)}


def described(opened: OpenedGraph) -> np.ndarray:
    return TASK_SET.compute(opened.parts)


def value(opened: OpenedGraph, name: str) -> float:
    return float(described(opened)[NUMBER_OF[name]])


def posed(graphs: Any, task_type: str = "node_cls", name: str = "mine") -> Task:
    return task_from_dataset(name, task_type, graphs)


def test_labels_of_test_nodes_and_of_nobody_change_no_feature(tmp_path: Path) -> None:
    data = labelled_graph(99)
    is_shown = shown(data, 0)
    assert 0 < int(is_shown.sum()) < N_NODES - int(data.test_mask[:, 0].sum()), "some are in no part"
    before = open_graph(posed(data), home=tmp_path)
    after = open_graph(posed(with_other_labels(data, ~is_shown)), home=tmp_path)
    assert np.array_equal(described(before), described(after))
    assert not np.array_equal(described(view_whole(before)), described(view_whole(after))), "or nothing is shown by it"
    assert value(before, "labels.known_share") == pytest.approx(float(is_shown.double().mean()))
    for name in ("train", "val"):
        mask = data[f"{name}_mask"][:, 0]
        other = described(open_graph(posed(with_other_labels(data, mask)), home=tmp_path))
        assert not np.array_equal(other, described(before)), name


def test_a_cell_is_described_by_the_parts_of_its_own_seed(tmp_path: Path) -> None:
    data = labelled_graph(99)
    own, other = (
        [described(open_graph(cell)) for cell in cells_of(posed(one), tmp_path, seeds=(0, 1))]
        for one in (data, with_other_labels(data, ~shown(data, 1)))
    )
    assert np.array_equal(own[1], other[1])
    assert not np.array_equal(own[0], other[0])
    assert not np.array_equal(own[0], own[1])


def draw(seed: int) -> Data:
    return labelled_graph(50 + seed)


def test_a_cell_is_described_by_the_data_of_its_own_seed(tmp_path: Path) -> None:
    for cell in cells_of(Task("drawn", TaskType.node_cls, draw), tmp_path, seeds=(0, 1)):
        (same,) = cells_of(posed(draw(cell.seed)), tmp_path, seeds=(cell.seed,))
        assert np.array_equal(described(open_graph(cell)), described(open_graph(same)))


@pytest.mark.parametrize(("task_type", "feature"), [("graph_cls", "labels.evenness"), ("graph_reg", "labels.skew")])
def test_labels_of_test_graphs_change_no_feature(task_type: str, feature: str, tmp_path: Path) -> None:
    edges = torch.tensor([[0, 1, 2], [1, 2, 0]])

    def graphs(labels: Sequence[int]) -> list[Data]:
        ys = [torch.tensor([label] if task_type == "graph_cls" else [label**2 / 2]) for label in labels]
        return [Data(edge_index=edges, num_nodes=3, y=y) for y in ys]

    def opened(train: Sequence[int], test: Sequence[int]) -> OpenedGraph:
        parts = (graphs(train), graphs([0, 2]), graphs(test))
        return open_graph(posed(parts, task_type), home=tmp_path)

    before = opened([0, 1, 1, 2], [0, 0, 5])
    assert np.array_equal(described(before), described(opened([0, 1, 1, 2], [7, 7, 7])))
    assert value(before, feature) != value(opened([0, 1, 1, 1], [0, 0, 5]), feature)
    assert value(before, feature) != value(view_whole(before), feature)
    assert value(before, "labels.known_share") == pytest.approx(6 / 9)


def test_numbers_of_nodes_are_held_out_with_their_graph(tmp_path: Path) -> None:
    def opened(test: float) -> OpenedGraph:
        edges = torch.tensor([[0, 1], [1, 0]])
        sizes = (2, 3, 4, 5, 6, 7)
        graphs = [
            Data(edge_index=edges, num_nodes=n, y=torch.arange(n).float()[:, None] ** 2, graph_y=torch.ones(1, 1))
            for n in sizes
        ]
        graphs[4].y[:] = graphs[5].y[:] = test
        return open_graph(posed((graphs[:3], graphs[3:4], graphs[4:]), "multi_task"), home=tmp_path)

    assert np.array_equal(described(opened(1.0)), described(opened(50.0)))
    assert value(opened(1.0), "labels.known_share") == pytest.approx((2 + 3 + 4 + 5) / 27)
    assert value(opened(1.0), "labels.skew") > 0, "they are numbers"
    assert value(opened(1.0), "n_classes.log") == 0


@pytest.mark.parametrize("is_directed", [False, True])
@pytest.mark.parametrize("protocol", ["graphnetz", "glemos"])
def test_links_that_a_split_holds_out_are_not_there(protocol: str, *, is_directed: bool, tmp_path: Path) -> None:
    data = labelled_graph(5)
    data = Data(x=data.x, edge_index=data.edge_index[:, :: 3 if is_directed else 1])
    (cell,) = cells_of(posed(data, "link_pred"), tmp_path, seeds=(3,), protocol=protocol)
    split = split_links(open_frozen(cell.data), policy=cell.protocol.splits, seed=3)
    left = open_graph(Data(x=data.x, edge_index=split.message_edges))
    opened = open_graph(cell)
    assert np.array_equal(described(opened), described(left))
    assert opened.parts.network.n_edges < view_whole(opened).parts.network.n_edges
    assert value(opened, "is_directed") == (is_directed and protocol == "graphnetz"), "fifths drop directions"


def test_published_links_and_triples_are_not_there_either(tmp_path: Path) -> None:
    ring = torch.stack([torch.arange(20), (torch.arange(20) + 1) % 20])

    def links(shift: int) -> Data:
        held_out = torch.tensor([[0, 1, 2], [5, 6, 7]]) + shift
        names = ("val_link_index", "val_non_link_index", "test_link_index", "test_non_link_index")
        both = torch.cat([ring, ring.flip(0)], dim=1)
        return Data(num_nodes=20, edge_index=both, train_link_index=ring, **dict.fromkeys(names, held_out))

    def triples(shift: int) -> Data:
        kinds = torch.zeros(20, dtype=torch.long)
        tests = torch.stack([torch.arange(20), (torch.arange(20) + shift) % 20])
        parts = {"train": ring, "valid": ring.flip(0), "test": tests}
        fields = {f"{name}_edge_index": edges for name, edges in parts.items()}
        fields |= {f"{name}_edge_type": kinds for name in parts}
        # Of careless hands: all triples are among the edges.
        return Data(num_nodes=20, edge_index=torch.cat([ring, tests], dim=1), edge_type=kinds.repeat(2), **fields)

    for make in (links, triples):
        before, after = (open_graph(posed(make(shift), "link_pred"), home=tmp_path) for shift in (3, 7))
        assert np.array_equal(described(before), described(after))
        assert before.parts.network.n_edges == 20


def test_where_no_split_is_labels_are_erased_and_links_are_left(tmp_path: Path) -> None:
    pair = [Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2, y=torch.tensor([label])) for label in (0, 1)]
    task = posed(pair, "graph_cls")
    with pytest.raises(SplitImpossible):
        split_graphs(prepare(task, seed=0, home=tmp_path), policy="published", seed=0)
    opened = open_graph(task, home=tmp_path)
    assert value(opened, "labels.known_share") == 0
    assert value(view_whole(opened), "labels.known_share") == 1
    unfit = labelled_graph(1)
    unfit.val_mask[:] = False
    assert value(open_graph(posed(unfit), home=tmp_path), "labels.known_share") == 0
    path = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3)
    opened = open_graph(posed(path, "link_pred"), home=tmp_path)
    assert opened.parts.network.n_edges == 2
    assert "2 edges, at least 3" in reason_against(opened, TaskType.link_pred)


def test_links_that_are_hidden_already_count_as_links_to_hide(tmp_path: Path) -> None:
    ring = torch.stack([torch.arange(4), (torch.arange(4) + 1) % 4])
    data = Data(edge_index=torch.cat([ring, ring.flip(0)], dim=1), num_nodes=20)
    opened = open_graph(posed(data, "link_pred"), home=tmp_path)
    assert opened.parts.network.n_edges == 2
    assert reason_against(opened, TaskType.link_pred) == ""


def test_ones_own_graph_is_whole_until_it_is_posed_as_a_problem(tmp_path: Path) -> None:
    data = labelled_graph(99)
    task = posed(data)
    known, own = open_graph(task, home=tmp_path), open_graph(data)
    assert np.array_equal(described(own), described(view_whole(known)))
    for task_type in (TaskType.node_cls, TaskType.link_pred):
        as_one = view_as(own, task_type)
        assert np.array_equal(described(as_one), described(view_as(known, task_type)))
        assert not np.array_equal(described(as_one), described(own))
        assert np.array_equal(described(view_whole(as_one)), described(own))
        assert as_one.graphs is own.graphs
    as_links = view_as(known, TaskType.link_pred)
    assert as_links.task == task
    # Classes of nodes are data where links are asked for, and links are where classes are.
    assert value(as_links, "labels.known_share") == 1
    assert as_links.parts.network.n_edges < open_graph(data).parts.network.n_edges
    assert view_as(open_graph(task, home=tmp_path), TaskType.node_cls).parts.network.n_edges == int(
        data.edge_index.size(1) / 2
    )


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a store of twelve node tasks, and the home of their data."""
    folder = tmp_path_factory.mktemp("known")
    fill_with_past(folder / "gnz.db", folder / "home")
    return folder / "gnz.db", folder / "home"


def test_past_graphs_are_described_as_new_ones_are(past: tuple[Path, Path], tmp_path: Path) -> None:
    store, home = past
    task = posed(labelled_graph(0), name="past0")
    table = read_table(parse_address(str(store)))
    of_task = table[table["task"] == "past0"]
    (found,) = features_of_tasks(of_task, ["past0"], name="task", home=home).values()
    assert np.array_equal(found, described(open_graph(task, home=tmp_path)))
    # The same data as another kind of problem are other numbers, and so are files of before this was told apart.
    (links,) = features_of_tasks(of_task.assign(task_type="link_pred"), ["past0"], name="task", home=home).values()
    assert np.array_equal(links, described(view_as(open_graph(task, home=tmp_path), TaskType.link_pred)))
    assert not np.array_equal(links, found)
    files = sorted(file.name for file in (home / KEPT).glob(f"{of_task['dataset_digest'].iloc[0]}*"))
    assert [name.partition("-")[2] for name in files] == [
        f"{TASK_SET.label}-link_pred-published-0.json",
        f"{TASK_SET.label}-node_cls-published-0.json",
    ]
    old = home / KEPT / f"{of_task['dataset_digest'].iloc[0]}-{TASK_SET.label}.json"
    old.write_text(json.dumps(dict.fromkeys(TASK_SET.names, 7.0)), encoding="utf-8")
    (again,) = features_of_tasks(of_task, ["past0"], name="task", home=home).values()
    assert np.array_equal(again, found)


def test_recommendations_for_a_task_do_not_know_its_test_labels(past: tuple[Path, Path]) -> None:
    store, home = past
    data = labelled_graph(99)
    how = {"store": str(store), "home": home}
    before = recommend(posed(data), **how)
    assert recommend(posed(with_other_labels(data, ~shown(data, 0))), **how) == before
    others = recommend(posed(with_other_labels(data, shown(data, 0))), **how)
    assert others.neighbours != before.neighbours
    # Nor do they where another kind of problem is asked for than that of the name.
    as_links = [
        recommend(posed(one, "link_pred"), "node_cls", **how)
        for one in (data, with_other_labels(data, ~shown(data, 0)))
    ]
    assert as_links[0] == as_links[1] == before
    # Nor do they for a graph of one's own.
    own = [recommend(one, "node_cls", **how) for one in (data, with_other_labels(data, ~shown(data, 0)))]
    assert own[0] == own[1]
    assert own[0].neighbours == before.neighbours


def test_test_labels_decide_no_warm_start(past: tuple[Path, Path]) -> None:
    store, home = past
    data = labelled_graph(99)
    widths = {}
    for name, one in {
        "as it is": data,
        "other test labels": with_other_labels(data, ~shown(data, 0)),
        "other training labels": with_other_labels(data, shown(data, 0)),
    }.items():
        (cell,) = cells_of(posed(one), home)
        starts = warm_starts(cell, "GCN", store=str(store), home=home)
        widths[name] = [start["hidden_channels"] for start in starts]
    assert widths == {
        "as it is": list(WIDTHS),
        "other test labels": list(WIDTHS),
        "other training labels": list(WIDTHS[::-1]),
    }


def test_a_nested_search_is_decided_by_the_parts_of_its_seed(past: tuple[Path, Path], tmp_path: Path) -> None:
    store, home = past
    data = labelled_graph(99)
    others = {
        "as it is": data,
        "outside of seed 1": with_other_labels(data, ~shown(data, 1)),
        "inside of seed 1": with_other_labels(data, shown(data, 1)),
    }
    decided: dict[str, list[SearchRecord]] = {}
    for number, (name, one) in enumerate(others.items()):
        settings = SearchSettings(
            trials=2,
            kind="nested",
            warm_start=1,
            recommend=_recommender(parse_address(str(store)), home),
            place=StudyPlace(file=tmp_path / f"{number}.log"),
        )
        plan = make_plan(
            [posed(one)],
            [cells_of(posed(one), home)[0].model],
            seeds=(0, 1),
            protocol=PROTOCOLS.get("graphnetz"),
            epochs=2,
            place=Place(home=home),
        )
        wanted = plan_searches(plan, settings, seeds_to_tune(settings, (0, 1)))
        decided[name] = run_searches(wanted, settings, SearchContext(address=parse_address(str(store))))

    def trials(name: str, seed: int) -> list[tuple[Any, ...]]:
        found = decided[name][seed].trials
        assert [trial.source for trial in found] == ["default", "recommended #1"]
        return [(dict(trial.hyperparameters), trial.score) for trial in found]

    assert trials("as it is", 1) == trials("outside of seed 1", 1)
    assert trials("as it is", 1)[1][0]["hidden_channels"] == WIDTHS[0]
    assert trials("inside of seed 1", 1)[1][0]["hidden_channels"] == WIDTHS[1]
