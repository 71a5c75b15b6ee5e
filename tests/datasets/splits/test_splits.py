"""Splits: disjoint, covering, pure, and told apart by their digests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from gnz_track.datasets.encodings import identity_features, structural_features
from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.preparation import prepare
from gnz_track.datasets.splits.links import LinkSplit, decode_pairs, encode_pairs, split_links, split_triples
from gnz_track.datasets.splits.nodes_and_graphs import Parts, label_pointer, split_edges, split_graphs, split_nodes
from gnz_track.errors import BadValue, SplitImpossible

Freezer = Callable[..., FrozenDataset]
SEEDS = st.integers(0, 2**31 - 1)


def _graph(n: int, p: float, seed: int, *, is_directed: bool = False) -> Data:
    generator = torch.Generator().manual_seed(seed)
    joined = (torch.rand(n, n, generator=generator) < p).fill_diagonal_(fill_value=False)
    edges = (joined if is_directed else joined.triu()).nonzero().t()
    both = edges if is_directed else torch.cat([edges, edges.flip(0)], dim=1)
    return Data(edge_index=both, num_nodes=n, y=torch.randint(3, (n,), generator=generator))


def _sets(parts: Parts) -> list[set[int]]:
    return [set(part.tolist()) for part in parts.items().values()]


def _pairs(edges: torch.Tensor) -> set[tuple[int, int]]:
    return set(map(tuple, edges.t().tolist()))


@settings(deadline=None, max_examples=60)
@given(n=st.integers(20, 80), seed=SEEDS, policy=st.sampled_from(["published", "random"]))
def test_node_parts_divide_the_labelled_nodes(frozen_from: Freezer, n: int, seed: int, policy: str) -> None:
    data = _graph(n, 0.1, seed % 100)
    data.y[::7] = -1
    dataset = frozen_from(data)
    train, val, test = _sets(split_nodes(dataset, policy=policy, seed=seed))
    assert train | val | test == set((data.y >= 0).nonzero().flatten().tolist())
    assert len(train) + len(val) + len(test) == int((data.y >= 0).sum())
    for label in range(3):
        of_label = set((data.y == label).nonzero().flatten().tolist())
        assert abs(len(train & of_label) - 0.6 * len(of_label)) <= 0.5
        assert abs(len((train | val) & of_label) - 0.8 * len(of_label)) <= 0.5


@settings(deadline=None, max_examples=60)
@given(n=st.integers(3, 200), seed=SEEDS)
def test_graph_parts_divide_the_graphs(frozen_from: Freezer, n: int, seed: int) -> None:
    dataset = frozen_from([Data(x=torch.ones(1, 1))] * n)
    train, val, test = _sets(split_graphs(dataset, policy="published", seed=seed))
    assert sorted([*train, *val, *test]) == list(range(n))
    assert len(val) == len(test) == max(1, round(0.1 * n))


def _labelled_edges(data: Data) -> Data:
    once = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    data.edge_label_index, data.edge_label = once, (once[0] + once[1]) % 3
    return data


@settings(deadline=None, max_examples=60)
@given(n=st.integers(20, 60), seed=SEEDS, policy=st.sampled_from(["published", "random"]))
def test_edge_parts_divide_the_labelled_edges(frozen_from: Freezer, n: int, seed: int, policy: str) -> None:
    data = _labelled_edges(_graph(n, 0.2, seed % 100))
    data.edge_label[::7] = -1
    parts = split_edges(frozen_from(data), policy=policy, seed=seed)
    train, val, test = _sets(parts)
    assert train | val | test == set((data.edge_label >= 0).nonzero().flatten().tolist())
    assert len(train) + len(val) + len(test) == int((data.edge_label >= 0).sum())
    for label in range(3):
        of_label = set((data.edge_label == label).nonzero().flatten().tolist())
        assert abs(len(train & of_label) - 0.6 * len(of_label)) <= 0.5
        assert abs(len((train | val) & of_label) - 0.8 * len(of_label)) <= 0.5


def test_edges_of_several_graphs_follow_their_graph(frozen_from: Freezer) -> None:
    graphs = [_labelled_edges(_graph(6 + number % 3, 0.9, number)) for number in range(20)]
    of_graph = torch.arange(20).repeat_interleave(torch.tensor([graph.edge_label.numel() for graph in graphs]))
    dataset = frozen_from(graphs)
    drawn = split_graphs(dataset, policy="published", seed=4)
    parts = split_edges(dataset, policy="published", seed=4)
    for part, graphs_of_part in zip(parts.items().values(), drawn.items().values(), strict=True):
        assert torch.equal(of_graph[part].unique(), graphs_of_part)
    assert sum(part.numel() for part in parts.items().values()) == of_graph.numel()
    published = frozen_from(graphs, split=torch.arange(20) % 3)
    train = split_edges(published, policy="published", seed=4).train
    assert torch.equal(of_graph[train].unique(), torch.arange(0, 20, 3))


def test_graphs_with_as_many_labelled_edges_each_are_cut_in_the_right_places(frozen_from: Freezer) -> None:
    ring = torch.stack([torch.arange(5), torch.arange(5).roll(-1)])
    both = torch.cat([ring, ring.flip(0)], dim=1)
    graph = Data(num_nodes=5, edge_index=both, edge_label_index=ring[:, :3], edge_label=torch.tensor([0, 1, 1]))
    # A stride of three, the pointer of nodes, and a pointer of its own.
    assert label_pointer(frozen_from([graph] * 3)).tolist() == [0, 3, 6, 9]
    full = Data(num_nodes=5, edge_index=both, edge_label_index=ring, edge_label=torch.arange(5) % 2)
    assert label_pointer(frozen_from([full] * 3)).tolist() == [0, 5, 10, 15]
    assert label_pointer(frozen_from([graph, full, graph])).tolist() == [0, 3, 8, 11]


def test_an_undirected_edge_with_two_labels_is_refused(frozen_from: Freezer) -> None:
    data = _labelled_edges(_graph(12, 0.5, 0))
    data.edge_label_index[:, 0] = data.edge_label_index[:, 3].flip(0)
    with pytest.raises(SplitImpossible, match="1 labelled edges of an undirected graph are listed again"):
        split_edges(frozen_from(data), policy="published", seed=0)
    # Two payments from one account to another are two edges.
    directed = _labelled_edges(_graph(12, 0.5, 0, is_directed=True))
    directed.edge_label_index[:, 0] = directed.edge_label_index[:, 3]
    assert split_edges(frozen_from(directed), policy="published", seed=0).train.numel()


def _check_links(split: LinkSplit, data: Data, *, is_directed: bool) -> None:
    n_nodes, all_edges = data.num_nodes, _pairs(data.edge_index)
    once = all_edges if is_directed else {pair for pair in all_edges if pair[0] < pair[1]}
    n_edges = len(once)
    parts = (split.train, split.val, split.test)
    positives = [_pairs(part.pairs[:, part.labels == 1]) for part in parts]
    negatives = [_pairs(part.pairs[:, part.labels == 0]) for part in parts]
    assert len(positives[1]) == max(1, int(0.05 * n_edges))
    assert len(positives[2]) == max(1, int(0.10 * n_edges))
    assert [len(part) for part in positives] == [len(part) for part in negatives]
    assert [part.labels.numel() for part in parts] == [2 * len(part) for part in positives]
    assert set.union(*positives) == once
    assert sum(map(len, positives)) == n_edges
    assert len(set.union(*negatives)) == n_edges
    assert not set.union(*negatives) & all_edges
    assert all(u != v and min(u, v) >= 0 and max(u, v) < n_nodes for u, v in set.union(*negatives))
    expected = positives[0] if is_directed else positives[0] | {(v, u) for u, v in positives[0]}
    assert _pairs(split.message_edges) == expected
    assert split.message_edges.size(1) == len(expected)


@settings(deadline=None, max_examples=80)
@given(n=st.integers(8, 40), p=st.floats(0.15, 0.45), seed=SEEDS, is_directed=st.booleans())
def test_links_are_divided_and_non_edges_are_none(
    frozen_from: Freezer,
    n: int,
    p: float,
    seed: int,
    is_directed: bool,  # noqa: FBT001
) -> None:
    data = _graph(n, p, seed % 1_000, is_directed=is_directed)
    n_edges = data.num_edges if is_directed else data.num_edges // 2
    n_pairs = n * (n - 1) if is_directed else n * (n - 1) // 2
    dataset = frozen_from(data)
    if n_edges < 3 or n_pairs - n_edges < n_edges or dataset.is_directed != is_directed:
        return
    _check_links(split_links(dataset, policy="published", seed=seed), data, is_directed=is_directed)


def test_a_large_graph_draws_its_non_edges_from_billions(frozen_from: Freezer) -> None:
    edges = torch.randint(100_000, (2, 20_000), generator=torch.Generator().manual_seed(0))
    edges = torch.unique(edges[:, edges[0] < edges[1]], dim=1)
    data = Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), num_nodes=100_000)
    split = split_links(frozen_from(data), policy="published", seed=0)
    _check_links(split, data, is_directed=False)
    nodes = torch.cat([split.train.pairs, split.test.pairs], dim=1)[:, -1_000:].double()
    assert abs(float(nodes[0].mean()) / 100_000 - 1 / 3) < 0.05  # the smaller of two uniform nodes
    assert abs(float(nodes[1].mean()) / 100_000 - 2 / 3) < 0.05


def test_half_of_all_pairs_can_still_be_matched(frozen_from: Freezer) -> None:
    pairs = torch.tensor(list(combinations(range(8), 2))).t()[:, ::2]
    data = Data(edge_index=torch.cat([pairs, pairs.flip(0)], dim=1), num_nodes=8)
    _check_links(split_links(frozen_from(data), policy="random", seed=1), data, is_directed=False)


def test_loops_pass_messages_and_are_never_scored(frozen_from: Freezer) -> None:
    data = _graph(20, 0.3, 0)
    with_loops = Data(edge_index=torch.cat([data.edge_index, torch.arange(20).expand(2, 20)], dim=1), num_nodes=20)
    split = split_links(frozen_from(with_loops), policy="published", seed=0)
    assert all((part.pairs[0] != part.pairs[1]).all() for part in (split.train, split.val, split.test))
    assert {(node, node) for node in range(20)} <= _pairs(split.message_edges)


def test_each_non_edge_is_equally_likely(frozen_from: Freezer) -> None:
    ring = torch.stack([torch.arange(6), torch.arange(6).roll(-1)])
    dataset = frozen_from(Data(edge_index=torch.cat([ring, ring.flip(0)], dim=1), num_nodes=6))
    drawn: dict[tuple[int, int], int] = {}
    for seed in range(600):
        part = split_links(dataset, policy="published", seed=seed).test
        for pair in _pairs(part.pairs[:, part.labels == 0]):
            drawn[pair] = drawn.get(pair, 0) + 1
    assert len(drawn) == 9
    assert sum(drawn.values()) == 600
    assert sum((count - 600 / 9) ** 2 / (600 / 9) for count in drawn.values()) < 26.1  # chi-square, 8 df, p = .001


@given(n=st.integers(2, 200_000_000), codes=st.lists(st.integers(0, 2**62), min_size=1), is_directed=st.booleans())
def test_pairs_have_numbers(n: int, codes: list[int], is_directed: bool) -> None:  # noqa: FBT001
    n_pairs = n * (n - 1) // (1 if is_directed else 2)
    numbers = torch.tensor([code % n_pairs for code in codes])
    pairs = decode_pairs(numbers, n, is_directed=is_directed)
    assert (pairs[0] != pairs[1]).all() if is_directed else (pairs[0] < pairs[1]).all()
    assert ((pairs >= 0) & (pairs < n)).all()
    assert torch.equal(encode_pairs(pairs, n, is_directed=is_directed), numbers)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (_graph(6, 1.1, 0), "fewer non-edges than edges"),
        (_graph(6, 1.1, 0, is_directed=True), "fewer non-edges than edges"),
        (Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=5), "at least 3"),
        (Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=5), "at least 3"),
        (Data(x=torch.ones(5, 1)), "no edge_index"),
        ([_graph(9, 0.3, 0)] * 2, "one graph, it has 2"),
    ],
)
def test_links_that_cannot_be_split(frozen_from: Freezer, data: Data, message: str) -> None:
    with pytest.raises(SplitImpossible, match=message):
        split_links(frozen_from(data), policy="published", seed=0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (Data(x=torch.ones(5, 1)), "no y"),
        (Data(x=torch.ones(5, 1), y=torch.ones(1)), r"y of shape \[1\]"),
        (Data(x=torch.ones(5, 1), y=-torch.ones(5).long()), "train part is empty"),
        (
            Data(
                x=torch.ones(2, 1),
                y=torch.ones(2).long(),
                **{f"{name}_mask": torch.ones(2).bool() for name in ("train", "val", "test")},
            ),
            "not disjoint, 4 are",
        ),
    ],
)
def test_nodes_that_cannot_be_split(frozen_from: Freezer, data: Data, message: str) -> None:
    with pytest.raises(SplitImpossible, match=message):
        split_nodes(frozen_from(data), policy="published", seed=0)


def _with_published_links(**changes: torch.Tensor) -> Data:
    data = _graph(20, 0.3, 0)
    links = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    parts = {
        "train_link": links,
        "val_link": torch.tensor([[0, 0], [5, 5]]),
        "val_non_link": torch.tensor([[1, 2, 3], [1, 9, 4]]),
        "test_link": torch.tensor([[7], [3]]),
        "test_non_link": torch.tensor([[8, 0], [2, 1]]),
        **changes,
    }
    return Data(edge_index=data.edge_index, num_nodes=20, **{f"{name}_index": part for name, part in parts.items()})


def test_published_links_are_taken_as_they_are_and_drawn_ones_where_that_is_asked_for(frozen_from: Freezer) -> None:
    data = _with_published_links()
    dataset = frozen_from(data)
    split = split_links(dataset, policy="published", seed=3)
    assert split.is_published
    assert torch.equal(split.message_edges, data.edge_index)
    assert (split.train.labels == 1).all()
    assert torch.equal(split.train.pairs, data.train_link_index)
    for part, name in ((split.val, "val"), (split.test, "test")):
        assert torch.equal(part.pairs[:, part.labels == 1], data[f"{name}_link_index"])
        assert torch.equal(part.pairs[:, part.labels == 0], data[f"{name}_non_link_index"])
    assert split.digest == split_links(dataset, policy="published", seed=4).digest
    drawn = split_links(dataset, policy="random", seed=3)
    assert not drawn.is_published
    _check_links(drawn, data, is_directed=False)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"val_link": torch.empty(2, 0, dtype=torch.int64)}, r"need val_link_index of shape \[2, n\]"),
        ({"test_non_link": torch.tensor([[1, 2, 3]])}, r"need test_non_link_index of shape \[2, n\]"),
        ({"train_link": torch.tensor([[1], [20]])}, "train_link_index names nodes 1 to 20; of one graph, 0 to 19"),
        ({"test_link": torch.tensor([[-1], [2]])}, "test_link_index names nodes -1 to 2"),
    ],
)
def test_published_links_that_are_none_are_refused(
    frozen_from: Freezer, changes: dict[str, torch.Tensor], message: str
) -> None:
    with pytest.raises(SplitImpossible, match=message):
        split_links(frozen_from(_with_published_links(**changes)), policy="published", seed=0)


def test_two_graphs_cannot_be_split(frozen_from: Freezer) -> None:
    with pytest.raises(SplitImpossible, match="2 graphs, at least 3"):
        split_graphs(frozen_from([Data(x=torch.ones(1, 1))] * 2), policy="published", seed=0)


def test_an_unknown_policy_is_named(frozen_from: Freezer) -> None:
    dataset = frozen_from(_graph(9, 0.3, 0))
    for split in (split_nodes, split_edges, split_graphs, split_links):
        with pytest.raises(BadValue, match="'publised'; allowed: published or random"):
            split(dataset, policy="publised", seed=0)


def test_published_masks_are_taken_and_the_seed_chooses_the_column(frozen_from: Freezer) -> None:
    columns = torch.stack([torch.arange(12).roll(shift) for shift in range(3)], dim=1)
    masks = {"train_mask": columns < 6, "val_mask": (columns >= 6) & (columns < 9), "test_mask": columns[:, 0] >= 9}
    one_column = {key: mask[:, 0] if mask.dim() == 2 else mask for key, mask in masks.items()}
    dataset = frozen_from(Data(x=torch.ones(12, 1), y=torch.arange(12) % 2, **one_column))
    assert _sets(split_nodes(dataset, policy="published", seed=5)) == [set(range(6)), {6, 7, 8}, {9, 10, 11}]
    masks["test_mask"] = columns >= 9
    several = frozen_from(Data(x=torch.ones(12, 1), y=torch.arange(12) % 2, **masks))
    for seed in range(7):
        expected = set(masks["train_mask"][:, seed % 3].nonzero().flatten().tolist())
        assert _sets(split_nodes(several, policy="published", seed=seed))[0] == expected
    assert (
        _sets(split_nodes(several, policy="random", seed=0))[0]
        != _sets(split_nodes(several, policy="random", seed=1))[0]
    )


def test_published_masks_of_edges_are_taken_and_the_seed_chooses_the_column(frozen_from: Freezer) -> None:
    data = _labelled_edges(_graph(12, 0.5, 0))
    n = data.edge_label.numel()
    columns = torch.stack([torch.arange(n).roll(shift) % 3 for shift in range(2)], dim=1)
    for number, name in enumerate(("train", "val", "test")):
        data[f"{name}_edge_mask"] = columns == number
    dataset = frozen_from(data)
    for seed in range(4):
        for number, part in enumerate(split_edges(dataset, policy="published", seed=seed).items().values()):
            assert torch.equal(part, (columns[:, seed % 2] == number).nonzero().flatten())
    assert not torch.equal(
        split_edges(dataset, policy="random", seed=0).train, (columns[:, 0] == 0).nonzero().flatten()
    )


def test_published_parts_of_graphs_are_taken(frozen_from: Freezer) -> None:
    dataset = frozen_from([Data(x=torch.ones(1, 1))] * 6, split=[2, 0, 0, 1, 0, 2])
    assert _sets(split_graphs(dataset, policy="published", seed=9)) == [{1, 2, 4}, {3}, {0, 5}]
    assert _sets(split_graphs(dataset, policy="random", seed=9)) != [{1, 2, 4}, {3}, {0, 5}]


@settings(deadline=None, max_examples=40)
@given(seed=SEEDS, other=SEEDS)
def test_splits_depend_on_their_seed_and_on_nothing_else(frozen_from: Freezer, seed: int, other: int) -> None:
    dataset = frozen_from([_graph(40, 0.2, 1)])
    torch.manual_seed(other)
    before = torch.get_rng_state()
    first = [split(dataset, policy="random", seed=seed).digest for split in (split_nodes, split_links)]
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(other + 1)
    again = [split(dataset, policy="random", seed=seed).digest for split in (split_nodes, split_links)]
    moved = [split(dataset, policy="random", seed=other).digest for split in (split_nodes, split_links)]
    assert first == again
    assert all((a == b) == (seed == other) for a, b in zip(first, moved, strict=True))


DIGESTS_IN_A_PROCESS = """
import sys, warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch_geometric
from pathlib import Path
from gnz_track.datasets.preparation import prepare
from gnz_track.datasets.splits.nodes_and_graphs import split_nodes
from gnz_track.datasets.splits.links import split_links
home = Path(sys.argv[1])
print(split_links(prepare("random_tsp", seed=1, home=home), policy="published", seed=1).digest)
print(split_nodes(prepare("planted_partition", seed=1, home=home), policy="random", seed=1).digest)
"""


def test_splits_are_the_same_in_every_process(tmp_path: Path, root: Path) -> None:
    here = [
        split_links(prepare("random_tsp", seed=1, home=tmp_path), policy="published", seed=1).digest,
        split_nodes(prepare("planted_partition", seed=1, home=tmp_path), policy="random", seed=1).digest,
    ]
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", DIGESTS_IN_A_PROCESS, str(tmp_path / "other")]
    there = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
    assert there.stdout.split() == here


@settings(deadline=None, max_examples=60)
@given(n_nodes=st.integers(2, 9), n_relations=st.integers(1, 3), seed=SEEDS)
def test_false_tails_are_false_everywhere(frozen_from: Freezer, n_nodes: int, n_relations: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    # The last entity is no tail, so that every head and relation leave one tail to draw.
    sizes = [n_nodes, n_relations, n_nodes - 1]
    triples = torch.stack([torch.randint(size, (30,), generator=generator) for size in sizes])
    parts = dict(zip(("train", "valid", "test"), triples.split(10, dim=1), strict=True))
    fields = {f"{name}_edge_index": part[[0, 2]] for name, part in parts.items()}
    fields |= {f"{name}_edge_type": part[1] for name, part in parts.items()}
    dataset = frozen_from(Data(edge_index=triples[[0, 2]], edge_type=triples[1], num_nodes=n_nodes, **fields))
    split = split_triples(dataset, seed=seed)
    true = _pairs(triples)
    for name, part in (("train", split.train), ("valid", split.val), ("test", split.test)):
        assert torch.equal(part.edge_index, fields[f"{name}_edge_index"])
        assert torch.equal(part.edge_type, fields[f"{name}_edge_type"])
        assert torch.equal(part.negatives[0], part.edge_index[0])
        false = torch.stack([part.negatives[0], part.edge_type, part.negatives[1]])
        assert not _pairs(false) & true
        assert ((part.negatives >= 0) & (part.negatives < n_nodes)).all()
    assert split.digest == split_triples(dataset, seed=seed).digest


def test_triples_need_their_parts(frozen_from: Freezer) -> None:
    with pytest.raises(SplitImpossible, match="train_edge_index"):
        split_triples(frozen_from(_graph(9, 0.3, 0)))


def test_structural_features_by_hand() -> None:
    found = structural_features(torch.tensor([[0, 0, 1], [1, 2, 0]]), 4)
    log_degree = torch.tensor([3.0, 2.0, 1.0, 1.0]).log() / torch.tensor(4.0).log()
    assert found.dtype == torch.float32
    assert torch.allclose(found, torch.stack([log_degree, log_degree**2, torch.ones(4)], dim=1))
    assert torch.isfinite(structural_features(torch.empty(2, 0, dtype=torch.long), 1)).all()


def test_identity_features_have_a_limit() -> None:
    assert torch.equal(identity_features(3), torch.eye(3))
    with pytest.raises(BadValue, match="8193; allowed: at most 8192"):
        identity_features(8_193)
