# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measuring engines that take turns.

Every engine is a process of its own, and gets its turn for a block of calls, in
the same order in every round: whatever slows the machine for a while slows all
of them, and the ratio of two engines is the median over the rounds of the ratio
of their blocks.
"""

import contextlib
import json
import os
import pathlib
import select
import statistics
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(
    os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")
)
# A pause in which busy-waiting threads of the last block end.
PAUSE_SECONDS = 0.05
MIN_CALLS, MAX_CALLS = 3, 10000


class Failure(Exception):
    """An engine that cannot go on; the others can."""


def last_line(path):
    lines = path.read_text(errors="replace").splitlines()
    lines = [line.strip() for line in lines if line.strip()]
    return lines[-1] if lines else "ended without a message"


class Engine:
    """A process that is asked for calls and answers with their times.

    A request is a line of two numbers, calls and calls before them that are not
    measured; the answer is a line of JSON.
    """

    def __init__(self, label, command, folder):
        self.label, self.command = label, list(map(str, command))
        self.log = folder / f"{id(self)}.log"
        self.process = self.limit = self.failed = None
        # The times of each block, and the last answer.
        self.blocks, self.last = [], {}

    def start(self, limit):
        """Compile and make some calls; seconds of one call."""
        self.limit = limit
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=log, text=True,
            )
        return statistics.median(self.run(MIN_CALLS, 1))

    def run(self, calls, warmup):
        """Seconds of each of `calls` calls."""
        try:
            self.process.stdin.write(f"{calls} {warmup}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failure(last_line(self.log)) from None
        ready, _, _ = select.select([self.process.stdout], [], [], self.limit)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.process.kill()
            self.process.wait()
            late = f"no answer in {self.limit:.0f} s"
            raise Failure(last_line(self.log) if ready else late)
        self.last = json.loads(line)
        return self.last["times"]

    def close(self):
        if not self.process:
            return
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def plan(self, one, seconds):
        """Decide on blocks of about `seconds`; a call takes `one`."""
        self.warmup = 3 if one < 0.2 else 1
        calls = int(seconds / max(one, 1e-7))
        self.calls = min(max(calls, MIN_CALLS), MAX_CALLS)

    @property
    def times(self):
        """The median of each block."""
        return [statistics.median(block) for block in self.blocks]

    @property
    def median(self):
        return statistics.median(self.times)

    def ratio(self, other):
        """How many times as long as `other` it takes."""
        pairs = zip(self.times, other.times)
        return statistics.median(mine / theirs for mine, theirs in pairs)


def worker(label, python, folder, **job):
    """runtime_worker.py in the environment of `python`."""
    path = folder / f"{label.replace(' ', '_').replace('/', '_')}.json"
    path.write_text(json.dumps(job, default=str))
    return Engine(label, [python, HERE / "runtime_worker.py", path], folder)


def mp_run(label, tool, model, data, *flags):
    command = [tool, "bench", model, data, "--turns", "--cache=off", *flags]
    return Engine(label, command, data.parent)


def run(command, limit):
    """A command that has to end well."""
    try:
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"over {limit:.0f} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        raise Failure(lines[-1])


def attempt(engine, action):
    try:
        return action()
    except Failure as failure:
        engine.failed = str(failure)
        return None


def take_turns(engines, rounds, seconds, limit):
    """Start the engines and measure blocks of about `seconds`, in turns."""
    for engine in engines:
        one = attempt(engine, lambda: engine.start(limit))
        if one is not None:
            engine.plan(one, seconds)
    for _ in range(rounds):
        for engine in engines:
            if engine.failed:
                continue
            time.sleep(PAUSE_SECONDS)
            block = attempt(
                engine, lambda: engine.run(engine.calls, engine.warmup)
            )
            if block:
                engine.blocks.append(block)


def close_all(engines):
    for engine in engines:
        engine.close()


def venv_python(name):
    """The interpreter of a virtual environment beside setup.sh's."""
    return CACHE / "mp-opt" / name / "bin" / "python"


def row(*cells):
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def head(*titles):
    """Titles of columns; those that start with '>' are aligned right."""
    row(*(title.lstrip(">") for title in titles))
    marks = ("---:" if title.startswith(">") else "---" for title in titles)
    print(f"|{'|'.join(marks)}|", flush=True)
