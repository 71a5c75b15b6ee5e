"""Published scores of 585 graphs and hundreds of settings; they may not be copied, and are read where they lie."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

LINKS, NODES = "link_pred", "node_class"


def load_published(mirror: Path, kind: str) -> Mapping[str, np.ndarray[Any, Any]]:
    """Return the arrays of a kind of problem; the test is skipped where they are not."""
    file = mirror / "glemos" / f"glemos_{kind}.npz"
    if not file.is_file():
        pytest.skip(f"no published scores: {file} is not a file")
    with np.load(file, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


def known_at(arrays: Mapping[str, np.ndarray[Any, Any]], level: int = 1) -> np.ndarray[Any, Any]:
    """Return the scores that are known at a level of sparsity: 1 is a tenth hidden, 5 nine tenths."""
    return np.where(arrays["observed_level"] >= level, arrays["P_map"], np.nan)
