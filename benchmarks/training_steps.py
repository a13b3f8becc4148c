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
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
MODELS = ROOT / "test" / "models" / "train"
TRAINING_PYTHON = "~/.cache/mp-opt/venv-training/bin/python"
# As onnxruntime's AdamWOptimizer in the stored optimizer models.
OPTIMIZER = "adamw:eps=1e-6,mode=1"
RATE = 1e-3


def make_step(arguments, name, flags, folder):
    path = folder / f"{name}{''.join(flags)}.onnx"
    loss = "mse" if name == "mlp_mse" else "softmax-cross-entropy"
    command = [
        arguments.mp_opt, MODELS / name / "forward.onnx", "--train",
        f"--loss={loss}", f"--optimizer={OPTIMIZER}", f"--lr={RATE}",
        "--weight-decay=0.01", *flags, "-o", path, "--summary=none",
    ]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return path


class Worker:
    """A process that runs steps when asked to."""

    def __init__(self, python, folder, label, **job):
        path = folder / f"{label.replace(' ', '_')}.json"
        path.write_text(json.dumps(job, default=str))
        self.label, self.seconds, self.last = label, [], {}
        self.process = subprocess.Popen(
            [python, HERE / "training_step_worker.py", path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.label} ended early")
        self.last = json.loads(line)
        return self.last["seconds"] / steps

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def workers(arguments, name, folder):
    job = {"threads": arguments.threads, "data": MODELS / name / "data.npz"}
    for label, flags in (("fp32", ()), ("fp16", ("--mixed-fp16",))):
        model = make_step(arguments, name, flags, folder)
        yield Worker(
            sys.executable, folder, f"mp-opt {label}", kind="ours",
            model=model, loss="loss", **job,
        )
    if os.access(arguments.training_python, os.X_OK):
        yield Worker(
            arguments.training_python, folder, "onnxruntime-training",
            kind="theirs",
            model=MODELS / name / "training_model.onnx",
            eval_model=MODELS / name / "eval_model.onnx",
            optimizer=MODELS / name / "optimizer_adamw.onnx",
            checkpoint=MODELS / name / "checkpoint",
            learning_rate=RATE,
            **job,
        )


def measure(arguments, name, folder):
    running = list(workers(arguments, name, folder))
    for worker in running:
        # About a tenth of a second for each block.
        one = max(worker.run(10), worker.run(10)) or 1e-6
        worker.loss = worker.last["loss"]
        worker.steps = max(5, int(0.1 / one))
    for _ in range(arguments.rounds):
        for worker in running:
            worker.seconds.append(worker.run(worker.steps))
    base = statistics.median(running[-1].seconds)
    for worker in running:
        seconds = statistics.median(worker.seconds)
        cells = [
            name, worker.label, f"{1 / seconds:.0f}", f"{seconds * 1e3:.2f}",
            f"{min(worker.seconds) * 1e3:.2f} - {max(worker.seconds) * 1e3:.2f}",
            f"{worker.last['peak'] / 1e6:.0f}", f"{base / seconds:.2f}",
            f"{worker.loss:.5f}",
        ]
        print(f"| {' | '.join(cells)} |", flush=True)
        worker.close()


def profile(arguments, name, folder):
    """Where the fp32 step's time goes, by operator."""
    import numpy as np
    import onnxruntime

    from training_step_worker import OurStep, session_options

    options = session_options(arguments.threads)
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "profile")
    path = make_step(arguments, name, (), folder)
    data = MODELS / name / "data.npz"
    step = OurStep({"model": path, "threads": 1, "loss": "loss", "data": data})
    step.session = onnxruntime.InferenceSession(path, options)
    for _ in range(50):
        step.run()
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
    mp_opt = ROOT / "build" / "bin" / "mp-opt"
    add("--mp-opt", default=os.environ.get("MP_OPT", str(mp_opt)))
    add("--only", default="mlp784,bert2_op17,resnet8", help="models")
    add("--rounds", type=int, default=15, help="blocks of each")
    add("--threads", type=int, default=1)
    add("--training-python", default=os.path.expanduser(TRAINING_PYTHON))
    add("--profile", action="store_true", help="where our time goes instead")
    return parser.parse_args()


def main():
    arguments = parse()
    if not arguments.profile:
        print("| model | step | steps/s | ms | range, ms | peak MB "
              "| x onnxruntime-training | loss after 20 |")
        print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name in arguments.only.split(","):
        with tempfile.TemporaryDirectory() as folder:
            run = profile if arguments.profile else measure
            run(arguments, name, pathlib.Path(folder))


if __name__ == "__main__":
    main()
