# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized models: no cast inside or next to a pair of QuantizeLinear and
DequantizeLinear, valid results, and the errors of one more rounding."""

import functools
import pathlib
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from support import DTYPES, ELEMENT_TYPE, run_mp_opt, scratch_dir

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from zoo import check, pairs, quantized  # noqa: E402

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxruntime.quantization")

RECIPES = {recipe.name: recipe for recipe in quantized.RECIPES}
each_recipe = pytest.mark.parametrize("name", RECIPES)
each_dtype = pytest.mark.parametrize("dtype", DTYPES)


@functools.lru_cache(maxsize=None)
def source(name):
    """The path of a quantized model, and the inputs to run it on."""
    model, feeds = quantized.make(RECIPES[name])
    path = scratch_dir() / f"{name}.onnx"
    onnx.save(model, path)
    return path, feeds


@functools.lru_cache(maxsize=None)
def converted(name, dtype, *flags):
    """The path of the model in 16 bit."""
    path, _ = source(name)
    target = scratch_dir() / f"{name}.{dtype}.onnx"
    run_mp_opt(path, f"--mixed-{dtype}", "--summary=none", *flags, "-o", target)
    return target


def assert_valid(model):
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(
        model, check_type=True, strict_mode=True, data_prop=True
    )


# ----- Models of exporters and quantizers -------------------------------------


@each_recipe
@each_dtype
def test_no_cast_in_pairs(name, dtype):
    model = onnx.load(converted(name, dtype))
    assert_valid(model)
    assert pairs.casts_in_pairs(model) == []


def test_counter_of_casts_sees_casts():
    """Without this, the counts of 0 could be empty promises."""
    model, _ = quantized.make(RECIPES["resnet-half-casts"])
    assert len(pairs.casts_in_pairs(model)) > 80


# The least share of pair nodes that becomes 16 bit.
SHARES = {
    ("resnet-int8", "fp16"): 0.7, ("resnet-int8", "bf16"): 0.7,
    ("resnet-uint8-channels", "fp16"): 0.7,
    ("resnet-uint8-channels", "bf16"): 0.7,
    ("resnet-fake-weights", "fp16"): 0.7, ("resnet-fake-weights", "bf16"): 0.7,
    ("resnet-opset23", "fp16"): 0.7, ("resnet-opset23", "bf16"): 0.7,
    ("resnet-half-casts", "fp16"): 1.0,
    ("bert-int8", "fp16"): 0.5, ("bert-int8", "bf16"): 0.5,
    ("vit-int16", "bf16"): 0.5, ("vit-fp8", "bf16"): 0.5,
    ("vit-int4-blocks", "fp16"): 1.0, ("vit-int4-blocks", "bf16"): 1.0,
}  # fmt: skip


@pytest.mark.parametrize("name, dtype", SHARES)
def test_pairs_become_16_bit(name, dtype):
    kinds = pairs.scale_types(onnx.load(converted(name, dtype)))
    low = kinds[TensorProto.DataType.Name(ELEMENT_TYPE[dtype])]
    assert low >= SHARES[name, dtype] * sum(kinds.values())


@each_recipe
def test_results_stay_near(name):
    """The error is below that of quantizing: a rounding makes other steps of 8
    bits only where a value is near the middle of two."""
    path, feeds = source(name)
    before = check.onnxruntime_results(path, feeds)
    floats = quantized.MODELS / RECIPES[name].source / "model.onnx"
    loss = check.difference(before, check.onnxruntime_results(floats, feeds))
    after = check.onnxruntime_results(converted(name, "fp16"), feeds)
    assert check.difference(after, before) <= 1.5 * loss


# ----- Integer kernels --------------------------------------------------------


def integer_kernels(model):
    """Operators with quantized operands in onnxruntime's optimized graph."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    target = scratch_dir() / "optimized.onnx"
    options.optimized_model_filepath = str(target)
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    )
    onnxruntime.InferenceSession(
        str(model), options, providers=["CPUExecutionProvider"]
    )
    kinds = [node.op_type for node in onnx.load(target).graph.node]
    return {
        kind: kinds.count(kind)
        for kind in set(kinds)
        if kind.startswith(("QLinear", "QGemm", "MatMulInteger", "QAttention",
                            "DynamicQuantize", "MatMulNBits"))
    }  # fmt: skip


@pytest.mark.parametrize("name", [
    "resnet-int8", "resnet-uint8-channels", "resnet-qoperator", "bert-int8",
    "bert-dynamic", "vit-nbits",
])  # fmt: skip
@each_dtype
def test_integer_kernels_of_the_cpu_provider(name, dtype):
    """With fp32 pairs, the provider forms as many as in the source."""
    before = integer_kernels(source(name)[0])
    model = converted(name, dtype, "--runtime=onnxruntime-cpu")
    assert before, "the source has none: the test proves nothing"
    assert integer_kernels(model) == before
    kinds = pairs.scale_types(onnx.load(model))
    assert not kinds["FLOAT16"] and not kinds["BFLOAT16"]


def test_fp16_pairs_have_no_integer_kernels():
    """The reason for the rule: the provider fuses fp32 pairs only."""
    before = integer_kernels(source("resnet-uint8-channels")[0])
    after = integer_kernels(converted("resnet-uint8-channels", "fp16"))
    assert after.get("QLinearConv", 0) < before["QLinearConv"]


# ----- Random graphs ----------------------------------------------------------

OPSETS = (13, 17, 19, 21, 22, 23)


def matrix(name):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 4])


