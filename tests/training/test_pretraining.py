"""Training without labels."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from gnz_track.errors import BadValue, Diverged
from gnz_track.models.embeddings.dgi import DGI, DGIWrapper
from gnz_track.models.graph_sage import GraphSAGE
from gnz_track.training.pretraining import train_dgi


def _graph() -> Data:
    generator = torch.Generator().manual_seed(0)
    classes = torch.arange(60) // 20
    edges = (torch.rand(60, 60, generator=generator) < torch.where(classes[:, None] == classes, 0.3, 0.01)).nonzero()
    x = torch.nn.functional.one_hot(classes, 3).float() + 0.1 * torch.randn(60, 3, generator=generator)
    return Data(x=x, edge_index=edges.t().contiguous())


@pytest.mark.parametrize("make", [lambda: DGI(3, 16), lambda: DGIWrapper(GraphSAGE(3, 16, 16), 16)])
def test_the_loss_goes_down_and_a_seed_repeats_it(make: Any) -> None:
    histories = []
    for _ in range(2):
        torch.manual_seed(0)
        histories.append(train_dgi(make(), _graph(), epochs=60, lr=0.01)["dgi_loss"])
    assert histories[0] == histories[1]
    assert len(histories[0]) == 60
    assert sum(histories[0][-10:]) < 0.8 * sum(histories[0][:10])


def test_no_epochs_are_refused() -> None:
    with pytest.raises(BadValue, match="epochs is 0"):
        train_dgi(DGI(3, 4), _graph(), epochs=0)


def test_divergence_names_the_epoch() -> None:
    data = _graph()
    data.x[0, 0] = float("nan")
    with pytest.raises(Diverged, match="at epoch 0"):
        train_dgi(DGI(3, 4), data, epochs=3)
