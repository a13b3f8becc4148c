# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""training_info that nobody writes with good intent: one error, or it works."""


import numpy as np
import onnx
import pytest
from onnx import helper

import onnx_models
from onnx_models import describe
from steps import Step
from test_training_info import OPTIMIZERS, PREVIEW, make_model, set_attribute

from support import attempt  # isort: skip


def base(optimizer="Momentum", states=1, number=4):
    return make_model(optimizer, states, OPTIMIZERS[number][2])


def train(model, *flags):
    source, made = onnx_models.save(model)
    return attempt(source, "--train", *flags, "-o", made)


def check_error(model, message, *flags):
    done = train(model, *flags)
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("error:") == 1, done.stderr
    assert message in done.stderr


def find(info, op_type):
    (node,) = [n for n in info.algorithm.node if n.op_type == op_type]
    return node


def bind(info, key, value):
    info.update_binding.add(key=key, value=value)


def second_entry(model, text, *bindings):
    """Another training_info with the algorithm of that text."""
    info = model.training_info.add()
    info.algorithm.CopyFrom(onnx.parser.parse_graph(text))
    for key, value in bindings:
        bind(info, key, value)
    return info


def add_second_gradient(info):
    """w_out comes of the derivative of |dw|^2."""
    nodes = info.algorithm.node
    made = onnx.parser.parse_graph(
        "g () => (float[4,2] ddw) { q = Mul(dw, dw) n2 = ReduceSum<keepdims=0>(q)"
        f' ddw = {PREVIEW}.Gradient<xs=["w"], zs=["x", "t"], y="n2">(w, x, t) }}'
    )
    for offset, node in enumerate(made.node):
        nodes.insert(4 + offset, node)


def put_into_branch(info):
    """The Gradient node in both branches of an If."""
    gradient = find(info, "Gradient")
    results = [describe("dw", shape=[4, 2])]
    graph = helper.make_graph([gradient], "branch", [], results)
    made = helper.make_node(
        "If", ["c"], ["dw"], then_branch=graph, else_branch=graph
    )
    for branch in made.attribute:
        (inner,) = branch.g.node
        inner.output[0] = branch.g.output[0].name = "inner_" + branch.name
    info.algorithm.initializer.append(
        onnx.numpy_helper.from_array(np.array(True), "c")
    )
    gradient.CopyFrom(made)


def swap_first_two(info):
    """d of y and s, s of d: no order of the nodes has both."""
    find(info, "Sub").input[1] = "s"


def drop_operands(info):
    del find(info, "Momentum").input[2:]


def drop_outputs(info):
    del info.algorithm.output[:]


def gradient_operand(position, name):
    def edit(info):
        find(info, "Gradient").input[position] = name

    return edit


def optimizer_operand(position, name):
    def edit(info):
        find(info, "Momentum").input[position] = name

    return edit


def bound_to_other_shape(info):
    info.update_binding[0].value = "loss"


ERRORS = [
    (lambda i: bind(i, "w", "w_out"), "update_binding: 'w' is bound twice"),
    (lambda i: bind(i, "x", "w_out"),
     "update_binding: expected an initializer, got 'x'"),
    (lambda i: bind(i, "y", "w_out"),
     "update_binding: expected an initializer, got 'y'"),
    (lambda i: bind(i, "", "w_out"),
     "update_binding: the model has no initializer ''"),
    (lambda i: bind(i, "w", ""),
     "update_binding of 'w': the algorithm has no output ''"),
    (drop_outputs, "update_binding of 'w': the algorithm has no output 'w_out'"),
    (add_second_gradient, "gradients of gradients are not supported"),
    (put_into_branch, "expected Gradient or an optimizer in the main graph"),
    (swap_first_two, "cycle"),
    (gradient_operand(0, "one"), "expected an operand like 'w' of type"),
    (gradient_operand(0, ""), "expected an operand like 'w' of type"),
    (optimizer_operand(2, "one"), "does not admit"),
    (optimizer_operand(2, ""), "expected operand #2 to be a tensor of floats"),
    (optimizer_operand(1, "rate"), "does not admit"),
    (optimizer_operand(1, ""), "is not optional, but absent"),
    (drop_operands, "Momentum"),
    (lambda i: find(i, "Gradient").output.append("extra"),
     "expected one output for each"),
    (lambda i: set_attribute(i, "xs", ["w", "w"]), "expected one input for each"),
    (lambda i: set_attribute(i, "xs", [""]), "the model defines no value ''"),
    (lambda i: set_attribute(i, "y", ""), "the model defines no value ''"),
    (bound_to_other_shape, "update_binding of 'w': expected"),
]


