"""Settings of a process that a cell may change, and the value of each while a cell is trained.

One table, :data:`ROWS`: how a setting is read and written, and the value that training knows. Settings that decide
numbers are set to that value, whatever the caller or an imported module has set; others stay as they are found. All are
put back as they were found once the cell has ended. What is no setting (functions that were replaced, and all that
nobody thought of) is the concern of :mod:`originals` and :mod:`canary`.
"""

from __future__ import annotations

import contextlib
import gc
import locale
import logging
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.optim import optimizer as optimisers

__all__ = ["ROWS", "Row", "known_state"]

AS_FOUND: Any = object()


@dataclass(frozen=True)
class Row:
    """One setting of the process; ``known`` is what it is while a cell is trained, or ``AS_FOUND``."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]
    known: Any = AS_FOUND


@contextlib.contextmanager
def known_state() -> Iterator[None]:
    """Set what decides numbers to what training knows, and put all back as it was found."""
    found = [(row, row.read()) for row in ROWS]
    # Neither filters of warnings nor the inference mode can be written by value.
    with warnings.catch_warnings(), torch.inference_mode(mode=False), torch.random.fork_rng():
        try:
            for row, _ in found:
                if row.known is not AS_FOUND:
                    _set_value(row, row.known)
            yield
        finally:
            for row, value in found:
                _set_value(row, value)


def _set_value(row: Row, value: Any) -> None:
    # Some are not the same again once they were written, though the value is.
    if row.read() != value:
        row.write(value)


def _attribute(owner: Any, name: str, known: Any = AS_FOUND) -> Row:
    """Return the row of an attribute of a module or an object."""
    shown = f"{getattr(owner, '__name__', type(owner).__name__)}.{name}"
    return Row(shown, partial(getattr, owner, name), partial(setattr, owner, name), known)


def _read_precision() -> str:
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:
        # It was set by backend: those rows say all there is to say.
        return "highest"


def _precision_of(backend: str, operation: str, known: str = "none") -> Row:
    """Return the row of one of the precisions that have taken the place of the one for all."""
    return Row(
        f"precision of {operation} on {backend}",
        lambda: torch._C._get_fp32_precision_getter(backend, operation),  # noqa: SLF001
        lambda value: torch._C._set_fp32_precision_setter(backend, operation, value),  # noqa: SLF001
        known,
    )


def _flushes_denormals() -> bool:
    return bool((torch.tensor(1e-308, dtype=torch.float64, device="cpu") * 1e-2).item() == 0)


def _autocast(device: str) -> Iterator[Row]:
    yield Row(f"autocast {device}", lambda: torch.is_autocast_enabled(device), partial(_cast, device), known=False)
    yield Row(
        f"type of autocast {device}",
        lambda: torch.get_autocast_dtype(device),
        lambda value: torch.set_autocast_dtype(device, value),
        torch.bfloat16 if device == "cpu" else torch.float16,
    )


def _cast(device: str, value: bool) -> None:  # noqa: FBT001  (the value of a row)
    torch.set_autocast_enabled(device, value)
    torch.clear_autocast_cache()


def _read_modes(kind: str) -> list[Any]:
    """Return the modes that see every call of Torch, of which a default device is one, the outermost first."""
    length, at = getattr(torch._C, f"_len_torch_{kind}_stack")(), getattr(torch._C, f"_get_{kind}_stack_at")  # noqa: SLF001
    return [at(place) for place in range(length)]


def _write_modes(kind: str, value: list[Any]) -> None:
    for _ in _read_modes(kind):
        getattr(torch._C, f"_pop_torch_{kind}_stack")()  # noqa: SLF001
    for mode in value:
        getattr(torch._C, f"_push_on_torch_{kind}_stack")(mode)  # noqa: SLF001


_DEVICE = torch._GLOBAL_DEVICE_CONTEXT  # noqa: SLF001  (what torch.set_default_device sets, beside the mode)


def _read_packing() -> list[Any]:
    """Return the hooks through which goes whatever is kept for the way back, the outermost first."""
    hooks: list[Any] = []
    while (top := torch._C._autograd._top_saved_tensors_default_hooks(False)) is not None:  # noqa: FBT003, SLF001
        hooks.insert(0, top)
        torch._C._autograd._pop_saved_tensors_default_hooks()  # noqa: SLF001
    for hook in hooks:
        torch._C._autograd._push_saved_tensors_default_hooks(*hook)  # noqa: SLF001
    return hooks


def _write_packing(value: list[Any]) -> None:
    for _ in _read_packing():
        torch._C._autograd._pop_saved_tensors_default_hooks()  # noqa: SLF001
    for hook in value:
        torch._C._autograd._push_saved_tensors_default_hooks(*hook)  # noqa: SLF001


def _content(name: str, held: Any, known: Any = AS_FOUND) -> Row:
    """Return the row of what a dictionary or list holds that itself stays the same one."""
    if isinstance(held, list):
        return Row(name, held.copy, lambda value: held.__setitem__(slice(None), value), known)

    def write(value: dict[Any, Any]) -> None:
        held.clear()
        held.update(value)

    return Row(name, lambda: dict(held), write, known)


def _hooks() -> Iterator[Row]:
    """Yield the rows of what is called at every layer and every step of an optimiser."""
    for module in (torch.nn.modules.module, optimisers):
        for name, held in vars(module).items():
            if name.startswith("_global") and isinstance(held, dict):
                yield _content(f"{module.__name__}.{name}", held, {})


def _write_environment(value: dict[str, str]) -> None:
    for name in os.environ.keys() - value.keys():
        del os.environ[name]
    for name, text in value.items():
        if os.environ.get(name) != text:
            os.environ[name] = text


def _read_folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109  (nothing but the text)
    except FileNotFoundError:
        return ""


def _go_to_folder(value: str) -> None:
    if value:
        os.chdir(value)


def _is_main() -> bool:
    # Signals are for the main thread to set.
    return threading.current_thread() is threading.main_thread()


def _read_handlers() -> dict[int, Any]:
    return {number: signal.getsignal(number) for number in signal.valid_signals()} if _is_main() else {}


def _write_handlers(value: dict[int, Any]) -> None:
    for number, handler in value.items() if _is_main() else ():
        # One that Python did not set is no handler that it could set.
        if handler is not None and signal.getsignal(number) != handler:
            signal.signal(number, handler)


def _read_alarm() -> bool:
    return hasattr(signal, "getitimer") and signal.getitimer(signal.ITIMER_REAL)[0] > 0


def _write_alarm(value: bool) -> None:  # noqa: FBT001  (the value of a row)
    if not value:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _read_numpy() -> Any:
    name, keys, *rest = np.random.get_state()  # noqa: NPY002  (users' code may draw from it)
    return (name, keys.tobytes(), *rest)


def _write_numpy(value: Any) -> None:
    name, keys, *rest = value
    np.random.set_state((name, np.frombuffer(keys, dtype=np.uint32), *rest))  # noqa: NPY002


_ERRORS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
_PRECISIONS = [("generic", "all"), *((name, of) for name in ("cuda", "mkldnn") for of in ("all", "matmul"))]
_BY_LAYER = [("cuda", "conv", "tf32"), ("cuda", "rnn", "tf32"), ("mkldnn", "conv"), ("mkldnn", "rnn")]

ROWS: tuple[Row, ...] = (
    # Sums over several threads are added in another order, so a result would depend on the number of cores.
    Row("threads", torch.get_num_threads, torch.set_num_threads, 1),
    Row("modes of functions", partial(_read_modes, "function"), partial(_write_modes, "function"), []),
    Row("modes of dispatch", partial(_read_modes, "dispatch"), partial(_write_modes, "dispatch"), []),
    Row(
        "default device",
        lambda: getattr(_DEVICE, "device_context", None),
        partial(setattr, _DEVICE, "device_context"),
        None,
    ),
    Row("default dtype", torch.get_default_dtype, torch.set_default_dtype, torch.float32),
    Row("gradients", torch.is_grad_enabled, torch._C._set_grad_enabled, known=True),  # noqa: SLF001
    Row("packing of what is kept for gradients", _read_packing, _write_packing, []),
    Row(
        "anomaly mode",
        lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        lambda value: torch.autograd.set_detect_anomaly(*value),
        (False, True),
    ),
    Row("matmul precision", _read_precision, torch.set_float32_matmul_precision, "highest"),
    *(_precision_of(*place) for place in (*_PRECISIONS, *_BY_LAYER)),
    *_autocast("cpu"),
    *_autocast("cuda"),
    Row("cache of autocast", torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled, known=True),
    Row(
        "deterministic algorithms",
        lambda: (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()),
        lambda value: torch.use_deterministic_algorithms(value[0], warn_only=value[1]),
        (False, False),
    ),
    _attribute(torch.utils.deterministic, "fill_uninitialized_memory", known=True),
    Row("mkldnn", torch._C._get_mkldnn_enabled, torch._C._set_mkldnn_enabled, known=True),  # noqa: SLF001
    _attribute(torch.backends.mkldnn, "deterministic", known=False),
    _attribute(torch.backends.cudnn, "enabled", known=True),
    _attribute(torch.backends.cudnn, "benchmark", known=False),
    _attribute(torch.backends.cudnn, "deterministic", known=False),
    Row("flush denormals", _flushes_denormals, torch.set_flush_denormal, known=False),
    *_hooks(),
    Row("numpy's errors", np.geterr, lambda value: np.seterr(**value), _ERRORS),
    Row("numpy's generator", _read_numpy, _write_numpy),
    Row("python's generator", random.getstate, random.setstate),
    Row("environment", lambda: dict(os.environ), _write_environment),
    _content("paths of modules", sys.path),
    Row("current folder", _read_folder, _go_to_folder),
    Row("locale", partial(locale.setlocale, locale.LC_ALL), partial(locale.setlocale, locale.LC_ALL)),
    Row("handlers of signals", _read_handlers, _write_handlers),
    Row("alarm", _read_alarm, _write_alarm),
    Row("depth of calls", sys.getrecursionlimit, sys.setrecursionlimit),
    Row("collection of rings", gc.isenabled, lambda value: gc.enable() if value else gc.disable()),
    _attribute(logging.root.manager, "disable"),
    *(_attribute(sys, name) for name in ("stdin", "stdout", "stderr", "excepthook", "argv")),
)
