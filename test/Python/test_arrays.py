# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What goes into compiled models, and what comes out of them."""

import gc
import sys
import threading
import time

import ml_dtypes
import mp_opt
import numpy
import onnx.reference
import pytest
from models import CLASSIFIER, identity, parse

KINDS = {
    "float": "float32", "double": "float64", "float16": "float16",
    "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64",
    "uint8": "uint8", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64",
    "bool": "bool", "bfloat16": "bfloat16",
}  # fmt: skip


def dtype(name):
    return ml_dtypes.bfloat16 if name == "bfloat16" else numpy.dtype(name)


@pytest.fixture(scope="module")
def classifier():
    return mp_opt.compile(CLASSIFIER)


@pytest.mark.parametrize("kind", KINDS)
def test_types_go_through(kind):
    program = mp_opt.compile(identity(kind))
    assert program.inputs[0].dtype == KINDS[kind]
    x = numpy.array([[0, 1], [1, 0], [1, 1]]).astype(dtype(KINDS[kind]))
    y = program(x)
    assert y.dtype == x.dtype and numpy.array_equal(y, x)
    for other in {"float32", "int64", "bool"} - {KINDS[kind]}:
        program = mp_opt.compile(identity(kind))
        with pytest.warns(mp_opt.ModelWarning, match=f"{other} becomes"):
            y = program(numpy.ones((3, 2), other))
        assert y.dtype == x.dtype and (y == 1).all()
    # No value may change, but for floats that are rounded.
    for wrong in (numpy.pi * 1e60, 0.3, -1.3):
        array = numpy.full((3, 2), wrong)
        fits = kind == "double" or ("float" in kind and wrong < 1e60)
        if not fits:
            with pytest.raises(mp_opt.Error, match="in row 0, column 0, which"):
                program(array)


def test_values_describe_themselves(classifier):
    value = classifier.inputs[0]
    assert value.name == "x" and value.shape == (None, 4)
    assert value.type == "tensor(float)" and not value.has_default
    assert classifier.get_outputs()[0].name == "scores"
    assert "x: float32[?, 4]" in repr(classifier)


def test_calls(classifier):
    random = numpy.random.default_rng(0)
    import subprocess

    for rows in (1, 5, 33):
        x = random.normal(size=(rows, 4)).astype("float32")
        y = classifier(x)
        assert numpy.array_equal(y, classifier(x=x))
        assert numpy.array_equal(y, classifier.run(None, {"x": x})[0])
        assert numpy.array_equal(y, classifier.run(["scores"], {"x": x})[0])
        # Lists have no type.
        assert numpy.array_equal(y, classifier(x.tolist()))
    assert classifier.run([], {"x": x}) == []


def test_numbers_are_right():
    model = parse(
        '<ir_version: 10, opset_import: ["": 20]>\n'
        "g (float[N,4] x, float[N,4] y) => (float[N,4] sum, float[N,4] gelu)"
        "{ sum = Add(x, y) gelu = Gelu(x) }"
    )
    program = mp_opt.compile(model)
    reference = onnx.reference.ReferenceEvaluator(model)
    x, y = numpy.random.default_rng(0).normal(size=(2, 7, 4)).astype("float32")
    expected = reference.run(None, {"x": x, "y": y})
    for made in (
        program(x, y), program(y=y, x=x), program(x, y=y),
        program.run(["sum", "gelu"], {"y": y, "x": x}),
    ):  # fmt: skip
        for one, other in zip(made, expected):
            numpy.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_strides_and_order(classifier):
    base = numpy.random.default_rng(0).normal(size=(8, 8)).astype("float32")
    expected = classifier(base[:4, :4].copy())
    assert numpy.array_equal(classifier(base[:4, :4]), expected)
    assert numpy.array_equal(
        classifier(numpy.asfortranarray(base[:4, :4])), expected
    )
    swapped = base[:4, :4].astype(">f4")
    assert numpy.array_equal(classifier(swapped), expected)
    flipped = base[3::-1, :4]
    assert numpy.array_equal(classifier(flipped), classifier(flipped.copy()))
    locked = base[:4, :4].copy()
    locked.flags.writeable = False
    assert numpy.array_equal(classifier(locked), expected)
    raw = numpy.zeros(65, "uint8")
    raw[1:] = base[:4, :4].copy().view("uint8").ravel()
    odd = raw[1:].view("float32").reshape(4, 4)
    assert numpy.array_equal(classifier(odd), expected)


def test_arrays_are_not_copied():
    """Neither on their way in nor on their way out."""
    program = mp_opt.compile(
        parse(
            '<ir_version: 10, opset_import: ["": 21]>\n'
            "g (float[N] x) => (float[N] y) { y = Neg(x) }"
        ),
        dim={"N": 1 << 24},
    )
    x = numpy.ones(1 << 24, "float32")

    def peak():
        with open("/proc/self/status") as status:
            rows = dict(line.split(":", 1) for line in status)
        return int(rows["VmHWM"].split()[0]) << 10

    before = peak()
    y = program(x)
    # One array comes out; half of one more would be a copy.
    assert peak() - before < 1.5 * x.nbytes
    assert y[0] == -1 and y.base is not None


