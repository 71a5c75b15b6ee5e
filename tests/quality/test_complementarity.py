"""Complementarity against the golden record, against eigenvectors, and on graphs that are hardly any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from raw_roots import link_raw, read_by_pyg
from torch_geometric.data import Data
from torch_geometric.datasets import TUDataset
from worlds import GOLDEN, METRICS, MODES, complementarity_by_eigenvectors, draw, graph_of

from gnz_track.datasets.perturbations import perturb
from gnz_track.errors import BadValue, UnknownName
from gnz_track.quality import complementarity
from gnz_track.quality import large_graphs as large_spaces
from gnz_track.quality.complementarity import diversity_of, measure_complementarity
from gnz_track.quality.distances import GRAPH_METRICS
from gnz_track.quality.measures import FIXED_MODES, FROBENIUS, NORMS, Measure, Norm

SMALL = GOLDEN["small"]
DRAWN = {"rf": "random-features", "sf": "shuffled-features", "rg": "random-graph", "sg": "shuffled-graph"}
# All of its rows are equal. There, rounding makes the published cosine a diameter, which is then blown up to 1.
BLOWN_UP = "path5_constant_int_features"


@pytest.fixture(params=["batches", "blocks"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Take every space of two nodes and more block by block, three columns to a block, or none."""
    if request.param == "blocks":
        monkeypatch.setattr(complementarity, "LARGE", 1)
        monkeypatch.setattr(large_spaces, "MOST_NUMBERS", 12)
    return str(request.param)


def value_of(graph: Any, measure: Measure | None = None, *, mode: str = "original", time: int = 1) -> float:
    return float(measure_complementarity([graph], measure, modes=[mode], times=[time]).at(mode, time)[0])


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", SMALL)
def test_fixed_modes_at_all_times_are_the_golden_ones(name: str) -> None:
    found = measure_complementarity([graph_of(SMALL[name])])
    for key, expected in SMALL[name]["gamma_t1_10"].items():
        assert found.values[MODES[key]][0] == pytest.approx(expected, abs=1e-8), key
    of_structure, of_features = diversity_of(found)
    assert of_structure[0] == pytest.approx(SMALL[name]["Delta_S_t1"], abs=1e-8)
    assert of_features[0] == pytest.approx(SMALL[name]["Delta_F"], abs=1e-8)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", SMALL)
def test_other_metrics_and_norms_are_the_golden_ones(name: str) -> None:
    graph = graph_of(SMALL[name])
    for key, expected in SMALL[name]["variants_o_t1"].items():
        edges, features, norm = key.split("|")
        measure = Measure(graph=METRICS[edges], features=features, norm=NORMS[norm])
        if name == BLOWN_UP and features == "cosine":
            assert value_of(graph, measure) == pytest.approx(value_of(graph, measure, mode="empty-features"), abs=1e-12)
            continue
        assert value_of(graph, measure) == pytest.approx(expected, abs=1e-8), key
    assert value_of(graph, Measure(is_normalised=False)) == pytest.approx(SMALL[name]["nonorm_o_t1"], abs=1e-8)


@pytest.mark.parametrize("name", ["path5", "path4_plus_2_isolated", "path4_selfloop_at_1"])
def test_asymmetric_diffusion_is_the_golden_one_where_eigenvalues_are_simple(name: str) -> None:
    found = value_of(graph_of(SMALL[name]), Measure(graph="diffusion_asymmetric"))
    assert found == pytest.approx(SMALL[name]["rwLaplacian_o_t1"], abs=1e-6)


@pytest.mark.parametrize("name", [name for name, item in SMALL.items() if item.get("random")])
def test_perturbed_graphs_as_published_have_the_golden_values(name: str) -> None:
    graph = graph_of(SMALL[name])
    for key, perturbation in DRAWN.items():
        for seed, expected in SMALL[name]["random"][key].items():
            stream = torch.Generator().manual_seed(int(seed))
            changed = perturb(graph, perturbation, stream, compat="rings")
            found = measure_complementarity([changed], modes=["original"], times=[1, 10]).values["original"][0]
            assert found == pytest.approx([expected["1"], expected["10"]], abs=1e-6), (key, seed)


PATH4 = nx.to_numpy_array(nx.path_graph(4))[None]
MATRICES = {
    "diffusion_t1": ("diffusion", 1),
    "diffusion_t3": ("diffusion", 3),
    "diffusion_unnorm_t1": ("diffusion_unnormalised", 1),
    "diffusion_rw_t1": ("diffusion_asymmetric", 1),
    "heat_t1": ("heat", 1),
    "resistance": ("resistance", 1),
    "shortest": ("shortest_path", 1),
}


