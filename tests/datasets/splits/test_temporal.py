"""Parts by time: no example of a part is older than one of the part before, whatever the times are."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.own.graphs import read_tables
from gnz_track.datasets.splits.links import split_links
from gnz_track.datasets.splits.nodes_and_graphs import split_edges, split_graphs, split_nodes
from gnz_track.datasets.splits.temporal import cut_in_time
from gnz_track.errors import BadValue, SplitImpossible

Freezer = Callable[..., FrozenDataset]
RING = torch.stack([torch.arange(20), (torch.arange(20) + 1) % 20])


@settings(deadline=None, max_examples=60)
@given(times=st.lists(st.integers(0, 12), min_size=3, max_size=60).filter(lambda found: len(set(found)) > 2))
def test_parts_follow_each_other_and_no_time_is_divided(times: list[int]) -> None:
    given_times = torch.tensor(times)
    parts = cut_in_time(given_times, (0.6, 0.8), None, "node")  # type: ignore[arg-type]
    assert sorted(torch.cat(parts).tolist()) == list(range(len(times)))
    first, second, third = (set(given_times[part].tolist()) for part in parts)
    assert max(first) < min(second)
    assert max(second) < min(third)
    # No other cut leaves a training part nearer to its share, if each part has a time.
    counts = [sum(time <= last for time in times) for last in sorted(set(times))[:-2]]
    assert abs(parts[0].numel() - 0.6 * len(times)) == min(abs(count - 0.6 * len(times)) for count in counts)


@pytest.mark.parametrize("name", ["time", "year", "node_year"])
def test_nodes_are_divided_by_their_time(frozen_from: Freezer, name: str) -> None:
    years = torch.arange(20).flip(0) + 2000
    graph = Data(x=torch.ones(20, 1), edge_index=RING, y=torch.arange(20) % 2)
    graph[name] = years
    dataset = frozen_from([graph])
    parts = split_nodes(dataset, policy="temporal", seed=0)
    assert [part.numel() for part in parts.items().values()] == [12, 4, 4]
    assert parts.test.tolist() == [0, 1, 2, 3]
    assert split_nodes(dataset, policy="temporal", seed=7).digest == parts.digest


def test_labelled_edges_and_graphs_are_divided_by_theirs(frozen_from: Freezer) -> None:
    graph = Data(edge_index=RING, num_nodes=20, edge_label_index=RING, edge_label=torch.arange(20) % 2)
    graph.edge_label_time = torch.arange(20.0)
    parts = split_edges(frozen_from([graph]), policy="temporal", seed=0)
    assert (parts.val.tolist(), parts.test.tolist()) == ([12, 13, 14, 15], [16, 17, 18, 19])
    several = [Data(x=torch.ones(1, 1), y=torch.tensor([n % 2]), year=torch.tensor([2000 + n])) for n in range(10)]
    assert split_graphs(frozen_from(several), policy="temporal", seed=0).test.tolist() == [9]


@pytest.mark.parametrize("is_directed", [False, True])
def test_links_are_divided_by_the_time_at_which_they_were_first_there(frozen_from: Freezer, is_directed: bool) -> None:  # noqa: FBT001
    edges = RING if is_directed else torch.cat([RING, RING.flip(0)], dim=1)
    times = torch.arange(20).repeat(1 if is_directed else 2) + 5
    # The first edge is there once more, much later; a loop is no link.
    again = torch.tensor([[0, 3], [1, 3]])
    edges = torch.cat([edges, again], dim=1)
    dataset = frozen_from([Data(edge_index=edges, edge_time=torch.cat([times, torch.tensor([99, 0])]), num_nodes=20)])
    split = split_links(dataset, policy="temporal", seed=0)
    n_train, n_val, n_test = (int(part.labels.sum()) for part in (split.train, split.val, split.test))
    assert (n_train, n_val, n_test) == (17, 1, 2)
    assert {tuple(sorted(pair)) for pair in split.test.pairs[:, :2].t().tolist()} == {(18, 19), (0, 19)}
    later = {(17, 18), (18, 19), (0, 19)}
    assert not later & {tuple(sorted(pair)) for pair in split.message_edges.t().tolist()}
    blind = split_links(dataset, policy="temporal", seed=0, is_blind=True)
    assert torch.equal(blind.val.pairs[:, :1], split.val.pairs[:, :1])
    assert blind.test.labels.numel() == 0


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (None, "it has no time or year or node_time or node_year with a number for each of 20 nodes"),
        (torch.arange(20) % 2, "its nodes have 2 different times, at least 3 are needed"),
        (torch.full((20,), float("nan")), "20 nodes have no time"),
    ],
)
def test_what_has_no_times_is_refused(frozen_from: Freezer, times: torch.Tensor | None, said: str) -> None:
    graph = Data(x=torch.ones(20, 1), edge_index=RING, y=torch.arange(20) % 2, time=times)
    with pytest.raises(SplitImpossible, match=said):
        split_nodes(frozen_from([graph]), policy="temporal", seed=0)


@pytest.mark.parametrize("name", ["time", "year"])
def test_times_of_as_many_nodes_as_edges_divide_no_links(frozen_from: Freezer, name: str) -> None:
    graph = Data(x=torch.ones(20, 1), edge_index=RING, **{name: torch.arange(20)})
    with pytest.raises(SplitImpossible, match=f"may be of either; call it edge_{name}"):
        split_links(frozen_from([graph]), policy="temporal", seed=0)


def test_tables_have_times_in_a_column() -> None:
    nodes = pd.DataFrame({"id": [1, 2, 3], "size": [1.0, 2.0, 3.0], "time": ["2026-01-03", "2026-01-01", "2026-01-02"]})
    edges = pd.DataFrame({"source": [1, 2, 2], "target": [2, 3, 1], "time": [30, 10, 20]})
    data = read_tables(edges, nodes)
    assert (data.x.tolist(), (data.time - data.time.min()).tolist()) == ([[1.0], [2.0], [3.0]], [2.0, 0.0, 1.0])
    found = dict(zip(map(tuple, data.edge_index.t().tolist()), data.edge_time.tolist(), strict=True))
    assert found == {(0, 1): 20, (1, 0): 20, (1, 2): 10, (2, 1): 10}
    with pytest.raises(BadValue, match=r"'time' in row 1 of the table of nodes is 'soon'; allowed: a number or a date"):
        read_tables(edges, nodes.assign(time=["2026-01-03", "soon", "2026-01-02"]))
