#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our kernels beside oneDNN's, in one process and one thread, taking turns.

Its environment: KERNEL_OPT, the program of that name, and ONEDNN, the prefix
of an installation.

Words select cases: a case is measured if its name contains one of them. Rates
are the best of many short repeats, in GFLOP/s; what is compared is their ratio.
"""

import argparse
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import time

LINE = 64  # bytes
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "test" / "Lowering" / "Kernels"))


def conv_cases():
    """ResNet-50's convolutions (input channels, size, outputs, window, stride)."""
    shapes = [
        (3, 224, 64, 7, 2), (64, 56, 64, 1, 1), (64, 56, 64, 3, 1), (64, 56, 256, 1, 1),
        (256, 56, 64, 1, 1), (256, 56, 128, 1, 1), (128, 56, 128, 3, 2), (128, 28, 512, 1, 1),
        (256, 56, 512, 1, 2), (512, 28, 128, 1, 1), (128, 28, 128, 3, 1), (512, 28, 256, 1, 1),
        (256, 28, 256, 3, 2), (256, 14, 1024, 1, 1), (512, 28, 1024, 1, 2), (1024, 14, 256, 1, 1),
        (256, 14, 256, 3, 1), (1024, 14, 512, 1, 1), (512, 14, 512, 3, 2), (512, 7, 2048, 1, 1),
        (1024, 14, 2048, 1, 2), (2048, 7, 512, 1, 1), (512, 7, 512, 3, 1),
    ]
    return {f"{c}x{s}-{f}-k{k}s{d}": (c, s, f, k, d) for c, s, f, k, d in shapes}


def products():
    cases = {f"gemm-{s}": (1, s, s, s, 0, 0) for s in (256, 512, 1024, 2048, 4096)}
    for name, (m, n, k) in {
        "dense": (2048, 512, 512), "up": (2048, 2048, 512), "down": (2048, 512, 2048),
    }.items():
        cases[f"{name}"] = (1, m, n, k, 0, 0)
        cases[f"{name}-dx"] = (1, m, k, n, 0, 1)
        cases[f"{name}-dw"] = (1, k, n, m, 1, 0)
    cases["scores"] = (128, 128, 128, 64, 0, 1)
    cases["context"] = (128, 128, 64, 128, 0, 0)
    cases["context-dw"] = (128, 128, 64, 128, 1, 0)
    cases["row"] = (1, 1, 4096, 4096, 0, 0)
    cases["row-t"] = (1, 1, 4096, 4096, 0, 1)
    cases["rows-8"] = (1, 8, 4096, 1024, 0, 0)
    cases["rows-8-t"] = (1, 8, 4096, 1024, 0, 1)
    cases["columns-8"] = (1, 4096, 8, 1024, 0, 0)
    return cases


def build_peer(folder, prefix):
    library = pathlib.Path(folder) / "peer.so"
    subprocess.run(
        ["c++", "-O2", "-std=c++17", "-fPIC", "-shared", f"-I{prefix}/include",
         HERE / "onednn_peer.cpp", f"-L{prefix}/lib", "-ldnnl", f"-Wl,-rpath,{prefix}/lib",
         "-o", library], check=True)
    peer = ctypes.CDLL(str(library))
    peer.peer_matmul.restype = peer.peer_conv.restype = ctypes.c_void_p
    return peer


