# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What NVIDIA's assembler makes of the kernels of models.

usage: test_registers.py --update    to write registers.json anew

Nothing is spilled, and registers, shared memory and the warps that run at a
time are not worse than in registers.json. That has a row for each kind of
kernel, of the worst of them, and one for each product; numbers are those of
sm_80 and sm_90a.
"""

import collections
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "Run"))
sys.path.insert(0, str(HERE.parents[2] / "benchmarks"))
import make_models  # noqa: E402
import onnx  # noqa: E402
from runs import MODELS, make_step, run_mp_opt, scratch_dir  # noqa: E402
from runs import write_model  # noqa: E402

ROOT = HERE.parents[2]
TABLE = HERE / "registers.json"
PTX_KERNELS = os.environ.get(
    "PTX_KERNELS", ROOT / "build" / "bin" / "ptx-kernels"
)
PTXAS_VENV = os.environ.get("PTXAS_VENV", "~/.cache/mp-opt/venv-ptxas")

# Limits of a multiprocessor: shared memory and number of warps, per chip.
# Common to all: 65536 registers, allocated to warps in units of 8 per thread;
# 32 blocks; 1 KiB of shared memory reserved for each block.
CHIPS = {"sm_80": (164 * 1024, 64), "sm_90a": (228 * 1024, 64)}
REGISTERS, UNIT, MAX_BLOCKS, RESERVED = 65536, 8, 32, 1024

# Tiles choose themselves (Strategy.cpp) as if a multiprocessor had always
# another warp to go on with: two for each of its four parts.
MIN_WARPS = 8

# Large products: large tiles, of tensor cores and of threads.
PRODUCTS = """
net (TYPE[ROWS,FROM] x, TYPE[FROM,TO] w, TYPE[TO] b, TYPE[ROWS,TO] y)
  => (TYPE[ROWS,TO] a, TYPE[FROM,TO] c)
{
  product = MatMul(x, w)
  sum = Add(product, b)
  a = Relu(sum)
  turned = Transpose<perm = [1, 0]>(x)
  c = MatMul(turned, y)
}
"""


def products(rows, element, *flags, sizes="", widths=(1024, 1024)):
    def make():
        text = PRODUCTS.replace("ROWS", str(rows)).replace("TYPE", element)
        text = text.replace("FROM", str(widths[0])).replace("TO", str(widths[1]))
        model = write_model(scratch_dir("products"), text)
        if not flags:
            return model
        path = model.with_name("mixed.onnx")
        run_mp_opt(model, *flags, "--summary=none", "-o", path)
        return path

    return make, sizes


# Attention of each width of tiles, with the masks that kernels know.
ATTENTION = """
net (float[2,TOKENS,WIDTH] x, float[2,1,1,TOKENS] mask) => (float[2,TOKENS,WIDTH] y)
{
  size = Constant<value_ints = [0, 0, 2, HEAD]>()
  joined = Constant<value_ints = [0, 0, WIDTH]>()
  q = MatMul(x, wq)
  q4 = Reshape(q, size)
  qt = Transpose<perm = [0, 2, 1, 3]>(q4)
  k = MatMul(x, wk)
  k4 = Reshape(k, size)
  kt = Transpose<perm = [0, 2, 3, 1]>(k4)
  v = MatMul(x, wv)
  v4 = Reshape(v, size)
  vt = Transpose<perm = [0, 2, 1, 3]>(v4)
  scores = MatMul(qt, kt)
  masked = Add(scores, mask)
  p = Softmax<axis = -1>(masked)
  ratio = Constant<value_float = 0.1>()
  training = Constant<value = bool {1}>()
  dropped = Dropout(p, ratio, training)
  o = MatMul(dropped, vt)
  ot = Transpose<perm = [0, 2, 1, 3]>(o)
  y = Reshape(ot, joined)
}
"""


def attention(head):
    def make():
        text = ATTENTION.replace("TOKENS", "300").replace("HEAD", str(head))
        model = write_model(
            scratch_dir("attention"), text.replace("WIDTH", str(2 * head))
        )
        proto = onnx.load(model)
        for name in ("wq", "wk", "wv"):
            array = np.ones((2 * head, 2 * head), np.float32)
            proto.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
        onnx.save(proto, model)
        path = model.with_name("step.onnx")
        run_mp_opt(
            model, "--train", "--loss=mse", "--optimizer=sgd", "--mixed-bf16",
            "--summary=none", "-o", path,
        )
        return path

    return make, ""


def step(name, *flags):
    return lambda: make_step(name, "adamw", *flags), "batch=8"


def forward(name, sizes):
    def make():
        path = scratch_dir("forward") / "model.onnx"
        model = MODELS / "fwd" / name / "model.onnx"
        run_mp_opt(model, "--mixed-bf16", "--summary=none", "-o", path)
        return path

    return make, sizes


def step_of(sizes, *flags, make=make_models.encoder, **options):
    """A step of a transformer with rows of several lengths."""

    def write():
        folder = scratch_dir("transformer")
        forward, path = folder / "forward.onnx", folder / "step.onnx"
        onnx.save(make(**options), forward)
        run_mp_opt(
            forward, "--train", "--loss=softmax-cross-entropy", "--lr=1e-3",
            "--optimizer=adamw", "--summary=none", *flags, "-o", path,
        )  # fmt: skip
        return path

    return write, sizes


ENCODER = dict(layers=2, width=96, vocabulary=100, tokens=136, head=32)
DECODER = dict(layers=1, width=128, vocabulary=1000, head=32)
# Steps whose rows, and sums, have even lengths. Rows are enough for sums of
# columns next to them.
EVEN = {
    "encoder step bf16": step_of("batch=8", "--mixed-bf16", dropout=0.1, **ENCODER),
    "encoder step fp32": step_of("batch=8", **ENCODER),
    "decoder step bf16": step_of(
        "batch=4,sequence=256", "--mixed-bf16", make=make_models.decoder, **DECODER
    ),
}

CASES = {
    **EVEN,
    "mlp_mse step fp16": step(
        "mlp_mse", "--mixed-fp16", "--loss-scale=dynamic"
    ),
    "mlp784 step bf16": step("mlp784", "--mixed-bf16"),
    "resnet8 step bf16": step("resnet8", "--mixed-bf16"),
    "bert2_dropout step bf16": step("bert2_dropout", "--mixed-bf16"),
    "bert2_op17 step fp32": step("bert2_op17"),
    "bert_like_op17 bf16": forward("bert_like_op17", "B=2,S=8"),
    "convnext_test_op18 bf16": forward("convnext_test_op18", "N=1"),
    "resnet18_w8_op17_bn bf16": forward("resnet18_w8_op17_bn", "N=1"),
    "vit_test_op20 bf16": forward("vit_test_op20", "N=1"),
    **{f"attention {head} bf16": attention(head) for head in (64, 128, 256)},
    "products 4096 bf16": products(4096, "bfloat16"),
    "products 8192 bf16, tiles of 96": products(
        8192, "bfloat16", widths=(768, 3072)),
    "products 8192 tf32, tiles of 96": products(
        8192, "float", sizes="tf32", widths=(768, 3072)),
    "products 4096 mixed": products(4096, "float", "--mixed-bf16"),
    "products 512 bf16": products(512, "bfloat16"),
    "products 4096 fp32": products(4096, "float"),
    "products 512 fp32": products(512, "float"),
    "products 4096 tf32": products(4096, "float", sizes="tf32"),
    "products 512 tf32": products(512, "float", sizes="tf32"),
    "products 512 fp64": products(512, "double"),
}


@functools.lru_cache(maxsize=None)
def find_ptxas():
    venv = pathlib.Path(PTXAS_VENV).expanduser()
    found = sorted(venv.glob("lib/python3*/site-packages/nvidia/*/bin/ptxas"))
    return str(found[0]) if found else shutil.which("ptxas")


def run(*command):
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


# ----------------------------------------------------------------------------
# A kernel
# ----------------------------------------------------------------------------


class Kernel:
    """Numbers of a kernel for each chip, and those that all chips share."""

    def __init__(self, name):
        self.name = name
        self.key = name.rpartition("_")[0]
        self.threads = self.dynamic = 0
        self.registers, self.static, self.spilled, self.warps = {}, {}, {}, {}
        # Loads of one or two bytes from global memory.
        self.narrow = {}

    def launch(self, threads, dynamic, types):
        self.threads = max(self.threads, threads)
        self.dynamic = max(self.dynamic, dynamic)
        if self.key == "contract":
            self.key = "contract " + " ".join(types)

    def finish(self, chip):
        """How many warps are in a multiprocessor: that many can wait for
        memory while others compute."""
        shared, most = CHIPS[chip]
        warps = -(-self.threads // 32)
        unit = -(-self.registers[chip] // UNIT) * UNIT
        own = self.dynamic + self.static[chip] + RESERVED
        blocks = min(
            REGISTERS // (unit * 32) // warps,
            shared // own,
            most // warps,
            MAX_BLOCKS,
        )
        self.warps[chip] = blocks * warps


LAUNCH = re.compile(
    r"device\.launch @kernels::@(\w+) grid \[[\d, ]+\] "
    r"block \[(\d+), (\d+), (\d+)\](?: shared (\d+))?[^:]*: (.*)"
)
COMPILED = re.compile(
    r"Compiling entry function '(\w+)' for .*?(\d+) bytes spill stores, "
    r"(\d+) bytes spill loads.*?Used (\d+) registers(.*?)$",
    re.DOTALL | re.MULTILINE,
)


def read_launches(text):
    kernels = {}
    for found in LAUNCH.finditer(text):
        name, *block, shared, types = found.groups()
        x, y, z = map(int, block)
        kernel = kernels.setdefault(name, Kernel(name))
        kernel.launch(
            x * y * z, int(shared or 0), re.findall(r"memref<(\w+)", types)
        )
    return kernels


def read_report(kernels, chip, text):
    for found in COMPILED.finditer(text):
        name, stores, loads, registers, rest = found.groups()
        kernel = kernels[name]
        kernel.spilled[chip] = int(stores) + int(loads)
        kernel.registers[chip] = int(registers)
        static = re.search(r"(\d+) bytes smem", rest)
        kernel.static[chip] = int(static[1]) if static else 0
        kernel.finish(chip)


ENTRY = re.compile(r"\.entry (\w+)\((.*?)^}", re.DOTALL | re.MULTILINE)
NARROW = re.compile(r"\bld\.global(?:\.nc)?\.[bsu](?:8|16)\b.*")


def read_loads(kernels, chip, text):
    for name, code in ENTRY.findall(text):
        kernels[name].narrow[chip] = NARROW.findall(code)


def lower(model, sizes):
    """The launches of a model, and the module of its kernels. Instead of sizes,
    "tf32" is how products are made."""
    folder = scratch_dir("kernels")
    path = folder / "model.mlir"
    tf32 = sizes == "tf32"
    dim = f"=dim={sizes}" if sizes and not tf32 else ""
    run_mp_opt(
        model, f"--convert-onnx-to-linalg{dim}", "--emit=mlir", "-o", path
    )
    if tf32:
        text = path.read_text()
        assert "\nmodule {" in f"\n{text}"
        marked = 'module attributes {device.target = #device.target<fp32_products = tf32>} {'
        path.write_text(text.replace("module {", marked, 1))
    lowered = folder / "lowered.mlir"
    run_mp_opt(path, "--mp-lower-to-nvvm=in-place", "--emit=mlir", "-o", lowered)
    text = lowered.read_text()
    module = re.search(r"^  gpu\.module .*?^  }$", text, re.DOTALL | re.M)
    (folder / "kernels.mlir").write_text(module[0])
    return text, folder


def assemble(model, sizes):
    """All kernels of a model, by the types of products and by name."""
    text, folder = lower(model, sizes)
    kernels = read_launches(text)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        files = folder / "kernels.mlir"
        list(pool.map(lambda c: run(PTX_KERNELS, folder, c, files), CHIPS))
        jobs = []
        for chip in CHIPS:
            for path in sorted(folder.glob(f"{chip}_*.ptx")):
                read_loads(kernels, chip, path.read_text())
                command = (find_ptxas(), "-v", f"-arch={chip}", "-O3", path)
                output = path.with_suffix(".cubin")
                jobs.append(
                    (chip, pool.submit(run, *command, "-o", output))
                )
        for chip, job in jobs:
            read_report(kernels, chip, job.result())
    for kernel in kernels.values():
        assert kernel.registers.keys() == CHIPS.keys(), kernel.name
    return list(kernels.values())


# ----------------------------------------------------------------------------
# The table
# ----------------------------------------------------------------------------


def summarize(kernels):
    """The worst of each kind, and of products of the same types."""
    kinds = collections.defaultdict(list)
    for kernel in kernels:
        kinds[kernel.key].append(kernel)

    def most(group, field):
        return [max(getattr(k, field)[chip] for k in group) for chip in CHIPS]

    return {
        key: {
            "registers": most(group, "registers"),
            "shared": max(
                k.dynamic + k.static[chip] for k in group for chip in CHIPS
            ),
            "warps": [min(k.warps[chip] for k in group) for chip in CHIPS],
        }
        for key, group in sorted(kinds.items())
    }


def compare(found, expected):
    """What is worse, in words."""
    worse = []
    for key, row in found.items():
        if key not in expected:
            worse.append(f"{key}: is not in the table: {row}")
            continue
        old = expected[key]
        for place, chip in enumerate(CHIPS):
            # Fewer than are given out at a time make no difference.
            units = [-(-r["registers"][place] // UNIT) for r in (row, old)]
            if units[0] > units[1]:
                worse.append(
                    f"{key}: {row['registers'][place]} registers on {chip}, "
                    f"not {old['registers'][place]}"
                )
            if row["warps"][place] < old["warps"][place]:
                worse.append(
                    f"{key}: {row['warps'][place]} warps at a time on {chip}, "
                    f"not {old['warps'][place]}"
                )
        if row["shared"] > old["shared"]:
            worse.append(
                f"{key}: {row['shared']} bytes of shared memory, "
                f"not {old['shared']}"
            )
    return worse


@functools.lru_cache(maxsize=None)
def kernels_of(name):
    make, sizes = CASES[name]
    return assemble(make(), sizes)


@pytest.fixture(autouse=True)
def ptxas():
    if not find_ptxas():
        pytest.skip("no ptxas; scripts/setup.sh --with-tests gets it")


@pytest.mark.parametrize("name", CASES)
def test_spills(name):
    spilled = [k.name for k in kernels_of(name) if any(k.spilled.values())]
    assert not spilled


@pytest.mark.parametrize("name", CASES)
def test_table(name):
    expected = json.loads(TABLE.read_text()).get(name, {})
    worse = compare(summarize(kernels_of(name)), expected)
    assert not worse, (
        "\n".join(worse)
        + f"\nif that is meant: {sys.executable} {__file__} --update"
    )


# Shared memory of sm_80 has room for two blocks of attention of 256 elements,
# of two warps each.
@pytest.mark.parametrize("name", sorted(CASES.keys() - {"attention 256 bf16"}))
def test_min_warps(name):
    few = [
        f"{kernel.key}: {warps} warps at a time on {chip}"
        for kernel in kernels_of(name)
        for chip, warps in kernel.warps.items()
        if warps < MIN_WARPS
    ]
    assert not few, "\n".join(few)


@pytest.mark.parametrize("name", EVEN)
def test_narrow_loads(name):
    """Rows and sums load at least four bytes at a time."""
    kernels = [k for k in kernels_of(name) if k.key in ("rows", "reduce")]
    assert {kernel.key for kernel in kernels} >= {"rows"}
    narrow = {k.name: k.narrow for k in kernels if any(k.narrow.values())}
    assert not narrow


def test_worse_is_found():
    good = {"registers": [40, 40], "shared": 1024, "warps": [32, 32]}
    assert not compare({"map": good}, {"map": good})
    # A difference within one allocation unit is not reported, nor are
    # improvements.
    assert not compare(
        {"map": {"registers": [33, 9], "shared": 0, "warps": [32, 64]}},
        {"map": dict(good, registers=[36, 40])},
    )
    for field, value in (
        ("registers", [40, 41]),
        ("shared", 1025),
        ("warps", [24, 32]),
    ):
        (line,) = compare({"map": dict(good, **{field: value})}, {"map": good})
        assert line.startswith("map: "), line
    (line,) = compare({"parts": good}, {"map": good})
    assert "is not in the table" in line


def write_table():
    rows = []
    for name in CASES:
        lines = [
            f"    {json.dumps(key)}: {json.dumps(row)}"
            for key, row in summarize(kernels_of(name)).items()
        ]
        rows.append(
            f"  {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n  }"
        )
    TABLE.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(__doc__)
    if not find_ptxas():
        sys.exit("no ptxas; scripts/setup.sh --with-tests gets it")
    write_table()
