# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a step trains: torch's parameters, and nothing else.

exported_models.py has the models, in the forms that exporters write, and the
parameters that torch's modules have.
"""

import functools
import json

import numpy as np
import pytest
from onnx import numpy_helper

import onnx_models
from exported_models import DYNAMO, MODELS, Maker
from onnx_models import refused, run_ort
from steps import Step, run_mp_opt, scratch_dir

each_model = pytest.mark.parametrize("name", sorted(MODELS))
GRADIENT = "_grad"
# Models with a single initializer for all equal constants.
MERGED = [n for n in sorted(MODELS) if n.endswith("_merged")]


def output_of(made):
    """The forward model's output; labels have its shape."""
    return run_ort(made.build(), made.inputs)[0]


@functools.cache
def gradients_of(name):
    """A forward model and its gradients of one batch."""
    made = MODELS[name]()
    step = Step(made.build(), "--loss=mse", "--optimizer=none")
    results = step.run({**made.inputs, "labels": output_of(made) + 1})
    found = {
        n.removesuffix(GRADIENT): v
        for n, v in results.items()
        if n.endswith(GRADIENT)
    }
    return made, step, found


def summary_of(model, *flags):
    source, made = onnx_models.save(model)
    done = run_mp_opt(
        source, "--train", "--loss=mse", "--optimizer=none", *flags,
        "-o", made, "--summary=json",
    )  # fmt: skip
    text = done.stdout or done.stderr
    text = text[text.index("{") : text.rindex("}") + 1]
    return {p["name"]: p for p in json.loads(text)["training"]["parameters"]}


def fails_with(model, *flags):
    return refused(model, "--train", "--loss=mse", *flags)


def make_net():
    """Two layers of equal zeros as biases, a table of sines, an index."""
    make = Maker(DYNAMO)
    x = make.input("x", make.normal(3, 10, 4))
    table = np.sin(np.outer(np.arange(10), [1, 0.1, 0.01, 0.001]))
    x = make.node("Add", [x, make.constant("sines", table.astype(np.float32))])
    x = make.node("Relu", [make.linear(x, "first", 4, 4)])
    make.finish(make.linear(x, "second", 4, 4))
    make.initializers["index"] = np.array([1, 2], np.int64)
    return make


def with_metadata(model, **lists):
    for key, names in lists.items():
        text = names if isinstance(names, str) else json.dumps(names)
        model.metadata_props.add(key=f"mp-opt.{key}", value=text)
    return model


# ---- The set ---------------------------------------------------------------


@each_model
def test_the_trained_set_is_torchs(name):
    made, _, found = gradients_of(name)
    assert found.keys() == made.parameters.keys()
    for parameter, value in made.parameters.items():
        assert found[parameter].shape == value.shape
        assert np.isfinite(found[parameter]).all(), parameter


def check_constants(made, step):
    """Not a bit of them moves."""
    inputs = {i.name for i in step.model.graph.input}
    stored = {i.name: i for i in step.model.graph.initializer}
    for constant, value in made.constants.items():
        assert constant not in inputs and constant + "_new" not in step.outputs
        # A constant that was folded is not in the model.
        if constant in stored:
            found = numpy_helper.to_array(stored[constant])
            assert found.tobytes() == value.tobytes(), constant


@each_model
def test_a_step_moves_parameters_alone(name):
    made, _, gradients = gradients_of(name)
    step = Step(made.build(), "--loss=mse", "--optimizer=sgd", "--lr=0.5")
    before = {n: step.state[n] for n in made.parameters}
    for parameter, value in made.parameters.items():
        np.testing.assert_array_equal(before[parameter], np.float32(value))
    step.run({**made.inputs, "labels": output_of(made) + 1})
    for parameter in made.parameters:
        # The step is half the gradient, or nothing if that is too small.
        moved = before[parameter] - 0.5 * gradients[parameter]
        np.testing.assert_allclose(
            step.state[parameter], moved, rtol=1e-5, atol=1e-7
        )
    others = {n for n in made.initializers if "running_" in n} | {"step"}
    assert step.state.keys() == made.parameters.keys() | others
    check_constants(made, step)


@each_model
def test_the_summary_says_why(name):
    made, _, _ = gradients_of(name)
    rows = summary_of(made.build())
    for parameter, value in made.parameters.items():
        row = rows[parameter]
        assert (row["state"], row["elements"]) == ("trained", value.size)
    for constant in made.constants.keys() & rows.keys():
        assert rows[constant]["state"] == "not a parameter"
        assert rows[constant]["reason"], constant


@pytest.mark.parametrize("name", MERGED)
def test_splits_have_the_gradients_of_what_was_never_merged(name):
    made, _, merged = gradients_of(name)
    apart, _, expected = gradients_of(name.removesuffix("_merged"))
    assert len(made.initializers) < len(apart.initializers)
    assert merged.keys() == expected.keys()
    for parameter, gradient in expected.items():
        np.testing.assert_array_equal(merged[parameter], gradient, parameter)


def test_what_is_shared_with_content_stays_tied():
    made, step, found = gradients_of("decoder_dynamo")
    assert "lm_head.weight" not in found
    assert found["model.embed_tokens.weight"].any(axis=-1).all()


