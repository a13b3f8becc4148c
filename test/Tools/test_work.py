# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much of the work is 16 bit, why the rest is not, and where it runs.

Multiply-adds are counted here from the loops that define the operators.
"""

import json
import re

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx_models import describe, make_model
from support import DTYPES, MODELS, run_mp_opt, scratch_dir

FLOAT = TensorProto.FLOAT


def save(path, nodes, inputs, weights=(), opset=22, functions=(), domains=()):
    """A model of these nodes; its outputs are those of the last node."""
    rng = np.random.default_rng(0)
    weights = {
        name: rng.standard_normal(shape).astype(np.float32)
        for name, shape in dict(weights).items()
    }
    model = make_model(
        nodes, inputs, nodes[-1].output[0], weights, opset, 10, domains
    )
    model = onnx.shape_inference.infer_shapes(model)
    model.graph.output[0].CopyFrom(
        next(value for value in [*model.graph.value_info, *model.graph.output]
             if value.name == nodes[-1].output[0]))
    onnx.save(model, path)
    return path


def summarize(model, *flags):
    out = model.with_suffix(".mixed.onnx")
    done = run_mp_opt(model, *flags, "--summary=json", "-o", out)
    return json.loads(done.stdout), out


def node(op, inputs, **attributes):
    return helper.make_node(op, inputs, ["y"], "n", **attributes)


# The node, shapes of inputs, and the multiply-adds: one for each turn of the
# innermost loop of the definition.
WORK = {
    "MatMul": (node("MatMul", ["a", "b"]), {"a": [5, 2, 3], "b": [3, 4]},
               5 * 2 * 4 * 3),
    "Gemm": (node("Gemm", ["a", "b"], transA=1, transB=1),
             {"a": [3, 2], "b": [4, 3]}, 2 * 4 * 3),
    "Conv": (node("Conv", ["a", "b"], group=2, strides=[2, 2],
                  pads=[1, 1, 1, 1]),
             {"a": [2, 4, 8, 8], "b": [6, 2, 3, 3]},
             2 * 6 * 4 * 4 * 2 * 3 * 3),
    "ConvTranspose": (node("ConvTranspose", ["a", "b"], strides=[2]),
                      {"a": [2, 4, 5], "b": [4, 3, 7]}, 2 * 4 * 5 * 3 * 7),
    "Einsum": (node("Einsum", ["a", "b"], equation="bij,bkj->bik"),
               {"a": [2, 3, 4], "b": [2, 5, 4]}, 2 * 3 * 4 * 5),
    "Einsum ...": (node("Einsum", ["a", "b"], equation="...ij, jk -> ...ik"),
                   {"a": [7, 2, 3, 4], "b": [4, 5]}, 7 * 2 * 3 * 4 * 5),
    "LSTM": (node("LSTM", ["a", "b", "c"], hidden_size=5),
             {"a": [7, 2, 3], "b": [1, 20, 3], "c": [1, 20, 5]},
             7 * 2 * (20 * 3 + 20 * 5)),
    "Attention": (node("Attention", ["a", "b", "c"]),
                  {"a": [2, 4, 6, 8], "b": [2, 4, 10, 8],
                   "c": [2, 4, 10, 16]},
                  2 * 4 * 6 * 10 * 8 + 2 * 4 * 6 * 10 * 16),
}


@pytest.mark.parametrize("name", WORK)
def test_multiply_adds(tmp_path, name):
    made, shapes, work = WORK[name]
    opset = 23 if made.op_type == "Attention" else 22
    summary, _ = summarize(
        save(tmp_path / "m.onnx", [made], shapes, opset=opset), "--mixed-fp16")
    assert summary["multiply_adds"]["all"] == work
    assert summary["multiply_adds"]["fp16"] == work
    assert summary["multiply_adds"]["nodes_of_unknown_work"] == 0
    denied, _ = summarize(tmp_path / "m.onnx", "--mixed-fp16",
                          f"--deny={made.op_type}")
    assert denied["multiply_adds"]["all"] == work
    assert denied["multiply_adds"]["fp16"] == 0


def test_symbolic_sizes_count_as_elsewhere(tmp_path):
    model = save(tmp_path / "m.onnx", [node("MatMul", ["x", "w"])],
                 {"x": ["batch", 4]}, {"w": [4, 8]})
    summary, _ = summarize(model, "--mixed-bf16")
    assert summary["multiply_adds"]["all"] == 32 * 4 * 8
    summary, _ = summarize(model, "--mixed-bf16", "--dim=batch=7")
    assert summary["multiply_adds"]["all"] == 7 * 4 * 8


def make_convnet(path, opset):
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c"], "conv1",
                         kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], "relu"),
        helper.make_node("GlobalAveragePool", ["r"], ["p"], "pool"),
        helper.make_node("Flatten", ["p"], ["f"], "flat"),
        helper.make_node("Gemm", ["f", "w2", "b2"], ["logits"], "head",
                         transB=1),
    ]
    return save(path, nodes, {"x": [2, 3, 8, 8]},
                {"w1": [4, 3, 3, 3], "b1": [4], "w2": [5, 4], "b2": [5]},
                opset=opset)


CONV, GEMM = 2 * 4 * 8 * 8 * 3 * 3 * 3, 2 * 5 * 4


def test_little_work_says_why(tmp_path):
    """The reasons that keep most of the work, and flags that do help."""
    model = make_convnet(tmp_path / "m.onnx", 17)
    flags = ("--mixed-bf16", "--raise-opset=false")
    summary, out = summarize(model, *flags)
    assert summary["multiply_adds"]["bf16"] == GEMM
    assert summary["multiply_adds"]["all"] == CONV + GEMM
    kept, = summary["kept"]
    assert kept == {
        "reason": "Conv-11 does not admit bf16, opset 22 does",
        "remedy": "--raise-opset or --mixed-fp16",
        "ops": ["Conv"],
        "nodes": 1,
        "multiply_adds": CONV,
    }
    text = " ".join(run_mp_opt(model, *flags, "-o", out).stderr.split())
    assert re.search(r"what is not bf16, and why 99\.7 % of the work, 1 node "
                     r"\(Conv\): Conv-11 does not admit bf16, opset 22 does; "
                     r"try --raise-opset or --mixed-fp16", text)
    for remedy in ("--raise-opset", "--mixed-fp16"):
        mixed = [] if remedy == "--mixed-fp16" else ["--mixed-bf16"]
        helped, _ = summarize(model, remedy, *mixed)
        shares = helped["multiply_adds"]
        assert shares["all"] == shares[helped["precision"]]
        assert helped["kept"] == []


def test_limit_of_the_opset_is_named(tmp_path):
    model = make_convnet(tmp_path / "m.onnx", 17)
    summary, _ = summarize(model, "--mixed-bf16", "--opset-limit=21")
    kept = summary["kept"][0]
    assert kept["reason"] == ("Conv-11 does not admit bf16, opset 22 does; but "
                              "the limit is 21")
    assert kept["remedy"] == "--opset-limit=22 or --mixed-fp16"
    helped, _ = summarize(model, "--mixed-bf16", "--opset-limit=22")
    assert helped["kept"] == []


def test_what_denies_is_named(tmp_path):
    model = make_convnet(tmp_path / "m.onnx", 22)
    summary, _ = summarize(model, "--mixed-bf16", "--deny=Conv")
    kept, = summary["kept"]
    assert kept["reason"] == "user's list (--deny)"
    assert kept["remedy"] is None
    # Without products, every node counts; the named flag helps.
    model = save(tmp_path / "s.onnx",
                 [node("Softmax", ["x"])], {"x": [4, 4]})
    summary, _ = summarize(model, "--mixed-bf16")
    kept, = summary["kept"]
    assert kept["reason"].startswith("built-in list: sums of exponentials")
    assert kept["remedy"] == "--allow=Softmax"
    helped, _ = summarize(model, "--mixed-bf16", "--allow=Softmax")
    assert helped["kept"] == [] and helped["nodes"]["bf16"] == 1


def test_16_bit_of_the_source_is_named(tmp_path):
    model = make_convnet(tmp_path / "m.onnx", 22)
    _, mixed = summarize(model, "--mixed-bf16")
    again, _ = summarize(mixed, "--mixed-bf16")
    assert again["multiply_adds"]["bf16"] == again["multiply_adds"]["all"]
    other, _ = summarize(mixed, "--mixed-fp16")
    assert other["multiply_adds"]["fp16"] == 0
    assert {kept["reason"] for kept in other["kept"]} == {"bf16 in the source"}


def test_phases_of_a_step(tmp_path):
    model = make_convnet(tmp_path / "m.onnx", 22)
    flags = ("--train", "--loss=softmax-cross-entropy", "--optimizer=adamw")
    summary, out = summarize(model, *flags, "--mixed-bf16")
    phases = summary["phases"]
    assert list(phases) == ["forward", "backward", "optimizer"]
    assert phases["forward"]["multiply_adds"] == {"bf16": CONV + GEMM,
                                                  "all": CONV + GEMM}
    # Each gradient takes one sweep. That of the image is not computed.
    backward = phases["backward"]["multiply_adds"]
    assert backward["bf16"] == backward["all"] == CONV + 2 * GEMM
    assert phases["optimizer"]["multiply_adds"] == {"bf16": 0, "all": 0}
    assert phases["optimizer"]["nodes"]["fp32"] > 0
    assert phases["optimizer"]["nodes"]["bf16"] == 0
    for precision, count in summary["nodes"].items():
        assert count == sum(p["nodes"][precision] for p in phases.values())
    assert (sum(summary["casts"]["left"].values())
            == sum(phase["casts"] for phase in phases.values()))
    text = run_mp_opt(model, *flags, "--mixed-bf16", "-o", out).stderr
    table = text[text.index("mixed precision"):]
    lines = table.splitlines()
    assert lines[0] == "mixed precision (bf16)"
    assert re.match(r"  multiply-adds in bf16 +100\.0 % of ", lines[1])
    assert [line.split()[0] for line in lines
            if line.split()[0] in phases] == list(phases)
    assert max(map(len, lines)) <= 80


def loads(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(path, options,
                                     providers=["CPUExecutionProvider"])
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        return False
    return True


@pytest.mark.parametrize(
    "flags, expected",
    [
        (["--mixed-bf16"], False),
        (["--mixed-fp16"], True),
        (["--mixed-bf16", "--emulate"], True),
        (["--mixed-bf16", "--deny-node=.*"], True),
        # Nodes that only move elements run in every type.
        (["--mixed-bf16", "--deny=Conv,Gemm,GlobalAveragePool,Relu",
          "--allow=Flatten"], True),
    ],
)
def test_runtimes(tmp_path, flags, expected):
    """What is said of onnxruntime's CPU provider is so. If this fails for the
    first model, onnxruntime has learnt bf16: lib/Report/Runtimes.cpp."""
    model = make_convnet(tmp_path / "m.onnx", 22)
    summary, out = summarize(model, *flags)
    runtimes = summary["runtimes"]
    assert runtimes["runs_in"][0] == "mp-run"
    assert ("onnxruntime" in runtimes["runs_in"]) == expected
    assert (runtimes["not_in"] == []) == expected
    assert loads(out) == expected
    text = run_mp_opt(model, *flags, "-o", out).stderr
    said = "runs in: " + ", ".join(runtimes["runs_in"])
    assert said in " ".join(text.split())
    for other in runtimes["not_in"]:
        assert text.endswith(f"{other['runtime']} {other['reason']}: "
                             + " or ".join(other["remedies"]) + "\n")
        # The remedies help.
        for remedy in other["remedies"]:
            mixed = [] if remedy.startswith("--mixed") else flags
            _, helped = summarize(model, *mixed, remedy)
            assert loads(helped)


def test_custom_operators_are_named(tmp_path):
    """Who knows the operator is for the user to say; mp-run does not."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]),
             helper.make_node("Frob", ["h"], ["y"], domain="my")]
    model = tmp_path / "m.onnx"
    ones = {"w": np.ones((2, 2), np.float32)}
    onnx.save(make_model(
        nodes, {"x": [2, 2]}, {"y": [2, 2]}, ones, 22, None, ["my"]), model)
    summary, _ = summarize(model, "--mixed-fp16")
    assert summary["runtimes"]["runs_in"] == ["onnxruntime with my.Frob"]


