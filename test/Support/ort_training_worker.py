# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs training models in onnxruntime-training, in a process of its own.

It lives as long as there is something on its standard input, since starting it
costs more than most jobs.

onnxruntime-training and onnxruntime share one module name, so this file runs
under the Python of another environment and imports nothing of the tests.
onnxruntime.training would import torch; the native classes below it do not.

Usage: python ort_training_worker.py < JOBS
A line of JOBS names a file, and is answered by a line: "done", or "failed" with
the reason on standard error. A job is an object; "kind" is one of
  run    one inference of a training graph: model, checkpoint, feeds (npz),
         outputs (names), result (npz to write)
  nodes  models without a checkpoint: cases, a list of objects with a name, a
         model and feeds (npz); results are <name>:<output>, and <name>:error
         where onnxruntime has no kernel
  train  a training loop: model, eval_model, optimizer, checkpoint, data (npz,
         one batch per leading index), learning_rate, steps, result (npz:
         loss, every parameter after step 1 as param:<name>, and at the end as
         end:<name>). Optional: states (npz), inputs that become what the
         output <name>_new says, as state:<name>, one row a step; window, steps
         of one update; bad, numbers of steps whose first input is infinite
"""

import json
import os
import sys
import traceback

import numpy as np
import onnxruntime
from onnxruntime.capi import _pybind_state as native

SEED = 7  # the seed of the reference curves of the dropout models
BUFFER = "_grad.accumulation.buffer"


def session_options():
    """One thread: with more, sums change their order from run to run."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return options


def parameter(state, name):
    return np.array(state.get_parameter(name).data.numpy())


def run(job):
    onnxruntime.set_seed(SEED)
    state = native.load_checkpoint(job["checkpoint"])
    session = onnxruntime.InferenceSession(
        job["model"], session_options(), providers=["CPUExecutionProvider"]
    )
    given = np.load(job["feeds"])
    feeds = {}
    for value in session.get_inputs():
        if value.name in given.files:
            feeds[value.name] = given[value.name]
        elif value.name == "lazy_reset_grad":
            feeds[value.name] = np.array([True])
        elif value.name.endswith(BUFFER):
            feeds[value.name] = np.zeros(value.shape, np.float32)
        else:
            feeds[value.name] = parameter(state, value.name)
    results = session.run(job["outputs"], feeds)
    return dict(zip(job["outputs"], results))


def nodes(job):
    results = {}
    for case in job["cases"]:
        feeds = dict(np.load(case["feeds"]))
        try:
            session = onnxruntime.InferenceSession(
                case["model"],
                session_options(),
                providers=["CPUExecutionProvider"],
            )
            values = session.run(None, feeds)
        except Exception as error:
            results[case["name"] + ":error"] = np.array(str(error))
            continue
        for output, value in zip(session.get_outputs(), values):
            results[f"{case['name']}:{output.name}"] = value
    return results


def train(job):
    onnxruntime.set_seed(SEED)
    state = native.load_checkpoint(job["checkpoint"])
    device = native.OrtDevice(
        native.OrtDevice.cpu(), native.OrtDevice.default_memory(), 0
    )
    options = session_options()
    module = native.Module(
        job["model"], state, job["eval_model"], device, options
    )
    optimizer = native.Optimizer(job["optimizer"], state, device, options)
    optimizer.set_learning_rate(job["learning_rate"])
    data = np.load(job["data"])
    states = dict(np.load(job["states"])) if "states" in job else {}
    seen = {name: [] for name in states}
    losses, results = [], {}
    inputs = [n for n in module.input_names(True) if n not in states]
    for step in range(job["steps"]):
        # The loss names its own input, "labels" or "target", after all others.
        names = [*inputs[:-1], "labels"]
        batch = [data[name][step % len(data[name])] for name in names]
        if step in job.get("bad", []):
            batch[0] = np.full_like(batch[0], np.inf)
        outputs = native.OrtValueVector()
        module.train_step([*batch, *states.values()], outputs)
        losses.append(float(outputs[0].numpy()))
        found = dict(zip(module.output_names(True), outputs))
        for name in states:
            states[name] = np.array(found[name + "_new"].numpy())
            seen[name].append(states[name])
        if (step + 1) % job.get("window", 1) == 0:
            optimizer.optimizer_step()
            module.lazy_reset_grad()
        if step == 0:
            for name in state.parameter_names():
                results["param:" + name] = parameter(state, name)
    for name in state.parameter_names():
        results["end:" + name] = parameter(state, name)
    for name, values in seen.items():
        results["state:" + name] = np.array(values)
    results["loss"] = np.array(losses)
    return results


def do(path):
    with open(path, encoding="utf-8") as file:
        job = json.load(file)
    results = {"nodes": nodes, "run": run, "train": train}[job["kind"]](job)
    np.savez(job["result"], **results)


def main():
    onnxruntime.set_default_logger_severity(3)
    # Output of libraries goes to stderr, apart from the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            do(line.rstrip("\n"))
            answer = "done"
        except Exception:
            traceback.print_exc()
            sys.stderr.flush()
            answer = "failed"
        print(answer, file=answers, flush=True)


if __name__ == "__main__":
    main()
