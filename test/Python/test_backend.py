# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX's own tests of backends, run on mp_opt.backend by ONNX's own runner.

Of node tests, one of each operator, or what the first word of a name is: all of
them are compiled by test/Conversion/test_node_models.py as well. What that lists
as exceptions cannot be compiled, and is none of these.
"""

import fnmatch
import warnings

import ml_dtypes
import mp_opt.backend
import numpy
import onnx
import pytest
import sweeps
from models import ROOT

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from onnx.backend.test import BackendTest

    class Runner(BackendTest):
        """ONNX's, but for results of 16 bit, twice the roundoff: expected ones
        are rounded at each step of a function's body."""

        @classmethod
        def assert_similar_outputs(cls, ref_outputs, outputs, rtol, atol, **more):
            for array in ref_outputs:
                if getattr(array, "dtype", None) == numpy.float16:
                    rtol = max(rtol, 2.0**-9)
                if getattr(array, "dtype", None) == ml_dtypes.bfloat16:
                    rtol = max(rtol, 2.0**-6)
            super().assert_similar_outputs(
                ref_outputs=ref_outputs, outputs=outputs, rtol=rtol, atol=atol,
                **more
            )

    backend_test = Runner(mp_opt.backend, __name__)

LIST = ROOT / "test/Conversion/node_models_exceptions.txt"
EXCEPTIONS = [
    line.split()[0]
    for line in LIST.read_text().splitlines()
    if line.strip() and not line.startswith("#")
]


def find_cases():
    """(class, name) of each; in a function, for pytest runs classes that a module
    has names for."""
    tests = backend_test.test_cases["OnnxBackendNodeModelTest"]
    names = [
        name
        for name in dir(tests)
        if name.startswith("test_")
        and name.endswith("_cpu")
        and not any(
            fnmatch.fnmatchcase(name.removesuffix("_cpu"), pattern)
            for pattern in EXCEPTIONS
        )
    ]
    return [(tests, name) for name in sorted(names)]


CASES = find_cases()
CHOSEN = sweeps.sample(
    "Python/test_backend.py", CASES, lambda case: [case[1].split("_")[1]]
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "tests, name", CHOSEN, ids=[name for _, name in CHOSEN]
)
def test_node(tests, name):
    getattr(tests(name), name)()


def test_interface():
    backend = mp_opt.backend
    assert backend.supports_device("CPU") and not backend.supports_device("CUDA")
    node = onnx.helper.make_node("Add", ["a", "b"], ["c"])
    ones = numpy.ones((2, 3), "float32")
    assert (backend.run_node(node, [ones, ones])[0] == 2).all()
    assert (backend.run_node(node, {"a": ones, "b": ones})[0] == 2).all()
    with pytest.raises(mp_opt.Error, match="takes 2 inputs, got 1"):
        backend.run_node(node, [ones])
    strange = onnx.helper.make_model(
        onnx.helper.make_graph(
            [onnx.helper.make_node("Strange", ["x"], ["y"], domain="mine")], "g",
            [onnx.helper.make_tensor_value_info("x", 1, [2])],
            [onnx.helper.make_tensor_value_info("y", 1, [2])],
        ),
        opset_imports=[
            onnx.helper.make_opsetid("", 20), onnx.helper.make_opsetid("mine", 1),
        ],
    )  # fmt: skip
    assert not backend.is_compatible(strange)
    assert not backend.is_compatible(strange, "CUDA")
    with pytest.raises(mp_opt.Error, match="expected the device 'CPU'"):
        backend.prepare(strange, "CUDA")
