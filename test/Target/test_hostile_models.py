# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models made to break their reader: one error each that says where and what,
or a result; never a crash, a hang, or memory taken for a number in a file.

Every run has a stack of 1 MiB, ten seconds, and 2 GiB of address space beside
three times the model's size.
"""

import functools
import resource

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from conversions import convert
from onnx_models import make_model

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
MIB = 1 << 20
SECONDS = 10
BIG = (2**31, 2**40, 2**62, -1, 0)


def limits(size):
    memory = 2048 * MIB + 3 * size
    resource.setrlimit(resource.RLIMIT_STACK, (MIB, MIB))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(model, folder, *flags):
    """The exit code and what is said, of a model or the bytes of one."""
    content = model if isinstance(model, bytes) else model.SerializeToString()
    return convert(
        content, folder, *flags, timeout=SECONDS * 6,
        preexec_fn=functools.partial(limits, len(content)),
    )  # fmt: skip


def refused(model, folder, message):
    for flags in ((), ("--mixed-bf16",), ("--mixed-fp16",)):
        done = run(model, folder, *flags)
        assert done.returncode == 1
        assert message in done.stderr


def accepted(model, folder):
    for flags in (("--mixed-bf16",), ("--mixed-fp16", "--emulate")):
        assert run(model, folder, *flags).returncode == 0


def make(nodes, initializers=(), inputs=None, outputs=("y",), functions=()):
    inputs = inputs or {"x": [1, 4, 8, 8]}
    return make_model(
        nodes, inputs, {n: None for n in outputs}, initializers, opset=22,
        ir=10, domains=["local"], functions=functions
    )


def constant(values, name, dtype=np.int64):
    return numpy_helper.from_array(np.array(values, dtype), name)


WEIGHT = numpy_helper.from_array(np.ones((4, 4, 3, 3), np.float32), "w")


# Attributes by which implementations divide, or for which they take memory.
@pytest.mark.parametrize("value", BIG)
@pytest.mark.parametrize(
    "op, name, length",
    [
        ("Conv", "strides", 2),
        ("Conv", "dilations", 2),
        ("Conv", "kernel_shape", 2),
        ("Conv", "group", 0),
        ("ConvTranspose", "strides", 2),
        ("MaxPool", "kernel_shape", 2),
        ("AveragePool", "strides", 2),
        ("DepthToSpace", "blocksize", 0),
        ("SpaceToDepth", "blocksize", 0),
        ("GroupNormalization", "num_groups", 0),
        ("LSTM", "hidden_size", 0),
        ("Split", "num_outputs", 0),
        ("Attention", "q_num_heads", 0),
    ],
)
def test_absurd_attribute(op, name, length, value, tmp_path):
    attributes = {"kernel_shape": [2, 2]} if op.endswith("Pool") else {}
    attributes[name] = [1] * (length - 1) + [value] if length else value
    operands = {
        "Conv": ["x", "w"],
        "ConvTranspose": ["x", "w"],
        "GroupNormalization": ["x", "s", "s"],
        "LSTM": ["x", "w", "w"],
        "Attention": ["x", "x", "x"],
    }.get(op, ["x"])
    scale = numpy_helper.from_array(np.ones(4, np.float32), "s")
    node = helper.make_node(op, operands, ["y"], name="n", **attributes)
    model = make([node], [WEIGHT, scale])
    if op == "Attention":
        model.opset_import[0].version = 23
    refused(model, tmp_path, f"attribute '{name}': expected 1 to 2147483647, "
            f"found {value}")


# Three steps of a batch of 5 with 4 features, one direction, a state of 2.
RECURRENT = {
    "x": (3, 5, 4), "w": (1, 8, 4), "r": (1, 8, 2), "b": (1, 16),
    "lengths": (5,), "h": (1, 5, 2), "c": (1, 5, 2), "p": (1, 6),
}  # fmt: skip


def make_lstm(shapes, **attributes):
    weights = [
        constant(np.ones(shape), name, np.int32 if name == "lengths" else np.float32)
        for name, shape in shapes.items()
    ]
    node = helper.make_node(
        "LSTM", list(shapes), ["y"], name="n", hidden_size=2, **attributes
    )
    return make([node], weights, inputs={"unused": [1]})


@pytest.mark.parametrize(
    "operand, shape, dim, other, found",
    [
        ("b", (2, 16), "0 of input #3", "0 of input #2", "2 and 1"),
        ("lengths", (4,), "0 of input #4", "1 of input #0", "4 and 5"),
        ("h", (19, 5, 2), "0 of input #5", "0 of input #2", "19 and 1"),
        ("h", (1, 4, 2), "1 of input #5", "1 of input #0", "4 and 5"),
        ("h", (1, 5, 3), "2 of input #5", "2 of input #2", "3 and 2"),
        ("c", (19, 5, 2), "0 of input #6", "0 of input #2", "19 and 1"),
        ("c", (1, 4, 2), "1 of input #6", "1 of input #0", "4 and 5"),
        ("c", (1, 5, 3), "2 of input #6", "2 of input #2", "3 and 2"),
        ("p", (1, 8), "1 of input #7", "2 of input #2 times 3", "8 and 2"),
    ],
)
def test_recurrent_sizes(operand, shape, dim, other, found, tmp_path):
    refused(
        make_lstm({**RECURRENT, operand: shape}), tmp_path,
        f"(LSTM-22): expected dimension {dim} to be dimension {other}, found {found}",
    )  # fmt: skip


def test_recurrent_layouts(tmp_path):
    accepted(make_lstm(RECURRENT), tmp_path)
    # Batches come first.
    shapes = {**RECURRENT, "x": (5, 3, 4), "h": (5, 1, 2), "c": (5, 1, 2)}
    accepted(make_lstm(shapes, layout=1), tmp_path)


# Small numbers in the model that request sizes too large for any machine: they
# are not computed.
@pytest.mark.parametrize("size", [2**20, 2**40, 2**62, -(2**62)])
@pytest.mark.parametrize(
    "node, dtype",
    [
        (helper.make_node("ConstantOfShape", ["n"], ["t"], name="n"), 1),
        (helper.make_node("Tile", ["v", "n"], ["t"], name="n"), 1),
        (helper.make_node("Expand", ["v", "n"], ["t"], name="n"), 1),
        (helper.make_node("Pad", ["v", "n"], ["t"], name="n"), 2),
        (helper.make_node("OneHot", ["n", "n", "two"], ["t"], name="n"), 1),
    ],
    ids=lambda value: getattr(value, "op_type", None),
)
def test_size_bomb(node, dtype, size, tmp_path):
    model = make(
        [node, helper.make_node("Add", ["t", "v"], ["y"], name="add")],
        [
            constant([size] * dtype, "n"),
            constant([1.0], "v", np.float32),
            constant([0.0, 1.0], "two", np.float32),
        ],
    )
    if abs(size) < 2**48:
        return accepted(model, tmp_path)
    refused(model, tmp_path, f"to 2^48, found {size}")


@pytest.mark.parametrize("size", [2**20, 2**40, 2**62])
def test_reshape_bomb(size, tmp_path):
    node = helper.make_node("Reshape", ["v", "n"], ["y"], name="n")
    weights = [constant([size], "n"), constant([1.0], "v", np.float32)]
    model = make([node], weights)
    refused(model, tmp_path, f"expected sizes of 1 elements in all, as "
            f"'tensor<1xf32>' has, found {size}")  # fmt: skip


@pytest.mark.parametrize("step", [1.0, 0.0, 1e-38, -1.0, np.nan])
def test_range_bomb(step, tmp_path):
    numbers = [
        constant(value, name, np.float32)
        for value, name in ((0.0, "a"), (3e38, "b"), (step, "c"))
    ]
    node = helper.make_node("Range", ["a", "b", "c"], ["y"], name="r")
    model = make([node], numbers)
    if step < 0:
        return accepted(model, tmp_path)
    refused(model, tmp_path, "input #2 ('delta'): expected a step ")


@pytest.mark.parametrize("split", [0, -1, 2**62])
def test_sequence_split(split, tmp_path):
    nodes = [
        helper.make_node("SplitToSequence", ["x", "n"], ["s"], name="split"),
        helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0, name="c"),
    ]
    model = make(nodes, [constant(split, "n")])
    if split > 0:
        return accepted(model, tmp_path)
    refused(model, tmp_path, "node 'split' (SplitToSequence-11): ")


@pytest.mark.parametrize("dims", [[2**62, 4], [2**31, 2**31], [-5], [2**48, 0]])
def test_dims_of_weight(dims, tmp_path):
    weight = TensorProto(name="w", data_type=FLOAT, dims=dims, raw_data=b"1234")
    model = make([helper.make_node("Relu", ["w"], ["y"], name="n")], [weight])
    message = "expected 0 bytes" if 0 in dims else "is out of range"
    refused(model, tmp_path, message)


def test_dims_of_sparse_weight(tmp_path):
    model = make([helper.make_node("Relu", ["w"], ["y"], name="n")])
    model.graph.sparse_initializer.add(
        values=helper.make_tensor("w", FLOAT, [1], [1.0]),
        indices=helper.make_tensor("", INT64, [1], [2**60]),
        dims=[2**62, 2**62],
    )
    assert run(model, tmp_path, "--mixed-bf16").returncode in (0, 1)


@pytest.mark.parametrize("dim", [2**62, 2**63 - 1, -(2**62)])
def test_dims_of_values(dim, tmp_path):
    nodes = [
        helper.make_node("MatMul", ["x", "x"], ["h"], name="mm"),
        helper.make_node("Concat", ["h", "h", "x"], ["c"], axis=0, name="cc"),
        helper.make_node("Flatten", ["c"], ["f"], axis=2, name="f"),
        helper.make_node("Softmax", ["f"], ["y"], name="sm"),
    ]
    refused(make(nodes, inputs={"x": [dim, dim, dim]}), tmp_path,
            "graph input 'x': expected ")  # fmt: skip


# Names and structure.
def test_cycle(tmp_path):
    nodes = [
        helper.make_node("Add", ["x", "b"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="second"),
        helper.make_node("Relu", ["b"], ["y"], name="third"),
    ]
    refused(make(nodes), tmp_path, "node 'first' (Add): is part of a cycle")


def test_undefined_name(tmp_path):
    node = helper.make_node("Relu", ["nowhere"], ["y"], name="n")
    refused(make([node]), tmp_path, "node 'n' (Relu): input 'nowhere' is not")


def test_name_twice(tmp_path):
    nodes = [
        helper.make_node("Relu", ["x"], ["y"], name=name) for name in "ab"
    ]
    refused(make(nodes), tmp_path, "node 'b' defines 'y', which is defined")


@pytest.mark.parametrize("version", [0, -1, 2**31, 2**62])
def test_opset(version, tmp_path):
    model = make([helper.make_node("Relu", ["x"], ["y"], name="n")])
    model.opset_import[0].version = version
    refused(model, tmp_path, "opset import of domain 'ai.onnx': expected")


def nested(depth, op="If"):
    """The innermost graph first: Python's recursion is bounded, too. Beyond
    what protobuf's own writer nests, the bytes are made by hand."""

    def field(number, content):
        size, length = len(content), b""
        while size >= 128:
            length, size = length + bytes([size & 127 | 128]), size >> 7
        return bytes([number << 3 | 2]) + length + bytes([size]) + content

    graph = field(2, b"g") + field(12, field(1, b"o"))
    for _ in range(depth):
        attribute = field(1, b"then_branch") + field(6, graph) + b"\xa0\x01\x05"
        node = (
            field(1, b"x") + field(2, b"o") + field(3, b"n")
            + field(4, op.encode()) + field(5, attribute)
        )
        graph = field(1, node) + field(2, b"g") + field(12, field(1, b"o"))
    return b"\x08\x0a" + field(7, graph) + field(8, b"\x10\x16")


