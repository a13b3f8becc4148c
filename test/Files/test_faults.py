# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""R6: whatever call of the system fails, and whatever moment a process ends
at, a file is the old one or the new one, and nothing else is left.

faults.c makes the Nth call fail. Each scenario is run for every N of every
call until the call is not made any more.
"""

import collections
import resource
import subprocess

import pytest
from files import (
    KILLED, MIXED, MP_OPT, TEMPORARY, check_error, make_model, restore, run,
    run_well, state,
)

CALLS = (
    "write", "pwrite", "writev", "openat", "fchmod", "posix_fallocate",
    "ftruncate", "fallocate", "sync_file_range", "fsync", "fdatasync",
    "linkat", "rename", "renameat", "renameat2", "unlinkat", "mkdirat",
)
# Calls that there is another way for, or whose failing does no harm: leftovers
# that cannot be looked for, an exchange that a plain renaming replaces.
REPLACEABLE = ("renameat2", "openat")
SIDE = 300


class Scenario:
    """A run over old files: the arguments, and the folder before and after."""

    def __init__(self, folder, name):
        self.input = folder / "in"
        self.output = folder / "out"
        self.log = folder / "fault"
        self.input.mkdir()
        self.output.mkdir()
        self.flags = []
        self.target = self.output / "out.onnx"
        getattr(self, name)()
        self.arguments = [self.source, *self.flags, "-o", self.target]
        self.old = state(self.output)
        run_well(*self.arguments)
        self.new = state(self.output)
        # Old files, complete new ones, and nothing that is both.
        assert self.new != self.old

    def single(self):
        self.source = make_model(self.input / "in.onnx", SIDE, 2.0)
        self.flags = MIXED
        self.target.write_bytes(b"old")

    def fresh(self):
        self.single()
        self.target.unlink()

    def pair(self):
        old = make_model(self.input / "old.onnx", SIDE, 1.0, "old.bin")
        run_well(old, *MIXED, "-o", self.target)
        self.source = make_model(self.input / "in.onnx", SIDE, 2.0, "w.bin")
        self.flags = MIXED

    def unchanged(self):
        self.source = make_model(self.input / "in.onnx", SIDE, 2.0, "w.bin")
        self.target.write_bytes(b"old")

    def subfolder(self):
        (self.input / "sub").mkdir()
        self.source = make_model(self.input / "in.onnx", SIDE, 2.0, "sub/w.bin")

    def text(self):
        self.single()
        self.flags = []
        self.target = self.output / "out.mlir"
        self.target.write_bytes(b"old")
        (self.output / "out.onnx").unlink()

    def bytecode(self):
        self.text()
        self.target.unlink()
        self.target = self.output / "out.mlirbc"
        self.target.write_bytes(b"old")

    def reports(self):
        self.single()
        self.flags = [
            *MIXED,
            f"--report={self.output}/r.html",
            f"--overlay={self.output}/o.json",
        ]
        (self.output / "r.html").write_bytes(b"old report")
        (self.output / "o.json").write_bytes(b"old overlay")

    def reset(self):
        for path in sorted(self.output.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        for name, content in self.old.items():
            (self.output / name).write_bytes(content)
        self.log.unlink(missing_ok=True)

    def fail(self, call, number, action, **more):
        """Runs it; true if the fault has happened."""
        self.reset()
        self.done = run(
            *self.arguments, FAULT_CALL=call, FAULT_NUMBER=number,
            FAULT_ACTION=action, FAULT_LOG=self.log, **more,
        )
        return self.log.exists()

    def check_whole(self, leftovers=()):
        """Every file is the old one or the new one; a model has its data."""
        found = {
            name: content
            for name, content in state(self.output).items()
            if name not in leftovers
        }
        if "reports" in self.flags or len(self.flags) > 2:
            for name, content in found.items():
                assert content in (self.old.get(name), self.new.get(name)), name
            assert found.keys() <= self.old.keys() | self.new.keys()
        else:
            assert found in (self.old, self.new), (
                sorted(found), sorted(self.old), sorted(self.new),
                self.done.stderr,
            )
        return found


SCENARIOS = (
    "single", "fresh", "pair", "unchanged", "subfolder", "text", "bytecode",
    "reports",
)


@pytest.mark.parametrize("named", [0, 1], ids=["unnamed", "named"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_nth_call_fails(name, named, tmp_path):
    scenario = Scenario(tmp_path, name)
    counts = collections.Counter()
    for call in CALLS:
        for action in ("EIO", "ENOSPC", "SHORT"):
            if action == "SHORT" and call not in ("write", "pwrite"):
                continue
            number = 1
            while scenario.fail(call, number, action, NO_TMPFILE=named):
                number += 1
                assert number < 1000
                counts["faults"] += 1
                done = scenario.done
                if call == "unlinkat":
                    # What cannot be removed stays until the next run.
                    check_next_run(scenario)
                    counts["left"] += 1
                    continue
                found = scenario.check_whole()
                if done.returncode == 0:
                    assert action == "SHORT" or call in REPLACEABLE, call
                    assert found == scenario.new
                    counts["absorbed"] += 1
                else:
                    check_error(done, *(scenario.old | scenario.new), "out.")
                    counts["errors"] += 1
            assert scenario.done.returncode == 0, scenario.done.stderr
            assert state(scenario.output) == scenario.new
    print(f"{name}: {dict(counts)}")
    assert counts["errors"] >= 8 and counts["absorbed"] >= 1


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


def check_next_run(scenario):
    """It removes what this one has left; the answer says what that was."""
    found = state(scenario.output).keys()
    left = {name for name in found if TEMPORARY.fullmatch(name)}
    assert found - left <= scenario.old.keys() | scenario.new.keys()
    check_pair(scenario, left)
    run_well(*scenario.arguments)
    assert state(scenario.output) == scenario.new
    return left


def check_pair(scenario, left):
    """The model in place is the old one or the new one, and so are its data.
    Data of the other may still, or already, be there."""
    found = state(scenario.output)
    model = found.get(scenario.target.name)
    assert model in (
        scenario.old.get(scenario.target.name),
        scenario.new.get(scenario.target.name),
    )
    which = scenario.new if model == scenario.new[scenario.target.name] else (
        scenario.old
    )
    if len(scenario.flags) <= 2:
        for name, content in which.items():
            assert found[name] == content, name
    for name, content in found.items():
        if name not in left:
            assert content in (scenario.old.get(name), scenario.new.get(name))


@pytest.mark.parametrize("signal", [2, 15], ids=["INT", "TERM"])
@pytest.mark.parametrize("name", ["single", "pair", "unchanged", "reports"])
def test_signal_at_nth_call(name, signal, tmp_path):
    """Gone by that signal, and nothing left behind."""
    scenario = Scenario(tmp_path, name)
    ended = 0
    action = {2: "INT", 15: "TERM"}[signal]
    for call in CALLS:
        number = 1
        while scenario.fail(call, number, action):
            number += 1
            assert scenario.done.returncode in (-signal, 0)
            ended += scenario.done.returncode == -signal
            scenario.check_whole()
    print(f"{name}: ended {ended} times by signal {signal}")
    assert ended >= 8


@pytest.mark.parametrize("name", ["single", "pair", "unchanged", "text"])
def test_file_size_limit(name, tmp_path):
    """R6: 50 limits to the size of files, from nothing to almost enough."""
    scenario = Scenario(tmp_path, name)
    largest = max(len(content) for content in scenario.new.values())
    failed = 0
    for step in range(50):
        limit = largest * step // 50
        scenario.reset()
        scenario.done = subprocess.run(
            [MP_OPT, *map(str, scenario.arguments)],
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_FSIZE, (limit, limit)
            ),
        )
        check_error(scenario.done, "out.onnx", "out.mlir", "w.bin")
        assert "File too large" in scenario.done.stderr
        assert state(scenario.output) == scenario.old
        failed += 1
    print(f"{name}: {failed} of 50 limits: old files whole, nothing else left")


@pytest.fixture
def small_disk(tmp_path):
    """A file system with little room; needs the right to mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        pytest.skip(f"cannot mount a tmpfs: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("data", [None, "w.bin"], ids=["single", "pair"])
def test_full_disk(data, small_disk, tmp_path):
    """R6: with 0 to 1 MiB left, the old files stay whole or new ones come."""
    old = make_model(tmp_path / "old.onnx", 100, 1.0, data and "old.bin")
    new = make_model(tmp_path / "new.onnx", 500, 2.0, data)
    target = small_disk / "out.onnx"
    run_well(old, *MIXED, "-o", target)
    before = state(small_disk)
    results = collections.Counter()
    for kilobytes in range(0, 1000, 50):
        restore(small_disk, before)
        with open(small_disk / "filler", "wb") as filler:
            filler.write(bytes(kilobytes << 10))
        done = run(new, *MIXED, "-o", target)
        after = state(small_disk)
        del after["filler"]
        if done.returncode:
            check_error(done, "out.onnx")
            assert "No space left on device" in done.stderr
            assert after == before
        else:
            assert after != before
            assert not any(map(TEMPORARY.fullmatch, after))
        results[done.returncode] += 1
    print(f"room for 20 sizes of files: {dict(results)}")
    assert results[0] >= 2 and results[1] >= 2
