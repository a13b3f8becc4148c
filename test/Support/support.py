# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the runtime tests share: running mp-opt, finding models, numbers.

Every conversion happens in a scratch folder that holds a copy of the source
model and its external data, and is done once per set of flags.
"""

import atexit
import functools
import json
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "test" / "models"
MP_OPT = os.path.abspath(
    os.environ.get("MP_OPT", ROOT / "build" / "bin" / "mp-opt")
)
TIMEOUT_SECONDS = 60

# Unit roundoff: half the distance from 1 to the next number.
UNIT_ROUNDOFF = {"bf16": 2.0**-8, "fp16": 2.0**-11}
ELEMENT_TYPE = {"bf16": TensorProto.BFLOAT16, "fp16": TensorProto.FLOAT16}
DTYPES = list(UNIT_ROUNDOFF)
# The least cosine between results of a mixed model and of the fp32 model.
MIN_COSINE = {"bf16": 0.999, "fp16": 0.9999}

_scratch = pathlib.Path(tempfile.mkdtemp(prefix="mp-opt-test-"))
atexit.register(shutil.rmtree, _scratch, ignore_errors=True)


def scratch_dir(prefix="t"):
    """A new empty folder, removed when the tests end."""
    return pathlib.Path(tempfile.mkdtemp(prefix=prefix + "-", dir=_scratch))


def attempt(*arguments, program=MP_OPT, code=None, **options):
    """Run mp-opt or another program; its exit code must be `code` if any is
    given."""
    usual = dict(capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    command = [program, *map(str, arguments)]
    done = subprocess.run(command, **usual | options)
    assert code in (None, done.returncode), (
        f"exit code {done.returncode}: {done.stdout}{done.stderr}"
    )
    return done


def run_mp_opt(*arguments):
    """Run mp-opt; a failure raises with what it wrote to stderr."""
    done = attempt(*arguments)
    if done.returncode != 0:
        raise AssertionError(
            f"exit code {done.returncode}: {done.stderr[-2000:].strip()}\n"
            f"of {' '.join(map(str, [MP_OPT, *arguments]))}"
        )
    return done


def processor_seconds(*arguments, runs=5):
    """What the fastest of some runs of mp-opt takes of the processor: waits do
    not count, and what others do on the machine disturbs the fastest least.
    Times to compare should differ by more than 0.1 s, as start-up takes."""
    seconds = []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run_mp_opt(*arguments)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        )
    return min(seconds)


def forward_models():
    return sorted(p.parent.name for p in MODELS.glob("fwd/*/model.onnx"))


def training_models():
    return sorted(
        p.parent.name for p in MODELS.glob("train/*/training_model.onnx")
    )


def all_models():
    """Every ONNX file of the model collection, relative to it."""
    return sorted(
        str(p.relative_to(MODELS)) for p in MODELS.glob("*/*/*.onnx")
    )


@functools.lru_cache(maxsize=None)
def staged(relative):
    """A copy of a model and its external data in a scratch folder."""
    source = MODELS / relative
    folder = scratch_dir(source.parent.name)
    for path in [source, *source.parent.glob("*.data")]:
        shutil.copy(path, folder)
    return folder / source.name


@functools.lru_cache(maxsize=None)
def convert(source, *flags):
    """Convert `source` with `flags`; the output stands beside its input."""
    name = "_".join(flag.lstrip("-")[:24] for flag in flags) or "plain"
    output = source.with_name(f"{source.stem}.{name}.onnx")
    run_mp_opt(source, *flags, "-o", output)
    return output


def external_files(path):
    """The external data files a model refers to."""
    model = onnx.load(path, load_external_data=False)
    names = {
        entry.value
        for tensor in model.graph.initializer
        for entry in tensor.external_data
        if entry.key == "location"
    }
    return [path.with_name(name) for name in sorted(names)]


def content(path):
    """The bytes of a model and of all its external data."""
    return [p.read_bytes() for p in [path, *external_files(path)]]


def op_types(path):
    """Every op a model uses, as lists name it: with a non-default domain."""
    model = onnx.load(path, load_external_data=False)
    graphs = [model.graph]
    for info in model.training_info:
        graphs += [info.initialization, info.algorithm]
    names = set()
    while graphs:
        for node in graphs.pop().node:
            domain = "" if node.domain == "ai.onnx" else node.domain
            names.add(f"{domain}.{node.op_type}".lstrip("."))
            graphs += [a.g for a in node.attribute if a.HasField("g")]
    return sorted(names)


# Numbers ---------------------------------------------------------------------


def rms(array):
    return float(np.sqrt(np.mean(np.square(array, dtype=np.float64))))


def relative_rms(actual, expected):
    difference = np.asarray(actual, np.float64) - expected
    return rms(difference) / rms(expected)


def cosine(actual, expected):
    a = np.asarray(actual, np.float64).ravel()
    b = np.asarray(expected, np.float64).ravel()
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def assert_informative(expected, actual):
    """Refuse data on which a comparison could not fail."""
    for label, array in (("reference", expected), ("output", actual)):
        assert array.size > 1 and np.ptp(array) > 0, f"{label} is constant"
        zeros = np.mean(array == 0)
        assert zeros <= 0.3, f"{zeros:.0%} of the {label} is zero"


def assert_no_new_nonfinite(expected, actual):
    new = ~np.isfinite(actual) & np.isfinite(expected)
    assert not new.any(), f"{int(new.sum())} new NaN or infinite values"


@functools.cache
def operator_rows():
    """The rows of lib/Operators, by domain and name."""
    tool = pathlib.Path(MP_OPT).parent / "operator-rows"
    done = subprocess.run([tool, "--json"], capture_output=True, check=True)
    return {(row["domain"], row["name"]): row for row in json.loads(done.stdout)}


def is_exact(node):
    """The node's 16-bit result is exact; a Cast's as good as its operand."""
    row = operator_rows().get((node.domain, node.op_type))
    exact = row and "exact" in row["traits"]
    return exact or node.op_type in ("Cast", "ConstantOfShape", "ReluGrad")


def rounding_depth(model, types, dtype):
    """The number of rounding 16-bit nodes on the longest path of a graph."""
    low = ELEMENT_TYPE[dtype]
    depth = {}
    for node in model.graph.node:
        below = max((depth.get(name, 0) for name in node.input), default=0)
        rounds = not is_exact(node) and any(
            types.get(name) == low for name in node.output
        )
        for name in node.output:
            depth[name] = below + rounds
    return max(depth.values(), default=0)


def error_bound(depth, dtype):
    """Relative RMS error that `depth` 16-bit nodes in a row may cause.

    A 16-bit node rounds at most three times: its two operands and its result.
    One rounding errs by at most u relative to the value, evenly spread over
    [-u, u] at worst, so by u / sqrt(3) in the root mean square. Independent
    errors add in squares, and with gain 1 per node (what normalisation,
    residual branches and the usual initialisations keep) the sum over the
    path is sqrt(3 * depth) * u / sqrt(3) = u * sqrt(depth). Sums inside a
    node are fp32 and count for nothing here.
    """
    return UNIT_ROUNDOFF[dtype] * float(np.sqrt(max(depth, 1)))
