"""The published face of the catalogue: names and callables by category and task type."""

from __future__ import annotations

from pathlib import Path

import pytest
from published_table import PUBLISHED_LOADERS

from gnz_track.compat.graphnetz import LOADER_REGISTRY, list_datasets
from gnz_track.errors import BadValue


def test_all_published_loaders_are_there_under_their_names() -> None:
    published = {name for by_type in PUBLISHED_LOADERS.values() for names in by_type.values() for name in names}
    assert len(published) == 63
    for category, by_type in PUBLISHED_LOADERS.items():
        for task_type, names in by_type.items():
            assert set(names) <= {name for name, _ in LOADER_REGISTRY[category][task_type]}
            assert set(names) <= set(list_datasets(category, task_type)[category][task_type])


def test_a_loader_prepares_its_dataset(tmp_path: Path) -> None:
    loaders = dict(LOADER_REGISTRY["combinatorial"]["link_pred"])
    one, other = (loaders["random_vrp"](tmp_path, seed=seed) for seed in (1, 2))
    assert (len(one), one[0].num_nodes, one.card.name) == (1, 43, "random_vrp")
    assert one.digest != other.digest


def test_loaders_can_be_asked_for_by_category_and_kind() -> None:
    assert list(LOADER_REGISTRY) == list(list_datasets())
    assert len(LOADER_REGISTRY) == 10
    assert list_datasets("physics", "link_pred") == {"physics": {"link_pred": ["ising_lattice"]}}
    assert list_datasets("custom") == {"custom": {}}
    assert "custom" not in LOADER_REGISTRY
    with pytest.raises(BadValue, match="botany"):
        list_datasets("botany")
