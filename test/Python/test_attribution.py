# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp_opt.attribute, mp_opt.tune, and conversions within an error."""

import json
import os
import pathlib
import re
import subprocess
import xml.etree.ElementTree

import mp_opt
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

MP_OPT = os.environ.get("MP_OPT", "mp-opt")
SIZES = (64, 256, 16, 256, 8)


@pytest.fixture(scope="module")
def model():
    """Four products with Tanh between them; names are to be escaped."""
    rng = np.random.default_rng(0)
    nodes, weights, last = [], [], "x"
    for number, (rows, columns) in enumerate(zip(SIZES, SIZES[1:])):
        weight = rng.standard_normal((rows, columns)) / np.sqrt(rows)
        weights.append(
            numpy_helper.from_array(weight.astype(np.float32), f"w{number}")
        )
        nodes.append(helper.make_node(
            "MatMul", [last, f"w{number}"], [f"p{number}"], name=f"<{number}>"))
        last = f"p{number}"
        if columns != SIZES[-1]:
            nodes.append(helper.make_node("Tanh", [last], [f"t{number}"]))
            last = f"t{number}"
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, ["n", SIZES[0]])],
        [helper.make_tensor_value_info(last, 1, ["n", SIZES[-1]])], weights,
    )
    return helper.make_model(
        graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]
    )


@pytest.fixture(scope="module")
def data():
    x = np.random.default_rng(1).standard_normal((32, SIZES[0]))
    return {"x": x.astype(np.float32)}


@pytest.fixture(scope="module")
def files(model, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    onnx.save(model, folder / "m.onnx")
    np.savez(folder / "x.npz", **data)
    return folder / "m.onnx", folder / "x.npz"


def run(command, *arguments):
    return subprocess.run(
        [MP_OPT, command, *arguments], check=True, capture_output=True, text=True
    ).stdout


def without_times(told):
    return {name: value for name, value in told.items() if name != "seconds"}


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_attribution_is_that_of_the_command(model, data, files, precision):
    found = mp_opt.attribute(model, data, precision, name="m")
    flags = [files[0], f"--mixed-{precision}", f"--data={files[1]}"]
    told = json.loads(run("attribute", *flags, "--json"))
    assert without_times(found.to_dict()) == without_times(told)
    assert str(found) == run("attribute", *flags)
    for name, value in without_times(told).items():
        if name != "nodes":
            assert getattr(found, name) == value, name
    rows = [dict(zip(node._fields, node)) for node in found.nodes]
    assert rows == told["nodes"]
    assert 0.8 < found.predicted / found.measured < 1.25
    assert found.reliable and not found.doubts
    assert found.nodes[0].share == max(node.share for node in found.nodes)
    assert sum(node.share for node in found.nodes) == pytest.approx(1, rel=1e-3)


def test_arguments_of_the_command(model, data):
    found = mp_opt.attribute(model, data, measure=1, probes=8, cost=True)
    assert [n.measured is not None for n in found.nodes].count(True) == 1
    assert found.probes >= 8 and found.seconds["plain_run"] > 0
    found = mp_opt.attribute(model, data, measure="all")
    assert None not in [node.measured for node in found.nodes]
    kept = mp_opt.attribute(model, data, deny_node="<3>", measure=0)
    assert not [node for node in kept.nodes if node.node == "<3>"]
    again = mp_opt.attribute(model, calibrate=data, measure=0)
    assert again.predicted == pytest.approx(found.predicted)


def test_gradients(model, data):
    batch = data | {"labels": np.zeros((32, SIZES[-1]), np.float32)}
    found = mp_opt.attribute(model, batch, train=True, loss="mse")
    assert found.of == "gradients" and 0.5 < found.predicted / found.measured < 2


def test_attribution_in_notebooks(model, data):
    found = mp_opt.attribute(model, data)
    html = found._repr_html_()
    root = xml.etree.ElementTree.fromstring(f"<div>{html}</div>")
    rows = root.findall(".//tbody/tr")
    assert len(rows) == min(10, len(found.nodes))
    cells = [[cell.text for cell in row.findall("td")] for row in rows]
    assert [row[0] for row in cells] == [n.node for n in found.nodes[:10]]
    assert cells[0][4] == f"{100 * found.nodes[0].share:.1f} %"
    widths = [float(width) for width in re.findall(r"width:([\d.]+)px;height", html)]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] == pytest.approx(120 * found.nodes[0].share, abs=0.06)
    made = mp_opt.Attribution("a\n", {
        **found.to_dict(), "doubts": ["a < b"], "reliable": False, "measured": None,
        "nodes": [{"node": f"n{n}", "op": "Add", "predicted": None, "share": None}
                  for n in range(12)],
    })  # fmt: skip
    html = made._repr_html_()
    assert "not reliable:</b> a &lt; b" in html and "2 more nodes" in html
    assert repr(made).endswith("a; not reliable>")


