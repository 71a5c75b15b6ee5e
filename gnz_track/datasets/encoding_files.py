"""Encodings computed once and kept beside the frozen data that they belong to.

A file bears the digest of the data, of the split where edges are hidden by one, and the name of the encoding; the
digest of its own content is in its header. One that is not whole is made anew.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import Tensor

from gnz_track.datasets.encodings import Encoding, compute_encoding
from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.mapped import digest_of
from gnz_track.datasets.sources.locks import hold
from gnz_track.datasets.steady import hold_steady
from gnz_track.datasets.tensor_files import write_tensors

__all__ = ["encode_nodes", "encoding_file"]

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
        stack.enter_context(hold(file.with_suffix(".lock")))
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