class RandomGraph:
    """Products, cheap nodes, pairs of all kinds and branches, in any order."""

    SCALES = (0.05, 0.011, 0.3, 0.05, 0.011, 0.3, 1e-3, 2.3e-5)

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.initializers, self.floats = [], [], ["x"]
        self.counter = 0

    def name(self, base):
        self.counter += 1
        return f"{base}{self.counter}"

    def chance(self, one_in):
        return self.random.integers(one_in) == 0

    def constant(self, values, base="c"):
        name = self.name(base)
        held = numpy_helper.from_array(np.asarray(values), name)
        self.initializers.append(held)
        return name

    def scale(self, shape=()):
        return self.constant(
            self.random.choice(self.SCALES, shape).astype(np.float32), "scale"
        )

    def node(self, kind, operands, **attributes):
        result = self.name(kind.lower())
        self.nodes.append(
            helper.make_node(
                kind, operands, [result], self.name("n"), **attributes
            )
        )
        return result

    def value(self):
        recent = self.floats[-6:]
        return recent[self.random.integers(len(recent))]

    def add_pair(self):
        kind = self.random.choice(["int8", "uint8"])
        scale, zero = self.scale(), self.constant(np.zeros((), kind), "zero")
        held = self.node("QuantizeLinear", [self.value(), scale, zero])
        if self.chance(4):
            held = self.node("Transpose", [held])
        for _ in range(2 if self.chance(5) else 1):
            other = self.scale() if self.chance(5) else scale
            self.floats.append(
                self.node("DequantizeLinear", [held, other, zero])
            )

    def weights(self):
        held = self.constant(
            self.random.integers(-127, 128, (4, 4)).astype(np.int8), "w"
        )
        if self.chance(2):
            zero = self.constant(np.zeros(4, np.int8), "zero")
            axis = int(self.random.integers(2))
            made = self.node(
                "DequantizeLinear", [held, self.scale(4), zero], axis=axis
            )
        else:
            made = self.node("DequantizeLinear", [held, self.scale()])
        return self.node("Transpose", [made]) if self.chance(2) else made

    def add_product(self):
        weights = self.weights()
        self.floats.append(self.node("MatMul", [self.value(), weights]))
        if self.chance(6):
            self.floats.append(self.node("Softmax", [weights]))

    def add_bias(self):
        bias = self.constant(
            self.random.integers(-9000, 9000, 4).astype(np.int32), "b"
        )
        made = self.node(
            "DequantizeLinear", [bias, self.constant(np.float32(1e-4), "scale")]
        )
        self.floats.append(
            self.node("Gemm", [self.value(), self.weights(), made])
        )

    def add_float(self):
        values = self.random.standard_normal((4, 4)).astype(np.float32) / 2
        weights = self.constant(values)
        self.floats.append(self.node("MatMul", [self.value(), weights]))

    def add_cheap(self):
        pairwise = ["Add", "Mul", "Sub", "Max"]
        kind = self.random.choice(
            ["Relu", "Sigmoid", "Softmax", "Transpose", "Identity", *pairwise]
        )
        count = 2 if kind in pairwise else 1
        self.floats.append(
            self.node(str(kind), [self.value() for _ in range(count)])
        )

    def branch(self, value):
        result, nodes = self.name("branch"), []
        if self.chance(2):
            scale, held, made = self.scale(), self.name("q"), self.name("d")
            nodes = [
                helper.make_node("QuantizeLinear", [value, scale], [held]),
                helper.make_node("DequantizeLinear", [held, scale], [made]),
            ]
            value = made
        nodes.append(helper.make_node("Identity", [value], [result]))
        return helper.make_graph(nodes, self.name("g"), [], [matrix(result)])

    def add_if(self):
        condition = self.constant(bool(self.chance(2)))
        self.floats.append(
            self.node(
                "If", [condition], then_branch=self.branch(self.value()),
                else_branch=self.branch(self.value()),
            )
        )  # fmt: skip

    def build(self, opset):
        steps = [self.add_pair, self.add_cheap] * 4
        steps += [self.add_product, self.add_bias, self.add_float, self.add_if]
        for _ in range(self.random.integers(6, 26)):
            steps[self.random.integers(len(steps))]()
        named = [self.floats[-1]] + [
            name for name in self.floats[1:-1] if self.chance(7)
        ]
        outputs = [matrix(name) for name in dict.fromkeys(named)]
        graph = helper.make_graph(
            self.nodes, "g", [matrix("x")], outputs, self.initializers
        )
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10
        )


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(seed):
    """Whatever stands around pairs, no cast falls into them, and the result is
    valid and computes the same up to steps of the integers."""
    model = RandomGraph(seed).build(OPSETS[seed % len(OPSETS)])
    onnx.checker.check_model(model, full_check=True)
    values = np.random.default_rng(seed).standard_normal((4, 4))
    feeds = {"x": values.astype(np.float32)}
    path = scratch_dir() / "random.onnx"
    onnx.save(model, path)
    before = check.onnxruntime_results(path, feeds)
    for dtype in DTYPES:
        target = path.with_suffix(f".{dtype}.onnx")
        run_mp_opt(path, f"--mixed-{dtype}", "--summary=none", "-o", target)
        made = onnx.load(target)
        assert_valid(made)
        assert pairs.casts_in_pairs(made) == []
        if dtype == "fp16":
            found = check.onnxruntime_results(target, feeds)
            assert all(np.isfinite(found[n]).all() for n in before)
            # One step of the coarsest scale.
            for name, expected in before.items():
                size = max(1.0, np.abs(expected).max())
                assert np.abs(found[name] - expected).max() <= 0.31 * size
