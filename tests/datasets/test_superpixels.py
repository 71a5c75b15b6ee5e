"""Images as graphs of regions: measured by hand, the same every time, and refused where they are none."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_sample_image

from gnz_track.datasets.generators.images import find_regions, join_touching, measure_regions, superpixels
from gnz_track.errors import BadValue


def _image(height: int, width: int, n_colours: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random((height, width, n_colours))


@settings(deadline=None, max_examples=60)
@given(
    height=st.integers(1, 24),
    width=st.integers(1, 24),
    n_colours=st.integers(1, 3),
    n_regions=st.integers(1, 40),
    seed=st.integers(0, 9),
)
def test_regions_divide_the_pixels(height: int, width: int, n_colours: int, n_regions: int, seed: int) -> None:
    image = _image(height, width, n_colours, seed)
    regions = find_regions(image, n_regions=n_regions, compactness=0.25)
    n = int(regions.max()) + 1
    assert regions.shape == (height, width)
    assert set(regions.ravel()) == set(range(n))
    assert n <= n_regions + (n_regions**0.5 + 0.5) / 2
    x = measure_regions(image, regions)
    assert x.shape == (n, n_colours + 3)
    assert x[:, -1].sum() == pytest.approx(1)
    # The mean of an image is the mean of its regions, each as large as it is.
    assert x[:, -1] @ x[:, :n_colours] == pytest.approx(image.mean(axis=(0, 1)))
    for region in range(n):
        assert x[region, :n_colours] == pytest.approx(image[regions == region].mean(axis=0))


def test_regions_follow_the_edges_of_what_is_seen() -> None:
    image = np.zeros((20, 20, 1))
    image[:, 7:] = 1
    regions = find_regions(image, n_regions=16, compactness=0.05)
    # The border lies inside of a column of the grid, and no region crosses it.
    assert not set(regions[:, :7].ravel()) & set(regions[:, 7:].ravel())
    grid = find_regions(image, n_regions=16, compactness=1e6)
    assert set(grid[:, :7].ravel()) & set(grid[:, 7:].ravel())


def test_a_photograph_is_told_by_its_regions() -> None:
    """Regions of real colours hold more of an image than squares of the same number do."""
    image = load_sample_image("flower.jpg")[:160, :160] / 255

    def left_over(compactness: float) -> float:
        regions = find_regions(image, n_regions=100, compactness=compactness)
        colours = measure_regions(image, regions)[:, :3]
        return float(np.square(image - colours[regions]).mean())

    assert left_over(0.25) < 0.8 * left_over(1e6)


def test_touching_regions_are_joined() -> None:
    regions = np.array([[0, 0, 1], [2, 2, 1], [2, 3, 3]])
    expected = {(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)}
    found = set(map(tuple, join_touching(regions).T.tolist()))
    assert found == expected | {(b, a) for a, b in expected}
    assert join_touching(np.zeros((4, 4), dtype=int)).shape == (2, 0)


@pytest.mark.parametrize("edges", ["nearest", "touching"])
def test_graphs_are_undirected_and_in_one_piece(edges: str) -> None:
    images = [_image(28, 28, 1, seed)[:, :, 0] for seed in range(4)]
    for graph in superpixels(images, [3, 1, 4, 1], edges=edges):
        assert not graph.is_directed()
        assert not graph.has_self_loops()
        assert nx.is_connected(nx.Graph(graph.edge_index.t().tolist()))
        assert graph.x.dtype == torch.float32
        assert graph.x.min() >= 0
        assert graph.x.max() <= 1


def test_each_region_has_its_nearest_neighbours() -> None:
    (graph,) = superpixels([_image(20, 20, 2, 0)], n_regions=30, k=4)
    place = graph.x[:, 2:4].double()
    nearest = torch.cdist(place, place).fill_diagonal_(9).topk(4, largest=False).indices
    wanted = {(a, int(b)) for a in range(graph.num_nodes) for b in nearest[a]}
    assert set(map(tuple, graph.edge_index.t().tolist())) == wanted | {(b, a) for a, b in wanted}


def test_whole_numbers_and_real_ones_are_the_same_image() -> None:
    whole = np.random.default_rng(0).integers(0, 256, (3, 16, 16), dtype=np.uint8)
    pairs = zip(superpixels(whole, n_regions=9), superpixels(whole / 255, n_regions=9), strict=True)
    for one, other in pairs:
        assert torch.equal(one.edge_index, other.edge_index)
        torch.testing.assert_close(one.x, other.x)


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [([1, 2], torch.int64), (np.array([1, 2]), torch.int64), ([0.5, 2.0], torch.float32), (None, None)],
)
def test_labels_keep_their_type(labels: Any, dtype: torch.dtype | None) -> None:
    graphs = list(superpixels(np.zeros((2, 8, 8)), labels))
    assert [None if dtype is None else graph.y.dtype for graph in graphs] == [dtype] * 2
    assert dtype is not None or "y" not in graphs[0]


def test_images_are_taken_one_at_a_time() -> None:
    n_taken = 0

    def draw() -> Iterator[np.ndarray]:
        nonlocal n_taken
        for _ in itertools.count():
            n_taken += 1
            yield np.zeros((6, 6))

    graphs = superpixels(draw(), n_regions=4)
    assert next(graphs).num_nodes == 4
    next(graphs)
    assert n_taken == 2


def test_a_plain_image_is_its_grid() -> None:
    (graph,) = superpixels([np.full((6, 6), 0.5)], n_regions=4, edges="touching")
    assert graph.x[:, 3].tolist() == [0.25] * 4
    assert graph.edge_index.tolist() == [[0, 0, 1, 1, 2, 2, 3, 3], [1, 2, 0, 3, 0, 3, 1, 2]]
    (alone,) = superpixels([np.zeros((1, 1))])
    assert (alone.num_nodes, alone.num_edges) == (1, 0)


@pytest.mark.parametrize(
    ("images", "options", "message"),
    [
        ([np.zeros(5)], {}, r"image 0 is 'float64 \[5\]'; allowed: numbers of shape \[h, w\]"),
        ([np.zeros((0, 5))], {}, r"image 0 is 'float64 \[0, 5\]'"),
        ([np.zeros((2, 2)), np.full((2, 2), 255.0)], {}, "image 1 is 'float64 from 255.0 to 255.0'; .* from 0 to 1"),
        ([np.full((2, 2), np.nan)], {}, "image 0 is 'float64 from nan to nan'"),
        ([np.full((2, 2), 300)], {}, "image 0 is 'int64 from 300 to 300'"),
        ([np.array([["a"]])], {}, "image 0 is '<U1"),
        ([np.zeros((2, 2))], {"edges": "near"}, "edges is 'near'; allowed: nearest or touching or similar"),
        ([np.zeros((2, 2))], {"k": 0}, "numbers above zero"),
        ([np.zeros((2, 2))], {"compactness": 0.0}, "numbers above zero"),
        ([np.zeros((2, 2))], {"labels": []}, "more images than 0"),
        ([np.zeros((2, 2))], {"labels": [1, 2]}, "more labels than 1"),
    ],
)
def test_what_is_no_image_is_named(images: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadValue, match=message):
        list(superpixels(images, **options))


def test_errors_of_the_source_pass_through() -> None:
    def broken() -> Iterator[np.ndarray]:
        message = "the disk is gone"
        yield np.zeros((2, 2))
        raise ValueError(message)

    with pytest.raises(ValueError, match="the disk is gone"):
        list(superpixels(broken(), [1, 2]))
