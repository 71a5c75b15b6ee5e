"""Catalogue: images in the files of their publishers, as regions joined to the most similar ones."""

from __future__ import annotations

from typing import Any

from gnz_track.datasets.references import cited
from gnz_track.types import Category, DatasetRow, Download, Task, TaskType

__all__ = ["LARGE_TASKS", "ROWS", "TASKS"]

_READERS = "gnz_track.datasets.readers.images"
_MNIST = "https://storage.googleapis.com/cvdf-datasets/mnist"
# File: SHA-256, bytes.
_MNIST_FILES = {
    "train-images-idx3-ubyte.gz": ("440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609", 9_912_422),
    "train-labels-idx1-ubyte.gz": ("3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c", 28_881),
    "t10k-images-idx3-ubyte.gz": ("8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6", 1_648_877),
    "t10k-labels-idx1-ubyte.gz": ("f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6", 4_542),
}
_CIFAR10_FILES = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")
_NOTES = (
    "The first 5,000 training images validate. Each region is joined to the eight most similar in place and colour; "
    "edge_attr says how similar."
)


def _mnist(name: str, *sizes: int) -> DatasetRow:
    origins = tuple(
        Download(url=f"{_MNIST}/{file}", path=file, sha256=sha256, n_bytes=n_bytes)
        for file, (sha256, n_bytes) in _MNIST_FILES.items()
    )
    return _row(
        name,
        sizes,
        loader=f"{_READERS}:read_mnist_regions",
        options={"n_regions": 75},
        raw="MNIST/raw",
        source="MNIST: handwritten digits as about 75 regions each",
        licence="CC BY-SA 3.0 (MNIST)",
        **cited("lecun1998", "dwivedi2023"),
        url="https://yann.lecun.com/exdb/mnist/",
        origins=origins,
        n_features=3,
    )


def _cifar10(name: str, *sizes: int) -> DatasetRow:
    origin = Download(
        url="https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
        sha256="6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
        n_bytes=170_498_071,
        members={file: f"cifar-10-batches-py/{file}" for file in _CIFAR10_FILES},
    )
    return _row(
        name,
        sizes,
        loader=f"{_READERS}:read_cifar10_regions",
        options={"n_regions": 150},
        raw="CIFAR10/raw",
        source="CIFAR-10: small photographs as about 150 regions each",
        licence="not stated",
        **cited("krizhevsky2009", "dwivedi2023"),
        url="https://www.cs.toronto.edu/~kriz/cifar.html",
        origins=(origin,),
        n_features=5,
    )


def _row(name: str, sizes: tuple[int, ...], *, options: dict[str, Any], n_features: int, **facts: Any) -> DatasetRow:
    return DatasetRow(
        name=name,
        category=Category.vision,
        task_types=(TaskType.graph_cls,),
        options={**options, "sizes": sizes},
        expected={"n_graphs": sum(sizes), "n_features": n_features, "n_classes": 10},
        notes=_NOTES,
        defects=("Regions are our own: k-means on place and colour, not those of the published graphs.",),
        **facts,
    )


ROWS = (
    _mnist("mnist_regions", 55_000, 5_000, 10_000),
    _mnist("mnist_regions_1pct", 550, 50, 100),
    _mnist("mnist_regions_tiny", 100, 20, 20),
    _cifar10("cifar10_regions", 45_000, 5_000, 10_000),
    _cifar10("cifar10_regions_1pct", 450, 50, 100),
    _cifar10("cifar10_regions_tiny", 100, 20, 20),
)

TASKS: tuple[Task, ...] = ()

LARGE_TASKS = tuple(Task(row.name, TaskType.graph_cls, epochs=20, category=row.category) for row in ROWS)