def test_optimizers_as_nodes_need_a_build_for_training():
    model = MODELS / "train" / "mlp784" / "training_model.onnx"
    folder = scratch_dir()
    for dtype, expected in (("fp16", "onnxruntime-training"),
                            ("bf16", "onnxruntime-training's CUDA provider as far as "
                             "there are bf16 kernels")):
        done = run_mp_opt(model, f"--mixed-{dtype}", "--summary=json", "-o",
                          folder / "o.onnx")
        summary = json.loads(done.stdout)
        assert summary["runtimes"]["runs_in"] == ["mp-run", expected]
        assert list(summary["phases"]) == ["forward", "backward", "optimizer"]


def test_what_stands_against_an_opset_is_named():
    """bf16 needs an opset that a step with its optimizer in it cannot have."""
    model = MODELS / "train" / "resnet8" / "training_model.onnx"
    out = scratch_dir() / "o.onnx"
    done = run_mp_opt(model, "--mixed-bf16", "--summary=json", "-o", out)
    gradients, forward = json.loads(done.stdout)["kept"]
    assert gradients["ops"] == ["com.microsoft.ConvGrad"]
    assert gradients["reason"].endswith("does not admit bf16 at any opset")
    assert forward["ops"] == ["Conv"]
    assert forward["reason"] == ("Conv-11 does not admit bf16, opset 22 does; "
                                 "but the graph updates values in place")
    assert gradients["remedy"] == forward["remedy"] == "--mixed-fp16"
    done = run_mp_opt(model, "--mixed-fp16", "--summary=json", "-o", out)
    work = json.loads(done.stdout)["multiply_adds"]
    assert work["fp16"] > 0.9 * work["all"]


