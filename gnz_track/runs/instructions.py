"""Which instructions of the processor computed a cell: sums of wider vectors are added in another order.

Torch takes the widest vectors that a processor has and it knows, so the same cell gives other bits on another one, and
under ``ATEN_CPU_CAPABILITY``. Libraries below it choose for themselves, and have settings of their own. How many
threads a user asked for changes nothing: cells compute on one.
"""

from __future__ import annotations

import os

import torch

__all__ = ["SETTINGS", "name_instructions"]

# Settings of the environment that make libraries compute with other instructions or in another order: oneDNN (and under
# its name of before), MKL, OpenBLAS, NumPy, the mathematical functions of glibc, cuBLAS.
SETTINGS = (
    "ONEDNN_MAX_CPU_ISA",
    "DNNL_MAX_CPU_ISA",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_DEBUG_CPU_TYPE",
    "OPENBLAS_CORETYPE",
    "NPY_DISABLE_CPU_FEATURES",
    "NPY_ENABLE_CPU_FEATURES",
    "GLIBC_TUNABLES",
    "CUBLAS_WORKSPACE_CONFIG",
    "NVIDIA_TF32_OVERRIDE",
)
MOST_CHARACTERS = 80


def name_instructions() -> str:
    """Return the vector level of Torch in this process, and behind it each of ``SETTINGS`` that is set."""
    chosen = [f"{name}={os.environ[name][:MOST_CHARACTERS]}" for name in SETTINGS if os.environ.get(name)]
    return "; ".join([torch.backends.cpu.get_cpu_capability(), *chosen])
