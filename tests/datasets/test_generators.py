"""What generated data must not give away."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnz_track.datasets.generators.combinatorial import (
    random_bipartite_matching,
    random_maxcut,
    random_maxflow,
    random_vrp,
)
from gnz_track.datasets.generators.communities import planted_partition
from gnz_track.datasets.generators.targets import overlapping_groups, smoothed_numbers, tie_strengths


def test_node_numbers_say_nothing_of_classes() -> None:
    graph = planted_partition(n_classes=4, class_size=150, p_within=0.05, p_between=0.01, n_features=4, seed=0)
    by_number = torch.arange(600) * 4 // 600
    assert graph.y.bincount().tolist() == [150] * 4
    assert (graph.y == by_number).float().mean() < 0.35


def test_groups_overlap_and_their_means_are_those_of_all_graphs() -> None:
    found = overlapping_groups(n_groups=5, n_nodes=200, n_features=6, sizes=(3, 1, 2), seed=0)
    graphs = list(found.graphs)
    assert found.split.tolist() == [0, 0, 0, 1, 2, 2]
    assert all(graph.y.shape == (200, 5) and set(graph.y.unique().tolist()) == {0.0, 1.0} for graph in graphs)
    assert all(graph.is_undirected() and not graph.has_self_loops() for graph in graphs)
    assert float(torch.cat([graph.y for graph in graphs]).mean()) == pytest.approx(0.3, abs=0.03)
    assert max(float(graph.y.sum(dim=1).max()) for graph in graphs) > 2
    # Whatever is learnt of the means on the first graph holds on the last one.
    means = torch.linalg.lstsq(graphs[0].y, graphs[0].x).solution
    residual = graphs[5].x - graphs[5].y @ means
    assert float(residual.square().mean()) < 0.9 * float(graphs[5].x.var(dim=0).mean())
    shared = graphs[0].y @ graphs[0].y.T
    linked = torch.zeros(200, 200, dtype=torch.bool)
    linked[tuple(graphs[0].edge_index)] = True
    assert shared[linked].mean() > 1.2 * shared.mean()


def test_numbers_of_nodes_are_told_by_neighbours_and_not_by_the_node_alone() -> None:
    graph = smoothed_numbers(n_nodes=600, n_features=4, mean_degree=6.0, seed=0)
    assert graph.y.shape == (600,)
    assert graph.train_mask.shape == (600, 10)
    assert torch.equal(graph.train_mask.long() + graph.val_mask + graph.test_mask, torch.ones(600, 10).long())
    joined = torch.zeros(600, 600).index_put_(tuple(graph.edge_index), torch.tensor(1.0))
    around = joined @ graph.x / joined.sum(dim=1, keepdim=True).clamp(min=1)
    shares = [_explained(part, graph.y) for part in (graph.x, torch.cat([graph.x, around], dim=1))]
    assert shares[0] < 0.75
    assert shares[1] > 0.97


def test_numbers_of_edges_are_of_both_ends_and_each_edge_is_listed_once() -> None:
    graph = tie_strengths(n_nodes=300, n_features=5, mean_degree=8.0, seed=0)
    head, tail = graph.edge_label_index
    assert (head < tail).all()
    assert graph.edge_label.numel() == head.numel() == graph.edge_index.size(1) // 2
    near = (graph.x[head] * graph.x[tail]).sum(dim=1, keepdim=True)
    assert _explained(near, graph.edge_label) > 0.7
    assert _explained(torch.cat([graph.x[head], graph.x[tail]], dim=1), graph.edge_label) < 0.1


def _explained(columns: torch.Tensor, wanted: torch.Tensor) -> float:
    """Return the share of the variance that a linear map of columns ``[n, k]`` explains."""
    design = torch.cat([columns, torch.ones(len(columns), 1)], dim=1)
    error = wanted - design @ torch.linalg.lstsq(design, wanted[:, None]).solution[:, 0]
    return 1.0 - float(error.var() / wanted.var())


def test_routes_start_at_depots_without_demand() -> None:
    graph = random_vrp(n_customers=40, n_depots=3, k=6, seed=1)
    assert graph.x.shape == (43, 4)
    assert graph.x[:, 3].tolist() == [1.0] * 3 + [0.0] * 40
    assert graph.x[:3, 2].eq(0).all()
    assert graph.x[3:, 2].gt(0).all()
    assert torch.equal(graph.x[:, :2], graph.pos)
    assert graph.is_undirected()
    assert int(torch.bincount(graph.edge_index[0]).min()) >= 6


def test_matching_joins_two_sides_with_one_weight_a_pair() -> None:
    graph = random_bipartite_matching(size=25, p=0.4, seed=1)
    source, target = graph.edge_index
    assert ((source < 25) != (target < 25)).all()
    assert 180 < graph.num_edges / 2 < 320
    weight = {(int(a), int(b)): float(w) for a, b, w in zip(source, target, graph.edge_attr[:, 0], strict=True)}
    assert all(weight[b, a] == w for (a, b), w in weight.items())
    assert torch.equal(graph.x[:, 0], (torch.arange(50) < 25).float())


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31 - 1), st.integers(3, 30), st.floats(0, 1))
def test_no_node_improves_the_cut_by_changing_sides(seed: int, n_nodes: int, p: float) -> None:
    graph = random_maxcut(n_nodes=n_nodes, p=p, seed=seed)
    source, target = graph.edge_index
    weight = graph.edge_attr[:, 0].double()

    def cut(side: torch.Tensor) -> float:
        return float(weight[side[source] != side[target]].sum() / 2)

    assert abs(cut(graph.y) - float(graph.cut_value)) < 1e-4
    for node in range(n_nodes):
        other = graph.y.clone()
        other[node] = 1 - other[node]
        assert cut(other) <= cut(graph.y) + 1e-9


def test_flows_run_from_a_source_to_a_sink_within_capacities() -> None:
    graph = random_maxflow(n_nodes=30, p=0.2, seed=1)
    assert graph.x.nonzero().tolist() == [[0, 0], [29, 1]]
    assert not graph.has_self_loops()
    assert graph.is_directed()
    assert 120 < graph.num_edges < 230
    assert 1 <= float(graph.edge_attr.min()) < 2
    assert 9 < float(graph.edge_attr.max()) <= 10


@pytest.mark.parametrize(
    ("generator", "options"),
    [
        (random_vrp, {"n_customers": 20, "n_depots": 2, "k": 3}),
        (random_bipartite_matching, {"size": 9, "p": 0.5}),
        (random_maxcut, {"n_nodes": 20, "p": 0.3}),
        (random_maxflow, {"n_nodes": 20, "p": 0.3}),
    ],
)
def test_a_seed_is_an_instance_whatever_the_global_generator(generator: Any, options: dict[str, Any]) -> None:
    first = generator(**options, seed=3)
    torch.manual_seed(99)
    before = torch.get_rng_state()
    again, other = (generator(**options, seed=seed) for seed in (3, 4))
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(first[key], again[key]) for key in first.keys())  # noqa: SIM118  (a Data gives pairs)
    assert not torch.equal(first.edge_index, other.edge_index)
