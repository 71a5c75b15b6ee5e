"""The names of the published package RINGS, so that its users move over with one changed import.

``from gnz_track.compat.rings import ComplementarityFunctor, SeparabilityFunctor, SeparabilityStudy, ...``. Random
perturbations are transforms of PyG that draw the same graphs from the same seed; complementarity has the same values
(features in several components are those of their own nodes); separability has the same p-values to the bit, count / B,
which may be 0. What looped for ever there ends here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import to_scipy_sparse_matrix

from gnz_track.datasets.perturbations import ORIGINAL, RINGS, find_perturbation, perturb
from gnz_track.errors import BadValue
from gnz_track.quality.complementarity import measure_complementarity
from gnz_track.quality.distances import GRAPH_METRICS
from gnz_track.quality.measures import NORMS, Measure, Norm
from gnz_track.quality.separability import SeparabilitySettings, compare_samples

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


Comparator = Callable[..., dict[str, Any]]


class _Comparator:
    """Two samples by a permutation test, p being the share of permutations that are as extreme."""

    test = "ks"
    method = "KS"

    def __call__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        n_permutations: int = 10_000,
        alpha: float = 0.01,
        n_hypotheses: int = 1,
        random_state: int = 42,
    ) -> dict[str, Any]:
        """Return score, pvalue, pvalue_adjusted, significant and method."""
        if not np.size(x) or not np.size(y):
            message = "both samples need at least one score"
            raise ValueError(message)
        if self.test == "signed_rank" and np.size(x) != np.size(y):
            message = "paired samples need as many scores each"
            raise ValueError(message)
        settings = SeparabilitySettings(
            test=self.test, n_permutations=n_permutations, alpha=alpha, seed=random_state, compat=RINGS
        )
        found = compare_samples(x, y, settings, n_hypotheses=n_hypotheses)
        return {
            "score": found.statistic,
            "pvalue": found.p,
            "pvalue_adjusted": found.p_adjusted,
            "significant": found.p_adjusted < alpha,
            "method": self.method,
        }


class KSComparator(_Comparator):
    """Kolmogorov and Smirnov."""


class WilcoxonComparator(_Comparator):
    """Wilcoxon's signed ranks, of paired scores."""

    test = "signed_rank"
    method = "Wilcoxon"


COMPARATORS: dict[str, type[_Comparator]] = {"ks": KSComparator, "wilcoxon": WilcoxonComparator}


class SeparabilityFunctor:
    """All pairs of distributions compared, with Bonferroni over them."""

    def __init__(self, comparator: Comparator, n_jobs: int = 1, alpha: float = 0.01, **options: Any) -> None:
        del n_jobs
        self.comparator, self.alpha, self.options = comparator, alpha, options

    def forward(
        self,
        distributions: Mapping[str, ArrayLike],
        n_permutations: int = 10_000,
        random_state: int = 42,
        as_dataframe: bool = True,  # noqa: FBT001, FBT002  (the published signature)
    ) -> Any:
        """Return a row per pair with mode1 and mode2.

        Parameters
        ----------
        distributions
            Mode -> scores [n].
        n_permutations, random_state
            Permutations and their seed.
        as_dataframe
            Whether to return a frame, or a list.
        """
        pairs = list(itertools.combinations(distributions, 2))
        shared = {"n_permutations": n_permutations, "alpha": self.alpha, "random_state": random_state}
        rows = []
        for first, second in pairs:
            x, y = distributions[first], distributions[second]
            found = self.comparator(x, y, n_hypotheses=len(pairs), **shared, **self.options)
            rows.append({**found, "mode1": first, "mode2": second})
        return pd.DataFrame(rows) if as_dataframe else rows


class SeparabilityStudy:
    """Scores of perturbed versions of a dataset, recorded one by one and compared at the end.

    ``perturbations`` maps names to transforms; ``comparator`` is ks, wilcoxon, or a comparator.
    """

    def __init__(
        self,
        perturbations: Mapping[str, Callable[[Any], Any]],
        num_seeds: int = 5,
        comparator: str | Comparator = "ks",
        alpha: float = 0.01,
        n_jobs: int = 1,
    ) -> None:
        if not perturbations:
            message = "there is no perturbation"
            raise ValueError(message)
        if isinstance(comparator, str) and comparator.lower() not in COMPARATORS:
            message = f"unknown comparator {comparator!r}; known: {', '.join(COMPARATORS)}"
            raise ValueError(message)
        self.perturbations, self.num_seeds, self.alpha, self.n_jobs = dict(perturbations), num_seeds, alpha, n_jobs
        self.comparator = COMPARATORS[comparator.lower()]() if isinstance(comparator, str) else comparator
        self._scores: dict[str, list[float]] = {}

    def runs(self) -> Iterator[tuple[str, Callable[[Any], Any], int]]:
        """Yield the name of each version, its transform, and each seed."""
        for name, transform in self.perturbations.items():
            yield from ((name, transform, seed) for seed in range(self.num_seeds))

    @staticmethod
    def apply(data: Any, transform: Callable[[Any], Any]) -> Any:
        """Return a graph, or all graphs of a dataset, perturbed once and for good.

        The published one perturbs a dataset anew at every access, so that no two epochs see the same graphs.
        """
        if isinstance(data, Data) or not hasattr(data, "__len__"):
            return transform(data)
        return [transform(data[number]) for number in range(len(data))]

    def record(self, name: str, score: float) -> None:
        """Add a score of a version."""
        if name not in self.perturbations:
            message = f"{name!r} is no perturbation of this study; known: {', '.join(self.perturbations)}"
            raise KeyError(message)
        self._scores.setdefault(name, []).append(float(score))

    @property
    def scores(self) -> dict[str, NDArray[np.float64]]:
        """The scores recorded so far, by version."""
        return {name: np.asarray(values) for name, values in self._scores.items()}

    def evaluate(self, n_permutations: int = 10_000, random_state: int = 42, as_dataframe: bool = True) -> Any:  # noqa: FBT001, FBT002
        """Return the comparison of all versions that have scores.

        Parameters
        ----------
        n_permutations, random_state, as_dataframe
            As in :class:`SeparabilityFunctor`.
        """
        if not self._scores:
            message = "no score was recorded: study.record(name, score)"
            raise RuntimeError(message)
        functor = SeparabilityFunctor(self.comparator, n_jobs=self.n_jobs, alpha=self.alpha)
        return functor.forward(self.scores, n_permutations, random_state, as_dataframe)


