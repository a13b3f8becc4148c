# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libmp-opt.so by ctypes: what tests of it share."""

import ctypes
import os
import pathlib
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_int64
from ctypes import c_size_t, c_uint32, c_uint64, c_void_p

ROOT = pathlib.Path(__file__).parents[2]
LIBRARY = os.environ.get("MP_OPT_LIBRARY", "")
# The include folder of the build, which has the generated headers.
BUILD_INCLUDE = pathlib.Path(LIBRARY).parent.parent / "include"
MODEL = ROOT / "examples/training/classifier.onnxtxt"

OK, BAD_INPUT, USAGE, OUTSIDE, NOT_SUPPORTED = 0, 1, 2, 3, 4


class Diagnostic(ctypes.Structure):
    _fields_ = [("severity", c_int)] + [
        (name, c_char_p)
        for name in ("file", "node", "op", "attribute", "message")
    ]


class Array(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_int32),
        ("rank", c_int32),
        ("sizes", POINTER(c_int64)),
        ("data", c_void_p),
        ("bytes", c_uint64),
    ]


class Value(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_int32),
        ("rank", c_int32),
        ("sizes", POINTER(c_int64)),
        ("has_default", c_int32),
    ]


Callback = ctypes.CFUNCTYPE(None, POINTER(Diagnostic), c_void_p)
Place = ctypes.CFUNCTYPE(
    c_void_p, c_size_t, POINTER(c_int64), c_int32, c_void_p
)
OUT = POINTER(c_void_p)
# Names, result types and parameter types.
FUNCTIONS = {
    "api_version": (c_uint32, []),
    "version": (c_char_p, []),
    "error_text": (c_char_p, []),
    "options_create": (c_int, [c_char_p, OUT]),
    "options_destroy": (None, [c_void_p]),
    "options_set": (c_int, [c_void_p, c_char_p, c_char_p]),
    "options_set_callback": (c_int, [c_void_p, Callback, c_void_p]),
    "options_describe": (c_int, [c_void_p, POINTER(c_char_p)]),
    "bytes_data": (c_void_p, [c_void_p]),
    "bytes_size": (c_size_t, [c_void_p]),
    "bytes_destroy": (None, [c_void_p]),
    "model_read": (c_int, [c_char_p, c_void_p, OUT]),
    "model_parse": (c_int, [c_char_p, c_size_t, c_char_p, c_void_p, OUT]),
    "model_view": (c_int, [c_void_p, c_size_t, c_char_p, c_void_p, OUT]),
    "model_destroy": (None, [c_void_p]),
    "model_bytes": (c_int, [c_void_p, OUT]),
    "model_write": (c_int, [c_void_p, c_char_p, c_void_p]),
    "report_text": (c_char_p, [c_void_p, c_char_p]),
    "report_destroy": (None, [c_void_p]),
    "convert": (c_int, [c_void_p, c_void_p, c_char_p, OUT]),
    "attribute": (c_int, [c_void_p, c_void_p, OUT]),
    "tune": (c_int, [c_void_p, c_void_p, OUT]),
    "verify": (c_int, [c_void_p, c_void_p, c_void_p, OUT]),
    "diff": (c_int, [c_void_p, c_void_p, c_int, OUT, POINTER(c_int)]),
    "policy_text": (c_int, [c_void_p, OUT]),
    "buffer_array": (c_int, [c_void_p, POINTER(Array)]),
    "buffer_destroy": (None, [c_void_p]),
    "compile": (c_int, [c_void_p, c_void_p, OUT]),
    "check_compile": (c_int, [c_void_p]),
    "program_destroy": (None, [c_void_p]),
    "program_num_inputs": (c_size_t, [c_void_p]),
    "program_num_outputs": (c_size_t, [c_void_p]),
    "program_input": (c_int, [c_void_p, c_size_t, POINTER(Value)]),
    "program_output": (c_int, [c_void_p, c_size_t, POINTER(Value)]),
    "program_run": (c_int, [c_void_p, POINTER(Array), c_size_t, OUT]),
    "program_run_into": (
        c_int,
        [c_void_p, POINTER(Array), c_size_t, Place, c_void_p],
    ),
    "step_create": (c_int, [c_void_p, c_void_p, OUT]),
    "step_destroy": (None, [c_void_p]),
    "step_num_inputs": (c_size_t, [c_void_p]),
    "step_num_outputs": (c_size_t, [c_void_p]),
    "step_num_states": (c_size_t, [c_void_p]),
    "step_input": (c_int, [c_void_p, c_size_t, POINTER(Value)]),
    "step_state": (c_int, [c_void_p, c_size_t, POINTER(Value)]),
    "step_run": (c_int, [c_void_p, POINTER(Array), c_size_t, c_double, OUT]),
    "step_output_name": (c_char_p, [c_void_p, c_size_t]),
    "step_count": (c_uint64, [c_void_p]),
    "step_rate": (c_double, [c_void_p]),
    "step_get_states": (c_int, [c_void_p, OUT]),
    "step_set_states": (
        c_int,
        [c_void_p, POINTER(Array), c_size_t, c_int, c_uint64],
    ),
    "step_save": (c_int, [c_void_p, c_char_p, c_uint32]),
    "step_load": (c_int, [c_void_p, c_char_p]),
    "set_num_threads": (c_int, [c_uint32]),
    "num_threads": (c_uint32, []),
}


class Library:
    """Functions without their prefix; `call` raises where one fails."""

    def __init__(self, path=LIBRARY):
        self.library = ctypes.CDLL(path)
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(self.library, "mp_opt_" + name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def error(self):
        return self.error_text().decode()

    def make(self, name, *arguments):
        """What a function gives through its last argument."""
        made = c_void_p()
        status = getattr(self, name)(*arguments, ctypes.byref(made))
        assert status == OK, self.error()
        return made

    def options(self, command, *flags):
        options = self.make("options_create", command.encode())
        for flag in flags:
            name, _, value = flag.partition("=")
            status = self.options_set(
                options, name.encode(), value.encode() if value else None
            )
            assert status == OK, self.error()
        return options

    def read(self, path=MODEL, options=None):
        return self.make("model_read", str(path).encode(), options)

    def text(self, made):
        text = ctypes.string_at(self.bytes_data(made), self.bytes_size(made))
        self.bytes_destroy(made)
        return text

    def arrays(self, values, names=None):
        """numpy arrays as those of a call; they must outlive it."""
        types = {"float32": 1, "int64": 7, "int32": 6, "float16": 10, "bool": 9}
        made = (Array * len(values))()
        for index, value in enumerate(values):
            sizes = (c_int64 * value.ndim)(*value.shape)
            made[index] = Array(
                names[index].encode() if names else None,
                types[str(value.dtype)],
                value.ndim,
                sizes,
                value.ctypes.data,
                value.nbytes,
            )
        return made
