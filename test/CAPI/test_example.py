# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example in C: compiled as strictly as compilers can, and run."""

import os
import re
import subprocess

import pytest
from capi import LIBRARY, MODEL, ROOT

EXAMPLE = ROOT / "examples/embed/compiler.c"
INCLUDE = f"-I{ROOT / 'include'}"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("example") / "compiler"
    folder = os.path.dirname(LIBRARY)
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    command += [EXAMPLE, INCLUDE, f"-L{folder}", "-lmp-opt", "-lm"]
    command += [f"-Wl,-rpath,{folder}", "-o", path]
    subprocess.run(command, check=True)
    return path


def test_trains_and_saves(program, tmp_path):
    states = tmp_path / "states.safetensors"
    done = subprocess.run(
        [program, MODEL, states], capture_output=True, text=True, check=True
    )
    assert "multiply-adds in fp16             100.0 %" in done.stdout
    first, last = (
        float(re.search(rf"{word} loss (\S+)", done.stdout)[1])
        for word in ("first", "last")
    )
    assert last < first / 4, done.stdout
    assert "60 steps" in done.stdout
    shown = subprocess.run(
        [os.environ["MP_RUN"], "show", states],
        capture_output=True, text=True, check=True,
    ).stdout
    assert "head.weight.exp_avg " in shown and "loss_scale" in shown


def test_errors_end_with_the_status(program, tmp_path):
    done = subprocess.run(
        [program, tmp_path / "no.onnx", "states.npz"],
        capture_output=True, text=True,
    )
    assert done.returncode == 1
    assert "no.onnx: cannot read it: No such file" in done.stderr


@pytest.mark.parametrize("compiler", ["cc", "c++"])
def test_headers_go_together(compiler, tmp_path):
    """The one of compiled models has other names; both are for C++, too."""
    source = tmp_path / ("both.c" if compiler == "cc" else "both.cpp")
    source.write_text(
        '#include "mp-opt-c/mp_opt.h"\n#include "mp-opt/Runtime/Runtime.h"\n'
        "int main(void) { return mp_opt_api_version() == 0; }\n"
    )
    command = [compiler, "-Wall", "-Werror", "-c", source, INCLUDE]
    subprocess.run([*command, "-o", tmp_path / "both.o"], check=True)
