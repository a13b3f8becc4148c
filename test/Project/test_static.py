# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that hold MLIR and LLVM write what those write that load them.

usage: test_static.py STATIC SHARED ROOT

Converts the models of tests and examples by both, each to one of several forms,
makes code of the examples, and compares bytes, and what is printed.
"""

import filecmp
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# The forms that each model is converted to, and the suffix of the output.
FORMS = [
    (["--mixed-bf16", "--annotate"], ".onnx"),
    (["--mixed-fp16"], ".mlir"),
    (["--mixed-bf16"], ".mlirbc"),
    (["--emulate", "--mixed-bf16", "--summary=json"], ".onnxtxt"),
]
# Code for another processor than this one.
CODE = (["--emit=obj", "--mixed-bf16", "--cpu=x86-64-v3", "--dim=batch=2"], ".o")
LEAST = 50


def convert(program, model, flags, output):
    """What it prints, and its exit code: both are to be the same, too."""
    done = subprocess.run(
        [program, model, *flags, "-o", output.name],
        cwd=output.parent,
        capture_output=True,
        text=True,
    )
    # Progress messages have times, which differ between runs.
    said = re.sub(r"^mp-opt: compiling .*\n", "", done.stderr, flags=re.M)
    return done.returncode, done.stdout, said


def compare(programs, model, flags, suffix):
    """What differs, or nothing; whether something was written."""
    with tempfile.TemporaryDirectory() as folder:
        outputs = []
        for place, program in enumerate(programs):
            output = pathlib.Path(folder, str(place), "out" + suffix)
            output.parent.mkdir()
            said = convert(program, model, flags, output)
            outputs.append((output, said))
        (first, said), (second, said_too) = outputs
        if said != said_too:
            return f"{model} {flags}: {said} and {said_too}", False
        if first.exists() != second.exists():
            return f"{model} {flags}: only one has written", False
        wrote = first.exists()
        if wrote and not filecmp.cmp(first, second, shallow=False):
            return f"{model} {flags}: other bytes", True
        return None, wrote


def main():
    *programs, root = map(os.path.abspath, sys.argv[1:])
    linked = [subprocess.run(["ldd", program], capture_output=True, text=True,
                             check=True).stdout for program in programs]
    assert "libMLIR.so" not in linked[0] and "libMLIR.so" in linked[1]
    root = pathlib.Path(root)
    examples = sorted((root / "examples").rglob("*.onnxtxt"))
    models = [*sorted((root / "test").rglob("*.onnxtxt")), *examples]
    runs = [(model, *FORMS[place % len(FORMS)])
            for place, model in enumerate(models)]
    runs += [(model, *CODE) for model in examples]
    problems, written, compiled = [], 0, 0
    for run in runs:
        problem, wrote = compare(programs, *run)
        problems += [problem] if problem else []
        written += wrote
        compiled += wrote and run[-1] == ".o"
    print("\n".join(problems))
    print(f"{written} outputs, {compiled} of them code, {len(problems)} problems")
    enough = written >= LEAST and compiled == len(examples) > 0
    return 0 if enough and not problems else 1


if __name__ == "__main__":
    sys.exit(main())