@pytest.mark.parametrize("depth", [25, 65, 99, 1000, 10000])
@pytest.mark.parametrize("op", ["If", "Unknown"])
def test_nesting(depth, op, tmp_path):
    done = run(nested(depth, op), tmp_path, "--mixed-bf16")
    assert done.returncode == 1
    if depth > 30:
        assert "nest" in done.stderr or "malformed" in done.stderr


def function(name, calls):
    nodes = [
        helper.make_node(callee, ["a" if i == 0 else f"t{i}"],
                         [f"t{i + 1}" if i + 1 < len(calls) else "b"],
                         domain="local" if callee != "Relu" else "",
                         name=f"{name}{i}")
        for i, callee in enumerate(calls)
    ]
    return helper.make_function("local", name, ["a"], ["b"], nodes,
                                [helper.make_opsetid("", 22),
                                 helper.make_opsetid("local", 1)])


@pytest.mark.parametrize("calls", [["F"], ["G"]])
def test_recursive_functions(calls, tmp_path):
    model = make(
        [helper.make_node("F", ["x"], ["y"], domain="local", name="n")],
        functions=[function("F", calls), function("G", ["F"])],
    )
    refused(model, tmp_path, "': expected no recursion, found a call of it in")


@pytest.mark.parametrize("levels, width", [(30, 2), (8, 16)])
def test_exponential_functions(levels, width, tmp_path):
    functions = [function("F0", ["Relu"])] + [
        function(f"F{i}", [f"F{i - 1}"] * width) for i in range(1, levels)
    ]
    last = f"F{levels - 1}"
    model = make(
        [helper.make_node(last, ["x"], ["y"], domain="local", name="n")],
        functions=functions,
    )
    run(model, tmp_path, "--mixed-bf16")


