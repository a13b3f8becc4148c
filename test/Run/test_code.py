# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-opt --emit=llvm, obj and lib: what programs in C get of a model."""

import ctypes
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

import support
from libraries import SANITIZED, TYPES, Library, dims_of, emit, needs_linker
from runs import BAD_INPUT, MODELS, NOT_COMPILED, ROOT, USAGE, compute
from runs import make_step, mp_run, read_log, run_mp_opt, train_folder, write_model

RUNTIME = ROOT / "lib" / "Runtime" / "CPU"

# Arithmetic, a state, a default, symbolic sizes, an error that data cause.
SMALL = """
small (float[n,3] x, int64[m] rows, float[3] w) => (float[m,3] y, float[3] w_new)
<float[3] w = {1, 10, 100}>
{
  scaled = Mul(x, w)
  y = Gather(scaled, rows)
  w_new = Add(w, w)
}
"""


def fail(code, *arguments):
    done = support.attempt(*arguments, code=code)
    return done.stderr


def build_runtime(folder, compiler, *flags):
    """libMPOptRuntime.a of its sources."""
    sources = sorted(RUNTIME.glob("*.cpp"))
    subprocess.run(
        [
            compiler, "-std=c++17", "-O2", "-fPIC", "-fno-exceptions",
            "-fno-rtti", "-fno-threadsafe-statics", f"-I{ROOT / 'include'}",
            *flags, "-c", *sources,
        ],
        check=True,
        cwd=folder,
    )
    archive = folder / "libMPOptRuntime.a"
    objects = [folder / (source.stem + ".o") for source in sources]
    subprocess.run(["ar", "qc", archive, *objects], check=True)
    return archive


@pytest.fixture
def small(tmp_path):
    return write_model(tmp_path, SMALL)


X = np.arange(6, dtype=np.float32).reshape(2, 3)
W = np.array([1, 10, 100], np.float32)


@needs_linker
def test_calls(tmp_path, small):
    library = Library(emit(small, tmp_path / "libsmall.so"), "small")
    assert [v.name for v in library.inputs] == [b"x", b"rows", b"w"]
    assert library.outputs[1].state == 2
    found = library.run({"x": X, "rows": [1, 0, -1]})
    np.testing.assert_array_equal(found["y"], (X * W)[[1, 0, -1]])
    np.testing.assert_array_equal(found["w_new"], 2 * W)
    found = library.run({"x": X[:0], "rows": [], "w": -W})
    assert found["y"].shape == (0, 3)
    np.testing.assert_array_equal(found["w_new"], -2 * W)


@needs_linker
def test_bad_calls(tmp_path, small):
    library = Library(emit(small, tmp_path / "libsmall.so"), "small")
    assert library.error({"x": X}) == (1, "input 'rows': no data")
    code, text = library.error({"x": X.T, "rows": [0]})
    assert (code, text) == (1, "input 'x': size 2 of axis 1, expected 3")
    code, text = library.error({"x": X, "rows": [0, 2]})
    assert code == 2 and "index 2 is out of range for size 2" in text
    # Nothing sticks.
    library.run({"x": X, "rows": [0]})


@needs_linker
def test_states_in_place(tmp_path, small):
    path = emit(small, tmp_path / "libsmall.so", "--in-place")
    library = Library(path, "small")
    assert [v.written for v in library.inputs] == [0, 0, 1]
    w = W.copy()
    library.run({"x": X, "rows": [0], "w": w})
    np.testing.assert_array_equal(w, 2 * W)
    code, text = library.error({"x": X, "rows": [0]})
    assert code == 1 and "writes its next value there" in text


@needs_linker
@pytest.mark.parametrize("name", ["bert2_op17", "mlp784", "resnet8"])
def test_steps_for_any_batch(tmp_path, name):
    """One library; mp-run compiles for the sizes of each batch."""
    step = make_step(name, "sgd")
    library = Library(emit(step, tmp_path / "libany.so"), "any")
    data = np.load(train_folder(name) / "data.npz")
    for size in (2, 5):
        batch = {key: data[key][0][:size] for key in data.files}
        expected, found = compute(step, batch), library.run(batch)
        assert list(expected) == list(found)
        for key in expected:
            np.testing.assert_allclose(
                found[key], expected[key], rtol=1e-4, atol=1e-6, err_msg=key
            )


