"""Tensors of a safetensors file, mapped into memory and not read.

The header is parsed here, and the file is mapped once, privately and copy-on-write: pages are shared between all
processes that map it, a tensor is a view into the mapping, and nothing is read before it is touched.
Format: https://github.com/huggingface/safetensors#format (little-endian; so must the machine be).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # A file can be read and compared without Torch; a tensor of it cannot be had.
    import torch
    from torch import Tensor

__all__ = ["ITEM_BYTES", "Entry", "MappedTensors", "digest_of", "digest_of_file", "read_header", "write_header"]

# Bytes of a number of each type, by the code that a file has for it.
ITEM_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
_LENGTH_BYTES = 8
_PIECE = 1 << 20
# In which order the safetensors library writes tensors of these types.
_ORDER = ("I64", "F64", "F32", "I32", "BF16", "F16", "I16", "I8", "U8", "BOOL")


@dataclass(frozen=True)
class Entry:
    """Place of one tensor: its type code, its shape, and its first and one-past-last byte in the file."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class MappedTensors(Mapping[str, "Tensor"]):
    """Names to tensors of one file; read-only by convention, a write stays in this process and never hits the disk.

    Raises ``ValueError`` with the reason where the file is not a whole safetensors file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries = read_header(path)
        self._storage: torch.UntypedStorage | None = None
        self._views: dict[str, Tensor] = {}

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._views:
            self._views[name] = self._view(self.entries[name])
        return self._views[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def _view(self, entry: Entry) -> Tensor:
        import torch

        from gnz_track.datasets.tensor_types import DTYPES

        empty = torch.empty(entry.shape if entry.begin == entry.end else 0, dtype=DTYPES[entry.dtype])
        if entry.begin == entry.end:
            return empty
        if self._storage is None:
            self._storage = torch.UntypedStorage.from_file(
                str(self.path), shared=False, nbytes=self.path.stat().st_size
            )
        return empty.set_(self._storage, entry.begin // empty.element_size(), entry.shape)  # type: ignore[call-overload, no-any-return]


def read_header(path: Path) -> dict[str, Entry]:
    """Read where each tensor of a file lies, sorted by name; raises ``ValueError`` where the file is not whole."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        start = _LENGTH_BYTES + length
        if start > size:
            message = f"the header wants {length} bytes, the file has {size}"
            raise ValueError(message)
        text = file.read(length)
    try:
        header = json.loads(text)
    except RecursionError:
        message = "the header is nested too deeply"
        raise ValueError(message) from None
    if not isinstance(header, dict):
        message = "the header is not a mapping"
        raise ValueError(message)  # noqa: TRY004  (one kind of error for every broken file)
    entries = {name: _parse_entry(name, header[name], start) for name in sorted(header) if name != "__metadata__"}
    _check_cover(entries, start, size)
    return entries


def _parse_entry(name: str, record: object, start: int) -> Entry:
    try:
        dtype, shape, (begin, end) = (record[key] for key in ("dtype", "shape", "data_offsets"))  # type: ignore[index]
        itemsize = ITEM_BYTES[dtype]
        are_counts = all(type(number) is int and number >= 0 for number in (*shape, begin, end))
    except (KeyError, TypeError, ValueError):
        message = f"the header's record of {name!r} is unreadable"
        raise ValueError(message) from None
    if not are_counts or end - begin != math.prod(shape) * itemsize or (start + begin) % itemsize:
        message = f"the header's record of {name!r} does not add up"
        raise ValueError(message)
    return Entry(dtype, tuple(shape), start + begin, start + end)


def _check_cover(entries: Mapping[str, Entry], start: int, size: int) -> None:
    position = start
    for entry in sorted(entries.values(), key=lambda entry: (entry.begin, entry.end)):
        if entry.begin != position:
            message = f"the tensors leave or share bytes at {position}"
            raise ValueError(message)
        position = entry.end
    if position != size:
        message = f"the tensors end at byte {position}, the file at {size}"
        raise ValueError(message)


def digest_of(tensors: Mapping[str, Tensor]) -> str:
    """Return the md5 over sorted (key, dtype, shape, little-endian bytes): 32 hex characters."""
    import torch

    from gnz_track.datasets.tensor_types import CODES

    digest = hashlib.md5(usedforsecurity=False)
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(_described(name, CODES[tensor.dtype], tensor.shape))
        if tensor.numel():
            digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def digest_of_file(path: Path) -> str:
    """Return the digest of the tensors of a file, as :func:`digest_of` has it, without holding them in memory."""
    digest = hashlib.md5(usedforsecurity=False)
    entries = read_header(path)
    with path.open("rb") as file:
        for name in sorted(entries):
            entry = entries[name]
            digest.update(_described(name, entry.dtype, entry.shape))
            file.seek(entry.begin)
            left = entry.end - entry.begin
            while left:
                piece = file.read(min(_PIECE, left))
                if not piece:
                    message = f"the file ends {left} bytes before {name!r} does"
                    raise ValueError(message)
                digest.update(piece)
                left -= len(piece)
    return digest.hexdigest()


def write_header(shapes: Mapping[str, tuple[str, tuple[int, ...]]]) -> tuple[bytes, list[str]]:
    """Return the first bytes of a file and the names of its tensors in the order of theirs, from type codes and shapes.

    The file is that of the safetensors library, byte for byte.
    """
    names = sorted(shapes, key=lambda name: (_ORDER.index(shapes[name][0]), name.encode()))
    header, position = {}, 0
    for name in names:
        code, shape = shapes[name]
        n_bytes = math.prod(shape) * ITEM_BYTES[code]
        header[name] = {"dtype": code, "shape": list(shape), "data_offsets": [position, position + n_bytes]}
        position += n_bytes
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _LENGTH_BYTES)
    return len(text).to_bytes(_LENGTH_BYTES, "little") + text, names


def _described(name: str, code: str, shape: Sequence[int]) -> bytes:
    return json.dumps([name, code, list(shape)]).encode()
