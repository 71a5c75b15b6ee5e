"""Graphs that do not fit into memory, frozen in portions, and a single one in blocks.

Every portion is collated and laid aside on the disk; then the portions of each tensor are copied one after another into
the frozen file. The folder is, byte for byte, the one that freezing all graphs at once would give; blocks of a single
graph are written where they belong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.card import Card, Field, card_to_json, make_card
from gnz_track.datasets.collation import SPLIT, RunningFacts, check_split, choose_cut, collate, describe, pointer_of
from gnz_track.datasets.frozen import CARD, TENSORS, FrozenDataset, open_frozen, write_tensors
from gnz_track.datasets.mapped_tensors import (
    ITEM_BYTES,
    Entry,
    MappedTensors,
    digest_of_file,
    read_header,
    write_header,
)
from gnz_track.datasets.tensor_types import CODES
from gnz_track.errors import BadValue
from gnz_track.files import publish, refuse_foreign, temporary_beside
from gnz_track.types import DatasetRow

__all__ = ["BlockedGraph", "freeze_blocks", "freeze_stream"]

# A portion is full at this many bytes or graphs.
LARGEST_BYTES, LARGEST_COUNT = 1 << 22, 1_024
_PIECE = 1 << 20


def freeze_stream(
    graphs: Iterable[Data],
    folder: str | Path,
    *,
    row: DatasetRow,
    seed: int | None = None,
    split: Tensor | Sequence[int] | None = None,
    accept: Callable[[Card], None] | None = None,
) -> FrozenDataset:
    """Write graphs as they come into a frozen folder and open it; see :func:`~gnz_track.datasets.frozen.freeze`.

    Memory holds one portion of graphs and a few numbers for each graph.

    Parameters
    ----------
    graphs, folder, row, seed
    split
        Published part of each graph ``[n_graphs]``: 0 train, 1 validation, 2 test.
    accept
        Is shown the card before anything appears, and may raise.
    """
    folder = Path(folder).absolute()
    refuse_foreign(folder, (CARD, TENSORS))
    with temporary_beside(folder) as aside, temporary_beside(folder) as temporary:
        pile = _Pile(aside)
        for portion in _portions(graphs):
            pile.add(portion)
        fields = pile.write(temporary / TENSORS, None if split is None else torch.as_tensor(split))
        digest = digest_of_file(temporary / TENSORS)
        facts = pile.facts.finish() | {"fields": fields, "has_num_nodes": pile.has_num_nodes}
        card = make_card(row, seed=seed, digest=digest, **facts)
        if accept is not None:
            accept(card)
        (temporary / CARD).write_text(card_to_json(card), encoding="utf-8", newline="\n")
        publish(temporary, folder)
    return open_frozen(folder)


@dataclass(frozen=True, kw_only=True)
class BlockedGraph:
    """One graph, block by block.

    ``shapes`` has the type and shape of each tensor, x and ``edge_index`` among them. ``blocks()`` yields the name of a
    tensor, the place of a block's first number among all of its numbers, and the block; together they are all of it.
    """

    shapes: Mapping[str, tuple[torch.dtype, tuple[int, ...]]]
    blocks: Callable[[], Iterator[tuple[str, int, Tensor]]]


def freeze_blocks(
    graph: BlockedGraph,
    folder: str | Path,
    *,
    row: DatasetRow,
    seed: int | None = None,
    accept: Callable[[Card], None] | None = None,
) -> FrozenDataset:
    """Write one graph into a frozen folder as its blocks come, and open it; memory holds one block.

    Parameters
    ----------
    graph, folder, row, seed
    accept
        Is shown the card before anything appears, and may raise.
    """
    folder = Path(folder).absolute()
    refuse_foreign(folder, (CARD, TENSORS))
    counts = {"node": [graph.shapes["x"][1][0]], "edge": [graph.shapes["edge_index"][1][1]]}
    with temporary_beside(folder) as temporary:
        path = temporary / TENSORS
        _write_blocks(graph, path, {f"ptr/{along}": pointer_of(lengths) for along, lengths in counts.items()})
        tensors = MappedTensors(path)
        low, high = torch.aminmax(tensors["edge_index"])
        if int(low) < 0 or int(high) >= counts["node"][0]:
            raise BadValue("edge_index", f"{int(low)} to {int(high)}", f"node numbers, 0 to {counts['node'][0] - 1}")
        dims = {key: 1 if key == "edge_index" else 0 for key in graph.shapes}
        lengths = {key: [graph.shapes[key][1][dim]] for key, dim in dims.items()}
        fields = {key: choose_cut(lengths[key], counts, kind="tensor", dim=dim) for key, dim in sorted(dims.items())}
        facts: dict[str, Any] = describe(tensors) | {"fields": fields, "has_num_nodes": False}
        card = make_card(row, seed=seed, digest=digest_of_file(path), **facts)
        if accept is not None:
            accept(card)
        (temporary / CARD).write_text(card_to_json(card), encoding="utf-8", newline="\n")
        publish(temporary, folder)
    return open_frozen(folder)


def _write_blocks(graph: BlockedGraph, path: Path, small: Mapping[str, Tensor]) -> None:
    """Write each block to its place; every number has to come once."""
    shapes = {name: (CODES[dtype], shape) for name, (dtype, shape) in graph.shapes.items()}
    shapes |= {name: (CODES[tensor.dtype], tuple(tensor.shape)) for name, tensor in small.items()}
    header, _ = write_header(shapes)
    left = {name: math.prod(shape) for name, (_, shape) in shapes.items()}
    with path.open("wb") as file:
        file.write(header)
        file.truncate(len(header) + sum(n * ITEM_BYTES[shapes[name][0]] for name, n in left.items()))
    entries = read_header(path)
    with path.open("r+b") as file:
        for name, first, block in chain(((name, 0, tensor) for name, tensor in small.items()), graph.blocks()):
            entry = entries[name]
            if CODES[block.dtype] != entry.dtype:
                raise BadValue(f"a block of {name!r}", CODES[block.dtype], entry.dtype)
            file.seek(entry.begin + first * ITEM_BYTES[entry.dtype])
            file.write(block.contiguous().numpy().tobytes())
            left[name] -= block.numel()
    odd = {name: n for name, n in left.items() if n}
    if odd:
        raise BadValue("the blocks of a graph", f"numbers that are left: {odd}", "every number of every tensor once")


def _portions(graphs: Iterable[Data]) -> Iterator[list[Data]]:
    portion: list[Data] = []
    n_bytes = 0
    for graph in graphs:
        portion.append(graph)
        if isinstance(graph, Data):
            n_bytes += sum(value.nbytes for value in graph.to_dict().values() if isinstance(value, Tensor))
        if n_bytes >= LARGEST_BYTES or len(portion) >= LARGEST_COUNT:
            yield portion
            portion, n_bytes = [], 0
    if portion:
        yield portion


@dataclass
class _StreamedField:
    """One field on its way: how it is cut in portions, one entry for each of these, its length in each graph."""

    cut: Field
    entries: list[Entry] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of all portions together."""
        shape = list(self.entries[0].shape)
        shape[self.cut.dim] = sum(entry.shape[self.cut.dim] for entry in self.entries)
        return tuple(shape)


