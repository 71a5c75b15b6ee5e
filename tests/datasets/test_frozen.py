"""The frozen form: exact, byte-identical, mapped, and whole or refused."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data, HeteroData

from gnz_track.datasets.frozen import FrozenDataset, freeze, open_frozen
from gnz_track.errors import BadValue, DataCorrupted, DataMissing, DataUnusable, GnzError
from gnz_track.types import DatasetRow

Freezer = Callable[..., FrozenDataset]
FILES = ("card.json", "tensors.safetensors")
HAS_SMAPS = Path("/proc/self/smaps").exists()
DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
)


def _tensor(shape: list[int], dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    return (torch.rand(shape, generator=generator) * 9).to(dtype)


@dataclass(frozen=True)
class _Sizes:
    """A graph to make: n nodes, m edges, numbers drawn from g, values of dtype t, c columns."""

    n: int
    m: int
    g: torch.Generator
    t: torch.dtype
    c: int


MAKERS: dict[str, Callable[[_Sizes], Any]] = {
    "x": lambda s: _tensor([s.n, s.c], s.t, s.g),
    "edge_attr": lambda s: _tensor([s.m, s.c], s.t, s.g),
    "edge_weight": lambda s: _tensor([s.m], torch.float32, s.g),
    "edge_type": lambda s: _tensor([s.m], torch.int64, s.g),
    "y": lambda s: _tensor([[s.n], [1, s.c], [], [s.c]][s.c % 4], s.t, s.g),
    "pos": lambda s: _tensor([s.n, 3], torch.float64, s.g),
    "train_mask": lambda s: _tensor([s.n], torch.bool, s.g),
    "test_mask": lambda s: _tensor([s.n, s.c], torch.bool, s.g),
    "train_edge_index": lambda s: _tensor([2, 2 * s.m + 1], torch.int64, s.g),
    "train_edge_type": lambda s: _tensor([2 * s.m + 1], torch.int64, s.g),
    "num_nodes": lambda s: s.n,
    "anything": lambda s: _tensor([s.n % 3, 2, s.c], s.t, s.g),
    "node": lambda s: _tensor([s.n % 3 + 1], s.t, s.g),
    "count": lambda s: -s.n * 10**12,
    "ratio": lambda s: [float("inf"), 0.1 * s.n][s.n % 2],
    "flag": lambda s: bool(s.n % 2),
    "text": lambda s: "Zürich\n" * (s.n % 3),
}


@st.composite
def lists_of_graphs(draw: st.DrawFn) -> list[Data]:
    """Draw one to five graphs with the same random fields."""
    names = draw(st.lists(st.sampled_from(sorted(MAKERS)), unique=True))
    dtype, columns = draw(st.sampled_from(DTYPES)), draw(st.integers(1, 4))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    graphs = []
    for n in draw(st.lists(st.integers(0, 6), min_size=1, max_size=5)):
        m = draw(st.integers(0, 8)) if n else 0
        fields = {name: MAKERS[name](_Sizes(n, m, generator, dtype, columns)) for name in names}
        edges = (torch.rand([2, m], generator=generator) * n).long()
        graphs.append(Data(edge_index=edges, **fields))
    return graphs


def assert_same(found: Data, expected: Data) -> None:
    """Hold two graphs equal: fields, types, shapes, bytes. A graph that PyG could not count may gain num_nodes."""
    assert set(found.keys()) - {"num_nodes"} == set(expected.keys()) - {"num_nodes"}
    for key in expected.keys():  # noqa: SIM118  (iterating a Data gives pairs)
        value, wanted = found[key], expected[key]
        assert type(value) is type(wanted), key
        if isinstance(wanted, torch.Tensor):
            assert (value.dtype, value.shape) == (wanted.dtype, wanted.shape), key
            assert torch.equal(value, wanted), key
        else:
            assert value == wanted, key


@settings(deadline=None, max_examples=150)
@given(graphs=lists_of_graphs())
def test_graphs_come_back_exactly(frozen_from: Freezer, graphs: list[Data]) -> None:
    dataset = frozen_from(graphs)
    assert len(dataset) == len(graphs)
    for found, expected in zip(dataset, graphs, strict=True):
        assert_same(found, expected)
    assert open_frozen(dataset.folder, verify=True).digest == dataset.digest
    assert len(dataset.digest) == 32


@settings(deadline=None, max_examples=40)
@given(graphs=lists_of_graphs())
def test_every_rewrite_is_byte_identical(frozen_from: Freezer, graphs: list[Data]) -> None:
    reordered = [Data(**{key: graph[key] for key in reversed(graph.keys())}) for graph in graphs]
    first, second = frozen_from(graphs).folder, frozen_from(reordered).folder
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in FILES)
    again = frozen_from(list(open_frozen(first))).folder
    assert all((first / name).read_bytes() == (again / name).read_bytes() for name in FILES)


FREEZE_IN_A_PROCESS = """
import sys, warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch_geometric
from pathlib import Path
from gnz_track.datasets.preparation import prepare
for name in ("grid_mines", "random_tsp", "les_miserables"):
    prepare(name, seed=3, home=Path(sys.argv[1]))
