# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses, groups, clipping and averages are torch's, step by step."""

import numpy as np
import onnx
import pytest

import recipes
from onnx_models import rewritten
from recipe_table import LOSSES, RECIPES, WEIGHTS
from recipes import STEPS, Recipe, assert_close, flags_of, make_net
from recipes import references
from steps import Step, same_bits

each_recipe = pytest.mark.parametrize("name", RECIPES)


def make_step(recipe, *flags):
    return Step(
        make_net(recipe),
        *(f"--loss={loss}" for loss in recipe.losses),
        *flags,
    )


@each_recipe
def test_steps_are_those_of_torch(name):
    recipe, expected = RECIPES[name], references()[name]
    step = make_step(recipe, *flags_of(recipe))
    data = recipes.make_data(recipe)
    trained = [n for n in recipes.parameters() if n in step.state]
    assert trained
    # Weights of classes are not parameters.
    assert not [n for n in step.state if n.startswith("loss")]
    for index in range(STEPS):
        rate = np.array(recipes.RATE * recipe.schedule[index], np.float32)
        results = step.run(
            {**recipes.batch(data, index), "learning_rate": rate}
        )
        assert_close(results["loss"], expected["loss"][index], "loss")
        if len(recipe.losses) > 1:
            for part, loss in enumerate(recipe.losses):
                kind = loss.split(":")[0]
                value = expected[f"part{part}"][index]
                assert_close(results[f"loss.{kind}"], value, kind)
        for parameter in trained:
            value = expected[parameter][index]
            assert_close(step.state[parameter], value, parameter)
            updates = (index + 1) // recipe.accumulate
            if recipe.average and updates:
                number = index + 1 - recipe.accumulate
                value = expected[f"{parameter}.ema"][number]
                assert_close(step.state[f"{parameter}.ema"], value, parameter)


@pytest.mark.parametrize("name", [r.name for r in LOSSES] + ["two-losses"])
def test_gradients_are_those_of_torch(name):
    recipe, expected = RECIPES[name], references()[name]
    step = make_step(recipe, "--optimizer=none")
    results = step.run(recipes.batch(recipes.make_data(recipe), 0))
    gradients = [n for n in expected.dtype.names if n.endswith("_grad")]
    assert len(gradients) >= 4
    for gradient in gradients:
        assert_close(results[gradient], expected[gradient][0], gradient)


def test_references_tell_recipes_apart():
    """A setting that is left out makes other steps."""
    ends = {}
    for name, record in references().items():
        ends.setdefault(record["body.weight"][-1].tobytes(), []).append(name)
    assert sum(map(len, ends.values())) == len(RECIPES)
    # The same said twice.
    assert [names for names in ends.values() if len(names) > 1] == [
        ["sce-weights-ignore", "nll-weights-ignore"],
        ["sce-sum", "nll-sum"],
        ["l1", "smooth-l1-0"],
        ["bce", "bce-logits"],
    ]


@pytest.mark.parametrize(
    "flags",
    [
        ("--loss-scale=dynamic",),
        ("--mixed-fp16", "--emulate"),
        ("--loss-scale=256", "--accumulate=2"),
    ],
    ids=["fp32", "fp16", "static"],
)
def test_a_skipped_step_changes_no_bit(flags):
    recipe = RECIPES["two-losses"]
    step = make_step(
        recipe,
        "--optimizer=adamw",
        "--clip-value=0.1",
        "--group=.*bias:weight-decay=0,lr-scale=2",
        "--average=ema:decay=0.5",
        *flags,
    )
    data = recipes.make_data(recipe)
    for index in range(2):
        step.run(recipes.batch(data, index))
    before = step.trained()
    assert sum(n.endswith(".ema") for n in before) == 5
    bad = recipes.batch(data, 2)
    bad["labels_2"] = bad["labels_2"] + np.float32(np.inf)
    step.run(bad)
    after = step.trained()
    if "--accumulate=2" in flags:
        # The sums have the infinity; the update that is due is skipped.
        after = step.trained() if step.run(bad) else {}
        sums = ("accumulated", "accumulated_steps")
        before, after = (
            {n: v for n, v in s.items() if not n.endswith(sums)}
            for s in (before, after)
        )
    assert same_bits(before, after)
    good = recipes.batch(data, 3)
    step.run(good), step.run(good), step.run(good)
    moved = step.trained()
    assert all((moved[n] != before[n]).any() for n in before if ".ema" in n)


@pytest.mark.parametrize("optimizer", ["lamb", "adagrad", "nesterov"])
def test_groups_of_other_optimizers(optimizer):
    """A rate of zero keeps a parameter, and no other."""
    recipe = Recipe("", ("mse:y",), (), labels=("targets",))
    step = make_step(
        recipe,
        f"--optimizer={optimizer}",
        "--weight-decay=0.1",
        "--group=body[.].*:lr=0",
        "--group=.*weight:weight-decay=0",
    )
    start = dict(step.state)
    step.run(recipes.batch(recipes.make_data(recipe), 0))
    for name in ("body.weight", "body.bias"):
        assert step.state[name].tobytes() == start[name].tobytes()
    assert (step.state["head.weight"] != start["head.weight"]).any()


def test_class_weights_from_files(tmp_path):
    text = tmp_path / "weights, of classes.txt"
    text.write_text("0.5\n2\n\n1.25\n")
    array = tmp_path / "weights.npy"
    np.save(array, np.array(WEIGHTS))
    recipe = RECIPES["sce-weights"]
    data = recipes.batch(recipes.make_data(recipe), 0)
    expected = references()["sce-weights"]["loss"][0]
    for path in (text, array):
        loss = f"softmax-cross-entropy:y:weights=@{path},reduction=mean"
        step = Step(make_net(recipe), f"--loss={loss}")
        assert_close(step.run(data)["loss"], expected, str(path))


def test_sixteen_bits_keep_losses_in_fp32():
    """Class weights and sums of losses are no operands of 16 bit."""
    recipe = RECIPES["language-model"]
    flags = [f"--loss={loss}" for loss in recipe.losses]
    model = rewritten(make_net(recipe), "--train", "--mixed-bf16", *flags)
    graph = onnx.shape_inference.infer_shapes(model).graph
    types = {v.name: v.type.tensor_type.elem_type for v in graph.value_info}
    assert onnx.TensorProto.BFLOAT16 in types.values()
    made = {o: n for n in graph.node for o in n.output}
    loss = next(n for n in graph.node if n.op_type == "SoftmaxCrossEntropyLoss")
    assert types[loss.input[0]] == onnx.TensorProto.FLOAT
    weights = made[loss.input[2]].attribute[0].t
    assert weights.data_type == onnx.TensorProto.FLOAT
