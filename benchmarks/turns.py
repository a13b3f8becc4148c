# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measuring engines that take turns.

Every engine is a process of its own, or one for each block. Each gets its turn
for a block of calls, in the same order in every round, so that whatever slows
the machine for a while slows all of them, and the ratio of two engines is the
median over the rounds of the ratio of their blocks.
"""

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
# What still runs of the last block (threads that wait busily) ends meanwhile.
PAUSE_SECONDS = 0.05
LEAST_CALLS, MOST_CALLS = 3, 10000


class Failure(Exception):
    """An engine that cannot go on; the others can."""


class Engine:
    """Something that makes calls; `blocks` are the times of each block."""

    def __init__(self, label):
        self.label = label
        self.blocks = []
        self.peak_bytes = 0
        self.compile_seconds = None
        self.arena_bytes = None
        self.failed = None

    def start(self, limit):
        """Compile and make the first calls; seconds of one call."""
        raise NotImplementedError

    def run(self, calls, warmup):
        """Seconds of each of `calls` calls."""
        raise NotImplementedError

    def close(self):
        pass

    def plan(self, one, seconds):
        """Decide on blocks of about `seconds`; a call takes `one`."""
        self.warmup = 3 if one < 0.2 else 1
        calls = int(seconds / max(one, 1e-7))
        self.calls = min(max(calls, LEAST_CALLS), MOST_CALLS)

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


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


class Worker(Engine):
    """runtime_worker.py in `python`, which stays and waits for its turns."""

    def __init__(self, label, python, folder, **job):
        super().__init__(label)
        stem = label.replace(" ", "_").replace("/", "_")
        self.job = folder / f"{stem}.json"
        self.job.write_text(json.dumps(job, default=str))
        self.log = folder / f"{stem}.log"
        self.python, self.process, self.last = python, None, {}
        self.limit = None

    def start(self, limit):
        self.limit = limit
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [self.python, HERE / "runtime_worker.py", self.job],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.compile_seconds = self.answer()["compile_seconds"]
        return statistics.median(self.run(LEAST_CALLS, 1))

    def answer(self):
        ready, _, _ = select.select([self.process.stdout], [], [], self.limit)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.process.kill()
            self.process.wait()
            reason = last_line(self.log.read_text(errors="replace"))
            raise Failure(reason if ready else f"over {self.limit:.0f} s")
        self.last = json.loads(line)
        return self.last

    def run(self, calls, warmup):
        try:
            self.process.stdin.write(f"{calls} {warmup}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failure(last_line(self.log.read_text())) from None
        answer = self.answer()
        self.peak_bytes = answer["peak_bytes"]
        return answer["times"]

    def close(self):
        if self.process:
            self.process.stdin.close()
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()


class MpRun(Engine):
    """A process of `mp-run bench` for every block."""

    def __init__(self, label, mp_run, model, data, *flags):
        super().__init__(label)
        self.command = [mp_run, "bench", model, data, "--json", *flags]
        self.limit = None

    def start(self, limit):
        self.limit = limit
        return statistics.median(self.run(LEAST_CALLS, 1))

    def run(self, calls, warmup):
        command = [*self.command, f"--repeat={calls}", f"--warmup={warmup}"]
        figures = json.loads(run(command, self.limit))
        self.compile_seconds = figures["compile_seconds"]
        self.peak_bytes = max(self.peak_bytes, figures["peak_bytes"])
        self.arena_bytes = figures["arena_bytes"]
        return figures["times"]


def run(command, limit):
    """What a command prints."""
    try:
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"over {limit:.0f} s") from None
    if done.returncode:
        raise Failure(last_line(done.stderr) + f" (exit {done.returncode})")
    return done.stdout


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
