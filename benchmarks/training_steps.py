#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps per second of exported training steps, beside onnxruntime-training.

    benchmarks/training_steps.py
    benchmarks/training_steps.py --only mlp784 --rounds 20 --profile

For the models of test/models/train that have a forward graph: the step that
mp-opt makes of it, in fp32 and fp16, in stock onnxruntime, and the artifacts of
onnxruntime-training (fp32), which take turns in blocks of some steps. The
table says the median over the blocks. onnxruntime has next to no fp16 kernels
for CPUs: it runs fp16 nodes in fp32 between casts, so that fp16's row shows
what the casts cost there and nothing of what fp16 saves elsewhere.
"""

import argparse
import collections
import json
import os
import pathlib
import sys
import tempfile

import cases
import turns

MODELS = cases.MODELS / "train"
# The same as onnxruntime's AdamWOptimizer in the stored optimizer models.
OPTIMIZER = "adamw:eps=1e-6,mode=1"
RATE = 1e-3


def make_step(arguments, name, flags, folder):
    path = folder / f"{name}{''.join(flags)}.onnx"
    return cases.make_step(
        arguments.mp_opt, MODELS / name / "forward.onnx", path, *flags,
        rate=RATE, optimizer=OPTIMIZER,
    )


def workers(arguments, name, folder):
    job = {
        "threads": arguments.threads,
        "data": MODELS / name / "data.npz",
        "stacked": True,
    }
    for label, flags in (("fp32", ()), ("fp16", ("--mixed-fp16",))):
        model = make_step(arguments, name, flags, folder)
        yield turns.worker(
            f"mp-opt {label}", sys.executable, folder,
            kind="onnxruntime-step", model=model, **job,
        )
    if os.access(arguments.training_python, os.X_OK):
        yield turns.worker(
            "onnxruntime-training", arguments.training_python, folder,
            learning_rate=RATE, **cases.artifacts_job(MODELS / name), **job,
        )


def measure(arguments, name, folder):
    running = list(workers(arguments, name, folder))
    try:
        turns.take_turns(running, arguments.rounds, 0.1, arguments.limit)
    finally:
        turns.close_all(running)
    for worker in running:
        if worker.failed:
            sys.exit(f"{name}, {worker.label}: {worker.failed}")
        turns.row(
            name, worker.label, f"{1 / worker.median:.0f}",
            f"{worker.median * 1e3:.2f}",
            f"{min(worker.times) * 1e3:.2f} - {max(worker.times) * 1e3:.2f}",
            f"{worker.last['peak_bytes'] / 1e6:.0f}",
            f"{1 / worker.ratio(running[-1]):.2f}",
        )


def profile(arguments, name, folder):
    """Where the fp32 step's time goes, by operator."""
    from runtime_worker import OnnxRuntimeStep

    job = {
        "model": make_step(arguments, name, (), folder),
        "threads": arguments.threads,
        "data": MODELS / name / "data.npz",
        "stacked": True,
    }
    options = OnnxRuntimeStep.options(job)
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "profile")
    step = OnnxRuntimeStep(job)
    step.session = OnnxRuntimeStep.load(job, options)
    for _ in range(50):
        step.call()
    events = json.loads(pathlib.Path(step.session.end_profiling()).read_text())
    times, counts = collections.Counter(), collections.Counter()
    for event in events:
        if event["name"].endswith("_kernel_time"):
            times[event["args"]["op_name"]] += event["dur"] / 50
            counts[event["args"]["op_name"]] += 1 / 50
    for op, microseconds in times.most_common(18):
        print(f"{op:28} {counts[op]:6.0f} nodes {microseconds:8.0f} us")


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--mp-opt", default=cases.tool("mp-opt"))
    add("--only", default="mlp784,bert2_op17,resnet8", help="models")
    add("--rounds", type=int, default=15, help="blocks of each")
    add("--threads", type=int, default=1)
    add("--limit", type=float, default=300, help="seconds to wait for answers")
    add("--training-python", default=turns.venv_python("venv-training"))
    add("--profile", action="store_true", help="where our time goes instead")
    return parser.parse_args()


def main():
    arguments = parse()
    if not arguments.profile:
        turns.head(
            "model", "step", ">steps/s", ">ms", "range, ms", ">peak MB",
            ">x onnxruntime-training",
        )
    for name in arguments.only.split(","):
        with tempfile.TemporaryDirectory() as folder:
            run = profile if arguments.profile else measure
            run(arguments, name, pathlib.Path(folder))


if __name__ == "__main__":
    main()
