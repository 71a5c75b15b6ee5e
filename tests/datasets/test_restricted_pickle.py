"""Pickles of foreign origin: arrays come back as they were, and nothing else gets in."""

from __future__ import annotations

import builtins
import codecs
import collections
import ctypes
import os
import pickle
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from gnz_track.datasets.readers.restricted_pickle import SparseParts, load_arrays, load_tensors

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


def _kept(found: Any, folder: Path, protocol: int = 4) -> Path:
    path = folder / "x.pickle"
    path.write_bytes(pickle.dumps(found, protocol))
    return path


def _read(found: Any, folder: Path, protocol: int = 4) -> Any:
    return load_arrays(_kept(found, folder, protocol))


KINDS = st.one_of(
    arrays.boolean_dtypes(),
    arrays.integer_dtypes(endianness="?"),
    arrays.floating_dtypes(endianness="?"),
    arrays.complex_number_dtypes(),
    arrays.unicode_string_dtypes(max_len=5),
    arrays.byte_string_dtypes(max_len=5),
)


@given(arrays.arrays(KINDS, arrays.array_shapes(min_dims=0, min_side=0, max_side=4)), st.sampled_from(PROTOCOLS))
def test_arrays_come_back(tmp_path_factory: pytest.TempPathFactory, array: Any, protocol: int) -> None:
    for kept in (array, np.asfortranarray(array)):
        found = _read(kept, tmp_path_factory.getbasetemp(), protocol)
        expected = pickle.loads(pickle.dumps(kept, protocol))  # which has the byte order of this machine at times
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.tobytes() == expected.tobytes()
        assert isinstance(found, np.ndarray)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_containers_numbers_and_sparse_matrices_come_back(protocol: int, tmp_path: Path) -> None:
    dense = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    kept = {
        "graph": collections.defaultdict(list, {0: [1, 2], 1: []}),
        "ordered": collections.OrderedDict(a=(1, 2.5, None, True, "ä", b"b")),
        "sets": [{1, 2}, frozenset({3})],
        "numbers": [np.float64(1.5), np.int32(-3), np.bool_(1), 2 + 3j],
        "objects": np.array([[1, 2], [3]], dtype=object),
        "csr": sparse.csr_matrix(dense),
        "coo": sparse.coo_matrix(dense),
    }
    found = _read(kept, tmp_path, protocol)
    for name in ("csr", "coo"):
        parts = found.pop(name)
        del kept[name]
        assert isinstance(parts, SparseParts)
        assert np.array_equal(parts.matrix().toarray(), dense)
    assert found.pop("objects").tolist() == kept.pop("objects").tolist()
    assert found == kept
    assert [type(number) for number in found["numbers"]] == [np.float64, np.int32, np.bool_, complex]


@pytest.mark.mirror
@pytest.mark.filterwarnings("ignore:dtype\\(\\):numpy.exceptions.VisibleDeprecationWarning")
def test_published_pickles_come_back_as_they_are(mirror: Path) -> None:
    for name in ("AQSOL/raw/val.pickle", "Planetoid/Cora/raw/ind.cora.ally", "Planetoid/Cora/raw/ind.cora.graph"):
        with (mirror / name).open("rb") as file:
            expected = pickle.load(file, encoding="latin1")
        found = load_arrays(mirror / name)
        assert pickle.dumps(_plain(found)) == pickle.dumps(_plain(expected))
    graphs = load_arrays(mirror / "GNNBenchmarkDataset/CSL/raw/graphs_Kary_Deterministic_Graphs.pkl")
    assert {(graph.matrix().shape, graph.matrix().nnz) for graph in graphs} == {((41, 41), 205)}
    assert load_tensors(mirror / "GNNBenchmarkDataset/CSL/raw/y_Kary_Deterministic_Graphs.pt").shape == (150,)
    with pytest.raises(pickle.UnpicklingError, match=r"__main__\.Dictionary"):
        load_arrays(mirror / "AQSOL/raw/atom_dict.pickle")


def _plain(found: Any) -> Any:
    if isinstance(found, np.ndarray):
        return (str(found.dtype), found.shape, found.tolist())
    if isinstance(found, (list, tuple)):
        return [_plain(item) for item in found]
    return {key: _plain(value) for key, value in found.items()} if isinstance(found, dict) else repr(found)


class _Asks:
    """Pickles into a call of a function."""

    def __init__(self, function: Callable[..., Any], *arguments: Any, state: Any = None) -> None:
        self.asked = (function, arguments) if state is None else (function, arguments, state)

    def __reduce__(self) -> Any:
        return self.asked


EVIL: dict[str, Any] = {
    "posix.system": _Asks(os.system, "touch {mark}"),
    "builtins.eval": _Asks(eval, "open('{mark}', 'w')"),
    "builtins.exec": _Asks(exec, "open('{mark}', 'w')"),
    "builtins.getattr": _Asks(getattr, 1, "real"),
    "builtins.__import__": _Asks(builtins.__import__, "os"),
    "builtins.open": _Asks(open, "{mark}", "w"),
    "builtins.bytearray": _Asks(bytearray, 1 << 40),
    "subprocess.Popen": _Asks(subprocess.Popen, ["touch", "{mark}"]),
    "_codecs.decode": _Asks(codecs.decode, b"x", "zip"),
    "numpy.memmap": _Asks(np.memmap, "{mark}", "u1", "w+", 0, (8,)),
    "numpy.load": _Asks(np.load, "{mark}"),
    "ctypes.CDLL": _Asks(ctypes.CDLL, "libc.so.6"),
    "ctypes.string_at": _Asks(ctypes.string_at, 1, 1),
}