@needs_linker
@pytest.mark.parametrize("flags", [(), ("--mixed-bf16",), ("--mixed-fp16",)])
@pytest.mark.parametrize("name", ["bert_like_op17", "resnet18_w8_op17"])
def test_library_equals_jit(tmp_path, name, flags):
    """The same bits, with one thread and with two."""
    folder = MODELS / "fwd" / name
    data = dict(np.load(folder / "io0.npz"))
    model = tmp_path / "m.onnx"
    run_mp_opt(folder / "model.onnx", *flags, "--summary=none", "-o", model)
    inputs = {k.removeprefix("in:"): v for k, v in data.items() if "in:" in k}
    dims = dims_of(model, inputs)
    library = Library(emit(model, tmp_path / "libm.so", dims), "m")
    expected = compute(model, inputs)
    for threads in (1, 2):
        library.threads(threads)
        found = library.run(inputs)
        for key in expected:
            np.testing.assert_array_equal(
                found[key].astype(np.float32), expected[key].astype(np.float32)
            )


def has_avx2():
    flags = pathlib.Path("/proc/cpuinfo")
    return flags.exists() and " avx2 " in flags.read_text()


@needs_linker
@pytest.mark.skipif(not has_avx2(), reason="needs a processor with AVX2")
@pytest.mark.parametrize("flag", ["--mixed-bf16", "--mixed-fp16"])
@pytest.mark.parametrize("name", ["bert_like_op17", "resnet18_w8_op17"])
def test_avx2(tmp_path, name, flag):
    """Without registers of 16-bit floats, a library still stands alone."""
    folder = MODELS / "fwd" / name
    data = dict(np.load(folder / "io0.npz"))
    inputs = {k.removeprefix("in:"): v for k, v in data.items() if "in:" in k}
    model = tmp_path / "m.onnx"
    run_mp_opt(folder / "model.onnx", flag, "--summary=none", "-o", model)
    dims = dims_of(model, inputs)
    found = Library(
        emit(model, tmp_path / "libm.so", dims, "--cpu=x86-64-v3"), "m"
    ).run(inputs)
    expected = Library(emit(model, tmp_path / "libn.so", dims), "n").run(inputs)
    # Sums are added up in another order, and rounded once.
    place = 2**-8 if flag == "--mixed-bf16" else 2**-11
    for key, value in expected.items():
        value = value.astype(np.float64)
        error = np.abs(found[key].astype(np.float64) - value).max()
        assert 0 < np.abs(value).max() and error < 8 * place * np.abs(value).max()


@needs_linker
@pytest.mark.skipif(not has_avx2(), reason="needs a processor with AVX2")
def test_casts_to_bfloat16(tmp_path):
    """Rounded once, by functions where no instruction does it."""
    tie = 1 + 2**-8
    x = [tie, tie + 2**-40, -tie - 2**-40, tie + 2**-7, 1e300, 2**-140, np.nan]
    wide = [1, 1 + 2**-7, -1 - 2**-7, 1 + 2**-6, np.inf, 0, np.nan]
    model = write_model(
        tmp_path,
        """casts (double[7] x, int64[3] i) => (float[7] y, float[3] j) {
             a = Cast<to = 16>(x)
             y = Cast<to = 1>(a)
             b = Cast<to = 16>(i)
             j = Cast<to = 1>(b)
           }""",
    )
    data = {"x": np.array(x), "i": np.array([257, 258, -259])}
    library = emit(model, tmp_path / "libcasts.so", "--cpu=x86-64-v3")
    for found in Library(library, "casts").run(data), compute(model, data):
        np.testing.assert_array_equal(found["y"], np.float32(wide))
        np.testing.assert_array_equal(found["j"], np.float32([256, 258, -260]))


