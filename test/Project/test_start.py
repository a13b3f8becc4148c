# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs start without looking for MLIR and LLVM, and make what they need.

usage: test_start.py PROGRAM...

Fails if a program loads libMLIR.so or libLLVM.so, or anything else that was to
become a part of it, if mp-opt takes a plugin, if the fastest of some starts
takes MAX_SECONDS of a processor, or if one touches more pages than MAX_PAGES
has for it. Pages that are touched for the first time are where
the time of a start goes, and unlike the time itself they are the same number,
give or take 1 %, however busy the machine is. Reading all of ONNX's schemas, or
JSON, takes thousands.
"""

import os
import re
import subprocess
import sys
import tempfile

ADMITTED = re.compile(
    r"ld-linux.*|linux-vdso.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|jemalloc)\.so.*"
)
# The limits in pages of 4 KiB: 1.5 times the measured numbers.
MAX_PAGES = {
    "mp-opt --version": 1600,
    "mp-opt": 2000,
    "mp-run --version": 1600,
    "mp-run": 2000,
}
# 5 ms and 8 ms where nothing else runs, waits for disks included.
MAX_SECONDS = 0.015
STARTS = 40
MODEL = """<ir_version: 10, opset_import: ["" : 22]>
four (float[8,32] x, float[32,32] w) => (float[8,32] y)
{ a = MatMul(x, w) b = Relu(a) c = Add(b, b) y = Softmax(c) }
"""


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


def run(command):
    """What the process has used."""
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return usage


def count_pages(command):
    """Of 4 KiB, that a process touches for the first time."""
    usage = run(command)
    faults = usage.ru_minflt + usage.ru_majflt
    return faults * os.sysconf("SC_PAGE_SIZE") // 4096


def measure_seconds(command):
    """What the fastest start takes of the processor."""
    used = [run(command) for _ in range(STARTS)]
    return min(usage.ru_utime + usage.ru_stime for usage in used)


def list_starts(program, folder):
    """Commands by their names: one that does nothing, and one that turns a model
    of four nodes into bf16, or runs it with code that an earlier run has kept."""
    name = os.path.basename(program)
    model = os.path.join(folder, "four.onnxtxt")
    with open(model, "w", encoding="utf-8") as file:
        file.write(MODEL)
    work = {
        "mp-opt": ["--mixed-bf16", "--emit=onnx", "-o", f"{folder}/out.onnx"],
        "mp-run": ["--random", f"--cache={folder}/kept/", "--threads=1"],
    }[name]
    verb = ["run"] if name == "mp-run" else []
    return {
        f"{name} --version": [program, "--version"],
        name: [program, *verb, model, *work],
    }


def find_slow_starts(program):
    with tempfile.TemporaryDirectory() as folder:
        for name, command in list_starts(program, folder).items():
            # The first one reads from disks, and keeps code.
            pages = [count_pages(command) for _ in range(3)][-1]
            print(f"{name}: {pages} pages")
            if pages > MAX_PAGES[name]:
                yield f"{name} touches {pages} pages: at most {MAX_PAGES[name]}"
            # A program that runs a model also makes random numbers, and caches
            # code.
            if name == "mp-run":
                continue
            seconds = measure_seconds(command)
            print(f"{name}: {1000 * seconds:.1f} ms")
            if seconds > MAX_SECONDS:
                yield f"{name} takes {seconds} s: at most {MAX_SECONDS}"


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
        problems += find_slow_starts(program)
    print("\n".join(problems))
    return 1 if problems or len(sys.argv) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
