# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Folders of test data, as ONNX's own tests have them."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from files import refuse, show


def write(folder, name, tensor):
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(tensor.SerializeToString())


def test_raw_and_typed_data(tmp_path):
    folder = tmp_path / "test_data_set_0"
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    write(folder, "input_0.pb", numpy_helper.from_array(array, "x"))
    typed = helper.make_tensor("n", TensorProto.INT64, [3], [7, 8, 9])
    write(folder, "input_1.pb", typed)
    half = helper.make_tensor("", TensorProto.FLOAT16, [2], [0.5, -2.0])
    write(folder, "output_0.pb", half)
    shown = show(folder)
    assert list(shown) == ["in:x", "in:n", "out:0"]
    assert shown["in:x"]["shape"] == [2, 3] and shown["in:x"]["max"] == 5
    assert shown["in:n"]["type"] == "int64" and shown["in:n"]["min"] == 7
    assert shown["out:0"]["type"] == "float16" and shown["out:0"]["min"] == -2


def test_ten_and_more_are_in_order(tmp_path):
    for index in range(11):
        tensor = numpy_helper.from_array(np.float32(index), f"x{index}")
        write(tmp_path, f"input_{index}.pb", tensor)
    assert list(show(tmp_path)) == [f"in:x{index}" for index in range(11)]


def test_a_gap(tmp_path):
    for index in 0, 2:
        write(tmp_path, f"input_{index}.pb", numpy_helper.from_array(np.ones(1)))
    refuse(tmp_path, "'input_1.pb' is missing")


@pytest.mark.parametrize(
    "tensor, text",
    [
        (helper.make_tensor("s", TensorProto.STRING, [1], [b"a"]), "string"),
        (
            TensorProto(dims=[3], data_type=1, raw_data=b"\0" * 8),
            "expected 12 bytes of data for float[3], found 8",
        ),
        (TensorProto(dims=[-1], data_type=1, raw_data=b""), "expected"),
        (TensorProto(dims=[2**62, 8], data_type=1), "2^63"),
        (TensorProto(dims=[1], data_type=99), "TensorProto"),
        (TensorProto(dims=[1], data_type=3, int32_data=[300]), "do not fit"),
    ],
)
def test_bad_tensors(tmp_path, tensor, text):
    write(tmp_path, "input_0.pb", tensor)
    done = refuse(tmp_path, text)
    assert "input_0.pb" in done


def test_no_protobuf(tmp_path):
    (tmp_path / "input_0.pb").write_bytes(b"\xff" * 20)
    refuse(tmp_path, "expected the bytes of a TensorProto")


def test_external_data_do_not_leave_the_folder(tmp_path):
    folder = tmp_path / "data"
    (tmp_path / "secret").write_bytes(b"\0" * 4)
    tensor = TensorProto(dims=[1], data_type=1, data_location=1)
    tensor.external_data.add(key="location", value="../secret")
    write(folder, "input_0.pb", tensor)
    refuse(folder, "secret")
