#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Threads on machines as users have them, not as benchmarks like them.

    benchmarks/threads.py
    benchmarks/threads.py --only mlp784 --places two,one --threads 1,2
    benchmarks/threads.py --than OTHER/mp-run      beside other programs

A model of small loops (the training step of an MLP) and one of some 20 ms a
call (ResNet-18, 224 pixels, batch 2), with several numbers of threads, where
they may use two processors, one, a quota of half of one, or two beside a
neighbour that never waits. All of a place take turns in blocks of calls, each
in a process of its own. A row says the milliseconds of a call - the least of
the blocks' means, and their range -, how many threads were in use, and how many
times as long it takes as the best row of its place, as the same on two quiet
processors, and as the other programs: medians over the rounds. Places that the
machine has not are left out, and a line says why.
"""

import argparse
import contextlib
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

import cases
import make_models
import turns

PERIOD = 100_000
PLACES = {
    "two": "two processors",
    "one": "one processor",
    "half": "a quota of half a processor",
    "neighbour": "two, and a busy neighbour",
    "neighbours": "two, and a busy neighbour on each",
}
MODELS = ("mlp784", "resnet18")


class Missing(Exception):
    """What a place needs, and the machine has not."""


def processors(count):
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < count:
        raise Missing(f"needs {count} processors")
    return ",".join(map(str, allowed[:count]))


@contextlib.contextmanager
def neighbours(*pinned):
    """Programs that want all of a processor."""
    loop = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(["taskset", "-c", p, *loop]) for p in pinned]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


@contextlib.contextmanager
def half_a_processor():
    """A control group; yields the file that takes processes into it."""
    old = pathlib.Path("/sys/fs/cgroup/cpu")
    is_old = (old / "cpu.cfs_quota_us").exists()
    group = (old if is_old else old.parent) / f"mp-opt-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise Missing(f"no control group can be made: {error}") from None
    try:
        if is_old:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD))
            (group / "cpu.cfs_quota_us").write_text(str(PERIOD // 2))
        else:
            (group / "cpu.max").write_text(f"{PERIOD // 2} {PERIOD}")
        yield group / "cgroup.procs"
    except OSError as error:
        raise Missing(f"the group has no quota: {error}") from None
    finally:
        group.rmdir()


@contextlib.contextmanager
def enter(place):
    """What begins the command of a process there, and what is to be there
    while it is measured."""
    if place == "half":
        with half_a_processor() as file:
            # Both arguments of sh: the file, then the command.
            move = 'echo $$ > "$0" && exec "$@"'
            yield ["sh", "-c", move, file], contextlib.nullcontext
        return
    pinned = processors(1 if place == "one" else 2)
    beside = {
        "neighbour": (pinned,),
        "neighbours": tuple(pinned.split(",")),
    }.get(place, ())
    yield ["taskset", "-c", pinned], lambda: neighbours(*beside)


def prepare(arguments, name, folder):
    """A model, its data, and flags."""
    data = folder / f"{name}.npz"
    if name == "resnet18":
        batch = cases.pictures(np.random.default_rng(0), 224)
        np.savez(data, x=batch["x"][:2])
        return make_models.make(name, arguments.models), data, ()
    source = cases.MODELS / "train" / name
    with np.load(source / "data.npz") as stacked:
        np.savez(data, **{n: stacked[n][0] for n in stacked.files})
    step = folder / f"{name}.onnx"
    cases.make_step(arguments.mp_opt, source / "forward.onnx", step)
    return step, data, ("--in-place",)


def make_engines(arguments, start, model, data, flags):
    tools = {"": arguments.mp_run, "other": arguments.than}
    engines = []
    for threads in arguments.threads:
        for tool in filter(tools.get, tools):
            command = [
                *start, tools[tool], "bench", model, data, "--turns",
                f"--threads={threads}", *flags,
            ]
            engine = turns.Engine(f"{threads} {tool}", command, data.parent)
            engine.threads, engine.tool = threads, tool
            engines.append(engine)
    return engines


def measure(engines, surroundings, arguments):
    """The mean of each block: medians hide what seldom happens and is long."""
    for engine in engines:
        one = turns.attempt(engine, lambda: engine.start(arguments.limit))
        if one is not None:
            engine.plan(one, arguments.seconds)
    with surroundings():
        for _ in range(arguments.rounds):
            for engine in filter(lambda e: not e.failed, engines):
                block = turns.attempt(
                    engine, lambda: engine.run(engine.calls, engine.warmup)
                )
                if block:
                    engine.blocks.append([statistics.fmean(block)])


def ratio(engine, other):
    if not other or not other.blocks or not engine.blocks:
        return ""
    return f"{engine.ratio(other):.2f}"


def print_rows(name, place, engines, quiet):
    ours = [e for e in engines if e.blocks and not e.tool]
    best = min(ours, key=lambda e: min(e.times), default=None)
    for engine in engines:
        label = [name, PLACES[place], engine.label]
        if engine.failed or not engine.blocks:
            turns.row(*label, f"fails: {engine.failed}", *[""] * 5)
            continue
        times = [time * 1e3 for time in engine.times]
        other = next(
            (e for e in engines if e.tool and e.threads == engine.threads), None
        )
        before = next((e for e in quiet if e.label == engine.label), None)
        turns.row(
            *label, engine.last["threads"], f"{min(times):.4g}",
            f"{min(times):.4g} - {max(times):.4g}",
            ratio(engine, best), ratio(engine, before),
            ratio(engine, other) if not engine.tool else "",
        )


def run_model(arguments, name, folder):
    model, data, flags = prepare(arguments, name, folder)
    quiet = []
    for place in arguments.places:
        try:
            with enter(place) as (start, surroundings):
                engines = make_engines(arguments, start, model, data, flags)
                try:
                    measure(engines, surroundings, arguments)
                finally:
                    turns.close_all(engines)
        except Missing as missing:
            print(f"{PLACES[place]}: left out: {missing}", file=sys.stderr)
            continue
        quiet = engines if place == "two" else quiet
        print_rows(name, place, engines, quiet)


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--mp-opt", default=cases.tool("mp-opt"))
    add("--mp-run", default=cases.tool("mp-run"))
    add("--than", default="", help="another mp-run, in the same turns")
    add("--only", default=",".join(MODELS), help="models")
    add("--places", default=",".join(PLACES), help=", ".join(PLACES))
    add("--threads", default="1,2,3,8")
    add("--rounds", type=int, default=7, help="blocks of each")
    add("--seconds", type=float, default=1, help="of a block, about")
    add("--limit", type=float, default=300, help="seconds to wait for answers")
    add("--models", default=str(turns.CACHE / "mp-opt" / "benchmark-models"))
    arguments = parser.parse_args()
    arguments.threads = [int(t) for t in arguments.threads.split(",")]
    for flag, known in (("only", MODELS), ("places", PLACES)):
        names = getattr(arguments, flag).split(",")
        if unknown := [n for n in names if n not in known]:
            parser.error(f"--{flag}: unknown: {', '.join(unknown)}")
        setattr(arguments, flag, names)
    return arguments


def main():
    arguments = parse()
    turns.head(
        "model", "where", ">threads", ">in use", ">ms", ">range, ms",
        ">x best here", ">x quiet", ">x other",
    )
    for name in arguments.only:
        with tempfile.TemporaryDirectory() as folder:
            run_model(arguments, name, pathlib.Path(folder))


if __name__ == "__main__":
    main()
