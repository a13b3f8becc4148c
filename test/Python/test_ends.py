# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ends a process, or could: signals, forks, threads, exits."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import mp_opt
import numpy
import pytest
from models import CLASSIFIER, big_chain


def run(text, tmp_path, timeout=120, **options):
    """A process of its own: its exit code, and what it prints."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(text))
    environment = {**os.environ, "MPOPT_CACHE_DIR": str(tmp_path / "cache")}
    environment["PYTHONPATH"] = os.pathsep.join(
        [os.path.dirname(__file__), environment.get("PYTHONPATH", "")]
        + [p for p in sys.path if p.endswith("Support")]
    )
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", script], env=environment,
        capture_output=True, text=True, timeout=timeout, **options,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


INTERRUPT = """
import os, signal, threading, time
import mp_opt, models, numpy

model = models.big_chain().SerializeToString()
def press():
    time.sleep({delay})
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, daemon=True).start()
begin = time.monotonic()
try:
    {call}
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted after", time.monotonic() - begin)
# The package still works.
program = mp_opt.compile(models.identity("float"), cache="off")
assert program(numpy.ones((1, 2), "float32")).tolist() == [[1, 1]]
print("done")
"""


def test_ctrl_c_while_compiling(tmp_path):
    call = "mp_opt.compile(model, cache='off')"
    code, printed = run(INTERRUPT.format(delay=0.4, call=call), tmp_path)
    assert code == 0 and "done" in printed, printed
    if "not interrupted" not in printed:
        after = float(printed.split("after")[1].split()[0])
        assert after < 1.5, printed
    else:
        pytest.skip("compiled before the signal came")


def test_ctrl_c_ends_the_process_when_nobody_catches(tmp_path):
    code, printed = run(
        """
        import os, signal, threading, time, mp_opt, models
        model = models.big_chain().SerializeToString()
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        mp_opt.compile(model, cache="off")
        """,
        tmp_path,
    )
    assert code in (-signal.SIGINT, 130, 1, 0), (code, printed)
    assert "Segmentation" not in printed and "Fatal Python" not in printed


def test_ctrl_c_while_stepping(tmp_path):
    code, printed = run(
        """
        import os, signal, threading, mp_opt, models, numpy
        step = mp_opt.TrainingStep(
            mp_opt.train_step(models.CLASSIFIER, "softmax-cross-entropy")
        )
        x = numpy.ones((4096, 4), "float32")
        labels = numpy.zeros(4096, "int64")
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            while True:
                step.step(x=x, labels=labels)
        except KeyboardInterrupt:
            count = step.count
        assert count > 0
        loss = step.step(x=x, labels=labels)["loss"]
        assert step.count == count + 1 and numpy.isfinite(loss)
        print("done")
        """,
        tmp_path,
    )
    assert code == 0 and "done" in printed, printed


def test_handlers_that_raise(tmp_path):
    """A Python handler of another signal ends the call with its exception."""
    code, printed = run(
        """
        import os, signal, threading, mp_opt, models
        def handler(*_):
            raise RuntimeError("from the handler")
        signal.signal(signal.SIGUSR1, handler)
        model = models.big_chain().SerializeToString()
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        try:
            mp_opt.compile(model, cache="off")
            print("done")
        except RuntimeError as error:
            assert str(error) == "from the handler"
            print("done")
        """,
        tmp_path,
    )
    assert code == 0 and "done" in printed, printed


FORK = """
import os, sys, mp_opt, models, numpy
mp_opt.set_num_threads(2)
def use():
    made = mp_opt.convert(models.CLASSIFIER, "bf16").SerializeToString()
    program = mp_opt.compile(made, cache="off")
    y = program(numpy.ones((512, 4), "float32"))
    return y.tobytes()
{before}
expected = None
children = []
for _ in range(3):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, use()[:64])
        os._exit(0)
    os.close(write)
    children.append((child, read))
expected = use()[:64]
for child, read in children:
    assert os.read(read, 64) == expected
    assert os.waitpid(child, 0)[1] == 0
