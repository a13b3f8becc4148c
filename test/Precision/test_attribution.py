# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors by nodes and within targets: mp-opt attribute, mp-opt tune,
--attribute and --target-error.

What is predicted is compared with what a run measures, and that with the error
of the converted model by mp-run, which knows nothing of spots.
"""

import dataclasses
import json
import pathlib
import re

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_models import make_model, run_ort, save
from support import MP_OPT, attempt, run_mp_opt

RUN = pathlib.Path(MP_OPT).with_name("mp-run")
OUTSIDE, USAGE = 3, 2


def rng(seed=0):
    return np.random.default_rng(seed)


def weight(random, *shape):
    scale = 1 / np.sqrt(shape[-2]) if len(shape) > 1 else 0.1
    return (random.standard_normal(shape) * scale).astype(np.float32)


def node(op, inputs, outputs, **attributes):
    outputs = outputs.split()
    return helper.make_node(
        op, inputs.split(), outputs, name=f"n_{outputs[0]}", **attributes
    )


@dataclasses.dataclass
class Example:
    """A model in a file, with data of several batches."""

    nodes: list
    inputs: dict
    outputs: dict
    weights: dict
    batches: int = 3
    opset: int = 17

    def __post_init__(self):
        model = make_model(
            self.nodes, self.inputs, self.outputs, self.weights, opset=self.opset
        )
        self.source, self.made = save(model)
        random = rng(1)
        self.feed = {
            name: random.standard_normal((self.batches, *sizes)).astype(np.float32)
            for name, sizes in self.inputs.items()
        }
        self.data = self.source.parent / "data.npz"
        np.savez(self.data, **self.feed)

    def attribute(self, *flags):
        done = run_mp_opt(
            "attribute", self.source, f"--data={self.data}", "--json", *flags
        )
        return json.loads(done.stdout)

    def error(self, *flags):
        """The relative root mean square error of the converted model."""
        run_mp_opt(self.source, *flags, "-o", self.made)
        squares = []
        for batch in range(self.batches):
            feed = {name: rows[batch] for name, rows in self.feed.items()}
            given, out = (self.source.parent / f"{n}.npz" for n in ("in", "out"))
            np.savez(given, **feed)
            attempt("run", self.made, given, "-o", out, program=RUN, code=0)
            expected = run_ort(onnx.load(self.source), feed)
            found = np.load(out)
            for name, value in zip(self.outputs, expected):
                value = value.astype(float)
                squares.append(
                    ((found[name] - value) ** 2).sum() / (value**2).sum()
                )
        return np.sqrt(np.mean(squares))


def mlp(function="Relu"):
    random, nodes, weights, last = rng(), [], {}, "x"
    sizes = [64, 128, 128, 128, 32]
    for number, (rows, columns) in enumerate(zip(sizes, sizes[1:])):
        weights[f"w{number}"] = weight(random, rows, columns)
        weights[f"b{number}"] = weight(random, columns)
        nodes += [node("MatMul", f"{last} w{number}", f"p{number}"),
                  node("Add", f"p{number} b{number}", f"s{number}")]
        last = f"s{number}"
        if columns != sizes[-1]:
            nodes.append(node(function, last, f"h{number}"))
            last = f"h{number}"
    return Example(nodes, {"x": [16, 64]}, {last: [16, 32]}, weights)


def block():
    """Attention and a layer of GELU-like gates, each after a normalization."""
    random, weights = rng(), {}
    for name, sizes in {"q": (32, 32), "k": (32, 32), "v": (32, 32),
                        "o": (32, 32), "up": (32, 128), "gate": (32, 128),
                        "down": (128, 32), "g1": (32,), "g2": (32,)}.items():
        weights[name] = weight(random, *sizes) + np.float32(len(sizes) == 1)
    weights["scale"] = np.float32(32**-0.5)
    nodes = [
        node("LayerNormalization", "x g1", "n1"),
        node("MatMul", "n1 q", "xq"), node("MatMul", "n1 k", "xk"),
        node("MatMul", "n1 v", "xv"), node("Transpose", "xk", "kt", perm=[0, 2, 1]),
        node("MatMul", "xq kt", "dots"), node("Mul", "dots scale", "scaled"),
        node("Softmax", "scaled", "rows", axis=-1),
        node("MatMul", "rows xv", "mixed"), node("MatMul", "mixed o", "out"),
        node("Add", "x out", "r1"), node("LayerNormalization", "r1 g2", "n2"),
        node("MatMul", "n2 up", "u"), node("MatMul", "n2 gate", "t"),
        node("Sigmoid", "t", "a"), node("Mul", "u a", "ua"),
        node("MatMul", "ua down", "d"), node("Add", "r1 d", "y"),
    ]
    return Example(nodes, {"x": [2, 12, 32]}, {"y": [2, 12, 32]}, weights)


def lstm():
    random = rng()
    weights = {"w": weight(random, 1, 64, 24).swapaxes(1, 2).swapaxes(1, 2),
               "r": weight(random, 1, 64, 16), "out": weight(random, 16, 8),
               "axes": np.array([1])}
    nodes = [
        node("LSTM", "x w r", "states", hidden_size=16),
        node("Squeeze", "states axes", "flat"), node("MatMul", "flat out", "y"),
    ]
    return Example(nodes, {"x": [10, 4, 24]}, {"y": [10, 4, 8]}, weights)


def two_outputs():
    """Of different magnitudes, which count the same."""
    random = rng()
    weights = {"w": weight(random, 64, 64), "a": weight(random, 64, 24) * 30,
               "b": weight(random, 64, 24) * 1e-2}
    nodes = [
        node("MatMul", "x w", "p"), node("Tanh", "p", "h"),
        node("MatMul", "h a", "y"), node("MatMul", "h b", "z"),
    ]
    return Example(nodes, {"x": [16, 64]}, {"y": [16, 24], "z": [16, 24]}, weights)


def branches():
    """An If, whose results are measured and whose bodies are not."""
    random = rng()
    weights = {"w": weight(random, 64, 64), "v": weight(random, 64, 24),
               "zero": np.float32(0)}

    def body(op):
        return helper.make_graph(
            [node(op, "p", f"{op}_y")], op, [],
            [helper.make_tensor_value_info(f"{op}_y", 1, [16, 64])])

    nodes = [
        node("MatMul", "x w", "p"),
        node("ReduceSum", "x", "sum", keepdims=0),
        node("Greater", "sum zero", "positive"),
        node("If", "positive", "h", then_branch=body("Tanh"),
             else_branch=body("Sigmoid")),
        node("MatMul", "h v", "y"),
    ]
    return Example(nodes, {"x": [16, 64]}, {"y": [16, 24]}, weights)


def without_derivative():
    """A Round, which has none: what precedes it reaches y by the sum as well."""
    random = rng()
    weights = {"w": weight(random, 64, 64), "v": weight(random, 64, 24),
               "much": np.float32(1e-3)}
    nodes = [
        node("MatMul", "x w", "p"), node("Round", "p", "whole"),
        node("Mul", "whole much", "small"), node("Add", "p small", "h"),
        node("MatMul", "h v", "y"),
    ]
    return Example(nodes, {"x": [16, 64]}, {"y": [16, 24]}, weights)


MAKERS = [mlp, block, lstm, two_outputs, branches, without_derivative]
SMOOTH = [block, lstm, two_outputs, branches]
examples = {}


def example(make):
    """Made once: models have names, and are not changed."""
    if make not in examples:
        examples[make] = make()
    return examples[make]


@pytest.fixture(params=MAKERS, ids=lambda make: make.__name__)
def each(request):
    return example(request.param)


def is_smooth(model):
    return any(examples.get(make) is model for make in SMOOTH)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_outputs(each, precision):
    flag = f"--mixed-{precision}"
    found = each.attribute(flag, "--measure=all")
    low, high = (0.8, 1.25) if is_smooth(each) else (0.5, 2)
    assert low < found["predicted"] / found["measured"] < high
    assert found["reliable"] and not found["doubts"]
    # The measured error is that of the converted model. The states of an LSTM
    # are 16 bit between its steps, too, and no spots.
    rel = 0.5 if each is examples.get(lstm) else 0.25
    assert found["measured"] == pytest.approx(each.error(flag), rel=rel)
    alone = [n for n in found["nodes"] if n["measured"] > 0.02 * found["measured"]]
    assert alone
    for row in alone:
        assert 0.5 < row["predicted"] / row["measured"] < 2, row


def test_fields(each):
    found = each.attribute("--mixed-bf16", "--measure=2", "--cost", "--probes=6")
    assert found["precision"] == "bf16" and found["of"] == "outputs"
    assert found["batches"] == 3 and found["probes"] >= 6 and found["runs"] >= 3
    assert found["nodes_total"] == len(each.nodes)
    shares = [row["share"] for row in found["nodes"]]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1, abs=1e-3)
    assert [("measured" in row) for row in found["nodes"]] == [
        rank < 2 for rank in range(len(shares))]
    known = {node.name: node.op_type for node in each.nodes}
    for row in found["nodes"]:
        assert known[row["node"]] == row["op"]
    assert set(found["seconds"]) >= {"compile", "attribution", "runs", "plain_run"}
    # The first order holds: a quarter of each rounding leaves a quarter.
    assert 2.5 < found["curvature"] < 6


def test_text(each):
    done = run_mp_opt("attribute", each.source, "--mixed-bf16",
                      f"--data={each.data}", "--nodes=1", "--measure=1")
    lines = done.stdout.splitlines()
    assert re.fullmatch(
        r"error of the outputs in bf16: predicted \S+ %, measured \S+ %", lines[0])
    row = next(line for line in lines if "node '" in line)
    assert re.fullmatch(
        r" +[\d.]+% +\d+%  +[\d.e-]+  +[\d.e-]+  node 'n_\w+' \(\w+-\d+\)", row)
    assert sum("node '" in line for line in lines) == 1


@pytest.mark.parametrize("make", [mlp, block, two_outputs],
                         ids=lambda make: make.__name__)
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_gradients(make, precision):
    model = example(make)
    step = model.source.parent / "labels.npz"
    flags = ["--train"]
    feed = dict(model.feed)
    for name in model.outputs:
        flags.append(f"--loss=mse:{name}")
    sizes = [model.batches, *model.outputs[next(iter(model.outputs))]]
    done = attempt(model.source, f"--mixed-{precision}", *flags, "-o", model.made)
    assert done.returncode == 0, done.stderr
    made = onnx.load(model.made)
    for value in made.graph.input:
        if value.name.startswith(("labels", "target")):
            feed[value.name] = rng(2).standard_normal(sizes).astype(np.float32)
    np.savez(step, **feed)
    found = json.loads(run_mp_opt(
        "attribute", model.source, f"--mixed-{precision}", *flags,
        f"--data={step}", "--json", "--measure=5").stdout)
    assert found["of"] == "gradients"
    low, high = (0.5, 2) if make is mlp else (0.7, 1.4)
    # A few flips may happen or not: predictions leave them out.
    is_sure = make is not mlp or found["flips"] >= 3
    if is_sure:
        assert low < found["predicted"] / found["measured"] < high
    if make is mlp:
        assert found["flips"] > 0 and found["flip_error"] > 0
        assert (found["predicted_first_order"] < found["predicted"]) == is_sure
        assert is_sure or found["measured"] > 0.5 * found["predicted"]
        assert precision == "fp16" or is_sure


def test_masks_are_clamped():
    """The lowest number of fp32 is a mask in fp16 as well: the measured error is
    not that of a model without its mask."""
    random = rng()
    lowest = np.triu(np.full((16, 16), np.finfo(np.float32).min), 1)
    weights = {"q": weight(random, 32, 32), "v": weight(random, 32, 32),
               "mask": lowest.astype(np.float32)}
    nodes = [
        node("MatMul", "x q", "xq"), node("Transpose", "x", "xt", perm=[0, 2, 1]),
        node("MatMul", "xq xt", "dots"), node("Add", "dots mask", "masked"),
        node("Softmax", "masked", "rows", axis=-1),
        node("MatMul", "rows x", "mixed"), node("MatMul", "mixed v", "y"),
    ]
    model = Example(nodes, {"x": [2, 16, 32]}, {"y": [2, 16, 32]}, weights)
    found = model.attribute("--mixed-fp16", "--measure=all")
    assert 0.8 < found["predicted"] / found["measured"] < 1.25, found
    assert found["measured"] == pytest.approx(model.error("--mixed-fp16"), rel=0.25)


#
# Targets
#


@pytest.fixture(scope="module")
def wide():
    """Weights of which some are worth a cast, and others more than that."""
    random = rng()
    sizes = [64, 256, 16, 256, 16, 256, 8]
    nodes, weights, last = [], {}, "x"
    for number, (rows, columns) in enumerate(zip(sizes, sizes[1:])):
        weights[f"w{number}"] = weight(random, rows, columns)
        nodes.append(node("MatMul", f"{last} w{number}", f"p{number}"))
        last = f"p{number}"
        if columns != sizes[-1]:
            nodes.append(node("Tanh", last, f"h{number}"))
            last = f"h{number}"
    return Example(nodes, {"x": [4, 64]}, {last: [4, 8]}, weights)


def count_low(path):
    return sum(tensor.data_type != onnx.TensorProto.FLOAT
               for tensor in onnx.load(path).graph.initializer)


@pytest.mark.parametrize("share", [0.9, 0.7, 0.5])
def test_target(wide, share):
    """Within the target, or fp32; a note has what was measured."""
    everything = wide.attribute("--mixed-bf16", "--measure=0")["measured"]
    target = share * everything
    flags = ["--mixed-bf16", f"--calibrate={wide.data}", f"--target-error={target}"]
    done = run_mp_opt(wide.source, *flags, "--summary=none", "-o", wide.made)
    assert "error of the outputs: predicted" in done.stderr
    low = count_low(wide.made)
    assert ("everything stays fp32" in done.stderr) == (low == 0)
    if share == 0.9:
        assert low
    error = wide.error(*flags)
    assert error <= 1.05 * target
    told = json.loads(run_mp_opt(
        "tune", wide.source, "--mixed-bf16", f"--data={wide.data}", "--json",
        f"--target-error={target}").stdout)
    assert told["met"] and told["error"] <= target
    assert told["nodes_16bit"] == 0 or told["error"] >= target / 2
    assert told["bytes"] <= told["bytes_fp32"] and told["runs"] <= 6
    assert (told["nodes_16bit"] > 0) == (low > 0)
    assert told["error"] == pytest.approx(error, rel=0.05, abs=1e-6)


def test_a_policy_repeats_the_result(wide):
    policy = wide.source.parent / "found.yaml"
    everything = wide.attribute("--mixed-bf16", "--measure=0")["measured"]
    target = 0.9 * everything
    told = json.loads(run_mp_opt(
        "tune", wide.source, "--mixed-bf16", f"--data={wide.data}", "--json",
        f"--target-error={target}", "-o", policy).stdout)
    assert told["nodes_16bit"] > 0
    text = policy.read_text()
    assert "16 bit would cause" in text and "measured on 3 batches" in text
    found = wide.attribute(f"--policy={policy}", "--measure=0")
    assert found["measured"] == pytest.approx(told["error"], rel=1e-3)
    assert wide.error(f"--policy={policy}") == pytest.approx(
        told["error"], rel=0.05)


def test_curve(wide):
    told = json.loads(run_mp_opt(
        "tune", wide.source, "--mixed-bf16", f"--data={wide.data}",
        "--json").stdout)
    curve = told["curve"]
    assert "target" not in told and len(curve) >= 3
    amounts = [point["bytes"] for point in curve]
    assert amounts == sorted(amounts) and amounts[-1] <= told["bytes_fp32"]
    errors = [point["error"] for point in curve]
    assert errors == sorted(errors, reverse=True)
    assert curve[0]["share"] == 1 and curve[-1]["nodes_16bit"] < len(wide.nodes)


def test_baselines(wide):
    """Bisection and a list need more runs."""
    everything = wide.attribute("--mixed-bf16", "--measure=0")["measured"]
    told = json.loads(run_mp_opt(
        "tune", wide.source, "--mixed-bf16", f"--data={wide.data}", "--json",
        f"--target-error={0.7 * everything}", "--baselines", "--no-curve").stdout)
    assert not told["curve"] and set(told["baselines"]) == {"bisection", "list"}
    for other in told["baselines"].values():
        assert other["runs"] >= told["runs"] and other["error"] <= told["target"]


def test_a_target_below_that_of_fp32(wide):
    wide.made.unlink(missing_ok=True)
    done = attempt(
        wide.source, "--mixed-bf16", f"--calibrate={wide.data}",
        "--target-error=1e-12", "-o", wide.made, code=OUTSIDE)
    assert re.search(r"cannot be met: in fp32, output 'p\d' is off by", done.stderr)
    assert done.stderr.count("error:") == 1 and not wide.made.exists()


def test_a_note_and_an_explanation(wide):
    done = run_mp_opt(
        wide.source, "--mixed-bf16", f"--calibrate={wide.data}", "--attribute",
        "--summary=none", "-o", wide.made)
    assert re.search(r"remark: error of the outputs: predicted \S+ %, measured",
                     done.stderr)


#
# Errors
#


@pytest.fixture(scope="module")
def small():
    random = rng()
    nodes = [node("MatMul", "x w", "p"), node("Tanh", "p", "y")]
    return Example(nodes, {"x": [4, 8]}, {"y": [4, 8]}, {"w": weight(random, 8, 8)})


def fail(*arguments, code=1):
    done = attempt(*arguments, code=code)
    assert done.stderr.count(": error: ") == 1, done.stderr
    return done.stderr


def test_wrong_usage(small):
    data = f"--data={small.data}"
    for text, arguments in (
        ("expected --data=DATA", ["attribute", small.source, "--mixed-bf16"]),
        ("expected --mixed-bf16, --mixed-fp16 or --policy",
         ["attribute", small.source, data]),
        ("expected one model, got 0", ["attribute", "--mixed-bf16", data]),
        ("expected one model, got 2",
         ["tune", small.source, small.source, "--mixed-bf16", data]),
        ("--measure: expected a number or all",
         ["attribute", small.source, "--mixed-bf16", data, "--measure=few"]),
        ("--probes", ["tune", small.source, "--mixed-bf16", data, "--probes=0"]),
        ("-o needs --target-error=X",
         ["tune", small.source, "--mixed-bf16", data, "-o", small.made]),
        ("--baselines and --no-curve need --target-error=X",
         ["tune", small.source, "--mixed-bf16", data, "--no-curve"]),
        ("--attribute needs data: --calibrate=DATA",
         [small.source, "--mixed-bf16", "--attribute", "-o", small.made]),
        ("--target-error needs data: --calibrate=DATA",
         [small.source, "--mixed-bf16", "--target-error=0.1", "-o", small.made]),
        ("--target-error needs --mixed-bf16, --mixed-fp16 or --policy",
         [small.source, "--target-error=0.1", "-o", small.made]),
    ):
        assert text in fail(*arguments, code=USAGE), text
        assert not small.made.exists()


@pytest.mark.parametrize("target", ["0", "-1", "1", "2", "nan", "inf", "little"])
def test_targets_that_are_none(target, small):
    flag = f"--target-error={target}"
    fail("tune", small.source, "--mixed-bf16", f"--data={small.data}", flag,
         code=USAGE)
    fail(small.source, "--mixed-bf16", f"--calibrate={small.data}", flag, "-o",
         small.made, code=USAGE)
    assert not small.made.exists()


def test_wrong_data(small, tmp_path):
    cases = {
        "input 'x' is missing": {"z": np.zeros((4, 8), np.float32)},
        "expected float32[4,8]": {"x": np.zeros((4, 9), np.float32)},
        "'x'": {"x": np.full((4, 8), np.nan, np.float32)},
    }
    for text, arrays in cases.items():
        path = tmp_path / "wrong.npz"
        np.savez(path, **arrays)
        for command in ("attribute", "tune"):
            assert text in fail(
                command, small.source, "--mixed-bf16", f"--data={path}")
    empty = tmp_path / "empty.npz"
    empty.write_bytes(b"")
    assert str(empty) in fail(
        "attribute", small.source, "--mixed-bf16", f"--data={empty}")


def test_no_output_of_floats(tmp_path):
    nodes = [node("MatMul", "x w", "p"), node("ArgMax", "p", "y")]
    model = make_model(
        nodes, {"x": [4, 8]}, [helper.make_tensor_value_info("y", 7, [1, 8])],
        {"w": weight(rng(), 8, 8)})
    source, _ = save(model)
    np.savez(tmp_path / "x.npz", x=np.ones((4, 8), np.float32))
    error = fail("attribute", source, "--mixed-bf16",
                 f"--data={tmp_path / 'x.npz'}")
    assert "no output of floats" in error


def test_fp32_that_is_not_finite(tmp_path):
    nodes = [node("Mul", "x x", "square"), node("MatMul", "square w", "y")]
    model = make_model(
        nodes, {"x": [4, 8]}, {"y": [4, 8]}, {"w": weight(rng(), 8, 8)})
    source, _ = save(model)
    np.savez(tmp_path / "x.npz", x=np.full((4, 8), 1e30, np.float32))
    for command in ("attribute", "tune"):
        error = fail(command, source, "--mixed-bf16",
                     f"--data={tmp_path / 'x.npz'}")
        assert "not finite in fp32 in batch 0" in error
        assert "output 'y'" in error
