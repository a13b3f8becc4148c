# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models and check commands for the tests of mp-opt bisect and mp-opt reduce."""

import shlex
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from support import MP_OPT

TIMEOUT = 120


def run(*arguments, code=0, **options):
    usual = dict(capture_output=True, text=True, timeout=TIMEOUT)
    done = subprocess.run([MP_OPT, *map(str, arguments)], **usual | options)
    assert done.returncode == code, f"{done.returncode}: {done.stdout}{done.stderr}"
    return done


def make_chain(count, path, size=8):
    """MatMuls in a row, called layer0, layer1, ..."""
    rng = np.random.default_rng(0)
    nodes, weights, current = [], [], "x"
    for index in range(count):
        weight = rng.normal(size=(size, size)).astype(np.float32) / 3
        weights.append(numpy_helper.from_array(weight, f"w{index}"))
        nodes.append(helper.make_node("MatMul", [current, f"w{index}"],
                                      [f"y{index}"], name=f"layer{index}"))
        current = f"y{index}"
    save(nodes, weights, current, size, path)


def save(nodes, weights, output, size, path, **fields):
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size])
             for name in ("x", output)]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], weights)
    model = helper.make_model(graph, ir_version=9, **fields,
                              opset_imports=[helper.make_opsetid("", 17)])
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def write_check(folder, text, name="check.py"):
    """A command that runs a program in Python. A log gets a line for each run."""
    path = folder / name
    path.write_text(
        f"import sys\nopen({str(folder / 'log')!r}, 'a').write('run\\n')\n{text}"
    )
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(path))}"


def count_runs(folder):
    log = folder / "log"
    runs = len(log.read_text().splitlines()) if log.exists() else 0
    log.unlink(missing_ok=True)
    return runs


# Tells which layers are in 16 bit, without the time that onnx takes to start: an
# initializer has its type (field 2), its name (8) and its elements (9) in this
# order.
LOW = r"""
import re
content = open(sys.argv[1], "rb").read()
types = re.findall(rb"\x10(.)\x42.w(\d+)\x4a", content, re.S)
assert len(types) == len(set(types)) > 0
low = {f"layer{int(n)}" for kind, n in types if ord(kind) in (10, 16)}
"""


def fail_for(*groups):
    """Fails if all layers of one of the groups are in 16 bit."""
    return LOW + f"sys.exit(any(low >= group for group in {list(map(set, groups))!r}))"
