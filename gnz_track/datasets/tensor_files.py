"""Tensors into a file; what the disk says against it is an error of the system, with the file's name."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

__all__ = ["write_tensors"]

# The library says what the system said as a text of its own, and by its number.
_OF_SYSTEM = re.compile(r"\(os error (\d+)\)")


def write_tensors(tensors: Mapping[str, Tensor], path: Path, *, metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors as safetensors; a disk that is full or does not take them raises ``OSError``.

    Parameters
    ----------
    tensors, path
    metadata
        Texts for the header of the file.
    """
    try:
        save_file(dict(tensors), path, metadata=None if metadata is None else dict(metadata))
    except SafetensorError as error:
        found = _OF_SYSTEM.search(str(error))
        if found is None:
            raise
        number = int(found.group(1))
        raise OSError(number, os.strerror(number), str(path)) from error
