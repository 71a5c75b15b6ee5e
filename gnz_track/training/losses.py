"""Losses by kind of label and by name; the nameless one of a kind is the usual one."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from gnz_track.errors import BadValue

__all__ = [
    "LOSSES",
    "balanced_loss",
    "choose_loss",
    "mean_over_batches",
]

Loss = Callable[[Tensor, Tensor], Tensor]


def _classes_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the cross-entropy of logits ``[n, classes]`` and labels ``[n]``."""
    return functional.cross_entropy(logits, labels)


def balanced_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the cross-entropy of logits ``[n, classes]`` and labels ``[n]``, rare classes weighing more.

    A class of ``n_c`` among the ``n`` labels given weighs ``(n - n_c) / n`` (Dwivedi et al., JMLR 2023); of one class
    alone all weigh nothing, and the loss is 0.
    """
    counts = torch.bincount(labels, minlength=logits.size(1)).to(logits.dtype)
    weights = (labels.numel() - counts) / labels.numel() * (counts > 0)
    if not weights.any():
        return logits.sum() * 0.0
    return functional.cross_entropy(logits, labels, weight=weights)


def _labels_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the binary cross-entropy of logits and 0/1 labels ``[n, labels]``; NaN labels are not observed."""
    observed = ~torch.isnan(labels)
    if not observed.any():
        return logits.sum() * 0.0
    return functional.binary_cross_entropy_with_logits(logits[observed], labels[observed])


def _numbers_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the mean squared error of outputs and targets ``[n, targets]``; NaN targets are not observed."""
    observed = ~torch.isnan(targets)
    if not observed.any():
        return outputs.sum() * 0.0
    return functional.mse_loss(outputs[observed], targets[observed])


def _absolute_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the mean absolute error of outputs and targets ``[n, targets]``; NaN targets are not observed."""
    observed = ~torch.isnan(targets)
    if not observed.any():
        return outputs.sum() * 0.0
    return functional.l1_loss(outputs[observed], targets[observed])


LOSSES: dict[str, dict[str, Loss]] = {
    "classes": {"": _classes_loss, "balanced": balanced_loss},
    "labels": {"": _labels_loss},
    "numbers": {"": _numbers_loss, "mae": _absolute_loss},
}


def choose_loss(kind: str, name: str) -> Loss:
    """Return a loss of a kind of label by name."""
    if name not in LOSSES[kind]:
        allowed = ", ".join(repr(known) for known in LOSSES[kind])
        raise BadValue(f"the loss of {kind}", name, f"{allowed} (empty is the usual one)")
    return LOSSES[kind][name]


def mean_over_batches(loss: Loss, outputs: Tensor, labels: Tensor, batches: Tensor | None) -> float:
    """Return a loss over all examples, or the mean of the losses of their batches.

    Parameters
    ----------
    loss
        Function of outputs and labels.
    outputs, labels
        ``[n, ...]`` each.
    batches
        Batch of each example ``[n]``; None: one.
    """
    if batches is None:
        return float(loss(outputs, labels))
    members = [(batches == number).nonzero().flatten() for number in batches.unique()]
    return float(torch.stack([loss(outputs[rows], labels[rows]) for rows in members]).mean())
