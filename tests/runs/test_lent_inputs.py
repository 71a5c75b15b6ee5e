"""What a model writes into its input is gone at the next call, whatever it is, and by whatever name it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from test_one import bits
from torch import Tensor
from writing_nets import HARMFUL, HARMFUL_SCORERS, WAYS, Harmless, HarmlessScorer, tensors_of

from gnz_track.models.catalogue import MODELS, describe
from gnz_track.runs import run_one as one
from gnz_track.runs.run_one import run_one
from gnz_track.training.acceleration import attach, sparsify
from gnz_track.training.lent import lend
from gnz_track.types import Cell, CellResult

Cells = Callable[..., Cell]


def bytes_of(tensor: Tensor) -> bytes:
    return torch.clone(tensor).numpy().tobytes()


@pytest.mark.parametrize("way", list(WAYS))
def test_a_model_that_ruins_its_input_gets_the_same_one_again(any_world: Any, cell_on: Cells, way: str) -> None:
    found, expected = (run_one(cell_on(any_world, net, epochs=2)) for net in (HARMFUL[way], Harmless))
    assert bits(found) == bits(expected)


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("name", ["links", "links, published", "links, no features"])
def test_pairs_and_codes_are_the_same_again_too(
    world: Callable[[str], Any], cell_on: Cells, way: str, name: str
) -> None:
    nets = (describe(HARMFUL_SCORERS[way]), describe(HarmlessScorer))
    found, expected = (run_one(cell_on(world(name), net, epochs=2)) for net in nets)
    assert bits(found) == bits(expected)


def test_a_cell_of_a_ruinous_model_changes_none_after_it(any_world: Any, cell_on: Cells) -> None:
    innocent = cell_on(any_world, "GCN")
    alone = bits(run_one(innocent))
    for net in HARMFUL.values():
        run_one(cell_on(any_world, net, epochs=1))
    assert bits(run_one(innocent)) == alone


@pytest.mark.parametrize("name", MODELS.names())
def test_models_of_this_package_write_into_nothing(
    typical_world: Any, cell_on: Cells, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hold them to it: they are given the tensors themselves."""
    seen: list[tuple[Tensor, Tensor]] = []
    pose = one.pose

    def pose_and_keep(*given: Any) -> Any:
        problem = pose(*given)
        objective = problem.objective
        kept = [*vars(objective).values(), *(item for part in problem.scorers.values() for item in vars(part).values())]
        for item in (*kept, *getattr(objective, "_held_out_batches", [])):
            seen.extend((tensor, tensor.clone()) for tensor in tensors_of(item))
        return problem

    cell = cell_on(typical_world, name, epochs=1)
    if cell.task.task_type not in cell.model.task_types:
        pytest.skip("not a model for this")
    monkeypatch.setattr(one, "pose", pose_and_keep)
    result = run_one(cell)
    assert result.failure is None or result.failure.kind in {"BadValue", "ModelInvalid"}, result.failure
    assert seen
    assert all(bytes_of(now) == bytes_of(before) for now, before in seen)


def test_copies_of_all_that_hangs_on_a_graph_are_made() -> None:
    from torch_geometric.data import Data

    edges = attach(torch.tensor([[0, 1, 2], [1, 2, 0]]), 3)
    features = sparsify(torch.eye(40))
    data = Data(x=features, edge_index=edges, more={"a": [torch.ones(2)]})
    lent = lend(data)
    for first, second in zip(tensors_of(data), tensors_of(lent), strict=True):
        assert torch.equal(first, second)
        assert type(first) is type(second)
    for tensor in tensors_of(lent):
        WAYS["by data"](tensor)
    lent.more["a"][0].zero_()
    assert torch.equal(torch.clone(data.x), torch.eye(40))
    assert data.edge_index.tolist() == [[0, 1, 2], [1, 2, 0]]
    assert data.edge_index.gnz_structure.looped.columns.tolist() == [2, 0, 0, 1, 1, 2]
    assert data.more["a"][0].tolist() == [1, 1]


def test_layers_see_what_was_written_behind_their_back(world: Callable[[str], Any], cell_on: Cells) -> None:
    """A structure that hangs on edges, and entries of sparse features, say nothing of what an array wrote."""

    class Rewired(Harmless):
        def forward(self, data: Any) -> Tensor:
            edges = self.edges_of(data)
            edges.numpy()[1] = edges.numpy()[1, ::-1].copy()
            x = self.features_of(data)
            x.numpy()[:, 0] = 0.5
            codes: Tensor = self.layer(x, edges)
            return codes

        def edges_of(self, data: Any) -> Tensor:
            return data.edge_index  # type: ignore[no-any-return]

        def features_of(self, data: Any) -> Tensor:
            return data.x  # type: ignore[no-any-return]

    class Copied(Rewired):
        def edges_of(self, data: Any) -> Tensor:
            return attach(data.edge_index.clone(), data.num_nodes + 1)

        def features_of(self, data: Any) -> Tensor:
            return torch.clone(data.x)

    def scores(result: CellResult) -> list[float]:
        assert result.failure is None, result.failure.traceback
        return list(result.series["train/loss"])

    for name in ("nodes", "nodes, identity", "graphs"):
        found, expected = (run_one(cell_on(world(name), net)) for net in (Rewired, Copied))
        assert scores(found) == pytest.approx(scores(expected), rel=1e-5)
