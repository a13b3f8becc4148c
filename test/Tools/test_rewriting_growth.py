# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A node of a big model costs what one of a small model costs.

Each node's names and the marks of the passes are its own (NodeAttributes.h),
reasons are told by address, nodes are written one by one: what makes one of
these a search, or keeps it twice, shows here first.
"""

import os
import sys

import onnx
import pytest
from onnx import TensorProto, helper

from onnx_models import make_model
from support import MP_OPT, attempt, processor_seconds


def save_chain(path, count):
    """MatMul, Relu, Add and Softmax in turns: each precision, many casts."""
    nodes, last = [], "x"
    for index in range(count):
        kind = ["MatMul", "Relu", "Add", "Softmax"][index % 4]
        operands = [last, "w"] if kind in ("MatMul", "Add") else [last]
        last = f"{kind.lower()}_{index}"
        nodes.append(helper.make_node(kind, operands, [last], f"n/{last}"))
    shape = ["batch", 16]
    onnx.save(
        make_model(
            nodes, {"x": shape}, {last: shape},
            [helper.make_tensor("w", TensorProto.FLOAT, [16, 16], [0.5] * 256)],
            opset=22, ir=None, name="chain"
        ),
        path
    )
    return path


@pytest.fixture(scope="module")
def chains(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chains")
    return {
        count: save_chain(folder / f"{count}.onnx", count)
        for count in (4, 10_000, 80_000)
    }


MOST, ATTEMPTS = 1.6, 4


@pytest.mark.parametrize("flag", ["--mixed-bf16", "--mixed-fp16"])
def test_time_of_a_node(chains, flag):
    """1.0 to 1.3 times; 1.7 beside other tests, which take the caches, so
    that this one runs alone. A square would be 8 times."""
    ratios = []
    while len(ratios) < ATTEMPTS and (not ratios or min(ratios) >= MOST):
        start, small, large = (
            processor_seconds(path, flag, "-o", path.with_suffix(".out.onnx"))
            for path in chains.values()
        )
        ratios.append((large - start) / 8 / (small - start))
    assert min(ratios) < MOST, ratios


# ru_maxrss of the only child that this process ever has.
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, capture_output=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


def test_memory_of_a_node(chains):
    """1.2 to 1.5 KB, the model that is read and the one that is written
    included."""

    def peak(path):
        output = path.with_suffix(".out.onnx")
        command = [MP_OPT, path, "--mixed-bf16", "-o", output]
        made = attempt(
            "-c", PEAK, *map(os.fspath, command), program=sys.executable,
            timeout=None, check=True
        )
        return int(made.stdout)

    assert (peak(chains[80_000]) - peak(chains[4])) / 80_000 < 2000
