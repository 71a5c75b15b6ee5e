"""Numbers of nodes and numbers of graphs, predicted together."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.splits.nodes_and_graphs import split_graphs
from gnz_track.errors import BadValue, ModelInvalid
from gnz_track.problems.baselines import ConstantAnswer, constant_answer
from gnz_track.problems.inputs import (
    collection_of,
    complete_sizes,
    count_columns,
    sizes_of_edges,
    unfit,
)
from gnz_track.problems.problem import Problem, ProblemKind, held_out_parts, known_numbers, numbers_of, parts_of
from gnz_track.problems.scoring import mean_errors, score_errors
from gnz_track.training.answers import Answers, Examples
from gnz_track.training.graphs import GraphCollection, expand
from gnz_track.training.loop import TRAINING
from gnz_track.training.metrics import MetricRow, metrics_of
from gnz_track.types import CellSettings

__all__ = ["MULTI_TASK", "TwoLevelObjective", "TwoLevelScorer", "pose_two_levels"]


@dataclass(frozen=True, eq=False)
class TwoLevelObjective:
    """The mean over targets, of nodes and of graphs alike, of the mean squared error of each, in shuffled batches.

    ``node_targets [n_nodes, a]`` and ``graph_targets [n_graphs, b]`` belong to all graphs, those of held-out graphs
    erased. Predicts one vector: the outputs of nodes row by row, then those of graphs.
    """

    graphs: GraphCollection
    train: Tensor
    held_out: Tensor
    node_targets: Tensor
    graph_targets: Tensor
    batch_size: int
    device: str = "cpu"

    def __post_init__(self) -> None:
        node = {**self.graphs.node, "y": self.node_targets}
        shown = GraphCollection(
            self.graphs.edge_index, self.graphs.node_ptr, self.graphs.edge_ptr, node, self.graphs.edge
        )
        object.__setattr__(self, "_shown", shown)

    def batches(self, generator: Generator) -> Iterator[Data]:
        """Yield shuffled batches of training graphs with their targets as ``y`` and ``graph_y``."""
        shown: GraphCollection = self._shown  # type: ignore[attr-defined]
        order = self.train[torch.randperm(self.train.numel(), generator=generator)]
        for batch, graphs in shown.batches(order, self.batch_size):
            batch.graph_y = self.graph_targets.index_select(0, graphs)
            yield self._moved(batch)

    def loss(self, model: nn.Module, batch: Data) -> tuple[Tensor, int]:
        """Return the loss of one batch."""
        nodes, graphs = batch.y, batch.graph_y
        found = self._checked(model, model(batch), (nodes, graphs))
        errors = [
            functional.mse_loss(*pair, reduction="none").mean(dim=0)
            for pair in zip(found, (nodes, graphs), strict=True)
        ]
        return torch.cat(errors).mean(), graphs.size(0)

    def predict(self, model: nn.Module) -> Tensor:
        """Return the outputs for the held-out graphs, flat."""
        return self._predict(model, self.held_out)

    def predict_training(self, model: nn.Module) -> Tensor:
        """Return the outputs for the training graphs, flat."""
        return self._predict(model, self.train)

    def _predict(self, model: nn.Module, graphs: Tensor) -> Tensor:
        batches = self.graphs.batches(graphs, self.batch_size)
        found = [model(self._moved(copy.copy(batch))) for batch, _ in batches]
        return torch.cat([torch.cat(level).flatten() for level in zip(*found, strict=True)])

    def _moved(self, batch: Data) -> Data:
        return batch if self.device == "cpu" else batch.to(self.device)

    def _checked(self, model: nn.Module, outputs: Any, targets: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        wanted = [tuple(each.shape) for each in targets]
        is_pair = isinstance(outputs, tuple) and len(outputs) == len(wanted)
        shapes = [tuple(getattr(each, "shape", ())) for each in outputs] if is_pair else type(outputs).__name__
        if shapes != wanted:
            raise ModelInvalid(
                type(getattr(model, "encoder", model)).__name__,
                f"its forward returned {shapes} where {wanted} was expected",
                remedy="return a row per node and a row per graph, as a pair; multi_task_factory adds the heads",
            )
        return outputs  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class TwoLevelScorer:
    """Numbers of the nodes and of the graphs of one part: their places in the prediction, and what is true.

    ``node_rows [n]`` and ``graph_rows [m]`` count among the ``n_nodes`` and all graphs of the prediction.
    """

    node_rows: Tensor
    graph_rows: Tensor
    node_targets: Tensor
    graph_targets: Tensor
    n_nodes: int
    examples: tuple[Examples, ...] = ()

    def score(self, model: nn.Module, prediction: Tensor, metric: str) -> float:
        """Return the logarithm of the mean of all errors, or of one of them.

        Parameters
        ----------
        model, prediction, metric
            Those of :class:`~gnz_track.training.loop.Scorer`.
        """
        del model
        found = self._score(metrics_of("levels", is_full=True), prediction)
        if metric not in found:
            raise BadValue("metric of the task", metric, ", ".join(found))
        return found[metric]

    def score_fully(self, model: nn.Module, prediction: Tensor) -> Mapping[str, float]:
        """Return ``log10_mse`` over all targets, and that of each: ``log10_mse_node_0``, ``log10_mse_graph_0``, ..."""
        del model
        return self._score(metrics_of("levels"), prediction)

    def loss(self, model: nn.Module, prediction: Tensor) -> float:
        """Return what training minimises, on this part."""
        del model
        return float(torch.cat(self._errors(prediction)).mean())

    def answers(self, model: nn.Module, prediction: Tensor) -> tuple[Answers, ...]:
        """Return the outputs of nodes, then those of graphs."""
        del model
        targets = (self.node_targets, self.graph_targets)
        return tuple(Answers(*one) for one in zip(self.examples, targets, self._outputs(prediction), strict=True))

    def score_constant(self, answer: tuple[Tensor, Tensor], metric: str) -> float:
        """Return the score of the same answers to all nodes ``[a]`` and to all graphs ``[b]``."""
        of_nodes, of_graphs = answer
        n_graphs = int(self.graph_rows.max()) + 1
        whole = torch.cat([of_nodes.repeat(self.n_nodes), of_graphs.repeat(n_graphs)])
        return self.score(ConstantAnswer(), whole.to(self.node_rows.device), metric)

    def _score(self, rows: list[MetricRow], prediction: Tensor) -> dict[str, float]:
        nodes, graphs = self._errors(prediction)
        found = {row.name: score_errors(row, (nodes, graphs)) for row in rows}
        for level, of_level in (("node", nodes), ("graph", graphs)):
            for i, error in enumerate(of_level.tolist()):
                found |= {f"{row.name}_{level}_{i}": row.function(error) for row in rows}
        return found

    def _errors(self, prediction: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mean squared error of each target ``[a]`` of nodes and ``[b]`` of graphs, in double precision."""
        nodes, graphs = self._outputs(prediction)
        pairs = ((nodes, self.node_targets), (graphs, self.graph_targets))
        first, second = mean_errors(pairs)
        return first, second

    def _outputs(self, prediction: Tensor) -> tuple[Tensor, Tensor]:
        """Return the outputs of the nodes ``[n, a]`` and of the graphs ``[m, b]`` that are scored."""
        width = self.node_targets.size(1)
        nodes = prediction[: self.n_nodes * width].view(self.n_nodes, width)
        graphs = prediction[self.n_nodes * width :].view(-1, self.graph_targets.size(1))
        return nodes[self.node_rows], graphs[self.graph_rows]


