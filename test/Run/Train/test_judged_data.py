# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data that a step cannot be trained on are an error before the first step,
which names the element; and data that only look so are not."""

import numpy as np
import pytest

from runs import BAD_INPUT, fail, mp_run, write_model
from support import run_mp_opt

CLASSIFIER = """
f (float[n,4] x) => (float[n,3] y)
<float[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}>
{ y = MatMul(x, w) }
"""
EMBEDDING = """
f (int64[n,2] ids) => (float[n,6] y)
<float[5,3] table = {0.1,-0.2,0.3,0.4,0.15,0.6,0.7,0.83,-0.9,1,0.11,1.2,0.13,0.4,0.5}, int64[2] shape = {0, 6}>
{ rows = Gather(table, ids) y = Reshape(rows, shape) }
"""
MASKED = """
f (float[n,4] x, float[n,4] mask) => (float[n,4] y)
<float[4] w = {1, 2, 3, 4}>
{ s = Mul(x, w) m = Add(s, mask) y = Softmax(m) }
"""
ROWS = 6


def make_step(folder, text, loss, *flags):
    step = folder / "step.onnx"
    model = write_model(folder, text)
    run_mp_opt(
        *(model, "--train", f"--loss={loss}", "--optimizer=sgd", "--lr=1e-3"),
        *("--summary=none", *flags, "-o", step),
    )
    return step


def save(folder, name="data.npz", **arrays):
    np.savez(folder / name, **arrays)
    return folder / name


def train(folder, step, *flags, **arrays):
    data = save(folder, **arrays)
    return ["train", step, f"--data={data}", "--batch=2", "--steps=1",
            f"--log={folder / 'log'}", *flags]  # fmt: skip


def refuse(folder, step, *flags, **arrays):
    """The one line that says why."""
    (folder / "log").unlink(missing_ok=True)
    message = fail(BAD_INPUT, *train(folder, step, "--quiet", *flags, **arrays))
    assert message.startswith("mp-run train: error: ")
    assert message.count("\n") == 1
    assert not (folder / "log").exists()
    return message


def rows(*sizes):
    return np.random.default_rng(0).normal(size=(ROWS, *sizes)).astype(np.float32)


def classes(**changed):
    labels = np.arange(ROWS, dtype=np.int64) % 3
    for row, label in changed.items():
        labels[int(row.removeprefix("row"))] = label
    return labels


# -----------------------------------------------------------------------------
# Labels and indices
# -----------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [(), ("--mixed-bf16",)], ids=str)
@pytest.mark.parametrize("label", [3, -1, -100])
def test_labels_that_are_no_classes(tmp_path, label, flags):
    step = make_step(tmp_path, CLASSIFIER, "softmax-cross-entropy", *flags)
    labels = classes(row4=label)
    message = refuse(tmp_path, step, x=rows(4), labels=labels)
    assert "'labels' has 1 label outside of the classes 0 to 2" in message
    assert f"(SoftmaxCrossEntropyLoss-13): {label} in row 4" in message
    assert ("ignore-index" in message) == (label < 0)
    mp_run(*train(tmp_path, step, x=rows(4), labels=classes()))


def test_labels_of_other_types_and_axes(tmp_path):
    """[rows, positions], as narrow integers: the place has both."""
    text = """
