"""Ways in which a cell may ask Torch to compute it, and what they need of a machine. No Torch here.

``compile`` is ``torch.compile`` of the model; on a CPU Torch calls a C++ compiler for that, on a GPU triton. ``amp`` is
the name of a type of half precision.
"""

from __future__ import annotations

import os
import shutil
import subprocess

from gnz_track.errors import BadValue
from gnz_track.types import CellSettings

__all__ = ["AMP", "OF_TORCH", "check_forwards", "compiler_of_torch", "describe_forwards"]

# Hyperparameters that say how Torch computes a cell; one that says nothing of it has neither.
OF_TORCH = ("compile", "amp")
AMP = ("bfloat16", "float16")
_USUAL_COMPILER = "g++"
SECONDS_TO_ANSWER = 20


def check_forwards(*, compiles: bool, amp: str, device: str) -> None:
    """Refuse, before any training, a way to compute that there is not, or not here.

    Parameters
    ----------
    compiles, amp
        Ways that are asked for.
    device
        Device that cells are trained on in this machine; of others nothing is known.
    """
    if amp and amp not in AMP:
        raise BadValue("amp", amp, ", ".join(AMP), command="--amp bfloat16")
    program = compiler_of_torch()
    if compiles and device == "cpu" and shutil.which(program) is None:
        allowed = f"where there is a C++ compiler; {program!r} is not here (CXX names another)"
        raise BadValue("compile", "cpu", allowed, command="the same without --compile")


def compiler_of_torch() -> str:
    """Return the program by which Torch compiles for a CPU: one word, as Torch takes it."""
    return os.environ.get("CXX") or _USUAL_COMPILER


def describe_forwards(settings: CellSettings) -> list[str]:
    """Return what the numbers of a cell depend on beside Torch itself: who compiles, and in which precision."""
    compiled = [f"compiled by {_describe_compiler(settings.device)}"] if settings.compile else []
    return [*compiled, *([f"amp {settings.amp}"] if settings.amp else [])]


def _describe_compiler(device: str) -> str:
    if device != "cpu":
        return "triton"
    try:
        said = subprocess.run(  # noqa: S603  (the compiler that Torch will call)
            [compiler_of_torch(), "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=SECONDS_TO_ANSWER,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return compiler_of_torch()
    return said.partition("\n")[0].strip() or compiler_of_torch()
