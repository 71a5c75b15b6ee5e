"""Classes, labels and numbers of graphs, as problems; and numbers of nodes and graphs together."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.splits.nodes_and_graphs import split_graphs
from gnz_track.problems.baselines import constant_answer
from gnz_track.problems.inputs import ProblemTerms, collection_of, sizes_of
from gnz_track.problems.multi_task import TwoLevelObjective, TwoLevelScorer
from gnz_track.problems.problem import Problem, batches_of, graph_labels, held_out_parts, seen, two_level_targets
from gnz_track.training.graphs import expand
from gnz_track.training.loop import TRAINING
from gnz_track.training.objectives import GraphObjective
from gnz_track.training.scorers import GraphScorer

__all__ = ["pose_graphs", "pose_two_levels"]


def pose_graphs(dataset: FrozenDataset, terms: ProblemTerms) -> Problem:
    """Pose classes, labels or numbers of graphs."""
    parts = split_graphs(dataset, policy=terms.protocol.splits, seed=terms.seed)
    kind, labels = graph_labels(dataset, terms)
    labels, sizes = seen(labels, parts, terms), sizes_of(dataset, terms)
    # All that is held out is predicted, scored or not: in other batches, sums would differ in the last digits.
    held_out = torch.cat([parts.val, parts.test])
    counts = [parts.val.numel(), parts.test.numel()]
    rows = dict(zip(("val", "test"), torch.arange(held_out.numel()).split(counts), strict=True))
    rows[TRAINING] = torch.arange(parts.train.numel())
    objective = GraphObjective(
        graphs=collection_of(dataset, terms),
        train=parts.train,
        labels=labels[parts.train],
        held_out=held_out,
        kind=kind,
        batch_size=terms.batch_size or parts.train.numel(),
        device=terms.device,
        width=sizes.out_channels,
        loss_name=terms.loss,
    )

    def scorer(name: str, part: Tensor) -> GraphScorer:
        batches = batches_of(torch.arange(part.numel()), terms)
        about = {"loss_name": terms.loss, "batches": batches}
        return GraphScorer(rows[name].to(terms.device), labels[part].to(terms.device), kind, **about)

    return Problem(
        objective=objective,
        scorers={name: scorer(name, part) for name, part in held_out_parts(parts, terms)},
        sizes=sizes,
        split_digest=parts.digest,
        part_sizes=parts.sizes,
        constant=partial(constant_answer, labels[parts.train], kind, sizes.out_channels),
    )


def pose_two_levels(dataset: FrozenDataset, terms: ProblemTerms) -> Problem:
    """Pose numbers of nodes and of graphs together."""
    parts = split_graphs(dataset, policy=terms.protocol.splits, seed=terms.seed)
    nodes, graphs = two_level_targets(dataset, terms)
    held_out = torch.cat([parts.val, parts.test])
    shown = torch.isin(torch.arange(len(dataset)), parts.train)
    on_nodes = shown.repeat_interleave(dataset.node_ptr.diff())
    objective = TwoLevelObjective(
        graphs=collection_of(dataset, terms),
        train=parts.train,
        held_out=held_out,
        node_targets=nodes.where(on_nodes[:, None], math.nan),
        graph_targets=graphs.where(shown[:, None], math.nan),
        batch_size=terms.batch_size or parts.train.numel(),
        device=terms.device,
    )
    places = {"val": held_out, "test": held_out, TRAINING: parts.train}
    shown_targets = (nodes[on_nodes], graphs[parts.train])

    def scorer(name: str, part: Tensor) -> TwoLevelScorer:
        ranks = torch.empty(len(dataset), dtype=torch.int64)
        ranks[places[name]] = torch.arange(places[name].numel())
        predicted = expand(dataset.node_ptr, places[name])[1]
        rows, of_nodes = expand(predicted, ranks[part])[0], nodes[expand(dataset.node_ptr, part)[0]]
        about = (rows, ranks[part], of_nodes, graphs[part])
        return TwoLevelScorer(*(each.to(terms.device) for each in about), int(predicted[-1]))

    return Problem(
        objective=objective,
        scorers={name: scorer(name, part) for name, part in held_out_parts(parts, terms)},
        sizes=sizes_of(dataset, terms),
        split_digest=parts.digest,
        part_sizes=parts.sizes,
        constant=lambda metric: tuple(constant_answer(found, "numbers", 0, metric) for found in shown_targets),
    )
