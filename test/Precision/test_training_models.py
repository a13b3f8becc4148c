# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training models in 16 bit: gradients of a batch, and forty steps.

onnxruntime-training runs them in the emulated form: its CPU provider has no
bf16 arithmetic and computes fp16 nodes in fp32, but keeps the rounding pairs.
"""

import functools
import json

import numpy as np
import onnx
import pytest

import schema_types
from onnx_models import rewritten
from support import (
    DTYPES,
    MIN_COSINE,
    assert_informative,
    assert_no_new_nonfinite,
    convert,
    cosine,
    error_bound,
    relative_rms,
    rms,
    rounding_depth,
    staged,
    training_models,
)
from training import (
    expose,
    folder_of,
    gradient_values,
    gradients,
    load_source,
    needs_runtime,
    reference,
    relu_masks,
    with_gradient_seed,
    with_masks_as_inputs,
    with_rounded_contractions,
    work,
)

pytestmark = needs_runtime
each_model = pytest.mark.parametrize("name", training_models())
each_dtype = pytest.mark.parametrize("dtype", DTYPES)

# fp16 gradients below 2^-14 lose bits. Scaling the seed of the backward pass by
# a power of two, which is exact in every format, keeps these small nets'
# gradients above it. The test of forty steps runs without scaling.
GRADIENT_SCALE = {"bf16": 1.0, "fp16": 1024.0}
# A rewritten model may err by this much more than the minimal emulation,
# which rounds around contractions only and not between them.
MORE_THAN_EMULATION = 3
# The fp32 graph against its own reference file: another day's fp32 sums.
FP32_NOISE = 1e-5
STEPS = 40


def run(name, model, outputs, extra=()):
    return work(
        "run",
        model=expose(model, outputs),
        checkpoint=folder_of(name) / "checkpoint",
        feeds={**reference(name)["in"], **dict(extra)},
        outputs=list(outputs),
    )


@functools.lru_cache(maxsize=None)
def depth(name, dtype):
    source = staged(f"train/{name}/training_model.onnx")
    model = onnx.load(convert(source, f"--mixed-{dtype}"))
    types, _ = schema_types.infer(model)
    found = rounding_depth(model, types, dtype)
    assert found > 0, "nothing is computed in 16 bit"
    return found


@each_model
def test_reference_is_reproduced(name):
    """The worker, its feeds and the stored numbers fit together."""
    expected = reference(name)["out"]
    actual = run(name, load_source(name), list(expected))
    for value, array in expected.items():
        # Values that are zero except for rounding differ between processors.
        assert rms(actual[value] - array) <= FP32_NOISE * max(rms(array), 1e-5)


@functools.lru_cache(maxsize=None)
def gradient_runs(name, dtype):
    """Arrays of the mixed, the fp32 and the minimally emulated graph.

    A ReLU's derivative jumps at zero, so an activation that rounding moves
    across it switches a whole gradient on or off, in any correct 16-bit
    computation: the error is then of the order of sqrt(u), not u. The masks
    of the mixed run are therefore given to the other two graphs.
    """
    source = with_gradient_seed(load_source(name), GRADIENT_SCALE[dtype])
    flags = [f"--mixed-{dtype}", "--emulate", "--loss-scale=none"]
    mixed = rewritten(source, *flags)
    wanted = list(reference(name)["out"])
    masks = relu_masks(mixed)
    assert masks.keys() == relu_masks(source).keys()
    values = {v: gradient_values(mixed).get(v, v) for v in wanted}
    results = run(name, mixed, [*values.values(), *masks.values()])
    extra = {"mask:" + node: results[v] for node, v in masks.items()}
    fp32 = with_masks_as_inputs(source)
    emulated = with_rounded_contractions(fp32, dtype)
    return (
        {v: results[value] for v, value in values.items()},
        run(name, fp32, wanted, extra),
        run(name, emulated, wanted, extra),
    )


@each_model
@each_dtype
def test_loss_and_outputs(name, dtype):
    actual, _, _ = gradient_runs(name, dtype)
    bound = error_bound(depth(name, dtype), dtype)
    for value, expected in reference(name)["out"].items():
        if value.endswith("_grad"):
            continue
        assert_no_new_nonfinite(expected, actual[value])
        error = relative_rms(actual[value], expected)
        assert 0 < error <= bound, value
        if expected.size > 1:
            assert_informative(expected, actual[value])
            assert cosine(actual[value], expected) >= MIN_COSINE[dtype]


@each_model
@each_dtype
def test_gradients(name, dtype):
    """Each gradient, and all of them as one vector.

    A well-conditioned gradient keeps the bound of its path. Where it does not
    (attention's query and key, whose softmax gradient cancels; a key bias,
    whose gradient is zero but for rounding; layer normalisation, which
    subtracts projections), every 16-bit computation errs by more, and the
    error of the minimal emulation is the measure.
    """
    bound = error_bound(depth(name, dtype), dtype)
    vectors = {
        v: [run[v] for run in gradient_runs(name, dtype)]
        for v in gradients(name)
    }
    assert vectors
    vectors["all gradients"] = [
        np.concatenate([array.ravel() for array in arrays])
        for arrays in zip(*vectors.values())
    ]
    worse = {}
    for value, (actual, fp32, emulated) in vectors.items():
        assert_no_new_nonfinite(fp32, actual)
        error, measured = rms(actual - fp32), rms(emulated - fp32)
        limit = max(bound * rms(fp32), MORE_THAN_EMULATION * measured)
        if not error <= limit:
            worse[value] = (error, limit)
    assert not worse
    actual, fp32, _ = vectors["all gradients"]
    assert np.ptp(fp32) > 0
    assert relative_rms(actual, fp32) > FP32_NOISE
    assert cosine(actual, fp32) >= MIN_COSINE[dtype]


def curves(name, optimizer):
    folder = folder_of(name)
    fp32 = json.loads((folder / "curve.json").read_text())["fp32"][optimizer]
    emulated = json.loads((folder / "curve_emulated.json").read_text())
    return fp32, {dtype: emulated[dtype][optimizer] for dtype in emulated}


@functools.lru_cache(maxsize=None)
def train(name, optimizer, *flags):
    folder = folder_of(name)
    source = staged(f"train/{name}/training_model.onnx")
    return work(
        "train",
        model=convert(source, *flags) if flags else source,
        eval_model=folder / "eval_model.onnx",
        optimizer=folder / f"optimizer_{optimizer}.onnx",
        checkpoint=folder / "checkpoint",
        data=folder / "data.npz",
        learning_rate=curves(name, optimizer)[0]["lr"],
        steps=STEPS,
    )


@each_model
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
@each_dtype
def test_forty_steps(name, optimizer, dtype):
    fp32, emulated = curves(name, optimizer)
    expected = np.array(fp32["loss"])
    flags = (f"--mixed-{dtype}", "--emulate")
    losses = train(name, optimizer, *flags)["loss"]
    assert len(losses) == len(expected) == STEPS
    assert np.isfinite(losses).all()
    difference = np.abs(losses - expected)
    # fp32 repeats to 3e-7; more than that is the rounding at work.
    assert difference.max() > FP32_NOISE
    # It learns as fp32 does: one pass over the eight batches at either end.
    gain = expected[:8].mean() - expected[-8:].mean()
    assert losses[:8].mean() - losses[-8:].mean() >= 0.9 * gain - 1e-3
    if reference(name)["bnstat_after_step1"]:
        # Statistics of a batch of eight amplify rounding from step to step,
        # so only the end of the run can be compared.
        last = expected[-8:].mean()
        assert abs(losses[-8:].mean() - last) <= 0.02 * last
        return
    # Curves are compared step by step with those of rounding around
    # contractions only. AdamW's first steps follow the sign of a gradient and
    # not its size: the distance of two curves depends on chance more than on
    # the dtype.
    measured = emulated[dtype]["max_abs_diff_to_fp32"]
    if optimizer == "adamw":
        measured = max(e["max_abs_diff_to_fp32"] for e in emulated.values())
    assert difference.max() <= MORE_THAN_EMULATION * measured


@pytest.mark.parametrize(
    "name",
    [n for n in training_models() if reference(n)["bnstat_after_step1"]],
)
@each_dtype
def test_running_statistics_are_updated(name, dtype):
    """BatchNormInternal writes them into graph inputs."""
    flags = (f"--mixed-{dtype}", "--emulate")
    after = train(name, "sgd", *flags)
    bound = error_bound(depth(name, dtype), dtype)
    for value, expected in reference(name)["bnstat_after_step1"].items():
        actual = after["param:" + value]
        start = np.full_like(expected, value.endswith("running_var"))
        assert rms(actual - start) > 0
        assert rms(actual - expected) <= bound * rms(expected - start)
