# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A lack of memory ends a run with one line and exit code 70, in whatever thread
and library it shows."""

import resource
import subprocess

import pytest

from runs import MP_OPT, MP_RUN, ROOT, make_step, train_folder, write_model

INTERNAL = 70
MODEL = ROOT / "examples" / "mlp.onnxtxt"
# Limits in MB at which threads cannot begin, or LLVM cannot continue.
LIMITS = (112, 120, 131, 150, 205)


def run(megabytes, *arguments):
    return subprocess.run(
        list(map(str, arguments)), capture_output=True, text=True, timeout=300,
        preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_AS, (megabytes * 10**6,) * 2
        ),
    )  # fmt: skip


def check(done, text):
    if done.returncode == 0:
        return False
    assert done.returncode == INTERNAL, (done.returncode, done.stderr)
    said = [l for l in done.stderr.splitlines() if "note:" not in l]
    said = [l for l in said if ": compiling " not in l]
    assert said[:1] == [text] or said[0].startswith(text + " "), done.stderr
    assert "LLVM ERROR" not in done.stderr and "Stack dump" not in done.stderr
    return True


def test_running(sanitized):
    found = [
        check(run(limit, MP_RUN, "run", MODEL, "--random", "--cache=off"),
              "mp-run: error: out of memory")
        for limit in LIMITS
    ]  # fmt: skip
    assert found[0]


def test_training(sanitized):
    data = f"--data={train_folder('mlp784') / 'data.npz'}"
    step = make_step("mlp784")
    found = [
        check(run(limit, MP_RUN, "train", step, data, "--steps=2", "--cache=off"),
              "mp-run: error: out of memory")
        for limit in LIMITS[1::2]
    ]  # fmt: skip
    assert all(found)


def test_converting(sanitized, tmp_path):
    nodes = "\n".join(f"x{i + 1} = Relu(x{i})" for i in range(10000))
    model = write_model(tmp_path, f"f (float[2] x0) => (float[2] x10000) {{{nodes}}}")
    out = tmp_path / "out.onnx"
    found = [
        check(run(limit, MP_OPT, model, "--mixed-bf16", "-o", out),
              "mp-opt: internal error: out of memory")
        for limit in (100, 105, 250)
    ]  # fmt: skip
    assert found[0] and not found[2]


@pytest.fixture
def sanitized():
    """Sanitizers map more memory than any limit allows."""
    binary = open(MP_RUN, "rb").read()
    if b"__asan_init" in binary or b"__tsan_init" in binary:
        pytest.skip("sanitized")
