#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What compiling a model takes: time, memory, and the code that it yields.

    benchmarks/compile_time.py
    benchmarks/compile_time.py --only encoder12n,encoder48n --flags=--mixed-bf16
    benchmarks/compile_time.py --before OTHER/build/bin/mp-run

Of models in training, the step with AdamW is compiled. Each measurement is a
process of its own, in which `mp-run bench` compiles the model and calls it once;
the median of some is printed. s is the time from the parsed model to code, CPU s
what the process takes of all processors, the call included, and peak MB the most
memory resident at any time, the model included. With --before, another mp-run
takes turns with this one, and has rows of its own.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import cases
import make_models
import numpy as np
import turns

# The batch, and whether it is the step that is compiled.
MODELS = {
    "resnet18": (1, False),
    "resnet50": (1, False),
    "encoder3n": (8, True),
    "encoder12n": (8, True),
    "encoder48n": (8, True),
    "encoder12": (8, True),
    "mobilenetv3t": (8, True),
    "efficientnett": (8, True),
}


def make_case(arguments, name, folder):
    """What mp-run gets: the model, labels of a step, the size of the batch."""
    batch, is_training = MODELS[name]
    dim = f"--dim=batch={batch}"
    model = pathlib.Path(make_models.make(name, arguments.models))
    if not is_training:
        return [model, dim]
    folder = pathlib.Path(folder)
    step = cases.make_step(
        arguments.mp_opt, model, folder / f"{name}.onnx",
        *arguments.flags.split(),
    )
    np.savez(folder / "labels.npz", labels=np.zeros(batch, np.int64))
    return [step, folder / "labels.npz", dim]


def find_flags(tool):
    """Code that an earlier run has kept is not what is measured."""
    done = subprocess.run([tool, "bench", "--help"], capture_output=True, text=True)
    return ["--cache=off"] if "--cache" in done.stdout else []


def measure(tool, case, flags):
    """Seconds, CPU seconds, peak bytes and bytes of code of a compilation."""
    command = [
        tool, "bench", *case, "--random", "--repeat=1", "--warmup=0", "--json",
        *flags,
    ]
    before = os.times()
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    after = os.times()
    if done.returncode != 0:
        sys.exit(f"{case[0].name}: {done.stderr.strip()}")
    figures = json.loads(done.stdout)
    used = after.children_user + after.children_system
    used -= before.children_user + before.children_system
    # Older ones do not say how much code it is.
    code = figures.get("code_bytes", 0)
    return figures["compile_seconds"], used, figures["peak_bytes"], code


def print_row(name, label, runs):
    seconds, used, peak, code = (statistics.median(c) for c in zip(*runs))
    spread = [run[0] for run in runs]
    turns.row(
        name, label, f"{seconds:.2f}", f"{min(spread):.2f} - {max(spread):.2f}",
        f"{used:.2f}", f"{peak / 1e6:.0f}", f"{code / 1e6:.2f}" if code else "",
    )


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--mp-opt", default=cases.tool("mp-opt"))
    add("--mp-run", default=cases.tool("mp-run"))
    add("--before", help="another mp-run to compare with")
    add("--only", default=",".join(MODELS), help="models")
    add("--flags", default="", help="flags of mp-opt for steps")
    add("--run-flags", default="", help="flags of mp-run")
    add("--repeat", type=int, default=3, help="measurements of each")
    add("--threads", type=int, default=os.cpu_count())
    add("--models", default=str(turns.CACHE / "mp-opt" / "benchmark-models"))
    arguments = parser.parse_args()
    unknown = set(arguments.only.split(",")) - set(MODELS)
    if unknown:
        parser.error(f"no such model: {', '.join(sorted(unknown))}")
    return arguments


def main():
    arguments = parse()
    tools = {"mp-run": arguments.mp_run}
    if arguments.before:
        tools = {"before": arguments.before, **tools}
    turns.head(
        "model", "tool", ">s", "range, s", ">CPU s", ">peak MB", ">MB of code"
    )
    for name in arguments.only.split(","):
        with tempfile.TemporaryDirectory() as folder:
            case = make_case(arguments, name, folder)
            flags = [f"--threads={arguments.threads}", "--in-place"]
            flags += arguments.run_flags.split()
            runs = {label: [] for label in tools}
            for _ in range(arguments.repeat):
                for label, tool in tools.items():
                    runs[label].append(
                        measure(tool, case, [*flags, *find_flags(tool)])
                    )
        for label in tools:
            print_row(name, label, runs[label])


if __name__ == "__main__":
    main()
