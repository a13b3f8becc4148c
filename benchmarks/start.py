#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What it takes until the tools do what they are there for.

    benchmarks/start.py
    benchmarks/start.py --before OTHER/build/bin --only convert,encoder12n

`version` is a process that does nothing else; `convert` turns a model of four
nodes to bf16; a model's name is a run of mp-run whose code an earlier run has
kept: an AdamW step of the encoder, a forward pass of the ResNet, with one call.
Each measurement is a process of its own, and with --before another build's takes
turns with it. CPU ms is the processor time of the whole process, user and system,
the median and the least; faults are pages that it touched for the first time, and
resident MB the most memory at any time, files that are mapped included. A run of
mp-run reads the model and computes: call ms, which is part of CPU ms, is what
its call took.
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

# Models for mp-run: the batch size, and whether the training step is run.
MODELS = {"encoder12n": (8, True), "resnet18": (1, False)}
CASES = ("version", "convert", *MODELS)


def measure(command):
    """CPU seconds, faults, resident bytes and seconds of the call, if any."""
    # Output goes to files, since pipes are not read during wait4.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            list(map(str, command)), stdout=out, stderr=err
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode:
            sys.exit(f"{command[0]}: {err.read().decode().strip()}")
        text = out.read()
    call = json.loads(text)["times"][0] if text.startswith(b"{") else None
    used = usage.ru_utime + usage.ru_stime
    return used, usage.ru_minflt, usage.ru_maxrss * 1024, call


def run_flags(arguments, tool, folder):
    """Where a build keeps code; none where it has no such folder."""
    done = subprocess.run([tool, "bench", "--help"], capture_output=True, text=True)
    kept = [f"--cache={folder}/"] if "--cache" in done.stdout else []
    return [f"--threads={arguments.threads}", "--in-place", *kept]


def make_run(arguments, name, folder):
    """What mp-run gets: the model, labels of a step, the size of the batch."""
    batch, is_training = MODELS[name]
    model = pathlib.Path(make_models.make(name, arguments.models))
    case = [model]
    if is_training:
        step = folder / f"{name}.onnx"
        cases.make_step(arguments.bin / "mp-opt", model, step)
        np.savez(folder / "labels.npz", labels=np.zeros(batch, np.int64))
        case = [step, folder / "labels.npz"]
    once = ["--random", "--repeat=1", "--warmup=0", "--json"]
    return [*case, f"--dim=batch={batch}", *once]


def make_commands(arguments, name, builds, folder):
    """The command of each build."""
    if name == "version":
        return {n: [b / "mp-opt", "--version"] for n, b in builds.items()}
    if name == "convert":
        model = make_models.make("four", arguments.models)
        flags = [model, "--mixed-bf16", "-o", folder / "out.onnx"]
        return {n: [b / "mp-opt", *flags] for n, b in builds.items()}
    case = make_run(arguments, name, folder)
    return {
        n: [b / "mp-run", "bench", *case,
            *run_flags(arguments, b / "mp-run", folder / n)]
        for n, b in builds.items()
    }


def print_rows(name, runs):
    before = [run[0] for run in runs.get("before", [])]
    for label, measured in runs.items():
        used, faults, resident, calls = zip(*measured)
        ratio = ""
        if before and label != "before":
            ratio = statistics.median(b / u for b, u in zip(before, used))
            ratio = f"{ratio:.2f}"
        call = "" if None in calls else f"{statistics.median(calls) * 1e3:.1f}"
        turns.row(
            name, label, f"{statistics.median(used) * 1e3:.1f}",
            f"{min(used) * 1e3:.1f}", f"{statistics.median(faults):.0f}",
            f"{statistics.median(resident) / 1e6:.0f}", call, ratio,
        )


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    built = pathlib.Path(cases.tool("mp-opt")).parent
    add("--bin", type=pathlib.Path, default=built, help="the folder of programs")
    add("--before", type=pathlib.Path, help="another such folder")
    add("--only", default=",".join(CASES), help=", ".join(CASES))
    add("--repeat", type=int, default=31, help="measurements of each")
    add("--threads", type=int, default=1)
    add("--models", default=str(turns.CACHE / "mp-opt" / "benchmark-models"))
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    if unknown := set(arguments.only) - set(CASES):
        parser.error(f"--only: unknown: {', '.join(sorted(unknown))}")
    return arguments


def main():
    arguments = parse()
    builds = {"now": arguments.bin}
    if arguments.before:
        builds = {"before": arguments.before, **builds}
    turns.head(
        "what", "build", ">CPU ms", ">least", ">faults", ">resident MB",
        ">call ms", ">x faster",
    )
    for name in arguments.only:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            commands = make_commands(arguments, name, builds, folder)
            for command in commands.values():
                measure(command)
            runs = {label: [] for label in builds}
            for _ in range(arguments.repeat):
                for label, command in commands.items():
                    runs[label].append(measure(command))
        print_rows(name, runs)


if __name__ == "__main__":
    main()
