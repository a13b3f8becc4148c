# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""--runtime: models that a runtime runs, and the tables that say so.

onnxruntime is asked itself: it loads each model that is made for its CPU
provider, and its numbers are those of the fp32 model with rounded weights. The
other tables are held against the schemas of ONNX, and by what they must refuse.
"""

import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, shape_inference
import onnxruntime
import pytest
from onnx_models import make_model, parse, rewritten, run_ort, save
from support import ROOT, all_models, attempt, relative_rms, run_mp_opt, staged

TABLES = ROOT / "lib/Schema/Runtimes"
RUNTIMES = ("tensorrt", "onnxruntime-cuda", "onnxruntime-cpu", "openvino")
SCRIPT = ROOT / "scripts/runtime_tables.py"
UNSUPPORTED, USAGE = 4, 2
RANDOM = np.random.default_rng(0)


def read_rows(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line.startswith("kernel\t")]


def infer_strictly(model):
    onnx.checker.check_model(model, full_check=True)
    shape_inference.infer_shapes(
        model, check_type=True, strict_mode=True, data_prop=True
    )


def types_of(model):
    return {tensor.name: tensor.data_type for tensor in model.graph.initializer}


# Tables.


@pytest.mark.parametrize("path", sorted(TABLES.glob("*.tsv")), ids=lambda p: p.stem)
def test_rows_name_operators_and_variables(path):
    """A misspelt row would never apply."""
    known = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        names = {c.type_param_str for c in schema.type_constraints}
        known.setdefault(schema.name, {})[schema.since_version] = names
    for _, operator, versions, variable, *_ in read_rows(path):
        # onnxruntime has own operators, and versions of operators, in ONNX's
        # domain.
        if "." in operator or "onnxruntime" in path.stem:
            continue
        assert operator in known
        assert versions == "*" or int(versions.split("-")[0]) in known[operator]


@pytest.mark.parametrize("name", ["onnxruntime-cpu", "mp-run"])
def test_table_is_what_the_runtime_says(name):
    done = subprocess.run(
        [sys.executable, "-B", SCRIPT, name, TABLES / f"{name}.tsv", "--check"],
        capture_output=True, text=True, timeout=100,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


def test_the_check_of_a_table_finds_a_row_too_many(tmp_path):
    table = tmp_path / "onnxruntime-cpu.tsv"
    text = (TABLES / table.name).read_text(encoding="utf-8")
    table.write_text(text + "kernel\tMatMul\t13\tT\tbf16\t-\t-\n")
    done = subprocess.run(
        [sys.executable, "-B", SCRIPT, "onnxruntime-cpu", table, "--check"],
        capture_output=True, text=True, timeout=100,
    )
    assert done.returncode == 1 and "MatMul" in done.stdout


def test_opset_gaps_of_cuda():
    """At opset 22, release 1.25 has no kernel of MaxPool."""
    versions = {
        row[2] for row in read_rows(TABLES / "onnxruntime-cuda.tsv")
        if row[1] == "MaxPool"
    }
    assert "12" in versions and "22" not in versions


def test_print_config_has_the_table():
    done = run_mp_opt("--print-config", "--mixed-fp16", "--runtime=tensorrt")
    assert "# kernel\tGridSample\t*\t*\tbf16\t-\t11.2+" in done.stdout


# Models.


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_models_of_the_tests_are_valid(runtime, dtype, tmp_path):
    """Strict inference, and a session where onnxruntime's CPU provider is it."""
    converted = 0
    for path in all_models():
        source = staged(path)
        made = tmp_path / "made.onnx"
        done = attempt(
            source, f"--mixed-{dtype}", f"--runtime={runtime}", "--check=lenient",
            "--summary=none", "-o", made,
        )
        assert done.returncode == 0, (path, done.stderr)
        try:
            infer_strictly(onnx.load(source))
        except (onnx.checker.ValidationError, shape_inference.InferenceError):
            continue  # What exporters write for onnxruntime's training.
        infer_strictly(onnx.load(made))
        converted += 1
        if runtime == "onnxruntime-cpu" and "cannot run" not in done.stderr:
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            onnxruntime.InferenceSession(
                made, options, providers=["CPUExecutionProvider"]
            )
    assert converted > 5


def make_network(opset=17):
    """Convolution, pool, normalization, product."""
    weights = {
        "w": RANDOM.normal(size=(8, 4, 3, 3)).astype(np.float32) / 6,
        "scale": RANDOM.uniform(0.5, 2, 8).astype(np.float32),
        "bias": RANDOM.normal(size=8).astype(np.float32),
        "mean": RANDOM.normal(size=8).astype(np.float32),
        "var": RANDOM.uniform(0.5, 2, 8).astype(np.float32),
        "m": RANDOM.normal(size=(8, 64)).astype(np.float32) / 3,
    }
    return parse(
        """g (float[1,4,16,16] x) => (float[1,64] y) {
             c = Conv <pads=[1,1,1,1]> (x, w)
             n = BatchNormalization (c, scale, bias, mean, var)
             p = MaxPool <kernel_shape=[2,2], strides=[2,2]> (n)
             a = GlobalAveragePool (p)
             f = Flatten (a)
             y = MatMul (f, m)
           }""",
        opset=opset, ir=8, **weights,
    )