def best(jobs, seconds, clock):
    """The least time of each job; they take turns."""
    least = [float("inf")] * len(jobs)
    for job in jobs:
        job()
    end = time.perf_counter() + seconds * len(jobs)
    while time.perf_counter() < end:
        for i, job in enumerate(jobs):
            start = clock()
            job()
            least[i] = min(least[i], clock() - start)
    return least


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("words", metavar="WORD", nargs="*")
    parser.add_argument("--form", default="widen")
    parser.add_argument("--isa", default="avx512")
    parser.add_argument("--tuning", default="")
    parser.add_argument("--types", default="f32,bf16")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=0.3)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"

    # CPU time of the thread: other processes affect it less.
    clock = time.thread_time

    import numpy
    import kernels
    from kernels import Contraction, DTYPES

    def selected(name):
        return not options.words or any(w in name for w in options.words)

    def make_array(shape, dtype):
        """Zeros where a line of memory begins, as in models and as the peer's."""
        size = numpy.dtype(dtype).itemsize * int(numpy.prod(shape))
        memory = numpy.zeros(size + LINE, numpy.uint8)
        first = -memory.ctypes.data % LINE
        return memory[first : first + size].view(dtype).reshape(shape)

    with tempfile.TemporaryDirectory() as folder:
        peer = build_peer(folder, os.environ["ONEDNN"])

        def compile_own(contraction, shapes):
            place = tempfile.mkdtemp(dir=folder)
            library = kernels.compile_text(
                contraction.text(shapes), place, isa=options.isa, form=options.form, tuning=options.tuning)
            function = library["_mlir_ciface_f"]
            function.restype = None
            return function

        def measure(name, contraction, shapes, flops, dtype, jobs):
            wide = contraction.types[2]
            arrays = [make_array(s, DTYPES[t]) for s, t in zip(shapes, contraction.all_types())]
            own = compile_own(contraction, shapes)
            descriptors = [kernels.descriptor(a) for a in arrays]
            pointers = [ctypes.byref(d) for d in descriptors]
            runs = [lambda: own(*pointers)]
            runs += [lambda job=job: peer.peer_run(ctypes.c_void_p(job)) for job in jobs]
            times = best(runs, options.seconds, clock)
            rates = [flops / t / 1e9 for t in times]
            peers = " ".join(f"{r:8.1f}" for r in rates[1:])
            print(f"{name:28} {dtype:5} {wide:5} {rates[0]:8.1f} | {peers} | "
                  f"{rates[0] / max(rates[1:]):.2f}", flush=True)

        for dtype in options.types.split(","):
            store = "kernel.yield %sum : f32"
            if dtype != "f32":
                store = (f"%0 = arith.truncf %sum : f32 to {dtype}\n"
                         f"kernel.yield %0 : {dtype}")
            types = (dtype, dtype, dtype)
            for name, (batch, m, n, k, ta, tb) in products().items():
                if not selected(name):
                    continue
                head = "b, " if batch > 1 else ""
                contraction = Contraction(
                    ("b " if batch > 1 else "") + "m n k", head + ("k, m" if ta else "m, k"),
                    head + ("n, k" if tb else "k, n"), head + "m, n", types, epilogue=store,
                    static=True)
                lead = (batch,) if batch > 1 else ()
                shapes = [lead + ((k, m) if ta else (m, k)), lead + ((n, k) if tb else (k, n)),
                          lead + (m, n)]
                peers = [t for t in {dtype: 0, "f32": 0}]
                jobs = [peer.peer_matmul(*(ctypes.c_int64(v) for v in (batch, m, n, k)), ta, tb,
                                         t.encode(), t.encode()) for t in peers]
                measure(name, contraction, shapes, 2 * batch * m * n * k, dtype, jobs)
            for name, (c, s, f, k, d) in conv_cases().items():
                pad, n = k // 2, options.batch
                place = (s + 2 * pad - k) // d + 1
                x = f"n, c, {d}*i+k-{pad}, {d}*j+l-{pad}"
                shapes = {"x": (n, c, s, s), "w": (f, c, k, k), "y": (n, f, place, place)}
                kinds = {
                    "fwd": ("n f i j c k l", (x, "f, c, k, l", "n, f, i, j"), "xwy", 0),
                    "bww": ("n f i j c k l", ("n, f, i, j", x, "f, c, k, l"), "yxw", 2),
                }
                if d == 1:
                    kinds["bwd"] = (
                        "n c i j f k l",
                        (f"n, f, i-k+{pad}, j-l+{pad}", "f, c, k, l", "n, c, i, j"), "ywx", 1)
                for kind, (dims, maps, order, number) in kinds.items():
                    if not selected(f"conv-{kind}-{name}"):
                        continue
                    contraction = Contraction(dims, *maps, types, epilogue=store, static=True)
                    jobs = [peer.peer_conv(number, *(ctypes.c_int64(v) for v in (n, c, s, f, k, d, pad)),
                                           plain, t.encode(), t.encode())
                            for t in {dtype: 0, "f32": 0} for plain in (0, 1)]
                    measure(f"conv-{kind}-{name}", contraction, [shapes[o] for o in order],
                            2 * n * f * place * place * c * k * k, dtype, jobs)


if __name__ == "__main__":
    main()
