"""Graphs, matrices and selectors as others may send them: whole files, words of each format, and what reads it."""

from __future__ import annotations

import functools
import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gnz_track.selection.graph_input import open_graph
from gnz_track.selection.matrix import ModelSetting, bare_matrix
from gnz_track.selection.selectors.catalogue import fit_selector, load_fitted
from gnz_track.selection.study.matrix_files import read_matrix, write_matrix
from gnz_track.types import Direction

__all__ = ["Form", "graph_forms"]


@dataclass(frozen=True)
class Form:
    """A format by the name of a file in it; ``read`` is called with (content, folder)."""

    name: str
    examples: tuple[bytes, ...]
    words: str
    read: Callable[[bytes, Path], object]


def graph_forms() -> list[Form]:
    """Return all formats."""
    made = _written()
    return [
        _graph(
            "graph.txt",
            (b"0 1\n1 2\n2 0\n", b"# a comment\n10\t20\n20\t30\n", b"% matrix\n1,2\n2,3\n"),
            "# % , ; source target -1 1e9 99999999999999999999 NaN 0x1 1.5 a",
        ),
        _graph(
            "graph.gml",
            (b'graph [\n node [ id 1 label "a" ]\n node [ id 2 ]\n edge [ source 1 target 2 ]\n]\n',),
            'graph [ ] node edge id source target label "a" -1 99999999999999999999 directed 1',
        ),
        _graph(
            "graph.graphml",
            (GRAPHML,),
            "<node <edge </graph> <!DOCTYPE <!ENTITY &a; &#0; id= source= nested <graph 1e999 NaN",
        ),
        _graph(
            "graph.mtx",
            (b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n",),
            "%%MatrixMarket array real complex general skew-symmetric integer -1 0 99999999999999999999 1e999",
        ),
        _graph(
            "graph.net",
            (b'*Vertices 3\n1 "a" 0.1 0.2\n2 "b"\n3 "c"\n*Edges\n1 2 1.5\n2 3\n', b"0 1\n1 2\n"),
            '*Vertices *Arcs *Edges *Network *Arcslist " -1 99999999999999999999 1e999 NaN',
        ),
        _graph(
            "graph.npz",
            (
                _npz(edge_index=np.array([[0, 1], [1, 2]])),
                _npz(edge_index=np.array([[0, 1], [1, 2]]), num_nodes=np.array(4)),
                _npz(indptr=np.array([0, 1, 2]), indices=np.array([1, 0]), shape=np.array([2, 2])),
            ),
            NPZ,
        ),
        _matrix("matrix.csv", made, 'graph , "" NaN inf -inf 1e999 NA x (auc, down)'),
        _matrix("matrix.npz", made, NPZ),
        Form("selector.npz", (made["selector.npz"],), NPZ, _read_selector),
    ]


NPZ = "PK NUMPY '<f8' '|O' '<i8' '<U1' descr shape fortran_order {} ,"
GRAPHML = (
    b'<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    b'<key id="w" for="edge" attr.name="weight" attr.type="double"/><graph edgedefault="undirected">'
    b'<node id="a"/><node id="b"/><edge source="a" target="b"><data key="w">1.5</data></edge></graph></graphml>'
)


def _graph(name: str, examples: tuple[bytes, ...], words: str) -> Form:
    def read(content: bytes, folder: Path) -> object:
        (folder / name).write_bytes(content)
        return open_graph(str(folder / name), home=folder / "home")

    return Form(name, examples, words, read)


def _matrix(name: str, made: dict[str, bytes], words: str) -> Form:
    def read(content: bytes, folder: Path) -> object:
        (folder / name).write_bytes(content)
        return str(read_matrix(folder / name))

    return Form(name, (made[name],), words, read)


def _read_selector(content: bytes, folder: Path) -> object:
    (folder / "selector.npz").write_bytes(content)
    return load_fitted(folder / "selector.npz").predict(np.zeros((1, 2)))


@functools.cache
def _written() -> dict[str, bytes]:
    """Return what we write ourselves, by name."""
    matrix = bare_matrix(
        ["a", "b"], [ModelSetting("GCN"), ModelSetting("MLP", '{"lr": 0.1}', "glemos@1")], "auc", Direction.up
    )
    matrix.scores[:] = [[0.5, 0.75], [np.nan, 1.0]]
    fitted = fit_selector("global_best_score", np.eye(3, 2), np.array([[0.1, 0.2], [0.3, 0.1], [0.5, 0.2]]))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in ("matrix.csv", "matrix.npz"):
            write_matrix(matrix, folder / name)
        fitted.save(folder / "selector.npz")
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def _npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()