@pytest.mark.parametrize("name", ["half_weights", "double_weights"])
def test_other_types_have_fp32_masters(name):
    made, _, gradients = gradients_of(name)
    step = Step(made.build(), "--loss=mse", "--optimizer=sgd")
    for parameter in made.parameters:
        assert gradients[parameter].dtype == np.float32
        assert step.state[parameter].dtype == np.float32


# ---- Choices of the user ---------------------------------------------------


def trained(model, *flags):
    rows = summary_of(model, *flags)
    return {n for n, row in rows.items() if row["state"] == "trained"}


ALL = {"first.weight", "first.bias", "second.weight", "second.bias"}


def write_list(*names):
    path = scratch_dir("list") / "names.txt"
    path.write_text("# of named_parameters\n" + "\n".join(names) + "\n\n")
    return path


def test_train_only():
    model = make_net().build()
    assert trained(model) == ALL
    assert trained(model, "--train-only=second.*") == {
        "second.weight",
        "second.bias",
    }
    path = write_list("first.bias", "second.bias  # a comment")
    assert trained(model, f"--train-only=@{path}") == {
        "first.bias",
        "second.bias",
    }
    # The user may know better than the dataflow.
    assert trained(model, "--train-only=sines") == {"sines"}


def test_freeze():
    model = make_net().build()
    assert trained(model, "--freeze=first.*") == {"second.weight", "second.bias"}
    path = write_list("first.weight", "index", "sines")
    rows = summary_of(model, f"--freeze=@{path}")
    assert rows["first.weight"]["state"] == "frozen"
    assert rows["sines"]["state"] == "not a parameter"


def test_metadata_decides():
    model = with_metadata(
        make_net().build(),
        parameters=["first.weight", "sines"],
        buffers=["index", "second.weight"],
    )
    assert trained(model) == {"first.weight", "sines"}
    # A flag takes its place.
    assert trained(model, "--train-only=second.bias") == {"second.bias"}


def test_tie():
    model = make_net().build()
    assert trained(model, "--tie=first.bias,second.bias") == ALL - {"second.bias"}


def test_untie():
    make = Maker(DYNAMO)
    x = make.input("x", make.normal(3, 4))
    shared = make.parameter("table", make.normal(4, 4))
    x = make.node("Relu", [make.node("MatMul", [x, shared], "first")])
    make.finish(make.node("MatMul", [x, shared], "second"))
    assert trained(make.build()) == {"table"}
    assert len(trained(make.build(), "--untie=table")) == 2


# ---- Errors ----------------------------------------------------------------

BAD = {
    "pattern of nothing": (["--train-only=third.*"], "third.*", "matches no"),
    "integers": (["--train-only=index"], "index", "expected a float"),
    "bad pattern": (["--train-only=("], "train-only", "pattern"),
    "tie sizes": (["--tie=first.bias,first.weight"], "first.weight", "first.bias"),
    "tie unknown": (["--tie=first.bias,second.bais"], "second.bais", "second.bias"),
    "untie nothing": (["--untie=third"], "third", "untie"),
    "no such file": (["--train-only=@/nowhere/list"], "/nowhere/list", "train-only"),
    "all frozen": (["--freeze=.*"], "no parameter", ""),
}


@pytest.mark.parametrize("case", BAD)
def test_flags_that_cannot_be_obeyed(case):
    flags, *expected = BAD[case]
    message = fails_with(make_net().build(), *flags)
    assert message.count("error:") == 1
    for text in expected:
        assert text in message


def test_a_list_with_a_name_that_is_not_there():
    path = write_list("first.weight", "first.bais")
    for flag in ("train-only", "freeze"):
        message = fails_with(make_net().build(), f"--{flag}=@{path}")
        assert "'first.bais'" in message and "'first.bias'" in message


def test_lists_that_contradict_each_other():
    path = write_list("first.weight")
    message = fails_with(
        make_net().build(), f"--train-only=@{path}", f"--freeze=@{path}"
    )
    assert "'first.weight' is on two lists" in message
    both = with_metadata(
        make_net().build(), parameters=["first.bias"], buffers=["first.bias"]
    )
    assert "'first.bias' is on two lists" in fails_with(both)


@pytest.mark.parametrize(
    "names, expected",
    [
        (["encoder.layer.0.weight"], "'encoder.layer.0.weight'"),
        ("first.weight", "expected a JSON array"),
        ("[1, 2]", "expected a JSON array"),
        (["index"], "expected a float"),
    ],
    ids=str,
)
def test_metadata_of_another_model(names, expected):
    model = with_metadata(make_net().build(), parameters=names)
    message = fails_with(model)
    assert expected in message and "mp-opt.parameters" in message


def test_a_model_without_parameters_lists_its_candidates():
    make = Maker()
    x = make.input("x", make.normal(3, 10, 4))
    table = np.sin(np.outer(np.arange(10), [1, 0.1, 0.01, 0.001]))
    sines = make.constant("sines", table.astype(np.float32))
    make.finish(make.node("Add", [x, sines]))
    message = fails_with(make.build())
    assert "'sines'" in message and "sines" in message
