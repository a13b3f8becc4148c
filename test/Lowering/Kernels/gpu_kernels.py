# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contractions as kernels for GPUs, run in the emulator."""

import ctypes
import os
import pathlib
import re

import kernels

# The tools that emulate kernels: mp-opt for its passes, and a library.
MP_OPT = os.environ.get("MP_OPT", "mp-opt")
EMULATION = pathlib.Path(os.environ.get("EMULATION", kernels.ROOT / "lib/Emulation"))
PASSES = ("builtin.module(convert-contract-to-gpu,gpu.module(canonicalize,cse,"
          "expand-strided-metadata,lower-affine,convert-scf-to-cf,"
          "convert-kernels-to-nvvm,canonicalize,cse))")
LAUNCH = re.compile(r"device\.launch @kernels::@(\w+) grid \[(\d+), 1, 1\] "
                    r"block \[(\d+), 1, 1\](?: shared (\d+))?")


class Kernel(ctypes.Structure):
    """mp_emulated_kernel of mp-opt/Emulation/Emulator.h."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("code", ctypes.c_void_p),
        ("parameters", ctypes.c_uint32),
        ("static_shared", ctypes.c_uint32),
        ("max_threads", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("block", ctypes.c_uint32 * 3),
        ("num_gaps", ctypes.c_uint32),
        ("gaps", ctypes.c_void_p),
        ("places", ctypes.c_void_p),
    ]


def emulate(nvvm):
    """Kernels in NVVM's dialect as code of this machine."""
    return kernels.run(
        MP_OPT, "-", "--mp-emulate-kernels=check-races", text=nvvm)


class Kernels:
    """The kernels of a text's functions, in their order: one contraction each."""

    def __init__(self, text, folder):
        nvvm = kernels.run(
            kernels.KERNEL_OPT, "-", f"--pass-pipeline={PASSES}", text=text)
        self.launches = LAUNCH.findall(nvvm)
        host = emulate(re.sub(r"(?ms)^  func\.func .*?^  }\n", "", nvvm))
        ir = pathlib.Path(folder) / "kernels.ll"
        kernels.run(
            kernels.LLVM_TOOLS / "mlir-translate", "--mlir-to-llvmir", "-o", ir,
            text=host)
        self.library = kernels.link(
            folder, "-O1", "-fno-exceptions",
            "-I", EMULATION.parents[1] / "include", ir,
            *EMULATION.glob("*.cpp"), *EMULATION.glob("*.S"),
            kernels.ROOT / "lib/Runtime/CPU/BFloat16.cpp", "-lpthread")
        count = ctypes.c_uint32.in_dll(self.library, "mp_emulated_kernel_count")
        table = (Kernel * count.value).in_dll(self.library, "mp_emulated_kernels")
        self.table = {kernel.name.decode(): kernel for kernel in table}
        self.library.mp_emulation_error.restype = ctypes.c_char_p

    def call(self, number, *arrays):
        name, grid, block, shared = self.launches[number]
        pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        parameters = (ctypes.c_void_p * len(arrays))(
            *[ctypes.addressof(pointers) + 8 * i for i in range(len(arrays))])
        sizes = ctypes.c_uint32 * 3
        status = self.library.mp_emulate_launch(
            ctypes.byref(self.table[name]), sizes(int(grid), 1, 1),
            sizes(int(block), 1, 1), ctypes.c_uint32(int(shared or 0)), parameters)
        assert status == 0, self.library.mp_emulation_error().decode()
