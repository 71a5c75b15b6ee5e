"""Arrays that a trained model is given and gives, by their names: what whoever asks it has to bring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.models.options import Sizes
from gnz_track.store.cell_files.weights import ArrayForm
from gnz_track.types import CellSettings, TaskType

__all__ = ["Form", "form_of"]

ANY = -1
EDGES, NUMBERS = ArrayForm(dtype="int64", shape=(2, ANY)), ArrayForm(dtype="int64", shape=(ANY,))
# Examples of these are edges or pairs of nodes, which have to be named.
_OF_PAIRS = frozenset({TaskType.link_pred, TaskType.edge_cls, TaskType.edge_reg})


@dataclass(frozen=True, kw_only=True)
class Form:
    """Form of each array that goes in, and of each that comes out."""

    inputs: Mapping[str, ArrayForm]
    outputs: Mapping[str, ArrayForm]

    def as_text(self) -> dict[str, dict[str, str]]:
        """Return each form as a text, for files that people read."""
        return {side: {name: str(one) for name, one in forms.items()} for side, forms in vars(self).items()}


def form_of(dataset: FrozenDataset, settings: CellSettings, sizes: Sizes) -> Form:
    """Return the form of what a model takes that was trained on a dataset, and of what it gives.

    Features of nodes and of edges are asked for where the dataset has them; without any, ``num_nodes`` says how many
    nodes there are. ``batch`` says of which graph a node is where there are many, ``edge_label_index`` which edges or
    links are scored, ``edge_label_type`` of which kinds they are.

    Parameters
    ----------
    dataset, settings
        Dataset, and the settings of a cell.
    sizes
        What its model had to know of it.
    """
    inputs = {"x": _rows_of(dataset.tensors["x"])} if dataset.n_features else {}
    inputs |= {} if inputs else {"num_nodes": ArrayForm(dtype="int64", shape=(1,))}
    inputs["edge_index"] = EDGES
    if sizes.n_relations:
        inputs["edge_type"] = NUMBERS
    if sizes.edge_channels:
        inputs["edge_attr"] = _rows_of(dataset.tensors["edge_attr"])
    if len(dataset) > 1:
        inputs["batch"] = NUMBERS
    if settings.task_type in _OF_PAIRS:
        inputs["edge_label_index"] = EDGES
    if sizes.n_relations:
        inputs["edge_label_type"] = NUMBERS
    if sizes.n_edge_features:
        inputs["edge_label_attr"] = ArrayForm(dtype="float32", shape=(ANY, sizes.n_edge_features))
    return Form(inputs=inputs, outputs=_outputs_of(settings, sizes))


def _rows_of(tensor: Tensor) -> ArrayForm:
    """Return the form of real or whole numbers, a row for each node or edge."""
    return ArrayForm(dtype="float32" if tensor.is_floating_point() else "int64", shape=(ANY, *tensor.shape[1:]))


def _outputs_of(settings: CellSettings, sizes: Sizes) -> dict[str, ArrayForm]:
    def wide(width: int) -> ArrayForm:
        return ArrayForm(dtype="float32", shape=(ANY, width))

    if settings.task_type is TaskType.multi_task:
        return {"nodes": wide(sizes.out_channels), "graphs": wide(sizes.n_graph_targets)}
    return {"outputs": wide(1 if settings.task_type is TaskType.link_pred else sizes.out_channels)}
