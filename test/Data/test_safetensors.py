# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Safetensors files, made by hand: the format is a header and bytes."""

import json
import struct

import ml_dtypes
import numpy as np
import pytest

from files import refuse, show

TYPES = {
    "BOOL": (np.bool_, "bool"),
    "U8": (np.uint8, "uint8"),
    "I8": (np.int8, "int8"),
    "U16": (np.uint16, "uint16"),
    "I16": (np.int16, "int16"),
    "U32": (np.uint32, "uint32"),
    "I32": (np.int32, "int32"),
    "U64": (np.uint64, "uint64"),
    "I64": (np.int64, "int64"),
    "F16": (np.float16, "float16"),
    "BF16": (ml_dtypes.bfloat16, "bfloat16"),
    "F32": (np.float32, "float"),
    "F64": (np.float64, "double"),
    "F8_E4M3": (ml_dtypes.float8_e4m3fn, "float8e4m3fn"),
    "F8_E5M2": (ml_dtypes.float8_e5m2, "float8e5m2"),
}


def build(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(begin=0, end=8, dtype="F32", shape=(2,), **more):
    return {
        "dtype": dtype,
        "shape": list(shape),
        "data_offsets": [begin, end],
        **more,
    }


def test_every_type(tmp_path):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (dtype, _) in TYPES.items():
        array = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
        begin = len(data)
        data += array.tobytes()
        header[name] = entry(begin, len(data), name, (2, 3))
    (tmp_path / "a.safetensors").write_bytes(build(header, data))
    shown = show(tmp_path / "a.safetensors")
    assert list(shown) == list(TYPES)
    for name, (_, kind) in TYPES.items():
        assert shown[name]["type"] == kind
        assert shown[name]["shape"] == [2, 3]
        assert (shown[name]["min"], shown[name]["max"]) == (0, 1)
        assert shown[name]["mean"] == pytest.approx(4 / 6)


DATA = b"\0" * 16


@pytest.mark.parametrize(
    "content, text",
    [
        (b"", "cut short"),
        (b"\x10\0\0\0\0\0\0\0{}", "header cannot have 16 bytes"),
        (b"\xff" * 8 + b"{}", "header cannot have"),
        (build(b"[1]"), "not an object"),
        (build(b"{"), "its header"),
        (build(b"[" * 100000), "nested more than 8 deep"),
        (build(b'{"x":' + b"{" * 100000), "nested more than 8 deep"),
        (build({"x": 1}), "'x' is not described"),
        (build(b'{"x": {}, "x": {}}'), 'the key "x" twice'),
        (build(b'{"x": {}, "\\u0078": {}}'), 'the key "x" twice'),
        (build({"x": entry(0, 8)}, DATA), "16 bytes of data, its tensors 8"),
        (build({"x": entry(8, 16)}, DATA), "'x' begins at 8, expected 0"),
        (
            build({"x": entry(), "y": entry()}, DATA[:8]),
            "'y' begins at 0, expected 8",
        ),
        (build({"x": entry(0, 24)}, DATA), "'x' does not lie in the file"),
        (build({"x": entry(8, 0)}, DATA), "'x' does not lie in the file"),
        (build({"x": entry(-8, 8)}, DATA), "'x' does not lie in the file"),
        (build({"x": entry(0, 8, shape=(3,))}, DATA[:8]), "tensor 'x': expect"),
        (build({"x": entry(0, 8, shape=(-2,))}, DATA[:8]), "no shape"),
        (build({"x": entry(0, 8, shape=(2**62, 8))}, DATA[:8]), "2^63"),
        (build({"x": entry(0, 8, "F99")}, DATA[:8]), "'F99' is not supported"),
        (build({"x": entry(more=1)}, DATA[:8]), "unknown entry 'more'"),
        (build({"__metadata__": {"a": 1}}), "metadata entry 'a'"),
    ],
)
def test_bad_files(tmp_path, content, text):
    (tmp_path / "a.safetensors").write_bytes(content)
    refuse(tmp_path / "a.safetensors", text)
