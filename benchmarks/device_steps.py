#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps on a GPU that need not be there: times by the model of
`mp-run bench --dry-run`, bytes moved, launches and memory.

    benchmarks/device_steps.py
    benchmarks/device_steps.py --steps=gpt2-bf16,encoder6-fp32 --device=h100
    benchmarks/device_steps.py --folder=build/steps --keep

Steps are those of AdamW, with fixed sizes of a batch: encoders of 6 x 512 and
12 x 768 and ResNet-18 of device_kit.py, and the models of large_models.py. A
step is NAME-PRECISION. Without --keep, a step that is in the folder is made
again; forward models are made once.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import pathlib
import subprocess
import sys

import cases
import large_models
import make_models
import onnx
import turns

PRECISIONS = {"bf16": ("--mixed-bf16",), "fp16": ("--mixed-fp16",), "fp32": ()}
# As in device_kit.py.
SMALL = {
    "encoder6": lambda: make_models.encoder(6, 512, 1000),
    "encoder12": lambda: make_models.encoder(12, 768, 1000),
    "resnet18": make_models.MODELS["resnet18t"],
}
DEFAULT = [
    "encoder6-bf16", "encoder12-bf16", "gpt2-bf16", "bert-large-bf16",
    "resnet50-bf16", "resnet18-bf16", "encoder6-fp32", "encoder12-fp32",
]


@dataclasses.dataclass
class Tools:
    opt: pathlib.Path
    run: pathlib.Path
    folder: pathlib.Path
    device: str
    optimizer: str = "adamw"
    keep: bool = False


def call(*command):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {done.stderr.strip()}")
    return done.stdout


def find_model(tools, name):
    """The forward model, made if it is not in the folder, and its --dim."""
    folder = tools.folder / "fwd"
    folder.mkdir(parents=True, exist_ok=True)
    if name in large_models.MODELS:
        return large_models.find(name, folder), ()
    path = folder / f"{name}.onnx"
    if not path.exists():
        onnx.save(SMALL[name](), path)
    return path, (f"--dim=batch={cases.BATCH}",)


def find_step(tools, step):
    """The step of NAME-PRECISION, and its --dim."""
    name, precision = step.rsplit("-", 1)
    model, dims = find_model(tools, name)
    path = tools.folder / f"{step}.onnx"
    if not tools.keep or not path.exists():
        call(
            tools.opt, model, "--train", f"--loss={cases.LOSS}",
            f"--optimizer={tools.optimizer}", f"--lr={cases.RATE}",
            *PRECISIONS[precision], "--summary=none", "-o", path,
        )
    return path, dims


def estimate(tools, step):
    """What bench --dry-run says of a step."""
    path, dims = find_step(tools, step)
    text = call(
        tools.run, "bench", path, f"--device=cuda:{tools.device}", "--dry-run",
        "--json", "--in-place", *dims,
    )
    (tools.folder / f"{step}.json").write_text(text)
    return json.loads(text)


def show(step, found):
    total = found["total"]
    moved = total["read_bytes"] + total["written_bytes"]
    predicted = found.get("predicted_seconds")
    turns.row(
        step, total["launches"] + total["copies"], f"{moved / 1e9:.2f}",
        f"{found['seconds'] * 1e3:.3f}",
        f"{predicted * 1e3:.2f}" if predicted else "",
        f"{found['memory_bytes'] / 1e9:.2f}",
    )


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--steps", default=",".join(DEFAULT), help="NAME-PRECISION, by commas")
    add("--device", default="h200", help="a GPU of `bench --device=cuda:NAME`")
    add("--folder", type=pathlib.Path, default=cases.ROOT / "build" / "steps")
    add("--keep", action="store_true", help="use steps that are in the folder")
    add("--optimizer", default="adamw")
    add("--mp-opt", type=pathlib.Path, default=cases.tool("mp-opt"))
    add("--mp-run", type=pathlib.Path, default=cases.tool("mp-run"))
    add("--jobs", type=int, default=1)
    return parser.parse_args()


def check_steps(steps):
    names = [*SMALL, *large_models.MODELS]
    for step in steps:
        name, _, precision = step.rpartition("-")
        if name not in names or precision not in PRECISIONS:
            sys.exit(
                f"device_steps.py: error: step '{step}': expected a name of"
                f" {', '.join(names)} and a precision of"
                f" {', '.join(PRECISIONS)}, as in gpt2-bf16"
            )


def main():
    arguments = parse()
    steps = arguments.steps.split(",")
    check_steps(steps)
    tools = Tools(
        arguments.mp_opt, arguments.mp_run, arguments.folder, arguments.device,
        arguments.optimizer, arguments.keep,
    )
    turns.head(
        "step", ">launches", ">GB moved", ">floor ms", ">modelled ms",
        ">GB of memory",
    )
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        futures = [pool.submit(estimate, tools, step) for step in steps]
        for step, future in zip(steps, futures):
            try:
                show(step, future.result())
            except (RuntimeError, OSError, subprocess.SubprocessError) as error:
                sys.exit(f"device_steps.py: error: {step}: {error}")


if __name__ == "__main__":
    main()
