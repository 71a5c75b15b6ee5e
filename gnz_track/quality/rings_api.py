"""The names of the published package, so that its users move over with one changed import.

``from gnz_track.quality.rings_api import ComplementarityFunctor, SeparabilityFunctor, SeparabilityStudy, ...``. Random
perturbations draw the same graphs from the same seed, complementarity has the same values (features in several
components are those of their own nodes), KS has the same p-values to the bit. What looped for ever there ends here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.quality.comparators import NORMS, Norm
from gnz_track.quality.complementarity import measure_complementarity
from gnz_track.quality.graph_distances import GRAPH_METRICS
from gnz_track.quality.measures import ORIGINAL, Measure
from gnz_track.quality.rings_study import KSComparator, SeparabilityFunctor, SeparabilityStudy, WilcoxonComparator
from gnz_track.quality.rings_transforms import (
    CompleteFeatures,
    CompleteGraph,
    EmptyFeatures,
    EmptyGraph,
    Original,
    RandomConnectedGraph,
    RandomFeatures,
    RandomGraph,
)

__all__ = [
    "ComplementarityFunctor",
    "CompleteFeatures",
    "CompleteGraph",
    "EmptyFeatures",
    "EmptyGraph",
    "FrobeniusMatrixNormComparator",
    "KSComparator",
    "L11MatrixNormComparator",
    "MatrixNormComparator",
    "Original",
    "RandomConnectedGraph",
    "RandomFeatures",
    "RandomGraph",
    "SeparabilityFunctor",
    "SeparabilityStudy",
    "WilcoxonComparator",
]


class MatrixNormComparator:
    """The norm of the difference of two matrices of distances: ``L11`` or ``frobenius``."""

    def __init__(self, norm: str = "L11", **_: Any) -> None:
        self.norm = norm

    def __call__(self, x: ArrayLike, y: ArrayLike, **_: Any) -> dict[str, Any]:
        """Return the score of two matrices ``[n, n]``."""
        found = self.find()
        differences = np.abs(np.asarray(x, dtype=np.float64) - np.asarray(y, dtype=np.float64))
        total = np.asarray(found.columns(differences).sum())
        return {**self.invalid_data, "score": float(found.share(total, np.array(len(differences))))}

    def find(self) -> Norm:
        """Return the norm that is meant."""
        if self.norm not in NORMS:
            message = f"Unexpected norm '{self.norm}'"
            raise RuntimeError(message)
        return NORMS[self.norm]

    @property
    def invalid_data(self) -> dict[str, Any]:
        """The score of what has none."""
        nothing = dict.fromkeys(("pvalue", "pvalue_adjusted", "significant"))
        return {"score": float("nan"), **nothing, "method": self.norm}


def L11MatrixNormComparator(**options: Any) -> MatrixNormComparator:  # noqa: N802  (the published name)
    """Return the comparator of the norm L11."""
    return MatrixNormComparator(norm="L11", **options)


def FrobeniusMatrixNormComparator(**options: Any) -> MatrixNormComparator:  # noqa: N802  (the published name)
    """Return the comparator of the Frobenius norm."""
    return MatrixNormComparator(norm="frobenius", **options)


_GRAPH_METRICS = {
    "diffusion_distance": "diffusion",
    "heat_kernel_distance": "heat",
    "resistance_distance": "resistance",
    "shortest_path_distance": "shortest_path",
}


class ComplementarityFunctor:
    """Mode complementarity of graphs; see :func:`gnz_track.quality.complementarity.measure_complementarity`.

    Further options by name: ``num_steps``, the time of the diffusion; ``t``, that of the heat kernel; ``norm``, that of
    the comparator; ``normalize_diameters``; ``symmetric``.
    Names of metrics are those of the published package or ours; the metric of features may also be a function.
    """

    def __init__(
        self,
        feature_metric: str | Callable[..., float],
        graph_metric: str,
        comparator: Callable[..., MatrixNormComparator] = MatrixNormComparator,
        n_jobs: int = 1,
        use_edge_information: bool = False,  # noqa: FBT001, FBT002  (the published signature)
        **options: Any,
    ) -> None:
        del n_jobs
        edge_attr = options.get("edge_attr")
        if edge_attr not in {None, "edge_attr"}:
            raise BadValue("edge_attr", edge_attr, "edge_attr, the field whose length is the weight of an edge")
        name = _GRAPH_METRICS.get(graph_metric, graph_metric)
        if name == "diffusion" and options.get("symmetric") is False:
            name = "diffusion_asymmetric"
        self.times = [int(options.get("num_steps", options.get("t", 1)))]
        given = {"norm": options["norm"]} if "norm" in options else {}
        self.measure = Measure(
            graph=GRAPH_METRICS.get(name).name,
            features=feature_metric,
            norm=comparator(**given).find(),
            is_normalised=bool(options.get("normalize_diameters", True)),
            uses_weights=use_edge_information,
        )

    def __call__(self, batch: Sequence[Data], as_dataframe: bool = True) -> Any:  # noqa: FBT001, FBT002
        """Return :meth:`forward`."""
        return self.forward(batch, as_dataframe)

    def forward(self, batch: Sequence[Data], as_dataframe: bool = True) -> Any:  # noqa: FBT001, FBT002
        """Return a frame with the column ``complementarity``, or a dictionary of a tensor."""
        graphs = [batch[number] for number in range(len(batch))]
        found = measure_complementarity(graphs, self.measure, modes=[ORIGINAL], times=self.times)
        values = found.at(ORIGINAL, self.times[0])
        if as_dataframe:
            return pd.DataFrame({"complementarity": values})
        return {"complementarity": torch.tensor(values, dtype=torch.float32)}