print("done")
"""


@pytest.mark.parametrize("before", ["", "use()"])
def test_fork(tmp_path, before):
    code, printed = run(FORK.format(before=before), tmp_path)
    assert code == 0 and "done" in printed, printed


def test_a_program_is_used_on_both_sides_of_a_fork(tmp_path):
    code, printed = run(
        """
        import os, mp_opt, models, numpy
        mp_opt.set_num_threads(2)
        program = mp_opt.compile(models.CLASSIFIER)
        x = numpy.ones((4096, 4), "float32")
        expected = program(x)
        child = os.fork()
        same = numpy.array_equal(program(x), expected)
        if child == 0:
            os._exit(0 if same else 1)
        assert same and os.waitpid(child, 0)[1] == 0
        print("done")
        """,
        tmp_path,
    )
    assert code == 0 and "done" in printed, printed


def test_multiprocessing(tmp_path):
    code, printed = run(
        """
        import multiprocessing, mp_opt, models
        def work(place):
            made = mp_opt.convert(models.CLASSIFIER, ("bf16", "fp16")[place % 2])
            return len(made.SerializeToString())
        if __name__ == "__main__":
            for kind in ("fork", "spawn"):
                context = multiprocessing.get_context(kind)
                with context.Pool(2) as pool:
                    assert len(set(pool.map(work, range(4)))) <= 2
            print("done")
        """,
        tmp_path,
    )
    assert code == 0 and "done" in printed, printed


@pytest.mark.parametrize("text", [
    # Objects of modules go away late.
    "import mp_opt, models\nprogram = mp_opt.compile(models.CLASSIFIER)",
    # A thread is in a call when the process ends.
    """
    import mp_opt, models, numpy, threading, time
    program = mp_opt.compile(models.CLASSIFIER)
    x = numpy.ones((200000, 4), "float32")
    def work():
        while True:
            program(x)
    threading.Thread(target=work, daemon=True).start()
    time.sleep(0.2)
    """,
    # Processes without a normal end.
    "import os, mp_opt, models\nmp_opt.compile(models.CLASSIFIER)\nos._exit(0)",
    "import sys, mp_opt, models\np = mp_opt.compile(models.CLASSIFIER)\n"
    "p.self = p\nsys.exit(0)",
])  # fmt: skip
def test_ends_of_processes(tmp_path, text):
    code, printed = run(text, tmp_path)
    assert code == 0, printed


@pytest.mark.parametrize("orders", [
    "import onnx, mp_opt", "import mp_opt, onnx",
    "import onnxruntime, mp_opt", "import mp_opt, onnxruntime",
    "import torch, mp_opt", "import mp_opt, torch",
    "import google.protobuf, onnx, mp_opt, onnxruntime",
])  # fmt: skip
def test_others_in_the_process(tmp_path, orders):
    """Their protobuf, and their LLVM, are theirs."""
    for name in ("torch",):
        if name in orders:
            pytest.importorskip(name)
    code, printed = run(
        orders
        + """
import models, numpy
made = mp_opt.convert(models.CLASSIFIER, "fp16").SerializeToString()
x = numpy.ones((2, 4), "float32")
y = mp_opt.compile(made)(x)
if "onnxruntime" in globals():
    session = onnxruntime.InferenceSession(
        made, providers=["CPUExecutionProvider"]
    )
    numpy.testing.assert_allclose(session.run(None, {"x": x})[0], y, atol=1e-2)
if "onnx" in globals():
    onnx.checker.check_model(onnx.load_model_from_string(made))
if "torch" in globals():
    z = mp_opt.compile(made)(torch.from_numpy(x))
    assert numpy.array_equal(z.numpy(), y)
print("done")
""",
        tmp_path,
    )
    assert code == 0 and "done" in printed, printed


def test_a_filter_of_warnings_that_raises():
    """What it raises comes out of the call, which has done its work."""
    import warnings

    from models import parse

    model = parse(
        '<ir_version: 8, opset_import: ["": 17]>\n'
        "g (float[N,3] x) => (float[N,3] y) <float[3,3] w = {1,2,3,4,5,6,7,8,9}>"
        "{ h = MatMul(x, w) y = Softmax(h) }"
    )

    def show(*_, **__):
        raise ZeroDivisionError

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        with pytest.raises(ZeroDivisionError):
            mp_opt.train_step(model, "softmax-cross-entropy")


def test_freed_and_changed_buffers():
    """A call holds what it reads; what is changed later is not its concern."""
    program = mp_opt.compile(CLASSIFIER)
    for rows in range(1, 50):
        x = numpy.full((rows, 4), rows, "float32")
        y = program(x)
        x.resize(0, refcheck=False)
        del x
        expected = program(numpy.full((rows, 4), rows, "float32"))
        assert numpy.array_equal(y, expected)


def test_time_of_a_big_error():
    """Errors of big models come at once, and do not keep them."""
    model = big_chain(200, 8)
    model.graph.node[300].input[0] = "nowhere"
    begin = time.monotonic()
    for _ in range(5):
        with pytest.raises(mp_opt.Error, match="nowhere"):
            mp_opt.convert(model)
    assert time.monotonic() - begin < 10