"""


def test_bytes_do_not_depend_on_process_path_or_hash_seed(tmp_path: Path, root: Path) -> None:
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)}
        home = tmp_path / f"home {seed}"
        subprocess.run([sys.executable, "-c", FREEZE_IN_A_PROCESS, str(home)], check=True, env=environment)
    one, other = (sorted(path for path in (tmp_path / f"home {seed}").rglob("*") if path.is_file()) for seed in (0, 1))
    assert len(one) == len(other) == 6
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


@given(place=st.integers(0, 10_000), value=st.integers(0, 255), file=st.sampled_from(FILES))
@settings(deadline=None, max_examples=300)
def test_a_changed_byte_is_found_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, row: DatasetRow, place: int, value: int, file: str
) -> None:
    folder = tmp_path_factory.mktemp("changed") / "set"
    dataset = freeze([_square(), _square()], folder, row=row)
    path = folder / file
    content = bytearray(path.read_bytes())
    place %= len(content)
    is_same = content[place] == value
    content[place] = value
    path.write_bytes(content)
    try:
        found = open_frozen(folder, verify=True)
        graphs = list(found)
    except GnzError:
        assert not is_same
        return
    # What passes is the same data: a byte of a card's prose may change, a byte of a tensor may not.
    assert found.digest == dataset.digest
    if file != "card.json":
        assert len(graphs) == 2
        for graph in graphs:
            assert_same(graph, _square())


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("keep", [0, 5, 100, -1])
def test_a_cut_file_is_refused_by_name(frozen_from: Freezer, file: str, keep: int) -> None:
    folder = frozen_from([_square()]).folder
    path = folder / file
    path.write_bytes(path.read_bytes()[: keep if keep >= 0 else -2])
    with pytest.raises(DataUnusable, match=r"cannot be used.*gnz data get"):
        open_frozen(folder)


def test_verify_names_what_it_expected_and_what_it_found(frozen_from: Freezer) -> None:
    dataset = frozen_from(_square())
    path = dataset.folder / "tensors.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataCorrupted, match=f"expected digest {dataset.digest}, found [0-9a-f]{{32}}"):
        open_frozen(dataset.folder, verify=True)


def test_a_card_without_its_words_is_refused(frozen_from: Freezer) -> None:
    folder = frozen_from(_square()).folder
    card = json.loads((folder / "card.json").read_text())
    for change in (
        {"format": 99},
        {"sizes": {}},
        {"fields": {"x": {}}},
        {"digest": 3},
        {"fields": {"z": {"kind": "tensor", "along": "node"}}},
    ):
        (folder / "card.json").write_text(json.dumps(card | change))
        with pytest.raises(DataUnusable):
            open_frozen(folder)


def test_a_missing_folder_says_how_to_fetch(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match="gnz data get absent"):
        open_frozen(tmp_path / "absent")


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([], "at least one graph"),
        ([Data(x=torch.ones(2, 1)), Data(x=torch.ones(2, 1), y=torch.ones(1))], "'y' of graph 1 is 'extra'"),
        ([Data(x=torch.ones(2, 1), y=torch.ones(1)), Data(x=torch.ones(2, 1))], "'y' of graph 1 is 'missing'"),
        ([Data(x=torch.ones(2, 1)), Data(x=torch.ones(2, 2))], r"'x' of graph 1.*dimension 0 free"),
        ([Data(x=torch.ones(2, 1)), Data(x=torch.ones(2, 1).long())], "int64"),
        ([Data(x=torch.ones(2, 1), k=1), Data(x=torch.ones(2, 1), k=1.0)], "'k' of graph 1"),
        ([Data(x=torch.ones(2, 1), k=2**63)], "at most 64 bits"),
        ([Data(x=torch.ones(2, 1), k={"a": 1})], "'k' of graph 0 is 'dict'"),
        ([Data(x=torch.ones(2, 1), k=torch.ones(2).to_sparse())], "dense tensor"),
        ([Data(x=torch.ones(2, 1), k=torch.ones(2) * 1j)], "real numbers"),
        ([Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [2]]))], r"\[0, 2\].*0 to 1"),
        ([Data(x=torch.ones(2, 1), edge_index=torch.tensor([[-1], [0]]))], "edge_index"),
        ([Data(x=torch.ones(2, 1), edge_index=torch.tensor([0, 1]))], "shape"),
        ([Data(k=1)], "number of nodes"),
        ([HeteroData()], "HeteroData"),
        ([Data(**{"ptr/x": torch.ones(2), "num_nodes": 2})], "without '/'"),
    ],
)
def test_graphs_that_do_not_fit_are_refused(frozen_from: Freezer, graphs: list[Any], message: str) -> None:
    with pytest.raises(BadValue, match=message):
        frozen_from(graphs)


def test_a_folder_of_the_user_is_never_replaced(tmp_path: Path, row: DatasetRow) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(BadValue, match="a new or empty folder, or a frozen dataset"):
        freeze(_square(), tmp_path, row=row)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_dataset_in_use_outlives_its_replacement(tmp_path: Path, row: DatasetRow) -> None:
    old = freeze(_square(), tmp_path / "set", row=row)
    before = old.tensors["x"].clone()
    freeze(Data(x=torch.zeros(9, 1)), tmp_path / "set", row=row)
    assert torch.equal(old.tensors["x"], before)
    assert open_frozen(tmp_path / "set").n_nodes == 9
    assert [path.name for path in tmp_path.iterdir()] == ["set"]
    with pytest.raises(DataCorrupted, match=old.digest):
        pickle.loads(pickle.dumps(old))


def test_it_pickles_by_folder(frozen_from: Freezer) -> None:
    dataset = frozen_from([Data(x=torch.rand(1_000, 10)) for _ in range(10)])
    travelled = pickle.dumps(dataset)
    assert len(travelled) < 1_000
    assert_same(pickle.loads(travelled)[3], dataset[3])


def test_graphs_are_views_and_a_write_never_reaches_the_disk(frozen_from: Freezer) -> None:
    dataset = frozen_from([_square(), _square()])
    start, graph = dataset.tensors["x"].data_ptr(), dataset[1]
    assert graph.x.data_ptr() == start + _square().x.nbytes
    graph.x += 1
    assert torch.equal(open_frozen(dataset.folder, verify=True)[1].x, _square().x)


def test_indices_count_from_both_ends(frozen_from: Freezer) -> None:
    dataset = frozen_from([Data(x=torch.full((1, 1), float(number))) for number in range(3)])
    assert float(dataset[-1].x) == 2.0
    for outside in (3, -4):
        with pytest.raises(IndexError, match="which has 3"):
            dataset[outside]


def test_the_card_counts(frozen_from: Freezer) -> None:
    relational = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), edge_type=torch.tensor([0, 4]), num_nodes=7)
    many = Data(
        x=torch.tensor([[1, 5], [3, 0]]),
        y=torch.tensor([[0.0, 1.0, float("nan")]]),
        edge_index=torch.tensor([[0], [1]]),
    )
    found = [frozen_from(graphs) for graphs in (_square(), relational, many)]
    assert [dataset.n_classes for dataset in found] == [3, 0, 3]
    assert [dataset.n_relations for dataset in found] == [0, 5, 0]
    assert [dataset.is_directed for dataset in found] == [False, True, True]
    assert [dataset.is_multi_label for dataset in found] == [False, False, True]
    assert [dataset.n_features for dataset in found] == [2, 0, 2]
    assert [dataset.n_nodes for dataset in found] == [4, 7, 2]
    assert found[2].card.vocabularies == (4, 6)


def test_what_is_collated_is_what_pyg_batches(frozen_from: Freezer) -> None:
    graphs = [_square(), Data(x=torch.rand(3, 2), y=torch.tensor([0, 1, 1]), edge_index=torch.tensor([[0, 2], [2, 0]]))]
    dataset, batch = frozen_from(graphs), Batch.from_data_list(graphs)
    assert torch.equal(dataset.global_edge_index, batch.edge_index)
    assert torch.equal(dataset.node_ptr, batch.ptr)
    assert torch.equal(dataset.tensors["x"], batch.x)


def _smaps(path: Path) -> dict[str, int]:
    """Return what the kernel says of this process's mapping of a file, in KiB; empty where it is not mapped."""
    lines = Path("/proc/self/smaps").read_text().splitlines()
    start = next((number for number, line in enumerate(lines) if line.endswith(str(path))), None)
    if start is None:
        return {}
    fields = [line.split() for line in lines[start + 1 : start + 20]]
    return {words[0].rstrip(":"): int(words[1]) for words in fields if words[-1] == "kB"}


