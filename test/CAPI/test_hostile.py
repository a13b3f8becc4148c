# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whatever is wrong with a call, it ends with a status."""

import ctypes
import math

import numpy
import pytest
from capi import BAD_INPUT, MODEL, NOT_SUPPORTED, OK, USAGE, Array, Library


@pytest.fixture(scope="module")
def library():
    return Library()


def program_of(library):
    read = library.read(MODEL)
    program = library.make("compile", read, None)
    library.model_destroy(read)
    return program


def test_null_everywhere(library):
    """All arguments null: a status of usage, never a crash."""
    from capi import FUNCTIONS

    for name, (result, arguments) in FUNCTIONS.items():
        values = [0 if a in (ctypes.c_int, ctypes.c_size_t, ctypes.c_uint32,
                             ctypes.c_uint64, ctypes.c_double) else None
                  for a in arguments]  # fmt: skip
        if name == "options_set_callback":
            values[1] = ctypes.cast(None, arguments[1])
        if name == "program_run_into":
            values[3] = ctypes.cast(None, arguments[3])
        status = getattr(library, name)(*values)
        if result is ctypes.c_int:
            assert status == USAGE, name
            assert library.error(), name


@pytest.mark.parametrize("name, value, message", [
    ("mixed-bf61", None, "did you mean '--mixed-bf16'?"),
    ("precision", "bf61", "expected bf16 or fp16, got 'bf61'"),
    ("precision", None, "--precision: expected"),
    ("lr", "fast", "--lr: expected a number, got 'fast'"),
    ("emit", "exe", "expected onnx, onnxtext"),
    ("", None, "unknown option"),
])  # fmt: skip
def test_options_are_checked(library, name, value, message):
    options = library.options("convert")
    text = value.encode() if value else None
    assert library.options_set(options, name.encode(), text) == USAGE
    assert message in library.error(), library.error()
    library.options_destroy(options)


@pytest.mark.parametrize("flags, message", [
    (["mixed-bf16", "mixed-fp16"], "exclude each other"),
    (["loss=mse"], "needs --train"),
    (["allow=Sofmax", "mixed-bf16"], "Softmax"),
    (["explain=x"], "need --mixed-bf16"),
])  # fmt: skip
def test_contradictions(library, flags, message):
    options = library.options("convert", *flags)
    read = library.read(MODEL)
    status = library.convert(read, options, None, None)
    assert status in (USAGE, BAD_INPUT)
    assert message in library.error(), library.error()
    library.model_destroy(read)


def test_commands(library):
    out = ctypes.c_void_p()
    status = library.options_create(b"convrt", ctypes.byref(out))
    assert status == USAGE and not out
    assert "did you mean 'convert'?" in library.error()
    read = library.read(MODEL)
    wrong = library.options("compile", "threads=1")
    assert library.convert(read, wrong, None, None) == USAGE
    assert library.compile(
        read, library.options("convert"), ctypes.byref(out)
    ) == USAGE  # fmt: skip
    assert library.step_create(read, wrong, ctypes.byref(out)) == USAGE


def test_models_that_are_used_up(library):
    read = library.read(MODEL)
    library.program_destroy(library.make("compile", read, None))
    out = ctypes.c_void_p()
    assert library.compile(read, None, ctypes.byref(out)) == USAGE
    assert library.model_bytes(read, ctypes.byref(out)) == USAGE
    assert library.convert(read, None, None, None) == USAGE
    assert "used up" in library.error()
    library.model_destroy(read)


def test_no_training_step(library):
    read = library.read(MODEL)
    out = ctypes.c_void_p()
    assert library.step_create(read, None, ctypes.byref(out)) == BAD_INPUT
    assert "it is not a training step" in library.error()
    library.model_destroy(read)


def test_operators_that_cannot_be_compiled(library):
    text = (
        b'<ir_version: 8, opset_import: ["" : 17, "my.domain" : 1]>\n'
        b"g (float[2] x) => (float[2] y) { y = my.domain.Strange(x) }\n"
    )
    read = library.make("model_parse", text, len(text), b"m.onnxtxt", None)
    out = ctypes.c_void_p()
    assert library.compile(read, None, ctypes.byref(out)) == NOT_SUPPORTED
    assert "Strange" in library.error()
    library.model_destroy(read)


@pytest.mark.parametrize("content", [
    b"", b"\0", b"\xff" * 100, b"PK\3\4", b"import numpy", b"{" * 10000,
    MODEL.read_bytes()[:-20],
])  # fmt: skip
def test_contents_that_are_no_model(library, content):
    out = ctypes.c_void_p()
    status = library.model_parse(
        content, len(content), None, None, ctypes.byref(out)
    )
    if status == OK:
        # Nothing at all is an empty model in protobuf's eyes.
        library.model_destroy(out)
    else:
        assert status == BAD_INPUT and library.error()


def set_field(field, value):
    return lambda array: setattr(array, field, value)


