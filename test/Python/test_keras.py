# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keras' models: its own export for inference, and mp_opt.keras for training."""

import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import mp_opt
import mp_opt.keras
import numpy
import onnx
import pytest


def make_model(*between, name="net"):
    keras.utils.set_random_seed(0)
    return keras.Sequential(
        [
            keras.Input((8,), name="x"),
            keras.layers.Dense(32, activation="relu", name="hidden"),
            *between,
            keras.layers.Dense(3, name="head"),
        ],
        name=name,
    )


@pytest.fixture(scope="module")
def data():
    x = numpy.random.default_rng(0).standard_normal((64, 8)).astype("f")
    return x, x[:, :3].argmax(1)


@pytest.mark.filterwarnings("ignore")
def test_inference(tmp_path, data):
    model = make_model()
    expected = model.predict(data[0], verbose=0)
    model.export(tmp_path / "model.onnx", format="onnx", verbose=False)
    low = mp_opt.convert(onnx.load(tmp_path / "model.onnx"), "bf16")
    types = {t.data_type for t in low.graph.initializer}
    assert onnx.TensorProto.BFLOAT16 in types
    made = numpy.asarray(mp_opt.compile(low)(data[0]), "f")
    numpy.testing.assert_allclose(made, expected, atol=0.03)
    assert (made.argmax(1) == expected.argmax(1)).mean() > 0.95


def test_steps_are_those_of_keras(data):
    """Of SGD, without what is drawn."""
    x, labels = data
    model, other = make_model(), make_model()
    other.compile(
        optimizer=keras.optimizers.SGD(0.1),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    step = mp_opt.keras.train_step(
        model, "softmax-cross-entropy", x, optimizer="sgd", lr=0.1
    )
    for _ in range(5):
        found = float(step.step(x=x, labels=labels)["loss"])
        expected = float(other.train_on_batch(x, labels))
    assert found == pytest.approx(expected, rel=0.05)
    step.update(model)
    for one, wanted in zip(model.variables, other.variables):
        numpy.testing.assert_allclose(
            keras.ops.convert_to_numpy(one), keras.ops.convert_to_numpy(wanted),
            rtol=1e-4, atol=1e-6, err_msg=one.path,
        )  # fmt: skip


def test_training_in_16_bit(data):
    x, labels = data
    model = make_model(keras.layers.Dropout(0.25))
    model.get_layer("hidden").trainable = False
    before = {v.path: keras.ops.convert_to_numpy(v).copy() for v in model.variables}
    step = mp_opt.keras.train_step(
        model, "softmax-cross-entropy", x, optimizer="adamw", lr=0.02,
        precision="bf16",
    )  # fmt: skip
    losses = [float(step.step(x=x, labels=labels)["loss"]) for _ in range(80)]
    # Dropout is in it: no two losses are alike.
    assert len(set(losses)) > 60 and losses[-1] < losses[0] / 2
    step.update(model)
    for variable in model.variables:
        same = (keras.ops.convert_to_numpy(variable) == before[variable.path]).all()
        is_fixed = "hidden" in variable.path or "seed" in variable.path
        assert same == is_fixed, variable.path
    predicted = model.predict(x, verbose=0).argmax(1)
    assert (predicted == labels).mean() > 0.8


def test_what_is_refused(data, monkeypatch):
    model = make_model(keras.layers.BatchNormalization(name="norm"))
    with pytest.raises(mp_opt.NotSupportedError, match="layers norm: the running"):
        mp_opt.keras.train_step(model, "mse", data[0])
    model = make_model(keras.layers.LayerNormalization())
    with pytest.raises(mp_opt.NotSupportedError, match="torch's exporter: Failed to export"):
        mp_opt.keras.train_step(model, "mse", data[0])
    step = mp_opt.keras.train_step(make_model(), "mse", data[0])
    with pytest.raises(mp_opt.Error, match="none of the step's parameters"):
        step.update(make_model(name="other"))
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(mp_opt.NotSupportedError, match="is jax, expected torch"):
        mp_opt.keras.export(make_model(), data[0])
