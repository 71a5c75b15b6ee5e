"""Lists of graphs: equal to what PyG reads from the same files, in the published parts."""

from __future__ import annotations

import io
import pickle
import tarfile
import zipfile
from pathlib import Path

import pytest
import torch
from raw_roots import assert_same, link_raw, read_by_pyg
from torch_geometric.data import Data
from torch_geometric.datasets import (
    AQSOL,
    ZINC,
    GNNBenchmarkDataset,
    LRGBDataset,
    MalNetTiny,
    MNISTSuperpixels,
    MoleculeNet,
)
from torch_geometric.transforms import FaceToEdge

from gnz_track.datasets.readers.graph_sets import (
    read_first_graphs,
    read_graph_list,
    read_graph_parts,
    read_malnet,
    read_skip_links,
)
from gnz_track.datasets.readers.images_and_shapes import parse_off, read_modelnet
from gnz_track.datasets.readers.molecules import read_aqsol, read_moleculenet, read_peptides, read_zinc
from gnz_track.datasets.readers.raw_files import GraphParts, with_validation

PARTS = ("train", "val", "test")


def _assert_all_same(found: list[Data], expected: object) -> None:
    theirs = list(expected)  # type: ignore[call-overload]
    assert len(found) == len(theirs)
    for ours, other in zip(found, theirs, strict=True):
        assert_same(ours, other)


@pytest.mark.mirror
def test_aqsol_is_what_pyg_reads(tmp_path: Path, mirror: Path) -> None:
    root = link_raw(tmp_path, mirror / "AQSOL/raw")
    for found, part in zip(read_aqsol(mirror / "AQSOL/raw"), PARTS, strict=True):
        _assert_all_same(found, read_by_pyg(AQSOL, root, split=part))


@pytest.mark.mirror
def test_skip_links_are_what_pyg_reads(tmp_path: Path, mirror: Path) -> None:
    raw = mirror / "GNNBenchmarkDataset/CSL/raw"
    expected = read_by_pyg(GNNBenchmarkDataset, link_raw(tmp_path, raw, "CSL"), "CSL")
    found = read_skip_links(raw)
    assert len(found) == len(expected) == 150
    for ours, theirs in zip(found, expected, strict=True):
        assert_same(ours, theirs, without=("y", "edge_index"))
        assert int(ours.y) == int(theirs.y)
        assert set(map(tuple, ours.edge_index.t().tolist())) == set(map(tuple, theirs.edge_index.t().tolist()))


@pytest.mark.mirror
@pytest.mark.parametrize(
    ("name", "file", "target"),
    [
        ("esol", "delaney-processed.csv", "measured log solubility in mols per litre"),
        ("freesolv", "SAMPL.csv", "expt"),
    ],
)
def test_molecules_are_what_pyg_reads(tmp_path: Path, mirror: Path, name: str, file: str, target: str) -> None:
    pytest.importorskip("rdkit", reason="the extra chem is not installed: no rdkit")
    raw = mirror / "MoleculeNet" / name / "raw"
    expected = read_by_pyg(MoleculeNet, link_raw(tmp_path, raw, name), name)
    found = read_moleculenet(raw, file=file, target=target)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert_same(ours, theirs, without=("y",))
        assert torch.equal(ours.y, theirs.y[0])


def _molecule(seed: int) -> dict[str, object]:
    generator = torch.Generator().manual_seed(seed)
    bonds = torch.randint(4, (5, 5), generator=generator).triu(1)
    return {
        "num_atom": 5,
        "atom_type": torch.randint(28, (5,), generator=generator),
        "bond_type": bonds + bonds.t(),
        "logP_SA_cycle_normalized": torch.rand(1, generator=generator),
    }


def _write_zinc(raw: Path) -> None:
    raw.mkdir()
    for place, part in enumerate(PARTS):
        (raw / f"{part}.pickle").write_bytes(pickle.dumps([_molecule(10 * place + seed) for seed in range(6)]))
        (raw / f"{part}.index").write_text("0,3,5\n")


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated:UserWarning")
@pytest.mark.parametrize("is_subset", [True, False])
def test_zinc_is_what_pyg_reads(tmp_path: Path, *, is_subset: bool) -> None:
    _write_zinc(tmp_path / "files")
    root = link_raw(tmp_path / "root", tmp_path / "files")
    for found, part in zip(read_zinc(tmp_path / "files", is_subset=is_subset), PARTS, strict=True):
        assert len(found) == (3 if is_subset else 6)
        _assert_all_same(found, read_by_pyg(ZINC, root, subset=is_subset, split=part))


