"""Features for nodes that have none, and positional encodings, which tell nodes apart by where they are in a graph.

``lap20``
    eigenvectors 1 to 20 of the normalised Laplacian, each of length 1 (Dwivedi et al., JMLR 2023). A sign of an
    eigenvector means nothing, so training turns the signs of all columns at random, batch by batch.
``lap20-plain``, ``lap20-abs``
    the same with signs as they come, and without signs.
``rw16``
    how likely a random walk is back where it began after 1 to 16 steps (Dwivedi et al., ICLR 2022).
``order``, ``order-random``
    the number of a node in its graph, as one column each; the columns in another order batch by batch.
``random16``, ``random16-fixed``
    16 numbers of each node, drawn from a standard normal distribution (Sato et al., SDM 2021; Abboud et al., IJCAI
    2021): others for every batch of training, or the same throughout. What is scored has one draw of its own.

Edges count once, in both directions, and loops not at all. The degree of an isolated node counts as 1, so that its row
of the Laplacian is that of the identity. Of the eigenvectors only the very first is left out, in a graph of several
components too, where more of them tell nothing but the component. A graph of ``n <= k`` nodes has ``n - 1`` columns,
and zeros in the rest. :func:`describe_limits` says where that is so.

Encodings are computed once and kept beside the frozen data that they belong to. A file bears the digest of the data, of
the split where edges are hidden by one, and the name of the encoding; the digest of its own content is in its header.
One that is not whole is made anew.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh
from torch import Tensor

from gnz_track.datasets.frozen import FrozenDataset, write_tensors
from gnz_track.datasets.mapped_tensors import digest_of
from gnz_track.datasets.steady import hold_steady
from gnz_track.errors import BadValue
from gnz_track.files import file_lock
from gnz_track.seeds import derive

__all__ = [
    "ENCODING_FORMS",
    "LARGEST_IDENTITY",
    "N_LEARNED",
    "N_STRUCTURAL",
    "Encoding",
    "compute_encoding",
    "describe_limits",
    "encode_nodes",
    "encoding_file",
    "identity_features",
    "node_numbers",
    "parse_encoding",
    "structural_features",
]

LARGEST_IDENTITY = 8_192
# Columns of structural features.
N_STRUCTURAL = 3
# Columns of features that are learnt.
N_LEARNED = 32
# Beyond these sizes: eigenvectors by iteration, and nothing else at all.
MOST_DENSE, MOST_COLUMNS = 2_000, 1_024
ENCODING_FORMS = (
    "lap20, lap20-plain, lap20-abs, rw16, random16, random16-fixed, order, order-random, with any number of columns"
)


@dataclass(frozen=True)
class Encoding:
    """A positional encoding by name: its kind, how many columns it has (0: as many as the largest graph has nodes).

    ``variation`` says what training does to it batch by batch: ``none``, ``signs``, ``columns`` or ``draws``.
    """

    name: str
    kind: str
    n_columns: int
    variation: str

    def width(self, node_ptr: Tensor) -> int:
        """Return the number of columns for graphs that begin at these nodes ``[n_graphs + 1]``."""
        return self.n_columns or int(node_ptr.diff().max())


# Kind and what follows the dash -> variation.
_VARIATIONS = {
    ("lap", ""): "signs",
    ("lap", "plain"): "none",
    ("lap", "abs"): "none",
    ("rw", ""): "none",
    ("order", ""): "none",
    ("order", "random"): "columns",
    ("random", ""): "draws",
    ("random", "fixed"): "none",
}
_COUNTED = frozenset({"lap", "rw", "random"})


def parse_encoding(name: str) -> Encoding | None:
    """Read the name of an encoding; an empty one is none.

    >>> parse_encoding("lap20")
    Encoding(name='lap20', kind='lap', n_columns=20, variation='signs')
    """
    if not name:
        return None
    found = re.fullmatch(r"([a-z]+)([1-9]\d{0,3})?(?:-([a-z]+))?", name)
    kind, columns, suffix = found.groups(default="") if found else ("", "", "")
    if (kind, suffix) not in _VARIATIONS or bool(columns) is not (kind in _COUNTED):
        raise BadValue("encoding", name, ENCODING_FORMS)
    return Encoding(name, kind, int(columns or 0), _VARIATIONS[kind, suffix])


def compute_encoding(encoding: Encoding, edge_index: Tensor, node_ptr: Tensor) -> Tensor:
    """Return the encoding ``[n_nodes, n_columns]`` (float32) of graphs.

    Parameters
    ----------
    encoding
    edge_index
        ``[2, n_edges]``, numbered through all graphs.
    node_ptr
        First node of each graph ``[n_graphs + 1]``.
    """
    width = encoding.width(node_ptr)
    if width > MOST_COLUMNS:
        raise BadValue(f"the columns of encoding {encoding.name!r}", width, f"at most {MOST_COLUMNS}")
    if encoding.kind == "random":
        n_nodes = int(node_ptr[-1])
        generator = torch.Generator().manual_seed(derive(0, "random features", n_nodes, width))
        return torch.randn(n_nodes, width, generator=generator)
    encode = _ENCODERS[encoding.kind]
    parts = [encode(adjacency, width) for adjacency in _adjacencies(edge_index, node_ptr)]
    found = torch.from_numpy(np.concatenate(parts)).float()
    return found.abs() if encoding.name.endswith("-abs") else found


def describe_limits(encoding: Encoding, edge_index: Tensor, node_ptr: Tensor) -> list[str]:
    """Return a sentence for each way in which an encoding says less of some graphs than of others.

    Parameters
    ----------
    encoding, edge_index, node_ptr
        As :func:`compute_encoding` takes them.
    """
    if encoding.kind not in _OF_PIECES:
        return []
    n_nodes, n_graphs = int(node_ptr[-1]), node_ptr.numel() - 1
    whole = _adjacency(edge_index.numpy(), n_nodes)
    piece = connected_components(whole, directed=False)[1]
    graph = torch.arange(n_graphs).repeat_interleave(node_ptr.diff()).numpy()
    n_pieces = np.bincount(graph[np.unique(piece, return_index=True)[1]], minlength=n_graphs)
    is_alone = np.asarray(whole.sum(axis=1)).ravel() == 0
    n_small = int((node_ptr.diff() <= encoding.n_columns).sum()) if encoding.kind == "lap" else 0
    n_split, n_alone = int((n_pieces > 1).sum()), int(is_alone.sum())
    told = {
        f"{n_small} of {n_graphs} graphs have no more nodes than it has columns: the rest of these are 0": n_small,
        f"{n_split} of {n_graphs} graphs are in several pieces: {_OF_PIECES[encoding.kind]}": n_split,
        f"{n_alone} of {n_nodes} nodes have no edge: {_OF_ALONE[encoding.kind]}": n_alone,
    }
    concerned = [sentence for sentence, count in told.items() if count]
    return [f"encoding {encoding.name}: {sentence}" for sentence in concerned]


_OF_PIECES = {
    "lap": "some of their columns tell the piece and no place in it",
    "rw": "a walk stays in its piece",
}
_OF_ALONE = {"lap": "their degree counts as 1", "rw": "a walk from there is never back"}


def _adjacency(edges: NDArray[np.int64], n_nodes: int) -> Any:
    """Return the symmetric matrix of 0 and 1 without a diagonal."""
    source, target = edges[:, edges[0] != edges[1]]
    ends = (np.concatenate([source, target]), np.concatenate([target, source]))
    matrix = coo_array((np.ones(ends[0].size), ends), shape=(n_nodes, n_nodes)).tocsr()
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return matrix


def _adjacencies(edge_index: Tensor, node_ptr: Tensor) -> Iterator[Any]:
    """Yield the adjacency matrix of each graph."""
    edges, starts = edge_index.numpy(), node_ptr.numpy()
    graph = np.searchsorted(starts, edges[0], side="right") - 1
    order = np.argsort(graph, kind="stable")
    cuts = np.searchsorted(graph[order], np.arange(starts.size))
    for number in range(starts.size - 1):
        own = edges[:, order[cuts[number] : cuts[number + 1]]] - starts[number]
        yield _adjacency(own, int(starts[number + 1] - starts[number]))


def _degrees(adjacency: Any) -> NDArray[np.float64]:
    degrees: NDArray[np.float64] = np.maximum(np.asarray(adjacency.sum(axis=1)).ravel(), 1.0)
    return degrees


def _encode_laplacian(adjacency: Any, width: int) -> NDArray[np.float64]:
    n = adjacency.shape[0]
    n_known = min(width, max(n - 1, 0))
    found = np.zeros((n, width))
    if n_known:
        inverse_root = _degrees(adjacency) ** -0.5
        # Its eigenvectors are those of the Laplacian, with 1 less the eigenvalue.
        normalised = adjacency.multiply(inverse_root[:, None]).multiply(inverse_root)
        vectors = _dense(normalised) if n <= MOST_DENSE else _iterate(normalised, n_known + 1)
        found[:, :n_known] = vectors[:, 1 : n_known + 1]
    return found


def _dense(normalised: Any) -> NDArray[np.float64]:
    matrix = np.eye(normalised.shape[0]) - normalised.toarray()
    vectors: NDArray[np.float64] = np.linalg.eigh(matrix)[1]
    return vectors


def _iterate(normalised: Any, count: int) -> NDArray[np.float64]:
    # A start of our own: the library's would be another one at every call.
    start = np.random.default_rng(0).standard_normal(normalised.shape[0])
    values, vectors = eigsh(normalised, k=count, which="LA", v0=start, tol=1e-6)
    largest: NDArray[np.float64] = vectors[:, np.argsort(-values, kind="stable")]
    return largest


def _encode_walks(adjacency: Any, width: int) -> NDArray[np.float64]:
    n = adjacency.shape[0]
    if n > MOST_DENSE:
        raise BadValue("the nodes of a graph for an encoding of walks", n, f"at most {MOST_DENSE}")
    step = adjacency.toarray() / _degrees(adjacency)[:, None]
    found, walk = np.zeros((n, width)), np.eye(n)
    for column in range(width):
        walk = walk @ step
        found[:, column] = walk.diagonal()
    return found


def _encode_order(adjacency: Any, width: int) -> NDArray[np.float64]:
    return np.eye(adjacency.shape[0], width)


_ENCODERS: dict[str, Callable[[Any, int], NDArray[np.float64]]] = {
    "lap": _encode_laplacian,
    "rw": _encode_walks,
    "order": _encode_order,
}


FOLDER = ".encodings"
_TENSOR, _DIGEST = "encoding", "digest"


def encoding_file(dataset: FrozenDataset, encoding: Encoding, *, split_digest: str = "") -> Path:
    """Return where an encoding of a dataset is kept.

    Parameters
    ----------
    dataset, encoding
    split_digest
        The split that hides edges, if one does.
    """
    words = [dataset.digest, *([split_digest] if split_digest else []), encoding.name]
    return dataset.folder.parent / FOLDER / f"{'-'.join(words)}.safetensors"


def encode_nodes(
    dataset: FrozenDataset, encoding: Encoding, *, message_edges: Tensor | None = None, split_digest: str = ""
) -> Tensor:
    """Return the encoding ``[n_nodes, n_columns]`` of all graphs, from the disk where it is known.

    Processes that ask at once wait for the first one. Where the folder cannot be written, nothing is kept.

    Parameters
    ----------
    dataset, encoding
    message_edges
        Edges ``[2, n]`` in place of all, where a split hides some.
    split_digest
        Digest of that split.
    """
    file = encoding_file(dataset, encoding, split_digest=split_digest)
    found = _read_encoding(file)
    if found is not None:
        return found
    edges = dataset.global_edge_index if message_edges is None else message_edges
    with contextlib.ExitStack() as stack:
        is_writable = _try_to_hold(file, stack)
        found = _read_encoding(file)
        if found is None:
            # What is kept bears the digest of the data, for ever: they must be those while it is computed.
            with hold_steady(dataset.folder, digest=dataset.digest):
                found = compute_encoding(encoding, edges, dataset.node_ptr)
            if is_writable:
                _write_encoding(file, found)
    return found


def _try_to_hold(file: Path, stack: contextlib.ExitStack) -> bool:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        stack.enter_context(file_lock(file.with_suffix(".lock")))
    except OSError:
        # Data of a team may be for reading only; then every process computes for itself.
        return False
    return True


def _read_encoding(file: Path) -> Tensor | None:
    try:
        with safe_open(file, framework="pt") as content:
            # A copy: what is mapped changes with its file, also after its digest was looked at.
            found: Tensor = content.get_tensor(_TENSOR).clone()
            expected = (content.metadata() or {}).get(_DIGEST)
    except (FileNotFoundError, SafetensorError):
        return None
    return found if digest_of({_TENSOR: found}) == expected else None


def _write_encoding(file: Path, encoding: Tensor) -> None:
    handle, name = tempfile.mkstemp(prefix=".writing-", dir=file.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        write_tensors({_TENSOR: encoding}, temporary, metadata={_DIGEST: digest_of({_TENSOR: encoding})})
        temporary.chmod(0o644)  # mkstemp keeps others out, and data are for all to read
        temporary.replace(file)
    finally:
        temporary.unlink(missing_ok=True)


def structural_features(message_edges: Tensor, n_nodes: int) -> Tensor:
    """Return ``[n_nodes, 3]`` float32: log-degree, its square and a constant, from training edges ``[2, M]`` only.

    Log-degree is log(1 + edges that leave the node) / log(max(n_nodes, 2)).
    """
    degree = torch.bincount(message_edges[0], minlength=n_nodes).float()
    log_degree = degree.log1p() / math.log(max(n_nodes, 2))
    return torch.stack([log_degree, log_degree.square(), torch.ones(n_nodes)], dim=1)


def identity_features(n_nodes: int) -> Tensor:
    """Return the identity matrix ``[n_nodes, n_nodes]`` float32, up to 8,192 nodes."""
    if n_nodes > LARGEST_IDENTITY:
        raise BadValue("the number of nodes for identity features", n_nodes, f"at most {LARGEST_IDENTITY}")
    return torch.eye(n_nodes)


def node_numbers(n_nodes: int) -> Tensor:
    """Return the number of each node ``[n_nodes, 1]``: categories, of which a model learns one code each."""
    return torch.arange(n_nodes).unsqueeze(1)
