# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the models of a zoo in fp32: results by onnxruntime's, and times."""

import json
import pathlib
import subprocess
import tempfile

import numpy as np

# Sums in another order, in graphs of some hundred nodes.
TOLERANCE = 1e-3
SECONDS = 600


class Failure(Exception):
    """A command that ends with an error."""


def run(command):
    command = list(map(str, command))
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"over {SECONDS} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        errors = [line for line in lines if "error:" in line]
        text = (errors or lines)[0]
        raise Failure(f"exit code {done.returncode}: {text[:400]}")
    return done.stdout


def onnxruntime_results(model, feeds):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    )
    session = onnxruntime.InferenceSession(
        str(model), options, providers=["CPUExecutionProvider"]
    )
    asked = {i.name for i in session.get_inputs()}
    names = [o.name for o in session.get_outputs()]
    fed = {n: v for n, v in feeds.items() if n in asked}
    return dict(zip(names, session.run(None, fed)))


def relative_error(found, expected):
    size = np.sqrt(np.mean(np.square(expected, dtype=np.float64)))
    error = np.sqrt(np.mean(np.square(found.astype(np.float64) - expected)))
    return float(error / max(size, 1e-30)) if error else 0.0


def difference(found, expected):
    """The largest relative RMS of an output. Gradients are taken together: some
    consist of rounding errors only, such as those of biases of keys."""
    grads = [n for n in expected if n.endswith("_grad")]
    if grads:
        return relative_error(
            *(np.concatenate([values[n].ravel() for n in grads])
              for values in (found, expected))
        )  # fmt: skip
    errors = [relative_error(found[n], expected[n]) for n in expected]
    # NaN is the greatest.
    return max(errors, key=lambda e: (e != e, e), default=0.0)


def measure(mp_run, model, data, scratch):
    """Seconds of a call, and the difference to onnxruntime."""
    outputs = scratch / "outputs.npz"
    run([mp_run, "run", model, data, "-o", outputs, "--threads=1"])
    text = run([mp_run, "bench", model, data, "--threads=1", "--repeat=3",
                "--warmup=1", "--json"])  # fmt: skip
    feeds = dict(np.load(data))
    expected = onnxruntime_results(model, feeds)
    found = np.load(outputs)
    named = {n: found[n if n in found.files else f"out:{n}"] for n in expected}
    return {
        "seconds": json.loads(text)["median"],
        "error": difference(named, expected),
    }


def check_part(mp_opt, mp_run, folder, part, is_training, scratch):
    model = folder / part["model"]
    if is_training:
        step = scratch / "step.onnx"
        run([mp_opt, model, "--train", f"--loss={part['loss']}",
             "--optimizer=none", "--summary=none", "-o", step])  # fmt: skip
        model = step
    return measure(mp_run, model, folder / part["data"][0], scratch)


def check_entry(mp_opt, mp_run, folder, entry):
    """Result or message for outputs and for gradients."""
    found = {}
    for kind in ("outputs", "gradients"):
        if kind not in entry:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            try:
                found[kind] = check_part(
                    mp_opt, mp_run, folder, entry[kind], kind == "gradients",
                    pathlib.Path(scratch),
                )
            except Exception as error:
                text = str(error).strip().split("\n")[0]
                found[kind] = {"failed": f"{type(error).__name__}: {text}"}
    return found


def describe(result):
    if "failed" in result:
        return result["failed"]
    wrong = "" if result["error"] <= TOLERANCE else "  DIFFERS"
    return f"{result['seconds'] * 1e3:8.2f} ms, {result['error']:.0e}{wrong}"
