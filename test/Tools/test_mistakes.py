# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes that users make: one message each, which says what to do.

A row is a mistake, the arguments, the exit code, and what the message must say.
All run in a folder of models and files that are wrong in one way each.
"""

import pathlib
import re
import shutil
import struct
import subprocess
import zipfile

import numpy as np
import onnx
import pytest
from support import MP_OPT, attempt, run_mp_opt, scratch_dir

INPUTS = pathlib.Path(__file__).parent / "Inputs"
MP_RUN = str(pathlib.Path(MP_OPT).with_name("mp-run"))
BAD_INPUT, USAGE, UNSUPPORTED = 1, 2, 4

HEADER = '<ir_version: 9, opset_import: ["" : 21, "my.domain" : 1]>\n'
MODELS = {
    "small": (INPUTS / "small.onnxtxt").read_text(),
    "net": (INPUTS / "train.onnxtxt").read_text(),
    "softmax": HEADER + """soft (float[N, 4] x) => (float[N, 2] y)
<float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}> { h = MatMul(x, w) y = Softmax(h) }""",
    "flat": HEADER + """flat (float[4] x) => (float[2] y)
<float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}> { y = MatMul(x, w) }""",
    "bare": HEADER + "bare (float[N, 4] x) => (float[N, 4] y) { y = Relu(x) }",
    "custom": HEADER + """custom (float[N, 2] x) => (float[N, 2] y)
