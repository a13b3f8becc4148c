# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time grows with the model as it is, and so does the exported step."""

import collections
import pathlib
import sys

import numpy as np
import onnx
import pytest
from onnx import helper

from onnx_models import describe, make_model, tensors_of
from steps import Step, batch, make_net, scratch_dir
from support import MODELS, processor_seconds

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "benchmarks"))
from make_models import encoder  # noqa: E402

FLAGS = ["--loss=softmax-cross-entropy", "--optimizer=adamw", "--clip-norm=1"]
PRECISIONS = [[], ["--mixed-fp16"], ["--mixed-bf16"]]
each_precision = pytest.mark.parametrize(
    "flags", PRECISIONS, ids=["fp32", "fp16", "bf16"]
)


# Four times the size; a square would take sixteen times the time.
MOST = 6.5


def growth(models, *flags):
    """How many times as long the third of three models takes as the second,
    what the first one takes aside. They take turns, so that what else the
    machine does falls on all of them, and the fastest run of each counts; there
    are more turns where that has not been enough."""
    folder = scratch_dir("growth")
    paths = []
    for number, model in enumerate(models):
        paths.append(folder / f"{number}.onnx")
        onnx.save(model, paths[-1])
    turns = []
    times = float("inf")
    while len(turns) < 5 or (times >= MOST and len(turns) < 20):
        turns.append(
            [
                processor_seconds(
                    path, *flags, "-o", path.with_suffix(".out.onnx"), runs=1
                )
                for path in paths
            ]
        )
        start, small, large = map(min, zip(*turns))
        times = (large - start) / (small - start) if small > start else float("inf")
    return times


@each_precision
def test_layers_of_an_encoder(flags):
    """24 and 96 layers."""
    models = [make_net()] + [encoder(n, 16, 20, tokens=8, head=8) for n in (24, 96)]
    assert growth(models, "--train", *FLAGS, *flags) < MOST


@each_precision
def test_parameters(flags):
    """600 and 2400 parameters with three inputs and outputs each."""
    models = [make_net()] + [make_net([2] * (n + 1)) for n in (300, 1200)]
    assert growth(models, "--train", "--loss=mse", *FLAGS[1:], *flags) < MOST


def test_states_of_training_info():
    def make(count):
        model = make_net()
        info = model.training_info.add()
        names = [f"p{i}" for i in range(count)]
        ones = dict.fromkeys(names, np.ones(2, np.float32))
        model.graph.initializer.extend(tensors_of(ones))
        for name in names:
            following = name + "_next"
            made = helper.make_node("Add", [name, name], [following])
            info.algorithm.node.append(made)
            info.algorithm.output.append(describe(following, shape=[2]))
            info.update_binding.add(key=name, value=following)
        info.algorithm.name = "a"
        return model

    models = [make(count) for count in (10, 10000, 40000)]
    assert growth(models, "--train") < MOST


def test_seeds_of_training_graphs():
    """Gradients by the hundreds, and as many constants that are factors."""

    def make(layers):
        nodes = [helper.make_node("Identity", ["seed"], ["start"])]
        for i in range(layers):
            value = f"g{i - 1}" if i else "start"
            nodes += [
                helper.make_node("Mul", [value, f"c{i}"], [f"g{i}"]),
                helper.make_node(
                    "InPlaceAccumulatorV2", [f"b{i}", f"g{i}", "reset"],
                    [f"o{i}"], domain="com.microsoft",
                ),
            ]
        numbers = range(layers)
        buffers = [describe(f"b{i}", shape=[]) for i in numbers]
        factors = {f"c{i}": np.float32(2) for i in numbers}
        return make_model(
            nodes, [*buffers, describe("reset", bool, [1])],
            [describe(f"o{i}", bool, [1]) for i in numbers],
            {**factors, "seed": np.float32(1)}, domains=["com.microsoft"],
        )  # fmt: skip

    models = [make(count) for count in (2, 3000, 12000)]
    assert growth(models, "--mixed-fp16", "--loss-scale=256") < MOST


def operators(model):
    return collections.Counter(node.op_type for node in model.graph.node)


def test_layers_need_no_shapes_of_batches():
    step = Step(encoder(2, 16, 20, tokens=8, head=8), FLAGS[0], FLAGS[1])
    assert operators(step.model)["NonZero"] == 0


@pytest.mark.parametrize("name", ["mlp784", "resnet8"])
def test_batches_of_a_name_need_no_shapes(name):
    """Sizes that a model calls the same are the same: no axes are looked for
    when the step runs."""
    step = Step(
        MODELS / "train" / name / "forward.onnx", "--loss=softmax-cross-entropy"
    )
    assert operators(step.model)["NonZero"] == 0


def make_residual(shapes):
    """y = x w + u v, whose batches may differ: one of them may be broadcast."""
    model = make_net((4, 3))
    graph = model.graph
    (product,) = [n for n in graph.node if n.op_type == "Add"]
    product.output[0] = "first"
    graph.input.append(describe("u", shape=[shapes[1], 4]))
    graph.input[0].type.tensor_type.shape.dim[0].dim_param = shapes[0]
    graph.initializer.extend(tensors_of({"v": np.full((4, 3), 0.5, "f4")}))
    graph.node.append(helper.make_node("MatMul", ["u", "v"], ["second"]))
    graph.node.append(helper.make_node("Add", ["first", "second"], ["y"]))
    return model


@pytest.mark.parametrize("names, size", [("NN", 8), ("NM", 8), ("NM", 1)])
def test_sizes_of_other_names_may_differ(names, size):
    """Where u has one row, its gradient is a sum: N and M are not the same."""
    step = Step(make_residual(names), "--loss=mse", "--optimizer=none")
    feeds = batch((4, 3))
    feeds["u"] = np.linspace(-1, 1, 4 * size, dtype=np.float32).reshape(size, 4)
    state = step.state or {
        t.name: onnx.numpy_helper.to_array(t) for t in step.model.graph.initializer
    }
    results = step.run(feeds)
    y = feeds["x"] @ state["w0"] + state["b0"] + feeds["u"] @ state["v"]
    error = (y - feeds["labels"]) * (2 / y.size)
    summed = error if size > 1 else error.sum(0, keepdims=True)
    np.testing.assert_allclose(
        results["v_grad"], feeds["u"].T @ summed, rtol=1e-4, atol=1e-6
    )
    # One is of the loss: nothing says how many labels there are.
    assert (operators(step.model)["NonZero"] > 1) == (names == "NM")


def test_states_of_models_with_external_data():
    """What optimizers start from takes no room for each: zeros of one size are
    one piece of the file, and onnxruntime reads them all from there."""
    folder = scratch_dir("external")
    sizes = (64, 64, 64, 64, 3)
    onnx.save(
        make_net(sizes), folder / "net.onnx", save_as_external_data=True,
        size_threshold=1024, location="net.data",
    )
    step = Step(folder / "net.onnx", "--loss=mse", "--optimizer=adamw")
    (data,) = step.path.parent.glob("step.onnx*.data*")
    assert step.path.stat().st_size < 64 * 64 * 4 * 2
    assert data.stat().st_size < 64 * 64 * 4 * 5
    assert all((step.state[f"w{i}.exp_avg"] == 0).all() for i in range(4))
    inner = Step(make_net(sizes), "--loss=mse", "--optimizer=adamw")
    feeds = batch(sizes)
    for _ in range(3):
        assert step.run(feeds)["loss"] == inner.run(feeds)["loss"]
    np.testing.assert_array_equal(step.state["w0"], inner.state["w0"])
