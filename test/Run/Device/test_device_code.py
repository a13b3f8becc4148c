# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-opt --emit=lib and obj for devices: one that is emulated, a driver's
double under libcuda.so.1's name, and none."""

import ctypes
import ctypes.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import libraries
import support
from driver_double import emulated_kernels, needs_double
from libraries import Library, dims_of, emit, needs_linker
from runs import USAGE, make_step, mp_run, read_log, run_mp_opt, train_folder
from runs import write_model
from support import MP_OPT

BAD_INPUT, BAD_VALUE, NO_DEVICE, DEVICE_FAILED = 1, 2, 4, 5
LIBRARIES = pathlib.Path(libraries.__file__)

SMALL = """
small (float[2,3] x, int64[3] rows, float[3] w) => (float[3,3] y, float[3] w_new)
<float[3] w = {1, 10, 100}>
{
  scaled = Mul(x, w)
  y = Gather(scaled, rows)
  w_new = Add(w, w)
}
"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)
W = np.array([1, 10, 100], np.float32)
ROWS = [1, 0, -1]


@pytest.fixture
def small(tmp_path):
    return write_model(tmp_path, SMALL)


def emit_for(device, model, output, *flags, **options):
    return emit(model, output, f"--device={device}", *flags, **options)


def fail(*arguments):
    done = support.attempt(*arguments, code=USAGE)
    assert done.stderr.count("error") == 1, done.stderr
    return done.stderr


def call_library(path, prefix, data, output, calls=1, **variables):
    """In a process of its own, which has the variables from its start."""
    return support.attempt(
        LIBRARIES, path, prefix, data, output, str(calls),
        program=sys.executable, env={**os.environ, **variables}
    )


@needs_linker
def test_calls(tmp_path, small):
    library = Library(
        emit_for("emulated", small, tmp_path / "libsmall.so"), "small"
    )
    for _ in range(2):
        found = library.run({"x": X, "rows": ROWS})
        np.testing.assert_array_equal(found["y"], (X * W)[ROWS])
        np.testing.assert_array_equal(found["w_new"], 2 * W)
    found = library.run({"x": X, "rows": ROWS, "w": -W})
    np.testing.assert_array_equal(found["w_new"], -2 * W)
    # Without --in-place, states are not kept: they have their defaults again.
    found = library.run({"x": X, "rows": ROWS})
    np.testing.assert_array_equal(found["w_new"], 2 * W)
    library.release()
    library.release()
    found = library.run({"x": X, "rows": ROWS})
    np.testing.assert_array_equal(found["w_new"], 2 * W)


@needs_linker
def test_bad_calls(tmp_path, small):
    library = Library(
        emit_for("emulated", small, tmp_path / "libsmall.so"), "small"
    )
    assert library.error({"x": X}) == (BAD_INPUT, "input 'rows': no data")
    code, text = library.error({"x": X.T, "rows": ROWS})
    assert (code, text) == (
        BAD_INPUT, "input 'x': size 3 of axis 0, expected 2",
    )
    code, text = library.error({"x": X, "rows": [0, 2, 1]})
    assert code == BAD_VALUE and "index 2 is out of range for size 2" in text
    # Nothing sticks.
    found = library.run({"x": X, "rows": ROWS})
    np.testing.assert_array_equal(found["y"], (X * W)[ROWS])
    assert not library.library.mp_last_error()


@needs_linker
def test_states_stay_on_the_device(tmp_path, small):
    path = emit_for("emulated", small, tmp_path / "libsmall.so", "--in-place")
    library = Library(path, "small")
    data = {"x": X, "rows": ROWS}
    # States begin with their defaults, without copies.
    assert library.run(data).keys() == {"y"}
    found = library.run(data, ["w_new"])
    np.testing.assert_array_equal(found["y"], (X * 2 * W)[ROWS])
    np.testing.assert_array_equal(found["w_new"], 4 * W)
    # An array is given, written over, and left there.
    w = -W.copy()
    library.run({**data, "w": w})
    np.testing.assert_array_equal(w, -2 * W)
    np.testing.assert_array_equal(
        library.run(data, ["w_new"])["w_new"], -4 * W
    )
    # The states are unknown after a failed call.
    bad = {"x": X, "rows": [0, 5, 0]}
    assert library.error(bad)[0] == BAD_VALUE
    code, text = library.error(data)
    assert code == BAD_INPUT and "input 'w': no data, but a call before" in text
    library.run({**data, "w": W.copy()})
    np.testing.assert_array_equal(library.run(data, ["w_new"])["w_new"], 4 * W)
    # A call that did not come so far has left everything.
    assert library.error({"x": X})[0] == BAD_INPUT
    np.testing.assert_array_equal(library.run(data, ["w_new"])["w_new"], 8 * W)
    library.release()
    np.testing.assert_array_equal(library.run(data, ["w_new"])["w_new"], 2 * W)


@needs_linker
def test_states_without_defaults(tmp_path):
    model = write_model(
        tmp_path,
        "step (float[2] x, float[2] w) => (float[2] y, float[2] w_new)\n"
        "{ w_new = Sub(w, x)\n y = Neg(w_new) }",
    )
    path = emit_for("emulated", model, tmp_path / "libstep.so", "--in-place")
    library = Library(path, "step")
    x = np.ones(2, np.float32)
    assert library.error({"x": x}) == (BAD_INPUT, "input 'w': no data")
    library.run({"x": x, "w": 3 * x})
    np.testing.assert_array_equal(library.run({"x": x})["y"], -x)


def dependencies(path):
    done = support.attempt("-d", path, program="readelf", check=True)
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout))


@needs_linker
@pytest.mark.parametrize("device", ["cuda", "emulated"])
def test_needs_libc_alone(tmp_path, small, device):
    path = emit_for(device, small, tmp_path / "libsmall.so")
    needed = {name.split(".")[0] for name in dependencies(path)}
    assert needed <= {"libc", "libm", "libdl", "libpthread"} | {
        name for name in needed if name.startswith("ld-linux")
    }
    done = support.attempt(
        "-D", "--defined-only", path, program="nm", check=True
    )
    names = {line.split()[2] for line in done.stdout.splitlines()}
    assert names == {
        "small_run", "small_interface", "small_release", "small_set_device",
        "mp_get_threads", "mp_last_error", "mp_peak_bytes", "mp_release",
        "mp_reset_peak", "mp_set_collectives", "mp_set_threads",
    }


@needs_linker
def test_there_is_no_driver(tmp_path, small):
    path = emit_for("cuda", small, tmp_path / "libsmall.so")
    (tmp_path / "libcuda.so.1").write_text("no library\n")
    np.savez(tmp_path / "in.npz", x=X[None], rows=np.array([ROWS]))
    done = call_library(
        path, "small", tmp_path / "in.npz", tmp_path / "out.npz",
        LD_LIBRARY_PATH=str(tmp_path),
    )
    assert done.returncode == NO_DEVICE, done.stderr
    assert done.stdout.startswith("there is no NVIDIA driver: ")
    assert not (tmp_path / "out.npz").exists()


@needs_linker
def test_choice_of_the_device(tmp_path, small):
    path = emit_for("emulated", small, tmp_path / "libsmall.so")
    library = Library(path, "small")
    choose = library.library.small_set_device
    last = library.library.mp_last_error
    assert choose(-1) == BAD_INPUT and b"expected a number" in last()
    assert choose(1) == 0
    data = {"x": X, "rows": ROWS}
    code, text = library.error(data)
    assert code == NO_DEVICE and text == "found 1 devices, expected number 1"
    assert choose(0) == 0
    library.run(data)
    assert choose(0) == 0
    assert choose(1) == BAD_INPUT
    assert last() == (
        b"device 1: calls have used device 0, which is to be released first"
    )
    library.release()
    assert choose(1) == 0 and library.error(data)[0] == NO_DEVICE


@pytest.fixture(scope="module")
def step_data():
    with np.load(train_folder("mlp_mse") / "data.npz") as read:
        return dict(read)


@needs_linker
@needs_double
@pytest.mark.parametrize("precision", ["--precision=fp32", "--mixed-fp16"])
def test_steps_by_the_driver(tmp_path, step_data, precision):
    """Five steps by libcuda.so.1's double have the bits of mp-run train; states
    are copied once there, and once back."""
    flags = [precision] if precision.startswith("--mixed") else []
    step = make_step("mlp_mse", "adamw", *flags)
    dims = dims_of(step, {k: v[0] for k, v in step_data.items()})
    variables = emulated_kernels(tmp_path, step, dims, "--in-place")
    path = emit_for("cuda", step, tmp_path / "libstep.so", dims, "--in-place")
    np.savez(tmp_path / "in.npz", **{k: v[:5] for k, v in step_data.items()})
    done = call_library(
        path, "step", tmp_path / "in.npz", tmp_path / "out.npz", 5, **variables
    )
    assert done.returncode == 0, done.stdout + done.stderr
    log = tmp_path / "log.jsonl"
    mp_run(
        "train", step, f"--data={train_folder('mlp_mse') / 'data.npz'}",
        "--steps=5", f"--log={log}", "--quiet", "--device=emulated",
    )
    with np.load(tmp_path / "out.npz") as found:
        losses = [np.float32(record["loss"]) for record in read_log(log)]
        np.testing.assert_array_equal(found["loss"].ravel(), losses)
        states = [name for name in found.files if name.endswith("_new")]
        assert states and all(len(found[name]) == 1 for name in states)
    lines = (tmp_path / "driver.log").read_text().split("\n")
    assert "  PTX for sm_90a" in lines and "  PTX for sm_80" not in lines
    assert lines.count("cuGraphLaunch") == 5
    back = sum(line.startswith("cuMemcpyDtoHAsync") for line in lines)
    # Losses and control words of five calls, and states of the last.
    assert 10 + len(states) <= back < 20 + 2 * len(states)
    assert "error" not in "\n".join(lines)


@needs_linker
@needs_double
def test_the_best_image_is_loaded(tmp_path, small):
    variables = emulated_kernels(tmp_path, small)
    path = emit_for("cuda", small, tmp_path / "libsmall.so")
    np.savez(tmp_path / "in.npz", x=X[None], rows=np.array([ROWS]))

    def run(library=path, **more):
        done = call_library(
            library, "small", tmp_path / "in.npz", tmp_path / "out.npz",
            **variables, **more,
        )
        log = (tmp_path / "driver.log").read_text()
        return done, set(re.findall(r"PTX for (\w+)", log))

    for capability, chip in {
        "80": "sm_80", "89": "sm_80", "90": "sm_90a", "100": "sm_80"
    }.items():
        done, found = run(MPOPT_EMULATED_CAPABILITY=capability)
        assert done.returncode == 0, done.stdout + done.stderr
        assert found == {chip}
    done, found = run(MPOPT_EMULATED_CAPABILITY="75")
    assert done.returncode == NO_DEVICE and not found
    assert done.stdout == (
        "device 'emulated' has compute capability 7.5, the kernels are made "
        "for sm_80 and later, sm_90a alone\n"
    )
    done, _ = run(MPOPT_EMULATED_CUDA="11080")
    assert done.returncode == NO_DEVICE
    assert done.stdout == (
        "device 'emulated': the driver is for CUDA 11.8, but PTX 8.0 needs one "
        "for CUDA 12.0 or later\n"
    )
    alone = emit_for("cuda", small, tmp_path / "libsmall.so", "--target=sm_90a")
    done, _ = run(alone, MPOPT_EMULATED_CAPABILITY="80")
    assert done.returncode == NO_DEVICE
    assert "made for sm_90a alone" in done.stdout


def targets_in(path):
    text = path.read_bytes()
    return {t.decode() for t in re.findall(rb"\.target (sm_\w+)", text)}


def test_targets(tmp_path, small):
    model = tmp_path / "net.o"
    for flags, chips in {
        (): {"sm_80", "sm_90a"},
        ("--target=sm_90a",): {"sm_90a"},
        ("--target=sm_80,sm_86,sm_89",): {"sm_80", "sm_86", "sm_89"},
        ("--target=sm_100a",): {"sm_100a"},
        ("--target=sm_90,sm_120",): {"sm_90", "sm_120"},
    }.items():
        emit_for("cuda", small, model, *flags, form="obj")
        assert targets_in(model) == chips


def test_wrong_targets(tmp_path, small):
    lib = (small, "--emit=lib", "-o", tmp_path / "libm.so")
    text = fail(*lib, "--device=cuda", "--target=sm_70")
    assert "--target: chip 'sm_70': expected one of sm_80, sm_86, " in text
    assert "sm_120a" in text
    text = fail(*lib, "--device=cuda", "--target=aarch64-linux-gnu")
    assert "chip 'aarch64-linux-gnu': expected one of sm_80" in text
    text = fail(*lib, "--device=cuda", "--target=sm_80,sm_80")
    assert "chip 'sm_80' is there twice" in text
    text = fail(*lib, "--target=sm_90a")
    assert "--target=sm_90a needs --device=cuda" in text
    text = fail(*lib, "--device=emulated", "--target=sm_90a")
    assert "--target is not for --device=emulated" in text
    text = fail(*lib, "--device=cuda", "--cpu=znver4")
    assert "--cpu is not for --device=cuda" in text
    text = fail(*lib, "--device=emulated", "--kernels=dot")
    assert "--kernels is not for --device=emulated" in text
    text = fail(small, "--mixed-bf16", "--device=cuda", "-o", tmp_path / "o.onnx")
    assert "--device needs --verify, or --emit=llvm, obj or lib" in text
    assert not (tmp_path / "libm.so").exists()


def test_unknown_sizes(tmp_path):
    model = write_model(tmp_path, "n (float[n] x) => (float[n] y) { y = Neg(x) }")
    output = tmp_path / "n.o"
    done = support.attempt(
        model, "--emit=obj", "--device=cuda", "-o", output, code=4
    )
    assert "--dim" in done.stderr and not output.exists()


def test_no_assembler(tmp_path, small):
    done = subprocess.run(
        [MP_OPT, small, "--emit=obj", "--device=cuda", "--target=sm_80:cubin",
         "-o", tmp_path / "n.o"],
        capture_output=True, text=True,
        env={**os.environ, "PATH": str(tmp_path), "MPOPT_NVJITLINK": "/none.so"},
    )
    assert done.returncode == 4, done.stderr
    assert "the program 'ptxas' of CUDA, which makes machine code for sm_80" in (
        done.stderr
    )
    assert "nvJitLink where MPOPT_NVJITLINK says: /none.so: " in done.stderr
    assert not (tmp_path / "n.o").exists()


def has_cubin(content):
    """Machine code is ELF of CUDA's number."""
    return any(
        content[m.start() + 18 : m.start() + 20] == b"\xbe\x00"
        for m in re.finditer(b"\x7fELF", content)
    )


