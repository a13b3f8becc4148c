# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outputs of the forward models in 16 bit against fp32 reference outputs.

The ONNX reference evaluator computes every node in the type the model says,
so it runs the mixed models as they are. onnxruntime's CPU provider has no
bf16 arithmetic, and runs fp16 nodes it has no kernel for in fp32; so bf16
runs there in the emulated form (fp32 nodes, explicit rounding pairs, which
onnxruntime keeps) and fp16 in both forms.
"""

import functools

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import onnx_models
import schema_types
from support import (
    DTYPES,
    MIN_COSINE,
    MODELS,
    assert_informative,
    assert_no_new_nonfinite,
    convert,
    cosine,
    error_bound,
    forward_models,
    relative_rms,
    rounding_depth,
    staged,
)

# (engine, emulated form?); see above for those that are left out.
RUNS = {
    "bf16": [("reference", False), ("reference", True), ("ort", True)],
    "fp16": [
        ("reference", False),
        ("reference", True),
        ("ort", False),
        ("ort", True),
    ],
}


def run_reference(path, feeds):
    session = ReferenceEvaluator(str(path))
    return dict(zip(session.output_names, session.run(None, feeds)))


def run_ort(path, feeds):
    # onnxruntime's fusion of a decomposed LayerNormalization takes the cast
    # before it for its own and makes a node of two types (bf16 and fp32).
    found = onnx_models.run_ort(path, feeds, optimize=False)
    graph = onnx.load(path, load_external_data=False).graph
    names = [value.name for value in graph.output]
    return dict(zip(names, found, strict=True))


ENGINES = {"reference": run_reference, "ort": run_ort}


@functools.lru_cache(maxsize=None)
def samples(name):
    """[(inputs, expected outputs)] of a forward model."""
    found = []
    for path in sorted((MODELS / "fwd" / name).glob("io*.npz")):
        arrays = np.load(path)
        found.append(
            tuple(
                {
                    key[len(side) :]: arrays[key]
                    for key in arrays.files
                    if key.startswith(side)
                }
                for side in ("in:", "out:")
            )
        )
    return found


@functools.lru_cache(maxsize=None)
def fp32_outputs(name, engine):
    source = staged(f"fwd/{name}/model.onnx")
    return [ENGINES[engine](source, feeds) for feeds, _ in samples(name)]


@functools.lru_cache(maxsize=None)
def bound(name, dtype):
    mixed = convert(staged(f"fwd/{name}/model.onnx"), f"--mixed-{dtype}")
    model = onnx.load(mixed, load_external_data=False)
    types, _ = schema_types.infer(model)
    depth = rounding_depth(model, types, dtype)
    assert depth > 0, "nothing is computed in 16 bit"
    return error_bound(depth, dtype)


@pytest.mark.parametrize("name", forward_models())
@pytest.mark.parametrize(
    "dtype,engine,emulated", [(d, e, m) for d in DTYPES for e, m in RUNS[d]]
)
def test_outputs(name, dtype, engine, emulated):
    flags = [f"--mixed-{dtype}"] + ["--emulate"] * emulated
    path = convert(staged(f"fwd/{name}/model.onnx"), *flags)
    assert samples(name)
    for index, (feeds, expected) in enumerate(samples(name)):
        actual = ENGINES[engine](path, feeds)
        fp32 = fp32_outputs(name, engine)[index]
        for output, reference in expected.items():
            result = actual[output]
            assert result.dtype == reference.dtype
            assert_informative(reference, result)
            assert_no_new_nonfinite(reference, result)
            error = relative_rms(result, reference)
            assert error <= bound(name, dtype)
            assert cosine(result, reference) >= MIN_COSINE[dtype]
            # The fp32 model's own error is this engine's noise; a 16-bit
            # model that is not well above it is not a 16-bit model.
            assert error >= 4 * relative_rms(fp32[output], reference)


@pytest.mark.parametrize("name", forward_models())
@pytest.mark.parametrize("dtype", DTYPES)
def test_emulation_has_only_fp32_arithmetic(name, dtype):
    """A 16-bit value comes from a Cast and goes into Casts, nowhere else."""
    source = staged(f"fwd/{name}/model.onnx")
    path = convert(source, f"--mixed-{dtype}", "--emulate")
    model = onnx.load(path)
    types, problems = schema_types.infer(model)
    assert not problems
    low = (onnx.TensorProto.BFLOAT16, onnx.TensorProto.FLOAT16)
    casts = 0
    for node in model.graph.node:
        if any(types.get(v) in low for v in [*node.input, *node.output]):
            assert node.op_type == "Cast", node.name
            casts += 1
    assert casts > 0


@pytest.mark.parametrize("name", ["resnet18_w8_op17", "vit_test_op20"])
def test_bound_refuses_bf16_in_place_of_fp16(name):
    """A wrong rounding, planted: the fp16 bound must not let it through."""
    source = staged(f"fwd/{name}/model.onnx")
    path = convert(source, "--mixed-bf16", "--emulate")
    feeds, expected = samples(name)[0]
    for output, reference in expected.items():
        actual = run_ort(path, feeds)[output]
        assert relative_rms(actual, reference) > bound(name, "fp16")
