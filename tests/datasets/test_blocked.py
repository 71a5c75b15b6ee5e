"""One graph frozen block by block: the bytes of freezing it whole, every number once, in little memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets import collation
from gnz_track.datasets.catalogue import DATASETS
from gnz_track.datasets.collation import collate, describe
from gnz_track.datasets.frozen import FrozenDataset, freeze
from gnz_track.datasets.generators import large
from gnz_track.datasets.generators.large import large_communities
from gnz_track.datasets.preparation import prepare_dataset
from gnz_track.datasets.streaming import BlockedGraph, freeze_blocks
from gnz_track.errors import BadValue

ROW = DATASETS.get("communities_20k")
SIZES = {"n_nodes": 3000, "n_edges": 20_000, "n_classes": 4, "n_features": 8, "p_within": 0.5, "seed": 3}


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "ROWS", 700)
    monkeypatch.setattr(large, "PAIRS", 900)


def _graph_of(dataset: FrozenDataset) -> Data:
    return Data(**{name: dataset.tensors[name].clone() for name in dataset.card.fields})


@pytest.mark.usefixtures("small_blocks")
def test_blocks_give_the_bytes_of_the_whole(tmp_path: Path) -> None:
    blocked = freeze_blocks(large_communities(**SIZES), tmp_path / "blocked", row=ROW)
    whole = freeze(_graph_of(blocked), tmp_path / "whole", row=ROW)
    assert blocked.digest == whole.digest
    for name in ("card.json", "tensors.safetensors"):
        assert (blocked.folder / name).read_bytes() == (whole.folder / name).read_bytes()
    assert sorted(item.name for item in tmp_path.iterdir()) == ["blocked", "whole"]


@pytest.mark.usefixtures("small_blocks")
def test_communities_are_what_their_row_says(tmp_path: Path) -> None:
    found = freeze_blocks(large_communities(**SIZES), tmp_path / "blocked", row=ROW)
    source, target = found.tensors["edge_index"]
    y, masks = found.tensors["y"], [found.tensors[f"{part}_mask"] for part in ("train", "val", "test")]
    assert not found.is_directed
    assert bool((source != target).all())
    assert [int(mask.sum()) for mask in masks] == [300, 150, 2550]
    assert bool((torch.stack(masks).sum(dim=0) == 1).all())
    # Half of the pairs are drawn within, and of the others a fourth are by chance.
    assert float((y[source] == y[target]).float().mean()) == pytest.approx(0.5 + 0.5 / 4, abs=0.02)
    assert torch.bincount(y).tolist() == pytest.approx([750] * 4, abs=100)
    assert float(found.tensors["x"].std()) == pytest.approx(1.0, abs=0.02)
    other = freeze_blocks(large_communities(**(SIZES | {"seed": 4})), tmp_path / "other", row=ROW)
    assert other.digest != found.digest


def test_a_row_of_blocks_is_prepared_and_holds_what_it_promises(tmp_path: Path) -> None:
    expected = {**ROW.expected, "n_nodes": 3000, "n_edges": 20_000, "n_classes": 4, "n_features": 8}
    row = replace(ROW, options=SIZES, expected=expected)
    assert prepare_dataset(row, seed=0, home=tmp_path).card.sizes["n_nodes"] == 3000
    with pytest.raises(Exception, match="n_nodes"):
        prepare_dataset(replace(row, expected=expected | {"n_nodes": 2}), seed=0, home=tmp_path / "other")
    assert not list((tmp_path / "other").rglob("tensors.safetensors"))


def _blocked(*blocks: tuple[str, int, Tensor]) -> BlockedGraph:
    def given() -> Iterator[tuple[str, int, Tensor]]:
        yield from blocks

    shapes = {"x": (torch.float32, (3, 1)), "edge_index": (torch.int64, (2, 2))}
    return BlockedGraph(shapes=shapes, blocks=given)


X, EDGES = ("x", 0, torch.zeros(3, 1)), ("edge_index", 0, torch.tensor([[0, 1], [1, 2]]))


@pytest.mark.parametrize(
    ("blocks", "reason"),
    [
        ((X,), "'edge_index': 4"),
        ((X, EDGES, X), "'x': -3"),
        (
            (X, ("edge_index", 0, torch.tensor([[0, 1], [1, 3]]))),
            "edge_index is '0 to 3'; allowed: node numbers, 0 to 2",
        ),
        ((("x", 0, torch.zeros(3, 1).double()), EDGES), "a block of 'x' is 'F64'; allowed: F32"),
    ],
)
def test_blocks_that_are_not_the_graph_are_refused(
    blocks: tuple[tuple[str, int, Tensor], ...], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(BadValue, match=reason):
        freeze_blocks(_blocked(*blocks), tmp_path / "blocked", row=ROW)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("n_graphs", [1, 3])
def test_edges_looked_at_in_portions_are_directed_as_they_are_together(
    n_graphs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collation, "PORTION", 17)
    generator = torch.Generator().manual_seed(0)
    for n_missing in (0, 1):
        graphs = []
        for place in range(n_graphs):
            pairs = torch.randint(30, (2, 100), generator=generator)
            both = torch.cat([pairs, pairs.flip(0)], dim=1).unique(dim=1)
            both = both[:, torch.randperm(both.size(1), generator=generator)]
            is_odd = (both[0] != both[1]).nonzero().flatten()[0]
            kept = torch.arange(both.size(1)) != (is_odd if n_missing and place == n_graphs - 1 else -1)
            graphs.append(Data(x=torch.zeros(30, 1), edge_index=both[:, kept]))
        assert describe(collate(graphs).tensors)["is_directed"] is bool(n_missing)