JIT_LINK = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct link { char architecture[32]; size_t size; int failed; };
int CREATE(void **handle, unsigned count, const char **options) {
  struct link *link = calloc(1, sizeof(*link));
  *handle = link;
  for (unsigned i = 0; i < count; ++i)
    if (strncmp(options[i], "-arch=", 6) == 0)
      snprintf(link->architecture, sizeof(link->architecture), "%s", options[i] + 6);
  return 0;
}
int NAME(AddData)(struct link *link, int kind, const void *data, size_t size,
                  const char *name) {
  char target[64];
  const char *text = data;
  snprintf(target, sizeof(target), ".target %s", link->architecture);
  link->size = size;
  link->failed = kind != 2 || text[size - 1] || !strstr(text, target) || FAILS;
  return link->failed ? 8 : 0;
}
int NAME(Complete)(struct link *link) { return link->failed; }
int NAME(GetLinkedCubinSize)(struct link *link, size_t *size) {
  *size = 64;
  return 0;
}
int NAME(GetLinkedCubin)(struct link *link, char *cubin) {
  memset(cubin, 0, 64);
  snprintf(cubin, 64, "\x7f" "ELF by the double for %s", link->architecture);
  return 0;
}
int NAME(GetErrorLogSize)(struct link *link, size_t *size) {
  *size = 24;
  return 0;
}
int NAME(GetErrorLog)(struct link *link, char *log) {
  snprintf(log, 24, "ptxas fatal: a double\n");
  return 0;
}
int NAME(Destroy)(struct link **link) {
  free(*link);
  *link = NULL;
  return 0;
}
"""


def emit_cubin(tmp_path, small, library):
    return subprocess.run(
        [MP_OPT, small, "--emit=obj", "--device=cuda", "--target=sm_90a:cubin",
         "-o", tmp_path / "n.o"],
        capture_output=True, text=True,
        env={**os.environ, "PATH": str(tmp_path), "MPOPT_NVJITLINK": str(library)},
    )


# The names that CUDA 12.0 has, and those from 12.3 on.
@pytest.mark.parametrize("name", ["__nvJitLink##x##_12_0", "nvJitLink##x"])
@pytest.mark.parametrize("fails", [0, 1])
def test_jit_link(tmp_path, small, name, fails):
    library = tmp_path / "libnvJitLink.so.12"
    source = tmp_path / "link.c"
    source.write_text(
        f"#define NAME(x) {name}\n#define FAILS {fails}\n"
        + JIT_LINK.replace("CREATE(", "NAME(Create)(")
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    done = emit_cubin(tmp_path, small, library)
    if fails:
        assert done.returncode == 4, done.stderr
        assert "nvJitLink failed for sm_90a: ptxas fatal: a double" in done.stderr
        assert not (tmp_path / "n.o").exists()
    else:
        assert done.returncode == 0, done.stderr
        content = (tmp_path / "n.o").read_bytes()
        assert b"\x7fELF by the double for sm_90a" in content


@pytest.mark.skipif(
    not ctypes.util.find_library("nvJitLink"), reason="needs CUDA's nvJitLink")
def test_jit_link_of_cuda(tmp_path, small):
    done = emit_cubin(tmp_path, small, "")
    assert done.returncode == 0, done.stderr
    assert has_cubin((tmp_path / "n.o").read_bytes())


def test_wrong_jit_link(tmp_path, small):
    source = tmp_path / "other.c"
    source.write_text("int other;")
    library = tmp_path / "other.so"
    subprocess.run(["cc", "-shared", "-o", library, source], check=True)
    done = emit_cubin(tmp_path, small, library)
    assert done.returncode == 4, done.stderr
    assert "expected the function nvJitLinkCreate" in done.stderr


@pytest.mark.skipif(not shutil.which("ptxas"), reason="needs CUDA's ptxas")
def test_cubins(tmp_path, small):
    target = "--target=sm_80,sm_90a:cubin"
    emit_for("cuda", small, tmp_path / "n.o", target, form="obj")
    content = (tmp_path / "n.o").read_bytes()
    assert targets_in(tmp_path / "n.o") == {"sm_80"}
    assert has_cubin(content)


MAIN = r"""
#include "small.h"
#include <stdio.h>
int main(void) {
  float x[6] = {0, 1, 2, 3, 4, 5}, w[3] = {0, 0, 0};
  int64_t rows[3] = {1, 0, 1};
  mp_tensor in[small_num_inputs] = {{0, 0}}, out[small_num_outputs] = {{0, 0}};
  in[small_in_x].data = x;
  in[small_in_rows].data = rows;
  for (int call = 0; call < 3; ++call) {
    if (call == 2)
      out[small_out_w_new].data = w;
    if (small_set_device(0) != MP_OK || small_run(in, out) != MP_OK) {
      printf("%s\n", mp_last_error());
      return 1;
    }
    const float *y = (const float *)out[small_out_y].data;
    printf("%g %g %g\n", y[0], y[1], y[2]);
    mp_release(out[small_out_y].data);
    out[small_out_y].data = 0;
  }
  printf("%g %g %g\n", w[0], w[1], w[2]);
  small_release();
  return 0;
}
"""


@needs_linker
@pytest.mark.parametrize("language", ["c99", "c++11"])
def test_programs(tmp_path, small, language):
    emit_for("emulated", small, tmp_path / "libsmall.so", "--in-place")
    source = tmp_path / ("main.c" if language == "c99" else "main.cpp")
    source.write_text(MAIN)
    subprocess.run(
        ["cc" if language == "c99" else "c++", f"-std={language}", "-Wall",
         "-Wextra", "-Werror", "-pedantic", source, "-L.", "-lsmall",
         "-Wl,-rpath,$ORIGIN", "-o", "main"],
        check=True, cwd=tmp_path,
    )
    done = support.attempt(program=tmp_path / "main", check=True)
    assert done.stdout == "3 40 500\n6 80 1000\n12 160 2000\n8 80 800\n"


def test_llvm(tmp_path, small):
    done = run_mp_opt(small, "--emit=llvm", "--device=cuda", "--summary=none")
    assert "define i32 @" in done.stdout and "_set_device(i32" in done.stdout
