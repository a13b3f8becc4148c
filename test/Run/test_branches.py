# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Branches and loops that yield one value in several places."""

import numpy as np
import onnx
import pytest
import sweeps
from branch_models import Maker, make_feeds
from runs import attempt, scratch_dir

SEEDS = sweeps.count("Run/test_branches.py")
# In a sample, too: one value twice, equal constants, an output that is yielded.
KNOWN = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x, bool c) => (float[2] u, float[2] y, float[2] z, float[2] w)
{
    u = Exp (x)
    y, z, w = If (c) <
        then_branch = t () => (float[2] a, float[2] b, float[2] d) {
            a = Tanh (x)
            b = Sigmoid (x)
            d = Identity (u)
        },
        else_branch = e () => (float[2] p, float[2] q, float[2] r) {
            p = Constant <value = float[2] {0, 0}> ()
            q = Constant <value = float[2] {0, 0}> ()
            r = Identity (p)
        }>
}"""


@pytest.mark.parametrize("c", [True, False])
def test_one_value_twice(c):
    folder = scratch_dir()
    (folder / "model.onnxtxt").write_text(KNOWN)
    x = np.array([0.5, -2], np.float32)
    np.savez(folder / "in.npz", x=x, c=np.array(c))
    done = attempt(
        "run", folder / "model.onnxtxt", folder / "in.npz", "-o",
        folder / "out.npz",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = np.load(folder / "out.npz")
    zero = np.zeros(2)
    u = np.exp(x)
    expected = (np.tanh(x), 1 / (1 + np.exp(-x)), u) if c else (zero, zero, zero)
    for name, value in zip("uyzw", (u, *expected)):
        np.testing.assert_allclose(found[name], value, rtol=1e-6, atol=1e-7)


# Outputs that share a buffer through branches share it with no other output.
OTHERS = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x, float[1, 2] z, bool c)
    => (float sum, float total, float y, float[2] u, float[2] w)
{
    total = ReduceSum <keepdims = 0> (x)
    mean = ReduceMean <keepdims = 0> (z)
    u = Exp (x)
    y, w = If (c) <
        then_branch = t () => (float a, float[2] b) {
            a = Identity (mean)
            b = Identity (u)
        },
        else_branch = e () => (float p, float[2] q) {
            p = Identity (total)
            q = Scan <num_scan_inputs = 1, body = step
                (float[2] s, float[2] row) => (float[2] next) {
                next = Neg (x)
            }> (u, z)
        }>
    all = Exp (z)
    sum = ReduceSum <keepdims = 0> (all)
}"""


@pytest.mark.parametrize("c", [True, False])
def test_outputs_beside_shared_ones(c):
    folder = scratch_dir()
    (folder / "model.onnxtxt").write_text(OTHERS)
    x, z = np.float32([0.5, -2]), np.float32([[0.25, 1]])
    np.savez(folder / "in.npz", x=x, z=z, c=np.array(c))
    done = attempt(
        "run", folder / "model.onnxtxt", folder / "in.npz", "-o",
        folder / "out.npz",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = np.load(folder / "out.npz")
    u = np.exp(x)
    expected = {"sum": np.exp(z).sum(), "total": x.sum(), "u": u}
    expected["y"] = z.mean() if c else x.sum()
    expected["w"] = u if c else -x
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-6)


def test_random_models():
    onnxruntime = pytest.importorskip("onnxruntime")
    folder, wrong = scratch_dir(), []
    for seed in range(SEEDS):
        model, feeds = Maker(seed, seed % 2 == 0).make(), make_feeds(seed)
        onnx.save(model, folder / "model.onnx")
        np.savez(folder / "in.npz", **feeds)
        done = attempt(
            "run", folder / "model.onnx", folder / "in.npz", "--cache=off",
            "-o", folder / "out.npz",
        )  # fmt: skip
        if done.returncode != 0:
            wrong.append(f"{seed}: {done.stderr[-300:]}")
            continue
        plain = Maker(seed, False).make().SerializeToString()
        expected = onnxruntime.InferenceSession(plain).run(None, feeds)
        found = np.load(folder / "out.npz")
        for output, value in zip(model.graph.output, expected):
            if not np.allclose(found[output.name], value, 1e-4, 1e-4):
                wrong.append(f"{seed}: {output.name} differs")
    assert not wrong, "\n".join(wrong)
