"""Raw files: equal to what PyG reads from them, and nothing in a pickle is run."""

from __future__ import annotations

import os
import pickle
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from torch_geometric.data import Data
from torch_geometric.datasets import Planetoid, RelLinkPredDataset, TUDataset

from gnz_track.datasets.readers.citations import read_planetoid
from gnz_track.datasets.readers.graph_sets import read_tudataset
from gnz_track.datasets.readers.knowledge import read_triples


def _root(tmp_path: Path, raw: Path) -> str:
    """Return a root for PyG, which writes beside ``raw``, with the raw files linked into it."""
    folder = tmp_path / raw.parent.name
    folder.mkdir()
    (folder / "raw").symlink_to(raw)
    return str(tmp_path)


def _read_by_pyg(kind: Any, *arguments: str, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what PyG and the old pickles say of each other is not ours
        return kind(*arguments, **options)


def _assert_same(found: Data, expected: Data) -> None:
    assert set(found.keys()) == set(expected.keys())
    for key in expected.keys():  # noqa: SIM118  (iterating a Data gives pairs)
        if isinstance(expected[key], torch.Tensor):
            assert found[key].dtype == expected[key].dtype, key
            assert torch.equal(found[key], expected[key]), key
        else:
            assert found[key] == expected[key], key


@pytest.mark.mirror
@pytest.mark.parametrize("name", ["Cora", "PubMed"])
def test_planetoid_is_what_pyg_reads(name: str, tmp_path: Path, mirror: Path) -> None:
    raw = mirror / "Planetoid" / name / "raw"
    expected = _read_by_pyg(Planetoid, _root(tmp_path, raw), name)[0]
    _assert_same(read_planetoid(raw, prefix=name.lower()), expected)


@pytest.mark.mirror
@pytest.mark.parametrize("name", ["MUTAG", "PROTEINS", "ENZYMES", "AIDS", "PTC_MR"])
def test_tudataset_is_what_pyg_reads(name: str, tmp_path: Path, mirror: Path) -> None:
    raw = mirror / "TUDataset" / name / "raw"
    expected = _read_by_pyg(TUDataset, _root(tmp_path, raw), name)
    found = read_tudataset(raw, prefix=name)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        _assert_same(ours, theirs)


@pytest.mark.mirror
def test_attributes_of_nodes_are_what_pyg_reads(tmp_path: Path, mirror: Path) -> None:
    raw = mirror / "TUDataset" / "ENZYMES" / "raw"
    expected = _read_by_pyg(TUDataset, _root(tmp_path, raw), "ENZYMES", use_node_attr=True)
    for ours, theirs in zip(read_tudataset(raw, prefix="ENZYMES", features="attributes"), expected, strict=True):
        # There, the one-hot labels come behind them.
        torch.testing.assert_close(ours.x, theirs.x[:, :18])
        assert torch.equal(ours.edge_index, theirs.edge_index)


@pytest.mark.mirror
def test_triples_are_what_pyg_reads(tmp_path: Path, mirror: Path) -> None:
    raw = mirror / "RelLinkPredDataset" / "FB15k-237" / "raw"
    expected = _read_by_pyg(RelLinkPredDataset, _root(tmp_path, raw), "FB15k-237")
    found = read_triples(raw)
    _assert_same(found, expected[0])
    assert int(found.edge_type.max()) + 1 == expected.num_relations == 474


def _write_citeseer(raw: Path, *, protocol: int) -> None:
    """Write the eight files of a small CiteSeer: 600 known papers, 20 test papers, three of them isolated."""
    rng = np.random.default_rng(0)
    raw.mkdir(parents=True)
    test = [number for number in range(600, 620) if number not in (603, 604, 617)]
    sizes = {"x": 12, "allx": 600, "tx": len(test)}
    features = {name: csr_matrix((rng.random((size, 9)) < 0.3).astype(np.float32)) for name, size in sizes.items()}
    labels = {
        name: np.eye(6, dtype=np.int32)[rng.integers(6, size=size)]
        for name, size in zip(("y", "ally", "ty"), sizes.values(), strict=True)
    }
    graph: dict[int, list[int]] = defaultdict(list)
    for one, other in (
        rng.integers(600, size=(900, 2)).tolist()
        + [[number, number - 500] for number in test]
        + [[5, 5], [7, 8], [7, 8]]
    ):
        graph[one].append(other)
        graph[other].append(one)
    for name, content in {**features, **labels, "graph": graph}.items():
        (raw / f"ind.citeseer.{name}").write_bytes(pickle.dumps(content, protocol=protocol))
    rng.shuffle(test)
    (raw / "ind.citeseer.test.index").write_text("".join(f"{number}\n" for number in test))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_isolated_test_papers_are_kept(tmp_path: Path, protocol: int) -> None:
    raw = tmp_path / "made" / "CiteSeer" / "raw"
    _write_citeseer(raw, protocol=protocol)
    (tmp_path / "root").mkdir()
    expected = _read_by_pyg(Planetoid, _root(tmp_path / "root", raw), "CiteSeer")[0]
    found = read_planetoid(raw, prefix="citeseer")
    _assert_same(found, expected)
    assert found.num_nodes == 620
    assert not found.x[[603, 604, 617]].any()
    assert int(found.test_mask.sum()) == 17


class _Malicious:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("owned",)


@pytest.mark.parametrize("name", ["graph", "allx"])
def test_a_pickle_may_not_run_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    raw = tmp_path / "CiteSeer" / "raw"
    _write_citeseer(raw, protocol=2)
    (raw / f"ind.citeseer.{name}").write_bytes(pickle.dumps({1: _Malicious()}, protocol=2))
    with pytest.raises(pickle.UnpicklingError, match="mkdir, which is neither an array nor a plain container"):
        read_planetoid(raw, prefix="citeseer")
    assert not (tmp_path / "owned").exists()


def test_tu_files_without_labels_and_with_loops(tmp_path: Path) -> None:
    files = {"A": "1, 2\n2, 1\n1, 1\n4, 5\n4, 5\n", "graph_indicator": "1\n1\n1\n2\n2\n", "graph_labels": "7\n-3\n"}
    for name, text in files.items():
        (tmp_path / f"T_{name}.txt").write_text(text)
    first, second = read_tudataset(tmp_path, prefix="T")
    assert (first.num_nodes, second.num_nodes) == (3, 2)
    assert first.edge_index.tolist() == [[0, 1], [1, 0]]
    assert second.edge_index.tolist() == [[0], [1]]
    assert (first.y.tolist(), second.y.tolist()) == ([1], [0])
