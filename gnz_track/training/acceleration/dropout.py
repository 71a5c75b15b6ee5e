"""Dropout with the masks of Torch's own, at a fraction of the price.

``bernoulli_`` on a CPU compares one 53-bit uniform number per element with the probability, and takes twice the time
of drawing that number. Drawing it directly gives the same mask and leaves the generator in the same state; compiled
kernels go on with the generator's own words, and make no more of them than the comparison needs. That holds
for the generic CPU kernel only (with MKL on some processors Torch uses another generator), so it is tried once per
process, on a private generator, before it is relied upon.
"""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from gnz_track.training.acceleration.compiled import Bits, bend_compiled
from gnz_track.training.acceleration.library import kernels

__all__ = ["draw_mask", "drop", "drop_entries"]

# Drawn in pieces that stay in the cache; the stream of numbers does not depend on it.
PIECE = 1 << 16


@functools.cache
def _uniform_gives_bernoulli() -> bool:
    """Tell whether uniform numbers below p are the mask that ``bernoulli_(p)`` draws, on this machine."""
    first, second = (torch.Generator().manual_seed(20241) for _ in range(2))
    expected = torch.empty(4099).bernoulli_(0.4, generator=first)
    found = torch.empty(4099, dtype=torch.float64).uniform_(generator=second) < 0.4
    same_state = torch.equal(first.get_state(), second.get_state())
    return same_state and torch.equal(found, expected.bool())


@functools.cache
def _kernels_give_bernoulli() -> bool:
    """Tell whether there are kernels, and they draw that mask too."""
    if kernels() is None or not _uniform_gives_bernoulli():
        return False
    generator, found = torch.Generator().manual_seed(20242), torch.empty(4099, dtype=torch.bool)
    for _ in range(2):
        state, expected = generator.get_state(), torch.empty(4099).bernoulli_(0.4, generator=generator)
        kernels().draw_mask(state.data_ptr(), found.numel(), 0.4, found.data_ptr())
        if not (torch.equal(found, expected.bool()) and torch.equal(state, generator.get_state())):
            return False
    return True


def draw_mask(size: int, keep: float) -> Tensor:
    """Draw a mask ``[size]`` that is true with probability ``keep``, from the global generator."""
    mask = torch.empty(size, dtype=torch.bool)
    if _kernels_give_bernoulli():
        state = torch.get_rng_state()
        kernels().draw_mask(state.data_ptr(), size, keep, mask.data_ptr())
        torch.set_rng_state(state)
        return mask
    if not _uniform_gives_bernoulli():
        # A mask of floats, because that is what dropout draws.
        return mask.copy_(torch.empty(size).bernoulli_(keep))
    numbers = torch.empty(min(size, PIECE), dtype=torch.float64)
    for start in range(0, size, PIECE):
        piece = mask[start : start + PIECE]
        torch.lt(numbers[: piece.numel()].uniform_(), keep, out=piece)
    return mask


def drop_entries(values: Tensor, positions: Tensor, size: int, keep: float) -> Tensor:
    """Drop numbers of a matrix, of which some are not zero: return those, scaled or zero.

    Parameters
    ----------
    values
        Numbers that are not zero ``[n_entries]``.
    positions
        Their places in the matrix, ascending.
    size
        How many numbers the matrix has.
    keep
        Probability of each to stay.
    """
    if not _kernels_give_bernoulli() or values.dtype is not torch.float32 or not values.is_contiguous():
        return values * draw_mask(size, keep).take(positions).to(values.dtype).div_(keep)
    out, state, scale = torch.empty_like(values), torch.get_rng_state(), float(torch.ones(1).div_(keep))
    places = (positions.data_ptr(), values.numel(), size, keep, scale, values.data_ptr(), out.data_ptr())
    kernels().drop_entries(state.data_ptr(), *places)
    torch.set_rng_state(state)
    return out


def drop(x: Tensor, p: float, *, training: bool) -> Tensor:
    """Zero elements of a tensor at random, and scale the others by ``1 / (1 - p)``.

    The same values as :func:`torch.nn.functional.dropout` from the same state of the global generator.

    Parameters
    ----------
    x
        Tensor of any shape.
    p
        Probability of each element to be zeroed.
    training
        Whether anything is done.
    """
    if not training or p == 0.0 or x.numel() == 0:
        return x
    if not 0.0 < p < 1.0 or not x.is_contiguous():
        return torch.nn.functional.dropout(x, p, training=True)
    # As many as are to be drawn, whoever computes with them.
    bits = Bits(draw_mask(x.numel(), 1.0 - p), 1.0 - p)
    dropped = bend_compiled(x, "none", bits)
    return bits.apply(x) if dropped is None else dropped
