"""Pickles of foreign origin, read without running what they may ask for: arrays and plain containers, nothing else.

Neither NumPy nor SciPy unpickles anything here. A pickle names what it needs, and each admitted name leads to a class
or function of this file, which checks sizes and types before an array is made of the bytes.
"""

from __future__ import annotations

import collections
import math
import pickle
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse

__all__ = ["SparseParts", "load_arrays", "load_saved_arrays", "load_tensors"]

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_KINDS_OF_NUMBERS = frozenset("biufcSUO")


def load_arrays(path: Path) -> Any:
    """Return what a pickle holds: numpy arrays and scalars, plain containers, and :class:`SparseParts`.

    Arrays come as a subclass of ``ndarray``. Raises ``pickle.UnpicklingError`` that names what was refused.
    """
    with path.open("rb") as file:
        return _ArraysOnly(file, encoding="latin1").load()


def load_tensors(path: Path) -> Any:
    """Return what a file of ``torch.save`` holds: tensors on the CPU and plain containers of them.

    Raises ``pickle.UnpicklingError`` that names what was refused. Reference for what ``weights_only`` admits:
    https://docs.pytorch.org/docs/stable/notes/serialization.html#weights-only.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Detected pickle protocol")
            found = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        # Torch explains at length how to let it run everything.
        said = re.search(r"(Unsupported|Trying to) [^\n]*?(?=\. |\n|$)", str(error))
        message = f"the file asks for more than tensors and plain containers: {said[0] if said else 'it does not read'}"
        raise pickle.UnpicklingError(message) from None
    except (RuntimeError, MemoryError) as error:
        message = f"it is no whole file of torch.save: {str(error).partition(chr(10))[0] or 'it wants too much memory'}"
        raise pickle.UnpicklingError(message) from error
    _require_tensors(found)
    return found


def load_saved_arrays(path: Path) -> Any:
    """Return what a file of ``torch.save`` holds where it was given numpy arrays; see :func:`load_arrays`.

    Such a file has no tensors: it is a zip archive with one pickle or, of old, a pickle after three that say who wrote.
    """
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.split("/")[1:] == ["data.pkl"]]
            if len(names) != 1:
                raise pickle.UnpicklingError("it is no whole file of torch.save: it has no data.pkl")
            with archive.open(names[0]) as member:
                return _ArraysOnly(member, encoding="utf-8").load()
    with path.open("rb") as file:
        magic, _, _, found = (_ArraysOnly(file, encoding="utf-8").load() for _ in range(4))
    if magic != _MAGIC:
        raise pickle.UnpicklingError("it is no file of torch.save: it begins otherwise")
    return found


# What files of before the archives begin with.
_MAGIC = 0x1950A86A20F9469CFC6C


def _require_tensors(found: object) -> None:
    """Raise where something else came out: other libraries widen what Torch admits, for the whole process."""
    waiting, seen = [found], set[int]()
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif type(item) in {list, tuple, set, frozenset}:
            waiting += item  # type: ignore[arg-type]
        elif type(item) is not torch.Tensor and not isinstance(item, (*_PLAIN, torch.Size, torch.dtype)):
            message = f"the file holds a {type(item).__module__}.{type(item).__qualname__}, not tensors alone"
            raise pickle.UnpicklingError(message)


class SparseParts:
    """Parts of a pickled CSR or COO matrix, as plain attributes."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._state = dict(state)

    def matrix(self) -> sparse.csr_matrix:
        """Return the matrix; raises ``ValueError`` where the parts do not fit together."""
        state = self._state
        shape = tuple(int(n) for n in state.get("_shape", state.get("shape", ())))
        parts = [np.asarray(state[name]) for name in ("data", "indices", "indptr") if name in state]
        if len(parts) == 3:
            found = sparse.csr_matrix(tuple(parts), shape=shape)
        else:
            found = sparse.coo_matrix((state["data"], _coordinates(state)), shape=shape).tocsr()
        # SciPy's loops trust indices, and write where they lead.
        found.check_format(full_check=True)
        return found


def _coordinates(state: dict[str, Any]) -> tuple[Any, Any]:
    """Return rows and columns; newer versions of SciPy keep them as ``coords``."""
    row, column = state["coords"] if "coords" in state else (state["row"], state["col"])
    return np.asarray(row), np.asarray(column)