@pytest.mark.parametrize("key", GOLDEN["matrices_path4"])
def test_distances_on_a_path_are_the_golden_ones(key: str) -> None:
    name, time = MATRICES[key]
    (found,) = GRAPH_METRICS.get(name).distances(PATH4.copy(), np.array([4]), [time])
    assert found[0] == pytest.approx(np.array(GOLDEN["matrices_path4"][key]), abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(2, 14),
    density=st.floats(0.05, 0.9),
    seed=st.integers(0, 50),
    time=st.integers(1, 6),
    kind=st.sampled_from(["diffusion", "walk"]),
)
def test_by_eigenvectors_it_is_the_same(n: int, density: float, seed: int, time: int, kind: str) -> None:
    graph = draw(n, round(density * n * (n - 1) / 2), seed=seed)
    expected = complementarity_by_eigenvectors(graph, time, kind=kind)
    # A walk on two sides never meets: nearly equal distances lose digits where all of them are small.
    assert value_of(graph, Measure(graph=kind), time=time) == pytest.approx(expected, abs=1e-6)
    squared = complementarity_by_eigenvectors(graph, time, kind=kind, power=2.0)
    assert value_of(graph, Measure(graph=kind, norm=FROBENIUS), time=time) == pytest.approx(squared, abs=1e-6)


