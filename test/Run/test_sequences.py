# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists that loops append to, as torch's scripts write them."""

import numpy as np
import pytest
from runs import attempt, run_mp_opt, scratch_dir

F = np.float32
HEAD = """<ir_version: 8, opset_import: ["" : 17]>
g (float[b, 3] x, int64 n) => ({outputs})
<float[3, 3] w = {{0.5, -0.1, 0.2, 0.3, -0.6, 0.2, -0.3, 0.4, 0.4}},
 bool yes = {{1}}, int64 last = {{-1}}, float three = {{3}}, int64 eight = {{8}}>
{{
    none = SequenceEmpty <dtype = 1> ()
    one = SequenceConstruct (x)
    s, all = Loop ({count}, yes, x, {start}) <body = step
        (int64 i, bool c, float[b, 3] h, seq(float[b, 3]) list)
        => (bool goes, float[b, 3] t, seq(float[b, 3]) more)
    {{
        m = MatMul (h, w)
        t = Tanh (m)
        {append}
        {condition}
    }}>
    {read}
}}"""
ONE = "more = SequenceInsert (list, t)"
TWO = "p = SequenceInsert (list, t)\nmore = SequenceInsert (p, m)"
EITHER = """sum = ReduceSum <keepdims = 0> (t)
    up = Greater (sum, three)
    more = If (up) <
        then_branch = a () => (seq(float[b, 3]) u) {
            u = SequenceInsert (list, t)
        },
        else_branch = o () => (seq(float[b, 3]) v) {
            f = Neg (t)
            v = SequenceInsert (list, f)
        }>"""
ALWAYS = "goes = Identity (c)"
LENGTH = "size = SequenceLength (more)\ngoes = Less (size, eight)"
BELOW = "sum1 = ReduceSum <keepdims = 0> (t)\ngoes = Less (sum1, three)"
STACK = "y = ConcatFromSequence <axis = {}, new_axis = 1> (all)"
JOIN = "y = ConcatFromSequence <axis = {}> (all)"
ENDS = """z = SequenceAt (all, last)
    k = SequenceLength (all)
    y = Cast <to = 1> (k)"""
CASES = {
    "stack": ("none", ONE, ALWAYS, STACK.format(0)),
    "stack inside": ("one", ONE, LENGTH, STACK.format(1)),
    "stack behind": ("none", ONE, BELOW, STACK.format(-1)),
    "join": ("none", ONE, ALWAYS, JOIN.format(0)),
    "join along rows": ("one", TWO, LENGTH, JOIN.format(1)),
    "two of an iteration": ("none", TWO, ALWAYS, STACK.format(0)),
    "branches": ("one", EITHER, ALWAYS, STACK.format(0)),
    "ends": ("one", TWO, BELOW, ENDS),
    "many": ("none", ONE, ALWAYS, STACK.format(0) + "\n" + ENDS[:26]),
}


def write(folder, name, count="n"):
    start, append, condition, read = CASES[name]
    outputs = "float[d0, d1, d2] y" if "new_axis" in read else "float[d0, d1] y"
    outputs = "float y, float[b, 3] z" if read == ENDS else outputs
    outputs += ", float[b, 3] z" if name == "many" else ""
    text = HEAD.format(
        outputs=outputs, start=start, append=append, condition=condition,
        read=read, count=count,
    )  # fmt: skip
    path = folder / "model.onnxtxt"
    path.write_text(text)
    model = folder / "model.onnx"
    run_mp_opt(path, "-o", model)
    return model


@pytest.mark.parametrize("name", CASES)
def test_sequences_of_any_length(name):
    onnxruntime = pytest.importorskip("onnxruntime")
    folder = scratch_dir()
    model = write(folder, name)
    session = onnxruntime.InferenceSession(str(model))
    for count, rows in (1, 2), (3, 2), (20, 5), (0, 2):
        x = np.random.default_rng(count).standard_normal((rows, 3)).astype(F)
        feeds = {"x": x, "n": np.array(count)}
        np.savez(folder / "in.npz", **feeds)
        # A kept code serves each number of iterations.
        done = attempt("run", model, folder / "in.npz", "-o", folder / "r.npz")
        start = CASES[name][0]
        if count == 0 and start == "none":
            # Runtimes refuse to join nothing; a stack of nothing is empty.
            assert name == "many" or done.returncode == 0, done.stderr
            if name != "many":
                assert np.load(folder / "r.npz")["y"].size == 0
            continue
        assert done.returncode == 0, done.stderr
        found = np.load(folder / "r.npz")
        expected = session.run(None, feeds)
        for output, value in zip(session.get_outputs(), expected):
            assert found[output.name].shape == value.shape
            np.testing.assert_allclose(
                found[output.name], value, rtol=1e-5, atol=1e-6
            )


def test_step_with_a_sequence():
    """Such a loop trains: the step is one that other runtimes take."""
    onnxruntime = pytest.importorskip("onnxruntime")
    folder = scratch_dir()
    model, step = write(folder, "stack inside"), folder / "step.onnx"
    run_mp_opt(model, "--train", "--loss=mse", "--optimizer=none", "-o", step)
    session = onnxruntime.InferenceSession(str(step))
    rng = np.random.default_rng(0)
    feeds = {"x": rng.standard_normal((2, 3)).astype(F), "n": np.array(4)}
    for i in session.get_inputs():
        if i.name not in feeds:
            feeds[i.name] = rng.standard_normal((2, 5, 3)).astype(F)
    np.savez(folder / "in.npz", **feeds)
    done = attempt("run", step, folder / "in.npz", "-o", folder / "r.npz")
    assert done.returncode == 0, done.stderr
    found = np.load(folder / "r.npz")
    expected = session.run(None, feeds)
    for output, value in zip(session.get_outputs(), expected):
        np.testing.assert_allclose(
            found[output.name], value, rtol=1e-4, atol=1e-5
        )
    assert np.abs(found["w_grad"]).max() > 0