class _Perturbing(BaseTransform):  # type: ignore[misc]  # what Torch is made of has no types here
    """A perturbation as a transform of PyG; the graph that is given is changed, as there."""

    name = ORIGINAL

    def __init__(self) -> None:
        # One stream for all graphs, begun where Torch was last seeded.
        self.generator = torch.Generator().manual_seed(torch.initial_seed())

    def forward(self, data: Data) -> Data:
        """Return the graph as the perturbation leaves it."""
        changed = perturb(data, self.name, self.generator, compat=RINGS)
        for key in set(data.keys()) - set(changed.keys()):
            data[key] = None
        if find_perturbation(self.name).changes == "graph":
            data.edge_index = changed.edge_index
        elif find_perturbation(self.name).changes == "features" and (data.x is not None or not self.needs_features):
            data.x = changed.x
        return data

    @property
    def needs_features(self) -> bool:
        """Whether a graph without features is left as it is."""
        return find_perturbation(self.name).is_random


class Original(_Perturbing):
    """The graph as it is."""


class EmptyGraph(_Perturbing):
    """No edge."""

    name = "empty-graph"


class CompleteGraph(_Perturbing):
    """All ordered pairs of different nodes."""

    name = "complete-graph"


class EmptyFeatures(_Perturbing):
    """A zero for each node."""

    name = "empty-features"


class CompleteFeatures(_Perturbing):
    """A one-hot vector for each node, ``max_nodes`` wide; a larger graph is an error, not a shorter matrix."""

    name = "complete-features"

    def __init__(self, max_nodes: int) -> None:
        super().__init__()
        self.max_nodes = max_nodes

    def forward(self, data: Data) -> Data:
        """Return the graph with one-hot vectors."""
        n = int(data.num_nodes or 0)
        if n > self.max_nodes:
            raise BadValue("max_nodes", self.max_nodes, f"at least {n}, the nodes of this graph")
        data.x = torch.eye(n, self.max_nodes)
        return data


class RandomFeatures(_Perturbing):
    """Normal numbers in place of features, or the features of other nodes."""

    def __init__(self, shuffle: bool = False, fixed_dimension: int | None = None) -> None:  # noqa: FBT001, FBT002
        super().__init__()
        self.shuffle, self.dimension = shuffle, fixed_dimension

    @property
    def name(self) -> str:  # type: ignore[override]
        """The perturbation that is meant."""
        return "shuffled-features" if self.shuffle else "random-features"

    def forward(self, data: Data) -> Data:
        """Return the graph with other features."""
        if self.shuffle or self.dimension is None or data.x is None:
            return super().forward(data)
        data.x = torch.randn(data.x.size(0), self.dimension, generator=self.generator)
        return data


class RandomGraph(_Perturbing):
    """As many random ordered pairs as there were edges, or ``int(p n (n - 1) / 2)``; or targets renamed."""

    kinds = ("random-graph", "shuffled-graph")

    def __init__(self, p: float | None = None, shuffle: bool = False) -> None:  # noqa: FBT001, FBT002
        super().__init__()
        self.p, self.shuffle = p, shuffle

    @property
    def name(self) -> str:  # type: ignore[override]
        """The perturbation that is meant."""
        return self.kinds[self.shuffle]

    def forward(self, data: Data) -> Data:
        """Return the graph with other edges; its attributes of edges go, but where targets are renamed."""
        n = int(data.num_nodes or 0)
        given = data.edge_index
        if self.p is not None and not self.shuffle:
            # Only how many there are decides.
            given = torch.zeros(2, int(self.p * n * (n - 1) / 2), dtype=torch.long)
        make = find_perturbation(self.name, compat=RINGS).edges
        if make is not None:
            data.edge_index = make(given, n, self.generator)
        if not self.shuffle:
            data.edge_attr = None
        return data


class RandomConnectedGraph(RandomGraph):
    """A random recursive tree and more pairs, or targets renamed until the graph is connected, in a hundred tries."""

    kinds = ("random-connected-graph", "shuffled-graph")
    tries = 100

    def forward(self, data: Data) -> Data:
        """Return the graph with other edges."""
        n = int(data.num_nodes or 0)
        for _ in range(self.tries):
            data = super().forward(data)
            if (
                n == 0
                or connected_components(to_scipy_sparse_matrix(data.edge_index, num_nodes=n), directed=False)[0] == 1
            ):
                return data
        allowed = f"one that is connected within {self.tries} tries"
        raise BadValue("a graph to be shuffled until it is connected", f"{n} nodes", allowed)


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
