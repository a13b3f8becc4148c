# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A bug of mp-opt ends in exit code 70, a message, and a reproducer.

Bugs are made with the hidden flag --debug-crash-in=PLACE[:KIND].
"""

import os
import pathlib
import re
import resource
import signal
import stat
import subprocess
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnx_models
import support

INTERNAL = 70
KINDS = {
    "segv": "segmentation fault",
    "bus": "bus error (was the file cut short while it was read?)",
    "fpe": "arithmetic error",
    "ill": "illegal instruction",
    "abort": "the run was aborted",
    "terminate": "std::terminate was called",
    "fatal": "a fatal error on purpose",
    "stack": "stack overflow",
    "oom": "out of memory",
}
# Sanitizers map more memory than any limit allows.
SANITIZED = b"__asan_init" in pathlib.Path(support.MP_OPT).read_bytes()
if SANITIZED:
    KINDS.pop("oom")
# The passes in the order of the pipeline.
PASSES = [
    "onnx-specialize-functions",
    "mp-annotate-composites",
    "mp-annotate-ranges",
    "onnx-raise-opset",
    "mp-assign",
    "mp-insert-casts",
    "mp-convert-weights",
    "mp-verify-precision",
    "onnx-merge-functions",
]
# Elements of weights that can be recognised in bytes and in both forms of text.
SECRET = np.float32(-1234.5678)
OTHER = np.float32(1)


def make_model(path, rows=64):
    """Two MatMuls with weights in all forms that a tensor can have."""
    weight = np.full((rows, rows), SECRET, np.float32)
    weight[:, ::8] = OTHER
    typed, sixteen = (
        helper.make_tensor(
            name, kind, weight.shape, weight.astype(dtype).ravel().tolist()
        )
        for name, kind, dtype in (
            ("typed", TensorProto.FLOAT, np.float32),
            ("sixteen", TensorProto.FLOAT16, np.float16),
        )
    )
    eight = TensorProto(
        name="eight", data_type=TensorProto.FLOAT8E4M3FN, dims=[rows, rows],
        raw_data=SECRET.tobytes() * (rows * rows // 4),
    )  # fmt: skip
    nodes = [
        helper.make_node("MatMul", ["x", "raw"], ["a"], name="first"),
        helper.make_node("MatMul", ["a", "typed"], ["b"], name="second"),
        helper.make_node("Softmax", ["b"], ["y"], name="last"),
        helper.make_node("Cast", ["eight"], ["z"], to=1, name="cast"),
        helper.make_node("Identity", ["sixteen"], ["s"], name="id"),
    ]
    describe = onnx_models.describe
    model = onnx_models.make_model(
        nodes, {"x": ["n", rows]},
        [
            describe("y", shape=["n", rows]), describe("z", shape=[rows, rows]),
            describe("s", np.float16, [rows, rows]),
        ],
        [numpy_helper.from_array(weight, "raw"), typed, sixteen, eight],
        opset=19, ir=None, name="secrets"
    )
    onnx.save_model(model, path)
    return path


class Scene:
    """A folder with a model and an old output, and an empty $TMPDIR."""

    def __init__(self):
        self.folder = support.scratch_dir("crash")
        self.model = make_model(self.folder / "in.onnx")
        self.temporary = support.scratch_dir("tmp")
        self.output = self.folder / "out.onnx"
        self.output.write_text("old")

    def run(self, *arguments, output="out.onnx", **options):
        arguments += ("-o", self.folder / output) if output else ()
        environment = {**os.environ, "TMPDIR": str(self.temporary)}
        return support.attempt(
            *arguments, timeout=120, env=environment, **options
        )

    def check_outputs(self):
        """Old files are whole, and nothing else was left behind."""
        assert self.output.read_text() == "old"
        names = {path.name for path in self.folder.iterdir()}
        assert names == {"in.onnx", "out.onnx"}

    def take_reproducer(self, done):
        """The one file in $TMPDIR, which the message names."""
        (path,) = self.temporary.iterdir()
        assert f"reproducer, without big weights: {path}\n" in done.stderr
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        return path


def check_message(done, what, place):
    assert done.returncode == INTERNAL, done.stderr
    lines = done.stderr.splitlines()
    (first,) = [line for line in lines if "internal error:" in line]
    assert first.startswith(f"mp-opt: internal error: {what}{place}"), first
    assert "SECURITY.md" in lines[-1]
    return first


def check_no_secrets(path):
    content = path.read_bytes()
    assert SECRET.tobytes() * 4 not in content
    assert np.float16(SECRET).tobytes() * 4 not in content
    assert SECRET.tobytes().hex().upper().encode() * 4 not in content
    escaped = b"".join(b"\\%02X" % byte for byte in SECRET.tobytes())
    assert escaped * 2 not in content
    # The file may contain the range of values, but not the values.
    assert content.count(b"-1234.5") + content.count(b"-1.234") < 8


@pytest.fixture
def scene():
    return Scene()


CASES = [(place, "segv") for place in PASSES] + [
    (place, kind)
    for place in ("mp-annotate-composites", "mp-insert-casts", "mp-verify-precision")
    for kind in KINDS
    if kind != "segv"
]


@pytest.mark.parametrize("place,kind", CASES)
def test_pass(scene, place, kind):
    crash = f"--debug-crash-in={place}:{kind}"
    done = scene.run(scene.model, "--mixed-bf16", crash)
    first = check_message(done, KINDS[kind], f" in pass '{place}'")
    index = PASSES.index(place)
    if index:
        assert "(the last one that ended: '" in first
    scene.check_outputs()
    path = scene.take_reproducer(done)
    assert path.suffix == ".mlir"
    text = path.read_text()
    assert f"//   mp-opt {scene.model} --mixed-bf16 {crash} -o " in text
    pipeline = re.search(r'pipeline: "builtin.module\((.*)\)"', text).group(1)
    assert pipeline.startswith(place)
    assert all(later in pipeline for later in PASSES[index:])
    check_no_secrets(path)
    # It shows the bug again, and nothing else is wrong with it.
    again = scene.run(path, "--run-reproducer", crash, output=None)
    check_message(again, KINDS[kind], f" in pass '{place}'")
    good = scene.run(path, "--run-reproducer", output=None)
    assert good.returncode == 0, good.stderr


def test_last_pass_is_named(scene):
    done = scene.run(scene.model, "--mixed-fp16", "--debug-crash-in=mp-assign")
    first = check_message(done, "segmentation fault", " in pass 'mp-assign'")
    assert first.endswith("(the last one that ended: 'onnx-remove-casts')")


def test_reproducer_is_what_the_pass_met(scene):
    """The rest of the pipeline makes of it what it makes of the model."""
    flags = ["--mixed-bf16", "--summary=none"]
    done = scene.run(scene.model, *flags, "--debug-crash-in=mp-insert-casts")
    path = scene.take_reproducer(done)
    rest = scene.run(path, "--run-reproducer", output=None)
    whole = scene.run(scene.model, *flags, output=None)
    body = re.compile(r"onnx\.graph.*?\n  \}\n", re.S)
    weights = re.compile(
        r"dense_resource<[^>]*>|dense<1\.0+e\+00>|\"[^\"]{512,}\""
    )
    # Ones are cast at once, other weights when they are written.
    casts = re.compile(r"#onnx\.cast_elements<WEIGHT : tensor<[^>]*>>")
    found, expected = (
        casts.sub("WEIGHT", weights.sub("WEIGHT", body.search(text).group(0)))
        for text in (rest.stdout, whole.stdout)
    )
    assert "onnx.Cast" in found
    assert found == expected


def test_stock_mlir_opt_understands_it(scene):
    mlir_opt = "/usr/lib/llvm-22/bin/mlir-opt"
    plugin = pathlib.Path(support.MP_OPT).parents[1] / "lib/mp-opt-plugin.so"
    if not os.access(mlir_opt, os.X_OK) or not plugin.exists():
        pytest.skip("no mlir-opt of LLVM 22, or no plugin beside mp-opt")
    done = scene.run(
        scene.model, "--mixed-bf16", "--debug-crash-in=mp-insert-casts"
    )
    path = scene.take_reproducer(done)
    flags = [f"--load-{kind}-plugin={plugin}" for kind in ("dialect", "pass")]
    again = subprocess.run(
        [mlir_opt, *flags, path, "--run-reproducer"],
        capture_output=True,
        text=True,
    )
    assert again.returncode == 0, again.stderr
    assert "bf16" in again.stdout


# The flags' words reach the pass options and the comment unchanged.
FLAGS = [
    ["--deny-node=fir(s|t)t{1,2}", "--allow=Softmax,Add"],
    ["--deny-node=a b'c\"d\\\\", "--allow-node=.*second"],
    ["--dim=n=7", "--min-saving=3.5%", "--opset-limit=22"],
]


@pytest.mark.parametrize("flags", FLAGS, ids=["braces", "quotes", "numbers"])
def test_options_survive(scene, flags):
    # A pattern that matches nothing is an error, if it gets there unchanged.
    expected = scene.run(scene.model, "--mixed-bf16", *flags, output=None)
    done = scene.run(
        scene.model, "--mixed-bf16", *flags, "--debug-crash-in=mp-annotate-composites"
    )
    assert done.returncode == INTERNAL
    path = scene.take_reproducer(done)
    again = scene.run(path, "--run-reproducer", output=None)
    assert again.returncode == expected.returncode, again.stderr
    words = path.read_text().split("\n")[1].removeprefix("//   mp-opt ")
    line = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {words}"], capture_output=True, text=True
    ).stdout.split("\0")
    assert line[1 : 2 + len(flags)] == ["--mixed-bf16", *flags]


# Reading and writing ----------------------------------------------------------


def test_reading(scene):
    done = scene.run(scene.model, "--mixed-bf16", "--debug-crash-in=import")
    check_message(
        done, "segmentation fault", f" while reading '{scene.model}'"
    )
    scene.check_outputs()
    path = scene.take_reproducer(done)
    assert path.suffix == ".onnx"
    check_no_secrets(path)
    model = onnx.load(path)
    original = onnx.load(scene.model)
    for tensor, whole in zip(model.graph.initializer, original.graph.initializer):
        assert len(tensor.raw_data) == len(whole.raw_data)
        assert len(tensor.float_data) == len(whole.float_data)
        assert not any(tensor.raw_data) and not any(tensor.float_data)
    again = scene.run(path, "--mixed-bf16", "--debug-crash-in=import")
    assert again.returncode == INTERNAL
    good = scene.run(path, "--mixed-bf16", output=None)
    assert good.returncode == 0, good.stderr


def test_reproducer_of_a_big_model_takes_no_space(scene):
    make_model(scene.model, rows=2048)
    done = scene.run(scene.model, "--debug-crash-in=import:abort")
    path = scene.take_reproducer(done)
    status, whole = path.stat(), scene.model.stat()
    assert status.st_size == whole.st_size
    # All data become gaps except varints, i.e. those of the 16-bit floats.
    assert status.st_blocks * 512 < whole.st_size / 2


@pytest.mark.parametrize(
    "place,kind", [("export", "segv"), *(("write", kind) for kind in KINDS)]
)
def test_writing(scene, place, kind):
    crash = f"--debug-crash-in={place}:{kind}"
    done = scene.run(scene.model, "--mixed-bf16", crash)
    first = check_message(done, KINDS[kind], " while writing")
    assert "(the last one that ended: 'mp-expand-loss-scaling')" in first
    scene.check_outputs()
    path = scene.take_reproducer(done)
    assert 'pipeline: "builtin.module()"' in path.read_text()
    check_no_secrets(path)
    # It can be exported, or crash there, as before.
    good = scene.run(path, "--emit=onnx", output="again.onnx")
    assert good.returncode == 0, good.stderr
    again = scene.run(path, "--emit=onnx", crash)
    check_message(again, KINDS[kind], " while writing")


def test_reports_are_whole_too(scene):
    report = scene.folder / "report.html"
    report.write_text("old")
    done = scene.run(
        scene.model,
        "--mixed-bf16",
        f"--report={report}",
        "--debug-crash-in=write",
    )
    assert done.returncode == INTERNAL
    assert report.read_text() == "old"
    report.unlink()
    scene.check_outputs()


@pytest.mark.parametrize("name", ["MeasureModel", "MakeReports"])
def test_passes_of_the_tool(scene, name):
    """Those that a reproducer cannot name are left out of its pipeline."""
    done = scene.run(scene.model, "--mixed-bf16", f"--debug-crash-in={name}")
    check_message(done, "segmentation fault", f" in pass '{name}'")
    path = scene.take_reproducer(done)
    good = scene.run(path, "--run-reproducer", output=None)
    assert good.returncode == 0, good.stderr


# MLIR -------------------------------------------------------------------------


@pytest.fixture
def mlir(scene):
    path = scene.temporary.with_suffix(".mlir")
    support.run_mp_opt(scene.model, "--elide-weights=false", "-o", path)
    return path


@pytest.mark.parametrize("threads", [[], ["--mlir-disable-threading"]])
@pytest.mark.parametrize(
    "flags,place",
    [
        (["--mixed-bf16"], "mp-assign"),
        (["--mp-mixed-precision=precision=bf16"], "mp-insert-casts"),
        (["--mp-annotate-composites", "--mp-set-policy", "--mp-classify"], "mp-classify"),
        (["--pass-pipeline=builtin.module(mp-set-policy,mp-classify,mp-assign)"], "mp-assign"),
    ],
)
def test_mlir_input(scene, mlir, flags, place, threads):
    crash = f"--debug-crash-in={place}:stack"
    done = scene.run(mlir, *flags, *threads, crash, output="out.mlir")
    check_message(done, "stack overflow", f" in pass '{place}'")
    scene.check_outputs()
    path = scene.take_reproducer(done)
    check_no_secrets(path)
    again = scene.run(path, "--run-reproducer", crash, output=None)
    check_message(again, "stack overflow", f" in pass '{place}'")
    good = scene.run(path, "--run-reproducer", output=None)
    assert good.returncode == 0, good.stderr


@pytest.mark.parametrize("form", ["onnx", "mlir"])
def test_mlir_reproducer_still_works(scene, mlir, form):
    """MLIR recovers from the crash if its own reproducer is asked for."""
    file = scene.temporary / "mlir.mlir"
    for kind in ("segv", "fatal"):
        done = scene.run(
            mlir if form == "mlir" else scene.model,
            "--mixed-bf16",
            f"--debug-crash-in=mp-assign:{kind}",
            f"--mlir-pass-pipeline-crash-reproducer={file}",
            output="out." + form,
        )
        assert done.returncode == INTERNAL
        assert "reproducer generated at" in done.stderr
        assert "mlir_reproducer" in file.read_text()
        scene.check_outputs()
        file.unlink()
    assert "internal error: a fatal error on purpose" in done.stderr


def test_mlir_without_passes(scene, mlir):
    done = scene.run(mlir, "--debug-crash-in=import", output="out.mlir")
    check_message(done, "segmentation fault", f" while reading '{mlir}'")
    assert "no reproducer: the model itself is one" in done.stderr
    assert not list(scene.temporary.iterdir())


# No reproducer ----------------------------------------------------------------


def test_standard_input(scene):
    with open(scene.model, "rb") as model:
        done = scene.run(
            "-", "--mixed-bf16", "--debug-crash-in=export", stdin=model
        )
    assert done.returncode == INTERNAL
    assert "no reproducer: the model came from standard input" in done.stderr
    scene.check_outputs()
    assert not list(scene.temporary.iterdir())


def test_pipe(scene):
    pipe = scene.temporary.with_suffix(".pipe")
    os.mkfifo(pipe)
    with subprocess.Popen(["cp", scene.model, pipe]):
        done = scene.run(pipe, "--mixed-bf16", "--debug-crash-in=mp-assign")
    assert done.returncode == INTERNAL
    assert "no reproducer: the model did not come from a regular file" in done.stderr


def test_second_run_fails(scene):
    """The model has gone before the second run could read it."""
    pipe = scene.temporary.with_suffix(".pipe")
    os.mkfifo(pipe)
    command = [support.MP_OPT, scene.model, "--mixed-bf16", "--summary=none"]
    process = subprocess.Popen(
        # Opened while the policy is read: after the model, before the passes.
        [*command, f"--deny-file={pipe}", "--debug-crash-in=mp-assign"],
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(scene.temporary)},
    )
    with open(pipe, "w") as names:
        scene.model.unlink()
        names.write("Softmax\n")
    message = process.communicate(timeout=120)[1].decode()
    assert process.returncode == INTERNAL, message
    assert "no reproducer: a second run did not get as far" in message
    assert not list(scene.temporary.iterdir())


def test_no_standard_streams(scene):
    """Their numbers are free then; the reproducer must not take them."""
    command = '"$@" 0<&- 1<&- 2<&-'
    done = subprocess.run(
        ["bash", "-c", command, "bash", support.MP_OPT, scene.model]
        + ["--mixed-bf16", "--debug-crash-in=mp-assign", "-o", scene.output],
        env={**os.environ, "TMPDIR": str(scene.temporary)},
    )
    assert done.returncode == INTERNAL
    (path,) = scene.temporary.iterdir()
    assert path.read_text().startswith("// mp-opt ")
    scene.check_outputs()


def test_temporary_folder_is_missing(scene):
    scene.temporary.rmdir()
    done = scene.run(scene.model, "--mixed-bf16", "--debug-crash-in=mp-assign")
    assert done.returncode == INTERNAL
    assert "no reproducer: the temporary folder cannot be" in done.stderr


def test_diff(scene):
    """A real signal while mp-opt diff waits for its second model."""
    pipe = scene.temporary / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [support.MP_OPT, "diff", scene.model, pipe], stderr=subprocess.PIPE
    )
    with open(pipe, "wb"):  # returns when it waits
        time.sleep(0.2)
        process.send_signal(signal.SIGSEGV)
        message = process.communicate(timeout=60)[1].decode()
    assert process.returncode == INTERNAL, message
    assert f"segmentation fault while reading '{pipe}'" in message
    assert "no reproducer: mp-opt diff makes none" in message


# Memory -----------------------------------------------------------------------


@pytest.mark.skipif(SANITIZED, reason="a sanitizer maps more than any limit")
def test_address_space_limits(scene):
    """Whatever fits, it fits, or says that it does not."""
    make_model(scene.model, rows=1024)
    ends = {}
    for mebibytes in range(60, 2000, 6):
        if len(ends.get(0, [])) > 5:
            break
        limit = mebibytes << 20

        def set_limit():
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        # Too little to start with is the loader's affair.
        started = subprocess.run(
            [support.MP_OPT, "--version"],
            capture_output=True,
            preexec_fn=set_limit,
        )
        if started.returncode != 0:
            continue
        done = scene.run(
            scene.model,
            "--mixed-bf16",
            "--mlir-disable-threading",
            preexec_fn=set_limit,
        )
        ends.setdefault(done.returncode, []).append(mebibytes)
        if done.returncode == 0:
            scene.output.write_text("old")
            continue
        assert "emory" in done.stderr, done.stderr
        assert done.returncode in (1, INTERNAL), done.stderr
        scene.check_outputs()
        for path in scene.temporary.iterdir():
            scene.take_reproducer(done).unlink()
    print("MiB of address space by exit code:", ends)
    assert INTERNAL in ends and 0 in ends


def test_no_cost(scene):
    """Nothing is started or copied as long as nothing goes wrong."""
    done = scene.run(scene.model, "--mixed-bf16", output=None)
    assert done.returncode == 0
    assert not list(scene.temporary.iterdir())


@pytest.mark.parametrize(
    "flag", ["--debug-crash-in=mp-assign:nothing", "--debug-write-step=x"]
)
def test_usage(scene, flag):
    done = scene.run(scene.model, flag)
    assert done.returncode == 2
