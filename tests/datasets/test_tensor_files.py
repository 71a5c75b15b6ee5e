"""Tensors that a disk does not take: an error of the system that names the file, and nothing is left behind."""

from __future__ import annotations

import errno
import os
import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch_geometric.data import Data

from gnz_track.datasets.frozen import freeze, write_tensors
from gnz_track.files import temporary_beside
from gnz_track.types import DatasetRow


@contextmanager
def small_files(n_bytes: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes: writing fails as it does on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.fixture
def foreign_folder() -> Iterator[Path]:
    """Return a folder that this process may look at and not write to, whoever runs it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o555)
        user = os.geteuid()
        try:
            if user == 0:
                os.seteuid(65534)
            yield folder
        finally:
            os.seteuid(user)
            folder.chmod(0o755)


def test_tensors_come_back_with_their_words(tmp_path: Path) -> None:
    tensors = {"x": torch.arange(6.0).reshape(2, 3)}
    write_tensors(tensors, tmp_path / "a", metadata={"digest": "d"})
    assert torch.equal(load_file(tmp_path / "a")["x"], tensors["x"])
    assert b'"digest":"d"' in (tmp_path / "a").read_bytes()


def test_full_disk_is_an_error_of_the_system_and_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.safetensors"
    with small_files(1000), pytest.raises(OSError, match="File too large") as caught:
        write_tensors({"x": torch.zeros(1000)}, file)
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(file))


def test_full_disk_leaves_no_half_of_a_dataset(tmp_path: Path, row: DatasetRow) -> None:
    graph = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), x=torch.zeros(2, 1000), y=torch.tensor([0, 1]))
    with small_files(1000), pytest.raises(OSError, match="File too large"):
        freeze(graph, tmp_path / "pair", row=row)
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_written_is_named_and_not_what_was_to_be_in_it(foreign_folder: Path) -> None:
    with pytest.raises(PermissionError) as caught, temporary_beside(foreign_folder / "cora"):
        pass
    assert caught.value.filename == str(foreign_folder)
