# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-opt --distribute --sync-batch-norm: BatchNormalization takes statistics of
the batches of all ranks."""

import numpy as np
import pytest

from ranks import launcher, train
from support import run_mp_opt


@pytest.mark.parametrize("precision", [(), ("--mixed-bf16",)])
def test_synchronized_statistics(tmp_path, launcher, precision):
    """Two ranks are one with all rows; without --sync-batch-norm they are not."""
    kernel = np.random.default_rng(5).standard_normal((3, 3, 3, 3)) / 3
    text = f"""
<ir_version: 9, opset_import: ["" : 21]>
net (float[n,3,4,4] x) => (float[n,2] y)
<float[3] scale = {{1, 0.5, 2}}, float[3] bias = {{0, 0.1, 0}}, float[3] mean = {{0, 0, 0}},
 float[3] var = {{1, 1, 1}}, float[3,2] w = {{1, 2, 3, 4, 5, 6}},
 float[3,3,3,3] k = {{{", ".join(map(str, kernel.flat))}}}>
{{
  c = Conv<pads = [1, 1, 1, 1]>(x, k)
  z, mean_out, var_out = BatchNormalization<training_mode = 1, momentum = 0.8>(
      c, scale, bias, mean, var)
  r = Relu(z)
  p = GlobalAveragePool(r)
  f = Flatten(p)
  y = MatMul(f, w)
}}
"""
    model = tmp_path / "m.onnxtxt"
    model.write_text(text)
    common = (model, "--train", "--loss=mse", "--optimizer=momentum", "--summary=none")
    distributed = ("--distribute", *precision)
    flags = {
        "one": (), "rounded": precision, "own": distributed,
        "sync": (*distributed, "--sync-batch-norm"),
    }
    random = np.random.default_rng(3)
    x = random.standard_normal((32, 3, 4, 4)).astype("f") * 2 + 1
    # A rank has rows of another kind than the other.
    x[8:16] += 3
    x[24:] += 3
    np.savez(tmp_path / "rows.npz", x=x, labels=np.zeros((32, 2), "f"))
    found = {}
    for name, extra in flags.items():
        ranks = 1 + ("--distribute" in extra)
        step = tmp_path / f"{name}.{'mlirbc' if ranks > 1 else 'onnx'}"
        run_mp_opt(*common, *extra, "-o", step)
        found[name] = train(
            launcher, ranks, step, tmp_path / "rows.npz", tmp_path / "o.safetensors",
            "--no-shuffle", f"--batch={16 // ranks}", "--epochs=4", "--lr=0.01",
            "--quiet",
        )

    def get_error(name):
        """The greatest relative error of a state."""
        return max(
            np.sqrt(np.mean((found[name][state] - value) ** 2) / np.mean(value**2))
            for state, value in found["one"].items() if value.any()
        )

    assert get_error("sync") < 1e-4 + 1.5 * get_error("rounded") < get_error("own")
