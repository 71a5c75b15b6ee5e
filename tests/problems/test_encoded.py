"""What training does to encodings, and evaluation does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from gnz_track.problems.inputs import VARIATIONS, EncodedObjective, vary

WIDTH = 6


def _encoded(toys: dict[str, Callable[[], Any]]) -> Any:
    objective = toys["graph_classes"]().objective
    n_nodes = objective.graphs.node["x"].size(0)
    encoding = torch.arange(1.0, n_nodes * WIDTH + 1).view(n_nodes, WIDTH)
    graphs = replace(objective.graphs, node={**objective.graphs.node, "encoding": encoding})
    return replace(objective, graphs=graphs)


def _collect(objective: Any, seed: int) -> list[tuple[Tensor, Tensor]]:
    """Return the varied encoding of each batch, and the one that it had."""
    plain = list(objective.inner.batches(torch.Generator().manual_seed(seed)))
    varied = objective.batches(torch.Generator().manual_seed(seed))
    first = next(varied)
    # The generator is shared, so that only the first batch is made of the same draws.
    return [(first.encoding, plain[0].encoding)]


def test_signs_are_turned_column_by_column(toys: dict[str, Callable[[], Any]]) -> None:
    objective = vary(_encoded(toys), "signs")
    patterns = set()
    for seed in range(8):
        for found, plain in _collect(objective, seed):
            ratio = found / plain
            assert torch.equal(ratio, ratio[:1].expand_as(ratio))
            assert set(ratio[0].tolist()) <= {-1.0, 1.0}
            patterns.add(tuple(ratio[0].tolist()))
    assert len(patterns) > 4


def test_columns_are_put_into_another_order(toys: dict[str, Callable[[], Any]]) -> None:
    objective = vary(_encoded(toys), "columns")
    orders = set()
    for seed in range(8):
        for found, plain in _collect(objective, seed):
            order = [(plain[0] == value).nonzero().item() for value in found[0]]
            assert torch.equal(found, plain[:, order])
            orders.add(tuple(order))
    assert len(orders) > 4


@pytest.mark.parametrize("variation", VARIATIONS)
def test_every_batch_is_varied_anew_and_the_graphs_keep_their_own(
    variation: str, toys: dict[str, Callable[[], Any]]
) -> None:
    inner = _encoded(toys)
    before = inner.graphs.node["encoding"].clone()
    objective = vary(inner, variation)
    seen = [batch.encoding for batch in objective.batches(torch.Generator().manual_seed(0))]
    again = [batch.encoding for batch in objective.batches(torch.Generator().manual_seed(0))]
    assert all(map(torch.equal, seen, again))
    assert torch.equal(inner.graphs.node["encoding"], before)
    prediction = objective.predict(lambda batch: batch.encoding)  # type: ignore[arg-type]
    assert torch.equal(prediction, torch.cat([batch.encoding for batch in inner._held_out_batches]))  # noqa: SLF001


def test_without_a_variation_nothing_is_in_between(toys: dict[str, Callable[[], Any]]) -> None:
    inner = toys["nodes"]().objective
    assert vary(inner, "none") is inner
    assert isinstance(vary(inner, "signs"), EncodedObjective)
