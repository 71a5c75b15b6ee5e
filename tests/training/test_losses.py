"""Losses against their formulas."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from gnz_track.errors import BadValue
from gnz_track.training.losses import LOSSES, balanced_loss, choose_loss, mean_over_batches

NAN = float("nan")


def _logits(n: int, width: int) -> Tensor:
    return torch.randn(n, width, generator=torch.Generator().manual_seed(0))


def test_rare_classes_weigh_more() -> None:
    logits, labels = _logits(6, 4), torch.tensor([0, 0, 0, 1, 1, 3])
    # Shares of the others: 1/2, 2/3 and 5/6; the class that is not there weighs nothing.
    weights = [1 / 2] * 3 + [2 / 3] * 2 + [5 / 6]
    terms = [-weight * logits[i].log_softmax(0)[labels[i]] for i, weight in enumerate(weights)]
    torch.testing.assert_close(balanced_loss(logits, labels), torch.stack(terms).sum() / sum(weights))


def test_of_one_class_alone_there_is_nothing_to_learn() -> None:
    logits = _logits(3, 2).requires_grad_()
    loss = balanced_loss(logits, torch.tensor([1, 1, 1]))
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == 0.0
    assert logits.grad is not None
    assert not logits.grad.any()


def test_absolute_errors_of_what_is_observed() -> None:
    outputs = torch.tensor([[1.0, 5.0], [2.0, 0.0]])
    targets = torch.tensor([[0.0, NAN], [4.0, 0.5]])
    assert choose_loss("numbers", "mae")(outputs, targets).item() == pytest.approx((1 + 2 + 0.5) / 3)
    assert choose_loss("numbers", "mae")(outputs, torch.full((2, 2), NAN)).item() == 0.0


def test_a_loss_of_other_labels_is_an_error() -> None:
    with pytest.raises(BadValue, match="the loss of classes is 'mae'; allowed: '', 'balanced'"):
        choose_loss("classes", "mae")
    assert all("" in losses for losses in LOSSES.values())


def test_batches_count_alike_however_large() -> None:
    logits, labels = _logits(5, 3), torch.tensor([0, 1, 2, 2, 0])
    batches = torch.tensor([1, 0, 1, 1, 1])
    each = [functional.cross_entropy(logits[rows], labels[rows]) for rows in ([1], [0, 2, 3, 4])]
    found = mean_over_batches(LOSSES["classes"][""], logits, labels, batches)
    assert found == pytest.approx(torch.stack(each).mean().item())
    whole = mean_over_batches(LOSSES["classes"][""], logits, labels, None)
    assert whole == pytest.approx(functional.cross_entropy(logits, labels).item())
