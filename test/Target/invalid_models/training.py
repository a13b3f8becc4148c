# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""training_info, and versions of the IR."""

from onnx import parser

from .cases import add, edited, edits, make, put
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


INITIALIZES, UPDATES = "initialization_binding", "update_binding"
BEGINS = "training_info[0].initialization_binding[0]"
GOES_ON = "training_info[0].update_binding[0]"
edited(
    "training-info",
    training_model,
    initializes_nothing=(put(f"{BEGINS}.key", "v"), INITIALIZES, "'v'"),
    initialized_by_nothing=(put(f"{BEGINS}.value", "w_2"), INITIALIZES, "'w_2'"),
    updates_nothing=(put(f"{GOES_ON}.key", "v"), UPDATES, "'v'"),
    updates_an_input=(put(f"{GOES_ON}.key", "x"), UPDATES, "'x'"),
    updates_a_result=(put(f"{GOES_ON}.key", "y"), UPDATES, "'y'"),
    updated_by_nothing=(put(f"{GOES_ON}.value", "w_2"), UPDATES, "'w_2'"),
    updated_by_inner=(put(f"{GOES_ON}.value", "g"), UPDATES, "'g'"),
    updates_twice=(
        lambda m: m.training_info[0].update_binding.add(key="w", value="w_1"),
        UPDATES, "'w' is bound twice",
    ),
    initializes_twice=(
        lambda m: m.training_info[0].initialization_binding.add(
            key="w", value="w_0"
        ),
        INITIALIZES, "'w' is bound twice",
    ),
    updates_by_other_type=(
        put(f"{GOES_ON}.value", "count"), "update_binding of 'w'", "'count'"
    ),
    updates_unnamed=(
        lambda m: m.training_info[0].update_binding[0].ClearField("key"),
        UPDATES, "''",
    ),
    initialization_with_inputs=(
        lambda m: m.training_info[0].initialization.input.append(
            m.graph.input[0]
        ),
        "initialization", "input",
    ),
    algorithm_reads_nothing=(
        lambda m: m.training_info[0].algorithm.node[0].input.__setitem__(0, "q"),
        "'q'", "does not define",
    ),
    no_algorithm=(
        lambda m: m.training_info[0].ClearField("algorithm"), "algorithm"
    ),
    updated_by_two=(
        lambda m: m.training_info.append(training_model().training_info[0]),
        "training_info 1", "'w' is bound twice",
    ),
)  # fmt: skip


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


edited(
    "ir-version",
    training_model,
    training_at_6=(put("ir_version", 6), "IR version 6", "training_info"),
)
edited(
    "ir-version",
    lambda: make("y = local.f (x)", opsets=LOCAL, functions=F),
    functions_at_7=(put("ir_version", 7), "IR version 7", "function"),
)
