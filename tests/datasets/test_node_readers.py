"""Graphs with labelled nodes, and bipartite ratings: equal to what PyG reads from the same files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from raw_roots import assert_same, link_raw, read_by_pyg
from torch_geometric.datasets import (
    PPI,
    Airports,
    EllipticBitcoinDataset,
    HeterophilousGraphDataset,
    MovieLens100K,
    ShapeNet,
    WebKB,
    WikiCS,
    WikipediaNetwork,
    WordNet18RR,
)

from gnz_track.datasets.readers.citations import read_geom_gcn, read_heterophilous, read_wikics
from gnz_track.datasets.readers.images_and_shapes import read_shapenet
from gnz_track.datasets.readers.knowledge import read_named_triples
from gnz_track.datasets.readers.networks import read_airports, read_elliptic, read_movielens, read_ppi
from gnz_track.datasets.splits.nodes_and_graphs import split_nodes
from gnz_track.errors import BadValue


@pytest.mark.mirror
def test_minesweeper_is_what_pyg_reads(tmp_path: Path, mirror: Path) -> None:
    raw = mirror / "HeterophilousGraphDataset/minesweeper/raw"
    root = link_raw(tmp_path, raw, "minesweeper")
    expected = read_by_pyg(HeterophilousGraphDataset, root, "minesweeper")[0]
    assert_same(read_heterophilous(raw, file="minesweeper.npz"), expected)


@pytest.mark.mirror
def test_cornell_and_chameleon_are_what_pyg_reads(tmp_path: Path, mirror: Path) -> None:
    raw = mirror / "WebKB/cornell/raw"
    expected = read_by_pyg(WebKB, link_raw(tmp_path / "a", raw, "cornell"), "cornell")[0]
    assert_same(read_geom_gcn(raw, prefix="cornell"), expected)
    raw = mirror / "WikipediaNetwork/chameleon/geom_gcn/raw"
    root = link_raw(tmp_path / "b", raw, "chameleon", "geom_gcn")
    expected = read_by_pyg(WikipediaNetwork, root, "chameleon", geom_gcn_preprocess=True)[0]
    assert_same(read_geom_gcn(raw, prefix="chameleon"), expected)


@pytest.mark.mirror
def test_airports_are_what_pyg_reads(tmp_path: Path, mirror: Path) -> None:
    raw = mirror / "Airports/brazil/raw"
    expected = read_by_pyg(Airports, link_raw(tmp_path, raw, "brazil"), "brazil")[0]
    assert_same(read_airports(raw, prefix="brazil"), expected)


@pytest.mark.mirror
def test_wordnet_triples_are_those_that_pyg_reads(tmp_path: Path, mirror: Path) -> None:
    raw = mirror / "WordNet18RR/raw"
    expected = read_by_pyg(WordNet18RR, link_raw(tmp_path, raw))[0]
    found = read_named_triples(raw)
    assert found.num_nodes == expected.num_nodes == 40_943
    names = {"train": "train", "val": "valid", "test": "test"}
    assert sum(found[f"{name}_edge_type"].numel() for name in names.values()) == expected.num_edges == 93_003
    for mask, name in names.items():
        chosen = expected[f"{mask}_mask"]
        # PyG numbers entities as they come, we in alphabetical order: what both keep is how often each occurs.
        for place in (0, 1):
            counts = [
                torch.bincount(edges[place]) for edges in (expected.edge_index[:, chosen], found[f"{name}_edge_index"])
            ]
            assert torch.equal(*(count[count > 0].sort().values for count in counts))
        ours = torch.bincount(found[f"{name}_edge_type"], minlength=11)
        assert torch.equal(ours, torch.bincount(expected.edge_type[chosen], minlength=11))


def test_triples_may_name_the_relation_first(tmp_path: Path) -> None:
    for part, text in {"train": "r\tb\ta\n\nq\ta\tc\r\n", "valid": "r\ta\tb\n", "test": "q\tc\td"}.items():
        (tmp_path / f"{part}.txt").write_text(text)
    found = read_named_triples(tmp_path, order="rht")
    assert found.num_nodes == 4
    assert found.train_edge_index.tolist() == [[1, 0], [0, 2]]
    assert found.train_edge_type.tolist() == [1, 0]
    assert found.edge_type.tolist() == [1, 0, 3, 2]
    assert found.test_edge_index.tolist() == [[2], [3]]
    with pytest.raises(BadValue, match="hrr"):
        read_named_triples(tmp_path, order="hrr")


def test_wikics_is_what_pyg_reads(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    content = {
        "features": rng.random((12, 5)).round(3).tolist(),
        "labels": rng.integers(3, size=12).tolist(),
        "links": [[int(other) for other in rng.integers(12, size=place % 4)] for place in range(12)],
        **{name: (rng.random((2, 12)) < 0.5).tolist() for name in ("train_masks", "val_masks", "stopping_masks")},
        "test_mask": (rng.random(12) < 0.5).tolist(),
    }
    raw = tmp_path / "files"
    raw.mkdir()
    (raw / "data.json").write_text(json.dumps(content))
    expected = read_by_pyg(WikiCS, link_raw(tmp_path / "root", raw), is_undirected=True)[0]
    assert_same(read_wikics(raw), expected)
    joined = read_wikics(raw, joins_stopping=True)
    assert torch.equal(joined.val_mask, expected.val_mask | expected.stopping_mask)
    assert torch.equal(joined.train_mask, expected.train_mask)


@pytest.mark.parametrize("joins_stopping", [False, True])
def test_seed_s_is_published_split_s_of_wikics(joins_stopping: bool, frozen_from: Any, tmp_path: Path) -> None:  # noqa: FBT001
    n, n_splits = 60, 20
    parts = np.stack([np.random.default_rng(split).permutation(n) % 4 for split in range(n_splits)])
    # The test part is one and the same, as published.
    parts[:, :12] = 3
    parts[:, 12:] %= 3
    content = {
        "features": np.eye(n).tolist(),
        "labels": [place % 3 for place in range(n)],
        "links": [[(place + 1) % n] for place in range(n)],
        **{f"{name}_masks": (parts == code).tolist() for code, name in enumerate(("train", "val", "stopping"))},
        "test_mask": (parts[0] == 3).tolist(),
    }
    (tmp_path / "data.json").write_text(json.dumps(content))
    dataset = frozen_from(read_wikics(tmp_path, joins_stopping=joins_stopping))
    found = [split_nodes(dataset, policy="published", seed=seed) for seed in range(2 * n_splits)]
    for seed, split in enumerate(found):
        own = parts[seed % n_splits]
        assert split.train.tolist() == np.flatnonzero(own == 0).tolist()
        assert split.val.tolist() == np.flatnonzero((own == 1) | (joins_stopping & (own == 2))).tolist()
        assert split.test.tolist() == list(range(12))
    assert len({split.digest for split in found}) == n_splits


def test_elliptic_is_what_pyg_reads_with_unlabelled_payments_apart(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ids = rng.permutation(np.arange(1_000, 1_030))
    times = np.repeat([1, 29, 30, 34, 35, 49], 5)
    rows = [",".join(map(str, [tx, time, *rng.random(165).round(4)])) for tx, time in zip(ids, times, strict=True)]
    raw = tmp_path / "files"
    raw.mkdir()
    (raw / "elliptic_txs_features.csv").write_text("\n".join(rows) + "\n")
    kinds = rng.choice(["1", "2", "unknown"], size=30)
    listed = [f"{tx},{kind}" for tx, kind in zip(ids, kinds, strict=True)]
    (raw / "elliptic_txs_classes.csv").write_text("txId,class\n" + "\n".join(listed) + "\n")
    pairs = [f"{a},{b}" for a, b in rng.choice(ids, size=(40, 2))]
    (raw / "elliptic_txs_edgelist.csv").write_text("txId1,txId2\n" + "\n".join(pairs) + "\n")
    expected = read_by_pyg(EllipticBitcoinDataset, link_raw(tmp_path / "root", raw))[0]
    found = read_elliptic(raw, validation_from=30, test_from=35)
    assert_same(found, expected, without=("y", "train_mask", "val_mask"))
    assert found.y.tolist() == [-1 if kind == 2 else kind for kind in expected.y.tolist()]
    assert torch.equal(found.train_mask | found.val_mask, expected.train_mask)
    assert found.val_mask.nonzero().min() >= 10


def test_ratings_are_those_that_pyg_reads(tmp_path: Path) -> None:
    raw = tmp_path / "files"
    raw.mkdir()
    people = ["1|24|M|technician|85711", "2|53|F|other|94043", "5|33|F|writer|15213"]
    (raw / "u.user").write_text("\n".join(people) + "\n", encoding="ISO-8859-1")
    films = [
        f"{n}|Café {n} (1995)|01-Jan-1995||http://x|" + "|".join(str(n >> bit & 1) for bit in range(19))
        for n in (1, 2, 7, 9)
    ]
    (raw / "u.item").write_text("\n".join(films) + "\n", encoding="ISO-8859-1")
    (raw / "u1.base").write_text("1\t7\t5\t874965758\n5\t1\t3\t876893171\n2\t9\t1\t878542960\n")
    (raw / "u1.test").write_text("2\t2\t4\t878543541\n")
    theirs = read_by_pyg(MovieLens100K, link_raw(tmp_path / "root", raw))[0]
    found = read_movielens(raw)
    assert found.x.shape == (7, theirs["user"].x.size(1) + 18)
    assert torch.equal(found.x, torch.block_diag(theirs["user"].x, theirs["movie"].x))
    rates = theirs["user", "rates", "movie"]
    pairs = torch.cat([rates.edge_index, rates.edge_label_index], dim=1) + torch.tensor([[0], [3]])
    assert torch.equal(found.edge_index, torch.cat([pairs, pairs.flip(0)], dim=1))
    assert found.rating.tolist() == [5, 3, 1, 4] * 2
    assert found.time[:3].tolist() == rates.time.tolist()


def test_a_tissue_is_what_pyg_reads(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    raw = tmp_path / "files"
    raw.mkdir()
    for part, first in (("train", 1), ("valid", 21), ("test", 23)):
        links = [(a, b) for a in range(9) for b in range(a, 9) if rng.random() < 0.7]
        links += [(a + 9, b + 9) for a, b in links if a != 3]
        nodes = [{"id": number} for number in range(18)]
        ends = [{"source": a, "target": b} for a, b in links]
        graph = {"directed": False, "multigraph": False, "graph": {}, "nodes": nodes, "links": ends}
        (raw / f"{part}_graph.json").write_text(json.dumps(graph))
        np.save(raw / f"{part}_feats.npy", rng.random((18, 4)))
        np.save(raw / f"{part}_labels.npy", rng.integers(2, size=(18, 3)))
        np.save(raw / f"{part}_graph_id.npy", np.repeat([first, first + 1], 9))
    root = link_raw(tmp_path / "root", raw)
    for part, split in {"train": "train", "valid": "val"}.items():
        expected = read_by_pyg(PPI, root, split=split)
        for place in (0, 1):
            found, theirs = read_ppi(raw, part=part, graph=place), expected[place]
            assert_same(found, theirs, without=("edge_index",))
            assert set(map(tuple, found.edge_index.t().tolist())) == set(map(tuple, theirs.edge_index.t().tolist()))


def test_points_on_shapes_are_what_pyg_reads(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    raw = tmp_path / "files"
    names = {"train": ["02691156/a", "03642806/b"], "val": ["02691156/c"], "test": ["03642806/d"]}
    (raw / "train_test_split").mkdir(parents=True)
    kinds = ShapeNet.category_ids.values()
    for kind in kinds:
        (raw / kind).mkdir()
    for part, listed in names.items():
        text = json.dumps([f"shape_data/{name}" for name in listed])
        (raw / "train_test_split" / f"shuffled_{part}_file_list.json").write_text(text)
        for name in listed:
            points = np.column_stack([rng.random((20, 6)).round(5), rng.integers(4, size=20)])
            np.savetxt(raw / f"{name}.txt", points, fmt="%.6f")
    found = read_shapenet(raw, k=3)
    root = link_raw(tmp_path / "root", raw)
    theirs = [graph for part in names for graph in read_by_pyg(ShapeNet, root, split=part)]
    assert len(found) == len(theirs) == 4
    for graph, expected in zip(found, theirs, strict=True):
        assert all(torch.equal(graph[key], expected[key]) for key in ("x", "pos", "y"))
        assert torch.bincount(graph.edge_index[0]).min() >= 3
        assert graph.is_undirected()
    assert [bool(graph.val_mask.all()) for graph in found] == [False, False, True, False]
    assert [bool(graph.train_mask.any()) for graph in found] == [True, True, False, False]
    (raw / "02691156/a.txt").write_text("1 2 3\n")
    with pytest.raises(ValueError, match="3 columns, 7 are expected"):
        read_shapenet(raw, k=3)
