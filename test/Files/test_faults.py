# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""R6: whatever call of the system fails, a file is the old one or the new one,
and nothing else is left.

faults.c makes the Nth call fail. Each scenario is run for every N of every
call until the call is not made any more.
"""

import collections
import resource
import subprocess

import pytest
from files import (
    MIXED, MP_OPT, TEMPORARY, check_error, make_model, restore, run, run_well,
    state,
)
from scenarios import CALLS, Scenario, check_next_run

# Calls that there is another way for, or whose failing does no harm: leftovers
# that cannot be looked for, an exchange that a plain renaming replaces.
REPLACEABLE = ("renameat2", "openat")
ACTIONS = {
    "write": ["EIO", "ENOSPC", "SHORT"],
    "pwrite": ["EIO", "ENOSPC", "SHORT"],
    "posix_fallocate": ["EIO", "ENOSPC"],
    "fsync": ["EIO", "ENOSPC"],
    "linkat": ["EIO", "ENOSPC"],
}
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
        for action in ACTIONS.get(call, ["EIO"]):
            number = 1
            while scenario.fail(call, number, action, NO_TMPFILE=named):
                number += 1
                assert number < 1000
                counts["faults"] += 1
                done = scenario.done
                if call == "unlinkat":
                    # A file that cannot be removed stays until the next run.
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
