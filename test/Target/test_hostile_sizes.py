# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes that no tensor has, attributes of the wrong kind, and names of
gradients that nothing has: one error that names the node.
"""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from conversions import convert
from onnx_models import make_model

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
HUGE = 2**62
GRADIENT = "ai.onnx.preview.training"
info = helper.make_tensor_value_info
node = helper.make_node


def make(nodes, constants=(), inputs=None, outputs=None, opset=18):
    return make_model(
        nodes, inputs or [info("x", FLOAT, [2, 3])],
        outputs or [info("y", FLOAT, None)],
        {f"c{i}": v for i, v in enumerate(constants)}, opset=opset,
        domains=[GRADIENT]
    )


def refuse(model, folder, *texts):
    done = convert(model, folder)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    for text in texts:
        assert text in done.stderr, done.stderr


def ints(*values):
    return np.array(values, np.int64)


def floats(*values):
    return np.array(values, np.float32)


IMAGE = [info("x", FLOAT, [1, 1, 2, 3])]
OPERANDS = {
    "reshape": ("Reshape", ["x", "c0"], [ints(HUGE, 4)], None),
    "reshape product": ("Reshape", ["x", "c0"], [ints(2**33, 2**33)], None),
    "reshape rest": ("Reshape", ["x", "c0"], [ints(-1, HUGE)], None),
    "pad": ("Pad", ["x", "c0"], [ints(HUGE, 0, HUGE, 0)], None),
    "pad product": ("Pad", ["x", "c0"], [ints(2**40, 2**40, 0, 0)], None),
    "pad negative": ("Pad", ["x", "c0"], [ints(-5, 0, 0, 0)], None),
    "tile": ("Tile", ["x", "c0"], [ints(2**33, 2**33)], None),
    "expand": ("Expand", ["x", "c0"], [ints(2**33, 2**33, 2, 3)], None),
    "fill": ("ConstantOfShape", ["c0"], [ints(2**33, 2**33)], None),
    "resize sizes": ("Resize", ["x", "", "", "c0"], [ints(1, 1, -1, 4)], IMAGE),
    "resize scales": ("Resize", ["x", "", "c0"], [floats(1, 1, 0, 1)], IMAGE),
    "resize nan": ("Resize", ["x", "", "c0"], [floats(1, 1, np.nan, 1)], IMAGE),
    "one-hot": ("OneHot", ["c0", "c1", "c2"],
                [ints(0), np.int64(-1), floats(0, 1)], None),
    "slice": ("Slice", ["x", "c0", "c1", "c0", "c0"], [ints(0), ints(1)], None),
    "split": ("Split", ["x", "c0"], [ints(-1, 3)], None),
    "range": ("Range", ["c0", "c1", "c0"], [floats(0)[0], floats(1)[0]], None),
    "top-k": ("TopK", ["x", "c0"], [ints(-1)], None),
    "crop": ("CenterCropPad", ["x", "c0"], [ints(-1, 2)], None),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERANDS)
def test_constants(name, tmp_path):
    op, operands, constants, inputs = OPERANDS[name]
    outputs = ["y", "z"] if op in ("Split", "TopK") else ["y"]
    model = make([node(op, operands, outputs, name="n")], constants, inputs)
    refuse(model, tmp_path, f"node 'n' ({op}-", "expected ", ", found ")


def test_step_of_a_constant_node(tmp_path):
    nodes = [
        node("Constant", [], ["d"], value_int=0),
        node("Range", ["c0", "c0", "d"], ["y"], name="n"),
    ]
    outputs = [info("y", INT64, None)]
    model = make(nodes, [np.int64(1)], outputs=outputs)
    refuse(model, tmp_path, "node 'n' (Range-11)", "a step other than 0")


def test_results(tmp_path):
    """Sizes that follow from attributes, and from several operands."""
    big = node("RandomNormal", [], ["y"], name="n", shape=[2**31, 2**31])
    refuse(make([big]), tmp_path, "node 'n' (", "at most 2^48 elements")
    huge = node("RandomNormal", [], ["y"], name="n", shape=[HUGE])
    refuse(make([huge]), tmp_path, "node 'n' (", "attribute 'shape'")


def body(size):
    return helper.make_graph(
        [node("Add", ["s", "e"], ["t"]), node("Identity", ["t"], ["o"])],
        "body",
        [info("s", FLOAT, [3]), info("e", FLOAT, [size])],
        [info("t", FLOAT, None), info("o", FLOAT, None)],
    )


def test_declared_sizes(tmp_path):
    relu = [node("Relu", ["x"], ["h"]), node("Relu", ["h"], ["y"])]
    places = {
        "graph input 'x'": make(relu, inputs=[info("x", FLOAT, [-3, 2])]),
        "graph output 'y'": make(relu, outputs=[info("y", FLOAT, [2, -2**63])]),
        "value_info 'h'": make(relu),
        "graph input 'e'": make(
            [node("Scan", ["c0", "x"], ["f", "y"], body=body(-3),
                  num_scan_inputs=1)],
            [floats(0, 0, 0)],
        ),
    }  # fmt: skip
    places["value_info 'h'"].graph.value_info.append(info("h", FLOAT, [-2, 3]))
    for place, model in places.items():
        refuse(model, tmp_path, f"{place}: expected sizes of 0 or more, found -")
    model = make(relu, inputs=[info("x", FLOAT, [2**40, 2**40])])
    refuse(model, tmp_path, "graph input 'x': expected at most 2^48 elements")


def test_false_declarations(tmp_path):
    """Of inputs, of initializers, and of what branches compute."""
    relu = [node("Relu", ["x"], ["y"])]
    of_input = make(relu)
    of_input.graph.value_info.append(info("x", FLOAT, [7, 7]))
    of_constant = make([node("Add", ["x", "c0"], ["y"])], [floats(1)])
    of_constant.graph.value_info.append(info("c0", FLOAT, [7]))
    passed = make(relu, outputs=[info("x", FLOAT, [9, 9])])
    for model in (of_input, of_constant, passed):
        done = convert(model, tmp_path)
        assert done.returncode == 0
        assert "is declared with another shape than it has" in done.stderr
    wrong = make(relu)
    wrong.graph.value_info.append(info("x", INT64, [2, 3]))
    refuse(wrong, tmp_path, "value 'x' is declared as 'tensor<2x3xi64>', but is")
    default = make([node("Add", ["x", "c0"], ["y"])], [floats(1, 2, 3)],
                   [info("x", FLOAT, [2, 3]), info("c0", FLOAT, [7])])
    refuse(default, tmp_path, "initializer 'c0': expected 'tensor<7xf32>'")


GRAPH = helper.make_graph(
    [node("Identity", ["x"], ["q"])], "inner", [], [info("q", FLOAT, None)]
)
ONE = numpy_helper.from_array(ints(1), "t")


@pytest.mark.parametrize(
    "kind, value",
    [("GRAPH", GRAPH), ("GRAPHS", [GRAPH]), ("TENSOR", ONE), ("TENSORS", [ONE])],
)
def test_kinds_of_attributes(kind, value, tmp_path):
    for op, name in (("Softmax", "axis"), ("Cast", "to")):
        wrong = node(op, ["x"], ["y"], name="n")
        wrong.attribute.append(helper.make_attribute(name, value))
        refuse(make([wrong]), tmp_path,
               f"node 'n' ({op}-13): attribute '{name}' is {kind}, expected INT")
    wrong = node("Relu", ["x"], ["y"], name="n")
    wrong.attribute.append(helper.make_attribute("axis", value))
    refuse(make([wrong]), tmp_path, "node 'n' (Relu-14): attribute 'axis' is "
           "unknown")  # fmt: skip


def training(**names):
    model = make(
        [node("Mul", ["x", "c0"], ["p"]), node("ReduceMax", ["p"], ["y"])],
        [floats(1, 2, 3)],
    )
    attributes = {"xs": ["c0"], "y": "y", **names}
    algorithm = helper.make_graph(
        [
            node("Gradient", ["c0"], ["d"], "grad", domain=GRADIENT, **attributes),
            node("Sub", ["c0", "d"], ["new"]),
        ],
        "step", [], [info("new", FLOAT, None)],
    )  # fmt: skip
    step = model.training_info.add()
    step.algorithm.CopyFrom(algorithm)
    step.update_binding.add(key="c0", value="new")
    return model


def test_gradients(tmp_path):
    assert convert(training(), tmp_path).returncode == 0
    where = "node 'grad' (ai.onnx.preview.training.Gradient): "
    for wrong, text in [
        ({"y": "loss"}, "attribute 'y': the model defines no value 'loss'"),
        ({"xs": ["w"]}, "attribute 'xs': the model defines no value 'w'"),
        ({"zs": ["w"]}, "attribute 'zs': the model defines no value 'w'"),
        ({"zs": ["x"]}, "expected one input for each of the 2 names in"),
        ({"xs": ["c0", "x"]}, "expected one input for each of the 2 names in"),
    ]:
        refuse(training(**wrong), tmp_path, where + text)


def test_a_branch_that_may_never_run(tmp_path):
    """Five elements are no four equal parts: an error unless an If decides."""
    split = node("Split", ["x"], ["a", "b", "c", "d"], num_outputs=4, axis=0)
    vector = [info("x", FLOAT, [5])]
    outputs = [info("d", FLOAT, None)]
    refuse(make([split], inputs=vector, outputs=outputs), tmp_path, "Split-18")
    taken = node("Identity", ["x"], ["e"])
    bodies = [
        helper.make_graph([part], name, [], [info(result, FLOAT, None)])
        for part, name, result in ((split, "then", "d"), (taken, "else", "e"))
    ]
    choice = node("If", ["q"], ["y"], then_branch=bodies[0], else_branch=bodies[1])
    inputs = [*vector, info("q", TensorProto.BOOL, [])]
    done = convert(make([choice], inputs=inputs), tmp_path)
    assert done.returncode == 0, done.stderr
