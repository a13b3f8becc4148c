# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models compute the same with their functions inlined."""

import numpy as np
import onnx

from onnx_models import rewritten, run_ort

MODEL = """
<ir_version: 10, opset_import: ["": 21, "loc": 1]>
g (float[2, 3] x, bool c) => (float[M, N] y, float[2, 3] z)
{
  y = loc.Outer<scale=0.5>(x, c)
  t = loc.Outer(x, c)
  z = loc.Twice(t)
}
<domain: "loc", opset_import: ["": 21]>
Twice (p) => (q) { q = Add(p, p) }
<domain: "loc", opset_import: ["": 21, "loc": 1]>
Outer <scale: float = 3.0> (p, c) => (q)
{
  f = Constant<value_float: float = @scale>()
  m = Mul(p, f)
  q = If(c) <
    then_branch = a () => (float[2, 3] r) { r = loc.Twice(m) },
    else_branch = b () => (float[2, 3] s) { s = Neg(m) }
  >
}
"""


def test_numbers():
    model = onnx.parser.parse_model(MODEL)
    inlined = rewritten(model, "--onnx-inline-functions")
    assert not inlined.functions
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for c, factors in ((True, (1, 12)), (False, (-0.5, -6))):
        feeds = {"x": x, "c": np.array(c)}
        for form in (model, inlined):
            found = run_ort(form, feeds)
            for value, factor in zip(found, factors, strict=True):
                np.testing.assert_array_equal(value, x * factor)