def pose_two_levels(dataset: FrozenDataset, settings: CellSettings) -> Problem:
    """Pose numbers of nodes and of graphs together."""
    parts = parts_of(split_graphs, dataset, settings)
    nodes, graphs = _targets_of(dataset, settings)
    held_out = torch.cat([parts.val, parts.test])
    shown = torch.isin(torch.arange(len(dataset)), parts.train)
    on_nodes = shown.repeat_interleave(dataset.node_ptr.diff())
    objective = TwoLevelObjective(
        graphs=collection_of(dataset, settings, in_training=on_nodes.nonzero().flatten()),
        train=parts.train,
        held_out=held_out,
        node_targets=nodes.where(on_nodes[:, None], math.nan),
        graph_targets=graphs.where(shown[:, None], math.nan),
        batch_size=settings.optimiser.batch_size or parts.train.numel(),
        device=settings.device,
    )
    places = {"val": held_out, "test": held_out, TRAINING: parts.train}
    shown_targets = (nodes[on_nodes], graphs[parts.train])

    def scorer(name: str, part: Tensor) -> TwoLevelScorer:
        ranks = torch.empty(len(dataset), dtype=torch.int64)
        ranks[places[name]] = torch.arange(places[name].numel())
        predicted = expand(dataset.node_ptr, places[name])[1]
        rows, in_part = expand(predicted, ranks[part])[0], expand(dataset.node_ptr, part)[0]
        about = (rows, ranks[part], nodes[in_part], graphs[part])
        examples = (Examples("node", {"id": in_part}), Examples("graph", {"id": part}))
        return TwoLevelScorer(*(each.to(settings.device) for each in about), int(predicted[-1]), examples)

    return Problem(
        objective=objective,
        scorers={name: scorer(name, part) for name, part in held_out_parts(parts, settings)},
        sizes=complete_sizes(dataset, settings, _sizes_of_levels(dataset, settings)),
        split_digest=parts.digest,
        split=partial(numbers_of, parts),
        part_sizes=parts.sizes,
        constant=lambda metric: tuple(constant_answer(found, "numbers", 0, metric) for found in shown_targets),
    )


