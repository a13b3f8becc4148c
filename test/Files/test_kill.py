# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""R6 and R14: runs that are ended at every call and at random instants."""

import collections
import random
import signal
import statistics
import subprocess
import time

import pytest
from files import (
    KILLED, MIXED, MP_OPT, TEMPORARY, make_model, restore, run_well, state,
)
from scenarios import CALLS, Scenario, check_next_run

KILLS = 200
SIGNALS = 50
signals = pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"]
)


@pytest.mark.parametrize("named", [0, 1], ids=["unnamed", "named"])
@pytest.mark.parametrize("name", ["single", "pair", "unchanged", "reports"])
def test_killed_at_nth_call(name, named, tmp_path):
    """Old or new, and the next run removes what was left."""
    scenario = Scenario(tmp_path, name)
    counts = collections.Counter()
    for call in CALLS:
        for action in ("KILL", "KILL_AFTER"):
            number = 1
            while scenario.fail(call, number, action, NO_TMPFILE=named):
                number += 1
                assert scenario.done.returncode == KILLED
                counts["kills"] += 1
                left = check_next_run(scenario)
                counts["leftovers"] += bool(left)
                assert len(left) <= (3 if named else 1), left
    print(f"{name}: {dict(counts)}")
    assert counts["kills"] >= 10 and counts["leftovers"] >= 1


@signals
@pytest.mark.parametrize("name", ["single", "pair", "unchanged", "reports"])
def test_signal_at_nth_call(name, number, tmp_path):
    """Gone by that signal, and nothing left behind."""
    scenario = Scenario(tmp_path, name)
    ended = 0
    action = number.name.removeprefix("SIG")
    for call in CALLS:
        nth = 1
        while scenario.fail(call, nth, action):
            nth += 1
            assert scenario.done.returncode in (-number, 0)
            ended += scenario.done.returncode == -number
            scenario.check_whole()
    print(f"{name}: ended {ended} times by {number.name}")
    assert ended >= 8


class Race:
    """A run over an old pair, to be ended somewhere."""

    def __init__(self, folder, side):
        self.held_up = 0
        self.output = folder / "out"
        self.output.mkdir()
        target = self.output / "out.onnx"
        old = make_model(folder / "old.onnx", side, 1.0, "old.bin")
        new = make_model(folder / "new.onnx", side, 2.0, "new.bin")
        run_well(old, *MIXED, "-o", target)
        self.old = state(self.output)
        self.command = [MP_OPT, new, *MIXED, "-o", target]
        times = []
        for _ in range(5):
            restore(self.output, self.old)
            start = time.monotonic()
            subprocess.run(self.command, check=True)
            times.append(time.monotonic() - start)
        self.seconds = statistics.median(times)
        self.new = state(self.output)
        assert len(self.old) == len(self.new) == 2
        # One name of the two is new: that of the data.
        assert len(self.old.keys() | self.new.keys()) == 3

    def end(self, number, after):
        """Sends the signal so many seconds after the start; the exit code, and
        the seconds that it took to end."""
        restore(self.output, self.old)
        process = subprocess.Popen(
            self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        time.sleep(after)
        process.send_signal(number)
        start = time.monotonic()
        process.communicate(timeout=30)
        return process.returncode, time.monotonic() - start

    def end_soon(self, number, after):
        """Ends a run that leaves nothing behind; the exit code, and the
        seconds. What the machine does may hold up any process; a wait of the
        program's own is there again at the same instant of the next run, or
        comes so often that `held_up` tells."""
        for _ in range(3):
            code, seconds = self.end(number, after)
            assert code in (0, -number), code
            is_new, left = self.check()
            assert not left
            if seconds < 1:
                break
            self.held_up += 1
        return code, seconds, is_new

    def check(self):
        """A pair is in place. What else is there: temporary names, data."""
        found = state(self.output)
        model = found["out.onnx"]
        assert model in (self.old["out.onnx"], self.new["out.onnx"])
        pair = self.old if model == self.old["out.onnx"] else self.new
        for name, content in pair.items():
            assert found[name] == content, name
        rest = found.keys() - pair.keys()
        temporaries = {name for name in rest if TEMPORARY.fullmatch(name)}
        data = rest - temporaries
        # Data without a model belong to one that has not its name yet.
        assert len(temporaries) <= 1 and (not data or temporaries), rest
        return pair is self.new, temporaries | data


def test_kill(tmp_path):
    race = Race(tmp_path, 1000)
    rng = random.Random(5)
    counts = collections.Counter()
    for _ in range(KILLS):
        code, _ = race.end(signal.SIGKILL, rng.uniform(0, race.seconds * 1.1))
        assert code in (0, KILLED)
        is_new, left = race.check()
        counts["done before" if code == 0 else "killed"] += 1
        counts["new pair" if is_new else "old pair"] += 1
        counts["with leftovers"] += bool(left)
        if left:
            subprocess.run(race.command, check=True)
            assert state(race.output) == race.new
    print(f"{KILLS} instants within {race.seconds:.3f} s: {dict(counts)}")
    assert counts["old pair"] >= 20 and counts["killed"] >= 50


@signals
def test_signal(number, tmp_path):
    race = Race(tmp_path, 1000)
    rng = random.Random(int(number))
    counts = collections.Counter()
    longest = 0
    for _ in range(SIGNALS):
        # Before its first instructions, a process has no handlers, and nothing
        # to clean up.
        after = rng.uniform(0, race.seconds)
        code, seconds, is_new = race.end_soon(number, after)
        longest = max(longest, seconds)
        counts["done before" if code == 0 else "ended"] += 1
        counts["new pair" if is_new else "old pair"] += 1
    print(f"{number.name}: {dict(counts)}, gone within {longest:.3f} s")
    assert counts["ended"] >= 10 and longest < 1
    assert race.held_up <= SIGNALS / 10


@signals
def test_signal_while_much_is_written(number, tmp_path):
    """Half a gigabyte: no single wait for the disk is long."""
    race = Race(tmp_path, 8192)
    rng = random.Random(int(number))
    longest = 0
    codes = collections.Counter()
    for _ in range(8):
        # On a fast disk, the whole run takes little longer than the start
        # elsewhere.
        after = rng.uniform(min(0.1, race.seconds / 4), race.seconds)
        code, seconds, _ = race.end_soon(number, after)
        codes[code] += 1
        longest = max(longest, seconds)
    print(
        f"{number.name} during {race.seconds:.1f} s: {dict(codes)}, gone "
        f"within {longest:.3f} s"
    )
    assert codes[-number] >= 3 and longest < 1 and race.held_up <= 2