def test_tuning(model, data, files, tmp_path):
    whole = mp_opt.attribute(model, data, measure=0)
    target = 0.9 * whole.measured
    found = mp_opt.tune(model, data, target_error=target, name="m")
    flags = [files[0], "--mixed-bf16", f"--data={files[1]}"]
    told = json.loads(run("tune", *flags, f"--target-error={target}", "--json"))
    assert without_times(found.to_dict()) == without_times(told)
    for name, value in without_times(told).items():
        if name != "curve":
            assert getattr(found, name) == value, name
    assert [dict(zip(p._fields, p)) for p in found.curve] == told["curve"]
    assert 0 < found.error <= target and 0 < found.nodes_16bit
    assert found.bytes <= found.bytes_fp32
    assert repr(found).startswith("<mp_opt.Tuning: target ")
    # The policy repeats the result.
    found.save_policy(tmp_path / "p.yaml")
    made = mp_opt.attribute(
        model, data, policy=tmp_path / "p.yaml", measure=0
    )
    assert made.measured == pytest.approx(found.error, rel=1e-5)
    assert not list(tmp_path.glob("*.tmp"))
    curve = mp_opt.tune(model, data)
    assert curve.target is None and not curve.policy and len(curve.curve) > 1
    assert repr(curve) == f"<mp_opt.Tuning: {len(curve.curve)} assignments>"
    with pytest.raises(mp_opt.UsageError, match="without target_error"):
        curve.save_policy(tmp_path / "q.yaml")
    assert not (tmp_path / "q.yaml").exists()


def test_plots(model, data):
    for target in (None, 1e-3):
        found = mp_opt.tune(model, data, target_error=target)
        svg = re.search("<svg.*</svg>", found._repr_html_(), re.S)[0]
        root = xml.etree.ElementTree.fromstring(svg)
        space = "{http://www.w3.org/2000/svg}"
        points = root.findall(f".//{space}circle")
        titles = [point.find(f"{space}title").text for point in points]
        drawn = [p for p in found.curve if p.error]
        for point, title in zip(drawn, titles):
            assert f"error {point.error:.2e}" in title
        assert len(points) == len(drawn) + bool(target and found.error)
        width, height = float(root.get("width")), float(root.get("height"))
        for point in points:
            assert 0 < float(point.get("cx")) < width
            assert 0 < float(point.get("cy")) < height
        # A greater error is higher.
        heights = [float(p.get("cy")) for p in points[: len(drawn)]]
        order = sorted(range(len(drawn)), key=lambda n: -drawn[n].error)
        assert [heights[n] for n in order] == sorted(heights)
        assert ("target" in svg) == (target is not None)
    made = mp_opt.Tuning("", {**found.to_dict(), "curve": [
        {"share": 1, "error": None, "predicted": 1, "bytes": 1, "nodes_16bit": 1}
    ], "error": 0})  # fmt: skip
    assert "<svg" not in made._repr_html_()


def test_conversion_within_an_error(model, data):
    whole = mp_opt.attribute(model, data, measure=0)
    target = 0.9 * whole.measured
    made = mp_opt.convert(model, calibrate=data, target_error=target)
    low = [w for w in made.graph.initializer
           if w.data_type == onnx.TensorProto.BFLOAT16]
    assert 0 < len(low) < len(SIZES) - 1
    assert mp_opt.verify(model, made, data=data, rtol=4 * target)


def test_what_is_refused(model, data):
    refused = (
        ("expected data=DATA", {}),
        ("there are no data", {"data": []}),
        ("there are no data", {"data": data, "calibrate": []}),
        ("probes: expected", {"data": data, "probes": 0}),
        ("unknown option 'nodes'", {"data": data, "nodes": 5}),
        ("measure: expected a number or all", {"data": data, "measure": "some"}),
        ("expected mixed_bf16", {"data": data, "precision": "fp32"}),
    )
    for text, arguments in refused:
        with pytest.raises(mp_opt.UsageError, match=text):
            mp_opt.attribute(model, **arguments)
    for target in (0, -1, 1, float("nan"), float("inf")):
        with pytest.raises(mp_opt.UsageError, match="target_error: expected"):
            mp_opt.tune(model, data, target_error=target)
    with pytest.raises(mp_opt.UsageError, match="need target_error="):
        mp_opt.tune(model, data, no_curve=True)
    with pytest.raises(mp_opt.Error, match="input 'x' is missing") as caught:
        mp_opt.attribute(model, {"z": data["x"]})
    assert caught.value.status == 1
    broken = {"x": data["x"].copy()}
    broken["x"][3, 5] = np.inf
    with pytest.raises(mp_opt.Error, match="'x'"):
        mp_opt.tune(model, broken)


def test_a_target_below_that_of_fp32(model, data, tmp_path):
    with pytest.raises(mp_opt.Error, match="cannot be met: in fp32") as caught:
        mp_opt.convert(
            model, calibrate=data, target_error=1e-12, output=tmp_path / "m.onnx"
        )
    assert caught.value.status == 3
    assert not list(pathlib.Path(tmp_path).iterdir())
