# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled code under clang's numerical sanitizer.

It computes everything in double besides and reports what is stored and differs.
Sums that cancel do, by about the rounding of their terms; nothing may by more.
"""

import pathlib
import re
import shutil
import subprocess

import pytest

import support
from runs import ROOT, write_model
from test_code import SANITIZED, emit

LLVM = pathlib.Path("/usr/lib/llvm-22/bin")
RUNTIME = ROOT / "lib" / "Runtime" / "CPU"

# Values of about one: a product, sums of rows, and functions that use series.
LAYERS = """
g (float[64,96] x, float[96,80] w, float[80] s, float[80] b)
  => (float[64,80] y, float[64,80] z, float[64] r)
<int64[1] axes = {1}>
{
  p = MatMul(x, w)
  z = Softmax(p)
  y = LayerNormalization(p, s, b)
  q = Tanh(p)
  e = Exp(q)
  r = ReduceSum<keepdims = 0>(e, axes)
}
"""
# A case for sanitizers: most digits of x are lost on the way.
UNSTABLE = """
g (float[64] x) => (float[64] y)
<float[1] big = {1000000.0}>
{ a = Add(x, big)
  y = Sub(a, big) }
"""
MAIN = r"""
#include "g.h"
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  const mp_interface *g = g_interface();
  mp_tensor in[8] = {{0, 0}}, out[8] = {{0, 0}};
  for (int i = 0; i < g->num_inputs; ++i) {
    int64_t count = 1;
    for (int j = 0; j < g->inputs[i].rank; ++j)
      count *= g->inputs[i].sizes[j];
    float *data = malloc(count * sizeof(float));
    for (int64_t j = 0; j < count; ++j)
      data[j] = (float)(rand() % 2001 - 1000) / 1000;
    in[i].data = data;
  }
  mp_set_threads(1);
  int code = g_run(in, out);
  fprintf(stderr, "%s\n", mp_last_error());
  return code;
}
"""


def clang(*arguments, cwd):
    subprocess.run([LLVM / "clang", *arguments], check=True, cwd=cwd)


def errors(folder, text):
    """The absolute errors of all that is reported."""
    model = write_model(folder, text)
    emit(model, folder / "g.ll", "--cpu=x86-64-v3", form="llvm")
    code = (folder / "g.ll").read_text()
    # The pass only instruments functions with this attribute.
    marked = code.replace(
        '"no-trapping-math"', 'sanitize_numerical_stability "no-trapping-math"'
    )
    assert marked != code
    (folder / "marked.ll").write_text(marked)
    subprocess.run(
        [LLVM / "opt", "-passes=nsan", "marked.ll", "-o", "g.bc"],
        check=True, cwd=folder,
    )
    (folder / "main.c").write_text(MAIN)
    flags = (
        "-std=c++17", "-fno-exceptions", "-fno-rtti",
        "-fno-threadsafe-statics", f"-I{ROOT / 'include'}",
    )
    clang(*flags, "-c", *sorted(RUNTIME.glob("*.cpp")), cwd=folder)
    objects = [f"{source.stem}.o" for source in RUNTIME.glob("*.cpp")]
    clang(
        "-O1", "-fsanitize=numerical", "main.c", "g.bc", *objects, "-lm", "-lpthread",
        "-o", "main", cwd=folder,
    )
    options = {"NSAN_OPTIONS": "halt_on_error=0"}
    done = support.attempt(program=folder / "main", env=options, code=0)
    found = re.findall(r"Absolute error: (\S+)", done.stderr)
    assert len(found) == done.stderr.count("WARNING: Numerical")
    return [float.fromhex(error) for error in found]


@pytest.fixture(autouse=True)
def tools():
    runtime = LLVM.parent / "lib/clang/22/lib/linux/libclang_rt.nsan-x86_64.a"
    if SANITIZED or not runtime.exists() or not shutil.which(LLVM / "opt"):
        pytest.skip("needs clang 22 for x86-64 with its numerical sanitizer")


def test_layers(tmp_path):
    assert max(errors(tmp_path, LAYERS), default=0) < 1e-6


def test_unstable_code_is_found(tmp_path):
    assert max(errors(tmp_path, UNSTABLE)) > 1e-3
