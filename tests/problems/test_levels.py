"""Numbers of nodes and of graphs together: the loss and the scores against their definition, graph by graph."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.errors import BadValue, ModelInvalid
from gnz_track.problems.multi_task import TwoLevelObjective, TwoLevelScorer
from gnz_track.training.graphs import GraphCollection

SIZES = torch.tensor([3, 5, 2, 4, 6])
POINTER = torch.tensor([0, 3, 8, 10, 14, 20])
NODE_TARGETS = torch.randn(20, 3, generator=torch.Generator().manual_seed(1))
GRAPH_TARGETS = torch.randn(5, 2, generator=torch.Generator().manual_seed(2))


class Net(nn.Module):
    """A model that sees features alone."""

    def __init__(self, n_graph_targets: int = 2) -> None:
        super().__init__()
        self.nodes, self.graphs = nn.Linear(4, 3), nn.Linear(4, n_graph_targets)

    def forward(self, data: Data) -> tuple[Tensor, Tensor]:
        sums = torch.stack([part.sum(0) for part in data.x.split(data.ptr.diff().tolist())])
        return self.nodes(data.x), self.graphs(sums)


def _objective() -> TwoLevelObjective:
    x = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))
    nothing = torch.zeros(6, dtype=torch.int64)
    graphs = GraphCollection(torch.empty(2, 0, dtype=torch.int64), POINTER, nothing, {"x": x})
    is_train = torch.tensor([True, False, True, True, False])
    return TwoLevelObjective(
        graphs=graphs,
        train=torch.tensor([0, 2, 3]),
        held_out=torch.tensor([4, 1]),
        node_targets=NODE_TARGETS.where(is_train.repeat_interleave(SIZES)[:, None], math.nan),
        graph_targets=GRAPH_TARGETS.where(is_train[:, None], math.nan),
        batch_size=2,
    )


def test_the_loss_is_the_mean_of_the_errors_of_all_targets() -> None:
    objective = _objective()
    torch.manual_seed(0)
    model, seen = Net(), 0
    for batch in objective.batches(torch.Generator().manual_seed(0)):
        loss, n_graphs = objective.loss(model, batch)
        nodes, graphs = model(batch)
        n_nodes = batch.x.size(0)
        # As published: squared errors of each graph over the mean number of nodes, their mean over graphs.
        terms = []
        for target in range(3):
            squares = (nodes[:, target] - batch.y[:, target]).square().split(batch.ptr.diff().tolist())
            terms.append(torch.stack([each.sum() / (n_nodes / n_graphs) for each in squares]).mean())
        terms += [(graphs[:, target] - batch.graph_y[:, target]).square().mean() for target in range(2)]
        torch.testing.assert_close(loss, torch.stack(terms).mean())
        seen += n_graphs
    assert seen == 3


def test_scores_are_logarithms_of_errors_on_a_part() -> None:
    objective = _objective()
    torch.manual_seed(0)
    model = Net().eval()
    with torch.no_grad():
        prediction = objective.predict(model)
    assert prediction.shape == ((6 + 5) * 3 + 2 * 2,)
    part = torch.tensor([1])
    scorer = TwoLevelScorer(torch.arange(6, 11), torch.tensor([1]), NODE_TARGETS[3:8], GRAPH_TARGETS[part], 11)
    graph = Data(x=objective.graphs.node["x"][3:8], ptr=torch.tensor([0, 5]))
    nodes, graphs = (out.detach().double().numpy() for out in model(graph))
    errors = [
        *np.square(nodes - NODE_TARGETS[3:8].double().numpy()).mean(0),
        *np.square(graphs - GRAPH_TARGETS[part].double().numpy()).mean(0),
    ]
    with torch.no_grad():
        found = scorer.score_fully(model, prediction)
    names = ["log10_mse", *(f"log10_mse_node_{i}" for i in range(3)), *(f"log10_mse_graph_{i}" for i in range(2))]
    assert list(found) == names
    assert list(found.values()) == pytest.approx([math.log10(np.mean(errors)), *map(math.log10, errors)], abs=1e-5)
    assert scorer.loss(model, prediction) == pytest.approx(np.mean(errors), rel=1e-5)
    assert scorer.score(model, prediction, "log10_mse_node_1") == found["log10_mse_node_1"]
    with pytest.raises(BadValue, match="metric of the task is 'mae'; allowed: log10_mse, "):
        scorer.score(model, prediction, "mae")


def test_a_perfect_answer_has_a_score() -> None:
    scorer = TwoLevelScorer(torch.arange(3), torch.arange(1), NODE_TARGETS[:3], GRAPH_TARGETS[:1], 3)
    perfect = torch.cat([NODE_TARGETS[:3].flatten(), GRAPH_TARGETS[0]])
    assert scorer.score(nn.Identity(), perfect, "log10_mse") == -30.0


def test_training_examples_are_predicted_in_their_order() -> None:
    objective = _objective()
    torch.manual_seed(0)
    model = Net().eval()
    found = objective.predict_training(model)
    whole = torch.cat([objective.graphs.node["x"][rows] for rows in (slice(0, 3), slice(8, 10), slice(10, 14))])
    torch.testing.assert_close(found[: 9 * 3].view(9, 3), model.nodes(whole))


@pytest.mark.parametrize("model", [Net(3), nn.Sequential()])
def test_a_model_that_answers_otherwise_is_refused(model: nn.Module) -> None:
    objective = _objective()
    batch = next(iter(objective.batches(torch.Generator())))
    with pytest.raises(ModelInvalid, match="was expected"):
        objective.loss(model, batch)


def test_no_label_of_a_held_out_graph_is_in_a_batch() -> None:
    objective = _objective()
    for batch in objective.batches(torch.Generator()):
        assert not batch.y.isnan().any()
        assert not batch.graph_y.isnan().any()
    seen: list[set[str]] = []

    class Watching(Net):
        def forward(self, data: Data) -> tuple[Tensor, Tensor]:
            seen.append(set(data.keys()))
            return super().forward(data)

    objective.predict(Watching())
    assert all(not {"y", "graph_y"} & keys for keys in seen)
