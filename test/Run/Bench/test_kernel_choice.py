# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--kernels=auto: measured once, kept, and the same in all runs."""

import os
import re

import numpy as np
import pytest

from runs import mp_run, write_model

MODEL = """
products (bfloat16[40,300] a, bfloat16[300,50] b) => (float[40,50] c)
{ d = MatMul(a, b)
  c = Cast<to = 1>(d) }
"""


@pytest.fixture
def model(tmp_path):
    return write_model(tmp_path, MODEL)


@pytest.fixture
def run(tmp_path, model):
    def run(*flags, cache=tmp_path / "cache"):
        out = tmp_path / "out.npz"
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        mp_run("run", model, "--random=1", *flags, "-o", out, env=environment)
        return np.load(out)["c"]

    return run


def choice(tmp_path):
    path = tmp_path / "cache" / "mp-opt" / "kernels"
    if not path.exists():
        pytest.skip("nothing to choose on this processor")
    return path


def test_is_kept(tmp_path, run):
    first = run()
    path = choice(tmp_path)
    found = re.fullmatch(r"(\S+) (dot|widen)\n", path.read_text())
    assert found
    np.testing.assert_array_equal(first, run(f"--kernels={found[2]}"))
    # A stored choice is used without a check of its origin.
    for form in ("dot", "widen"):
        path.write_text(f"other widen\n{found[1]} {form}\n")
        np.testing.assert_array_equal(run(), run(f"--kernels={form}"))
        assert path.read_text() == f"other widen\n{found[1]} {form}\n"


@pytest.mark.parametrize("content", [b"", b"\xff\x00", b"nonsense", b"x\n" * 9])
def test_damaged(tmp_path, run, content):
    first = run()
    path = choice(tmp_path)
    line = path.read_bytes()
    path.write_bytes(content)
    np.testing.assert_array_equal(run(), first)
    assert path.read_bytes().endswith(line)


def test_no_place_for_it(tmp_path, run):
    (tmp_path / "file").write_text("")
    assert np.isfinite(run(cache=tmp_path / "file")).all()
