"""Positional encodings against the equations that they solve, and the files that they are kept in."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets import encodings
from gnz_track.datasets.encodings import (
    Encoding,
    compute_encoding,
    describe_limits,
    encode_nodes,
    encoding_file,
    parse_encoding,
)
from gnz_track.datasets.frozen import FrozenDataset, freeze, open_frozen
from gnz_track.errors import BadValue
from gnz_track.types import Category, DatasetRow, TaskType


def _read(name: str) -> Encoding:
    found = parse_encoding(name)
    assert found is not None
    return found


def _join(*graphs: nx.Graph) -> tuple[Tensor, Tensor]:
    """Return edges that count through all graphs, in one direction each, and where each graph begins."""
    parts, starts = [], [0]
    for graph in graphs:
        numbered = nx.convert_node_labels_to_integers(graph)
        edges = torch.tensor(list(numbered.edges), dtype=torch.int64).reshape(-1, 2).t()
        parts.append(edges + starts[-1])
        starts.append(starts[-1] + graph.number_of_nodes())
    return torch.cat(parts, dim=1), torch.tensor(starts)


def _laplacian(graph: nx.Graph) -> NDArray[np.float64]:
    """Return the normalised Laplacian with degrees of at least 1, so that a lonely node has the row of the identity."""
    adjacency = nx.to_numpy_array(graph, weight=None)
    np.fill_diagonal(adjacency, 0)
    degrees = np.maximum(adjacency.sum(1), 1)
    return np.eye(len(graph)) - adjacency / np.sqrt(np.outer(degrees, degrees))


SEVERAL = [
    nx.path_graph(7),
    nx.gnp_random_graph(12, 0.4, seed=1),
    nx.disjoint_union(nx.cycle_graph(4), nx.path_graph(3)),
]


@pytest.mark.parametrize("graph", SEVERAL, ids=["path", "random", "two pieces"])
def test_columns_are_eigenvectors_of_length_one_after_the_first(graph: nx.Graph) -> None:
    k = 4
    found = compute_encoding(_read(f"lap{k}"), *_join(graph)).double().numpy()
    laplacian = _laplacian(graph)
    values = np.sort(np.linalg.eigvalsh(laplacian))
    np.testing.assert_allclose(laplacian @ found, found * values[1 : k + 1], atol=1e-5)
    np.testing.assert_allclose(found.T @ found, np.eye(k), atol=1e-5)


@st.composite
def graphs(draw: st.DrawFn) -> nx.Graph:
    """Draw a graph of 1 to 12 nodes, often in several pieces and with nodes that have no edge."""
    n, seed = draw(st.integers(1, 12)), draw(st.integers(0, 999))
    return nx.gnp_random_graph(n, draw(st.sampled_from([0.0, 0.1, 0.25, 0.6, 1.0])), seed=seed)


LAWS = settings(deadline=None, max_examples=60)


@LAWS
@given(graph=graphs(), k=st.integers(1, 14))
def test_whatever_the_graph_columns_are_orthonormal_eigenvectors_and_then_zeros(graph: nx.Graph, k: int) -> None:
    found = compute_encoding(_read(f"lap{k}"), *_join(graph)).double().numpy()
    n_known = min(k, len(graph) - 1)
    laplacian, known = _laplacian(graph), found[:, :n_known]
    values = np.sort(np.linalg.eigvalsh(laplacian))[1 : n_known + 1]
    np.testing.assert_allclose(known.T @ known, np.eye(n_known), atol=1e-5)
    np.testing.assert_allclose(laplacian @ known, known * values, atol=1e-5)
    assert found.shape == (len(graph), k)
    assert not found[:, n_known:].any()


@LAWS
@given(several=st.lists(graphs(), min_size=1, max_size=4), name=st.sampled_from(["lap3", "lap3-abs", "rw5", "order"]))
def test_whatever_the_graphs_every_number_is_one_and_of_its_own_graph(several: list[nx.Graph], name: str) -> None:
    together = compute_encoding(_read(name), *_join(*several))
    assert together.isfinite().all()
    alone = [compute_encoding(_read(name), *_join(graph)) for graph in several]
    width = max(each.size(1) for each in alone)
    padded = [torch.nn.functional.pad(each, (0, width - each.size(1))) for each in alone]
    assert torch.equal(together, torch.cat(padded))


@LAWS
@given(graph=graphs(), seed=st.integers(0, 99))
def test_walks_do_not_ask_which_node_is_which(graph: nx.Graph, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(graph)).tolist()
    renamed = nx.Graph()
    renamed.add_nodes_from(range(len(graph)))
    renamed.add_edges_from((order[a], order[b]) for a, b in graph.edges)
    first, second = (compute_encoding(_read("rw6"), *_join(each)) for each in (graph, renamed))
    torch.testing.assert_close(second[order], first, atol=1e-6, rtol=0)
    assert first.min() >= 0
    assert first.max() <= 1 + 1e-6
    # From a node without an edge no walk is ever back.
    assert not first[[node for node in graph if graph.degree(node) == 0]].any()


@pytest.mark.parametrize("name", ["lap4", "lap4-plain", "lap4-abs", "rw4", "order", "order-random", "random4"])
def test_what_is_said_is_what_is_so(name: str) -> None:
    """Each way in which an encoding tells less of a graph, and the sentence about it, for all kinds."""
    small, split, alone = nx.path_graph(4), nx.disjoint_union(nx.cycle_graph(4), nx.cycle_graph(5)), nx.path_graph(5)
    alone.add_node(5)
    encoding, inputs = _read(name), _join(small, split, alone, nx.path_graph(6))
    told = " | ".join(describe_limits(encoding, *inputs))
    found = compute_encoding(encoding, *inputs)
    is_of_laplacian = encoding.kind == "lap"
    assert ("1 of 4 graphs have no more nodes than it has columns" in told) is is_of_laplacian
    assert not is_of_laplacian or not found[:4, 3].any()
    assert ("2 of 4 graphs are in several pieces" in told) is (encoding.kind in {"lap", "rw"})
    assert ("1 of 25 nodes have no edge" in told) is (encoding.kind in {"lap", "rw"})
    if encoding.kind == "rw":
        assert not found[18].any()
    if is_of_laplacian:
        # The second column of eigenvalue 0 is alike within either piece.
        first, second = found[4:8, 0], found[8:13, 0]
        assert (first - first.mean()).abs().max() < 1e-5
        assert (second - second.mean()).abs().max() < 1e-5
        assert found[18].isfinite().all()


def test_a_large_graph_in_two_pieces_is_encoded_by_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encodings, "MOST_DENSE", 10)
    graph = nx.disjoint_union(nx.gnp_random_graph(30, 0.3, seed=1), nx.gnp_random_graph(25, 0.3, seed=2))
    graph.add_node(55)
    found = compute_encoding(_read("lap4"), *_join(graph)).double().numpy()
    laplacian = _laplacian(graph)
    values = np.sort(np.linalg.eigvalsh(laplacian))
    np.testing.assert_allclose(found.T @ found, np.eye(4), atol=1e-4)
    np.testing.assert_allclose(laplacian @ found, found * values[1:5], atol=1e-3)


def test_graphs_are_encoded_one_by_one() -> None:
    together = compute_encoding(_read("lap3"), *_join(*SEVERAL))
    alone = [compute_encoding(_read("lap3"), *_join(graph)) for graph in SEVERAL]
    assert torch.equal(together, torch.cat(alone))
    assert together.dtype == torch.float32


def test_a_small_graph_has_zeros_for_what_it_does_not_have() -> None:
    graphs = (nx.path_graph(3), nx.empty_graph(1), nx.path_graph(9))
    found = compute_encoding(_read("lap5"), *_join(*graphs))
    assert found.shape == (13, 5)
    assert found[:3, :2].abs().sum(0).gt(0).all()
    assert not found[:3, 2:].any()
    assert not found[3].any()
    assert found[4:].abs().sum(0).gt(0).all()


def test_loops_directions_and_repetitions_do_not_count() -> None:
    edges = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 4, 4]])
    more = torch.cat([edges, edges.flip(0), edges[:, :2], torch.tensor([[2], [2]])], dim=1)
    pointer = torch.tensor([0, 5])
    for name in ("lap3", "rw4"):
        first, second = (compute_encoding(_read(name), each, pointer) for each in (edges, more))
        assert torch.equal(first, second)


def test_variants_of_eigenvectors() -> None:
    inputs = _join(*SEVERAL)
    plain, signed, unsigned = (compute_encoding(_read(name), *inputs) for name in ("lap3-plain", "lap3", "lap3-abs"))
    assert torch.equal(plain, signed)
    assert torch.equal(plain.abs(), unsigned)
    assert [_read(name).variation for name in ("lap3-plain", "lap3", "lap3-abs")] == ["none", "signs", "none"]


def test_large_graphs_by_iteration_span_the_same_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = nx.gnp_random_graph(60, 0.1, seed=3)
    dense = compute_encoding(_read("lap5"), *_join(graph))
    monkeypatch.setattr(encodings, "MOST_DENSE", 10)
    iterated = compute_encoding(_read("lap5"), *_join(graph))
    assert torch.equal(iterated, compute_encoding(_read("lap5"), *_join(graph)))
    # Simple eigenvalues: columns are equal but for their signs.
    torch.testing.assert_close(dense.abs(), iterated.abs(), atol=1e-3, rtol=0)


def test_walks_come_back_as_often_as_powers_of_the_matrix_say() -> None:
    graph = nx.gnp_random_graph(9, 0.4, seed=2)
    graph.add_node(9)
    step = nx.to_numpy_array(graph) / np.maximum(nx.to_numpy_array(graph).sum(1, keepdims=True), 1)
    expected = [np.diag(np.linalg.matrix_power(step, t)) for t in range(1, 6)]
    np.testing.assert_allclose(compute_encoding(_read("rw5"), *_join(graph)).numpy(), np.stack(expected, 1), atol=1e-6)


def test_the_order_of_nodes_is_one_column_each() -> None:
    found = compute_encoding(_read("order"), *_join(nx.path_graph(2), nx.path_graph(4)))
    assert found.argmax(1).tolist() == [0, 1, 0, 1, 2, 3]
    assert found.sum(1).tolist() == [1.0] * 6
    assert (_read("order").variation, _read("order-random").variation) == ("none", "columns")
    assert _read("order").width(torch.tensor([0, 2, 6])) == 4


@pytest.mark.parametrize(
    "name", ["lap", "lap0", "lap-2", "rw", "rw4-abs", "order5", "sin8", "lap20-random", "Lap20", " "]
)
def test_a_name_that_means_nothing_is_an_error(name: str) -> None:
    with pytest.raises(BadValue, match=r"encoding is .*; allowed: lap20, lap20-plain"):
        parse_encoding(name)


def test_no_name_is_no_encoding() -> None:
    assert parse_encoding("") is None


def test_too_large_is_an_error_and_not_a_long_wait() -> None:
    with pytest.raises(BadValue, match="columns of encoding 'order' is 5000; allowed: at most 1024"):
        compute_encoding(_read("order"), torch.empty(2, 0, dtype=torch.int64), torch.tensor([0, 5000]))
    with pytest.raises(BadValue, match="nodes of a graph for an encoding of walks is 5000"):
        compute_encoding(_read("rw2"), torch.empty(2, 0, dtype=torch.int64), torch.tensor([0, 5000]))


def test_what_an_encoding_does_not_tell_is_said() -> None:
    graphs = (nx.path_graph(3), nx.path_graph(6), nx.disjoint_union(nx.cycle_graph(5), nx.empty_graph(2)))
    told = describe_limits(_read("lap4"), *_join(*graphs))
    assert [sentence.split(":")[1].strip() for sentence in told] == [
        "1 of 3 graphs have no more nodes than it has columns",
        "1 of 3 graphs are in several pieces",
        "2 of 16 nodes have no edge",
    ]
    assert describe_limits(_read("lap2"), *_join(nx.path_graph(6))) == []
    assert describe_limits(_read("order"), *_join(*graphs)) == []
    assert len(describe_limits(_read("rw8"), *_join(*graphs))) == 2


# Files --------------------------------------------------------------------------------------------------------------

ROW = DatasetRow(
    name="rings",
    category=Category.custom,
    task_types=(TaskType.graph_cls,),
    loader="",
    source="made up",
    licence="none",
    citation="none",
)


@pytest.fixture
def rings(tmp_path: Path) -> FrozenDataset:
    """Return frozen rings of 5 to 8 nodes."""
    graphs = []
    for n in range(5, 9):
        edges = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
        graphs.append(Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), num_nodes=n, y=torch.tensor([n % 2])))
    return freeze(graphs, tmp_path / "home" / "rings", row=ROW)


def test_an_encoding_is_computed_once(rings: FrozenDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    first = encode_nodes(rings, _read("lap3"))
    assert torch.equal(first, compute_encoding(_read("lap3"), rings.global_edge_index, rings.node_ptr))
    monkeypatch.setattr("gnz_track.datasets.encodings.compute_encoding", None)
    assert torch.equal(encode_nodes(rings, _read("lap3")), first)
    # The frozen folder holds what it held.
    assert sorted(path.name for path in rings.folder.iterdir()) == ["card.json", "tensors.safetensors"]
    open_frozen(rings.folder, verify=True)
    assert [path.name for path in encoding_file(rings, _read("lap3")).parent.iterdir()] == [
        f"{rings.digest}-lap3.safetensors"
    ]


def test_random_features_are_normal_and_the_same_at_every_call() -> None:
    edges, starts = _join(*(nx.path_graph(50) for _ in range(40)))
    found = compute_encoding(_read("random8"), edges, starts)
    assert torch.equal(found, compute_encoding(_read("random8-fixed"), edges.flip(0), starts))
    assert not torch.equal(found[:50], found[50:100]), "graphs alike are told apart"
    assert abs(float(found.mean())) < 5 / (2000 * 8) ** 0.5
    assert abs(float(found.var()) - 1) < 5 * (2 / (2000 * 8)) ** 0.5
    assert float(torch.corrcoef(found.t()).fill_diagonal_(0).abs().max()) < 5 / 2000**0.5
    assert (_read("random8").variation, _read("random8-fixed").variation) == ("draws", "none")


def test_names_and_splits_have_files_of_their_own(rings: FrozenDataset) -> None:
    edges = rings.global_edge_index[:, (rings.global_edge_index < 25).all(dim=0)]
    whole, fewer, walks = (
        encode_nodes(rings, _read("lap3")),
        encode_nodes(rings, _read("lap3"), message_edges=edges, split_digest="abc"),
        encode_nodes(rings, _read("rw3")),
    )
    assert not torch.equal(whole, fewer)
    assert not torch.equal(whole, walks)
    assert len(list(encoding_file(rings, _read("rw3")).parent.iterdir())) == 3


@pytest.mark.parametrize("harm", ["cut", "changed", "empty"])
def test_a_file_that_is_not_whole_is_made_anew(rings: FrozenDataset, harm: str) -> None:
    first = encode_nodes(rings, _read("lap3"))
    file = encoding_file(rings, _read("lap3"))
    content = file.read_bytes()
    file.write_bytes({"cut": content[:-8], "changed": content[:-4] + b"\0\1\2\3", "empty": b""}[harm])
    assert torch.equal(encode_nodes(rings, _read("lap3")), first)
    assert file.read_bytes() == content


def test_a_folder_that_cannot_be_written_keeps_nothing(rings: FrozenDataset) -> None:
    file = encoding_file(rings, _read("lap3"))
    file.parent.write_text("in the way")
    assert encode_nodes(rings, _read("lap3")).shape == (26, 3)
    assert file.parent.read_text() == "in the way"


def _encode(folder: str, queue: Any) -> None:
    torch.set_num_threads(1)
    queue.put(encode_nodes(open_frozen(folder), _read("lap4")).numpy().tobytes())


@pytest.mark.slow
def test_processes_that_ask_at_once_get_the_same(rings: FrozenDataset) -> None:
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    workers = [context.Process(target=_encode, args=(str(rings.folder), queue)) for _ in range(3)]
    for worker in workers:
        worker.start()
    found = {queue.get(timeout=120) for _ in workers}
    for worker in workers:
        worker.join()
    assert found == {encode_nodes(rings, _read("lap4")).numpy().tobytes()}
    assert len(list(encoding_file(rings, _read("lap4")).parent.iterdir())) == 1