@pytest.mark.parametrize("edit, message", ERRORS, ids=[m for _, m in ERRORS])
@pytest.mark.parametrize("flags", [[], ["--mixed-fp16"]], ids=["", "fp16"])
def test_one_error(edit, message, flags):
    model = base()
    edit(model.training_info[0])
    check_error(model, message, *flags)


def test_entries_that_need_each_other():
    model = base()
    second_entry(
        model, "b () => (float[4,2] p) { p = Add(w, w_out) }", ("w", "p")
    )
    find(model.training_info[0], "Momentum").input[2] = "p"
    check_error(model, "training_info 0: the algorithm takes 'p', which the model")


def test_entries_that_bind_the_same():
    model = base()
    second_entry(model, "b () => (float[4,2] p) { p = Add(w, w) }", ("w", "p"))
    check_error(model, "training_info 1: update_binding: 'w' is bound twice")


def test_entries_that_define_the_same():
    model = base()
    ones = np.ones((4, 2), np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(ones, "w2"))
    second_entry(model, "b () => (float[4,2] d) { d = Add(w, w) }", ("w2", "d"))
    check_error(model, "training_info 1: the algorithm defines 'd', which")


@pytest.mark.parametrize(
    "position, kind", [(0, "floats"), (1, "integers"), (2, "floats")]
)
def test_operands_that_nobody_knows(position, kind):
    """What an operator without a schema makes has no type."""
    model = base()
    model.opset_import.append(helper.make_opsetid("acme", 1))
    info = model.training_info[0]
    made = helper.make_node("Mystery", ["x"], ["q"], domain="acme")
    info.algorithm.node.insert(0, made)
    find(info, "Momentum").input[position] = "q"
    check_error(model, f"expected operand #{position} to be a tensor of {kind}")


def test_names_of_the_model():
    model = base()
    model.graph.node.append(helper.make_node("Identity", ["y"], ["s"]))
    check_error(model, "training_info 0: the algorithm defines 's', which the model")


def test_nothing_to_train():
    model = base()
    del model.training_info[:]
    check_error(model, "the model has no training_info")


def test_long_lists_of_names():
    """One parameter, asked for 2000 times: the same gradient each time."""
    model = base()
    info = model.training_info[0]
    gradient = find(info, "Gradient")
    count = 2000
    set_attribute(info, "xs", ["w"] * count)
    del gradient.input[:]
    gradient.input.extend(["w"] * count + ["x", "t"])
    gradient.output.extend(f"again{i}" for i in range(1, count))
    last = describe(f"again{count - 1}", shape=[4, 2])
    info.algorithm.output.append(last)
    x = np.ones((3, 4), np.float32)
    t = np.zeros((3, 2), np.float32)
    results = Step(model).run({"x": x, "t": t})
    expected = x.T @ (x @ Step(base()).state["w"]) * (2 / t.size)
    np.testing.assert_allclose(results[f"again{count - 1}"], expected, rtol=1e-5)


def test_gradient_of_the_target_itself():
    model = base()
    info = model.training_info[0]
    made = onnx.parser.parse_graph(
        "g () => (float one_) {"
        f' one_ = {PREVIEW}.Gradient<xs=["loss"], y="loss">(loss) }}'
    )
    info.algorithm.node.append(made.node[0])
    info.algorithm.output.append(describe("one_", shape=[]))
    x, t = np.ones((3, 4), np.float32), np.zeros((3, 2), np.float32)
    assert Step(model).run({"x": x, "t": t})["one_"] == 1


@pytest.mark.parametrize("flags", [[], ["--loss-scale=1024"]], ids=str)
def test_gradients_that_meet(flags):
    """A gradient with respect to a gradient is none of a gradient."""
    model = base()
    info = model.training_info[0]
    made = onnx.parser.parse_graph(
        "g () => (float[4,2] e) { q = Mul(dw, dw) n2 = ReduceSum<keepdims=0>(q)"
        f' e = {PREVIEW}.Gradient<xs=["dw"], y="n2">(dw) }}'
    )
    for node in made.node:
        info.algorithm.node.append(node)
    for name in ("e", "dw"):
        info.algorithm.output.append(describe(name, shape=[4, 2]))
    x, t = np.ones((3, 4), np.float32), np.zeros((3, 2), np.float32)
    results = Step(model, *flags).run({"x": x, "t": t})
    np.testing.assert_allclose(results["e"], 2 * results["dw"], rtol=1e-6)
