# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contractions compiled, run, and computed in float64 for comparison."""

import ctypes
import dataclasses
import mmap
import os
import pathlib
import re
import subprocess

import ml_dtypes
import numpy

KERNEL_OPT = os.environ.get("KERNEL_OPT", "kernel-opt")
LLVM_TOOLS = pathlib.Path(os.environ.get("LLVM_TOOLS", "/usr/lib/llvm-22/bin"))
ROOT = pathlib.Path(__file__).parents[3]
RUNTIME = [
    pathlib.Path(__file__).with_name("scratch.c"),
    # Rounding to bf16, where the processor has no registers of it.
    ROOT / "lib/Runtime/CPU/BFloat16.cpp",
]
DTYPES = {
    "f32": numpy.dtype(numpy.float32),
    "f64": numpy.dtype(numpy.float64),
    "f16": numpy.dtype(numpy.float16),
    "bf16": numpy.dtype(ml_dtypes.bfloat16),
}
PASSES = [
    "--canonicalize",
    "--cse",
    "--loop-invariant-code-motion",
    "--convert-scratch-to-llvm",
    "--convert-scf-to-cf",
    "--convert-vector-to-llvm=enable-x86vector",
    "--arith-expand=include-bf16=true",
    "--expand-strided-metadata",
    "--lower-affine",
    "--convert-math-to-llvm",
    "--convert-arith-to-llvm",
    "--finalize-memref-to-llvm",
    "--convert-func-to-llvm",
    "--convert-cf-to-llvm",
    "--reconcile-unrealized-casts",
]


@dataclasses.dataclass
class Contraction:
    """What kernel.contract says; maps are results separated by commas."""

    dims: str
    a: str
    b: str
    c: str
    types: tuple = ("f32", "f32", "f32")
    extras: tuple = ()  # (map, type)
    # Lines of the region; %sum, %x0, %x1 ... are its arguments.
    epilogue: str = "kernel.yield %sum : f32"
    sizes: tuple = ()
    static: bool = False
    rounding: tuple = ("", "")  # the types that a and b are rounded to

    def maps(self):
        return [self.a, self.b, *(m for m, _ in self.extras), self.c]

    def all_types(self):
        return [*self.types[:2], *(t for _, t in self.extras), self.types[2]]

    def text(self, shapes, name="f"):
        maps = ", ".join(
            f"affine_map<({', '.join(self.dims.split())}) -> ({m})>"
            for m in self.maps()
        )

        def memref(shape, dtype):
            sizes = [str(s) if self.static else "?" for s in shape]
            return f"memref<{'x'.join([*sizes, dtype])}>"

        types = [memref(s, t) for s, t in zip(shapes, self.all_types())]
        names = ["%a", "%b", *(f"%e{i}" for i in range(len(self.extras))), "%c"]
        arguments = [f"{n}: {t}" for n, t in zip(names, types)]
        constants = "".join(
            f"  %s{i} = arith.constant {s} : index\n"
            for i, s in enumerate(self.sizes)
        )
        sizes = ", ".join(f"%s{i}" for i in range(len(self.sizes)))
        wide = "f64" if self.types[0] == "f64" else "f32"
        region = [f"%sum: {wide}"]
        region += [f"%x{i}: {t}" for i, (_, t) in enumerate(self.extras)]
        rounding = "".join(
            f", round_{n} = {t}" for n, t in zip("ab", self.rounding) if t)
        extra = ""
        if self.extras:
            extra = f"extra({', '.join(names[2:-1])} : {', '.join(types[2:-1])}) "
        if sizes:
            extra += f"sizes({sizes}) "
        return (
            f"func.func @{name}({', '.join(arguments)}) "
            "attributes {llvm.emit_c_interface} {\n"
            f"{constants}"
            f"  kernel.contract {{indexing_maps = [{maps}]{rounding}}}\n"
            f"    ins(%a, %b : {types[0]}, {types[1]}) {extra}"
            f"outs(%c : {types[-1]}) {{\n"
            f"    ^bb0({', '.join(region)}):\n"
            f"{self.epilogue}\n  }}\n  return\n}}\n"
        )


def kernel_passes(isa, form, tuning):
    """From contractions to loops: `form` is one of --kernels, `tuning` options
    of kernel-select-strategy."""
    return [
        f"--mp-set-target=isa={isa} kernels={form}",
        f"--kernel-select-strategy={tuning}",
        "--kernel-outline-contracts",
        "--kernel-to-cpu",
    ]


def run(tool, *flags, text=None):
    """What a tool writes to standard output."""
    return subprocess.run(
        [tool, *flags], input=text, check=True, stdout=subprocess.PIPE,
        encoding="utf-8").stdout


def link(folder, *arguments):
    """The shared library that clang makes for this machine."""
    library = pathlib.Path(folder) / "kernels.so"
    run(LLVM_TOOLS / "clang", "-march=native", "-fPIC", "-shared",
        "-Wno-override-module", "-I", ROOT / "include", *arguments, "-o", library)
    return ctypes.CDLL(str(library))