@pytest.mark.parametrize("damage, message", [
    (set_field("type", 0), "elements of type 0"),
    (set_field("type", 8), "elements of type 8"),
    (set_field("type", 1 << 30), "elements of type"),
    (set_field("type", -1), "elements of type -1"),
    (set_field("rank", -1), "expected 0 to 64 sizes"),
    (set_field("rank", 1 << 30), "expected 0 to 64 sizes"),
    (set_field("rank", 1), "takes 8 bytes, found 32"),
    (set_field("data", None), "it has no data"),
    (set_field("bytes", 31), "takes 32 bytes, found 31"),
    (set_field("name", b"y"), "there is no input 'y'"),
    (set_field("sizes", None), "which are not there"),
    (set_field("sizes", (ctypes.c_int64 * 2)(-2, -4)), "negative"),
    (set_field("sizes", (ctypes.c_int64 * 2)(1 << 62, 1 << 62)), "too big"),
    (set_field("sizes", (ctypes.c_int64 * 2)(4, 2)), "expected float32[batch,4]"),
    (set_field("type", 14), "takes 64 bytes, found 32"),
])  # fmt: skip
def test_arrays_are_checked(library, damage, message):
    program = program_of(library)
    x = numpy.ones((2, 4), "float32")
    arrays = library.arrays([x])
    damage(arrays[0])
    outputs = (ctypes.c_void_p * library.program_num_outputs(program))()
    status = library.program_run(program, arrays, 1, outputs)
    assert status == BAD_INPUT and not outputs[0]
    assert message in library.error(), library.error()
    # It still runs.
    assert library.program_run(program, library.arrays([x]), 1, outputs) == OK
    assert library.error() == ""
    for output in outputs:
        library.buffer_destroy(output)
    library.program_destroy(program)


def test_counts_of_arrays(library):
    program = program_of(library)
    outputs = (ctypes.c_void_p * library.program_num_outputs(program))()
    x = numpy.ones((2, 4), "float32")
    assert library.program_run(program, None, 0, outputs) == BAD_INPUT
    assert "input 'x' is missing" in library.error()
    twice = library.arrays([x, x], ["x", "x"])
    assert library.program_run(program, twice, 2, outputs) == BAD_INPUT
    assert "given twice" in library.error()
    many = library.arrays([x, x, x])
    assert library.program_run(program, many, 3, outputs) == BAD_INPUT
    assert "expected 1 input ('x'), got 3" in library.error()
    library.program_destroy(program)


def test_misaligned_bytes_are_copied(library):
    program = program_of(library)
    raw = numpy.zeros(33, "uint8")
    x = numpy.ones((2, 4), "float32")
    raw[1:] = x.view("uint8").ravel()
    arrays = library.arrays([x])
    arrays[0].data = raw.ctypes.data + 1
    outputs = (ctypes.c_void_p * library.program_num_outputs(program))()
    assert library.program_run(program, arrays, 1, outputs) == OK
    for output in outputs:
        library.buffer_destroy(output)
    library.program_destroy(program)


def test_states_are_checked(library, tmp_path):
    options = library.options(
        "convert", "train", "loss=softmax-cross-entropy", "optimizer=sgd"
    )
    read = library.read(MODEL, options)
    assert library.convert(read, options, None, None) == OK
    step = library.make("step_create", read, None)
    bias = numpy.ones(3, "float32")
    for value, name, message in (
        (bias, "head.bais", "no state 'head.bais'"),
        (bias[:2].copy(), "head.bias", "expected float[3], found float[2]"),
        (bias.astype("int64"), "head.bias", "found int64[3]"),
    ):
        arrays = library.arrays([value], [name])
        assert library.step_set_states(step, arrays, 1, 0, 0) == BAD_INPUT
        assert message in library.error(), library.error()
    arrays = library.arrays([bias], ["head.bias"])
    assert library.step_set_states(step, arrays, 1, 1, 0) == BAD_INPUT
    assert "is missing" in library.error()
    assert library.step_set_states(step, arrays, 1, 0, 5) == OK
    assert library.step_count(step) == 5
    assert library.step_load(step, str(tmp_path).encode()) == BAD_INPUT
    (tmp_path / "x.npz").write_bytes(b"PK\3\4 nonsense")
    status = library.step_load(step, str(tmp_path / "x.npz").encode())
    assert status == BAD_INPUT
    assert library.step_save(step, b"/proc/no/such", 1) == BAD_INPUT
    outputs = (ctypes.c_void_p * library.step_num_outputs(step))()
    for rate in (-1.0, math.inf):
        assert library.step_run(step, None, 0, rate, outputs) == BAD_INPUT
    library.step_destroy(step)


def test_many_wrong_calls_leave_nothing_behind(library):
    """Memory does not grow with errors."""
    def peak():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1])

    out = ctypes.c_void_p()
    content = MODEL.read_bytes()[:-20]
    before = 0
    for count in range(200):
        library.model_parse(content, len(content), None, None, ctypes.byref(out))
        if count == 50:
            before = peak()
    assert peak() - before < 2048
