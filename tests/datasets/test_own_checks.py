"""Odd data of users: what has a plain meaning works, all else is refused by field before anything is frozen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data, HeteroData, TemporalData

from gnz_track.datasets.own.tasks import task_from_dataset
from gnz_track.datasets.preparation import prepare
from gnz_track.errors import BadValue
from gnz_track.runs.plan import Place, make_plan
from gnz_track.runs.run_one import run_one

N = 40
Y = torch.arange(N) % 2
ONE_WAY = torch.stack([torch.arange(N), (torch.arange(N) + 2) % N])
EDGES = torch.cat([ONE_WAY, ONE_WAY.flip(0)], dim=1)
X = torch.arange(N * 3, dtype=torch.float32).reshape(N, 3) / 100
SQUARE = torch.sparse_coo_tensor(EDGES, torch.ones(EDGES.size(1)), (N, N), check_invariants=True)


class Marked(torch.Tensor):
    """A tensor of a class of its own."""


def node(**fields: Any) -> Data:
    given = {"x": X, "edge_index": EDGES, "y": Y, **fields}
    return Data(**{key: value for key, value in given.items() if value is not None})


def graph(n_nodes: int, y: int) -> Data:
    return Data(x=torch.ones(n_nodes, 2), edge_index=torch.empty(2, 0, dtype=torch.int64), y=torch.tensor([y]))


def inferred() -> torch.Tensor:
    with torch.inference_mode():
        return X.clone()


# What is given -> the words of its refusal: which field, what it is, what is allowed or to be typed.
# Of kinds of tensors that Torch says it has in trial.
pytestmark = pytest.mark.filterwarnings("ignore:(torch.quantize|The PyTorch API of nested):UserWarning")


REFUSED: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "meta": (lambda: node(x=X.to("meta")), ("'x' of graph 0", "without data (device meta)", "map_location='cpu'")),
    "meta edges": (lambda: node(edge_index=EDGES.to("meta")), ("'edge_index'", "device meta")),
    "meta labels": (lambda: node(y=Y.to("meta")), ("'y'", "device meta")),
    "meta extra": (lambda: node(edge_attr=torch.empty(2, device="meta")), ("'edge_attr'", "device meta")),
    "meta in a list": (
        lambda: [graph(3, 0), Data(**{**graph(3, 1).to_dict(), "x": torch.empty(3, 2, device="meta")})],
        ("'x' of graph 1", "device meta"),
    ),
    "nested": (lambda: node(x=torch.nested.nested_tensor([X[0], X[1, :2]])), ("'x'", "nested", "to_padded_tensor")),
    "jagged": (
        lambda: node(x=torch.nested.nested_tensor([X[0], X[1, :2]], layout=torch.jagged)),
        ("'x'", "nested", "to_padded_tensor"),
    ),
    "quantised": (
        lambda: node(x=torch.quantize_per_tensor(X, 0.1, 0, torch.qint8)),
        ("'x'", "quantised", "x.dequantize()"),
    ),
    "sparse": (lambda: node(x=SQUARE), ("'x'", "layout torch.sparse_coo", "x.to_dense()")),
    "sparse edges": (lambda: node(edge_index=SQUARE), ("'edge_index'", "sparse_coo", "to_edge_index(edge_index)")),
    "sparse adj_t": (lambda: node(edge_index=None, adj_t=SQUARE), ("'adj_t'", "to_edge_index(adj_t)")),
    "complex": (lambda: node(x=X.to(torch.cfloat)), ("'x'", "torch.complex64", "view_as_real(x)")),
    "float8": (lambda: node(x=X.to(torch.float8_e4m3fn)), ("'x'", "float8_e4m3fn", "float32", "x.float()")),
    "uint16": (lambda: node(x=X.to(torch.uint16)), ("'x'", "torch.uint16", "int64", "x.float()")),
    "numpy": (lambda: node(x=X.numpy()), ("'x'", "ndarray", "torch.as_tensor(x.astype(")),
    "big-endian": (lambda: node(x=X.numpy().astype(">f4")), ("'x'", "ndarray", "newbyteorder('=')")),
    "text": (lambda: node(x="abc", num_nodes=N), ("field 'x'", "a str", "a tensor")),
    "scalar": (lambda: node(x=torch.tensor(1.0)), ("the shape of x is []", "one row for each node")),
    "three dimensions": (lambda: node(x=X[:, None]), ("the shape of x", "[40, 1, 3]", "x.flatten(1)")),
    "fewer rows": (lambda: node(x=X[:7], num_nodes=N), ("the shape of x of graph 0", "[7, 3]", "40 nodes")),
    "more rows": (lambda: node(num_nodes=7), ("the shape of x of graph 0", "[40, 3]", "7 nodes")),
    "nan": (lambda: node(x=X.where(X[5, 1] != X, torch.nan)), ("x of", "at [5, 1]", "nan", "finite", "nan_to_num")),
    "infinite": (lambda: node(edge_attr=torch.full((80, 1), torch.inf)), ("edge_attr of", "inf", "finite")),
    "truths as edges": (lambda: node(edge_index=EDGES.bool()), ("edge_index", "torch.bool", "whole numbers")),
    "huge label": (lambda: node(y=Y * 10**12), ("largest y", "1000000000000", "return_inverse=True")),
    "no nodes": (
        lambda: Data(x=X[:0], edge_index=EDGES[:, :0], y=Y[:0]),
        ("nodes of", "is 0", "at least one node in each graph"),
    ),
    "an empty graph": (
        lambda: [graph(3, 0), graph(0, 1), graph(3, 1)],
        ("nodes of graph 1", "is 0", "nothing to pool over", "if graph.num_nodes]"),
    ),
    "nodes that are no number": (lambda: node(num_nodes=float("nan")), ("num_nodes is nan", "a whole number")),
    "fewer than no nodes": (lambda: Data(num_nodes=-3, y=Y), ("num_nodes is -3", "a whole number from 0")),
    "other kinds of graphs": (HeteroData, ("dataset 'odd' is 'HeteroData'", "a Data", "data.to_homogeneous()")),
    "a list of them": (lambda: [HeteroData()], ("dataset 'odd' is 'HeteroData'", "data.to_homogeneous()")),
    "one among others": (lambda: [graph(3, 0), HeteroData()], ("graph 1 of task 'odd'", "data.to_homogeneous()")),
    "events": (TemporalData, ("'TemporalData'", "a Data")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_odd_data_are_refused_by_field_before_anything_is_frozen(name: str, tmp_path: Path) -> None:
    make, words = REFUSED[name]
    with pytest.raises(BadValue) as caught:
        prepare(task_from_dataset("odd", "node_cls", make()), seed=0, home=tmp_path)
    for word in words:
        assert word in str(caught.value)
    assert not list(tmp_path.rglob("*.safetensors"))


# The same data, as a user may hold them.
SAME: dict[str, Callable[[], torch.Tensor]] = {
    "needs a gradient": lambda: X.clone().requires_grad_(),
    "comes of a gradient": lambda: X.clone().requires_grad_() * 1,
    "a parameter": lambda: torch.nn.Parameter(X.clone()),
    "a subclass": lambda: X.clone().as_subclass(Marked),  # type: ignore[arg-type]
    "transposed": lambda: X.t().contiguous().t(),
    "negated": lambda: torch._neg_view(-X),  # noqa: SLF001  (what conj().imag gives)
    "inference": inferred,
    "from numpy, mended": lambda: torch.as_tensor(_big_endian().astype(_big_endian().dtype.newbyteorder("="))),
}


def _big_endian() -> np.ndarray[Any, Any]:
    return X.numpy().astype(">f4")


@pytest.mark.parametrize("name", SAME)
def test_same_numbers_are_the_same_dataset(name: str, tmp_path: Path) -> None:
    plain = prepare(task_from_dataset("plain", "node_cls", node()), seed=0, home=tmp_path)
    other = prepare(task_from_dataset("other", "node_cls", node(x=SAME[name]())), seed=0, home=tmp_path)
    assert other.digest == plain.digest


@pytest.mark.parametrize("x", [X[:1].expand(N, 3), X.flatten().as_strided((N, 3), (1, 1))], ids=["expanded", "overlap"])
def test_shared_memory_becomes_numbers_of_its_own(x: torch.Tensor, tmp_path: Path) -> None:
    found = prepare(task_from_dataset("shared", "node_cls", node(x=x)), seed=0, home=tmp_path)
    copied = prepare(task_from_dataset("copied", "node_cls", node(x=x.clone())), seed=0, home=tmp_path)
    assert found.digest == copied.digest


def score(task_type: str, data: Any, home: Path) -> tuple[str, float | None]:
    """Return how a cell on own data ends."""
    from gnz_track.models.catalogue import describe
    from gnz_track.training.protocols import PROTOCOLS

    task = task_from_dataset("own", task_type, data, epochs=2)
    model = describe("GIN" if task_type.startswith("graph") else "GCN")
    plan = make_plan([task], [model], seeds=[0], protocol=PROTOCOLS.get("graphnetz"), place=Place(home=home))
    result = run_one(plan.cells[0])
    return str(result.status), result.score


@pytest.mark.parametrize("task_type", ["node_cls", "link_pred", "graph_cls"])
def test_features_of_no_column_are_no_features(task_type: str, tmp_path: Path) -> None:
    def data(x: torch.Tensor | None) -> Any:
        if task_type != "graph_cls":
            return node(x=x, num_nodes=N, y=Y if task_type == "node_cls" else None)
        made = [Data(num_nodes=6, edge_index=EDGES[:, :4] % 6, y=torch.tensor([k % 2])) for k in range(30)]
        for one in made if x is not None else ():
            one.x = x[:6]
        return made

    without, empty = (score(task_type, data(x), tmp_path / name) for name, x in (("a", None), ("b", X[:, :0])))
    assert empty == without
    assert empty[0] == "finished"


def test_graphs_without_an_edge_are_trained_on(tmp_path: Path) -> None:
    status, found = score("graph_cls", [graph(3 + k % 2, k % 2) for k in range(30)], tmp_path)
    assert (status, found is not None) == ("finished", True)
