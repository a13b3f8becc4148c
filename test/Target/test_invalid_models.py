# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that mean nothing are refused, each with one error that says where;
what is wrong, but harmless, is a warning, and an error where that is asked for.
"""

import collections
import pathlib

import onnx
import pytest
from conversions import convert
from invalid_models import CASES, branch, branches, function, make
from onnx import TensorProto, helper
from support import MP_OPT, attempt

MP_RUN = pathlib.Path(MP_OPT).with_name("mp-run")
LEAST = 10  # of each kind

# Cases that ONNX's checker and its inference accept in their strictest modes.
CHECKER_ACCEPTS = """
attribute-range-layernormalization-axis
attribute-range-gatherelements-axis
attribute-range-scatterelements-axis
attribute-range-lpnormalization-axis
attribute-range-lpnormalization-p
attribute-range-reversesequence-batch_axis
attribute-range-quantizelinear-axis
attribute-range-depthtospace-mode
attribute-range-conv-auto_pad
attribute-range-conv-group
attribute-range-maxpool-storage_order
attribute-range-maxpool-auto_pad
attribute-range-resize-mode
attribute-range-resize-coordinate_transformation_mode
attribute-range-resize-nearest_mode
attribute-range-pad-mode
attribute-range-castlike-saturate
attribute-range-bitshift-direction
attribute-range-scatternd-reduction
attribute-range-gelu-approximate
attribute-range-lstm-direction
attribute-range-gru-layout
attribute-range-rnn-activations
attribute-range-roialign-mode
attribute-range-roialign-output_height
attribute-range-gridsample-padding_mode
attribute-range-negativeloglikelihoodloss-reduction
attribute-range-trilu-upper
attribute-range-maxpool-ceil_mode
attribute-range-lrn-size
attribute-range-reducesum-keepdims
attribute-range-groupnormalization-num_groups
attribute-length-transpose-perm
attribute-length-split-num_outputs
attribute-length-lstm-activations
attribute-length-reducemean-axes
attribute-length-squeeze-axes
attribute-length-kernel-of-weight
value-type-value_unknown
value-type-sequence_of_unknown
value-type-map_of_floats
operand-reshape-count
operand-reshape-rank
operand-reduce-twice
operand-cumsum-axis
operand-conv-channels
operand-conv-bias
operand-lstm-recurrence
operand-lstm-bias
operand-lstm-weight
operand-depth
operand-space
operand-einsum-sizes
operand-range-step
operand-pool-rank
branch-condition-size
loop-gives-nothing
loop-condition-type
scan-directions
scan-direction
scan-state-type
scan-map-gives-nothing
function-output-undefined
function-attribute-and-default
function-too-many-operands
function-too-many-results
function-unknown-attribute
function-unknown-reference
function-overload
operator-version-pad-wrap
domain-too-new
domain-ml-too-new
domain-two-versions
domain-two-names
data-size-int4-many
data-size-int4-numbers
data-size-float8-range
data-size-float16-range
data-size-int8-range
data-size-uint8-range
data-size-uint32-range
data-size-strings-many
two-values-reference_outside
two-values-reference_and_value
training-info-initializes_nothing
training-info-initialized_by_nothing
training-info-updates_nothing
training-info-updates_an_input
training-info-updates_a_result
training-info-updated_by_nothing
training-info-updated_by_inner
training-info-updates_twice
training-info-initializes_twice
training-info-updates_by_other_type
training-info-updates_unnamed
training-info-initialization_with_inputs
training-info-algorithm_reads_nothing
training-info-no_algorithm
training-info-updated_by_two
ir-version-training_at_6
ir-version-functions_at_7
""".split()


def is_valid(model):
    """What ONNX says. It wants the ranks of outputs, which models here often
    leave open."""
    checked = onnx.ModelProto()
    checked.CopyFrom(model)
    for output in checked.graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.shape.SetInParent()
    try:
        onnx.checker.check_model(checked)
        onnx.shape_inference.infer_shapes(
            model, check_type=True, strict_mode=True
        )
    except Exception:
        return False
    return True


@pytest.mark.parametrize("name", CASES)
def test_refused(name, tmp_path):
    case = CASES[name]
    done = convert(case.model, tmp_path)
    assert done.returncode == 1
    for part in case.where:
        assert part in done.stderr


def test_kinds():
    counts = collections.Counter(case.kind for case in CASES.values())
    print(counts)
    assert len(counts) >= 15
    assert min(counts.values()) >= LEAST


def test_more_than_the_checker():
    accepted = {name for name in CASES if is_valid(CASES[name].model)}
    assert accepted == set(CHECKER_ACCEPTS)


def test_as_text(tmp_path):
    source = tmp_path / "m.onnxtxt"
    source.write_text(
        '<ir_version: 10, opset_import: ["" : 21]> '
        "g (float[2,3] x) => (float[2,3] y) { y = Softmax <axis = 2> (x) }"
    )
    done = attempt(source)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == (
        f"{source}: error: node with output 'y' (Softmax-13): attribute "
        "'axis': expected an axis of input #0, -2 to 1, found 2\n"
    )


# Faults that are harmless: a model, and the first words of the warning.
HARMLESS = {}
# Faults that are too common for a warning.
QUIET = ("open_shape",)


def harmless(warning):
    def register(make_model):
        HARMLESS[make_model.__name__] = (make_model, warning)
        return make_model

    return register


NUMBERS = {"inputs": "float[2] x", "outputs": "float[2] y"}


@harmless("node 'n' (Relu): reads a value that a later node defines; ")
def unsorted_nodes():
    return make("[n] y = Relu (h) h = Exp (x)", **NUMBERS)


@harmless("node 'n' (Relux) and 1 more: is of an operator that ONNX does not "
          "know; ")  # fmt: skip
def unknown_operator():
    return make("[n] h = Relux (x) y = Relux (h)", **NUMBERS)


@harmless("node 'n' (local.h): calls a function that is not in the model, ")
def unknown_function():
    return make(
        "[n] h = local.h (x) y = local.f (h)",
        opsets='"" : 21, "local" : 1',
        functions=function("f (a) => (b) { b = Relu (a) }"),
        **NUMBERS,
    )


@harmless("node 'n' (com.microsoft.FastGelu): is of a runtime's domain that is "
          "not imported; ")  # fmt: skip
def runtime_domain():
    return make("[n] y = com.microsoft.FastGelu (x)", **NUMBERS)


@harmless("node 'n' (LayerNormalization): is of an operator that its opset does "
          "not have yet, but onnxruntime does; ")  # fmt: skip
def runtime_operator():
    return make(
        "[n] y = LayerNormalization (x, x)", opsets='"" : 13', **NUMBERS
    )


@harmless("node 'n' (GroupNormalization): is of a version of its operator that "
          "ONNX has withdrawn; ")  # fmt: skip
def withdrawn_version():
    return make(
        "[n] y = GroupNormalization <num_groups = 1> (x, s, s)",
        inputs="float[2,3] x, float[1] s",
        outputs="float[2,3] y",
        opsets='"" : 18',
    )


@harmless("graph output 'y': does not say of what type it is; ")
def open_output():
    model = make("y = Relu (x)", **NUMBERS)
    model.graph.output[0].ClearField("type")
    return model


@harmless("graph output 'y': does not say of what shape it is; ")
def open_shape():
    return make("y = Relu (x)", inputs="float[2] x", outputs="float[] y")


@harmless("value 'h': is declared with another shape than it has; ")
def stale_shape():
    model = make("[n] h = Relu (x) y = Exp (h)", **NUMBERS)
    model.graph.value_info.append(
        helper.make_tensor_value_info("h", TensorProto.FLOAT, [3])
    )
    return model


@harmless("graph input 'x': is declared with a size of -1; ")
def minus_one():
    model = make("y = Relu (x)", **NUMBERS)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    return model


@harmless("inner value 'h': has the name of a value outside of its graph; ")
def hidden_name():
    inner = branch(body="h = Relu (x) o = Relu (h)")
    return make(
        f"h = Exp (x) {branches(inner)}",
        inputs="float[2] x, bool c",
        outputs="float[2] y",
    )


@harmless("initializer 'w': is not an input, as IR versions before 4 demand; ")
def no_input_for_initializer():
    return make("y = Add (x, w)", ir=3, weights="float[2] w = {1, 2}",
                opsets='"" : 8', **NUMBERS)  # fmt: skip


@harmless("node 'n' (Softmax): attribute 'axis': does not say its type; ")
def untyped_attribute():
    model = make("[n] y = Softmax <axis = 0> (x)", **NUMBERS)
    model.graph.node[0].attribute[0].ClearField("type")
    return model


@harmless("the graph: has no name; ")
def unnamed_graph():
    model = make("y = Relu (x)", **NUMBERS)
    model.graph.name = ""
    return model


@harmless("node 'idle' (my.Op): has neither inputs nor outputs; ")
def idle_node():
    model = make("y = Relu (x)", opsets='"" : 21, "my" : 1', **NUMBERS)
    model.graph.node.add(op_type="Op", domain="my", name="idle")
    return model


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless(name, tmp_path):
    make_model, warning = HARMLESS[name]
    model = make_model()
    done = convert(model, tmp_path)
    assert done.returncode == 0
    if name in QUIET:
        assert done.stderr == ""
    else:
        assert done.stderr.startswith(f"{tmp_path}/m.onnx: warning: {warning}")
        assert len(done.stderr.splitlines()) == 1
    # A model that can be interpreted is written without a change.
    assert (tmp_path / "out.onnx").read_bytes() == model.SerializeToString()
    assert convert(model, tmp_path, "--check=lenient").stderr == done.stderr


@pytest.mark.parametrize("name", HARMLESS)
def test_strict(name, tmp_path):
    make_model, warning = HARMLESS[name]
    done = convert(make_model(), tmp_path, "--check=strict")
    assert done.returncode == 1
    what = warning.rstrip("; ").replace(" and 1 more", "")
    assert what in done.stderr
    assert done.stderr.endswith("; a lenient check accepts that\n")


def test_every_deviation_is_tested():
    """Each row of the list has a model here, under the row's name."""
    root = pathlib.Path(__file__).parents[2]
    text = (root / "lib/Target/ONNX/Validation/Deviations.h").read_text()
    names = text.split("enum class Deviation : unsigned {")[1].split("}")[0]
    rows = [name.strip() for name in names.split(",") if name.strip()]
    camel = ["".join(w.title() for w in name.split("_")) for name in HARMLESS]
    assert camel == rows[:-1] and rows[-1] == "Count"


def test_mp_run(tmp_path):
    model, source = unsorted_nodes(), tmp_path / "m.onnx"
    source.write_bytes(model.SerializeToString())

    def run(*flags):
        return attempt(
            "run", source, "--random", *flags, program=MP_RUN
        )

    assert run().returncode == 0
    assert run("--model-check=lenient").returncode == 0
    refused = run("--model-check=strict")
    assert refused.returncode == 1
    message = "error: node 'n' (Relu): reads a value that a later node defines"
    assert message in refused.stderr
    misspelt = run("--model-check=strikt")
    assert misspelt.returncode == 2 and "strict" in misspelt.stderr
    source.write_bytes(CASES["order-undefined"].model.SerializeToString())
    assert "node 'n' (Relu): input 'h' is not" in run().stderr


def test_an_empty_padding_sets_nothing(tmp_path):
    """As runtimes take it."""
    model = make(
        '[n] y = Conv <auto_pad = ""> (x, w)',
        "float[1,3,4,4] x",
        "float[1,2,2,2] y",
        "float[2,3,3,3] w = {" + ", ".join(["1"] * 54) + "}",
    )
    assert convert(model, tmp_path).returncode == 0
