"""Facts of collated graphs: sizes, vocabularies, direction, kinds of labels."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

__all__ = ["RunningFacts", "describe", "sizes_of"]


def describe(tensors: Mapping[str, Tensor]) -> dict[str, object]:
    """Return ``sizes``, ``vocabularies``, ``is_directed`` and ``is_multi_label`` of collated graphs."""
    sizes = sizes_of(tensors)
    return {
        "sizes": sizes,
        "vocabularies": _vocabularies(tensors.get("x")),
        "is_directed": sizes["n_relations"] > 0 or _is_directed(tensors),
        "is_multi_label": _is_multi_label(tensors.get("y")),
    }


def sizes_of(tensors: Mapping[str, Tensor]) -> dict[str, int]:
    """Return the sizes that a card names, 0 for what the graphs do not have."""
    x, y = tensors.get("x"), tensors.get("y")
    classes = tensors.get("edge_label") if y is None else y
    return {
        "n_graphs": tensors["ptr/node"].numel() - 1,
        "n_nodes": int(tensors["ptr/node"][-1]),
        "n_edges": int(tensors["ptr/edge"][-1]),
        "n_features": 0 if x is None else _columns(x),
        "n_classes": _columns(y) if y is not None and _is_multi_label(y) else _one_past(classes),
        "n_targets": 0 if y is None else _columns(y),
        "n_relations": _one_past(tensors.get("edge_type")),
    }


class RunningFacts:
    """Facts of graphs that come in portions: in the end those that :func:`describe` has of all of them at once."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._vocabularies: list[tuple[int, ...]] = []
        self._is_directed = False
        self._are_multi_label: list[bool] = []

    def add(self, tensors: Mapping[str, Tensor]) -> None:
        """Take note of one more portion of collated graphs."""
        found: Any = describe(tensors)
        # A portion may by chance have labels of 0 and 1 only, so the largest is kept apart from the columns.
        labels = tensors.get("y", tensors.get("edge_label"))
        for name, size in (found["sizes"] | {"n_classes": _one_past(labels)}).items():
            combine = operator.add if name in _COUNTED else max
            self._sizes[name] = combine(self._sizes.get(name, 0), size)
        if found["vocabularies"]:
            self._vocabularies.append(found["vocabularies"])
        if "y" in tensors and tensors["y"].numel():
            self._are_multi_label.append(found["is_multi_label"])
        self._is_directed |= found["is_directed"]

    def finish(self) -> dict[str, object]:
        """Return the facts of all portions."""
        is_multi_label = bool(self._are_multi_label) and all(self._are_multi_label)
        n_classes = self._sizes["n_targets" if is_multi_label else "n_classes"]
        return {
            "sizes": self._sizes | {"n_classes": n_classes},
            "vocabularies": tuple(map(max, zip(*self._vocabularies, strict=True))),
            "is_directed": self._is_directed,
            "is_multi_label": is_multi_label,
        }


_COUNTED = ("n_graphs", "n_nodes", "n_edges")


def _columns(tensor: Tensor) -> int:
    return 1 if tensor.dim() < 2 else tensor.size(-1)


def _one_past(tensor: Tensor | None) -> int:
    if tensor is None or tensor.is_floating_point() or not tensor.numel():
        return 0
    return max(int(tensor.max()) + 1, 0)


def _is_multi_label(y: Tensor | None) -> bool:
    if y is None or y.dim() != 2 or y.size(1) < 2 or not y.numel():
        return False
    return bool(((y == 0) | (y == 1) | y.isnan()).all())


def _vocabularies(x: Tensor | None) -> tuple[int, ...]:
    if x is None or x.is_floating_point() or x.dim() > 2 or not x.numel():
        return ()
    return tuple((x.reshape(x.size(0), -1).amax(dim=0).long() + 1).tolist())


def _is_directed(tensors: Mapping[str, Tensor]) -> bool:
    if "edge_index" not in tensors:
        return False
    first_nodes = tensors["ptr/node"][:-1].repeat_interleave(tensors["ptr/edge"].diff())
    source, target = tensors["edge_index"].long() + first_nodes
    n_nodes = int(tensors["ptr/node"][-1])
    return not torch.equal(torch.unique(source * n_nodes + target), torch.unique(target * n_nodes + source))