class _Malicious:
    def __reduce__(self) -> tuple[object, ...]:
        return Path.mkdir, (Path("owned"),)


def test_a_pickle_of_molecules_may_not_run_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _write_zinc(tmp_path / "files")
    (tmp_path / "files" / "train.pickle").write_bytes(pickle.dumps([_Malicious()]))
    with pytest.raises(pickle.UnpicklingError, match="neither a tensor nor a plain container"):
        read_zinc(tmp_path / "files", is_subset=False)
    assert not (tmp_path / "owned").exists()


def _records(count: int, first: int) -> list[dict[str, torch.Tensor]]:
    edges = torch.tensor([[0, 1, 2, 0], [1, 0, 0, 2]])
    return [
        {"x": torch.rand(3, 1), "edge_index": edges, "pos": torch.rand(3, 2), "y": torch.tensor([place % 10])}
        for place in range(first, first + count)
    ]


def test_superpixels_with_two_parts_give_a_third(tmp_path: Path) -> None:
    raw = tmp_path / "files"
    raw.mkdir()
    torch.save([_records(21, 0), _records(4, 21)], raw / "MNISTSuperpixels.pt")
    root = link_raw(tmp_path / "root", raw)
    train, val, test = read_graph_parts(raw, file="MNISTSuperpixels.pt")
    theirs = list(read_by_pyg(MNISTSuperpixels, root, train=True))
    _assert_all_same(val, theirs[::10])
    _assert_all_same(train, [graph for place, graph in enumerate(theirs) if place % 10])
    _assert_all_same(test, read_by_pyg(MNISTSuperpixels, root, train=False))
    _assert_all_same(read_first_graphs(raw, file="MNISTSuperpixels.pt", first=7), theirs[:7])


def test_superpixels_with_three_parts_are_what_pyg_reads(tmp_path: Path) -> None:
    raw = tmp_path / "files"
    raw.mkdir()
    torch.save([_records(5, 0), _records(2, 5), _records(3, 7)], raw / "CIFAR10_v2.pt")
    root = link_raw(tmp_path / "root", raw, "CIFAR10")
    for found, part in zip(read_graph_parts(raw, file="CIFAR10_v2.pt"), PARTS, strict=True):
        _assert_all_same(found, read_by_pyg(GNNBenchmarkDataset, root, "CIFAR10", split=part))


def test_a_list_without_parts_is_read_whole(tmp_path: Path) -> None:
    torch.save([{**record, "name": "gdb 1"} for record in _records(3, 0)], tmp_path / "qm9_v3.pt")
    found = read_graph_list(tmp_path, file="qm9_v3.pt")
    assert [(graph.num_nodes, graph.name, int(graph.y)) for graph in found] == [
        (3, "gdb 1", place) for place in range(3)
    ]


def test_tensor_files_may_not_run_anything(tmp_path: Path) -> None:
    torch.save([_Malicious()], tmp_path / "qm9_v3.pt")
    with pytest.raises(pickle.UnpicklingError, match="more than tensors"):
        read_graph_list(tmp_path, file="qm9_v3.pt")


def test_peptides_are_what_pyg_reads(tmp_path: Path) -> None:
    raw = tmp_path / "files"
    raw.mkdir()
    for count, part in zip((4, 2, 3), PARTS, strict=True):
        graphs = [
            (torch.randint(9, (5, 9)), torch.randint(3, (6, 3)), torch.randint(5, (2, 6)), torch.rand(1, 10).round())
            for _ in range(count)
        ]
        torch.save(graphs, raw / f"{part}.pt")
    root = link_raw(tmp_path / "root", raw, "peptides-func")
    for found, part in zip(read_peptides(raw), PARTS, strict=True):
        _assert_all_same(found, read_by_pyg(LRGBDataset, root, "Peptides-func", split=part))


CUBE = """OFF
8 6 0
0 0 0
1 0 0
1 1 0
0 1 0
0 0 1
1 0 1
1 1 1
0 1 1
4 0 1 2 3
4 4 5 6 7
4 0 1 5 4
4 1 2 6 5
4 2 3 7 6
4 3 0 4 7
"""
TRIANGLES = "OFF4 2 0\n0 0 0\n1 0 0\n0 1 0\n9 9 9\n3 0 1 2\n3 2 1 0\n"