def test_cpu_stores_weights_and_computes_in_fp32():
    model = make_network()
    x = {"x": RANDOM.normal(size=(1, 4, 16, 16)).astype(np.float32)}
    (expected,) = run_ort(model, x)
    for dtype, kind, bound in (("bf16", TensorProto.BFLOAT16, 2**-8),
                               ("fp16", TensorProto.FLOAT16, 2**-11)):
        made = rewritten(model, f"--mixed-{dtype}", "--runtime=onnxruntime-cpu")
        types = types_of(made)
        assert types["w"] == kind and types["m"] == kind
        assert types["mean"] == TensorProto.FLOAT
        assert made.ByteSize() < 0.7 * model.ByteSize()
        (actual,) = run_ort(made, x)
        error = relative_rms(actual, expected)
        # Roundings of two layers' weights, and none of values.
        assert 0 < error < 2 * bound


def test_one_type_for_normalizations():
    made = rewritten(make_network(), "--mixed-fp16", "--runtime=tensorrt")
    types = types_of(made)
    assert {types[n] for n in ("scale", "bias", "mean", "var")} == {
        TensorProto.FLOAT16
    }
    made = rewritten(make_network(), "--mixed-fp16")
    assert types_of(made)["var"] == TensorProto.FLOAT


def test_the_opset_is_not_raised_past_a_kernel():
    """bf16 convolutions need opset 22, at which MaxPool has no CUDA kernel."""
    flags = ("--mixed-bf16", "--runtime=onnxruntime-cuda")
    made = rewritten(make_network(), *flags)
    assert made.opset_import[0].version == 17
    source, out = save(make_network())
    done = run_mp_opt(source, *flags, "--explain=c", "-o", out)
    assert "would lose its kernel" in done.stdout + done.stderr
    assert rewritten(make_network(), "--mixed-bf16").opset_import[0].version == 22


def test_old_models_are_raised_to_what_the_runtime_reads():
    model = parse(
        "g (float[2,8] x) => (float[2,8] y) { y = MatMul (x, w) }",
        opset=8, ir=4, w=np.eye(8, dtype=np.float32),
    )
    made = rewritten(model, "--mixed-fp16", "--runtime=tensorrt")
    assert made.opset_import[0].version == 9
    source, out = save(model)
    done = attempt(
        source, "--mixed-fp16", "--runtime=tensorrt", "--raise-opset=false",
        "-o", out,
    )
    assert "opset 8" in done.stderr or done.returncode == USAGE


def test_a_condition_of_a_kernel():
    """onnxruntime's CPU provider has fp16 ScatterND, but not with a sum."""
    text = """g (float[4,4] x, int64[1,1] i, float[1,4] u) => (float[4,4] y) {{
        p = MatMul (x, x)
        y = ScatterND <reduction="{}"> (p, i, u) }}"""
    for reduction, refused in (("none", False), ("add", True)):
        source, out = save(parse(text.format(reduction)))
        done = attempt(source, "--runtime=tensorrt", "-o", out)
        assert (done.returncode == UNSUPPORTED) == refused, done.stderr
        assert not refused or "unless reduction == none" in done.stderr


# Errors.


def test_a_node_without_any_kernel():
    source, out = save(parse(
        "g (float[8] x) => (float[n] y) { y = Unique (x) }"
    ))
    done = attempt(source, "--runtime=tensorrt:10.15", "-o", out, code=UNSUPPORTED)
    assert "Unique" in done.stderr and "--check=lenient" in done.stderr
    assert not out.exists() and done.stderr.count("error:") == 1
    done = attempt(
        source, "--runtime=tensorrt", "--check=lenient", "-o", out, code=0
    )
    assert "warning: tensorrt" in done.stderr and out.exists()


def test_operators_of_plugins(tmp_path):
    source, out = save(make_model(
        [helper.make_node("Fused", ["x"], ["y"], domain="my.domain")],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
        domains=("my.domain",),
    ))
    attempt(source, "--runtime=tensorrt", "-o", out, code=UNSUPPORTED)
    rows = tmp_path / "rows.json"
    rows.write_text(
        '{"runtimes": {"tensorrt": '
        '["kernel\\tmy.domain.Fused\\t*\\t*\\tf32,f16,other\\t-\\t-"]}}'
    )
    attempt(source, "--runtime=tensorrt", f"--schemas={rows}", "-o", out, code=0)
    rows.write_text('{"runtimes": {"tensorrt": ["kernel\\tFused\\t*"]}}')
    done = attempt(
        source, "--runtime=tensorrt", f"--schemas={rows}", "-o", out
    )
    assert done.returncode and "expected 7 cells, got 3" in done.stderr


@pytest.mark.parametrize("flags, text", [
    (["--runtime=tensort"], "did you mean 'tensorrt'?"),
    (["--runtime=tensorrt:9"], "known releases are 10.1, 10.15"),
    (["--runtime=tensorrt:abc"], "expected MAJOR[.MINOR]"),
    (["--runtime=tensorrt:12.0"], "unknown version"),
    (["--mixed-fp16", "--dla"], "--dla needs --runtime=tensorrt"),
    (["--mixed-bf16", "--dla", "--runtime=tensorrt"], "expected --mixed-fp16"),
])
def test_usage(flags, text):
    source, out = save(make_network())
    done = attempt(source, *flags, "-o", out, code=USAGE)
    assert text in done.stderr and done.stderr.count("error:") == 1


def test_accelerator_needs_known_sizes():
    open_size = parse(
        "g (float[n,4,8,8] x) => (float[n,4,8,8] y) { y = Relu (x) }"
    )
    flags = ("--mixed-fp16", "--runtime=tensorrt", "--dla")
    source, out = save(open_size)
    done = attempt(source, *flags, "-o", out, code=UNSUPPORTED)
    assert "unknown sizes" in done.stderr
    infer_strictly(rewritten(make_network(), *flags))
