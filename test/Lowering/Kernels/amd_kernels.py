# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contractions as kernels for AMD's GPUs, run on the processor: lanes.c has what
their instructions do."""

import ctypes
import pathlib
import re

import gpu_kernels
import kernels

# Lanes of a wave, and the instructions that multiply.
CHIPS = {"gfx942": (64, "mfma"), "gfx1100": (32, "wmma")}
# Vectors go to C through memory.
PRODUCT = """
define {sums} @{name}({factors} %a, {factors} %b, {sums} %c{rest}) {{
  %pa = alloca {factors}
  %pb = alloca {factors}
  %pc = alloca {sums}
  store {factors} %a, ptr %pa
  store {factors} %b, ptr %pb
  store {sums} %c, ptr %pc
  call void @lanes_{kind}(ptr %pa, ptr %pb, ptr %pc, i32 {is_f16})
  %r = load {sums}, ptr %pc
  ret {sums} %r
}}
declare void @lanes_{kind}(ptr, ptr, ptr, i32)
"""
PRODUCTS = {
    "llvm.amdgcn.mfma.f32.16x16x16bf16.1k": ("mfma", "<4 x i16>", 0),
    "llvm.amdgcn.mfma.f32.16x16x16f16": ("mfma", "<4 x half>", 1),
    "llvm.amdgcn.wmma.f32.16x16x16.bf16.v8f32.v16i16": ("wmma", "<16 x i16>", 0),
    "llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16": ("wmma", "<16 x half>", 1),
}
FUNCTIONS = {
    "llvm.amdgcn.workitem.id.x": "lanes_thread",
    "llvm.amdgcn.workgroup.id.x": "lanes_block",
    "llvm.amdgcn.s.barrier": "lanes_barrier",
}


def make_product(name, kind, factors, is_f16):
    mfma = kind == "mfma"
    return PRODUCT.format(
        name=name.removeprefix("llvm."), kind=kind, factors=factors, is_f16=is_f16,
        sums="<4 x float>" if mfma else "<8 x float>",
        rest=", i32, i32, i32" if mfma else "")


def to_host(text):
    """LLVM IR for AMD's GPUs as that of this machine."""
    text = text.replace("amdgpu_kernel ", "")
    text = re.sub(r"addrspacecast ptr addrspace\(\d\) (\S+) to ptr\b",
                  r"getelementptr i8, ptr \1, i64 0", text)
    text = re.sub(r"addrspacecast \(ptr addrspace\(\d\) (\S+) to ptr\)", r"\1", text)
    text = re.sub(r" addrspace\(\d\)", "", text)
    for name, function in FUNCTIONS.items():
        text = text.replace(f"@{name}(", f"@{function}(")
    made = set()
    for name, product in PRODUCTS.items():
        if f"@{name}(" not in text:
            continue
        text = re.sub(rf"(?m)^declare .*@{re.escape(name)}\(.*\n", "", text)
        text = text.replace(f"@{name}(", f"@{name.removeprefix('llvm.')}(")
        definition = make_product(name, *product)
        if product[0] in made:
            definition = re.sub(r"(?m)^declare .*\n", "", definition)
        made.add(product[0])
        text += definition
    unknown = set(re.findall(r"@(llvm\.amdgcn[\w.]*)", text))
    assert not unknown, unknown
    return text


class Kernels:
    """As gpu_kernels.Kernels, for a chip."""

    def __init__(self, text, folder, chip):
        self.lanes, multiplier = CHIPS[chip]
        passes = gpu_kernels.PASSES.replace(
            "convert-kernels-to-nvvm", f"convert-kernels-to-rocdl{{chip={chip}}}")
        model = gpu_kernels.make_model(
            text, f'device.target = #device.target<chip = "{chip}">', multiplier)
        rocdl = gpu_kernels.run_passes(passes, model)
        self.launches = gpu_kernels.LAUNCH.findall(rocdl)
        body = re.search(r"(?ms)^  gpu\.module [^{]*\{$(.*?)^  }$", rocdl)[1]
        aliases = "".join(re.findall(r"(?m)^[#!].*\n", rocdl))
        ir = kernels.run(
            kernels.LLVM_TOOLS / "mlir-translate", "--mlir-to-llvmir",
            text=f"{aliases}module {{{body}}}\n")
        path = pathlib.Path(folder) / "kernels.ll"
        path.write_text(to_host(ir))
        self.library = kernels.link(
            folder, "-O1", "-fno-exceptions", path,
            pathlib.Path(__file__).with_name("lanes.c"),
            kernels.ROOT / "lib/Runtime/CPU/BFloat16.cpp")

    def call(self, number, *arrays):
        name, grid, block, _ = self.launches[number]
        pointers = (ctypes.c_void_p * 8)(*[array.ctypes.data for array in arrays])
        status = self.library.lanes_run(
            self.library[name], pointers, ctypes.c_uint32(int(grid)),
            ctypes.c_uint32(int(block)), ctypes.c_uint32(self.lanes))
        assert status == 0, status
