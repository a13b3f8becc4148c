# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names in models, data files and policies are shown without the characters
that control a terminal, begin a line or turn the direction of writing.
"""

import itertools
import json
import pathlib
import re
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import make_model
from support import MP_OPT

MP_RUN = str(pathlib.Path(MP_OPT).with_name("mp-run"))
FORGED = "\nmp-run: error: all is well"
BAD = (
    "\x1b[31m", "\a", "\r", "\t", "\x7f", "\x85", "\x9b2J", FORGED,
    "\u202e", "\u2066", "\u200e", "\u200f", "\u2028", "\u2029",
)  # fmt: skip
GOOD = "Grüße_名前_\\_😀"
NAME = "".join(BAD) + GOOD
SHOWN = (
    r"\x1b[31m\x07\r\t\x7f\x85\x9b2J\nmp-run: error: all is well"
    r"\u202e\u2066\u200e\u200f\u2028\u2029" + GOOD
)
HIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]"
)


def run(*command):
    """What is said on both streams: UTF-8, without the characters above."""
    done = subprocess.run(list(map(str, command)), capture_output=True)
    said = done.stdout + done.stderr
    text = said.decode("utf-8")
    assert not HIDDEN.search(text), text
    assert not any(line.startswith("mp-run: error: all is") for line in
                   text.split("\n"))  # fmt: skip
    return done, text


def make(name=NAME, op="MatMul", **more):
    node = helper.make_node(op, ["x", name], ["h"], name=name, **more)
    return make_model(
        [
            node,
            helper.make_node("Softmax", ["h"], [name + "y"], name=name + "s")
        ],
        {"x": [4, 4]}, {name + "y": [4, 4]},
        [helper.make_tensor(name, TensorProto.FLOAT, [4, 4], [0.1] * 16)],
        opset=18, name=name
    )


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(make(), path)
    return path


def test_errors(tmp_path):
    wrong = {
        "attribute": make(axis=1),
        "operator": make(op="Sum" + NAME),
        "operand": make(),
        "location": make(),
        "metadata": make(),
    }
    wrong["operand"].graph.node[0].input[0] = NAME + "?"
    weight = wrong["location"].graph.initializer[0]
    weight.ClearField("float_data")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="w" + NAME)
    for _ in range(2):
        wrong["metadata"].metadata_props.add(key=NAME, value="")
    for kind, bad in wrong.items():
        path = tmp_path / "m.onnx"
        onnx.save(bad, path)
        done, text = run(MP_OPT, path, "-o", tmp_path / "o.onnx")
        if kind != "operator":
            assert done.returncode == 1 and text.count("\n") == 1
        assert SHOWN in text, kind


@pytest.mark.parametrize("command", ["run", "bench"])
def test_errors_of_runs(command, model, tmp_path):
    data = tmp_path / "d.npz"
    np.savez(data, **{"x" + NAME: np.zeros((4, 4), np.float32)})
    _, text = run(MP_RUN, command, model, data)
    assert SHOWN in text


def test_bytes_that_are_not_utf8(model, tmp_path):
    content = model.read_bytes().replace(GOOD.encode(), b"\xff\xfe" + b"n" * (
        len(GOOD.encode()) - 2))  # fmt: skip
    model.write_bytes(content)
    _, text = run(MP_OPT, model, "--mixed-bf16", "--explain=h")
    assert r"\xff\xfen" in text


def test_explanations_remarks_and_summaries(model, tmp_path):
    output = tmp_path / "o.onnx"
    for flags in (
        [f"--explain={NAME}"],
        ["--explain=h"],
        ["--remarks-filter=mp-precision"],
        [f"--deny-node={NAME}", "--explain=h"],
    ):
        _, text = run(MP_OPT, model, "--mixed-bf16", *flags, "-o", output)
        assert SHOWN in text, flags
    _, text = run(MP_OPT, "diff", model, output)
    assert SHOWN in text
    flags = ["--train", "--loss=mse", f"--freeze={re.escape(GOOD)}"]
    _, text = run(MP_OPT, model, *flags, "-o", output)
    assert SHOWN in text or "matches" in text


def test_policies(model, tmp_path):
    policy = tmp_path / "p.yaml"
    hide = lambda match: f"\\u{ord(match[0]):04x}"
    quoted = '"' + re.sub(r"[^\w ?]", hide, NAME.replace("😀", "")) + '😀"'
    for text in (
        f"nodes: [{{class: deny, name: {quoted[:-1]}?\"}}]",
        f"ops: {{allow: [{quoted}]}}",
        f"{quoted}: 1",
        f"metadata: {{model: {quoted}}}",
    ):
        policy.write_text(text, encoding="utf-8")
        done, said = run(MP_OPT, model, f"--policy={policy}", "-o", "/dev/null")
        assert done.returncode == 1 and SHOWN in said
    policy.write_text(f"nodes: [{{class: deny, name: {quoted}}}]")
    done, said = run(MP_OPT, f"--policy={policy}", "--print-config")
    assert done.returncode == 0 and '"' in said
    policy.write_text(said, encoding="utf-8")
    again = run(MP_OPT, model, f"--policy={policy}", "-o", tmp_path / "o.onnx")
    assert again[0].returncode == 0


def test_tables_of_data_files(tmp_path):
    path = tmp_path / "d.npz"
    np.savez(path, **{NAME: np.zeros(2, np.float32), "plain": np.ones(3)})
    _, text = run(MP_RUN, "show", path)
    assert SHOWN in text and text.count("\n") == 2
    shown = json.loads(
        subprocess.run([MP_RUN, "show", path, "--json"], capture_output=True).stdout
    )
    assert {entry["name"] for entry in shown} == {NAME, "plain"}


def test_tables_of_runs(model):
    for command in (
        ["run", "--random"],
        ["compare", "--random", "--mixed-bf16"],
        ["bench", "--random", "--profile", "--min-time=0.01"],
    ):
        done, text = run(MP_RUN, command[0], model, *command[1:])
        if done.returncode == 0:
            assert SHOWN in text, command


def test_each_character(tmp_path):
    path = tmp_path / "d.npz"
    controls = itertools.chain(range(1, 0x20), range(0x7F, 0xA0), [0x202A, 0x2069])
    for code in controls:
        np.savez(path, **{f"a{chr(code)}b": np.zeros(1)})
        _, text = run(MP_RUN, "show", path)
        assert re.match(r"a\\[xunrt][0-9a-f]*b  ", text), hex(code)
