"""PyG as the reference of our readers: roots with raw files linked in, datasets read from them, graphs compared."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

__all__ = ["assert_same", "link_raw", "read_by_pyg"]


def link_raw(root: Path, raw: Path, *names: str) -> str:
    """Link raw files to where PyG looks for them, ``root/names/raw``, and return the root."""
    folder = root.joinpath(*names)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "raw").symlink_to(raw.absolute())
    return str(root)


def read_by_pyg(kind: Any, *arguments: Any, **options: Any) -> Any:
    """Return a PyG dataset; what PyG and old files say of each other is not ours to hear."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(*arguments, **options)


def assert_same(found: Data, expected: Data, *, without: tuple[str, ...] = ()) -> None:
    """Hold two graphs equal, field by field, types included."""
    assert set(found.keys()) - set(without) == set(expected.keys()) - set(without)
    for key in set(expected.keys()) - set(without):
        if isinstance(expected[key], torch.Tensor):
            assert found[key].dtype == expected[key].dtype, key
            assert torch.equal(found[key], expected[key]), key
        else:
            assert found[key] == expected[key], key