class _Pile:
    """Portions of collated graphs in a folder, and what is known of them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.facts, self.has_num_nodes = folder, RunningFacts(), False
        self._paths: list[Path] = []
        self._columns: dict[str, _StreamedField] = {}
        self._counts: dict[str, list[int]] = {"node": [], "edge": []}

    def add(self, graphs: list[Data]) -> None:
        """Lay one more portion aside."""
        first = len(self._counts["node"])
        collated = collate(graphs, first=first)
        tensors = dict(collated.tensors)
        self.facts.add(tensors)
        self.has_num_nodes |= collated.has_num_nodes
        counts = {along: tensors.pop(f"ptr/{along}").diff().tolist() for along in self._counts}
        fields = collated.fields
        lengths = {key: _lengths_of(found, tensors.pop(f"cut/{key}", None), counts) for key, found in fields.items()}
        path = self.folder / f"{len(self._paths)}.safetensors"
        write_tensors(tensors, path)
        entries = read_header(path)
        if not self._paths:
            self._columns = {key: _StreamedField(found) for key, found in fields.items()}
        self._check_same(entries, fields, first)
        for key, column in self._columns.items():
            column.entries.append(entries[key])
            column.lengths += lengths[key]
        for along, listed in counts.items():
            self._counts[along] += listed
        self._paths.append(path)

    def _check_same(self, entries: Mapping[str, Entry], fields: Mapping[str, Field], first: int) -> None:
        """Raise where a portion does not go with the first one; within a portion, collating has checked it."""
        odd = sorted(self._columns.keys() ^ fields.keys())
        if odd:
            what = "missing" if odd[0] in self._columns else "extra"
            raise BadValue(f"field {odd[0]!r} of graph {first}", what, "the same fields in all graphs of a list")
        for key, column in self._columns.items():
            known, found = column.entries[0] if column.entries else entries[key], entries[key]
            kinds = [(one.kind, one.dim, one.along == "each") for one in (column.cut, fields[key])]
            shapes = [_without_dimension(entry.shape, column.cut.dim) for entry in (known, found)]
            if kinds[0] != kinds[1] or shapes[0] != shapes[1] or known.dtype != found.dtype:
                told = f"{fields[key].kind} {found.dtype} {list(found.shape)}"
                before = f"{column.cut.kind} {known.dtype} {list(known.shape)}"
                allowed = f"{before} as before, dimension {column.cut.dim} free"
                raise BadValue(f"field {key!r} from graph {first} on", told, allowed)

    def write(self, path: Path, split: Tensor | None) -> dict[str, Field]:
        """Write all portions as one file; return how its fields are cut."""
        if not self._paths:
            raise BadValue("the number of graphs", 0, "at least one")
        fields = {key: self._cut(column) for key, column in self._columns.items()}
        small = {f"ptr/{along}": pointer_of(counts) for along, counts in self._counts.items()}
        own = [key for key, found in fields.items() if found.along == "own"]
        small |= {f"cut/{key}": pointer_of(self._columns[key].lengths) for key in own}
        if split is not None:
            small[SPLIT] = check_split(split, len(self._counts["node"]))
        shapes = {name: (CODES[tensor.dtype], tuple(tensor.shape)) for name, tensor in small.items()}
        shapes |= {key: (column.entries[0].dtype, column.shape) for key, column in self._columns.items()}
        header, names = write_header(shapes)
        with path.open("wb") as file:
            file.write(header)
            for name in names:
                if name in small:
                    file.write(small[name].numpy().tobytes())
                else:
                    self._copy(self._columns[name], file)
        return fields

    def _cut(self, column: _StreamedField) -> Field:
        if column.cut.along == "each":
            return column.cut
        return choose_cut(column.lengths, self._counts, kind=column.cut.kind, dim=column.cut.dim)

    def _copy(self, column: _StreamedField, target: BinaryIO) -> None:
        """Copy one tensor: for each index before the dimension that grows, the stretches of all portions."""
        dim, itemsize = column.cut.dim, ITEM_BYTES[column.entries[0].dtype]
        with ExitStack() as stack:
            sources = [stack.enter_context(path.open("rb")) for path in self._paths]
            for index in range(math.prod(column.shape[:dim])):
                for source, entry in zip(sources, column.entries, strict=True):
                    n_bytes = math.prod(entry.shape[dim:]) * itemsize
                    source.seek(entry.begin + index * n_bytes)
                    _copy_bytes(source, target, n_bytes)


def _lengths_of(found: Field, pointer: Tensor | None, counts: Mapping[str, list[int]]) -> list[int]:
    """Return how long a field is in each graph of a portion; nothing for one index a graph."""
    if pointer is not None:
        return pointer.diff().tolist()
    return {"fixed": [found.stride] * len(counts["node"]), "each": [], **counts}[found.along]


def _without_dimension(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return shape[:dim] + shape[dim + 1 :]


def _copy_bytes(source: BinaryIO, target: BinaryIO, n_bytes: int) -> None:
    while n_bytes:
        piece = source.read(min(_PIECE, n_bytes))
        target.write(piece)
        n_bytes -= len(piece)