def test_many_graphs_at_once_are_those_one_by_one() -> None:
    graphs = [draw(3 + seed, (3 + seed) * (1 + seed % 3) // 2, seed=seed) for seed in range(24)]
    together = measure_complementarity(graphs)
    for number, graph in enumerate(graphs):
        alone = measure_complementarity([graph])
        for mode in FIXED_MODES:
            assert together.values[mode][number] == pytest.approx(alone.values[mode][0], abs=1e-12)


def test_blocks_give_what_batches_give(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = [draw(40, 70, seed=1), draw(33, 120, seed=2, width=120)]
    for kind in ("diffusion", "walk", "heat"):
        measure = Measure(graph=kind, norm=Norm(1.0, 3.0))
        expected = measure_complementarity(graphs, measure)
        with monkeypatch.context() as patch:
            patch.setattr(complementarity, "LARGE", 5)
            patch.setattr(large_spaces, "MOST_NUMBERS", 200)
            patch.setattr(large_spaces, "MOST_DENSE", 5 if kind != "heat" else 4000)
            found = measure_complementarity(graphs, measure)
        for mode in FIXED_MODES:
            assert found.values[mode] == pytest.approx(expected.values[mode], abs=1e-9), (kind, mode)


@settings(max_examples=30, deadline=None)
@given(n=st.integers(2, 10), seed=st.integers(0, 30), time=st.integers(1, 10))
def test_complete_and_empty_modes_are_dual(n: int, seed: int, time: int) -> None:
    graph = draw(n, n, seed=seed)
    found = measure_complementarity([graph], times=[time])
    n_isolated = n - graph.edge_index.unique().numel()
    empty, complete = (found.at(mode, time)[0] for mode in ("empty-features", "complete-features"))
    if n_isolated < n:
        assert empty + complete == pytest.approx(1 - n_isolated / n)
    assert found.at("empty-graph", time)[0] + found.at("complete-graph", time)[0] == pytest.approx(1.0)
    # The fixed modes need no perturbed graph, and are the values of one.
    for mode in FIXED_MODES:
        changed = perturb(graph, mode, torch.Generator())
        assert value_of(changed, time=time) == pytest.approx(found.at(mode, time)[0], abs=1e-9), mode


def test_order_of_nodes_does_not_matter_to_graphs_in_several_components() -> None:
    # The published implementation pairs features with other nodes here.
    graph = draw(40, 26, seed=5)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(1))
    renamed = Data(x=graph.x[order.argsort()], edge_index=order[graph.edge_index])
    assert value_of(renamed) == pytest.approx(value_of(graph), abs=1e-12)
    assert value_of(graph) == pytest.approx(complementarity_by_eigenvectors(graph, 1), abs=1e-9)


def test_equal_rows_have_no_diameter_whatever_they_hold() -> None:
    # Products of matrices leave 2e-5 between equal rows, which a division by the largest makes a diameter of 1.
    row = torch.randn(1, 167, generator=torch.Generator().manual_seed(3))
    graph = draw(54, 60, seed=2)
    graph.x = row.expand(54, 167)
    found = measure_complementarity([graph], times=[1])
    assert found.at("empty-graph", 1)[0] == 0.0
    assert found.at("complete-graph", 1)[0] == 1.0
    assert found.at("original", 1)[0] == pytest.approx(found.at("empty-features", 1)[0], abs=1e-12)
    assert value_of(graph, Measure(features="cosine")) == pytest.approx(found.at("empty-features", 1)[0], abs=1e-12)


def test_empty_features_are_no_complete_ones_under_the_cosine() -> None:
    graph = graph_of(SMALL["path5"])
    changed = perturb(graph, "empty-features", torch.Generator())
    measure = Measure(features="cosine")
    assert value_of(changed, measure) == pytest.approx(value_of(graph, measure, mode="empty-features"))


SQUARE = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3]])
X = torch.tensor([[0.0], [1.0], [2.0], [4.0]])
NO_EDGES = torch.zeros(2, 0, dtype=torch.long)
# What is odd -> (graph, whether it has a value, what is said).
ODD: dict[str, tuple[Data, bool, str]] = {
    "no features": (Data(edge_index=SQUARE, num_nodes=4), False, "1 graph has no features: undefined"),
    "no columns": (Data(x=torch.zeros(4, 0), edge_index=SQUARE), False, "1 graph has no features: undefined"),
    "NaN": (Data(x=X / X, edge_index=SQUARE), False, "1 graph has features that are no numbers: undefined"),
    "infinite": (Data(x=1 / X, edge_index=SQUARE), False, "1 graph has features that are no numbers: undefined"),
    "no nodes": (Data(x=torch.zeros(0, 1), edge_index=NO_EDGES, num_nodes=0), False, "1 graph has no node: undefined"),
    "one node": (Data(x=X[:1], edge_index=NO_EDGES), True, "1 graph has one node: 0"),
    "one node and a loop": (
        Data(x=X[:1], edge_index=torch.zeros(2, 1, dtype=torch.long)),
        True,
        "1 graph has one node: 0",
    ),
    "zero diameter": (
        Data(x=torch.ones(4, 1), edge_index=NO_EDGES),
        True,
        "1 graph has the same features on all nodes: at distance 0",
    ),
    "directed": (Data(x=X, edge_index=SQUARE[:, ::2]), True, "edges have a direction: each is taken in both"),
    "weighted": (Data(x=X, edge_index=SQUARE, edge_weight=torch.rand(8)), True, "weights of edges are not used"),
    "one dimension": (Data(x=X[:, 0], edge_index=SQUARE), True, "of one dimension are taken as one column"),
    "integers": (Data(x=X.long(), edge_index=SQUARE), True, "whole numbers are taken as numbers"),
    "truth values": (Data(x=X > 1, edge_index=SQUARE), True, "whole numbers are taken as numbers"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("what", ODD)
def test_odd_graphs_get_an_answer_and_a_sentence(what: str) -> None:
    graph, is_defined, sentence = ODD[what]
    plain = Data(x=X, edge_index=SQUARE)
    found = measure_complementarity([plain, graph, plain])
    first, value, last = found.at("original", 1)
    assert first == last == value_of(plain), "the graphs beside it are none the worse"
    assert value == pytest.approx(expected_of(graph), abs=1e-12) if is_defined else np.isnan(value)
    assert any(sentence in note for note in found.notes)
    assert not measure_complementarity([plain]).notes, "of what is usual, nothing is said"
    if not is_defined:
        assert np.isnan(found.at("empty-graph", 1)[1])
        assert found.mean("original", 1) == first, "means are of those that have a value"


def expected_of(graph: Data) -> float:
    flat = Data(x=graph.x.reshape(graph.x.size(0), -1), edge_index=graph.edge_index)
    return complementarity_by_eigenvectors(flat, 1)


def test_no_graph_at_all() -> None:
    found = measure_complementarity([])
    assert found.at("original", 1).shape == (0,)
    assert np.isnan(found.mean("original", 1))


def test_attributes_of_edges_are_weights_where_asked_for() -> None:
    weights = torch.tensor([3.0, 3.0, 1.0, 1.0, 2.0, 2.0, 5.0, 5.0])
    graph = Data(x=X, edge_index=SQUARE, edge_attr=torch.stack([0.6 * weights, 0.8 * weights], dim=1))
    weighted = nx.Graph()
    weighted.add_weighted_edges_from((int(a), int(b), float(w)) for (a, b), w in zip(SQUARE.t(), weights, strict=True))
    values, vectors = np.linalg.eigh(nx.normalized_laplacian_matrix(weighted, nodelist=range(4)).toarray())
    points = vectors * values
    edges = np.linalg.norm(points[:, None] - points[None], axis=2)
    features = np.abs(X.numpy() - X.numpy().T)
    expected = np.abs(features / 4 - edges / edges.max()).sum() / 12
    # Attributes are stored with 24 bits.
    assert value_of(graph, Measure(uses_weights=True)) == pytest.approx(expected, abs=1e-6)
    assert value_of(graph) == pytest.approx(complementarity_by_eigenvectors(graph, 1))
    graph.edge_attr = torch.zeros(8, 1)
    found = measure_complementarity([graph], Measure(uses_weights=True))
    assert np.isnan(found.at("original", 1)[0])
    assert "weigh nothing" in found.notes[-1]


def test_what_cannot_be_asked_for() -> None:
    graph = Data(x=X, edge_index=SQUARE)
    with pytest.raises(BadValue, match="mode is 'random-graph'"):
        measure_complementarity([graph], modes=["random-graph"])
    with pytest.raises(BadValue, match="times"):
        measure_complementarity([graph], times=[0])
    with pytest.raises(BadValue, match="times"):
        measure_complementarity([graph], times=[])
    with pytest.raises(UnknownName, match="did you mean 'diffusion'"):
        measure_complementarity([graph], Measure(graph="difusion"))
    with pytest.raises(BadValue, match="metric of features is 'precomputed'"):
        measure_complementarity([graph], Measure(features="precomputed"))
    with pytest.raises(BadValue, match="complete-graph"):
        measure_complementarity([graph], Measure(is_normalised=False))
    with pytest.raises(BadValue, match="p and q"):
        Norm(0.5, 1.0)


def test_metrics_that_need_whole_matrices_refuse_too_large_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(complementarity, "LARGE", 5)
    monkeypatch.setattr(large_spaces, "MOST_DENSE", 20)
    graph = draw(40, 200, seed=1)
    with pytest.raises(BadValue, match="'heat' is 40; allowed: at most 20; diffusion and walk take any number"):
        value_of(graph, Measure(graph="heat"))


@settings(max_examples=30, deadline=None)
@given(p=st.floats(1, 4), q=st.floats(1, 4), n=st.integers(2, 6))
def test_norm_of_ones_off_the_diagonal_is_one(p: float, q: float, n: int) -> None:
    norm = Norm(p, q)
    ones = (1.0 - np.eye(n))[None]
    assert norm.share(norm.columns(ones).sum(axis=-1), np.array([n]))[0] == pytest.approx(1.0)
    half = norm.share(norm.columns(ones / 2).sum(axis=-1), np.array([n]))[0]
    assert half == pytest.approx(0.5), "it is a norm: half the difference, half the value"


PUBLISHED = GOLDEN["published"]
CASES = [(dataset, key) for dataset in PUBLISHED for key in PUBLISHED[dataset]]


@pytest.fixture(scope="module")
def tables(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the complementarity of datasets with attributes and labels as features, read by PyG."""
    root = tmp_path_factory.mktemp("tu")
    found = {}
    for name in PUBLISHED:
        place = link_raw(root, mirror / "TUDataset" / name / "raw", name)
        dataset = read_by_pyg(TUDataset, place, name, use_node_attr=True)
        found[name] = measure_complementarity([dataset[i] for i in range(len(dataset))])
    return found


@pytest.mark.mirror
@pytest.mark.slow
@pytest.mark.parametrize(("dataset", "key"), CASES)
def test_published_tables_to_two_digits(tables: dict[str, Any], dataset: str, key: str) -> None:
    found = tables[dataset]
    of_structure, of_features = diversity_of(found)
    values = {
        "g1": found.at("original", 1),
        "g10": found.at("original", 10),
        "DS": of_structure,
        "DF": of_features,
    }[key]
    assert [round(float(values.mean()), 2), round(float(values.std()), 2)] == PUBLISHED[dataset][key]


@pytest.mark.mirror
def test_mutag_graph_by_graph(mirror: Path, tmp_path: Path) -> None:
    place = link_raw(tmp_path, mirror / "TUDataset" / "MUTAG" / "raw", "MUTAG")
    dataset = read_by_pyg(TUDataset, place, "MUTAG", use_node_attr=True)
    graphs = [dataset[i] for i in range(len(dataset))]
    found = measure_complementarity(graphs)
    for key, expected in GOLDEN["mutag"]["per_graph"].items():
        mode, _, time = key.partition("_t")
        assert found.at(MODES[mode], int(time)) == pytest.approx(expected, abs=1e-8), key
    for key in MODES:
        for time, (mean, sd) in GOLDEN["mutag"]["ref"][key].items():
            assert found.mean(MODES[key], int(time)) == pytest.approx(mean, abs=1e-8)
            assert found.sd(MODES[key], int(time)) == pytest.approx(sd, abs=1e-8)
    of_structure, of_features = diversity_of(found)
    assert [of_structure.mean(), of_structure.std()] == pytest.approx(GOLDEN["mutag"]["Delta_S"], abs=1e-8)
    assert [of_features.mean(), of_features.std()] == pytest.approx(GOLDEN["mutag"]["Delta_F"], abs=1e-8)
    # One generator goes through all graphs in order.
    for key, perturbation in DRAWN.items():
        for time, by_seed in GOLDEN["mutag"]["ref"][key].items():
            stream = torch.Generator().manual_seed(0)
            changed = [perturb(graph, perturbation, stream, compat="rings") for graph in graphs]
            again = measure_complementarity(changed, modes=["original"], times=[int(time)])
            assert again.mean("original", int(time)) == pytest.approx(by_seed["0"][0], abs=1e-6), (key, time)
