"""Catalogue: images as regions, shapes as meshes and points."""

from __future__ import annotations

from gnz_track.datasets.references import cited
from gnz_track.types import Category, DatasetRow, Download, Task, TaskType

__all__ = ["LARGE_TASKS", "ROWS", "TASKS"]

_PYG = "https://data.pyg.org/datasets"
_LISTS = "gnz_track.datasets.readers.raw_files"
_MNIST = Download(url=f"{_PYG}/MNISTSuperpixels.zip", members={"MNISTSuperpixels.pt": "MNISTSuperpixels.pt"})
_MNIST_LICENCE = "CC BY-SA 3.0 (MNIST)"
_TENTH = "Published are training and test; every tenth training graph validates here."
_MODELNET_LICENCE = "for research (Princeton ModelNet)"
_MESHES = "Large: all corners of all meshes are kept, in memory while they are frozen."

ROWS = (
    DatasetRow(
        name="mnist_superpixels",
        category=Category.vision,
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
    DatasetRow(
        name="mnist_superpixels_1500",
        category=Category.vision,
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
    DatasetRow(
        name="cifar10_superpixels",
        category=Category.vision,
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
    DatasetRow(
        name="modelnet10",
        category=Category.vision,
        task_types=(TaskType.graph_cls,),
        loader="gnz_track.datasets.readers.shapes:read_modelnet",
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
    DatasetRow(
        name="modelnet40",
        category=Category.vision,
        task_types=(TaskType.graph_cls,),
        loader="gnz_track.datasets.readers.shapes:read_modelnet",
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
    DatasetRow(
        name="shapenet",
        category=Category.vision,
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.readers.shapes:read_shapenet",
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
    DatasetRow(
        name="digits_regions",
        category=Category.vision,
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
)

TASKS = (
    Task(
        "mnist_superpixels",
        TaskType.graph_cls,
        epochs=4,
        dataset="mnist_superpixels_1500",
        category=Category.vision,
    ),
    Task("digits_regions", TaskType.graph_cls, epochs=10, category=Category.vision),
)

LARGE_TASKS = (
    Task(
        "mnist_superpixels_70000",
        TaskType.graph_cls,
        epochs=4,
        dataset="mnist_superpixels",
        category=Category.vision,
    ),
)