def test_chain_of_functions(tmp_path):
    count = 10000
    functions = [function("F0", ["Relu"])] + [
        function(f"F{i}", [f"F{i - 1}"]) for i in range(1, count)
    ]
    model = make(
        [helper.make_node(f"F{count - 1}", ["x"], ["y"], domain="local")],
        functions=functions,
    )
    run(model, tmp_path, "--mixed-bf16")


# Bytes.
def test_wire_types(tmp_path):
    """Every known field of the model with each other wire type."""
    good = make([helper.make_node("Relu", ["x"], ["y"], name="n")])
    content = good.SerializeToString()
    for number in range(1, 27):
        for wire in (0, 1, 2, 3, 4, 5, 6, 7):
            tag = number << 3 | wire
            head = bytes([tag]) if tag < 128 else bytes([tag & 127 | 128, 1])
            for tail in (b"", b"\x01", b"\xff" * 10, b"\x7f" + b"a" * 20):
                if (number * 3 + wire + len(tail)) % 16 == 0:  # enough
                    run(content + head + tail, tmp_path)


@pytest.mark.parametrize("share", np.linspace(0.02, 0.98, 25))
def test_truncated(share, tmp_path):
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="n", strides=[2, 2])
    content = make([node], [WEIGHT]).SerializeToString()
    run(content[: int(len(content) * share)], tmp_path, "--mixed-bf16")


@pytest.mark.parametrize("kind", range(1, 15))
def test_lying_kind(kind, tmp_path):
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="n", strides=[2, 2])
    node.attribute[0].type = kind
    model = make([node], [WEIGHT])
    if kind == onnx.AttributeProto.INTS:
        return accepted(model, tmp_path)
    done = run(model, tmp_path, "--mixed-bf16")
    assert done.returncode == 1 and "'strides'" in done.stderr


def test_long_names(tmp_path):
    name = "n" * (4 * MIB)
    node = helper.make_node("MatMul", ["x", "x"], ["y"], name=name)
    accepted(make([node]), tmp_path)


def test_many_results(tmp_path):
    """What names results must not look at all others for each."""
    count = 20000
    names = [f"y{i}" for i in range(count)]
    nodes = [
        helper.make_node("MatMul", ["x", "x"], ["h"], name="mm"),
        helper.make_node("Split", ["h"], names, num_outputs=count, name="s"),
    ]
    model = make(nodes, inputs={"x": [count, 1, 1]}, outputs=names)
    accepted(model, tmp_path)
    assert run(model, tmp_path, "--mixed-bf16", "--allow=Split").returncode == 0
