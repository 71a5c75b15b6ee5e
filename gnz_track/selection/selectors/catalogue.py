"""The table of selectors; fitting one, saving what it has learnt, and loading it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnz_track.errors import BadValue
from gnz_track.registry import Registry
from gnz_track.selection.graph_files import open_archive
from gnz_track.selection.matrix import ModelSetting, PerformanceMatrix
from gnz_track.selection.selectors import factor_models, forest_neighbours, meta_gl, neural, simple
from gnz_track.selection.selectors.training_set import Arrays, Real, Selector, TrainingSet

__all__ = ["SELECTORS", "Fitted", "fit_selector", "load_fitted"]

# No command lists selectors; where no name is near, the error lists them itself.
SELECTORS = Registry[Selector]("selector", entry_point_group="gnz_track.selectors", row_type=Selector)
for _row in (
    simple.RANDOM,
    simple.GLOBAL_BEST_SCORE,
    simple.GLOBAL_BEST_RANK,
    simple.ISAC,
    simple.ARGOSMART,
    neural.S2,
    factor_models.ALORS,
    neural.NCF,
    factor_models.META_OD,
    meta_gl.META_GL,
    forest_neighbours.FOREST_NEIGHBOURS,
):
    SELECTORS.add(_row.name, _row)

_HEADER, _FORMAT, _SETTINGS = "header", 2, "settings"


@dataclass(frozen=True, eq=False)
class Fitted:
    """A selector that has learnt: arrays and a few words, nothing else.

    ``low`` and ``span [d]`` bring features to 0 to 1 where the selector wants that; ``facts`` say what it learnt from:
    of a :class:`PerformanceMatrix`, its metric and settings.
    """

    selector: str
    n_features: int
    arrays: Arrays
    low: NDArray[np.float64]
    span: NDArray[np.float64]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> tuple[ModelSetting, ...]:
        """Settings of the columns of a prediction; nothing where it learnt from a bare array."""
        return tuple(ModelSetting(*parts) for parts in self.facts.get(_SETTINGS, ()))

    def predict(self, features: Real) -> Real:
        """Return what to rank settings by ``[graphs, m]``, higher is better, for features ``[graphs, d]``.

        NaN counts as 0, as in what was learnt from.
        """
        given = _read_matrix("features to predict for", np.atleast_2d(np.asarray(features)), "graphs, features")
        if given.shape[1] != self.n_features:
            raise BadValue("number of features", given.shape[1], f"{self.n_features}, as in what was learnt from")
        row = SELECTORS.get(self.selector)
        return row.predict(self.arrays, self._scaled(given) if row.is_scaled else np.nan_to_num(given))

    def save(self, path: str | Path) -> None:
        """Write an ``.npz`` of plain arrays with a header in JSON."""
        arrays = {f"array/{name}": array for name, array in self.arrays.items()}
        parts: dict[str, Any] = {"low": self.low, "span": self.span, **arrays}
        words = {"selector": self.selector, "n_features": self.n_features, "facts": dict(self.facts)}
        header = {"format": _FORMAT, **words, "digest": _digest_of(parts, words)}
        whole = {_HEADER: np.array(json.dumps(header)), **parts}
        try:
            with Path(path).open("wb") as file:
                np.savez_compressed(file, **whole)
        except OSError as error:
            raise BadValue(
                "file of the selector", str(path), f"a path that can be written ({error.strerror})"
            ) from error

    def _scaled(self, features: Real) -> Real:
        # A feature that hardly varied among past graphs would be beyond all numbers on a new one.
        return np.clip((np.nan_to_num(features) - self.low) / self.span, 0, 1)


def fit_selector(
    name: str,
    features: Real,
    scores: Real | PerformanceMatrix,
    *,
    seed: int = 0,
    bounds: tuple[Real, Real] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Fitted:
    """Fit a selector anew; graphs without any known score are left out.

    Parameters
    ----------
    name
        Name of the selector.
    features
        Features [n, d]; NaN is undefined on its graph and counts as 0, as in published figures.
    scores
        Scores [n, m], NaN where unknown, higher better; or a matrix, which knows its direction.
    seed
        Seed of the fit.
    bounds
        Lowest and highest value of each feature; without, those of the graphs learnt from, so that nothing of a graph
        that is asked about later is used.
    facts
        Facts that the fitted selector keeps.
    """
    row = SELECTORS.get(name)
    features = np.nan_to_num(_read_matrix("features to learn from", features, "graphs, features"))
    facts = {**_facts_of(scores), **(facts or {})}
    given = scores.signed if isinstance(scores, PerformanceMatrix) else scores
    scores = _read_matrix("scores to learn from", given, "graphs, settings")
    if len(features) != len(scores):
        counts = f"{len(features)} and {len(scores)}"
        raise BadValue("numbers of rows of features and scores", counts, "one row per graph in both, in the same order")
    is_known = np.isfinite(scores).any(axis=1)
    if is_known.sum() < 2:
        raise BadValue("number of graphs with a score", int(is_known.sum()), "at least 2")
    features, scores = features[is_known], scores[is_known]
    low, high = _read_bounds(bounds, features.shape[1]) if bounds else (features.min(axis=0), features.max(axis=0))
    fitted = Fitted(name, features.shape[1], {}, low, np.where(high > low, high - low, 1), facts)
    given = fitted._scaled(features) if row.is_scaled else features  # noqa: SLF001  (of this module)
    arrays = row.fit(TrainingSet(given, scores, seed))
    return Fitted(name, features.shape[1], arrays, fitted.low, fitted.span, fitted.facts)


def _facts_of(scores: Real | PerformanceMatrix) -> dict[str, Any]:
    if not isinstance(scores, PerformanceMatrix):
        return {}
    settings = [[one.model, one.hyperparameters, one.protocol] for one in scores.settings]
    return {"metric": scores.metric, _SETTINGS: settings}


def _read_matrix(what: str, given: Any, sides: str) -> Real:
    """Return numbers of two sides, of which neither is empty; NaN may be among them, infinity may not."""
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadValue(what, type(given).__name__, f"numbers [{sides}] ({error})") from error
    if found.ndim != 2 or not found.size:
        raise BadValue(f"shape of {what}", found.shape, f"[{sides}], at least one of each")
    if np.isinf(found).any():
        row, column = np.argwhere(np.isinf(found))[0].tolist()
        allowed = "finite numbers, or NaN where there is none"
        raise BadValue(f"row {row}, column {column} of {what}", float(found[row, column]), allowed)
    return found


def _read_bounds(bounds: tuple[Real, Real], n_features: int) -> tuple[Real, Real]:
    low, high = (np.asarray(bound, dtype=np.float64) for bound in bounds)
    if low.shape != (n_features,) or high.shape != (n_features,) or not np.isfinite([low, high]).all():
        allowed = f"two vectors of {n_features} finite numbers, lowest and highest"
        raise BadValue("bounds of features", f"{low.shape} and {high.shape}", allowed)
    return low, high


def load_fitted(path: str | Path) -> Fitted:
    """Return what :meth:`Fitted.save` wrote; nothing in the file is run."""
    allowed = "a file that Fitted.save wrote"
    if not Path(path).is_file():
        raise BadValue("a saved selector", str(path), f"{allowed}, which exists")
    with open_archive("a saved selector", path) as found:
        if not {_HEADER, "low", "span"} <= set(found.files):
            raise BadValue("a saved selector", str(path), f"{allowed}, not one of {', '.join(found.files)}")
        text = str(found[_HEADER])
        parts = {name: found[name] for name in found.files if name != _HEADER}
    try:
        header = dict(json.loads(text))
        words = {name: header[name] for name in ("selector", "n_features", "facts")}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise BadValue("header of a saved selector", text[:60], f"{allowed} ({error})") from error
    if header.get("format") != _FORMAT:
        raise BadValue("format of a saved selector", header.get("format"), str(_FORMAT))
    if header.get("digest") != _digest_of(parts, words):
        raise BadValue(
            "a saved selector", str(path), f"{allowed}, and that nobody has changed since: its digest is off"
        )
    SELECTORS.get(words["selector"])
    low, span = parts.pop("low"), parts.pop("span")
    arrays = {name.removeprefix("array/"): array for name, array in parts.items()}
    return Fitted(words["selector"], words["n_features"], arrays, low, span, words["facts"])


def _digest_of(parts: Mapping[str, NDArray[Any]], words: Mapping[str, Any]) -> str:
    """Return a digest of all that a file holds: half an array would fail far from here, or give other rankings."""
    found = hashlib.sha256(json.dumps(words, sort_keys=True).encode())
    for name, array in sorted(parts.items()):
        found.update(f"{name} {array.dtype.str} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:32]
