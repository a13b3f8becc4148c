# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far a model in 16 bit may be from float64: what rounding explains.

Healthy conversions are inside, whatever the model and the data; conversions
that have lost something are outside. mp-run compare judges a pair of models as
mp-opt --verify judges its result.
"""

import functools
import json

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from runs import MODELS, OUTSIDE, attempt, run_mp_opt, scratch_dir
from support import DTYPES, UNIT_ROUNDOFF

# One model of each kind: compiling takes most of the time here.
NAMES = [
    "bert_like_op17",
    "convnext_test_op18",
    "resnet18_w8_op17_bn",
    "vit_test_op20",
]
SIZES = {"B": 4, "S": 24, "N": 4}


@functools.lru_cache(maxsize=None)
def random_inputs(source):
    """Flags for numbers and sizes of a model's inputs."""
    inputs = onnx.load(source, load_external_data=False).graph.input
    named = {
        dim.dim_param for i in inputs for dim in i.type.tensor_type.shape.dim
    }
    sizes = [f"--dim={n}={s}" for n, s in SIZES.items() if n in named]
    return ("--random=7", *sizes)


@functools.lru_cache(maxsize=None)
def converted(name, dtype):
    source = MODELS / "fwd" / name / "model.onnx"
    target = scratch_dir(name) / "mixed.onnx"
    run_mp_opt(source, f"--mixed-{dtype}", "--summary=none", "-o", target)
    return source, target


def judge(source, target, *flags):
    """(True if it is accepted, the differences of its outputs)."""
    flags = ("--nodes=0", "--json", "--check", *flags)
    done = attempt("compare", source, target, *flags, timeout=600)
    assert done.returncode in (0, OUTSIDE), done.stderr
    _, model = json.loads(done.stdout)["models"]
    assert any(o["is_outside"] for o in model["outputs"]) == bool(
        done.returncode
    )
    return done.returncode == 0, model["outputs"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_healthy_models(name, dtype):
    """And the bound is no wider than a few times what rounding does."""
    source, target = converted(name, dtype)
    isGood, outputs = judge(source, target, *random_inputs(source))
    assert isGood, outputs
    for output in outputs:
        assert 0 < output["error"] <= output["allowed"]
        assert output["allowed"] <= 8 * output["error"]
        assert output["allowed"] <= 16 * UNIT_ROUNDOFF[dtype]


def edit(name, dtype, change):
    """A conversion with a fault."""
    source, target = converted(name, dtype)
    model = onnx.load(target)
    assert change(model.graph), "nothing was changed"
    faulty = target.with_name("faulty.onnx")
    onnx.save(model, faulty)
    return source, faulty


def widen(tensor):
    return numpy_helper.to_array(tensor).astype(np.float32)


def replace(tensor, array):
    """The elements, rounded to the type that the tensor has."""
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    tensor.CopyFrom(numpy_helper.from_array(array.astype(dtype), tensor.name))


def weights(graph):
    """Matrices and filters, the ones that are read last in front."""
    order = {}
    for index, node in enumerate(graph.node):
        for value in node.input:
            order[value] = index
    found = [
        tensor
        for tensor in graph.initializer
        if len(tensor.dims) >= 2 and tensor.name in order
    ]
    return sorted(found, key=lambda tensor: -order[tensor.name])


def scale_weight(graph):
    """The last matrix, 5 % too big in bf16, 1 % in fp16."""
    tensor = weights(graph)[0]
    factor = 1.05 if tensor.data_type == onnx.TensorProto.BFLOAT16 else 1.01
    replace(tensor, widen(tensor) * np.float32(factor))
    return True


def one_wrong_element(graph):
    """As a wrong copy leaves it: 64 where weights are below 1."""
    tensor = weights(graph)[0]
    array = widen(tensor).copy()
    array.flat[array.size // 2] = 64
    replace(tensor, array)
    return True


def swapped_rows(graph):
    tensor = weights(graph)[0]
    array = widen(tensor).copy()
    array[[0, 1]] = array[[1, 0]]
    replace(tensor, array)
    return True


FAULTS = [scale_weight, one_wrong_element, swapped_rows]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["bert_like_op17", "vit_test_op20"])
def test_faults_in_weights(name, dtype, fault):
    source, faulty = edit(name, dtype, fault)
    isGood, outputs = judge(source, faulty, *random_inputs(source))
    assert not isGood, outputs


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_node_of_a_fault(dtype):
    """What outputs may hide: the first node that rounding does not explain."""
    place = "/layers.0/o/MatMul"

    def swap(graph):
        (node,) = (node for node in graph.node if node.name == place)
        (tensor,) = (t for t in graph.initializer if t.name == node.input[1])
        array = widen(tensor).copy()
        array[[0, 1]] = array[[1, 0]]
        replace(tensor, array)
        return True

    def find(target):
        flags = (*random_inputs(source), "--nodes=1", "--json")
        done = attempt("compare", source, target, *flags, timeout=600)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["models"][1].get("unexplained")

    source, healthy = converted("bert_like_op17", dtype)
    _, faulty = edit("bert_like_op17", dtype, swap)
    assert find(healthy) is None
    assert find(faulty).startswith(f"node '{place}' (MatMul-13) is off by ")
