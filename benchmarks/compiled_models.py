#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled models beside their peers: forward models and training steps.

    benchmarks/compiled_models.py                      everything, some hours
    benchmarks/compiled_models.py --train mlp784 --forward none --rounds 3
    benchmarks/compiled_models.py --engines mp-run,torch --threads 1

For every model, with each number of threads, `mp-run bench` and its peers take
turns in blocks of calls on the same batch, each in a process of its own. A row
says the median over the blocks' medians and their range, the peak memory of
the process, how long it takes to compile, and how many times as long as mp-run
an engine takes (over 1: mp-run is faster), in fp32 and in bf16: the median over
the rounds. Results are compared, too: the loss of the first training step, or
the outputs, with those of mp-run in fp32. Peers that are not installed are left
out, and a line says how to install them.
"""

import argparse
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import cases
import image_networks
import turns

# The packages of each peer, and the environment that they are installed in.
PEERS = {
    "onnxruntime-training": (
        "venv-training", "--no-deps -r scripts/requirements-training.txt"
    ),
    "torch": ("venv-torch", "-r scripts/requirements-torch.txt"),
    "iree": (
        "venv-iree",
        "iree-base-compiler==3.13.0 iree-base-runtime==3.13.0 onnx==1.23.2",
    ),
}
ENGINES = ["mp-run", "onnxruntime", *PEERS]
MP_RUN = {"fp32": (), "bf16": ("--mixed-bf16",), "fp16": ("--mixed-fp16",)}
# Relative; the loss of a first step, and outputs by their RMS.
TOLERANCE = {"fp32": 1e-4, "16 bit": 3e-2}
TORCH = [
    ("eager fp32", False, False),
    ("eager autocast", False, True),
    ("compiled fp32", True, False),
    ("compiled autocast", True, True),
]
# The layouts of image networks; both are measured.
LAYOUTS = {"": False, ", channels last": True}


class Measurement:
    """One case with one number of threads."""

    def __init__(self, arguments, case, folder, threads):
        self.arguments, self.case, self.folder = arguments, case, folder
        self.threads = threads
        self.batch = folder / "batch.npz"
        np.savez(self.batch, **case.batch)
        self.results = {}
        self.engines = []

    def has(self, name):
        return name in self.arguments.engines

    def add_worker(self, label, python, **job):
        self.results[label] = self.folder / f"result{len(self.results)}.npz"
        self.engines.append(
            turns.worker(
                label, python, self.folder, results=self.results[label],
                threads=self.threads, data=self.batch, **job,
            )
        )

    def add_mp_run(self):
        for precision, flags in MP_RUN.items():
            if precision == "fp16" and not self.case.is_training:
                continue
            label = f"mp-run {precision}"
            model, more = self.model(precision, flags)
            more += (f"--threads={self.threads}",)
            engine = turns.mp_run(
                label, self.arguments.mp_run, model, self.batch, *more
            )
            self.engines.append(engine)
            # The same bits with any number of threads.
            path = self.folder / f"result-{precision}.npz"
            self.results[label] = path
            if not path.exists():
                engine.once = [
                    self.arguments.mp_run, "run", model, self.batch, *more,
                    "-o", path,
                ]

    def model(self, precision, flags):
        """The model that mp-run compiles, and flags for it."""
        if not self.case.is_training:
            return self.case.model, flags
        path = self.folder / f"step-{precision}.onnx"
        if not path.exists():
            cases.make_step(
                self.arguments.mp_opt, self.case.model, path, *flags
            )
        return path, ("--in-place",)

    def add_onnxruntime(self):
        if not self.case.is_training:
            self.add_worker(
                "onnxruntime", sys.executable, kind="onnxruntime",
                model=self.case.model, dims=self.case.dims(),
            )
            return
        model, _ = self.model("fp32", ())
        self.add_worker(
            "onnxruntime, mp-opt's step", sys.executable,
            kind="onnxruntime-step", model=model,
        )

    def add_onnxruntime_training(self):
        if self.case.artifacts:
            self.add_worker(
                "onnxruntime-training",
                turns.venv_python("venv-training"),
                learning_rate=cases.RATE,
                **cases.artifacts_job(self.case.artifacts),
            )

    def add_torch(self):
        if not self.case.module:
            return
        weights = self.case.write_weights(self.folder)
        layouts = LAYOUTS if self.case.module[0] == "network" else {"": False}
        for (label, compiled, autocast), layout in itertools.product(
            TORCH, layouts
        ):
            if compiled and self.arguments.torch == "eager":
                continue
            self.add_worker(
                f"torch {label}{layout}", turns.venv_python("venv-torch"),
                kind="torch", module=self.case.module, weights=weights,
                compiled=compiled, autocast=autocast,
                channels_last=layouts[layout],
                learning_rate=cases.RATE, weight_decay=cases.DECAY,
            )

    def add_iree(self):
        if not self.case.is_training:
            self.add_worker(
                "iree", turns.venv_python("venv-iree"), kind="iree",
                model=self.case.write_fixed(self.folder),
            )

    def run(self):
        for name in ENGINES:
            if self.has(name):
                getattr(self, "add_" + name.replace("-", "_"))()
        options = self.arguments
        try:
            for engine in self.engines:
                if hasattr(engine, "once"):
                    turns.attempt(
                        engine, lambda: turns.run(engine.once, options.limit)
                    )
            turns.take_turns(
                self.engines, options.rounds, options.seconds, options.limit
            )
        finally:
            turns.close_all(self.engines)

    def read_results(self, label):
        """Arrays in the order of the outputs, of a step its loss alone."""
        path = self.results[label]
        if not path.exists():
            return None
        data = np.load(path)
        if self.case.is_training:
            name = "loss" if "loss" in data.files else data.files[0]
            return [np.ravel(data[name])[0]]
        return [data[name] for name in data.files]

    def error(self, label):
        """How far results are from those of mp-run in fp32, relative."""
        wanted = self.read_results(self.engines[0].label)
        got = self.read_results(label)
        if wanted is None or got is None:
            return None

        def compare(one, other):
            scale = np.sqrt(np.mean(np.square(other, dtype=np.float64)))
            return np.sqrt(np.mean(np.square(one - other))) / scale

        return max(compare(g, w) for g, w in zip(got, wanted))

    def is_wrong(self, label):
        error = self.error(label)
        is_exact = "bf16" not in label and "fp16" not in label
        is_exact = is_exact and "autocast" not in label
        bound = TOLERANCE["fp32" if is_exact else "16 bit"]
        return error is not None and not error <= bound

    def find(self, label):
        for engine in self.engines:
            if engine.label == label and engine.blocks and not engine.failed:
                return engine
        return None

    def print(self):
        """Its rows; the number of engines with wrong results."""
        ours = [self.find("mp-run fp32"), self.find("mp-run bf16")]
        wrong = 0
        for engine in self.engines:
            name = [self.case.name, self.threads, engine.label]
            if engine.failed:
                turns.row(*name, f"fails: {engine.failed[:120]}", *[""] * 7)
                continue
            times = [time * 1e3 for time in engine.times]
            error = self.error(engine.label)
            turns.row(
                *name, f"{engine.median * 1e3:.4g}",
                f"{min(times):.4g} - {max(times):.4g}",
                f"{engine.last['peak_bytes'] / 1e6:.0f}",
                megabytes(engine.last.get("arena_bytes")),
                f"{engine.last['compile_seconds']:.1f}",
                *(f"{engine.ratio(o):.2f}" if o else "" for o in ours),
                "" if error is None else f"{error:.1e}",
            )
            if self.is_wrong(engine.label):
                wrong += 1
                complain(f"{self.case.name}, {engine.label}: results are off")
        return wrong


def megabytes(count):
    return "" if count is None else f"{count / 1e6:.1f}"


def complain(text):
    print(text, file=sys.stderr, flush=True)


def print_head(title, check):
    print(f"\n{title}\n")
    turns.head(
        "model", ">threads", "engine", ">ms", "range, ms", ">peak MB",
        ">activations MB", ">compile s", ">x mp-run fp32", ">x mp-run bf16",
        f">{check}",
    )


def print_machine():
    """Which machine the figures are of."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    fields = dict(
        (part.strip() for part in line.split(":", 1))
        for line in text.splitlines() if ":" in line
    )
    known = ("avx2", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16")
    flags = fields.get("flags", fields.get("Features", "")).split()
    load = os.getloadavg()[0]
    print(
        f"{fields.get('model name', 'unknown CPU')}, {os.cpu_count()} cores, "
        f"{' '.join(f for f in known if f in flags)}; load {load:.1f}"
    )


def leave_out_missing(arguments):
    """Peers that are not installed; a line says what to do about each."""
    for name, (venv, packages) in PEERS.items():
        python = turns.venv_python(venv)
        if name not in arguments.engines or os.access(python, os.X_OK):
            continue
        arguments.engines.remove(name)
        folder = python.parent.parent
        complain(
            f"{name} is left out; to install it: python3 -m venv {folder} "
            f"&& {folder}/bin/pip install {packages}"
        )


def pick(text, known):
    """Names on a list; "all", "none", or "images": image_networks.py's."""
    images = [name for name in known if name in image_networks.NETWORKS]
    groups = {"all": known, "none": [], "images": images}
    names = groups.get(text, text.split(","))
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    return list(names)


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--forward", default="all", help="models, images, all or none")
    add("--train", default="all", help="models, images, all or none")
    add("--engines", default="all", help=", ".join(ENGINES))
    add("--torch", default="all", choices=["all", "eager"],
        help="eager: without what torch.compile makes, which takes minutes")
    add("--threads", default="1,2")
    add("--images", type=int, default=1, help="per call of image networks")
    add("--rounds", type=int, default=7, help="blocks of each engine")
    add("--seconds", type=float, default=2, help="of a block, about")
    add("--limit", type=float, default=900, help="seconds to wait for answers")
    add("--mp-opt", default=cases.tool("mp-opt"))
    add("--mp-run", default=cases.tool("mp-run"))
    models = turns.CACHE / "mp-opt" / "benchmark-models"
    add("--models", type=pathlib.Path, default=models, help="made models")
    arguments = parser.parse_args()
    arguments.forward = pick(arguments.forward, cases.FORWARD)
    arguments.train = pick(arguments.train, cases.TRAIN)
    arguments.engines = pick(arguments.engines, ENGINES)
    for path in (arguments.mp_opt, arguments.mp_run):
        if not os.access(path, os.X_OK):
            sys.exit(f"{path}: no such program; scripts/setup.sh builds it")
    arguments.threads = [int(t) for t in arguments.threads.split(",")]
    return arguments


def measure(arguments, made):
    wrong = 0
    for case in made:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for threads in arguments.threads:
                one = Measurement(arguments, case, folder, threads)
                one.run()
                wrong += one.print()
    return wrong


def main():
    arguments = parse()
    leave_out_missing(arguments)
    # torch.compile finds nothing that an earlier run has compiled.
    os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
    print_machine()
    wrong = 0
    if arguments.forward:
        print_head("Forward", "error of outputs")
        made = cases.forward_cases(
            arguments.forward, arguments.models, arguments.images
        )
        wrong += measure(arguments, made)
    if arguments.train:
        print_head("Training steps with AdamW", "error of the first loss")
        made = cases.train_cases(arguments.train, arguments.models)
        wrong += measure(arguments, made)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
