# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models in shared libraries, by their C interface."""

import ctypes
import shutil
import sys

import ml_dtypes
import numpy as np
import onnx
import pytest

from runs import run_mp_opt
from support import MP_OPT

TYPES = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16,
    6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64,
    12: np.uint32, 13: np.uint64, 16: ml_dtypes.bfloat16,
}
SANITIZED = "sanitized" in str(MP_OPT)
needs_linker = pytest.mark.skipif(
    SANITIZED or not shutil.which("cc"), reason="needs cc, and no sanitizers"
)


class TensorC(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("sizes", ctypes.c_void_p)]


class ValueC(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("type", ctypes.c_int32),
        ("rank", ctypes.c_int32), ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("initial", ctypes.c_void_p), ("state", ctypes.c_int32),
        ("written", ctypes.c_int32),
    ]


class InterfaceC(ctypes.Structure):
    _fields_ = [
        ("num_inputs", ctypes.c_int32), ("num_outputs", ctypes.c_int32),
        ("inputs", ctypes.POINTER(ValueC)), ("outputs", ctypes.POINTER(ValueC)),
        ("calls", ctypes.POINTER(ctypes.c_int64)),
    ]


class Library:
    """A model in a shared library, by its C interface."""

    def __init__(self, path, prefix):
        self.library = ctypes.CDLL(str(path))
        self.body = getattr(self.library, prefix + "_run")
        get = getattr(self.library, prefix + "_interface")
        get.restype = ctypes.POINTER(InterfaceC)
        interface = self.interface = get().contents
        self.inputs = interface.inputs[: interface.num_inputs]
        self.outputs = interface.outputs[: interface.num_outputs]
        self.library.mp_last_error.restype = ctypes.c_char_p
        self.library.mp_release.argtypes = [ctypes.c_void_p]
        self.library.mp_peak_bytes.restype = ctypes.c_int64
        self.release = getattr(self.library, prefix + "_release")

    def threads(self, count):
        self.library.mp_set_threads(count)

    def measure(self, data):
        """Results, and the bytes that are there at most and afterwards."""
        self.library.mp_reset_peak()
        found = self.run(data)
        most = self.library.mp_peak_bytes()
        self.library.mp_reset_peak()
        return found, most, self.library.mp_peak_bytes()

    def call(self, data, wanted=()):
        """The code, and arrays by their names. Of a device, next values that
        are written over inputs are there for arrays given, or if wanted."""
        given, kept = (TensorC * len(self.inputs))(), []
        for place, value in zip(given, self.inputs):
            array = data.get(value.name.decode())
            if array is None:
                continue
            array = np.ascontiguousarray(array, TYPES[value.type])
            sizes = np.array(array.shape, np.int64)
            kept += [array, sizes]
            place.data, place.sizes = array.ctypes.data, sizes.ctypes.data
        results = (TensorC * len(self.outputs))()
        sizes = [np.zeros(value.rank, np.int64) for value in self.outputs]
        for place, room, value in zip(results, sizes, self.outputs):
            place.sizes = room.ctypes.data
            if value.name.decode() in wanted:
                array = np.empty(value.sizes[: value.rank], TYPES[value.type])
                kept.append(array)
                place.data = array.ctypes.data
        code = self.body(given, results)
        found = {}
        for place, room, value in zip(results, sizes, self.outputs):
            if code:
                assert wanted or not place.data
            if code or not place.data:
                continue
            dtype = np.dtype(TYPES[value.type])
            length = int(np.prod(room)) * dtype.itemsize
            raw = ctypes.string_at(place.data, length)
            found[value.name.decode()] = np.frombuffer(raw, dtype).reshape(room)
            is_ours = value.name.decode() in wanted or (
                value.state >= 0 and self.inputs[value.state].written
            )
            if not is_ours:
                self.library.mp_release(place.data)
        return code, found

    def run(self, data, wanted=()):
        code, found = self.call(data, wanted)
        assert code == 0, self.library.mp_last_error()
        return found

    def error(self, data, wanted=()):
        code, _ = self.call(data, wanted)
        return code, self.library.mp_last_error().decode()


def dims_of(model, arrays):
    """--dim for the sizes that `arrays` have: what mp-run compiles for."""
    dims = {}
    for value in onnx.load(model, load_external_data=False).graph.input:
        if value.name in arrays:
            dim = value.type.tensor_type.shape.dim
            sizes = arrays[value.name].shape
            dims.update(
                (d.dim_param, size) for d, size in zip(dim, sizes) if d.dim_param
            )
    assert dims
    return "--dim=" + ",".join(f"{name}={size}" for name, size in dims.items())


def emit(model, output, *flags, form="lib"):
    run_mp_opt(model, f"--emit={form}", "--summary=none", *flags, "-o", output)
    return output


def main(path, prefix, data, output, calls):
    """Calls with the data, whose arrays have one entry for each; the states
    stay on the device until the last. Exits with the code of a failed one."""
    library = Library(path, prefix)
    with np.load(data) as read:
        arrays = dict(read)
    states = [library.outputs[i].name.decode()
              for i in range(len(library.outputs))
              if library.outputs[i].state >= 0]
    results = {}
    for call in range(int(calls)):
        batch = {name: value[call] for name, value in arrays.items()}
        wanted = states if call + 1 == int(calls) else ()
        code, found = library.call(batch, wanted)
        if code:
            print(library.library.mp_last_error().decode())
            return code
        for name, value in found.items():
            results.setdefault(name, []).append(value.astype(np.float32))
    library.release()
    np.savez(output, **{name: np.stack(v) for name, v in results.items()})
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