def _targets_of(dataset: FrozenDataset, settings: CellSettings) -> tuple[Tensor, Tensor]:
    """Return the numbers of nodes ``[n_nodes, a]`` and those of graphs ``[n_graphs, b]``."""
    found = []
    for name, n in (("y", dataset.n_nodes), ("graph_y", len(dataset))):
        targets = dataset.tensors[name]
        if not targets.is_floating_point() or not targets.numel() or targets.numel() % n:
            reason = f"{name} is {targets.dtype} {list(targets.shape)}, numbers for each of {n} are needed"
            raise unfit(dataset, settings, reason)
        found.append(targets.float().view(n, -1))
    return found[0], found[1]


def _sizes_of_levels(dataset: FrozenDataset, settings: CellSettings) -> dict[str, Any]:
    return {
        "out_channels": count_columns(dataset.tensors.get("y"), dataset.n_nodes),
        "n_graph_targets": count_columns(dataset.tensors.get("graph_y"), len(dataset)),
        **sizes_of_edges(dataset, settings),
    }


def _ask(model: nn.Module, dataset: FrozenDataset, settings: CellSettings) -> tuple[Answers, ...]:
    n = len(dataset)
    batches = collection_of(dataset, settings).batches(torch.arange(n), settings.optimiser.batch_size or n)
    found = [model(batch.to(settings.device)) for batch, _ in batches]
    nodes, graphs = (torch.cat(level) for level in zip(*found, strict=True))
    levels = (("node", dataset.n_nodes, "y", nodes), ("graph", n, "graph_y", graphs))
    return tuple(
        Answers(Examples(kind, {"id": torch.arange(count)}), known_numbers(dataset, name, outputs), outputs)
        for kind, count, name, outputs in levels
    )


MULTI_TASK = ProblemKind(
    pose=pose_two_levels,
    sizes=_sizes_of_levels,
    ask=_ask,
    needs=("edge_index", "y", "graph_y"),
    has_one_loss=True,
    divide=split_graphs,
)