@pytest.mark.skipif(not HAS_SMAPS, reason="needs /proc/self/smaps, which only Linux has")
def test_opening_reads_no_tensor_bytes(frozen_from: Freezer) -> None:
    folder = frozen_from(Data(x=torch.rand(50_000, 40), y=torch.zeros(50_000, dtype=torch.long))).folder
    dataset = open_frozen(folder)
    assert (dataset.n_features, len(dataset)) == (40, 1)
    assert _smaps(folder / "tensors.safetensors") == {}
    dataset[0]
    assert _smaps(folder / "tensors.safetensors")["Rss"] < 1_000  # pointers are read, x with its 7,812 KiB is not
    dataset.tensors["x"].sum()
    assert _smaps(folder / "tensors.safetensors")["Rss"] > 7_000


READ_AND_WAIT = """
import sys, warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch_geometric
from gnz_track.datasets.frozen import open_frozen
dataset = open_frozen(sys.argv[1])
print(float(dataset.tensors["x"].sum()), flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not HAS_SMAPS, reason="needs /proc/self/smaps, which only Linux has")
def test_two_processes_share_the_pages(frozen_from: Freezer, root: Path) -> None:
    dataset = frozen_from(Data(x=torch.rand(50_000, 40)))
    total = float(dataset.tensors["x"].sum())
    alone = _smaps(dataset.tensors.path)
    command = [sys.executable, "-c", READ_AND_WAIT, str(dataset.folder)]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=environment) as other:
        assert other.stdout is not None
        assert float(other.stdout.readline()) == pytest.approx(total)
        together = _smaps(dataset.tensors.path)
        assert other.stdin is not None
        other.stdin.close()
    assert alone["Pss"] > 7_000
    assert together["Shared_Clean"] > 7_000
    assert together["Pss"] < 0.6 * alone["Pss"]


def _square() -> Data:
    edges = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    return Data(
        x=torch.arange(8.0).reshape(4, 2),
        y=torch.tensor([0, 1, 2, -1]),
        edge_index=torch.cat([edges, edges.flip(0)], dim=1),
    )