class _Kind:
    """A pickled dtype: numbers, texts or objects, never records."""

    def __init__(self, code: str, *_: object) -> None:
        if isinstance(code, bytes):
            code = code.decode("ascii", "replace")
        if not isinstance(code, str) or "," in code or np.dtype(code).kind not in _KINDS_OF_NUMBERS:
            raise _refused(f"an array of kind {code!r}")
        self.found = np.dtype(code)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, order, parts, names, fields, *_ = state
        if (parts, names, fields) != (None, None, None):
            raise _refused("an array of records")
        if order in {">", "<", b">", b"<"}:
            self.found = self.found.newbyteorder(">" if order in {">", b">"} else "<")


class _Array(np.ndarray[Any, Any]):
    """An array that is filled from a pickle once its bytes are known to be those of its shape."""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, is_fortran, content = state
        if not isinstance(kind, _Kind) or not all(isinstance(n, int) and n >= 0 for n in shape):
            raise _refused("an array without a plain kind or shape")
        size = math.prod(shape)
        if kind.found.hasobject:
            if not isinstance(content, list) or len(content) != size:
                raise _refused("an array of objects that are no list of its size")
        elif len(_bytes(content)) != size * kind.found.itemsize:
            raise _refused(f"an array of shape {shape} with bytes for another")
        content = content if kind.found.hasobject else _bytes(content)
        super().__setstate__((1, tuple(shape), kind.found, bool(is_fortran), content))  # type: ignore[arg-type]


class _ArrayName:
    """Stands for the class of arrays where a pickle names it; it cannot be called."""


def _empty_array(*_: object) -> _Array:
    return np.ndarray.__new__(_Array, (0,), "b")


def _scalar(kind: _Kind, content: bytes | str = b"") -> Any:
    if not isinstance(kind, _Kind) or kind.found.hasobject or len(_bytes(content)) != kind.found.itemsize:
        raise _refused("a number without a plain kind")
    return np.frombuffer(_bytes(content), dtype=kind.found)[0]


def _array_of_buffer(content: Any, kind: Any, shape: Any, order: Any = "C") -> Any:
    """Make an array of the bytes that newer pickles carry beside it."""
    if not isinstance(kind, _Kind) or kind.found.hasobject or order not in {"C", "F"}:
        raise _refused("an array without a plain kind")
    return np.frombuffer(content, dtype=kind.found).reshape(shape, order=order)


def _bytes(content: object) -> bytes:
    """Return bytes as they are, and those that Python 2 called a text."""
    if isinstance(content, str):
        return content.encode("latin1")
    if not isinstance(content, bytes):
        raise _refused("an array whose content is no bytes")
    return content


def _encode(text: str, encoding: str = "latin1") -> bytes:
    if not isinstance(text, str) or encoding not in {"latin1", "latin-1"}:
        raise _refused(f"an encoding {encoding!r}")
    return text.encode("latin1")


def _no_bytes(*content: object) -> bytes:
    """Make the empty bytes, which old protocols ask for as a call; with a number it would fill the memory."""
    if content:
        raise _refused("a call of bytes")
    return b""


def _rebuilt(kind: type, *_: object) -> SparseParts:
    if kind is not SparseParts:
        raise _refused("an object of its own class")
    return SparseParts()


def _refused(what: str) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(f"the pickle asks for {what}, which is neither an array nor a plain container")


_CORES = ("numpy.core", "numpy._core")
_BUILTINS = ("__builtin__", "builtins")
_CONTAINERS = (list, dict, set, frozenset, tuple, complex)
_ADMITTED: dict[tuple[str, str], Any] = {
    **{(f"{core}.multiarray", "_reconstruct"): _empty_array for core in _CORES},
    **{(f"{core}.multiarray", "scalar"): _scalar for core in _CORES},
    **{(f"{core}.numeric", "_frombuffer"): _array_of_buffer for core in _CORES},
    ("numpy", "ndarray"): _ArrayName,
    ("numpy", "dtype"): _Kind,
    **{(f"scipy.sparse.{module}", "csr_matrix"): SparseParts for module in ("csr", "_csr")},
    **{(f"scipy.sparse.{module}", "coo_matrix"): SparseParts for module in ("coo", "_coo")},
    **{(module, "_reconstructor"): _rebuilt for module in ("copy_reg", "copyreg")},
    **{(module, "object"): object for module in _BUILTINS},
    **{(module, kind.__name__): kind for module in _BUILTINS for kind in _CONTAINERS},
    **{(module, "bytes"): _no_bytes for module in _BUILTINS},
    ("collections", "defaultdict"): collections.defaultdict,
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("_codecs", "encode"): _encode,
}


class _ArraysOnly(pickle.Unpickler):
    """Loads numpy and sparse arrays and plain containers; refuses every other name."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ADMITTED[module, name]
        except KeyError:
            raise _refused(f"{module}.{name}") from None