def initial_states(library):
    """The arrays that a step replaces, by name, as its model has them."""
    states = {}
    for value in library.inputs:
        if any(library.inputs[o.state].name == value.name
               for o in library.outputs if o.state >= 0):
            shape = value.sizes[: value.rank]
            dtype = np.dtype(TYPES[value.type])
            size = int(np.prod(shape)) * dtype.itemsize
            raw = ctypes.string_at(value.initial, size)
            array = np.frombuffer(raw, dtype).reshape(shape).copy()
            states[value.name.decode()] = array
    return states


@needs_linker
@pytest.mark.parametrize("flags", [(), ("--mixed-bf16",), ("--mixed-fp16",)])
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_training_in_place(tmp_path, flags, optimizer):
    """All of a step reads the weights as they were before, wherever the next
    ones are written: the same bits."""
    step = make_step("mlp784", optimizer, *flags)
    batches = np.load(train_folder("mlp784") / "data.npz")
    batch = {k: batches[k][0] for k in batches.files}
    dims = dims_of(step, batch)
    results = []
    for name, way in ("plain", ()), ("inplace", ("--in-place",)):
        library = Library(
            emit(step, tmp_path / f"lib{name}.so", *way, dims), name
        )
        states = initial_states(library)
        assert states
        results.append(library.run({**batch, **states}))
    plain, in_place = results
    assert plain.keys() == in_place.keys()
    for key, value in plain.items():
        np.testing.assert_array_equal(value, in_place[key], err_msg=key)


@needs_linker
@pytest.mark.parametrize("flags", [(), ("--mixed-bf16",)])
def test_training_equals_jit(tmp_path, flags):
    step = make_step("mlp784", "adamw", *flags)
    data = train_folder("mlp784") / "data.npz"
    batches = np.load(data)
    first = {k: batches[k][0] for k in batches.files}
    path = emit(
        step, tmp_path / "libstep.so", "--in-place", dims_of(step, first)
    )
    library = Library(path, "step")
    states = initial_states(library)
    losses = []
    for index in range(5):
        batch = {k: batches[k][index] for k in batches.files}
        losses.append(float(library.run({**batch, **states})["loss"]))
    log = tmp_path / "log.jsonl"
    mp_run(
        "train", step, f"--data={data}", "--steps=5", f"--log={log}", "--quiet"
    )
    found = [np.float32(record["loss"]) for record in read_log(log)]
    assert [np.float32(loss) for loss in losses] == found


# Uses the header like C programs do, with its own memory for the output.
MAIN = r"""
#include "small.h"
#include <stdio.h>
int main(void) {
  float x[6] = {0, 1, 2, 3, 4, 5}, y[3];
  int64_t x_sizes[2] = {2, 3}, rows[1] = {1}, rows_sizes[1] = {1};
  int64_t y_sizes[2];
  mp_tensor in[small_num_inputs] = {{0, 0}}, out[small_num_outputs] = {{0, 0}};
  in[small_in_x].data = x;
  in[small_in_x].sizes = x_sizes;
  in[small_in_rows].data = rows;
  in[small_in_rows].sizes = rows_sizes;
  out[small_out_y].data = y;
  out[small_out_y].sizes = y_sizes;
  if (small_run(in, out) != MP_OK) {
    printf("%s\n", mp_last_error());
    return 1;
  }
  printf("%d %d %g %g %g\n", (int)y_sizes[0], (int)y_sizes[1], y[0], y[1], y[2]);
  printf("%s\n", small_interface()->inputs[small_in_w].name);
  mp_release(out[small_out_w_new].data);
  rows[0] = 7;
  printf("%d ", small_run(in, out));
  printf("%s\n", mp_last_error());
  small_release();
  return 0;
}
"""
PRINTED = """1 3 3 40 500
w
2 node '' (Gather-1): index 7 is out of range for size 2
"""


def check_printed(text):
    lines, expected = text.splitlines(), PRINTED.splitlines()
    assert lines[:2] == expected[:2]
    assert lines[2].startswith("2 ") and lines[2].endswith(
        "index 7 is out of range for size 2"
    )