f (float[n,3,2] x) => (float[n,3,2] y) <float[3,2] w = {0.1,0.2,-0.3,0.4,0.7,-0.6}>
{ y = Mul(x, w) }
"""
    step = make_step(tmp_path, text, "softmax-cross-entropy")
    labels = np.zeros((ROWS, 2), np.uint8)
    labels[3:, 1] = 7
    message = refuse(tmp_path, step, x=rows(3, 2), labels=labels)
    assert "3 labels" in message
    assert "the first is 7 in row 3, column 1" in message
    # The same in batches.
    batches = {"x": rows(3, 2).reshape(3, 2, 3, 2), "labels": labels.reshape(3, 2, 2)}
    data = save(tmp_path, **batches)
    message = fail(BAD_INPUT, "train", step, f"--data={data}", "--quiet")
    assert "the first is 7 in batch 1, row 1, column 1" in message


def test_ignored_labels(tmp_path):
    loss = "softmax-cross-entropy:ignore-index=-100"
    step = make_step(tmp_path, CLASSIFIER, loss)
    mp_run(*train(tmp_path, step, x=rows(4), labels=classes(row4=-100)))
    message = refuse(tmp_path, step, x=rows(4), labels=classes(row4=-99))
    assert "nor -100, which is ignored: -99 in row 4" in message


def test_indices_outside_of_a_table(tmp_path):
    step = make_step(tmp_path, EMBEDDING, "mse")
    ids = np.zeros((ROWS, 2), np.int64)
    ids[0, 0] = -5
    mp_run(*train(tmp_path, step, ids=ids, labels=rows(6)))
    ids[2, 1] = 5
    message = refuse(tmp_path, step, ids=ids, labels=rows(6))
    assert "'ids' has 1 index that is not in [-5, 4]" in message
    assert "(Gather-" in message and "5 in row 2, column 1" in message


# -----------------------------------------------------------------------------
# Floats
# -----------------------------------------------------------------------------


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_elements_that_are_not_finite(tmp_path, value):
    step = make_step(tmp_path, CLASSIFIER, "mse")
    x = rows(4)
    x[5, 2] = value
    name = {"nan": "NaN", "inf": "infinity", "-inf": "-infinity"}[str(value)]
    message = refuse(tmp_path, step, x=x, labels=rows(3))
    assert f"{tmp_path / 'data.npz'}: 'x' has 1 element" in message
    assert f"not finite: {name} in row 5, column 2" in message
    # All inputs in one message.
    message = refuse(tmp_path, step, x=x, labels=np.full((ROWS, 3), value, np.float32))
    assert "'x' has 1 element" in message
    assert "'labels' has 18 elements that are not finite" in message


@pytest.mark.parametrize("loss", ["bce", "bce-with-logits", "bce:pos-weight=3"])
@pytest.mark.parametrize("value", [1.5, -0.1, np.nan])
def test_targets_that_are_no_probabilities(tmp_path, loss, value):
    step = make_step(tmp_path, CLASSIFIER, loss, "--mixed-bf16")
    targets = np.linspace(0, 1, 3 * ROWS, dtype=np.float32).reshape(ROWS, 3)
    targets[0, 0] = -0.0
    mp_run(*train(tmp_path, step, x=rows(4), labels=targets))
    targets[1, 2] = value
    message = refuse(tmp_path, step, x=rows(4), labels=targets)
    assert "'labels' has 1 target that is not in [0, 1]: " in message
    assert "in row 1, column 2" in message
    # The inputs may be any numbers.
    step = make_step(tmp_path, CLASSIFIER, "mse")
    targets[1, 2] = 1.5
    mp_run(*train(tmp_path, step, x=rows(4), labels=targets))


def test_masks_are_infinite(tmp_path):
    step = make_step(tmp_path, MASKED, "mse")
    mask = np.zeros((ROWS, 4), np.float32)
    mask[:, 3] = -np.inf
    mp_run(*train(tmp_path, step, x=rows(4), mask=mask, labels=rows(4)))
    message = refuse(tmp_path, step, x=rows(4), mask=mask * np.nan, labels=rows(4))
    assert "'mask' has 24 elements" in message


def test_a_model_that_asks_for_nan(tmp_path):
    text = CLASSIFIER.replace(
        "{ y", "{ b = IsNaN(x) z = Sub(w, w) s = ReduceSum<keepdims=0>(z)"
        " k = Where(b, s, x) y"
    ).replace("MatMul(x,", "MatMul(k,")
    step = make_step(tmp_path, text, "mse")
    x = rows(4)
    x[1, 1] = np.nan
    mp_run(*train(tmp_path, step, x=x, labels=rows(3)))
    x[1, 1] = np.inf
    assert "infinity in row 1, column 1" in refuse(tmp_path, step, x=x, labels=rows(3))


def test_validation_is_judged_too(tmp_path):
    step = make_step(tmp_path, CLASSIFIER, "softmax-cross-entropy")
    other = save(tmp_path, "other.npz", x=rows(4), labels=classes(row0=9))
    flags = (f"--validation={other}",)
    message = refuse(tmp_path, step, *flags, x=rows(4), labels=classes())
    assert f"{other}: 'labels' has 1 label" in message
