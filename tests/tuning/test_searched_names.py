"""Every hyperparameter that is searched changes its model, or how the model is trained."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from gnz_track.models.building import Sizes, build, options_of
from gnz_track.models.catalogue import MODELS
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.tuning.default_spaces import defaults_of, space_of
from gnz_track.tuning.spaces import Dimension
from gnz_track.types import ModelRow, TaskType

PROTOCOL = PROTOCOLS.get("graphnetz")
PAIRS = [(row, kind) for row in MODELS.rows() for kind in row.task_types if kind in PROTOCOL.optimisers]
NAMES = [f"{row.name} {kind}" for row, kind in PAIRS]
OF_ONE_WIDTH = [
    (row, kind) for row, kind in PAIRS if "hidden_channels" not in space_of(row, options_of(row), PROTOCOL, kind, {})
]
N, N_CLASSES, WIDTH = 64, 2, 64
# Of fewer nodes eigenvectors are found at once, whatever the tolerance; walks from more take long.
NODES = {"SpectralEmbedding": 160, "Node2Vec": 16}
OPTIMISER = {"lr", "weight_decay"}
RULES = ("Jaccard", "AdamicAdar", "ResourceAllocation")


def graph(n: int, *, seed: int = 0) -> Data:
    """Return a ring with shortcuts, where nodes have coordinates, some classes, and edges have weights."""
    generator = torch.Generator().manual_seed(seed)
    ring = torch.stack([torch.arange(n), torch.arange(1, n + 1) % n])
    edges = torch.cat([ring, torch.randint(n, (2, 2 * n), generator=generator)], dim=1)
    edges = torch.cat([edges, edges.flip(0)], dim=1)
    labels = torch.randint(N_CLASSES, (n,), generator=generator)
    labels[::2] = -1
    features = {
        "x": torch.randn(n, 3, generator=generator),
        "edge_attr": torch.rand(edges.size(1), 2, generator=generator),
    }
    return Data(edge_index=edges, y=labels, edge_label_index=edges, num_nodes=n, **features)


def outputs_of(row: ModelRow, kind: TaskType, values: dict[str, Any]) -> Tensor:
    """Return what a model that was just built says of a graph, and how many parameters it has."""
    is_of_graphs, n = kind.startswith("graph"), NODES.get(row.name, N)
    width = values.get("hidden_channels", WIDTH)
    sizes = Sizes(
        in_channels=3,
        hidden_channels=width,
        # Of links, codes are what comes out.
        out_channels=width if kind is TaskType.link_pred else N_CLASSES,
        edge_channels=2,
        n_nodes=0 if is_of_graphs else n,
    )
    options = {**row.options, **{name: value for name, value in values.items() if name in options_of(row).names}}
    torch.manual_seed(1)
    model: Any = build(row, kind, sizes, options=options)
    data: Any = Batch.from_data_list([graph(12), graph(15, seed=1)]) if is_of_graphs else graph(n)
    if kind is TaskType.link_pred:
        said = model.decode(model.encode(data), torch.randint(n, (2, 300), generator=torch.Generator().manual_seed(2)))
    else:
        said = model(data)
    found = said[0] if isinstance(said, tuple) else said
    return torch.cat(
        [found.detach().flatten(), torch.tensor([float(sum(each.numel() for each in model.parameters()))])]
    )


def ends_of(dimension: Dimension) -> list[Any]:
    return list(dimension.choices) or [dimension.low, dimension.high]


def has_weights(row: ModelRow, kind: TaskType) -> bool:
    """Tell whether more is fitted than numbers by which all logits are scaled and shifted."""
    sizes = Sizes(in_channels=3, hidden_channels=WIDTH, out_channels=N_CLASSES, edge_channels=2, n_nodes=N)
    model = build(row, kind, sizes, options=row.options)
    return any(isinstance(each, nn.UninitializedParameter) or each.ndim for each in model.parameters())


@pytest.mark.parametrize(("row", "kind"), PAIRS, ids=NAMES)
def test_every_name_in_a_space_changes_the_model_or_its_training(row: ModelRow, kind: TaskType) -> None:
    options = options_of(row)
    space = space_of(row, options, PROTOCOL, kind, {})
    defaults = {name: value for name, value in defaults_of(options, PROTOCOL, kind).items() if name in space}
    assert OPTIMISER & set(space) == (OPTIMISER if has_weights(row, kind) else set())
    assert ("batch_size" in space) <= bool(PROTOCOL.optimisers[kind].batch_size)
    for name in sorted(set(space) - OPTIMISER - {"batch_size"}):
        found = [outputs_of(row, kind, {**defaults, name: value}) for value in ends_of(space[name])]
        same = [
            (one, other)
            for one in range(len(found))
            for other in range(one)
            if found[one].shape == found[other].shape and torch.equal(found[one], found[other])
        ]
        assert not same, f"{name}: {[tuple(ends_of(space[name])[place] for place in places) for places in same]}"


@pytest.mark.parametrize(("row", "kind"), OF_ONE_WIDTH, ids=[f"{row.name} {kind}" for row, kind in OF_ONE_WIDTH])
def test_width_that_is_not_searched_changes_no_model(row: ModelRow, kind: TaskType) -> None:
    narrow, wide = (outputs_of(row, kind, {"hidden_channels": width}) for width in (16, WIDTH))
    assert torch.equal(narrow, wide)


def test_only_rules_have_nothing_to_search() -> None:
    found = {row.name for row, kind in PAIRS if not space_of(row, options_of(row), PROTOCOL, kind, {})}
    assert found == set(RULES)
