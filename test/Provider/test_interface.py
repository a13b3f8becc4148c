# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The provider's declarations of onnxruntime's C interface, held against the real
library, and what other versions get."""

import ctypes
import os
import re
import subprocess
import sys
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_size_t, c_uint32, c_void_p

import mp_opt.onnxruntime
import pytest
from support import ROOT

SHIM = os.environ.get("MPOPT_COUNTING_SHIM", "")

# Runs what calls every function: attributes of each kind, known and unknown
# sizes and ranks, a body, a node that stays, an error of onnxruntime.
EVERYTHING = '''
import ctypes, sys
import numpy, onnx, onnxruntime
from onnx import parser
onnxruntime.set_default_logger_severity(0)
shim, text = sys.argv[1:]
onnxruntime.register_execution_provider_library("counting", shim)
devices = [d for d in onnxruntime.get_ep_devices() if d.ep_name == "mp-opt"]
options = onnxruntime.SessionOptions()
options.add_provider_for_devices(devices, {"max-sizes": "1", "cache": "off"})
options.log_severity_level = 0
model = parser.parse_model(text).SerializeToString()
session = onnxruntime.InferenceSession(model, options, enable_fallback=0)
x = numpy.ones((2, 3, 4, 4), "float32")
got = session.run(None, {"x": x, "n": numpy.array([3, 32]), "c": numpy.array(True)})
numpy.testing.assert_allclose(got[0], numpy.full((3, 32), 3.0))
numpy.testing.assert_allclose(got[1], numpy.full((2, 3, 4, 4), 1.0))
numpy.testing.assert_allclose(got[2], numpy.full((2, 3, 4, 4), 2.0))
binding = session.io_binding()
binding.bind_cpu_input("x", x)
binding.bind_cpu_input("n", numpy.array([3, 32]))
binding.bind_cpu_input("c", numpy.array(True))
short = numpy.zeros((2, 2), "float32")
binding.bind_output("y", "cpu", 0, "float32", (2, 2), short.ctypes.data)
binding.bind_output("b", "cpu")
binding.bind_output("e", "cpu")
try:
    session.run_with_iobinding(binding)
    raise SystemExit("a buffer of a wrong shape is accepted")
except Exception as error:
    assert "mp-opt: " in str(error), error
library = ctypes.CDLL(shim)
library.mp_uncalled.restype = ctypes.c_char_p
called = ctypes.c_uint()
print("uncalled:", library.mp_uncalled(ctypes.byref(called)).decode())
print("called:", called.value)
'''

MODEL = """
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
g (float[N,3,H,4] x, int64[2] n, bool c) => (float[a,b] y, float[N,3,H,4] b, float[N,3,H,4] e)
<float[1] two = {2}>
{
  p = Pad <mode: string = "constant"> (x, zeros, zero)
  zeros = Constant <value_ints: ints = [0, 0, 0, 0, 0, 0, 0, 0]> ()
  zero = Constant <value_float: float = 0.0> ()
  s = Transpose <perm: ints = [0, 1, 2, 3]> (p)
  t = Reshape (s, n)
  k = LeakyRelu <alpha: float = 0.25> (t)
  shape = Shape (k)
  f = ConstantOfShape <value = float[1] {2}> (shape)
  y = Add (k, f)
  b = ai.onnx.ml.Binarizer <threshold: float = 0.5> (x)
  e = If (c) <
    then_branch = then () => (float[N,3,H,4] h) { h = Mul (x, two) },
    else_branch = other () => (float[N,3,H,4] i) { i = Neg (x) }
  >
}
"""


def declared():
    text = (ROOT / "lib/Provider/OrtFunctions.def").read_text()
    return re.findall(r"^MP_ORT(?:_EP)?_FUNCTION\(\d+, (\w+)", text, re.M)


def test_every_declared_function_is_called(tmp_path):
    # Definitions stand before uses.
    lines = MODEL.splitlines()
    first = next(i for i, line in enumerate(lines) if "p = Pad" in line)
    lines[first : first + 3] = [*lines[first + 1 : first + 3], lines[first]]
    environment = {
        **os.environ, "MPOPT_PROVIDER": mp_opt.onnxruntime.get_library_path(),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", EVERYTHING, SHIM, "\n".join(lines)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "stays with other providers" in done.stderr
    names = declared()
    assert len(names) == len(set(names)) > 40
    # Errors of options are tested below.
    assert done.stdout.split("uncalled:")[1].split("called:")[0].split() == []
    assert done.stdout.split("\ncalled:")[1].strip() == str(len(names))


# Versions --------------------------------------------------------------------

GetApi = CFUNCTYPE(c_void_p, c_uint32)
GetVersion = CFUNCTYPE(c_void_p)
CreateStatus = CFUNCTYPE(c_void_p, c_int, c_char_p)


class Base(ctypes.Structure):
    _fields_ = [("get_api", GetApi), ("get_version", GetVersion)]


def register_with(version, newest):
    """The text of the status that an onnxruntime of this version gets, whose
    newest interface is `newest`; and the number of factories."""
    texts = []

    def create(code, text):
        texts.append(text.decode())
        return 1

    functions = (c_void_p * 4)()
    kept, text = CreateStatus(create), ctypes.create_string_buffer(version)
    functions[0] = ctypes.cast(kept, c_void_p)
    base = Base(
        GetApi(lambda asked: ctypes.addressof(functions) if asked <= newest else None),
        GetVersion(lambda: ctypes.addressof(text)),
    )
    library = ctypes.CDLL(mp_opt.onnxruntime.get_library_path())
    library.CreateEpFactories.restype = c_void_p
    library.CreateEpFactories.argtypes = [
        c_char_p, POINTER(Base), c_void_p, POINTER(c_void_p), c_size_t,
        POINTER(c_size_t),
    ]  # fmt: skip
    factories, count = (c_void_p * 4)(), c_size_t(9)
    status = library.CreateEpFactories(
        b"mp-opt", ctypes.byref(base), None, factories, 4, ctypes.byref(count)
    )
    return status, texts, count.value


@pytest.mark.parametrize("version, newest", [
    (b"1.23.2", 23), (b"1.10.0", 10), (b"2.0.0", 40), (b"10.1.0", 99),
])  # fmt: skip
def test_other_versions_are_refused_with_both(version, newest):
    status, texts, count = register_with(version, newest)
    assert status == 1 and count == 0
    (text,) = texts
    assert "built for onnxruntime 1.24 and later versions 1.x" in text
    assert f"this is onnxruntime {version.decode()}" in text


def test_no_interface_at_all():
    """Nothing can be said, and nothing is made."""
    status, texts, count = register_with(b"1.0.0", 0)
    assert status is None and texts == [] and count == 0


def test_shows_two_functions():
    shown = subprocess.run(
        ["nm", "-D", "--defined-only", mp_opt.onnxruntime.get_library_path()],
        check=True, capture_output=True, text=True,
    ).stdout.split("\n")  # fmt: skip
    names = {line.split()[-1] for line in shown if line}
    assert names == {"CreateEpFactories", "ReleaseEpFactory"}
