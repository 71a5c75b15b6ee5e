"""The published names: what scripts that use them rely on, against the golden record."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import connected_components
from torch_geometric.data import Batch, Data
from torch_geometric.utils import to_scipy_sparse_matrix
from worlds import GOLDEN, METRICS, draw, graph_of

from gnz_track.compat import rings
from gnz_track.errors import BadValue

SMALL = GOLDEN["small"]
PATH = SMALL["path5"]


@pytest.mark.parametrize(
    ("key", "transform"),
    [
        ("rf", rings.RandomFeatures),
        ("sf", lambda: rings.RandomFeatures(shuffle=True)),
        ("rg", rings.RandomGraph),
        ("sg", lambda: rings.RandomGraph(shuffle=True)),
    ],
)
@pytest.mark.parametrize("seed", [0, 16])
def test_transforms_seeded_as_published_give_the_golden_values(key: str, transform: object, seed: int) -> None:
    torch.manual_seed(seed)
    changed = transform()(graph_of(PATH))  # type: ignore[operator]
    for time in (1, 10):
        functor = rings.ComplementarityFunctor(
            "euclidean", "diffusion_distance", rings.MatrixNormComparator, num_steps=time
        )
        found = functor([changed])["complementarity"]
        assert found[0] == pytest.approx(PATH["random"][key][str(seed)][str(time)], abs=1e-6)


@pytest.mark.parametrize("key", list(PATH["variants_o_t1"]))
def test_functor_gives_the_golden_values(key: str) -> None:
    edges, features, norm = key.split("|")
    functor = rings.ComplementarityFunctor(features, edges, rings.MatrixNormComparator, norm=norm)
    graphs = [graph_of(PATH), graph_of(SMALL["cycle6"])]
    expected = [SMALL[name]["variants_o_t1"][key] for name in ("path5", "cycle6")]
    assert list(functor(graphs)["complementarity"]) == pytest.approx(expected, abs=1e-8)
    assert list(functor(Batch.from_data_list(graphs))["complementarity"]) == pytest.approx(expected, abs=1e-8)
    tensor = functor(graphs, as_dataframe=False)["complementarity"]
    assert tensor.dtype is torch.float32
    assert edges in METRICS


def test_options_of_the_functor() -> None:
    graph = graph_of(PATH)
    plain = {"feature_metric": "euclidean", "graph_metric": "diffusion_distance"}
    as_it_is = rings.ComplementarityFunctor(**plain, normalize_diameters=False)([graph])["complementarity"][0]
    assert as_it_is == pytest.approx(PATH["nonorm_o_t1"], abs=1e-8)
    walk = rings.ComplementarityFunctor(**plain, symmetric=False)([graph])["complementarity"][0]
    assert walk == pytest.approx(PATH["rwLaplacian_o_t1"], abs=1e-6)
    of_factory = rings.ComplementarityFunctor(**plain, comparator=rings.FrobeniusMatrixNormComparator)
    expected = PATH["variants_o_t1"]["diffusion_distance|euclidean|frobenius"]
    assert of_factory([graph])["complementarity"][0] == pytest.approx(expected, abs=1e-8)
    with pytest.raises(RuntimeError, match="Unexpected norm 'L21'"):
        rings.ComplementarityFunctor(**plain, norm="L21")
    with pytest.raises(BadValue, match="edge_attr"):
        rings.ComplementarityFunctor(**plain, edge_attr="weight")


def test_shapes_and_values_of_the_fixed_transforms() -> None:
    graph = draw(6, 8, seed=1)
    graph.edge_attr = torch.ones(16, 2)
    assert rings.EmptyFeatures()(graph).x.tolist() == [[0.0]] * 6
    assert torch.equal(rings.CompleteFeatures(max_nodes=9)(graph).x, torch.eye(6, 9))
    empty, complete = rings.EmptyGraph()(graph), rings.CompleteGraph()(graph)
    assert empty.edge_index.shape == (2, 0)
    assert complete.edge_index.size(1) == 30
    assert empty.edge_attr is complete.edge_attr is None
    assert rings.Original()(graph).x is graph.x
    assert graph.edge_attr is not None, "called, a transform leaves the graph alone"
    with pytest.raises(BadValue, match="max_nodes is 3; allowed: at least 6"):
        rings.CompleteFeatures(max_nodes=3)(graph)


def test_random_transforms() -> None:
    graph = draw(8, 12, seed=2)
    graph.edge_attr = torch.ones(24, 1)
    torch.manual_seed(3)
    assert rings.RandomFeatures(fixed_dimension=5)(graph).x.shape == (8, 5)
    assert rings.RandomFeatures()(Data(edge_index=graph.edge_index, num_nodes=8)).x is None
    shuffled = rings.RandomFeatures(shuffle=True)(graph).x
    assert sorted(map(tuple, shuffled.tolist())) == sorted(map(tuple, graph.x.tolist()))
    assert rings.RandomGraph(p=0.5)(graph).edge_index.size(1) == 14
    assert rings.RandomGraph()(graph).edge_attr is None
    renamed = rings.RandomGraph(shuffle=True)(graph)
    assert torch.equal(renamed.edge_index[0], graph.edge_index[0])
    assert renamed.edge_attr is not None
    again, other = rings.RandomGraph(), rings.RandomGraph()
    assert torch.equal(again(graph).edge_index, other(graph).edge_index), "two instances under one seed draw the same"
    assert not torch.equal(again(graph).edge_index, other(draw(8, 11, seed=4)).edge_index)


@pytest.mark.parametrize("shuffle", [False, True])
def test_connected_graphs_are_connected_and_dense_ones_end(shuffle: bool) -> None:  # noqa: FBT001
    for graph in (draw(10, 14, seed=5), graph_of(SMALL["complete5"])):
        torch.manual_seed(1)
        found = rings.RandomConnectedGraph(shuffle=shuffle)(graph)
        matrix = to_scipy_sparse_matrix(found.edge_index, num_nodes=graph.num_nodes)
        assert connected_components(matrix, directed=False)[0] == 1
    apart = Data(x=torch.ones(4, 1), edge_index=torch.tensor([[0, 1], [1, 0]]))
    with pytest.raises(BadValue, match="within 100 tries"):
        rings.RandomConnectedGraph(shuffle=True)(apart)


def test_matrix_comparators() -> None:
    x, y = np.zeros((3, 3)), 2 * (1 - np.eye(3))
    assert rings.L11MatrixNormComparator()(x, y)["score"] == 2.0
    assert rings.FrobeniusMatrixNormComparator()(x, y)["score"] == pytest.approx(2.0)
    assert rings.MatrixNormComparator()(np.array([[3.0]]), np.array([[1.0]]))["score"] == 2.0
    assert set(rings.MatrixNormComparator().invalid_data) == set(rings.MatrixNormComparator()(x, y))
    with pytest.raises(RuntimeError, match="Unexpected norm 'x'"):
        rings.MatrixNormComparator(norm="x")(x, y)


def test_study_from_runs_to_a_frame() -> None:
    study = rings.SeparabilityStudy({"Original": rings.Original(), "EmptyGraph": rings.EmptyGraph()}, num_seeds=9)
    assert [(name, seed) for name, _, seed in study.runs()] == list(
        itertools.product(("Original", "EmptyGraph"), range(9))
    )
    with pytest.raises(RuntimeError, match="no score"):
        study.evaluate()
    with pytest.raises(KeyError, match="no perturbation"):
        study.record("Other", 1.0)
    graphs = [draw(5, 6, seed=1), draw(6, 7, seed=2)]
    for name, transform, seed in study.runs():
        n_edges = sum(graph.num_edges for graph in study.apply(graphs, transform))
        study.record(name, n_edges + seed / 10)
    found = study.evaluate(n_permutations=2000)
    assert list(found.columns) == ["score", "pvalue", "pvalue_adjusted", "significant", "method", "mode1", "mode2"]
    row = found.iloc[0]
    assert (row["score"], row["significant"], row["mode1"], row["mode2"]) == (1.0, True, "Original", "EmptyGraph")
    assert sum(graph.num_edges for graph in graphs) == 26, "the graphs themselves are as they were"


def test_functor_hands_comparators_the_size_of_the_family() -> None:
    class Counting:
        def __init__(self) -> None:
            self.families: list[int] = []

        def __call__(self, x: object, y: object, **options: object) -> dict[str, object]:
            del x, y
            self.families.append(int(str(options["n_hypotheses"])))
            return {"score": 0.0}

    counting = Counting()
    functor = rings.SeparabilityFunctor(counting)
    rows = functor.forward({name: [1.0] for name in "abcd"}, as_dataframe=False)
    assert counting.families == [6] * 6
    assert [(row["mode1"], row["mode2"]) for row in rows] == list(itertools.combinations("abcd", 2))
    assert functor.forward({"a": [1.0]}).empty


def test_errors_of_comparators() -> None:
    with pytest.raises(ValueError, match="at least one score"):
        rings.KSComparator()([], [1.0])
    with pytest.raises(ValueError, match="as many scores"):
        rings.WilcoxonComparator()([1.0, 2.0], [1.0])
    assert rings.KSComparator()([1.0, 2.0], [1.0, 2.0])["pvalue"] == 1.0
    with pytest.raises(ValueError, match="known: ks, wilcoxon"):
        rings.SeparabilityStudy({"a": rings.Original()}, comparator="t")
    with pytest.raises(ValueError, match="no perturbation"):
        rings.SeparabilityStudy({})


def test_a_graph_of_networkx_makes_no_difference() -> None:
    # What the published package does first: networkx and back.
    graph = draw(9, 14, seed=6)
    whole = nx.Graph(graph.edge_index.t().tolist())
    assert whole.number_of_edges() == 14
    functor = rings.ComplementarityFunctor("euclidean", "shortest_path_distance")
    assert functor([graph])["complementarity"].notna().all()
