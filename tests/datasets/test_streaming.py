"""Freezing in portions gives the bytes of freezing at once, and holds one portion at a time."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from gnz_track.datasets import streaming as portions
from gnz_track.datasets.card import Card
from gnz_track.datasets.frozen import freeze, open_frozen
from gnz_track.datasets.mapped_tensors import digest_of, digest_of_file
from gnz_track.datasets.streaming import freeze_stream
from gnz_track.errors import BadValue
from gnz_track.types import DatasetRow

FILES = ("card.json", "tensors.safetensors")
NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def _small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portions, "LARGEST_COUNT", 3)


def _draw(shape: list[int], generator: torch.Generator, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (torch.rand(shape, generator=generator) * 9).to(dtype)


# One entry a field: how it is made of nodes n, edges m, a generator, and the number of the graph.
FIELDS: dict[str, Callable[[int, int, torch.Generator, int], Any]] = {
    "x": lambda n, _, g, __: _draw([n, 3], g),
    "codes": lambda n, _, g, __: _draw([n], g, torch.int64),
    "edge_attr": lambda _, m, g, __: _draw([m, 2], g, torch.float64),
    "edge_type": lambda _, m, g, __: _draw([m], g, torch.int64),
    "edge_label_index": lambda n, _, g, i: torch.randint(n, (2, i % 4), generator=g),
    "edge_label": lambda _, __, g, i: _draw([i % 4], g, torch.int64),
    "train_edge_index": lambda n, _, g, __: torch.randint(n, (2, 5), generator=g),
    "y": lambda _, __, g, ___: _draw([1], g, torch.int64),
    "graph_y": lambda _, __, g, ___: _draw([1, 3], g),
    "labels": lambda _, __, g, ___: torch.rand([], generator=g).bfloat16(),
    "is_odd": lambda n, _, __, ___: n % 2 == 1,
    "count": lambda _, __, ___, i: i * 10**12,
    "ratio": lambda _, __, ___, i: i / 7,
    "title": lambda _, __, ___, i: "é" * (i % 5),
    "sides": lambda n, _, g, __: _draw([n, 2, 2], g, torch.float16),
    "num_nodes": lambda n, _, __, ___: n,
}


def _graph(fields: list[str], number: int, seed: int, *, is_fixed: bool) -> Data:
    generator = torch.Generator().manual_seed(1_000 * seed + number)
    n = 4 if is_fixed else 1 + number * 7 % 5
    m = 6 if is_fixed else number * 5 % 4
    edges = torch.randint(n, (2, m), generator=generator)
    return Data(edge_index=edges, **{name: FIELDS[name](n, m, generator, number) for name in fields})


def _equal(one: Path, other: Path) -> bool:
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in FILES)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    fields=st.lists(st.sampled_from(sorted(FIELDS)), unique=True),
    n_graphs=st.integers(1, 11),
    seed=st.integers(0, 99),
    is_fixed=st.booleans(),
    n_splits=st.integers(0, 2),
)
def test_portions_give_the_bytes_of_the_whole(
    tmp_path: Path,
    row: DatasetRow,
    fields: list[str],
    n_graphs: int,
    seed: int,
    is_fixed: bool,  # noqa: FBT001
    n_splits: int,
) -> None:
    # Without nodes to count, PyG counts those that edges name: give every such graph its number.
    fields = sorted({*fields, *([] if "x" in fields else ["num_nodes"])})
    graphs = [_graph(fields, number, seed, is_fixed=is_fixed) for number in range(n_graphs)]
    one = torch.arange(n_graphs) % 3
    split = [None, one, torch.stack([one, one.flip(0)], dim=1)][n_splits]
    here = tmp_path / str(next(NUMBERS))
    whole = freeze(graphs, here / "whole", row=row, split=split)
    stream = freeze_stream(iter(graphs), here / "stream", row=row, split=split)
    assert _equal(whole.folder, stream.folder)
    assert digest_of_file(stream.tensors.path) == digest_of(stream.tensors) == whole.digest
    assert sorted(path.name for path in here.iterdir()) == ["stream", "whole"]
    open_frozen(stream.folder, verify=True)


@pytest.mark.parametrize(
    "label",
    [
        # Several labels in one portion, whole numbers above one in the next.
        lambda i: torch.tensor([[i % 2, i // 3]]),
        lambda i: torch.tensor([[i % 2, 1 - i % 2]]),
        lambda i: torch.tensor([[float(i % 2), torch.nan]]),
        lambda i: torch.tensor([[float(i % 2), i / 7]]),
        lambda i: torch.tensor([i // 2]),
    ],
)
def test_facts_of_labels_are_those_of_the_whole(label: Any, tmp_path: Path, row: DatasetRow) -> None:
    graphs = [Data(x=torch.tensor([[i, 7 - i]]), y=label(i)) for i in range(8)]
    whole = freeze(graphs, tmp_path / "whole", row=row)
    assert _equal(whole.folder, freeze_stream(graphs, tmp_path / "stream", row=row).folder)


def test_one_directed_graph_is_found_among_many(tmp_path: Path, row: DatasetRow) -> None:
    both, one_way = torch.tensor([[0, 1], [1, 0]]), torch.tensor([[0], [1]])
    for place in (None, 0, 4, 6):
        graphs = [Data(edge_index=one_way if i == place else both, num_nodes=2) for i in range(7)]
        assert freeze_stream(graphs, tmp_path / str(place), row=row).is_directed is (place is not None)


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (Data(x=torch.ones(2, 4)), r"field 'x' .*graph [67].*\[2, 4\]"),
        (Data(x=torch.ones(2, 3).double()), "field 'x' .*graph [67].*(float64|F64)"),
        (Data(pos=torch.ones(2, 3)), "field '(x|pos)' of graph [67] is '(extra|missing)'"),
        ("a text", "graph 6 is 'str'"),
    ],
)
@pytest.mark.parametrize("n_after", [0, 1])
def test_a_graph_unlike_the_others_is_named(
    odd: Any, message: str, n_after: int, tmp_path: Path, row: DatasetRow
) -> None:
    usual = Data(x=torch.ones(2, 3))
    # The first of a portion, alone and in company: with it in the lead, the next one is unlike it.
    with pytest.raises(BadValue, match=message):
        freeze_stream([usual] * 6 + [odd] + [usual] * n_after, tmp_path / "frozen", row=row)
    assert not list(tmp_path.iterdir())


def test_nothing_appears_where_there_is_nothing_or_it_is_refused(tmp_path: Path, row: DatasetRow) -> None:
    with pytest.raises(BadValue, match="the number of graphs is 0"):
        freeze_stream([], tmp_path / "frozen", row=row)
    seen: list[Card] = []

    def refuse(card: Card) -> None:
        seen.append(card)
        raise LookupError

    with pytest.raises(LookupError):
        freeze_stream([Data(x=torch.ones(2, 3))] * 5, tmp_path / "frozen", row=row, accept=refuse)
    assert seen[0].sizes["n_nodes"] == 10
    assert not list(tmp_path.iterdir())


def test_graphs_are_let_go_as_portions_are_full(tmp_path: Path, row: DatasetRow) -> None:
    n_alive = most = 0

    class Counted(Data):
        def __del__(self) -> None:
            nonlocal n_alive
            n_alive -= 1

    def draw() -> Iterator[Data]:
        nonlocal n_alive, most
        for _ in range(60):
            n_alive += 1
            most = max(most, n_alive)
            yield Counted(x=torch.ones(4, 2))

    freeze_stream(draw(), tmp_path / "frozen", row=row)
    assert most <= 8


PEAK = """
import sys, warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch, torch_geometric
from torch_geometric.data import Data
from gnz_track.datasets.streaming import freeze_stream
from gnz_track.types import DatasetRow
from gnz_track.training.usage import Gauge
facts = {"loader": "", "source": "-", "licence": "-", "citation": "-"}
row = DatasetRow(name="n", category="custom", task_types=("graph_cls",), **facts)
ring = torch.stack([torch.arange(100), torch.arange(100).roll(1)])
graphs = (Data(x=torch.rand(100, 64), edge_index=ring, y=torch.tensor([i % 2])) for i in range(int(sys.argv[2])))
with Gauge() as gauge:
    freeze_stream(graphs, sys.argv[1], row=row)
print(gauge.peak_rss_mib)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux forgets a peak of memory")
@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_graphs(tmp_path: Path) -> None:
    def peak(n_graphs: int) -> float:
        command = [sys.executable, "-c", PEAK, str(tmp_path / str(n_graphs)), str(n_graphs)]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    few, many = peak(1_500), peak(6_000)
    size = (tmp_path / "6000" / "tensors.safetensors").stat().st_size / 2**20
    assert size > 140
    assert many - few < 30
