"""Weights as bytes and back: equal ones give equal bytes, and what was changed is told."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from gnz_track.errors import BadValue
from gnz_track.store.cell_files.configuration import encode_configuration
from gnz_track.store.cell_files.weights import ArrayForm, decode_weights, encode_mlmodel, encode_weights, read_form

SETTINGS = {"model": {"name": "GCN"}, "task": "é\n"}


def tensors() -> dict[str, NDArray[Any]]:
    return {
        "b": np.arange(6, dtype=np.float32).reshape(2, 3).T,
        "a": np.array(3, dtype=np.int64),
        "none": np.zeros((0, 4), dtype=np.float32),
    }


def test_weights_come_back_with_the_settings_of_their_cell() -> None:
    content = encode_weights(tensors(), encode_configuration(SETTINGS))
    found, settings = decode_weights(content, name="model.safetensors")
    assert settings == SETTINGS
    assert found.keys() == tensors().keys()
    for name, one in tensors().items():
        assert (found[name].shape, found[name].dtype) == (one.shape, one.dtype)
        np.testing.assert_array_equal(found[name], one)


def test_equal_weights_give_equal_bytes_in_any_order() -> None:
    text = encode_configuration(SETTINGS)
    assert encode_weights(tensors(), text) == encode_weights(dict(sorted(tensors().items())), text)


def header(**fields: Any) -> bytes:
    text = json.dumps(fields).encode()
    return struct.pack("<Q", len(text)) + text


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage that is long enough to be a header of something",
        encode_weights(tensors(), b"{}")[:-3],
        encode_weights(tensors(), b"[1]"),
        encode_weights(tensors(), b"no JSON"),
        header(),
        header(__metadata__={"configuration": "{"}),
        header(__metadata__={"configuration": "[" * 100_000}),
        header(a={"dtype": "F32", "shape": [2**60], "data_offsets": [0, 4]}),
        struct.pack("<Q", 2**63) + b"{}",
    ],
)
def test_what_is_no_file_of_weights_is_one_error(content: bytes) -> None:
    with pytest.raises(BadValue, match=r"model\.safetensors"):
        decode_weights(content, name="model.safetensors")


def test_forms_are_texts_and_back() -> None:
    form = ArrayForm(dtype="float32", shape=(-1, 16))
    assert read_form(str(form)) == form
    for text in ("float64 [1]", "float32 []", "float32 [-1, 16", "x", 3):
        with pytest.raises(BadValue, match="form of an array"):
            read_form(text)  # type: ignore[arg-type]


def test_description_names_our_loader_and_holds_no_time() -> None:
    inputs = {"x": ArrayForm(dtype="float32", shape=(-1, 16))}
    about = yaml.safe_load(encode_mlmodel(inputs, {"outputs": ArrayForm(dtype="float32", shape=(-1, 4))}))
    assert about["flavors"]["python_function"]["loader_module"] == "gnz_track.predictions.pyfunc"
    [spec] = json.loads(about["signature"]["inputs"])
    assert (spec["name"], spec["tensor-spec"]) == ("x", {"dtype": "float32", "shape": [-1, 16]})
    assert about.keys() == {"flavors", "signature"}
