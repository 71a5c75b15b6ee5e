"""A stored model as MLflow loads it: ``mlflow.pyfunc.load_model`` calls this module, which the file ``MLmodel`` names.

Only architectures that this process knows are built: what is in the folder is numbers and settings, and runs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from gnz_track.errors import BadValue, ModelNotLoaded
from gnz_track.predictions.input_arrays import graphs_of_arrays
from gnz_track.predictions.new_predictions import frozen_graphs, predict
from gnz_track.predictions.stored_models import StoredModel, find_known, make_model
from gnz_track.store.schema import WEIGHTS_FILE
from gnz_track.types import ModelRow

__all__ = ["GraphModel"]

NAME = Path(WEIGHTS_FILE).name
MOST_BYTES = 2**30


class GraphModel:
    """A stored model behind MLflow's ``predict``: arrays by name in, an array of outputs out."""

    def __init__(self, stored: StoredModel) -> None:
        self.stored = stored

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Return the outputs for all nodes, graphs, edges or links that arrays describe; of two kinds, both by name.

        Parameters
        ----------
        model_input
            Arrays by the names of the signature, as ``{"x": ..., "edge_index": ...}``.
        params
            Nothing: there are none.
        """
        del params
        if not isinstance(model_input, Mapping):
            wanted = ", ".join(f"{name} ({form})" for name, form in self.stored.inputs.items())
            raise BadValue("input of the model", type(model_input).__name__, f"arrays by name: {wanted}")
        graphs = graphs_of_arrays(self.stored, model_input)
        with frozen_graphs(self.stored, graphs, "input") as dataset:
            parts = predict(self.stored, dataset).parts
        outputs: dict[str, NDArray[Any]] = {f"{one.kind}s": one.outputs for one in parts}
        return outputs if len(outputs) > 1 else next(iter(outputs.values()))


def _load_pyfunc(path: str, model_config: Mapping[str, Any] | None = None) -> GraphModel:
    """Return the model of a folder; MLflow calls this."""
    del model_config
    file = Path(path) / NAME
    if not file.is_file() or file.stat().st_size > MOST_BYTES:
        raise ModelNotLoaded("", f"there is no file {NAME} in {path}", remedy="name the folder of a model of a run")
    return GraphModel(make_model(file.read_bytes(), NAME, _find_row))


def _find_row(about: Mapping[str, Any]) -> ModelRow:
    row = find_known(about)
    if row is None:
        name, source, digest = (str(about.get(key, "")) for key in ("name", "source", "digest"))
        code = f" of digest {digest[:12]}" if digest else ""
        reason = f"nothing here has registered the code of {name!r}, {source}{code}"
        raise ModelNotLoaded("", reason, remedy="register it first: gnz_track.register_model")
    return row