@needs_linker
@pytest.mark.parametrize("language", ["c99", "c++11"])
def test_object_in_a_program(tmp_path, small, language):
    emit(small, tmp_path / "small.o", form="obj")
    runtime = build_runtime(tmp_path, "c++")
    source = tmp_path / ("main.c" if language == "c99" else "main.cpp")
    source.write_text(MAIN)
    # C code must not need a C++ library.
    compiler = "cc" if language == "c99" else "c++"
    subprocess.run(
        [
            compiler, f"-std={language}", "-Wall", "-Wextra", "-Werror",
            "-pedantic", source, tmp_path / "small.o", runtime, "-lm",
            "-lpthread", "-o", tmp_path / "main",
        ],
        check=True,
    )
    done = support.attempt(program=tmp_path / "main", check=True)
    check_printed(done.stdout)


@pytest.mark.skipif(SANITIZED, reason="one build is enough")
def test_aarch64(tmp_path, small):
    """Cross-compiled; run where there is an emulator."""
    emit(small, tmp_path / "small.o", "--target=aarch64-linux-gnu", form="obj")
    header = (tmp_path / "small.o").read_bytes()[:20]
    assert header[:4] == b"\x7fELF" and header[18] == 0xB7
    compiler = "aarch64-linux-gnu-g++"
    emulator = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    if not shutil.which(compiler) or not emulator:
        pytest.skip(f"needs {compiler} and qemu-aarch64")
    runtime = build_runtime(tmp_path, compiler)
    emit(
        small, tmp_path / "libsmall.so", "--target=aarch64-linux-gnu",
        f"--runtime-library={runtime}",
    )
    (tmp_path / "main.c").write_text(MAIN)
    subprocess.run(
        [
            "aarch64-linux-gnu-gcc", "main.c", "-L.", "-lsmall",
            "-Wl,-rpath,$ORIGIN", "-o", "main",
        ],
        check=True,
        cwd=tmp_path,
    )
    done = support.attempt(
        "-L", "/usr/aarch64-linux-gnu", tmp_path / "main", program=emulator,
        check=True
    )
    check_printed(done.stdout)


def test_llvm(tmp_path, small):
    path = emit(small, tmp_path / "small.ll", form="llvm")
    text = path.read_text()
    assert "define i32 @small_run(ptr" in text
    assert (tmp_path / "small.h").exists()
    done = run_mp_opt(small, "--emit=llvm", "--summary=none")
    assert "define i32 @" in done.stdout


def test_strange_names(tmp_path):
    """What cannot stand in C, ends comments, or comes twice."""
    text = SMALL.replace("x,", '"a*/b",').replace("Mul(x", 'Mul("a*/b"')
    text = text.replace("rows", '"a+/b"')
    model = write_model(tmp_path, text)
    emit(model, tmp_path / "1 net.o", form="obj")
    header = (tmp_path / "1 net.h").read_text()
    assert "model1_net_in_a__b = 0," in header
    assert "model1_net_in_a__b_1 = 1," in header
    if shutil.which("cc"):
        subprocess.run(
            ["cc", "-xc", "-fsyntax-only", "-Werror", "-Wall", "-"],
            input=header, text=True, check=True,
        )


def test_random_numbers(tmp_path):
    """Each call has its own, and a call with the same number the same."""
    if SANITIZED or not shutil.which("cc"):
        pytest.skip("needs cc, and no sanitizers")
    model = write_model(
        tmp_path,
        "g (float[64] x) => (float[64] y, float[64] z)\n"
        "{ y = RandomNormalLike(x)\n z = RandomNormalLike(x) }",
    )
    library = Library(emit(model, tmp_path / "libg.so"), "g")
    data = {"x": np.zeros(64, np.float32)}
    first, second = library.run(data), library.run(data)
    assert not np.array_equal(first["y"], first["z"])
    assert not np.intersect1d(first["y"], second["y"]).size
    library.interface.calls[0] = 0
    np.testing.assert_array_equal(library.run(data)["y"], first["y"])
    mp_run("run", model, "--random=0", "-o", tmp_path / "o.npz")
    np.testing.assert_array_equal(np.load(tmp_path / "o.npz")["y"], first["y"])


