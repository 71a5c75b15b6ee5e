"""The table of selectors; fitting one, saving what it has learnt, and loading it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnz_track.errors import BadValue
from gnz_track.registry import Registry
from gnz_track.selection.selectors import (
    alors,
    collaborative,
    constants,
    forest_neighbours,
    meta_gl,
    meta_od,
    similar_graphs,
    supervised_surrogate,
)
from gnz_track.selection.selectors.lessons import Arrays, Lesson, Real, Selector

__all__ = ["SELECTORS", "Fitted", "fit_selector", "load_fitted"]

SELECTORS = Registry[Selector]("selector", command="gnz recommend --help", entry_point_group="gnz_track.selectors")
for _module in (
    constants,
    similar_graphs,
    supervised_surrogate,
    alors,
    collaborative,
    meta_od,
    meta_gl,
    forest_neighbours,
):
    for _row in _module.ROWS:
        SELECTORS.add(_row.name, _row)

_HEADER, _FORMAT = "header", 1


@dataclass(frozen=True, eq=False)
class Fitted:
    """A selector that has learnt: arrays and a few words, nothing else.

    ``low`` and ``span [d]`` bring features to 0 to 1 where the selector wants that; ``facts`` say what it learnt from.
    """

    selector: str
    n_features: int
    arrays: Arrays
    low: NDArray[np.float64]
    span: NDArray[np.float64]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def predict(self, features: Real) -> Real:
        """Return what to rank settings by ``[graphs, m]``, higher is better, for features ``[graphs, d]``."""
        given = np.atleast_2d(np.asarray(features, dtype=np.float64))
        if given.shape[1] != self.n_features:
            raise BadValue("number of features", given.shape[1], f"{self.n_features}, as in what was learnt from")
        row = SELECTORS.get(self.selector)
        return row.predict(self.arrays, self._scaled(given) if row.is_scaled else np.nan_to_num(given))

    def save(self, path: str | Path) -> None:
        """Write an ``.npz`` of plain arrays with a header in JSON."""
        header = {"format": _FORMAT, "selector": self.selector, "n_features": self.n_features, "facts": self.facts}
        arrays = {f"array/{name}": array for name, array in self.arrays.items()}
        with Path(path).open("wb") as file:
            whole: dict[str, Any] = {
                "low": self.low,
                "span": self.span,
                _HEADER: np.array(json.dumps(header)),
                **arrays,
            }
            np.savez_compressed(file, **whole)

    def _scaled(self, features: Real) -> Real:
        # A feature that hardly varied among past graphs would be beyond all numbers on a new one.
        return np.clip((np.nan_to_num(features) - self.low) / self.span, 0, 1)


def fit_selector(
    name: str,
    features: Real,
    scores: Real,
    *,
    seed: int = 0,
    bounds: tuple[Real, Real] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Fitted:
    """Fit a selector anew on features ``[n, d]`` and scores ``[n, m]``; graphs without any known score are left out.

    ``bounds`` are the lowest and highest value of each feature; without, those of the graphs learnt from, so that
    nothing of a graph that is asked about later is used.
    """
    row = SELECTORS.get(name)
    features, scores = np.nan_to_num(np.asarray(features, dtype=np.float64)), np.asarray(scores, dtype=np.float64)
    is_known = np.isfinite(scores).any(axis=1)
    if is_known.sum() < 2:
        raise BadValue("number of graphs with a score", int(is_known.sum()), "at least 2")
    features, scores = features[is_known], scores[is_known]
    low, high = bounds or (features.min(axis=0), features.max(axis=0))
    fitted = Fitted(name, features.shape[1], {}, low, np.where(high > low, high - low, 1), facts or {})
    given = fitted._scaled(features) if row.is_scaled else features  # noqa: SLF001  (of this module)
    arrays = row.fit(Lesson(given, scores, seed))
    return Fitted(name, features.shape[1], arrays, fitted.low, fitted.span, fitted.facts)


def load_fitted(path: str | Path) -> Fitted:
    """Return what :meth:`Fitted.save` wrote; nothing in the file is run."""
    try:
        with np.load(path, allow_pickle=False) as found:
            header = json.loads(str(found[_HEADER]))
            arrays = {name.removeprefix("array/"): found[name] for name in found.files if name.startswith("array/")}
            low, span = found["low"], found["span"]
    except (OSError, ValueError, KeyError) as error:
        raise BadValue("a saved selector", str(path), f"a file that Fitted.save wrote ({error})") from error
    if header.get("format") != _FORMAT:
        raise BadValue("format of a saved selector", header.get("format"), str(_FORMAT))
    SELECTORS.get(header["selector"])
    return Fitted(header["selector"], header["n_features"], arrays, low, span, header["facts"])
