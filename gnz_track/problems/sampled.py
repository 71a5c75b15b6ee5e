"""Mini-batches of one large graph: neighbours drawn around nodes or pairs, and the next batch made meanwhile.

A batch is what PyG's ``NeighborLoader`` makes: the union of what was drawn around its seeds, which come first, as a
graph of its own. Layers know nothing of the rest: a node has the degree that it has in the batch. Validation and test
are scored along all edges, layer by layer.
"""

from __future__ import annotations

import collections
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol, TypeVar

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.problems.problem import check_outputs
from gnz_track.training.acceleration import NeighbourSampler, Structure, key_of_batch, structure_of
from gnz_track.training.acceleration.receptive_field import receptive_field_of
from gnz_track.training.losses import choose_loss
from gnz_track.types import CellSettings

__all__ = ["NeighbourBatches", "SampledLinks", "SampledObjective", "batches_from", "prefetch"]

Job, Made = TypeVar("Job"), TypeVar("Made")


def prefetch(make: Callable[[Job], Made], jobs: Iterable[Job]) -> Iterator[Made]:
    """Yield what is made of each job, in their order; a thread makes the next one while one is in use."""
    # A thread takes as many threads of Torch as there are processors, unless it is told otherwise.
    start = {"initializer": torch.set_num_threads, "initargs": (torch.get_num_threads(),)}
    with ThreadPoolExecutor(max_workers=1, **start) as pool:  # type: ignore[arg-type]
        ahead: collections.deque[Future[Made]] = collections.deque()
        for job in jobs:
            ahead.append(pool.submit(make, job))
            if len(ahead) > 1:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


class Seeds(NamedTuple):
    """Nodes ``[n]`` around which a batch is drawn, edges ``[2, m]`` that it is not to have, and fields of its own."""

    nodes: Tensor
    hidden: Tensor | None = None
    fields: Mapping[str, Tensor] = {}


def _are_among(edges: Tensor, others: Tensor, n_nodes: int) -> Tensor:
    """Tell of each edge ``[n]`` whether it is one of some others, in either direction."""
    codes, (source, target) = edges[0] * n_nodes + edges[1], others
    return torch.isin(codes, torch.cat([source * n_nodes + target, target * n_nodes + source]))


@dataclass(frozen=True, eq=False)
class NeighbourBatches:
    """One graph, of which batches are drawn around nodes; ``edge_index`` has its rows attached.

    Fields of nodes are those of ``n_nodes`` rows that are named in ``node``, fields of edges are named in ``edge``.
    """

    data: Data
    fan_outs: tuple[int, ...]
    node: tuple[str, ...]
    edge: tuple[str, ...] = ()
    device: str = "cpu"

    @cached_property
    def structure(self) -> Structure:
        """Rows of the whole graph."""
        found = structure_of(self.data.edge_index, int(self.data.num_nodes or 0))
        if found is None:
            message = "the edges of a graph of which batches are drawn have no rows attached"
            raise TypeError(message)
        return found

    def draw(self, batches: Iterable[Seeds], generator: Generator) -> Iterator[Data]:
        """Yield the sub-graph around the seeds of each batch, drawn anew by one number of the generator."""
        epoch = int(torch.randint(2**62, (1,), generator=generator))
        make = partial(self._make, NeighbourSampler(self.structure.plain, self.fan_outs))
        yield from prefetch(make, ((seeds, key_of_batch(epoch, number)) for number, seeds in enumerate(batches)))

    def whole(self) -> Data:
        """Return the whole graph, where a model is."""
        data = copy.copy(self.data)
        return data if self.device == "cpu" else data.to(self.device)

    def _make(self, sampler: NeighbourSampler, job: tuple[Seeds, int]) -> Data:
        (seeds, hidden, fields), key = job
        sampled = sampler.sample(seeds, key)
        if hidden is not None:
            sampled = sampled.keep(~_are_among(sampled.nodes[sampled.edge_index], hidden, self.structure.n_nodes))
        nodes, edge_index, entries = sampled
        # Names as PyG's loader has them.
        batch = Data(num_nodes=nodes.numel(), n_id=nodes, batch_size=seeds.numel(), **fields)
        for name in self.node:
            batch[name] = self.data[name].index_select(0, nodes)
        if self.edge:
            places = self.structure.plain.order.index_select(0, entries)
            for name in self.edge:
                batch[name] = self.data[name].index_select(0, places)
        batch.edge_index = edge_index
        # Moving would make new tensors, without the structure that hangs on the edges.
        return batch if self.device == "cpu" else batch.to(self.device)