@pytest.mark.parametrize("name", EVIL)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_calls_are_refused_by_name(name: str, protocol: int, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    asked = EVIL[name].asked
    arguments = [item.format(mark=mark) if isinstance(item, str) else item for item in asked[1]]
    path = _kept([1, _Asks(asked[0], *arguments)], tmp_path, protocol)
    function = name.rpartition(".")[2]
    with pytest.raises(pickle.UnpicklingError, match=rf"the pickle asks for [\w.]*{function}, which is neither"):
        load_arrays(path)
    with pytest.raises(pickle.UnpicklingError):
        load_tensors(path)
    assert not mark.exists()


BY_HAND: dict[str, tuple[bytes, str]] = {
    "a dotted name": (b"\x80\x04\x8c\x05numpy\x8c\x0fctypeslib.as_ar\x93.", r"numpy\.ctypeslib"),
    "through ctypeslib": (
        b"cnumpy.ctypeslib\nload_library\n(S'libc.so.6'\nS'/'\ntR.",
        r"numpy\.ctypeslib\.load_library",
    ),
    "through os": (b"cos\nsystem\n(S'touch x'\ntR.", r"os\.system"),
    "an array class that is called": (b"cnumpy\nndarray\n((I4\ntS'O'\nS'AAAABBBBCCCCDDDD'\ntR.", "no arguments"),
    "much memory": (b"c__builtin__\nbytes\n(I99999999999\ntR.", "a call of bytes"),
    "an extension": (b"\x80\x02\x82\x01.", "extension"),
    "a persistent id": (b"Pabc\n.", "persistent"),
    "nothing": (b"", "Ran out of input"),
    "half a pickle": (b"\x80\x04\x95", "truncated|exhausted"),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_pickles_made_by_hand_are_refused(name: str, tmp_path: Path) -> None:
    content, reason = BY_HAND[name]
    path = tmp_path / "x.pickle"
    path.write_bytes(content)
    with pytest.raises((pickle.UnpicklingError, EOFError, TypeError, ValueError), match=reason):
        load_arrays(path)


def _array(shape: Any, kind: Any, content: Any) -> _Asks:
    rebuild = np.empty(0).__reduce__()[0]
    return _Asks(rebuild, np.ndarray, (0,), b"b", state=(1, shape, kind, False, content))


FORGED: dict[str, Any] = {
    "more than its bytes": _array((1 << 40,), np.dtype("f8"), b"12345678"),
    "less than its bytes": _array((1,), np.dtype("f8"), b"1234567890123456"),
    "a negative size": _array((-1,), np.dtype("f8"), b"12345678"),
    "objects of bytes": _array((1,), np.dtype("O"), b"AAAAAAAA"),
    "objects of a shorter list": _array((2,), np.dtype("O"), [1]),
    "records": np.zeros(2, dtype=[("a", "i4"), ("b", "f8")]),
    "dates": np.zeros(2, dtype="M8[s]"),
    "no kind": _array((1,), "f8", b"12345678"),
    "a kind with fields": _Asks(np.dtype, "V8", 0, 1, state=(3, "|", None, ("a",), {"a": (1, 1 << 30)}, 8, 1, 0)),
    "a kind of several": _Asks(np.dtype, "i4,O", 0, 1),
    "a number of objects": _Asks(np.float64(1).__reduce__()[0], np.dtype("O"), b"AAAAAAAA"),
    "a number of fewer bytes": _Asks(np.float64(1).__reduce__()[0], np.dtype("f8"), b"AA"),
}


@pytest.mark.parametrize("name", FORGED)
def test_arrays_that_do_not_add_up_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(pickle.UnpicklingError, match="the pickle asks for"):
        _read(FORGED[name], tmp_path)


def test_sparse_parts_that_lead_astray_are_refused(tmp_path: Path) -> None:
    for name, values in {"indices": [0, 1 << 20], "indptr": [0, 50]}.items():
        matrix = sparse.csr_matrix(np.array([[1.0, 2.0]]))
        setattr(matrix, name, np.array(values, dtype=np.int32))
        with pytest.raises(ValueError, match="ind"):
            _read(matrix, tmp_path).matrix()


def test_tensors_come_back_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    kept = [{"x": torch.arange(6.0).reshape(2, 3).t(), "n": 3}, (torch.tensor([True]), "a", None)]
    for is_zip in (True, False):
        torch.save(kept, path, _use_new_zipfile_serialization=is_zip)
        found = load_tensors(path)
        assert torch.equal(found[0]["x"], kept[0]["x"])
        assert found[1][1:] == ("a", None)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises((pickle.UnpicklingError, EOFError)):
        load_tensors(path)


def test_classes_that_a_library_admits_to_torch_are_refused(tmp_path: Path) -> None:
    from torch_geometric import EdgeIndex
    from torch_geometric.data import Data

    path = tmp_path / "x.pt"
    torch.save([EdgeIndex(torch.tensor([[0], [1]]))], path)
    assert isinstance(torch.load(path, weights_only=True)[0], EdgeIndex), "then this test shows nothing"
    with pytest.raises(pickle.UnpicklingError, match=r"holds a torch_geometric\.edge_index\.EdgeIndex"):
        load_tensors(path)
    torch.save([Data(x=torch.ones(2))], path)
    with pytest.raises(pickle.UnpicklingError, match=r"torch_geometric\.data\.data\.Data"):
        load_tensors(path)


def test_calls_in_files_of_tensors_are_refused_by_name(tmp_path: Path) -> None:
    path, mark = tmp_path / "x.pt", tmp_path / "mark"
    torch.save([torch.ones(1), _Asks(os.system, f"touch {mark}")], path)
    with pytest.raises(pickle.UnpicklingError, match=r"posix\.system"):
        load_tensors(path)
    assert not mark.exists()
