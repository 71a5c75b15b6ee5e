"""Frozen datasets: graphs written once as tensors with a card, byte-identical on every rewrite, mapped when opened.

A frozen dataset is a folder with ``tensors.safetensors`` and ``card.json`` and nothing else.
"""

from __future__ import annotations

import operator
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError

from gnz_track.datasets.card import CARD, Card, card_from_json, card_to_json, make_card
from gnz_track.datasets.mapped_tensors import MappedTensors, digest_of, digest_of_file
from gnz_track.errors import DataCorrupted, DataMissing, DataUnusable
from gnz_track.files import publish, refuse_foreign, temporary_beside
from gnz_track.types import DatasetRow

if TYPE_CHECKING:
    # What a card says, and whether the bytes are those that it names, can be known without Torch.
    from torch import Tensor
    from torch_geometric.data import Data

    from gnz_track.datasets.collation import Collated

__all__ = [
    "CARD",
    "TENSORS",
    "FrozenDataset",
    "check_bytes",
    "check_facts",
    "freeze",
    "freeze_collated",
    "open_frozen",
    "rebuilding_command",
    "write_tensors",
]

TENSORS = "tensors.safetensors"
# The library says what the system said as a text of its own, and by its number.
_OF_SYSTEM = re.compile(r"\(os error (\d+)\)")