def test_errors(tmp_path, small):
    out = tmp_path / "small.o"
    def bad(code, *flags):
        text = fail(code, small, *flags)
        assert len(text.splitlines()) == 1, text
        assert list(tmp_path.glob("small.*")) == []
        return text

    obj = ("--emit=obj", "-o", out)
    assert "need -o" in bad(USAGE, "--emit=obj")
    assert "--cpu needs --emit" in bad(USAGE, "--cpu=znver4", "-o", out)
    assert "'nonsense'" in bad(BAD_INPUT, *obj, "--cpu=nonsense")
    assert "'pdp11'" in bad(BAD_INPUT, *obj, "--target=pdp11")
    assert "x86-64 or aarch64" in bad(
        BAD_INPUT, *obj, "--target=riscv64-linux-gnu"
    )
    assert "expected auto" in bad(USAGE, *obj, "--kernels=fast")
    assert "needs a processor with AVX-512" in bad(
        BAD_INPUT, *obj, "--cpu=x86-64-v3", "--kernels=dot"
    )
    assert "--dim: dimension 'n" in bad(USAGE, *obj, "--dim=n=nine")
    assert "found 'a-b'" in bad(USAGE, *obj, "--symbols=a-b")
    for name in ("mp", "mp_small"):
        assert "the run time's" in bad(USAGE, *obj, f"--symbols={name}")
        for end in (f"{name}.o", f"lib{name}.so"):
            kind = "--emit=lib" if end.endswith(".so") else "--emit=obj"
            assert "the run time's" in bad(USAGE, kind, "-o", tmp_path / end)
    lib = ("--emit=lib", "-o", out)
    assert "'no-such-cc'" in bad(BAD_INPUT, *lib, "--cc=no-such-cc")
    assert "'false' failed" in bad(BAD_INPUT, *lib, "--cc=false")
    assert "--runtime-library=FILE" in bad(
        BAD_INPUT, *lib, "--target=aarch64-linux-gnu", "--cc=true"
    )
    # The former name of the flag takes files that exist.
    cross = (*lib, "--target=aarch64-linux-gnu", "--cc=false")
    archive = tmp_path / "libMPOptRuntime.a"
    archive.write_bytes(b"")
    assert "'false' failed" in bad(BAD_INPUT, *cross, f"--runtime={archive}")
    assert "unknown runtime" in bad(
        USAGE, *cross, f"--runtime={tmp_path / 'no-such.a'}"
    )
    assert "former name" in bad(
        USAGE, *cross, f"--runtime={archive}", f"--runtime-library={archive}"
    )
    # A file that mp-opt has not written is kept.
    (tmp_path / "small.h").write_text("mine\n")
    assert "none of mp-opt's" in fail(BAD_INPUT, small, *obj)
    assert (tmp_path / "small.h").read_text() == "mine\n" and not out.exists()


@needs_linker
def test_names_for_the_linker(tmp_path):
    """Go to it as they are, whatever they are made of."""
    model = write_model(tmp_path, "f (float[2] x) => (float[2] y) {y = Abs(x)}")
    folder, name = tmp_path / "a,b=c", "x,-rpath,evil=1.so"
    folder.mkdir()
    support.attempt(
        model, "--emit=lib", "-o", folder / name,
        env={**os.environ, "TMPDIR": str(folder)}, code=0
    )
    assert b"\0" + name.encode() + b"\0" in (folder / name).read_bytes()


def test_unsupported(tmp_path):
    model = write_model(
        tmp_path,
        "g (string[2] x) => (string[2] y, float[2] z)\n"
        "{ y = StringNormalizer(x)\n w = StringNormalizer(y)\n"
        "  z = Cast<to = 1>(w) }",
    )
    text = fail(NOT_COMPILED, model, "--emit=obj", "-o", tmp_path / "g.o")
    assert "StringNormalizer" in text
    assert not (tmp_path / "g.o").exists()
