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
STRATEGY = "kernel-select-gpu-strategy"
PASSES = (f"builtin.module({STRATEGY},convert-groups-to-gpu,"
          "gpu.module(canonicalize,cse,"
          "expand-strided-metadata,lower-affine,convert-scf-to-cf,"
          "convert-kernels-to-nvvm,canonicalize,cse))")
LAUNCH = re.compile(r"device\.launch @kernels::@(\w+) grid \[(\d+), 1, 1\] "
                    r"block \[(\d+), 1, 1\](?: shared (\d+))?")
# The arguments and the body of a function of one contraction.
FUNCTION = re.compile(r"func\.func @\w+\((.*?)\) attributes \{[^}]*\} \{\n"
                      r"(.*?)  return\n\}\n", re.S)
CHOICE = re.compile(r"device\.group +contract strategy <by = (\w+),")
SMALL_TILES = {"fma": "m = 16, n = 16, k = 16, part_m = 2, part_n = 2, stages = 2",
               "": "m = 16, n = 32, k = 32, part_m = 16, part_n = 16, stages = 2"}


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


def run_passes(passes, text):
    return kernels.run(
        kernels.KERNEL_OPT, "-", f"--pass-pipeline={passes}", text=text)


def make_main(bodies, attributes):
    """A model with a group for each contraction."""
    inputs, groups = [], []
    for number, (arguments, body) in enumerate(bodies):
        for argument in arguments.split(", "):
            name, of_type = argument.split(": ")
            inputs.append(f"  {name}_{number} = runtime.input "
                          f"%inputs[{len(inputs)}] : {of_type}\n")
            body = re.sub(rf"{name}\b", f"{name}_{number}", body)
        groups.append(f"  device.group contract {{\n{body}  }}\n")
    return (f"module attributes {{{attributes}}} {{\n"
            "func.func @main(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {\n"
            f"  %ok = arith.constant 0 : i32\n{''.join(inputs)}{''.join(groups)}"
            "  return %ok : i32\n}\n}\n")


def get_small_tile(body, attributes, multiplier):
    """A tile of tensor cores if they multiply such factors."""
    types = re.search(r"ins\(%a, %b : memref<(?:.*x)?(\w+)>, memref<(?:.*x)?(\w+)>\)",
                      body).groups()
    a, b = (match[1] if (match := re.search(rf"round_{name} = (\w+)", body))
            else own for name, own in zip("ab", types))
    fast = a == b and (a in ("bf16", "f16") or a == "f32" and "tf32" in attributes)
    by = multiplier if fast else "fma"
    return f"#kernel.tile<by = {by}, {SMALL_TILES[by if by == 'fma' else '']}>"


def make_model(text, attributes="", multiplier="mma"):
    """A model of a text's functions, whose contractions are computed by tiles,
    those of few products, too."""
    bodies = FUNCTION.findall(text)
    chosen = run_passes(f"builtin.module({STRATEGY})", make_main(bodies, attributes))
    choices = CHOICE.findall(chosen)
    assert len(choices) == len(bodies)
    for number, by in enumerate(choices):
        arguments, body = bodies[number]
        if by == "threads":
            tile = get_small_tile(body, attributes, multiplier)
            bodies[number] = (arguments, body.replace(
                "{indexing_maps", f"{{tile = {tile}, indexing_maps", 1))
    return make_main(bodies, attributes)


def emulate(nvvm):
    """Kernels in NVVM's dialect as code of this machine."""
    return kernels.run(
        MP_OPT, "-", "--mp-emulate-kernels=check-races", text=nvvm)


class Kernels:
    """The kernels of a text's functions, in their order: one contraction each."""

    def __init__(self, text, folder, attributes=""):
        nvvm = run_passes(PASSES, make_model(text, attributes))
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