class FrozenDataset(Sequence["Data"]):
    """Graphs in a frozen folder; ``dataset[i]`` is a ``Data`` of views, no copies. Pickles by folder.

    ``tensors`` maps names to collated tensors, read-only by convention: fields under their own names (``x``
    ``[n_nodes, ...]``, ``edge_index`` ``[2, n_edges]`` in the numbering of each graph, ``y``, ...), pointers under
    ``ptr/node``, ``ptr/edge`` and ``cut/<field>``.
    """

    def __init__(self, folder: Path, card: Card, tensors: MappedTensors) -> None:
        self.folder, self.card, self.tensors = folder, card, tensors
        self._pointers: dict[str, np.ndarray[Any, np.dtype[np.int64]]] = {}

    def __len__(self) -> int:
        return self.card.sizes["n_graphs"]

    def __getitem__(self, index: int) -> Data:  # type: ignore[override]
        """Return graph ``index`` as views of the collated tensors."""
        from torch_geometric.data import Data

        from gnz_track.datasets.collation import value_of

        position = operator.index(index)
        position += len(self) if position < 0 else 0
        if not 0 <= position < len(self):
            message = f"graph {index} of {self.name!r}, which has {len(self)}"
            raise IndexError(message)
        graph = Data()
        for key, field in self.card.fields.items():
            graph[key] = value_of(field, self.tensors[key], *self._range(key, position))
        if self.card.has_num_nodes:
            graph.num_nodes = operator.sub(*reversed(self._bounds("ptr/node", position)))
        return graph

    def __iter__(self) -> Iterator[Data]:
        return (self[index] for index in range(len(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.folder, self.digest)

    def __repr__(self) -> str:
        return f"FrozenDataset({self.name!r}, {len(self)} graphs, digest {self.digest})"

    @property
    def name(self) -> str:
        """Name of the dataset."""
        return self.card.name

    @property
    def digest(self) -> str:
        """Content digest, 32 hex characters."""
        return self.card.digest

    @property
    def node_ptr(self) -> Tensor:
        """First node of each graph in the collated tensors, and one past the last: ``[n_graphs + 1]``."""
        return self.tensors["ptr/node"]

    @property
    def edge_ptr(self) -> Tensor:
        """First edge of each graph in the collated tensors, and one past the last: ``[n_graphs + 1]``."""
        return self.tensors["ptr/edge"]

    @property
    def split(self) -> Tensor | None:
        """Published part of each graph ``[n_graphs]``, or several columns: 0 train, 1 validation, 2 test; or None."""
        from gnz_track.datasets.collation import SPLIT

        return self.tensors.get(SPLIT)

    @cached_property
    def global_edge_index(self) -> Tensor:
        """Edges ``[2, n_edges]`` numbered through all graphs; for one graph the stored tensor itself."""
        edges = self.tensors["edge_index"]
        if len(self) == 1:
            return edges
        return edges + self.node_ptr[:-1].repeat_interleave(self.edge_ptr.diff())

    @property
    def n_nodes(self) -> int:
        """Nodes of all graphs together."""
        return self.card.sizes["n_nodes"]

    @property
    def n_edges(self) -> int:
        """Columns of ``edge_index`` of all graphs together; an undirected edge counts twice, as in PyG."""
        return self.card.sizes["n_edges"]

    @property
    def n_features(self) -> int:
        """Columns of ``x``; 0 without features."""
        return self.card.sizes["n_features"]

    @property
    def n_classes(self) -> int:
        """Largest integer label plus one, or columns of a multi-label ``y``; 0 where ``y`` is a number to predict."""
        return self.card.sizes["n_classes"]

    @property
    def n_graph_targets(self) -> int:
        """Columns of ``graph_y``, the targets of graphs beside those of nodes; 0 without."""
        entry = self.tensors.entries.get("graph_y")
        return 0 if entry is None else entry.shape[-1]

    @property
    def n_relations(self) -> int:
        """Kinds of edges, inverse ones included where the graph has them; 0 for graphs without kinds."""
        return self.card.sizes["n_relations"]

    @property
    def is_directed(self) -> bool:
        """Whether some edge lacks its reverse, or edges have kinds."""
        return self.card.is_directed

    @property
    def is_multi_label(self) -> bool:
        """Whether ``y`` has several columns of 0, 1 or NaN."""
        return self.card.is_multi_label

    @property
    def is_relational(self) -> bool:
        """Whether the dataset is a set of triples with published parts."""
        return "train_edge_index" in self.tensors and self.n_relations > 0

    def _range(self, key: str, position: int) -> tuple[int, int]:
        field = self.card.fields[key]
        if field.along == "each":
            return position, position + 1
        if field.along == "fixed":
            return position * field.stride, (position + 1) * field.stride
        return self._bounds(f"cut/{key}" if field.along == "own" else f"ptr/{field.along}", position)

    def _bounds(self, name: str, position: int) -> tuple[int, int]:
        if name not in self._pointers:
            self._pointers[name] = self._checked_pointer(name)
        pointer = self._pointers[name]
        return int(pointer[position]), int(pointer[position + 1])

    def _checked_pointer(self, name: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        pointer = self.tensors[name].numpy()
        kind, _, key = name.partition("/")
        if kind == "cut":
            total = self.tensors.entries[key].shape[self.card.fields[key].dim]
        else:
            total = self.card.sizes[f"n_{key}s"]
        if pointer[0] != 0 or pointer[-1] != total or (np.diff(pointer) < 0).any():
            raise _unusable(self.name, self.folder, f"the pointer {name!r} does not fit its tensors")
        return pointer


def freeze(
    graphs: Data | Sequence[Data],
    folder: str | Path,
    *,
    row: DatasetRow,
    seed: int | None = None,
    split: Tensor | Sequence[int] | None = None,
) -> FrozenDataset:
    """Write graphs with the facts of their catalogue row into a folder and open it.

    A folder of the same bytes is left as it is; one that holds another frozen dataset is replaced, any other refused.

    Parameters
    ----------
    graphs, folder, row, seed
    split
        Published part of each graph ``[n_graphs]``: 0 train, 1 validation, 2 test.
    """
    import torch
    from torch_geometric.data import Data

    from gnz_track.datasets.collation import collate

    listed = [graphs] if isinstance(graphs, Data) else list(graphs)
    parts = None if split is None else torch.as_tensor(split)
    return freeze_collated(collate(listed, split=parts), folder, row=row, seed=seed)


def freeze_collated(
    collated: Collated,
    folder: str | Path,
    *,
    row: DatasetRow,
    seed: int | None,
    accept: Callable[[Card], None] | None = None,
) -> FrozenDataset:
    """Write collated graphs into a folder, at once or not at all, and open it.

    Parameters
    ----------
    collated, folder, row, seed
    accept
        Is shown the card before anything is written, and may raise.
    """
    from gnz_track.datasets.collation import describe

    folder = Path(folder).absolute()
    refuse_foreign(folder, (CARD, TENSORS))
    facts: dict[str, Any] = describe(collated.tensors)
    facts |= {"fields": collated.fields, "has_num_nodes": collated.has_num_nodes}
    card = make_card(row, seed=seed, digest=digest_of(collated.tensors), **facts)
    if accept is not None:
        accept(card)
    with temporary_beside(folder) as temporary:
        write_tensors(collated.tensors, temporary / TENSORS)
        (temporary / TENSORS).chmod(0o644)  # data are for all to read
        (temporary / CARD).write_text(card_to_json(card), encoding="utf-8", newline="\n")
        publish(temporary, folder)
    return open_frozen(folder)


def open_frozen(folder: str | Path, *, verify: bool = False) -> FrozenDataset:
    """Open a frozen folder, reading only its card and the header of its tensors.

    ``verify=True`` reads all bytes and raises :class:`DataCorrupted` where their digest is not the card's.
    """
    folder = Path(folder).absolute()
    try:
        card = card_from_json((folder / CARD).read_text(encoding="utf-8"))
        tensors = MappedTensors(folder / TENSORS)
    except FileNotFoundError as error:
        reason = f"there is no {Path(error.filename).name}"
        raise DataMissing(folder.name, [folder], command=f"gnz data get {folder.name}", reason=reason) from None
    except (ValueError, OSError) as error:
        raise _unusable(folder.name, folder, str(error)) from None
    _check_fields(folder, card, tensors)
    if verify:
        check_bytes(folder, card, tensors)
        check_facts(folder, card, tensors)
    return FrozenDataset(folder, card, tensors)


def rebuilding_command(name: str, folder: Path) -> str:
    """Return the command that makes a frozen dataset anew."""
    return f"rm -r {shlex.quote(str(folder))} && gnz data get {shlex.quote(name)}"


def write_tensors(tensors: Mapping[str, Tensor], path: Path, *, metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors as safetensors; a disk that is full or does not take them raises ``OSError``.

    Parameters
    ----------
    tensors, path
    metadata
        Texts for the header of the file.
    """
    from safetensors.torch import save_file

    try:
        save_file(dict(tensors), path, metadata=None if metadata is None else dict(metadata))
    except SafetensorError as error:
        found = _OF_SYSTEM.search(str(error))
        if found is None:
            raise
        number = int(found.group(1))
        raise OSError(number, os.strerror(number), str(path)) from error


def check_bytes(folder: Path, card: Card, tensors: MappedTensors) -> None:
    """Read all bytes of a frozen folder; raise where their digest is not the card's.

    Parameters
    ----------
    folder
        The folder, for errors.
    card
        Its card.
    tensors
        Its tensors, mapped.
    """
    found = digest_of_file(tensors.path)
    if found != card.digest:
        command = rebuilding_command(card.name, folder)
        raise DataCorrupted(card.name, tensors.path, expected=card.digest, found=found, command=command)


def check_facts(folder: Path, card: Card, tensors: MappedTensors) -> None:
    """Raise where the card of a frozen folder says of its tensors what they are not; Torch looks.

    Parameters
    ----------
    folder
        The folder, for errors.
    card
        Its card.
    tensors
        Its tensors, mapped.
    """
    from gnz_track.datasets.collation import describe

    wrong = [name for name, value in describe(tensors).items() if getattr(card, name) != value]
    if wrong:
        raise _unusable(card.name, folder, f"its card is not right about {', '.join(wrong)}")


def _reopen(folder: Path, digest: str) -> FrozenDataset:
    dataset = open_frozen(folder)
    if dataset.digest != digest:
        command = rebuilding_command(dataset.name, folder)
        raise DataCorrupted(dataset.name, folder, expected=digest, found=dataset.digest, command=command)
    return dataset


def _check_fields(folder: Path, card: Card, tensors: MappedTensors) -> None:
    """Hold the card against the header of the tensors: names, dimensions and lengths must agree."""
    n_graphs = card.sizes["n_graphs"]
    own = [f"cut/{key}" for key, field in card.fields.items() if field.along == "own"]
    for name in ("ptr/node", "ptr/edge", *own):
        entry = tensors.entries.get(name)
        if entry is None or entry.shape != (n_graphs + 1,) or entry.dtype != "I64":
            raise _unusable(card.name, folder, f"there is no tensor {name!r} of {n_graphs + 1} pointers")
    for key, field in card.fields.items():
        shape = tensors.entries[key].shape if key in tensors else ()
        if not 0 <= field.dim < len(shape):
            raise _unusable(card.name, folder, f"there is no tensor {key!r} with a dimension {field.dim}")
        lengths = {"node": card.sizes["n_nodes"], "edge": card.sizes["n_edges"], "each": n_graphs}
        lengths["fixed"] = field.stride * n_graphs
        if shape[field.dim] != lengths.get(field.along, shape[field.dim]):
            raise _unusable(card.name, folder, f"the tensor {key!r} does not have the length that its card says")


def _unusable(name: str, folder: Path, reason: str) -> DataUnusable:
    return DataUnusable(name, folder, reason, command=rebuilding_command(name, folder))
