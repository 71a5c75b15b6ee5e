"""Networks from csv, edge lists and GML: what awkward files mean."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnz_track.datasets.readers.networks import read_edge_list, read_gml, read_netzschleuder
from gnz_track.datasets.readers.raw_files import both_ways, distinct, renumber

PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40)


def _links(edges: torch.Tensor) -> list[tuple[int, int]]:
    return [(a, b) for a, b in edges.t().tolist()]


def _write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


@given(PAIRS)
def test_both_ways_is_the_symmetric_closure(pairs: list[tuple[int, int]]) -> None:
    edges = torch.tensor(pairs).t()
    expected = sorted({*pairs, *((b, a) for a, b in pairs)})
    assert _links(both_ways(edges, 10)) == expected
    assert _links(distinct(edges, 10)) == sorted(set(pairs))


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1))
def test_renumbering_keeps_the_order_and_leaves_no_gap(ids: list[int]) -> None:
    numbers, n_ids = renumber(np.array(ids))
    assert set(numbers.tolist()) == set(range(n_ids))
    assert all((a < b) == (m < n) for a, m in zip(ids, numbers, strict=True) for b, n in zip(ids, numbers, strict=True))


def test_csv_with_blank_lines_loops_repeats_and_an_isolated_node(tmp_path: Path) -> None:
    edges = '\n# source, target, weight, name\n0, 2, 1.5, "a, b"\n\n2, 0, 2, "c"\n1, 1, 3, "d"\n0, 2, 1.5, "a, b"\n'
    nodes = '# index, name, _pos\n0, "x", "0, 1"\n1, "two\nlines", "0, 1"\n2, "y, z", "0, 1"\n4, "alone", "0, 1"\n'
    graph = read_netzschleuder(_write(tmp_path, edges=edges, nodes=nodes))
    assert graph.num_nodes == 5
    assert _links(graph.edge_index) == [(0, 2), (1, 1), (2, 0)]


def test_csv_without_nodes_and_with_other_columns_first(tmp_path: Path) -> None:
    graph = read_netzschleuder(_write(tmp_path, edges="layer,source,target\n1,3,1\n2,1,3\n"), is_directed=True)
    assert graph.num_nodes == 4
    assert _links(graph.edge_index) == [(1, 3), (3, 1)]
    assert "layer" not in graph


def test_parallel_edges_and_layers_are_kept_on_request(tmp_path: Path) -> None:
    folder = _write(tmp_path, edges='# source, target, layer\n0, 1, "tube"\n0, 1, "bus"\n2, 2, "bus"\n1, 0, "tube"\n')
    graph = read_netzschleuder(folder, keep_parallel=True)
    assert _links(graph.edge_index) == [(0, 1), (0, 1), (2, 2), (1, 0), (1, 0), (1, 0), (0, 1)]
    assert graph.layer.tolist() == [1, 0, 0, 1, 1, 0, 1]
    directed = read_netzschleuder(folder, keep_parallel=True, is_directed=True)
    assert _links(directed.edge_index) == [(0, 1), (0, 1), (2, 2), (1, 0)]


def test_csv_without_one_edge_has_its_nodes(tmp_path: Path) -> None:
    graph = read_netzschleuder(_write(tmp_path, edges="# source, target\n", nodes="# index\n0\n1\n"))
    assert (graph.num_nodes, graph.num_edges) == (2, 0)


def test_csv_that_names_no_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'from,to', which names no source and target"):
        read_netzschleuder(_write(tmp_path, edges="from,to\n0,1\n"))


@pytest.mark.mirror
def test_euroroad_is_what_pandas_and_networkx_read(mirror: Path) -> None:
    lines = (mirror / "networks/euroroad/edges.csv").read_text().splitlines()[1:]
    expected = nx.Graph([tuple(map(int, line.split(","))) for line in lines])
    graph = read_netzschleuder(mirror / "networks/euroroad")
    assert set(_links(graph.edge_index)) == set(expected.to_directed().edges)
    assert graph.num_nodes == expected.number_of_nodes() == 1_174


def test_edge_list_with_comments_gaps_and_further_columns(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("# from to\n% more\n1\t7 0.5\n\n7 1 9\n  3 3\n1 900000000000\n")
    graph = read_edge_list(tmp_path, file="a.txt")
    assert graph.num_nodes == 4
    assert _links(graph.edge_index) == [(0, 2), (0, 3), (1, 1), (2, 0), (3, 0)]


@pytest.mark.filterwarnings("ignore:loadtxt:UserWarning")
def test_an_empty_edge_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("# nothing\n")
    with pytest.raises(ValueError, match=r"a\.txt has no edge"):
        read_edge_list(tmp_path, file="a.txt")


GML = """# made by hand
Creator "someone [2006]"
graph
[
  directed 1
  node [ id 5 label "a ] b" graphics [ x 1.5 y 2 ] ]
  node
  [
    id 2
  ]
  node [ id 9 ]
  edge [ source 2 target 5 value 3 ]
  edge [ source 2 target 5 ]
  edge [ source 9 target 9 label "loop" ]
]
"""


def test_gml_without_labels_with_nesting_and_repeats(tmp_path: Path) -> None:
    (tmp_path / "a.gml").write_text(GML)
    graph = read_gml(tmp_path, file="a.gml")
    assert graph.num_nodes == 3
    assert _links(graph.edge_index) == [(1, 0), (2, 2)]


@settings(max_examples=25, deadline=None)
@given(pairs=PAIRS, is_directed=st.booleans())
def test_gml_is_what_networkx_wrote(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[int, int]], *, is_directed: bool
) -> None:
    kind = nx.DiGraph if is_directed else nx.Graph
    written = kind(pairs)
    folder = tmp_path_factory.mktemp("gml")
    nx.write_gml(written, folder / "a.gml")
    number = {node: place for place, node in enumerate(written)}
    expected = {(number[a], number[b]) for a, b in written.to_directed().edges}
    graph = read_gml(folder, file="a.gml")
    assert set(_links(graph.edge_index)) == expected
    assert graph.num_nodes == len(written)


@pytest.mark.mirror
def test_karate_in_gml_is_the_one_that_networkx_ships(mirror: Path) -> None:
    graph = read_gml(mirror / "networks/karate", file="karate.gml")
    assert set(_links(graph.edge_index)) == set(nx.karate_club_graph().to_directed().edges)


@pytest.mark.parametrize("text", ["graph [ node [ id 1 ] edge [", "graph [ [ id 1 ] ]", "graph [ node [ id ] ]"])
def test_broken_gml_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.gml").write_text(text)
    with pytest.raises(ValueError, match=r"expected|not whole"):
        read_gml(tmp_path, file="a.gml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("graph [ node [ id 0 ] edge [ source 0 target 7 ] ]", "edge 1 ends at the node 7, which is not among the 1"),
        ("graph [ node [ id 0 ] node [ id 0 ] ]", "2 nodes have the id 0"),
        ("graph [ node [ label 3 ] ]", "node 1 has no id"),
        ("graph [ node [ id [ a 1 ] ] ]", "node 1 has no id"),
        ("graph [ node 4 ]", "node 1 has no id"),
        ("graph [ node [ id 0 ] edge [ source 0 ] ]", "edge 1 has no target"),
        ("graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 ]", r"ends before the \] of graph \["),
        ("graph [ node [ id 0 ] ] ]", r"\] closes nothing"),
        ("graph 3", r"expected graph \[ ... \], found graph 3"),
    ],
)
def test_what_is_missing_in_gml_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "a.gml").write_text(text)
    with pytest.raises(ValueError, match=said):
        read_gml(tmp_path, file="a.gml")
