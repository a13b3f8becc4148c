# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What LLVM makes for AMD's GPUs of the kernels of models: code objects whose
metadata tell of no spills to memory, with products by matrix cores."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "Run"))
from runs import make_step, run_mp_opt, write_model  # noqa: E402

LLVM_TOOLS = pathlib.Path(os.environ.get("LLVM_TOOLS", "/usr/lib/llvm-22/bin"))
# The instructions that multiply 16-bit factors.
CHIPS = {"gfx942": "v_mfma_f32_16x16x16_", "gfx1100": "v_wmma_f32_16x16x16_"}
SMALL = """
net (TYPE[64,128] x, TYPE[128,64] w) => (TYPE[64,64] p, TYPE[64,128] s, TYPE[64] t)
<int64[1] axes = {0}>
{
  p = MatMul(x, w)
  s = Softmax(x)
  t = ReduceSum<keepdims = 0>(p, axes)
}
"""
METADATA = re.compile(
    r"\.name: +(\S+)\n.*?\.private_segment_fixed_size: (\d+)\n.*?"
    r"\.vgpr_spill_count: (\d+)\n", re.DOTALL)


def small(element):
    return lambda folder: write_model(folder, SMALL.replace("TYPE", element))


def step(name):
    return lambda folder: make_step(name, "adamw", "--mixed-bf16")


CASES = {
    "bf16": small("bfloat16"),
    "fp16": small("float16"),
    "fp32": small("float"),
    "mlp784 step": step("mlp784"),
    "bert2 step": step("bert2_op17"),
    "resnet8 step": step("resnet8"),
}


def run(text, tool, *flags):
    done = subprocess.run(
        [LLVM_TOOLS / tool, *flags], input=text, capture_output=True, text=True,
        timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def compile_kernels(folder, model, dim, chip):
    """Assembly of all kernels, and their names."""
    lowered = folder / f"{chip}.mlir"
    run_mp_opt(
        model, f"--convert-onnx-to-linalg{dim}",
        f"--mp-lower-to-rocdl=chip={chip} in-place", "--emit=mlir", "-o", lowered)
    text = lowered.read_text()
    body = re.search(r"(?ms)^  gpu\.module [^{]*\{$(.*?)^  }$", text)[1]
    aliases = "".join(re.findall(r"(?m)^[#!]\w.*= .*\n", text))
    target = ("-mtriple=amdgcn-amd-amdhsa", f"-mcpu={chip}", "-O3")
    ir = run(f"{aliases}module {{{body}}}\n", "mlir-translate", "--mlir-to-llvmir")
    ir = run(ir, "opt", *target, "-S")
    assembly = run(ir, "llc", *target)
    # An object is made of it, too.
    run(ir, "llc", *target, "-filetype=obj", "-o", folder / f"{chip}.o")
    assert (folder / f"{chip}.o").read_bytes()[:4] == b"\x7fELF"
    return assembly, set(re.findall(r"@kernels::@(\w+)", text))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("chip", CHIPS)
def test_objects(tmp_path, chip, name):
    model = CASES[name](tmp_path)
    dim = "=dim=batch=8" if "step" in name else ""
    assembly, kernels = compile_kernels(tmp_path, model, dim, chip)
    found = {kernel: spilled for kernel, *spilled in METADATA.findall(assembly)}
    assert found.keys() == kernels
    assert {k: s for k, s in found.items() if s != ["0", "0"]} == {}
    assert (CHIPS[chip] in assembly) == (name != "fp32")
    assert "v_mfma" not in assembly or chip == "gfx942"
