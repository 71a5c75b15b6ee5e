"""Build hook: the kernels are compiled before a wheel is made, by the system's compiler or by clang of ``ziglang``.

Where neither can, the wheel is made without them, and Torch alone computes. ``GNZ_KERNELS=off`` asks for that, where
there is no compiler and the package index has no ``ziglang``.
"""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

LIBRARY = "gnz_track/training/acceleration/library.py"


class KernelsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Hook of hatchling that compiles the kernels."""

    def _library(self) -> dict[str, Any]:
        """Return the functions of the library's own file; none where kernels are unwanted, or it is not there yet.

        It is not there while an image's first layer is built.
        """
        path = Path(self.root) / LIBRARY
        is_wanted = os.environ.get("GNZ_KERNELS") != "off"
        return runpy.run_path(str(path)) if path.exists() and is_wanted else {}

    def dependencies(self) -> list[str]:
        """Return what has to be installed to compile: nothing where the system has a compiler."""
        library = self._library()
        return [] if not library or library["find_compilers"]() or not library["levels"]() else ["ziglang>=0.15,<1"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and have the wheel say for which platform it is.

        Parameters
        ----------
        version
            Kind of the wheel: standard or editable.
        build_data
            What becomes of it; written to.
        """
        del version
        library = self._library()
        why = library["compile_kernels"]() if library else f"{LIBRARY} is missing, or GNZ_KERNELS is off"
        if why:
            self.app.display_warning(f"without compiled kernels: {why}")
            return
        build_data["pure_python"] = False
        build_data["artifacts"].append("/gnz_track/training/acceleration/built/*.so")
        # No Python and no Torch is compiled against, so that one wheel serves all of them.
        build_data["tag"] = f"py3-none-{_platform(library['find_compilers']()[0])}"


def _platform(compiler: list[str]) -> str:
    """Return the platform of what a compiler makes; clang of ``ziglang`` is told of a C library of long ago."""
    old, own = "manylinux_2_17_", next(tag for tag in platform_tags() if "many" not in tag and "musl" not in tag)
    return own.replace("linux_", old) if "ziglang" in compiler else own
