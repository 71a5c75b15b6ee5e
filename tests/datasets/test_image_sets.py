"""Images in the files of their publishers: written here as these are, and read back as graphs."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

from gnz_track.datasets.generators.images import find_regions, join_similar, measure_regions, similarity
from gnz_track.datasets.readers.images_and_shapes import read_cifar10_regions, read_mnist_regions


def _write_idx(path: Path, values: np.ndarray) -> None:
    header = np.array([0x800 + values.ndim, *values.shape], dtype=">u4").tobytes()
    path.write_bytes(gzip.compress(header + values.astype(np.uint8).tobytes()))


@pytest.fixture
def mnist(tmp_path: Path) -> tuple[Path, np.ndarray, np.ndarray]:
    """Write 5,012 training images, of which twelve are not for validation, and four of the test."""
    rng = np.random.default_rng(0)
    images, labels = rng.integers(0, 256, (5_016, 28, 28)), rng.integers(0, 10, 5_016)
    for part, chosen in (("train", slice(5_012)), ("t10k", slice(5_012, None))):
        _write_idx(tmp_path / f"{part}-images-idx3-ubyte.gz", images[chosen])
        _write_idx(tmp_path / f"{part}-labels-idx1-ubyte.gz", labels[chosen])
    return tmp_path, images, labels


def test_digits_come_in_their_parts(mnist: tuple[Path, np.ndarray, np.ndarray]) -> None:
    folder, images, labels = mnist
    found = read_mnist_regions(folder, sizes=(3, 2, 2), n_regions=75)
    graphs = list(found.graphs)
    assert found.split.tolist() == [0, 0, 0, 1, 1, 2, 2]
    numbers = [5_000, 5_001, 5_002, 0, 1, 5_012, 5_013]
    assert [int(graph.y) for graph in graphs] == labels[numbers].tolist()
    for graph, number in zip(graphs, numbers, strict=True):
        image = images[number][:, :, None] / 255
        x = measure_regions(image, find_regions(image, n_regions=75, compactness=0.25))
        torch.testing.assert_close(graph.x, torch.from_numpy(x[:, :3]).float())
        assert graph.edge_index.shape == (2, 8 * graph.num_nodes)
        weight = similarity(x[:, :1], x[:, 1:3])
        np.testing.assert_allclose(graph.edge_attr[:, 0], weight[tuple(graph.edge_index.numpy())], rtol=1e-5)
    # Parts that have fewer images than asked for are taken whole.
    assert read_mnist_regions(folder, sizes=(99, 1, 99), n_regions=9).split.bincount().tolist() == [12, 1, 4]


def test_photographs_come_in_their_parts(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name, n in (*((f"data_batch_{number}", 2) for number in range(1, 6)), ("test_batch", 3)):
        batch = {"data": rng.integers(0, 256, (n, 3_072), dtype=np.uint8), "labels": rng.integers(0, 10, n).tolist()}
        (tmp_path / name).write_bytes(pickle.dumps(batch, protocol=2))
    red = pickle.loads((tmp_path / "test_batch").read_bytes())["data"][0, :1_024]
    found = read_cifar10_regions(tmp_path, sizes=(5, 4, 3), n_regions=20)
    graphs = list(found.graphs)
    # Of ten training images at most nine validate.
    assert found.split.bincount().tolist() == [1, 4, 3]
    assert all(graph.x.shape == (graph.num_nodes, 5) for graph in graphs)
    assert 0 <= float(graphs[5].x[:, 0].mean()) <= 1
    assert float(graphs[5].x[:, 0].mean()) == pytest.approx(red.mean() / 255, abs=0.05)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    for part in ("train", "t10k"):
        _write_idx(tmp_path / f"{part}-images-idx3-ubyte.gz", np.zeros(5))
        _write_idx(tmp_path / f"{part}-labels-idx1-ubyte.gz", np.zeros(5))
    with pytest.raises(ValueError, match="0x801, not as an array of bytes with 3 dimensions"):
        read_mnist_regions(tmp_path, sizes=(1, 1, 1), n_regions=9)


def test_similarity_is_the_published_formula() -> None:
    rng = np.random.default_rng(0)
    colours, places = rng.random((30, 3)), rng.random((30, 2))
    found = similarity(colours, places)
    wanted = np.zeros((30, 30))
    for i in range(30):
        for j in range(30):
            scales = [np.sort(cdist(values, values)[i])[:9].sum() / 8 + 1e-8 for values in (places, colours)]
            gaps = [np.linalg.norm(values[i] - values[j]) for values in (places, colours)]
            wanted[i, j] = np.exp(-sum((gap / scale) ** 2 for gap, scale in zip(gaps, scales, strict=True))) * (i != j)
    np.testing.assert_allclose(found, (wanted + wanted.T) / 2, rtol=1e-9)
    ends, weight = join_similar(colours, places, 8)
    for node in range(30):
        of_node = ends[0] == node
        assert sorted(weight[of_node]) == pytest.approx(sorted(found[node])[-8:])
        assert node not in ends[1][of_node]


def test_few_and_equal_regions_are_joined_all_the_same() -> None:
    ends, weight = join_similar(np.full((3, 1), 0.5), np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), 8)
    assert ends.tolist() == [[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]]
    assert np.isfinite(weight).all()
    assert join_similar(np.zeros((1, 1)), np.zeros((1, 2)), 8)[0].shape == (2, 0)