@pytest.mark.parametrize("text", [CUBE, TRIANGLES, CUBE.replace("8 6 0", "# a cube\n\n8 6 12 # counts")])
def test_a_mesh_is_what_pyg_makes_of_it(tmp_path: Path, text: str) -> None:
    from torch_geometric.io import read_off

    plain = "\n".join(line for line in text.replace(" # counts", "").splitlines() if line and line[0] != "#") + "\n"
    (tmp_path / "a.off").write_text(plain)
    expected = FaceToEdge()(read_off(str(tmp_path / "a.off")))
    found = parse_off(text)
    assert torch.equal(found.pos, expected.pos)
    assert torch.equal(found.edge_index, expected.edge_index)


def test_a_mesh_that_stops_short_is_refused() -> None:
    with pytest.raises(ValueError, match="13 lines for 8 corners and 6 faces"):
        parse_off(CUBE.rpartition("4 3 0")[0])


def _write_modelnet(raw: Path) -> None:
    for kind in ("bed", "bathtub"):
        for part, count in (("train", 11), ("test", 2)):
            (raw / kind / part).mkdir(parents=True)
            for number in range(count):
                text = CUBE if kind == "bed" else TRIANGLES.replace("9 9 9", f"9 9 {number}")
                (raw / kind / part / f"{kind}_{number:04}.off").write_text(text)


def _summary(parts: GraphParts) -> list[list[tuple[int, int, float]]]:
    return [[(graph.num_nodes, int(graph.y), float(graph.pos.sum())) for graph in part] for part in parts]


def test_shapes_are_read_from_the_archive_and_from_its_folder_alike(tmp_path: Path) -> None:
    raw, packed = tmp_path / "files", tmp_path / "packed"
    _write_modelnet(raw)
    packed.mkdir()
    with zipfile.ZipFile(packed / "ModelNet10.zip", "w") as archive:
        for path in raw.rglob("*.off"):
            archive.write(path, f"ModelNet10/{path.relative_to(raw)}")
        archive.writestr("__MACOSX/ModelNet10/bed/train/._bed_0001.off", "not a mesh")
    found = read_modelnet(raw, archive="ModelNet10.zip")
    assert _summary(found) == _summary(read_modelnet(packed, archive="ModelNet10.zip"))
    assert [len(part) for part in found] == [19, 3, 4]
    assert sorted({(graph.num_nodes, int(graph.y)) for part in found for graph in part}) == [(4, 0), (8, 1)]
    assert [int(graph.y) for graph in found[2]] == [0, 0, 1, 1]
    with pytest.raises(FileNotFoundError, match=r"ModelNet10\.zip"):
        read_modelnet(tmp_path / "nowhere", archive="ModelNet10.zip")


def _write_malnet(raw: Path) -> None:
    names = {"train": ["benign/a", "adware/x/b", "benign/c"], "val": ["adware/x/d"], "test": ["benign/e"]}
    (raw / "split_info_tiny/type").mkdir(parents=True)
    for place, (part, listed) in enumerate(names.items()):
        (raw / f"split_info_tiny/type/{part}.txt").write_text("\n".join(listed) + "\n")
        for number, name in enumerate(listed):
            path = raw / "malnet-graphs-tiny" / f"{name}.edgelist"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("# a\n# b\n# c\n# d\n# FromNodeId\tToNodeId\n" + f"0\t{number + 2}\n{place}\t1\n")


def test_call_graphs_are_what_pyg_reads(tmp_path: Path) -> None:
    raw, packed = tmp_path / "files", tmp_path / "packed"
    _write_malnet(raw)
    (packed / "split_info_tiny").mkdir(parents=True)
    (packed / "split_info_tiny/type").symlink_to(raw / "split_info_tiny/type")
    with tarfile.open(packed / "malnet-graphs-tiny.tar.gz", "w:gz") as archive:
        archive.add(raw / "malnet-graphs-tiny", "malnet-graphs-tiny")
        other = tarfile.TarInfo("malnet-graphs-tiny/benign/link.edgelist")
        other.type, other.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(other, io.BytesIO())
    root = link_raw(tmp_path / "root", raw)
    for folder in (raw, packed):
        for found, part in zip(read_malnet(folder), PARTS, strict=True):
            theirs = list(read_by_pyg(MalNetTiny, root, split=part))
            assert len(found) == len(theirs)
            for ours, expected in zip(found, theirs, strict=True):
                assert_same(ours, expected, without=("y",))
                # PyG numbers types as they come, we in alphabetical order.
                assert int(ours.y) == 1 - int(expected.y)


def test_validation_graphs_are_every_tenth_of_training() -> None:
    graphs = [Data(num_nodes=place) for place in range(25)]
    train, val, test = with_validation(graphs[:22], graphs[22:])
    assert [graph.num_nodes for graph in val] == [0, 10, 20]
    assert len(train) == 19
    assert [graph.num_nodes for graph in test] == [22, 23, 24]
