"""Features on unit scale: fitted on the nodes that training has, and a word where data are far from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from gnz_track.datasets.frozen import FrozenDataset

__all__ = ["SCALES", "has_real_features", "standardise", "tell_scale"]

# What can be asked for, beside leaving features as they are.
SCALES = ("standard",)
# Beyond these, the usual first weights of a network are no match for a column.
LARGEST, LEAST_SPREAD = 30.0, 1 / 30


def standardise(x: Tensor, fitted_on: Tensor) -> Tensor:
    """Return features ``[n_nodes, columns]`` with mean 0 and spread 1 over some nodes; a constant column has 0.

    Parameters
    ----------
    x
        Features, which are not changed.
    fitted_on
        Numbers of the nodes that means and spreads are of, ``[n]``.
    """
    seen = x.index_select(0, fitted_on).double()
    spread = seen.std(dim=0, unbiased=False)
    return ((x.double() - seen.mean(dim=0)) / spread.where(spread > 0, 1.0)).float()


def has_real_features(dataset: FrozenDataset) -> bool:
    """Tell whether nodes have features that are numbers, and no categories."""
    return bool(dataset.n_features) and not dataset.card.vocabularies


def tell_scale(dataset: FrozenDataset) -> str:
    """Return a sentence where features are far from unit scale; nothing where they are not."""
    if not has_real_features(dataset) or not dataset.n_nodes:
        return ""
    x = dataset.tensors["x"].reshape(dataset.n_nodes, -1).double()
    most, spread = x.abs().amax(dim=0), x.std(dim=0, unbiased=False)
    is_far = (most > LARGEST) | ((spread > 0) & (spread < LEAST_SPREAD))
    if not is_far.any():
        return ""
    column = int(is_far.nonzero()[0])
    more = f" and {int(is_far.sum()) - 1} more" if is_far.sum() > 1 else ""
    return (
        f"features of {dataset.name} are far from unit scale: column {column}{more}, values up to "
        f"{float(most[column]):.3g}, spread {float(spread[column]):.3g}; with --set scale=standard they are on it"
    )
