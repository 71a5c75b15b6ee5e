"""Forests as arrays: grown by scikit-learn, kept and read without it, so that they are saved without pickle."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnz_track.selection.selectors.training_set import Arrays, Real

__all__ = ["find_leaves", "forest_arrays", "predict_forest"]


def forest_arrays(forest: Any, *, with_values: bool = True) -> Arrays:
    """Return a fitted forest as arrays over all nodes of all trees; ``roots [trees]`` are the first node of each.

    A leaf has feature -1. ``values [nodes, outputs]`` are means of the outputs, where asked for.
    """
    trees = [tree.tree_ for tree in forest.estimators_]
    sizes = np.array([tree.node_count for tree in trees])
    roots = np.cumsum(sizes) - sizes
    arrays: Arrays = {
        "roots": roots,
        "feature": np.concatenate([np.where(tree.children_left < 0, -1, tree.feature) for tree in trees]),
        "threshold": np.concatenate([tree.threshold for tree in trees]),
        "left": np.concatenate([tree.children_left + root for tree, root in zip(trees, roots, strict=True)]),
        "right": np.concatenate([tree.children_right + root for tree, root in zip(trees, roots, strict=True)]),
    }
    if with_values:
        arrays["values"] = np.concatenate([tree.value[:, :, 0] for tree in trees]).astype(np.float32)
    return arrays


def find_leaves(arrays: Arrays, features: Real) -> NDArray[np.int64]:
    """Return the leaf of each row in each tree ``[n, trees]``."""
    # scikit-learn grows and reads trees in single precision.
    rounded = features.astype(np.float32)
    nodes = np.tile(arrays["roots"], (len(features), 1)).astype(np.int64)
    rows = np.arange(len(features))[:, None]
    while True:
        feature = arrays["feature"][nodes]
        is_inner = feature >= 0
        if not is_inner.any():
            return nodes
        goes_left = rounded[rows, feature] <= arrays["threshold"][nodes]
        following = np.where(goes_left, arrays["left"][nodes], arrays["right"][nodes])
        nodes = np.where(is_inner, following, nodes)


def predict_forest(arrays: Arrays, features: Real) -> Real:
    """Return the mean over trees of the values of leaves ``[n, outputs]``."""
    leaves = find_leaves(arrays, features)
    return np.asarray(arrays["values"][leaves].mean(axis=1), dtype=np.float64)
