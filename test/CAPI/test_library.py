# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libmp-opt.so by ctypes gives what the programs give."""

import ctypes
import json
import math
import os
import pathlib
import re
import subprocess
import threading

import numpy
import onnx
import onnx.reference
import pytest
from capi import BAD_INPUT, LIBRARY, MODEL, NOT_SUPPORTED, OK, OUTSIDE, ROOT, USAGE
from capi import Array, Callback, Library, Place
from capi import Value

MP_OPT = os.environ.get("MP_OPT", "mp-opt")


@pytest.fixture(scope="module")
def library():
    return Library()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A file of ONNX."""
    path = tmp_path_factory.mktemp("model") / "classifier.onnx"
    subprocess.run([MP_OPT, MODEL, "-o", path], check=True)
    return path


def declared():
    header = (ROOT / "include/mp-opt-c/mp_opt.h").read_text()
    return set(re.findall(r"\b(mp_opt_\w+)\(", header))


def test_shows_what_the_header_declares():
    shown = subprocess.run(
        ["nm", "-D", "--defined-only", LIBRARY],
        capture_output=True, text=True, check=True,
    ).stdout
    symbols = {line.split()[-1].split("@")[0] for line in shown.splitlines()}
    own = {name for name in symbols if name.startswith("mp_opt_")}
    assert own == declared()
    # The other symbols are versions, the addresses by which MLIR identifies
    # types, and MLIR's C API with the additions of Dialects.h and Passes.h.
    others = [name for name in symbols - own if not name.startswith("MPOPT_")]
    assert all(re.match("_ZG?V?ZN4mlir|_ZZN4mlir|mlir", n) for n in others)
    added = set()
    for header in ("Dialects.h", "Passes.h"):
        text = (ROOT / "include/mp-opt-c" / header).read_text()
        added |= set(re.findall(r"\bMP_OPT_API \w+\s+(mlirMPOpt\w+)\(", text))
    assert added == {n for n in others if n.startswith("mlirMPOpt")}
    # Compiled for another MLIR, a program does not start with this one.
    assert all(
        line.endswith("@@MPOPT_MLIR_22")
        for line in shown.splitlines() if " T mlir" in line
    )


def test_every_function_is_called_here():
    from capi import FUNCTIONS

    assert {"mp_opt_" + name for name in FUNCTIONS} == declared()


def test_version(library):
    assert library.api_version() == 3
    told = subprocess.run([MP_OPT, "--version"], capture_output=True, text=True)
    assert told.stdout.strip() == "mp-opt " + library.version().decode()


@pytest.mark.parametrize("flags", [
    ["mixed-bf16"],
    ["precision=fp16", "deny-node=head.*", "annotate"],
    ["train", "loss=softmax-cross-entropy", "optimizer=adamw", "mixed-fp16"],
    ["mixed-bf16", "emulate"],
])  # fmt: skip
def test_bytes_are_those_of_mp_opt(library, model, flags, tmp_path):
    path = tmp_path / "out.onnx"
    subprocess.run(
        [MP_OPT, model, "-o", path, *("--" + flag for flag in flags)],
        check=True, capture_output=True,
    )
    options = library.options("convert", *flags)
    read = library.read(model, options)
    assert library.convert(read, options, None, None) == OK, library.error()
    made = library.text(library.make("model_bytes", read))
    assert made == path.read_bytes()
    written = tmp_path / "written.onnx"
    assert library.model_write(read, str(written).encode(), None) == OK
    assert written.read_bytes() == made
    library.model_destroy(read)
    library.options_destroy(options)


def test_without_changes_the_bytes_are_those_read(library, model):
    content = model.read_bytes()
    read = library.make("model_parse", content, len(content), None, None)
    options = library.options("convert", "mixed-bf16", "deny-node=.*")
    assert library.convert(read, options, None, None) == OK
    assert library.text(library.make("model_bytes", read)) == content
    library.model_destroy(read)


def test_reports(library, model):
    options = library.options("convert", "mixed-bf16", "explain=head")
    read = library.read(model, options)
    report = ctypes.c_void_p()
    status = library.convert(
        read, options, b"html,json,overlay", ctypes.byref(report)
    )
    assert status == OK, library.error()

    def text(kind):
        return library.report_text(report, kind)

    assert json.loads(text(b"json"))["schema_version"] >= 2
    assert text(b"html").lstrip().lower().startswith(b"<!doctype html")
    assert json.loads(text(b"overlay"))
    assert b"bf16" in text(b"explain")
    assert text(b"verify") is None and text(b"no such kind") is None
    library.report_destroy(report)
    library.model_destroy(read)


def test_errors(library, model, tmp_path):
    """Those of the commands; the model is consumed."""
    data = tmp_path / "data.npz"
    numpy.savez(data, x=numpy.random.default_rng(0).normal(size=(8, 4)).astype(
        numpy.float32))
    for command, flags, kinds in (
        ("attribute", ["mixed-bf16", "measure=1"], {"summary", "json"}),
        ("tune", ["mixed-bf16", "target-error=0.01"],
         {"summary", "json", "policy"}),
    ):
        flags = [*flags, f"data={data}"]
        options = library.options(command, *flags)
        read = library.read(model, options)
        report = library.make(command, read, options)
        texts = {kind: library.report_text(report, kind.encode())
                 for kind in ("summary", "json", "policy", "html")}
        assert {kind for kind, text in texts.items() if text} == kinds
        told = subprocess.run(
            [MP_OPT, command, model, *("--" + flag for flag in flags)],
            check=True, capture_output=True)
        assert told.stdout == texts["summary"]
        assert json.loads(texts["json"])["of"] == "outputs"
        library.report_destroy(report)
        out = ctypes.c_void_p()
        call = getattr(library, command)
        assert call(read, options, ctypes.byref(out)) == 2 and not out
        assert "used up" in library.error()
        library.model_destroy(read)
        # Without data, and with options of another command.
        for wrong in (None, library.options(command, "mixed-bf16"),
                      library.options("convert", "mixed-bf16")):
            read = library.read(model)
            assert call(read, wrong, ctypes.byref(out)) == 2 and not out
            library.model_destroy(read)


def test_verify_and_diff(library, model):
    options = library.options("convert", "mixed-bf16")
    before, after = library.read(model), library.read(model)
    assert library.convert(after, options, None, None) == OK
    text, differs = ctypes.c_void_p(), ctypes.c_int()
    status = library.diff(
        before, after, 1, ctypes.byref(text), ctypes.byref(differs)
    )
    assert status == OK and differs.value == 1
    assert json.loads(library.text(text))["nodes"]
    verify = library.options("convert", "verify")
    assert library.verify(before, after, verify, ctypes.byref(text)) == OK
    assert b"verified: " in library.text(text)
    strict = library.options("convert", "verify", "rtol=1e-9")
    status = library.verify(before, after, strict, ctypes.byref(text))
    assert status == OUTSIDE
    assert b"NOT verified" in library.text(text)
    assert "allowed" in library.error()


def test_policy(library):
    options = library.options("convert", "mixed-bf16", "allow=Gelu")
    text = library.text(library.make("policy_text", options)).decode()
    told = subprocess.run(
        [MP_OPT, "--mixed-bf16", "--allow=Gelu", "--print-config"],
        capture_output=True, text=True, check=True,
    )
    assert text == told.stdout


def test_options_describe_themselves(library):
    options = library.options("convert")
    told = ctypes.c_char_p()
    assert library.options_describe(options, ctypes.byref(told)) == OK
    rows = {row["flag"]: row for row in json.loads(told.value)}
    helped = json.loads(
        subprocess.run([MP_OPT, "--help=json"], capture_output=True).stdout
    )
    assert rows == {row["flag"]: row for row in helped}


def test_messages_name_node_and_attribute(library, tmp_path):
    x = onnx.helper.make_tensor_value_info("x", 1, [2, 3])
    y = onnx.helper.make_tensor_value_info("y", 1, [2, 3])
    node = onnx.helper.make_node("Softmax", ["x"], ["y"], "enc/soft", axis="a")
    graph = onnx.helper.make_graph([node], "g", [x], [y])
    made = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 21)]
    )
    content = made.SerializeToString()
    found = []
    callback = Callback(
        lambda told, _: found.append(
            tuple(getattr(told[0], name) for name, _ in told[0]._fields_)
        )
    )
    options = library.options("convert")
    assert library.options_set_callback(options, callback, None) == OK
    out = ctypes.c_void_p()
    status = library.model_parse(
        content, len(content), b"m.onnx", options, ctypes.byref(out)
    )
    assert status == 1 and not out
    errors = [told for told in found if told[0] == 2]
    severity, file, node, op, attribute, message = errors[0]
    assert (file, node, op) == (b"m.onnx", b"enc/soft", b"Softmax-13")
    assert attribute == b"axis" and b"axis" in message
    assert library.error() == "m.onnx: " + message.decode()


def test_runs(library, model):
    read = library.read(model)
    program = library.make("compile", read, None)
    library.model_destroy(read)
    value = Value()
    assert library.program_input(program, 0, ctypes.byref(value)) == OK
    assert (value.name, value.type, value.rank) == (b"x", 1, 2)
    assert value.sizes[0] == -1 and value.sizes[1] == 4
    assert library.program_output(program, 0, ctypes.byref(value)) == OK
    count = library.program_num_outputs(program)

    def run(x):
        outputs = (ctypes.c_void_p * count)()
        status = library.program_run(program, library.arrays([x]), 1, outputs)
        assert status == OK, library.error()
        got = Array()
        assert library.buffer_array(outputs[0], ctypes.byref(got)) == OK
        shape = [got.sizes[i] for i in range(got.rank)]
        bytes = ctypes.string_at(got.data, got.bytes)
        for output in outputs:
            library.buffer_destroy(output)
        return numpy.frombuffer(bytes, "float32").reshape(shape)

    random = numpy.random.default_rng(0)
    batches = [
        random.normal(size=(rows, 4)).astype("float32") for rows in (1, 7, 32)
    ]
    reference = onnx.reference.ReferenceEvaluator(str(model))
    for x in batches:
        expected = reference.run(None, {"x": x})[0]
        numpy.testing.assert_allclose(run(x), expected, rtol=1e-5, atol=1e-6)
    # Threads take turns.
    alone = [run(x) for x in batches]
    wrong = []

    def work(index):
        for _ in range(50):
            if not numpy.array_equal(run(batches[index]), alone[index]):
                wrong.append(index)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    library.program_destroy(program)


def test_runs_into_memory_of_the_caller(library, model):
    """Also of sizes that are known after the call, and by several threads."""
    content = pathlib.Path(model).read_bytes()
    viewed = library.make("model_view", content, len(content), b"m.onnx", None)
    program = library.make("compile", viewed, None)
    library.model_destroy(viewed)
    reference = onnx.reference.ReferenceEvaluator(str(model))
    random, wrong = numpy.random.default_rng(0), []

    def run(x):
        placed = []

        def place(output, sizes, rank, _):
            shape = tuple(sizes[axis] for axis in range(rank))
            placed.append(numpy.zeros(shape, "float32"))
            return placed[output].ctypes.data

        function = Place(place)
        arrays = library.arrays([x])
        status = library.program_run_into(program, arrays, 1, function, None)
        assert status == OK, library.error()
        return placed[0]

    def work(rows):
        for _ in range(20):
            x = numpy.full((rows, 4), rows, "float32")
            if not numpy.array_equal(run(x), expected[rows]):
                wrong.append(rows)

    for rows in (1, 7, 32):
        x = random.normal(size=(rows, 4)).astype("float32")
        expected = reference.run(None, {"x": x})[0]
        numpy.testing.assert_allclose(run(x), expected, rtol=1e-5, atol=1e-6)
    expected = {
        rows: run(numpy.full((rows, 4), rows, "float32")) for rows in (1, 2, 3)
    }
    workers = [threading.Thread(target=work, args=(rows,)) for rows in expected]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    none = Place(lambda *_: None)
    arrays = library.arrays([numpy.ones((2, 4), "float32")])
    assert library.program_run_into(program, arrays, 1, none, None) == BAD_INPUT
    assert "output 0 has no memory" in library.error()
    assert library.program_run_into(program, arrays, 0, none, None) == USAGE
    assert "expected 1 arrays, got 0" in library.error()
    library.program_destroy(program)


def test_check_compile(library, model):
    read = library.read(model)
    assert library.check_compile(read) == OK, library.error()
    assert library.check_compile(read) == USAGE
    text = b"""<ir_version: 8, opset_import: ["" : 17, "mine" : 1]>
    g (float[2] x) => (float[2] y) { y = mine.Strange (x) }"""
    strange = library.make("model_parse", text, len(text), b"m.onnxtxt", None)
    assert library.check_compile(strange) == NOT_SUPPORTED
    assert "mine.Strange" in library.error()
    library.model_destroy(read)
    library.model_destroy(strange)


def make_step(library, model, *flags):
    options = library.options(
        "convert", "train", "loss=softmax-cross-entropy", "optimizer=adamw"
    )
    read = library.read(model, options)
    assert library.convert(read, options, None, None) == OK, library.error()
    train = library.options("train", "dim=batch=8", *flags)
    step = library.make("step_create", read, train)
    library.model_destroy(read)
    return step


def run_step(library, step, rate=math.nan):
    x = numpy.random.default_rng(1).normal(size=(8, 4)).astype("float32")
    labels = numpy.arange(8) % 3
    outputs = (ctypes.c_void_p * library.step_num_outputs(step))()
    batch = library.arrays([x, labels], ["x", "labels"])
    status = library.step_run(step, batch, 2, rate, outputs)
    assert status == OK, library.error()
    for output in outputs:
        library.buffer_destroy(output)


def get_states(library, step):
    buffers = (ctypes.c_void_p * library.step_num_states(step))()
    assert library.step_get_states(step, buffers) == OK
    states = {}
    for buffer in buffers:
        got = Array()
        library.buffer_array(buffer, ctypes.byref(got))
        states[got.name] = ctypes.string_at(got.data, got.bytes)
        library.buffer_destroy(buffer)
    return states


@pytest.mark.parametrize("kind", ["folder", "states.safetensors", "states.npz"])
def test_steps_go_on_to_the_same_bits(library, model, kind, tmp_path):
    path = str(tmp_path / kind).encode()
    step = make_step(library, model)
    for _ in range(3):
        run_step(library, step)
    assert library.step_save(step, path, 2) == OK, library.error()
    for _ in range(3):
        run_step(library, step)
    expected = get_states(library, step)
    other = make_step(library, model)
    assert library.step_load(other, path) == OK, library.error()
    assert library.step_count(other) == (3 if kind == "folder" else 0)
    for _ in range(3):
        run_step(library, other)
    assert get_states(library, other) == expected
    library.step_destroy(step)
    library.step_destroy(other)


def test_rates_follow_the_schedule(library, model):
    step = make_step(
        library, model, "lr=0.5", "lr-schedule=linear", "warmup=2", "steps=10"
    )
    rates = []
    for _ in range(10):
        run_step(library, step)
        rates.append(library.step_rate(step))
    assert rates[0] < rates[1] <= 0.5 and rates[1:] == sorted(rates[1:])[::-1]
    run_step(library, step, 0.25)
    assert library.step_rate(step) == 0.25
    names = [library.step_output_name(step, i) for i in range(2)]
    assert b"loss" in names and library.step_output_name(step, 99) is None
    value = Value()
    assert library.step_input(step, 0, ctypes.byref(value)) == OK
    assert value.name in (b"x", b"labels")
    assert library.step_state(step, 0, ctypes.byref(value)) == OK
    library.step_destroy(step)


def test_threads_are_counted(library):
    assert library.set_num_threads(1) == OK
    assert library.num_threads() == 1
    assert library.set_num_threads(0) == 2