<float[2, 2] v = {1, 2, 3, 4}, float[2, 2] w = {1, 2, 3, 4}, float[N, 2] h>
{ k = MatMul(x, v) [strange] h = my.domain.Strange(k) [mm] y = MatMul(h, w) }""",
    "unnamed": HEADER + "plain (float[2, 4] x) => (float[2, 4] y) { y = Relu(x) }",
}
TEXTS = {
    "export.py": "import torch\nprint(torch)\n",
    "script.onnx": "from x import y\n",
    "page.onnx": "<!DOCTYPE html>\n<html><body>404</body></html>\n",
    "pointer.onnx": "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
    "text.onnx": MODELS["small"].split("\n", 1)[1],
    "tab.yaml": "precision: bf16\nops:\n  allow:\n\t- Softmax\n",
    "key.yaml": "precision: bf16\nops: {alow: [Softmax]}\n",
    "value.yaml": "precision: bf17\n",
    "scalar.yaml": "precision: bf16\nops: {allow: Softmax}\n",
    "words.json": '{"model": "none"}\n',
}
BYTES = {
    "array.npy": b"\x93NUMPY\x01\x00v\x00{'descr': '<f4'}\n",
    "pickle.pt": b"\x80\x02}q\x00.",
    "states.safetensors": struct.pack("<Q", 16) + b'{"__metadata__":{}}',
    "keras.h5": b"\x89HDF\r\n\x1a\n\x00",
    "model.onnx.gz": b"\x1f\x8b\x08\x00",
    "lite.tflite": b"\x1c\x00\x00\x00TFL3",
    "runtime.ort": b"\x1c\x00\x00\x00ORTM",
}


@pytest.fixture(scope="module")
def folder():
    path = scratch_dir("mistakes")
    for name, text in MODELS.items():
        (path / f"{name}.onnxtxt").write_text(text)
    for name, text in TEXTS.items():
        (path / name).write_text(text)
    for name, content in BYTES.items():
        (path / name).write_bytes(content)
    np.savez(path / "data.npz", x=np.zeros((2, 4), np.float32))
    shutil.copy(path / "data.npz", path / "data.onnx")
    with zipfile.ZipFile(path / "torch.pt", "w") as archive:
        archive.writestr("net/data.pkl", b"")
    run_mp_opt(path / "small.onnxtxt", "-o", path / "m.onnx")
    (path / "cut.onnx").write_bytes((path / "m.onnx").read_bytes()[:-9])
    (path / "folder").mkdir()
    write_external(path / "external.onnx")
    return path


def write_external(path):
    """A model whose data file is missing."""
    model = onnx.load(path.with_name("m.onnx"))
    for weights in model.graph.initializer:
        array = onnx.numpy_helper.to_array(weights)
        weights.CopyFrom(onnx.numpy_helper.from_array(array, weights.name))
    onnx.save_model(
        model, path, save_as_external_data=True, location="gone.data",
        size_threshold=0,
    )
    path.with_name("gone.data").unlink()


MIXED = "--mixed-bf16"
STEP = ("net.onnxtxt", "--train")
# The numbers are those of the kinds of mistakes that were tried first.
ROWS = [
    (1, "missing model", ["no.onnx", MIXED], BAD_INPUT,
     "no.onnx: error: cannot read it: No such file or directory"),
    (2, "data as model", ["data.npz", MIXED], BAD_INPUT,
     "data.npz: error: expected an ONNX model, ONNX text or MLIR, found a NumPy "
     "archive (.npz), which holds tensors and no model"),
    (2, "data that is named like a model", ["data.onnx", MIXED], BAD_INPUT,
     "data.onnx: error: expected an ONNX model, ONNX text or MLIR, found a NumPy"),
    (3, "script as model", ["export.py", MIXED], BAD_INPUT,
     "export.py: error: expected an ONNX model, ONNX text or MLIR, found text "
     "that begins with 'import torch'"),
    (3, "script that is named like a model", ["script.onnx", MIXED], BAD_INPUT,
     "script.onnx: error: expected a binary ONNX model, found text that begins "
     "with 'from x import y'"),
    (4, "misspelt precision", ["m.onnx", "--mixed-bf61"], USAGE,
     "mp-opt: error: unknown flag '--mixed-bf61'; did you mean '--mixed-bf16'?"),
    (4, "misspelt list", ["m.onnx", MIXED, "--denny=Softmax"], USAGE,
     "mp-opt: error: unknown flag '--denny'; did you mean '--deny'?"),
    (5, "unknown precision", ["m.onnx", "--precision=bf61"], USAGE,
     "mp-opt: error: --precision: expected bf16 or fp16, got 'bf61'; did you "
     "mean 'bf16'?"),
    (6, "misspelt operator", ["m.onnx", MIXED, "--allow=Sofmax"], BAD_INPUT,
     "m.onnx: error: unknown operator 'Sofmax' in --allow; did you mean "
     "'Softmax'?"),
    (6, "torch's operator in Keras' case", ["m.onnx", MIXED, "--deny=Conv2D"],
     BAD_INPUT, "m.onnx: error: unknown operator 'Conv2D' in --deny; did you "
     "mean 'conv2d'?"),
    (6, "misspelt number", [*STEP, "--loss=mse", "--optimizer=adam:bta1=1"],
     USAGE, "it has no number 'bta1'; did you mean 'beta1'?"),
    (7, "two precisions", ["m.onnx", MIXED, "--fp16"], USAGE,
     "mp-opt: error: --mixed-bf16 and --mixed-fp16 exclude each other"),
    (7, "two precisions in two forms", ["m.onnx", "--precision=fp16", MIXED],
     USAGE, "mp-opt: error: --mixed-bf16 and --mixed-fp16 exclude each other"),
    (8, "missing folder", ["m.onnx", MIXED, "-o", "none/o.onnx"], BAD_INPUT,
     "m.onnx: error: cannot write 'none/o.onnx': No such file or directory"),
    (8, "folder as output", ["m.onnx", MIXED, "-o", "folder"], BAD_INPUT,
     "m.onnx: error: cannot write 'folder': Is a directory"),
    (9, "output is the input", ["m.onnx", MIXED, "-o", "m.onnx"], BAD_INPUT,
     "m.onnx: error: the output would replace the input: give -o another name"),
    (10, "misspelt dimension", ["m.onnx", MIXED, "--dim=bacth=4"], BAD_INPUT,
     "m.onnx: error: the model has no dimension 'bacth'; did you mean 'batch'?"),
    (10, "other dimension", ["m.onnx", MIXED, "--dim=sequence=4"], BAD_INPUT,
     "m.onnx: error: the model has no dimension 'sequence': it has batch"),
    (10, "dimension of a model without", ["unnamed.onnxtxt", MIXED, "--dim=n=4"],
     BAD_INPUT, "unnamed.onnxtxt: error: the model has no dimension 'n': none of "
     "its dimensions has a name"),
    (10, "misspelt dimension, verified", ["m.onnx", "--verify", "--dim=bacth=4"],
     BAD_INPUT, "the model has no dimension 'bacth'; did you mean 'batch'?"),
    (10, "misspelt dimension, compiled",
     ["m.onnx", "--emit=llvm", "--dim=bacth=4"], BAD_INPUT,
     "the model has no dimension 'bacth'; did you mean 'batch'?"),
    (11, "misspelt key", ["m.onnx", "--policy=key.yaml"], BAD_INPUT,
     "key.yaml:2: unknown key 'alow'; did you mean 'allow'?"),
    (11, "bad value", ["m.onnx", "--policy=value.yaml"], BAD_INPUT,
     "value.yaml:1: 'precision': expected bf16, fp16, float32, mixed_bfloat16 or "
     "mixed_float16, found 'bf17'; did you mean 'bf16'?"),
    (11, "scalar for a list", ["m.onnx", "--policy=scalar.yaml"], BAD_INPUT,
     "scalar.yaml:2: 'allow': expected a list of operators, found 'Softmax'"),
    (11, "tab", ["m.onnx", "--policy=tab.yaml"], BAD_INPUT,
     "tab.yaml:4: indented with a tab: YAML takes spaces"),
    (12, "policy in part", ["m.onnx", "--policy=mixed_bf16"], BAD_INPUT,
     "unknown policy 'mixed_bf16'; did you mean 'mixed_bfloat16'?"),
    (12, "precision as policy", ["m.onnx", "--policy=fp16"], BAD_INPUT,
     "unknown policy 'fp16'; did you mean 'mixed_float16'?"),
    (13, "misspelt loss of torch's", [*STEP, "--loss=CrossEntropyLos"], BAD_INPUT,
     "did you mean 'CrossEntropyLoss'?"),
    (14, "misspelt optimizer", [*STEP, "--loss=mse", "--optimizer=AdamWW"],
     USAGE, "did you mean 'adamw'?"),
    (14, "momentum of another optimizer",
     [*STEP, "--loss=mse", "--optimizer=SGD:momentum=0.9"], USAGE,
     "it has no number 'momentum'; optimizer 'momentum' has it"),
    (14, "learning rate of the optimizer",
     [*STEP, "--loss=mse", "--optimizer=Adam:lr=0.1"], USAGE,
     "it has no number 'lr'; --lr=X gives the learning rate"),
    (15, "no loss", STEP, BAD_INPUT,
     "no loss is given: add --loss=LOSS, one of softmax-cross-entropy, "),
    (17, "no gradient", [*STEP, "--loss=output:total"], BAD_INPUT,
     "net.onnxtxt: error: node 'unique' (Unique-11): there is no gradient"),
    (18, "no batch", ["flat.onnxtxt", "--train", "--loss=cross_entropy"],
     BAD_INPUT, "has rank 1, and no class axis 1 after the batch"),
    (19, "no parameters", ["bare.onnxtxt", "--train", "--loss=mse"], BAD_INPUT,
     "depends on no parameter"),
    (29, "missing data", ["external.onnx", MIXED], BAD_INPUT, "gone.data"),
    (29, "truncated model", ["cut.onnx", MIXED], BAD_INPUT, "cut.onnx: error: "),
    (30, "custom op, trained", ["custom.onnxtxt", "--train", "--loss=mse"],
     BAD_INPUT, "node 'strange' (my.domain.Strange"),
    (30, "custom op, compiled", ["custom.onnxtxt", "--emit=llvm"], UNSUPPORTED,
     "node 'strange' (my.domain.Strange"),
    (32, "target without linker",
     ["m.onnx", "--emit=lib", "-o", "net.so", "--target=aarch64-linux-gnu",
      "--cc=no-such-cc"], None, "no-such-cc"),
    # Others.
    (33, "torch's archive", ["torch.pt", MIXED], BAD_INPUT,
     "torch.pt: error: expected an ONNX model, ONNX text or MLIR, found a PyTorch "
     "file (.pt): torch.onnx.export"),
    (34, "torch's pickle", ["pickle.pt", MIXED], BAD_INPUT, "a Python pickle"),
    (35, "safetensors", ["states.safetensors", MIXED], BAD_INPUT,
     "found a safetensors file, which holds tensors and no model"),
    (36, "array", ["array.npy", MIXED], BAD_INPUT, "found a NumPy array (.npy)"),
    (37, "Keras' file", ["keras.h5", MIXED], BAD_INPUT, "found an HDF5 file"),
    (38, "packed model", ["model.onnx.gz", MIXED], BAD_INPUT,
     "found a gzip archive: unpack it first"),
    (39, "other formats", ["lite.tflite", MIXED], BAD_INPUT,
     "found a TensorFlow Lite model"),
    (39, "onnxruntime's format", ["runtime.ort", MIXED], BAD_INPUT,
     "found a model in onnxruntime's own format (.ort)"),
    (40, "page of an error", ["page.onnx", MIXED], BAD_INPUT,
     "found a web page: the download of the model has failed"),
    (41, "pointer of Git LFS", ["pointer.onnx", MIXED], BAD_INPUT,
     "'git lfs pull' fetches it"),
    (42, "text that is named like a binary", ["text.onnx", MIXED], BAD_INPUT,
     "found ONNX text: name it .onnxtxt"),
    (43, "JSON", ["words.json", MIXED], BAD_INPUT,
     "found text that begins with '{\"model\": \"none\"}'"),
    (44, "folder as model", ["folder", MIXED], BAD_INPUT,
     "folder: error: cannot read it: Is a directory"),
    (45, "output of no format", ["m.onnx", MIXED, "-o", "o.txt"], USAGE,
     "mp-opt: error: -o: expected a name that ends in .onnx, .pb, .onnxtxt, "
     ".onnxtext, .mlir, .mlirbc, or --emit=FORMAT, got 'o.txt'"),
    (46, "misspelt format", ["m.onnx", MIXED, "-o", "o.onx"], USAGE,
     "got 'o.onx'; did you mean '.onnx'?"),
    (47, "library without its flag", ["m.onnx", "-o", "libm.so"], USAGE,
     "got 'libm.so'; did you mean --emit=lib?"),
    (48, "format that is none", ["m.onnx", "--emit=exe"], USAGE,
     "--emit: expected onnx, onnxtext, mlir, bytecode, llvm, obj or lib, got "
     "'exe'"),
    (49, "topic that is none", ["--help=foo"], USAGE,
     "--help: unknown topic 'foo', expected train, code, data, all or json"),
    (50, "misspelt topic", ["--help=trian"], USAGE, "did you mean 'train'?"),
    (51, "flag in part", ["m.onnx", MIXED, "--opset=22"], USAGE,
     "unknown flag '--opset'; did you mean '--opset-limit'?"),
    (52, "a code generator's flag", ["m.onnx", "--mv66"], USAGE,
     "mp-opt: error: unknown flag '--mv66'"),
    (53, "output without -o", ["m.onnx", "o.onnx", MIXED], USAGE,
     "expected one input, got 'm.onnx' and 'o.onnx'; an output is given by -o"),
    (54, "flag for a value", ["m.onnx", MIXED, "--deny", "--strict"], USAGE,
     "--deny: expected OP,..., got the flag '--strict'"),
    (55, "misspelt pass", ["m.onnx", "--mp-clasify"], USAGE,
     "unknown flag '--mp-clasify'; did you mean '--mp-classify'?"),
    (56, "misspelt flag of MLIR", ["m.onnx", "--mlir-timming"], USAGE,
     "unknown flag '--mlir-timming'; did you mean '--mlir-timing'?"),
    (57, "wrong value of MLIR's", ["m.onnx", "--mlir-print-op-generic=maybe"],
     USAGE, "mp-opt: error: for the --mlir-print-op-generic option: "),
    (57, "option that a pass has not", ["m.onnx", "--mp-assign=rule=1"], USAGE,
     "error: <Pass-Options-Parser>: no such option rule"),
    (58, "two letters swapped behind one dash", ["m.onnx", "-overlya"], USAGE,
     "unknown flag '-overlya'; did you mean '--overlay'?"),
    (59, "letters for a number", ["m.onnx", MIXED, "--opset-limit=new"], USAGE,
     "--opset-limit: expected a whole number, got 'new'"),
    (12, "policy that is none", ["m.onnx", "--policy=mine"], BAD_INPUT,
     "unknown policy 'mine': expected a file, mixed_bfloat16, mixed_float16 or "
     "float32"),
    (66, "size to fix", [*STEP, "--loss=mse", "--fix=M=2"], BAD_INPUT,
     "or has an open dimension of that name; did you mean 'N'?"),
    (67, "a command of mp-run's", ["run", "m.onnx"], USAGE,
     "did you mean 'mp-run run m.onnx'?"),
    (68, "another program's command", ["convert", "m.onnx"], USAGE,
     "there is no command 'convert': mp-opt MODEL --bf16 -o OUTPUT converts"),
    (68, "training in the wrong program", ["train", "m.onnx"], USAGE,
     "mp-run train STEP --data=FILE trains"),
    (69, "flag without dashes", ["m.onnx", "mixed-bf16"], USAGE,
     "'mixed-bf16' is not a file; did you mean '--mixed-bf16'?"),
    (69, "flag with a value without dashes", ["m.onnx", "deny=Add"], USAGE,
     "'deny=Add' is not a file; did you mean '--deny=Add'?"),
    (70, "en dash", ["m.onnx", "\u2013bf16"], USAGE,
     "is not a file; did you mean '--bf16'?"),
    (70, "em dash", ["m.onnx", "\u2014precision=bf16"], USAGE,
     "did you mean '--precision=bf16'?"),
    (71, "no conversion", ["m.onnx", "--fp32"], USAGE,
     "a model stays in fp32 if neither --bf16 nor --fp16 is given"),
    (71, "torch's autocast", ["m.onnx", "--autocast"], USAGE,
     "unknown flag '--autocast'; --bf16 or --fp16 does that"),
    (71, "another type", ["m.onnx", "--int8"], USAGE, "only bf16 and fp16 are supported"),
    (72, "a run's flag", ["m.onnx", "--batch_size=4"], USAGE,
     "unknown flag '--batch_size'; 'mp-run train' trains"),
    (73, "data of --verify", ["m.onnx", "data.npz", "--bf16"], USAGE,
     "got 'm.onnx' and 'data.npz'; data are given by --verify=data.npz"),
    (74, "URL", ["https://host/m.onnx", MIXED], BAD_INPUT,
     "No such file or directory; it is a URL: download the file first"),
    (74, "quoted home", ["~/m.onnx", MIXED], BAD_INPUT, "only outside of quotes"),
    (75, "nothing on standard input", ["-", MIXED], BAD_INPUT,
     "<stdin>: error: no model on standard input"),
    (60, "no switch", ["m.onnx", "--raise-opset=no"], USAGE,
     "--raise-opset: expected true or false, got 'no'"),
]
RUN_ROWS = [
    (10, "misspelt dimension", ["run", "m.onnx", "--random", "--dim=bacth=4"],
     BAD_INPUT,
     "m.onnx: error: the model has no dimension 'bacth'; did you mean 'batch'?"),
    (27, "no second model", ["compare", "m.onnx", "data.npz"], USAGE,
     "mp-run compare: error: 'data.npz' is data: a second model stands before "
     "it, or --precision=bf16 or fp16 makes one of 'm.onnx'"),
    (28, "no command", ["m.onnx", "data.npz"], USAGE,
     "mp-run: error: unknown command 'm.onnx'; did you mean 'mp-run run m.onnx'?"),
    (61, "misspelt command", ["rnu", "m.onnx"], USAGE,
     "mp-run: error: unknown command 'rnu'; did you mean 'run'?"),
    (62, "data as model", ["run", "data.npz"], BAD_INPUT,
     "data.npz: error: expected an ONNX model, ONNX text or MLIR, found a NumPy"),
    (63, "two precisions", ["run", "m.onnx", "--bf16", "--precision=fp16"], USAGE,
     "mp-run run: error: --mixed-bf16 and --mixed-fp16 exclude each other"),
    (64, "misspelt flag", ["bench", "m.onnx", "--repaet=3"], USAGE,
     "mp-run bench: error: unknown flag '--repaet'; did you mean '--repeat'?"),
    (68, "another program's command", ["convert", "m.onnx"], USAGE,
     "unknown command 'convert': mp-opt MODEL --bf16 -o OUTPUT converts"),
    (76, "data without their flag", ["train", "m.onnx", "data.npz"], USAGE,
     "expected one model, got 2; did you mean --data=data.npz?"),
    (77, "loss of a run", ["train", "m.onnx", "--loss=mse"], USAGE,
     "unknown flag '--loss'; the step has it: mp-opt MODEL --train"),
    (77, "optimizer of a run", ["train", "m.onnx", "--weight_decay=1"], USAGE,
     "the step has it"),
    (65, "script as model", ["run", "export.py"], BAD_INPUT,
     "found text that begins with 'import torch'"),
]


def check(program, folder, arguments, code, text):
    done = attempt(
        *arguments, program=program, cwd=folder, stdin=subprocess.DEVNULL
    )
    wanted = done.returncode if code is None and done.returncode else code
    assert done.returncode == wanted, done.stderr
    assert text in done.stderr
    # The program is named once.
    errors = re.findall("(?m)^(.*?): error: ", done.stderr)
    assert len(errors) == 1, done.stderr
    tool = pathlib.Path(program).name
    named = ["<stdin>" if name == "-" else name for name in arguments[:2]]
    assert errors[0].split(" ")[0] in (tool, *named)
    assert not (folder / "o.onnx").exists()


@pytest.mark.parametrize(
    "arguments, code, text",
    [pytest.param(*row[2:], id=f"{row[0]}-{row[1]}") for row in ROWS],
)
def test_mp_opt(folder, arguments, code, text):
    check(MP_OPT, folder, arguments, code, text)


@pytest.mark.parametrize(
    "arguments, code, text",
    [pytest.param(*row[2:], id=f"{row[0]}-{row[1]}") for row in RUN_ROWS],
)
def test_mp_run(folder, arguments, code, text):
    check(MP_RUN, folder, arguments, code, text)


def convert(folder, *arguments):
    """What standard output and standard error say of a run that is right."""
    done = subprocess.run(
        [MP_OPT, *arguments], cwd=folder, capture_output=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.decode()


@pytest.mark.parametrize(
    "flags",
    [["--bf16"], ["--precision=bf16"], ["--precision", "bf16"], ["-mixed-bf16"],
     ["--fp16=false", "--bf16=true"], ["--BF16"], ["--bfloat16"],
     ["--mixed_bf16"], ["--precision=bfloat16"], ["--precision=BF16"]],
)
def test_other_names_of_a_precision(folder, flags):
    """Mistake 5: what others call it is taken."""
    emit = ["m.onnx", "--emit=onnx"]
    expected, _ = convert(folder, *emit, MIXED)
    assert expected == convert(folder, *emit, *flags)[0]
    assert expected != convert(folder, *emit)[0]


STEP_FLAGS = ["net.onnxtxt", "--train", "--emit=onnx"]


@pytest.mark.parametrize("loss", ["CrossEntropyLoss", "cross-entropy",
                                  "CrossEntropy", "cross_entropy"])
@pytest.mark.parametrize("flags", [["--optimizer=AdamW", "--learning-rate=0.5"],
                                   ["--optimizer=ADAMW", "--lr=0.5"]])
def test_other_names_of_a_step(folder, loss, flags):
    own = ["--loss=softmax-cross-entropy", "--optimizer=adamw", "--lr=0.5"]
    expected, _ = convert(folder, *STEP_FLAGS, *own)
    # The text of the loss is in no part of a step.
    assert expected == convert(folder, *STEP_FLAGS, f"--loss={loss}", *flags)[0]


def test_other_names_of_a_run():
    """Names that are taken; what is wrong comes after them."""
    for flags, text in (
        (["--batch-size=0"], "--batch: expected a number of at least 1"),
        (["--num_train_epochs=0"], "--epochs: expected a number of at least 1"),
        (["--device=GPU", "--lr-schedule=Cosine"], "expected one model, got 0"),
    ):
        done = subprocess.run([MP_RUN, "train", *flags], capture_output=True)
        assert done.returncode == USAGE and text in done.stderr.decode()


def test_usage_without_arguments():
    for name, first in ((MP_OPT, "usage: mp-opt INPUT"), (MP_RUN, "usage: mp-run")):
        done = attempt(program=name, code=USAGE)
        assert first in done.stdout + done.stderr


@pytest.mark.parametrize("program", [MP_OPT, MP_RUN])
def test_help_as_a_word(folder, program):
    word = subprocess.run([program, "help"], cwd=folder, capture_output=True)
    flag = subprocess.run([program, "--help"], capture_output=True)
    assert word.returncode == 0 and word.stdout == flag.stdout
    (folder / "help").mkdir(exist_ok=True)
    if program == MP_OPT:
        done = subprocess.run([program, "help"], cwd=folder, capture_output=True)
        assert b"Is a directory" in done.stderr
    (folder / "help").rmdir()


@pytest.mark.parametrize("arguments", [
    [MP_OPT, "--help"], [MP_OPT, "--version"], [MP_OPT, "diff", "--help"],
    [MP_RUN, "--help"], [MP_RUN, "train", "--help"], [MP_RUN, "run", "--help=json"],
], ids=lambda words: " ".join(words[-2:]).rsplit("/", 1)[-1])
def test_help_that_cannot_be_written(arguments):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == BAD_INPUT
    assert b"error: cannot write to standard output: No space" in done.stderr


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "2>&- <&-"])
def test_standard_error_that_is_not_there(folder, redirection):
    """The exit code says what there is to say, and files hold no messages."""
    for arguments, code in (
        (["no.onnx", MIXED], BAD_INPUT), (["m.onnx", "--nonsense"], USAGE),
        (["m.onnx", MIXED, "-o", "quiet.onnx"], 0),
    ):
        done = subprocess.run(
            ["sh", "-c", f'"$0" "$@" {redirection}', MP_OPT, *arguments],
            cwd=folder, timeout=60,
        )
        assert done.returncode == code
    expected, _ = convert(folder, "m.onnx", MIXED, "--emit=onnx")
    assert (folder / "quiet.onnx").read_bytes() == expected


@pytest.mark.parametrize(
    "output", [["-o", "w.onnx"], ["-ow.onnx"], ["-o=w.onnx"], ["--output=w.onnx"],
               ["--output", "w.onnx"]],
)
def test_outputs(folder, output):
    convert(folder, "m.onnx", MIXED, *output)
    (folder / "w.onnx").unlink()


def test_names_that_begin_with_dashes(folder):
    shutil.copy(folder / "m.onnx", folder / "--m.onnx")
    assert convert(folder, "--emit=onnx", "--", "--m.onnx")[0]
    (folder / "arguments").write_text("m.onnx '--emit=onnx'\n")
    assert convert(folder, "@arguments", MIXED)[0]


LOSSES = {
    "softmax-cross-entropy": ["cross_entropy", "CrossEntropyLoss"],
    "nll": ["nll_loss", "NLLLoss"],
    "mse": ["mse_loss", "MSELoss"],
    "l1": ["l1_loss", "L1Loss"],
    "smooth-l1": ["smooth_l1_loss", "SmoothL1Loss"],
    "huber": ["huber_loss", "HuberLoss"],
    "bce": ["binary_cross_entropy", "BCELoss"],
    "bce-with-logits": ["binary_cross_entropy_with_logits", "BCEWithLogitsLoss"],
    "kl-div": ["kl_div", "KLDivLoss"],
}


@pytest.mark.parametrize("loss", LOSSES)
def test_names_of_losses_in_torch(folder, loss):
    """Mistake 13: they are taken, and mean the same."""
    emit = [*STEP, "--emit=onnx", "--summary=none"]
    expected, _ = convert(folder, *emit, f"--loss={loss}:scores")
    for name in LOSSES[loss]:
        assert expected == convert(folder, *emit, f"--loss={name}:scores")[0]


def test_a_softmax_before_the_loss(folder):
    """Mistake 16: a warning."""
    _, said = convert(
        folder, "softmax.onnxtxt", "--train", "--loss=cross_entropy",
        "--emit=onnx", "--summary=none",
    )
    assert said.startswith("softmax.onnxtxt: warning: ") and "operand" in said


def test_a_custom_operator_stays_fp32(folder):
    """Mistake 30, where it is none."""
    text, _ = convert(folder, "custom.onnxtxt", MIXED, "--emit=onnxtext")
    assert b"my.domain.Strange" in text and b"bfloat16" in text
