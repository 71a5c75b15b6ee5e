"""Weights of a cell as a file, with the settings that say of which model they are; and how MLflow finds them.

A file is safetensors: numbers and a header, nothing that runs. Its header holds the text of the cell's configuration.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnz_track.errors import BadValue
from gnz_track.store.cell_files.configuration import decode_configuration

__all__ = ["LOADER", "ArrayForm", "decode_weights", "encode_mlmodel", "encode_weights", "read_form"]

# Files in stores name it: it stays where it is.
LOADER = "gnz_track.predictions.pyfunc"
# The only name in the header beside those of the tensors; several would come in any order.
CONFIGURATION = "configuration"
N_LENGTH, MOST_HEADER = 8, 2**24


@dataclass(frozen=True, kw_only=True)
class ArrayForm:
    """Type of the numbers of an array, and its shape; -1 is any number.

    >>> str(ArrayForm(dtype="int64", shape=(2, -1))), read_form("int64 [2, -1]").shape
    ('int64 [2, -1]', (2, -1))
    """

    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype} {list(self.shape)}"


def read_form(text: str) -> ArrayForm:
    """Return the form that a text is of."""
    found = re.fullmatch(r"(float32|int64) \[(-?\d+(?:, -?\d+)*)\]", str(text))
    if found is None:
        raise BadValue("form of an array", text, "such as 'float32 [-1, 16]'")
    return ArrayForm(dtype=found.group(1), shape=tuple(map(int, found.group(2).split(", "))))


def encode_weights(tensors: Mapping[str, NDArray[Any]], configuration: bytes) -> bytes:
    """Return the state of a model as a file.

    Parameters
    ----------
    tensors
        Arrays by the names that the model has for them.
    configuration
        The cell's file of settings.
    """
    from safetensors.numpy import save

    plain = {name: np.ascontiguousarray(one).reshape(one.shape) for name, one in tensors.items()}
    content: bytes = save(plain, metadata={CONFIGURATION: configuration.decode("utf-8")})
    return content


def decode_weights(content: bytes, *, name: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays and the settings that :func:`encode_weights` was given.

    Parameters
    ----------
    content
        Bytes of the file.
    name
        Name of the file, for errors.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors: dict[str, NDArray[Any]] = load(content)
        # The library has checked that the header is whole.
        end = N_LENGTH + int.from_bytes(content[:N_LENGTH], "little")
        settings = json.loads(content[N_LENGTH : min(end, MOST_HEADER)])["__metadata__"][CONFIGURATION]
        return tensors, decode_configuration(settings.encode("utf-8"))
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError, BadValue) as error:
        reason = f"{type(error).__name__}: {error}"
        raise BadValue("file of a cell", name, f"weights with the settings of their cell ({reason})") from error


def encode_mlmodel(inputs: Mapping[str, ArrayForm], outputs: Mapping[str, ArrayForm]) -> bytes:
    """Return the file by which MLflow knows a folder for a model: who loads it, and what goes in and comes out.

    Parameters
    ----------
    inputs, outputs
        Form of each array by its name.
    """
    import yaml

    major, minor, _ = platform.python_version_tuple()
    about = {
        "flavors": {"python_function": {"loader_module": LOADER, "python_version": f"{major}.{minor}"}},
        "signature": {"inputs": _write_specs(inputs), "outputs": _write_specs(outputs)},
    }
    text: str = yaml.safe_dump(about, sort_keys=True)
    return text.encode()


def _write_specs(forms: Mapping[str, ArrayForm]) -> str:
    return json.dumps([_write_spec(name, form.dtype, form.shape) for name, form in forms.items()])


def _write_spec(name: str, dtype: str, shape: Sequence[int]) -> dict[str, Any]:
    return {"type": "tensor", "name": name, "tensor-spec": {"dtype": dtype, "shape": list(shape)}}
