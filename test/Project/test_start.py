# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs start without looking for MLIR and LLVM.

usage: test_start.py PROGRAM...

Fails if a program loads libMLIR.so or libLLVM.so, or anything else that was to
become a part of it, if mp-opt takes a plugin, or if each of 10 starts takes more
than 30 ms of processor time.
"""

import os
import re
import resource
import subprocess
import sys

ADMITTED = re.compile(
    r"ld-linux.*|linux-vdso.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|jemalloc)\.so.*"
)
MOST_SECONDS = 0.03


def find_libraries(program):
    listing = subprocess.run(
        ["ldd", program],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "LC_ALL": "C"},
    ).stdout
    names = [os.path.basename(line.split()[0]) for line in listing.splitlines()]
    assert names, f"{program}: ldd prints nothing"
    return [name for name in names if not ADMITTED.fullmatch(name)]


def measure_start(program):
    """The processor time of the fastest of several."""

    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    times = []
    for _ in range(10):
        before = used()
        subprocess.run(
            [program, "--version"], stdout=subprocess.DEVNULL, check=True
        )
        times.append(used() - before)
    return min(times)


def find_plugin_problems(program):
    """A plugin would bring another MLIR: each flag for one is an error."""
    for flag in ("--load-dialect-plugin", "--load-pass-plugin"):
        done = subprocess.run(
            [program, f"{flag}=no-such-plugin.so", os.devnull],
            capture_output=True,
            text=True,
        )
        if done.returncode != 2 or f"error: {flag}: MLIR is" not in done.stderr:
            yield f"{program} {flag}: {done.returncode}, {done.stderr}"


def main():
    problems = []
    for program in sys.argv[1:]:
        if os.path.basename(program) == "mp-opt":
            problems += find_plugin_problems(program)
        problems += [f"{program} loads {name}" for name in find_libraries(program)]
        seconds = measure_start(program)
        print(f"{program}: {seconds * 1000:.0f} ms")
        if seconds > MOST_SECONDS:
            problems.append(f"{program} takes {seconds * 1000:.0f} ms to start")
    print("\n".join(problems))
    return 1 if problems or len(sys.argv) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
