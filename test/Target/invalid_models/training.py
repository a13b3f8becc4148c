# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""training_info, and versions of the IR."""

from onnx import parser

from .cases import add, edits, make
from .functions import F, LOCAL
from .types import identity

# training_info.
def training_model():
    model = make(
        "[n] y = MatMul (x, w)",
        inputs="float[2,2] x, float[2,2] w",
        outputs="float[2,2] y",
        weights="float[2,2] w = {1, 1, 1, 1}",
    )
    info = model.training_info.add()
    info.initialization.CopyFrom(
        parser.parse_graph(
            "init () => (float[2,2] w_0) "
            "{ w_0 = RandomNormal <shape = [2, 2]> () }"
        )
    )
    info.algorithm.CopyFrom(
        parser.parse_graph(
            "step (float[2,2] t) => (float[2,2] w_1, int64 count) "
            "<float r = {0.5}> { d = Sub (y, t) g = Mul (d, r) "
            "w_1 = Sub (w, g) count = Size (d) }"
        )
    )
    info.initialization_binding.add(key="w", value="w_0")
    info.update_binding.add(key="w", value="w_1")
    return model


training = edits("training-info", training_model)


@training("initialization_binding", "'v'")
def initializes_nothing(model):
    model.training_info[0].initialization_binding[0].key = "v"


@training("initialization_binding", "'w_2'")
def initialized_by_nothing(model):
    model.training_info[0].initialization_binding[0].value = "w_2"


@training("update_binding", "'v'")
def updates_nothing(model):
    model.training_info[0].update_binding[0].key = "v"


@training("update_binding", "'x'")
def updates_an_input(model):
    model.training_info[0].update_binding[0].key = "x"


@training("update_binding", "'y'")
def updates_a_result(model):
    model.training_info[0].update_binding[0].key = "y"


@training("update_binding", "'w_2'")
def updated_by_nothing(model):
    model.training_info[0].update_binding[0].value = "w_2"


@training("update_binding", "'g'")
def updated_by_inner(model):
    model.training_info[0].update_binding[0].value = "g"


@training("update_binding", "'w' is bound twice")
def updates_twice(model):
    model.training_info[0].update_binding.add(key="w", value="w_1")


@training("initialization_binding", "'w' is bound twice")
def initializes_twice(model):
    model.training_info[0].initialization_binding.add(key="w", value="w_0")


@training("update_binding of 'w'", "'count'")
def updates_by_other_type(model):
    model.training_info[0].update_binding[0].value = "count"


@training("update_binding", "''")
def updates_unnamed(model):
    model.training_info[0].update_binding[0].ClearField("key")


@training("initialization", "input")
def initialization_with_inputs(model):
    model.training_info[0].initialization.input.append(model.graph.input[0])


@training("'q'", "does not define")
def algorithm_reads_nothing(model):
    model.training_info[0].algorithm.node[0].input[0] = "q"


@training("algorithm")
def no_algorithm(model):
    model.training_info[0].ClearField("algorithm")


@training("training_info 1", "'w' is bound twice")
def updated_by_two(model):
    info = training_model().training_info[0]
    model.training_info.append(info)


# Versions of the IR, and the features that they allow.
versioned = edits("ir-version", identity)
for version in (0, -1, 15, 99, 2**31, 2**40, -(2**40)):
    model = identity()
    model.ir_version = version
    add("ir-version", str(version), model, "IR version", str(version))


@versioned("IR version")
def no_version(model):
    model.ClearField("ir_version")


@versioned("IR version", "opset")
def no_opset_at_3(model):
    model.ir_version = 3
    del model.opset_import[:]


@versioned("opset")
def no_opset_at_8(model):
    model.ir_version = 8
    del model.opset_import[:]


@versioned("metadata", "'k'")
def metadata_twice(model):
    model.metadata_props.add(key="k", value="1")
    model.metadata_props.add(key="k", value="2")


@edits("ir-version", training_model)("IR version 6", "training_info")
def training_at_6(model):
    model.ir_version = 6


@edits(
    "ir-version",
    lambda: make("y = local.f (x)", opsets=LOCAL, functions=F),
)("IR version 7", "function")
def functions_at_7(model):
    model.ir_version = 7
