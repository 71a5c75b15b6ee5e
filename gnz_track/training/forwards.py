"""Forwards of a model, as a cell asks for them: by fast layers, compiled by Torch, in half precision.

On a CPU, fast layers compute as PyG does, and sooner. Cells may ask for two other ways, meant for GPUs:

compile
    ``torch.compile`` of the forwards, with the random numbers of Torch itself.
amp
    products in half precision (``bfloat16``, or ``float16`` with scaled gradients); what leaves the model is in single
    precision again, and so are losses and scores.

Under either, fast layers stand aside, and features stay dense: on a CPU they are faster than what Torch compiles, and
what is compiled is to be PyG's own code.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gnz_track.errors import ModelInvalid
from gnz_track.training.acceleration.layers import accelerate, release
from gnz_track.training.compiler import AMP, compiler_of_torch
from gnz_track.types import CellSettings

__all__ = ["compute_as_asked", "has_fast_layers", "scaler_of"]

_TYPES = {name: getattr(torch, name) for name in AMP}
# Ways into a model; those that see a graph are compiled.
_COMPILED = ("forward", "encode")
_ENTRIES = (*_COMPILED, "decode", "score_tails", "score_heads")
MOST_TOLD = 150
# Where Torch keeps what it has compiled.
PLACE = "TORCHINDUCTOR_CACHE_DIR"


def has_fast_layers(settings: CellSettings) -> bool:
    """Tell whether fast layers, and sparse features, are for a cell."""
    return settings.device == "cpu" and not (settings.compile or settings.amp)


def scaler_of(settings: CellSettings) -> torch.amp.GradScaler:
    """Return what keeps small gradients of half precision above zero; of other types, what changes nothing."""
    return torch.amp.GradScaler(_kind_of(settings), enabled=settings.amp == "float16")


def _kind_of(settings: CellSettings) -> str:
    return settings.device.partition(":")[0]


@contextlib.contextmanager
def compute_as_asked(model: nn.Module, settings: CellSettings, *, name: str) -> Iterator[nn.Module]:
    """Let a model compute, for as long as the block runs, as a cell asks for; in place.

    Parameters
    ----------
    model
        Model on its device.
    settings
        Settings of the cell.
    name
        Name of the model, for errors.
    """
    with contextlib.ExitStack() as stack:
        stack.callback(release, model)
        if has_fast_layers(settings):
            accelerate(model)
        if settings.compile:
            stack.enter_context(_compiling(name))
            _wrap(model, _COMPILED, torch.compile, stack)
        if settings.amp:
            _wrap(model, _ENTRIES, functools.partial(_in_half, settings), stack)
        yield model


def _wrap(
    model: nn.Module,
    names: tuple[str, ...],
    wrap: Callable[[Callable[..., Any]], Callable[..., Any]],
    stack: contextlib.ExitStack,
) -> None:
    """Put other functions in place of methods of a model, until a block ends."""
    for name in names:
        method = getattr(model, name, None)
        # A layer of that name is no way into the model.
        if callable(method) and not isinstance(method, nn.Module):
            found = vars(model).get(name)
            vars(model)[name] = wrap(method)
            # A model that holds its own methods is a ring, whose memory would stay.
            stack.callback(vars(model).pop if found is None else vars(model).__setitem__, name, found)


def _in_half(settings: CellSettings, method: Callable[..., Any]) -> Callable[..., Any]:
    kind, dtype = _kind_of(settings), _TYPES[settings.amp]

    @functools.wraps(method)
    def compute(*given: Any, **named: Any) -> Any:
        with torch.autocast(kind, dtype=dtype):
            found = method(*given, **named)
        return _widen(found)

    return compute


def _widen(value: Any) -> Any:
    """Return what a model returned in single precision."""
    if isinstance(value, Tensor):
        return value.float() if value.dtype in _TYPES.values() else value
    if isinstance(value, Mapping):
        return {name: _widen(item) for name, item in value.items()}
    return type(value)(map(_widen, value)) if type(value) in (list, tuple) else value


@contextlib.contextmanager
def _compiling(name: str) -> Iterator[None]:
    """Have Torch's compiler begin anew, so that what a process has compiled before decides nothing."""
    # Masks of dropout are those of Torch itself. Nothing is chosen by measuring, and no process is left behind.
    exact = {"fallback_random": True, "deterministic": True, "compile_threads": 1}
    with _quietly():
        from torch import _dynamo, _inductor

        _dynamo.reset()
        try:
            with _inductor.config.patch(exact):
                yield
        except _dynamo.exc.TorchDynamoException as error:
            raise _not_compiled(name, error) from error
        finally:
            _dynamo.reset()


def _not_compiled(name: str, error: Exception) -> ModelInvalid:
    """Return the error of a model that Torch cannot compile, or not here."""
    from torch._inductor.exc import InvalidCxxCompiler

    cause = getattr(error, "inner_exception", None) or error
    if isinstance(cause, InvalidCxxCompiler):
        reason = f"torch.compile finds no C++ compiler ({compiler_of_torch()!r} does not answer; CXX names another)"
    else:
        said = " ".join(str(cause).split())
        # What went wrong is said at the beginning, or at the end of what a compiler prints.
        told = said if len(said) <= 2 * MOST_TOLD else f"{said[:MOST_TOLD]} ... {said[-MOST_TOLD:]}"
        reason = f"torch.compile cannot compile it ({type(cause).__name__}: {told})"
    return ModelInvalid(name, reason, remedy="train it without --compile, or leave it out")


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Keep to itself what Torch's compiler says of each piece that it leaves to Python, and keep its files private.

    Its usual place for compiled code is in a folder for all users, where anybody could put some.
    """
    disabled, place = logging.root.manager.disable, os.environ.get(PLACE)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"torch\.")
        logging.disable(max(disabled, logging.WARNING))
        if place is None:
            os.environ[PLACE] = str(_private_folder())
        try:
            yield
        finally:
            logging.disable(disabled)
            if place is None:
                os.environ.pop(PLACE, None)


def _private_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "torch" / "inductor"