def test_outputs_outlive_their_program():
    program = mp_opt.compile(identity("float"))
    y = program(numpy.full((1000, 2), 7, "float32"))
    del program
    gc.collect()
    assert (y == 7).all()
    y[0] = 1


class Exporter:
    """An array of another library, by DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack(classifier):
    x = numpy.ones((2, 4), "float32")
    assert numpy.array_equal(classifier(Exporter(x)), classifier(x))


class Elsewhere(Exporter):
    def __dlpack__(self, **options):
        raise BufferError("not on the CPU")

    def __dlpack_device__(self):
        return (2, 0)


@pytest.mark.parametrize("value, kind", [
    (Elsewhere(numpy.ones((2, 4), "float32")), TypeError),
    (numpy.ones((2, 4), "complex128"), mp_opt.Error),
    (numpy.full((2, 4), 1e300), mp_opt.Error),
    (numpy.ones((2, 5), "float32"), mp_opt.Error),
    (numpy.ones((2, 4, 1), "float32"), mp_opt.Error),
    (numpy.float32(1), mp_opt.Error),
    (None, TypeError),
    ("text", TypeError),
    (object(), TypeError),
    (numpy.array(["a"]), TypeError),
    (numpy.array([None]), TypeError),
    (numpy.zeros(2, "datetime64[s]"), TypeError),
    ([[1, 2], [3]], ValueError),
])  # fmt: skip
def test_what_is_no_input(classifier, value, kind):
    with pytest.raises(kind):
        classifier(value)
    with pytest.raises(kind):
        classifier.run(None, {"x": value})
    # It still runs.
    assert classifier(numpy.ones((2, 4), "float32")).shape == (2, 3)


def test_names_and_counts(classifier):
    x = numpy.ones((2, 4), "float32")
    for call, message in (
        (lambda: classifier(), "input 'x' is missing"),
        (lambda: classifier(x, x), "expected 1 input \\(.x.\\), got 2"),
        (lambda: classifier(x, x=x), "given twice"),
        (lambda: classifier(X=x), "there is no input 'X'; did you mean 'x'?"),
        (lambda: classifier.run(["y"], {"x": x}), "there is no output 'y'"),
    ):
        with pytest.raises(mp_opt.Error, match=message.replace("?", r"\?")):
            call()
    with pytest.raises((AttributeError, TypeError)):
        classifier.run(None, None)


def test_empty_arrays():
    program = mp_opt.compile(identity("float"))
    assert program(numpy.zeros((0, 2), "float32")).shape == (0, 2)


def test_defaults_may_be_left_out():
    model = parse(
        '<ir_version: 10, opset_import: ["": 21]>\n'
        "g (float[2] x, float[2] b) => (float[2] y) <float[2] b = {1, 2}>"
        "{ y = Add(x, b) }"
    )
    program = mp_opt.compile(model)
    assert program.inputs[1].has_default
    x = numpy.zeros(2, "float32")
    assert program(x).tolist() == [1, 2]
    assert program(x, b=numpy.ones(2, "float32")).tolist() == [1, 1]


def test_in_place_leaves_arguments_alone():
    model = parse(
        '<ir_version: 10, opset_import: ["": 21]>\n'
        "g (float[2] s, float[2] x) => (float[2] s_new) { s_new = Add(s, x) }"
    )
    program = mp_opt.compile(model, in_place=True)
    s = numpy.ones(2, "float32")
    s.flags.writeable = False
    assert program(s, s).tolist() == [2, 2] and s.tolist() == [1, 1]


def test_excess_precision():
    model = parse(
        '<ir_version: 10, opset_import: ["": 21]>\n'
        "g (bfloat16[1,2] x, bfloat16[2,1] w) => (float[1,1] y) {"
        " p = MatMul(x, w) y = Cast<to = 1>(p) }"
    )
    # 1 + 2^-10 takes more digits than bf16 has.
    x = numpy.array([[1, 2**-5]], "float32")
    w = numpy.array([[1], [2**-5]], "float32")
    assert mp_opt.compile(model)(x, w).tolist() == [[1]]
    program = mp_opt.compile(model, excess_precision=True)
    assert program(x, w).tolist() == [[1 + 2**-10]]


@pytest.mark.parametrize("kind", ["fp16", "bf16"])
def test_fp32_arrays_for_16_bit_inputs(kind):
    """They are rounded, with one warning; outputs come as they are."""
    model = parse(
        '<ir_version: 10, opset_import: ["": 21]>\n'
        "g (float[2,2] x, float[2,2] past) => (float[2,2] y, float[4,2] present) {"
        " y = MatMul(x, x) present = Concat<axis = 0>(past, y) }"
    )
    made = mp_opt.convert(model, kind, io={"past|present": kind})
    program = mp_opt.compile(made)
    assert [v.dtype for v in program.inputs] == [
        "float32", "float16" if kind == "fp16" else "bfloat16"
    ]  # fmt: skip
    dtype = numpy.float16 if kind == "fp16" else ml_dtypes.bfloat16
    x = numpy.array([[1 + 2**-12, 3], [1 / 3, -2]], "float32")
    with pytest.warns(UserWarning, match="'past': float32 becomes"):
        y, present = program(x, x)
    assert y.dtype == numpy.float32 and present.dtype == dtype
    assert numpy.array_equal(present[:2], x.astype(dtype))
    # The outputs of one step go into the next one as they are.
    again = program(x, present[2:])[1]
    assert numpy.array_equal(again[:2], present[2:])
    big = numpy.full((2, 2), 3.4e38, "float32")
    with pytest.raises(mp_opt.Error, match="'past'.*beyond the range of"):
        program(x, big)
    with pytest.raises(mp_opt.Error, match="'past'.*is not a number of"):
        program(x, numpy.full((2, 2), 4097, "int64"))


def test_precision_and_sizes():
    program = mp_opt.compile(CLASSIFIER, precision="bf16", dim={"batch": 4})
    assert program.inputs[0].shape == (4, 4)
    x = numpy.ones((4, 4), "float32")
    expected = mp_opt.compile(CLASSIFIER)(x)
    y = program(x)
    assert not numpy.array_equal(y, expected)
    numpy.testing.assert_allclose(y, expected, rtol=0.05, atol=0.02)
    with pytest.raises(mp_opt.Error, match="float32\\[4,4\\]"):
        program(x[:2])


@pytest.mark.parametrize("arguments, message", [
    ({"dim": {"bacth": 4}}, "batch"),
    ({"dim": {"batch": -1}}, "dim: "),
    ({"threads": 0}, "threads: expected a number from 1"),
    ({"threads": True}, "threads: "),
    ({"device": "tpu"}, "expected cpu, cuda or emulated"),
    ({"precision": "fp8"}, "precision: expected bf16 or fp16"),
    ({"kernel": "amx"}, "did you mean 'kernels'?"),
    ({"lr": 1.0}, "unknown option 'lr'"),
])  # fmt: skip
def test_wrong_options(arguments, message):
    with pytest.raises(mp_opt.Error) as caught:
        mp_opt.compile(CLASSIFIER, **arguments)
    assert message in str(caught.value)


def test_operators_that_cannot_be_compiled():
    model = parse(
        '<ir_version: 8, opset_import: ["": 17, "mine": 1]>\n'
        "g (float[2] x) => (float[2] y) { [odd] y = mine.Strange(x) }"
    )
    with pytest.raises(mp_opt.NotSupportedError) as caught:
        mp_opt.compile(model)
    assert caught.value.status == 4
    assert caught.value.diagnostics[0].node == "odd"


def test_threads_share_a_program(classifier):
    random = numpy.random.default_rng(0)
    batches = [random.normal(size=(n, 4)).astype("float32") for n in (1, 9, 64)]
    expected = [classifier(x) for x in batches]
    wrong = []

    def work(place):
        for _ in range(300):
            try:
                if not numpy.array_equal(
                    classifier(batches[place]), expected[place]
                ):
                    wrong.append(place)
            except Exception as error:
                wrong.append(error)

    workers = [threading.Thread(target=work, args=(i % 3,)) for i in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_calls_give_up_the_lock():
    """Python's other threads run while a model does."""
    model = parse(
        '<ir_version: 10, opset_import: ["": 21]>\n'
        "g (float[N,N] x) => (float[N,N] y) { a = MatMul(x,x) y = MatMul(a,x) }"
    )
    program = mp_opt.compile(model)
    x = numpy.ones((1500, 1500), "float32") / 1500
    done, ticks = threading.Event(), []

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    worker = threading.Thread(target=tick)
    worker.start()
    begin = time.perf_counter()
    while time.perf_counter() - begin < 0.5:
        program(x)
    end = time.perf_counter()
    done.set()
    worker.join()
    # Far more than the few that fit between calls.
    assert sum(begin < t < end for t in ticks) > 50


def test_memory_does_not_grow(classifier):
    x = numpy.ones((64, 4), "float32")

    def resident():
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1])

    for _ in range(500):
        classifier(x)
    before = resident()
    for count in range(5000):
        classifier(x)
        if count % 10 == 0:
            with pytest.raises(mp_opt.Error):
                classifier(x[:, :3].copy())
    assert resident() - before < 2048
    assert sys.getrefcount(x) < 8


def test_number_of_threads():
    before = mp_opt.num_threads()
    mp_opt.set_num_threads(1)
    assert mp_opt.num_threads() == 1
    mp_opt.set_num_threads(before)
    for wrong in (0, -1, 1 << 40, "2", None, 1.5):
        with pytest.raises((mp_opt.Error, TypeError)):
            mp_opt.set_num_threads(wrong)