def lower_text(text):
    """The functions of contractions in text."""
    passes = kernel_passes("avx512", "widen", "")
    return run(KERNEL_OPT, "-", *passes, text=text)


def native_isa():
    """What contractions are compiled for here. Vectors of 64 bytes, taken apart
    for a processor without them, cost LLVM minutes and test nothing."""
    flags = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    return "avx512" if "avx512f" in flags else "avx2"


def compile_text(text, folder, isa=None, form="widen", tuning=""):
    """The shared library of functions with contractions."""
    folder = pathlib.Path(folder)
    source = folder / "kernel.mlir"
    source.write_text(text)
    lowered, ir = folder / "llvm.mlir", folder / "kernel.ll"
    passes = kernel_passes(isa or native_isa(), form, tuning)
    run(KERNEL_OPT, source, *passes, *PASSES, "-o", lowered)
    run(LLVM_TOOLS / "mlir-translate", "--mlir-to-llvmir", lowered, "-o", ir)
    return link(folder, "-O3", "-mprefer-vector-width=512", ir, *RUNTIME)


def guarded(array):
    """A copy that ends where a page begins that no one may touch."""
    room = -(-array.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, room + mmap.PAGESIZE)
    numpy.frombuffer(memory, numpy.uint8)[room - array.nbytes : room] = (
        numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8))
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    forbid = ctypes.CDLL(None, use_errno=True).mprotect
    forbid.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    assert forbid(start + room, mmap.PAGESIZE, 0) == 0
    whole = numpy.frombuffer(memory, numpy.uint8)
    return whole[room - array.nbytes : room].view(array.dtype).reshape(array.shape)


def descriptor(array):
    """The memref descriptor that C interfaces take."""

    rank = array.ndim

    class Descriptor(ctypes.Structure):
        _fields_ = [
            ("allocated", ctypes.c_void_p),
            ("aligned", ctypes.c_void_p),
            ("offset", ctypes.c_int64),
            ("sizes", ctypes.c_int64 * rank),
            ("strides", ctypes.c_int64 * rank),
        ]

    strides = [s // array.itemsize for s in array.strides]
    return Descriptor(array.ctypes.data, array.ctypes.data, 0,
                      (ctypes.c_int64 * rank)(*array.shape),
                      (ctypes.c_int64 * rank)(*strides))


def call(library, name, *arrays):
    function = getattr(library, f"_mlir_ciface_{name}")
    function.restype = None
    descriptors = [descriptor(array) for array in arrays]
    function(*(ctypes.byref(d) for d in descriptors))


def split(text):
    return [part.strip() for part in text.split(",")] if text.strip() else []


def loop_sizes(contraction, shapes):
    sizes, rest = {}, list(contraction.sizes)
    dims = contraction.dims.split()
    for places, shape in zip(contraction.maps(), shapes):
        for place, size in zip(split(places), shape):
            if place in dims:
                sizes[place] = size
    for dim in dims:
        if dim not in sizes:
            sizes[dim] = rest.pop(0)
    return [sizes[dim] for dim in dims]


def reference(contraction, arrays):
    """The sums and the sums of absolute values in float64, at c's places, and
    the number of summed products."""
    dims = contraction.dims.split()
    sizes = loop_sizes(contraction, [a.shape for a in arrays])
    grid = dict(zip(dims, numpy.ogrid[tuple(slice(s) for s in sizes)]))
    factors = []
    for places, array in zip(contraction.maps()[:2], arrays):
        index, valid = [], True
        for place, size in zip(split(places), array.shape):
            at = numpy.asarray(eval(place, {}, grid))  # pylint: disable=eval-used
            valid = valid & (at >= 0) & (at < size)
            index.append(numpy.clip(at, 0, max(size - 1, 0)))
        values = array.astype(numpy.float64)
        factors.append(numpy.where(valid, values[tuple(index)], 0.0))
    kept = [d for d in dims if re.search(rf"\b{d}\b", contraction.c)]
    summed = tuple(i for i, d in enumerate(dims) if d not in kept)
    product = numpy.broadcast_to(factors[0] * factors[1], sizes)
    count = int(numpy.prod([sizes[i] for i in summed], dtype=numpy.int64))
    order = [sizes[i] for i in range(len(dims)) if i not in summed]
    return (product.sum(axis=summed).reshape(order),
            numpy.abs(product).sum(axis=summed).reshape(order), count)


def at_output(contraction, arrays, values):
    """Values for all dims of c, put where its map leads."""
    dims = contraction.dims.split()
    sizes = dict(zip(dims, loop_sizes(contraction, [a.shape for a in arrays])))
    kept = [d for d in dims if re.search(rf"\b{d}\b", contraction.c)]
    grid = dict(zip(kept, numpy.ogrid[tuple(slice(sizes[d]) for d in kept)]))
    result = arrays[-1].astype(numpy.float64)
    index = tuple(eval(p, {}, grid) for p in split(contraction.c))
    result[index] = values
    return result