def test_lines_fit_a_terminal(tmp_path):
    """Tables and reasons, of a step and of what has long names."""
    names = ["a_module_with_a_rather_long_name." * 3 + part
             for part in ("weight", "bias", "table")]
    nodes = [
        helper.make_node("Gather", [names[2], "labels_in"], ["e"], "gather"),
        helper.make_node("Gemm", ["e", names[0], names[1]], ["logits"], "fc",
                         transB=1),
    ]
    shapes = zip(names, ([3, 4], [3], [9, 4]))
    weights = {name: np.ones(shape, np.float32) for name, shape in shapes}
    model = tmp_path / "m.onnx"
    onnx.save(make_model(
        nodes, [describe("labels_in", np.int64, ["n"])], {"logits": ["n", 3]},
        weights, 18, None), model)
    text = run_mp_opt(model, "--train", "--loss=softmax-cross-entropy",
                      f"--freeze={names[2]}", "--mixed-bf16",
                      "--raise-opset=false", "-o", tmp_path / "o.onnx").stderr
    table = text[text.index("mixed precision"):]
    assert "frozen" in table
    long = [line for line in table.splitlines() if len(line) > 80]
    # A single word has nowhere to break.
    assert all(len(line.split()) == 1 for line in long), long


@pytest.mark.parametrize("dtype", DTYPES)
def test_reasons_are_grouped(tmp_path, dtype):
    """Reasons with other byte counts are one reason, with their sum."""
    nodes, value = [], "x"
    for size in (4, 8, 16):
        for op, inputs in (("MatMul", [value, f"w{size}"]), ("Relu", None)):
            output = f"{op}{size}"
            nodes.append(helper.make_node(op, inputs or [value], [output],
                                          output))
            value = output
    weights = {"w4": [2, 4], "w8": [4, 8], "w16": [8, 16]}
    model = save(tmp_path / "m.onnx", nodes, {"x": [3, 2]}, weights)
    summary, out = summarize(model, f"--mixed-{dtype}")
    reasons = {entry["reason"]: entry for entry in summary["reasons"]}
    grouped = reasons["minimum cut: f32 would move N bytes more"]
    assert grouped["nodes"] == 3
    costs = []
    for size in (4, 8, 16):
        text = run_mp_opt(model, f"--mixed-{dtype}",
                          f"--explain=Relu{size}").stdout
        costs.append(int(re.search(r"would move (\d+) bytes more",
                                   text).group(1)))
    assert len(set(costs)) > 1
    assert grouped["bytes"] == sum(costs)
    remarks = run_mp_opt(model, f"--mixed-{dtype}", "--summary=none",
                         "--remarks-filter=mp-precision", "-o", out).stderr
    found = re.findall(r'Cost=(\d+).*Reason="minimum cut: f32 would move N '
                       r'bytes more"', remarks)
    assert sorted(map(int, found)) == sorted(costs)