def batches_from(data: Data, dataset: FrozenDataset, settings: CellSettings) -> NeighbourBatches:
    """Return what draws batches of a graph by the settings of a cell.

    Parameters
    ----------
    data
        The graph, with its rows attached.
    dataset
        Dataset that it is of, which knows the fields of edges.
    settings
        Settings of the cell.
    """
    fields = dataset.card.fields
    found = [name for name in data.keys() if name not in ("edge_index", "num_nodes") and data[name] is not None]  # noqa: SIM118
    edge = tuple(name for name in found if name in fields and fields[name].along == "edge")
    node = tuple(name for name in found if name not in edge)
    return NeighbourBatches(data, tuple(map(int, settings.neighbours.split("x"))), node, edge, settings.device)


@dataclass(frozen=True, eq=False)
class SampledObjective:
    """A loss over training nodes ``rows [n]`` of one graph in shuffled batches, each with neighbours drawn around it.

    ``data`` carries the training labels as ``y``. Predicts the outputs of all ``n_rows`` nodes ``[n_rows, width]``,
    along all edges. ``kind`` is that of the labels.
    """

    graph: NeighbourBatches
    rows: Tensor
    batch_size: int
    # Columns that the model must return; 0 checks nothing.
    width: int = 0
    loss_name: str = ""
    kind: str = "classes"

    def batches(self, generator: Generator) -> Iterator[Data]:
        """Yield a sub-graph for each batch of training nodes, which are its first nodes."""
        order = torch.randperm(self.rows.numel(), generator=generator)
        sizes = self.batch_size or order.numel()
        yield from self.graph.draw((Seeds(self.rows[places]) for places in order.split(sizes)), generator)

    def loss(self, model: nn.Module, batch: Data) -> tuple[Tensor, int]:
        """Return the loss of the first nodes of a batch."""
        n, n_nodes = batch.batch_size, batch.num_nodes
        labels = batch.y[:n]
        field = receptive_field_of(model, batch.edge_index, torch.arange(n), n_nodes)
        if field is not None:
            batch.layer_edges, n_nodes = field.edges, field.n_rows
        logits = check_outputs(model, model(batch), n_nodes, self.width)
        return choose_loss(self.kind, self.loss_name)(logits[:n], labels), n

    def predict(self, model: nn.Module) -> Tensor:
        """Return the outputs for all nodes ``[n_rows, width]``."""
        logits: Tensor = model(self.graph.whole())
        return logits

    def predict_training(self, model: nn.Module) -> Tensor:
        """Return the same."""
        return self.predict(model)


class PairedObjective(Protocol):
    """An objective of pairs of nodes, which it names batch by batch."""

    def batches(self, generator: Generator) -> Iterator[Data]:
        """Yield the batches of one epoch."""
        ...

    def pairs_of(self, batch: Data) -> tuple[Tensor, Tensor]:
        """Return the pairs ``[2, n]`` of a batch, and which of them are links ``[n]``, 1.0 or 0.0."""
        ...


@dataclass(frozen=True, eq=False)
class SampledLinks:
    """Binary cross-entropy over the pairs of another objective, each batch with neighbours drawn around their ends.

    The links of a batch pass no messages in it. Predicts the codes of all nodes, along all edges that may be seen.
    """

    pairs: PairedObjective
    graph: NeighbourBatches

    def batches(self, generator: Generator) -> Iterator[Data]:
        """Yield a sub-graph for each batch of pairs, which are its ``edge_label_index``."""
        given = (self.pairs.pairs_of(batch) for batch in self.pairs.batches(generator))
        yield from self.graph.draw((_ends_of(pairs.cpu(), labels.cpu()) for pairs, labels in given), generator)

    def loss(self, model: Any, batch: Data) -> tuple[Tensor, int]:
        """Return the cross-entropy of a batch of pairs."""
        n_nodes, pairs, labels = batch.num_nodes, batch.edge_label_index, batch.edge_label
        logits = model.decode(check_outputs(model, model.encode(batch), n_nodes), pairs)
        return functional.binary_cross_entropy_with_logits(logits, labels), labels.numel()

    def predict(self, model: Any) -> Tensor:
        """Return the node codes ``[n_nodes, width]``."""
        codes: Tensor = model.encode(self.graph.whole())
        return codes

    def predict_training(self, model: Any) -> Tensor:
        """Return the same."""
        return self.predict(model)


def _ends_of(pairs: Tensor, labels: Tensor) -> Seeds:
    """Return the ends of some pairs as seeds, with the pairs as their fields; those that are links are hidden."""
    ends, places = torch.unique(pairs, return_inverse=True)
    return Seeds(ends, pairs[:, labels > 0], {"edge_label_index": places, "edge_label": labels})
