# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""onnxruntime's own training graphs compute the same when decomposed."""

import numpy as np
import onnx
import pytest

from support import run_mp_opt, scratch_dir, training_models
from training import (
    expose,
    folder_of,
    gradient_values,
    gradients,
    needs_runtime,
    reference,
    work,
)

# Operators that must have been decomposed in these models.
GONE = {
    "BatchNormInternal",
    "BatchNormalizationGrad",
    "ConvGrad",
    "DropoutGrad",
    "LayerNormalizationGrad",
    "SoftmaxCrossEntropyLossGrad",
}


@needs_runtime
@pytest.mark.parametrize("name", training_models())
def test_gradients(name):
    source = folder_of(name) / "training_model.onnx"
    path = scratch_dir("decomposed") / "m.onnx"
    run_mp_opt(source, "--onnx-decompose-gradients", "-o", path)
    model = onnx.load(path)
    before = {n.op_type for n in onnx.load(source).graph.node}
    assert not GONE & {n.op_type for n in model.graph.node}
    values = gradient_values(model)
    wanted = [values[name] for name in gradients(name)]
    loss = model.graph.output[0].name
    found = work(
        "run",
        model=expose(model, wanted),
        checkpoint=folder_of(name) / "checkpoint",
        feeds=reference(name)["in"],
        outputs=[loss, *wanted],
    )
    expected = reference(name)["out"]
    # The same sums in another order.
    np.testing.assert_allclose(found[loss], expected[loss], rtol=1e-5)
    for key in gradients(name):
        largest = np.abs(expected[key]).max()
        error = np.abs(found[values[key]] - expected[key]).max()
        assert error <= 1e-4 * max(largest, 1e-3), key
    assert before & GONE or name in ("mlp_mse",)
