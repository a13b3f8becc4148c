# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of nodes in reports, from --attribute and --target-error.

The page's script runs in Node.js, if there is one, in a document that only has
what the script uses.
"""

import base64
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_models import make_model
from support import attempt, run_mp_opt

NODE_JS = shutil.which("node")
OPEN_PAGE = pathlib.Path(__file__).parent / "Inputs" / "open_page.mjs"
LAYERS = 7


def write_model(folder):
    """A model whose nodes have scopes, and two batches of data."""
    rng = np.random.default_rng(0)
    nodes, weights, value = [], {}, "x"
    for layer in range(LAYERS):
        scope = f"/enc/layer.{layer}/"
        weights[f"w{layer}"] = (rng.standard_normal((32, 32)) / 5).astype("f4")
        for op, more in (("MatMul", [f"w{layer}"]), ("Tanh", [])):
            output = f"{scope}{op}_out"
            nodes.append(helper.make_node(op, [value, *more], [output],
                                          scope + op))
            value = output
    nodes.append(helper.make_node("Exp", [value], ["y"], "</script><b>"))
    onnx.save(make_model(nodes, {"x": [8, 32]}, {"y": [8, 32]}, weights, ir=8),
              folder / "m.onnx")
    x = rng.standard_normal((2, 8, 32))
    np.savez(folder / "d.npz", x=x.astype("f4"))
    return folder / "m.onnx", f"--calibrate={folder / 'd.npz'}"


@pytest.fixture(scope="module")
def attributed(tmp_path_factory):
    """The JSON, the page and the overlay of one run."""
    folder = tmp_path_factory.mktemp("errors")
    model, data = write_model(folder)
    done = run_mp_opt(
        model, "--mixed-bf16", data, "--attribute", "--summary=json",
        f"--report={folder / 'r.html'}", f"--overlay={folder / 'o.json'}",
        "-o", folder / "out.onnx",
    )
    return json.loads(done.stdout)["errors"], folder


def test_summary(attributed):
    errors, folder = attributed
    assert errors["of"] == "outputs" and errors["batches"] == 2
    assert errors["reliable"] and errors["doubts"] == []
    assert "target" not in errors
    assert 0.5 < errors["predicted"] / errors["measured"] < 2
    nodes = errors["nodes"]
    assert len(nodes) == errors["nodes_with_errors"] >= 2 * LAYERS
    shares = [node["share"] for node in nodes]
    assert shares == sorted(shares, reverse=True)
    # Flips at kinks are not sums; there are none here.
    assert sum(shares) == pytest.approx(1, rel=1e-3)
    assert sum("measured" in node for node in nodes) == 10
    for node in nodes[:10]:
        assert 0.4 < node["predicted"] / node["measured"] < 2.5, node
    names = {node.name for node in onnx.load(folder / "out.onnx").graph.node}
    assert {node["node"] for node in nodes} <= names


def test_json_is_that_of_the_command(attributed):
    errors, folder = attributed
    model, data = folder / "m.onnx", f"--data={folder / 'd.npz'}"
    told = json.loads(run_mp_opt("attribute", model, "--mixed-bf16", data,
                                 "--json").stdout)
    for key in "of", "predicted", "measured", "reliable", "nodes":
        assert errors[key] == told[key], key


def test_explanation(attributed):
    errors, folder = attributed
    data = f"--calibrate={folder / 'd.npz'}"
    for node in (errors["nodes"][0], errors["nodes"][-1]):
        text = run_mp_opt(folder / "m.onnx", "--mixed-bf16", data,
                          "--attribute", f"--explain={node['node']}").stdout
        line, = re.findall("^  error: .*", text, re.M)
        measured = (f" (measured {node['measured']:.1e})"
                    if "measured" in node else "")
        share = 100 * node["share"]
        part = f"{share:.{int(share < 10)}f} %"
        assert line == (
            "  error: its roundings cause an error of "
            f"{node['predicted']:.1e} of the outputs{measured}, {part} of the "
            "whole"
        )
    # Without data, nothing is known.
    text = run_mp_opt(folder / "m.onnx", "--mixed-bf16",
                      "--explain=/enc/layer.0/MatMul").stdout
    assert "runs in bf16" in text and "error:" not in text


def test_overlay(attributed):
    errors, folder = attributed
    graph, = json.loads((folder / "o.json").read_text()).values()
    known = {name: entry for name, entry in graph["results"].items()
             if "error" in entry}
    assert known.keys() == {node["node"] for node in errors["nodes"]}
    for node in errors["nodes"]:
        entry = known[node["node"]]
        assert entry["error"] == node["predicted"]
        assert entry["error_share"] == node["share"]


def read_page(page):
    text = page.read_text("utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])


def test_data_of_the_page(attributed):
    errors, folder = attributed
    data = read_page(folder / "r.html")
    found = data["errors"]
    strings = data["strings"]
    assert found["predicted"] == errors["predicted"]
    for (index, predicted, share, measured), node in zip(
        found["nodes"], errors["nodes"], strict=True
    ):
        assert strings[data["nodes"][index][0]] == node["node"]
        assert (predicted, share) == (node["predicted"], node["share"])
        assert measured == node.get("measured", -1)


def open_page(page, *click):
    done = subprocess.run([NODE_JS, OPEN_PAGE, page, *click],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


needs_node = pytest.mark.skipif(not NODE_JS, reason="no Node.js")


@needs_node
def test_page(attributed):
    """The first ten nodes with the sum of shares, scopes, and colours."""
    errors, folder = attributed
    worst = errors["nodes"][0]
    shown = open_page(folder / "r.html", worst["node"])
    rows = shown["tabs"]["errors"]
    heads = ["node", "share", "sum", "predicted", "measured"]
    assert rows[0] == heads and rows[11] == ["scope", "share"]
    total = 0
    for row, node in zip(rows[1:11], errors["nodes"]):
        total += node["share"]
        assert row[0].startswith(node["node"] + " (")
        for text, share in ((row[1], node["share"]), (row[2], total)):
            assert float(text.split()[0]) == pytest.approx(100 * share,
                                                           abs=0.051)
        assert float(row[3]) == pytest.approx(node["predicted"], rel=0.06)
        assert float(row[4]) == pytest.approx(node["measured"], rel=0.06)
    scopes = {}
    for node in errors["nodes"]:
        scope = node["node"].rpartition("/")[0].strip("/")
        scopes[scope] = scopes.get(scope, 0) + node["share"]
    for name, share in rows[12:]:
        if name.startswith("enc/"):
            assert float(share.split()[0]) == pytest.approx(
                100 * scopes[name], abs=0.051)
    assert [name for name, _ in rows[12:]].count("enc/layer.0") == 1
    assert "error" in shown["tabs"]["layers"][0]
    assert shown["switches"] == ["error", "precision"]
    assert "by error, to" in shown["legends"]["error"]
    assert "by error" not in shown["legends"]["precision"]
    assert f"{rows[1][3]} of the outputs, measured {rows[1][4]}" in (
        shown["details"])


@needs_node
def test_page_of_times_and_errors(attributed, tmp_path):
    """A switch has both, and the errors stay those of the run without times."""
    _, folder = attributed
    kernel = {"kind": "product", "seconds": 1e-3, "roofline": None,
              "nodes": ["node '/enc/layer.1/MatMul' (MatMul-13)"]}
    (tmp_path / "p.json").write_text(json.dumps({"kernels": [kernel]}))
    run_mp_opt(folder / "m.onnx", "--mixed-bf16", "--attribute",
               f"--calibrate={folder / 'd.npz'}", f"--report={tmp_path}/r.html",
               f"--profile={tmp_path / 'p.json'}")
    shown = open_page(tmp_path / "r.html")
    assert shown["switches"] == ["time", "error", "precision"]
    assert "by time" in shown["legends"]["time"]
    assert "by error" in shown["legends"]["error"]
    before = read_page(folder / "r.html")["errors"]
    assert read_page(tmp_path / "r.html")["errors"] == before


@needs_node
def test_page_without_errors(tmp_path):
    model, _ = write_model(tmp_path)
    run_mp_opt(model, "--mixed-bf16", f"--report={tmp_path / 'r.html'}")
    shown = open_page(tmp_path / "r.html")
    assert "errors" not in shown["tabs"] and shown["switches"] == []
    assert shown["tabs"]["layers"][0] == ["layer", "nodes", "work", "results",
                                          "casts", "moved"]


def test_target(tmp_path):
    """A report of a search has the target; fp32 nodes have no error."""
    model, data = write_model(tmp_path)
    flags = (model, "--mixed-bf16", data, "--target-error=3e-3",
             "--summary=json", "-o", tmp_path / "out.onnx")
    report = json.loads(run_mp_opt(*flags).stdout)
    errors = report["errors"]
    assert errors["target"] == 3e-3 and errors["measured"] <= 3e-3
    assert all("measured" not in node for node in errors["nodes"])
    assert errors["nodes_with_errors"] < report["nodes"]["bf16"] + len(
        onnx.load(model).graph.node)
    run_mp_opt(*flags, f"--report={tmp_path / 'r.html'}")
    assert read_page(tmp_path / "r.html")["errors"]["target"] == 3e-3


def test_everything_fp32(tmp_path):
    """A target that only fp32 meets leaves a report with no node."""
    model, data = write_model(tmp_path)
    done = run_mp_opt(model, "--mixed-bf16", data, "--target-error=1e-5",
                      "--summary=json", f"--report={tmp_path / 'r.html'}",
                      "-o", tmp_path / "out.onnx")
    errors = json.loads(done.stdout)["errors"]
    assert errors["nodes"] == [] and errors["measured"] == 0
    if NODE_JS:
        shown = open_page(tmp_path / "r.html")
        assert "No node rounds to 16 bit." in shown["notes"]["errors"]
        assert shown["switches"] == []


@needs_node
def test_errors_of_zero(tmp_path):
    """Nodes whose roundings reach no output have no colours, only rows."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], "dead"),
             helper.make_node("Relu", ["h"], ["y"], "relu")]
    weights = {"w": -np.full((16, 16), 1 / 3, np.float32)}
    model = tmp_path / "m.onnx"
    onnx.save(make_model(nodes, {"x": [4, 16]}, {"y": [4, 16]}, weights), model)
    np.savez(tmp_path / "d.npz", x=np.full((1, 4, 16), 1 / 7, np.float32))
    run_mp_opt(model, "--mixed-bf16", "--attribute",
               f"--calibrate={tmp_path / 'd.npz'}",
               f"--report={tmp_path / 'r.html'}")
    shown = open_page(tmp_path / "r.html")
    assert shown["tabs"]["errors"][1] == ["dead (MatMul-13)", "", "", "0", "0"]
    assert shown["switches"] == []


def test_what_is_not_finite(tmp_path):
    """The user's list lets fp16 overflow: JSON has null, texts say so."""
    rng = np.random.default_rng(0)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], "up"),
             helper.make_node("MatMul", ["h", "v"], ["y"], "down")]
    weights = {"w": (3e3 * rng.standard_normal((16, 16))).astype("f4"),
               "v": (1e-3 * rng.standard_normal((16, 16))).astype("f4")}
    model = tmp_path / "m.onnx"
    onnx.save(make_model(nodes, {"x": [4, 16]}, {"y": [4, 16]}, weights), model)
    x = 50 * rng.standard_normal((1, 4, 16))
    np.savez(tmp_path / "d.npz", x=x.astype("f4"))
    flags = (model, "--mixed-fp16", "--attribute", "--allow-node=up|down",
             f"--calibrate={tmp_path / 'd.npz'}")
    done = run_mp_opt(*flags, "--summary=json", "-o", tmp_path / "out.onnx",
                      f"--report={tmp_path / 'r.html'}")
    errors = json.loads(done.stdout)["errors"]
    assert errors["measured"] is None and not errors["reliable"]
    assert [node["measured"] for node in errors["nodes"]] == [None, None]
    assert read_page(tmp_path / "r.html")["errors"]["measured"] is None
    text = run_mp_opt(*flags, "--explain=up").stdout
    assert "of the outputs (measured not finite), " in text
    assert f"  error: not reliable: {errors['doubts'][0]}\n" in text
    if NODE_JS:
        shown = open_page(tmp_path / "r.html")
        assert [row[4] for row in shown["tabs"]["errors"][1:]] == [
            "not finite", "not finite"]
        assert f"not reliable: {errors['doubts'][0]}" in shown["notes"]["errors"]


def test_training_step(tmp_path):
    """Errors of gradients, with nodes of all phases."""
    model, data = write_model(tmp_path)
    labels = np.zeros((2, 8), np.int64)
    x = np.load(tmp_path / "d.npz")["x"]
    np.savez(tmp_path / "step.npz", x=x, labels=labels)
    done = run_mp_opt(model, "--train", "--loss=softmax-cross-entropy",
                      "--mixed-bf16", f"--calibrate={tmp_path / 'step.npz'}",
                      "--attribute", "--summary=json", "-o",
                      tmp_path / "out.onnx",
                      f"--report={tmp_path / 'r.html'}")
    errors = json.loads(done.stdout)["errors"]
    assert errors["of"] == "gradients" and errors["predicted"] > 0
    data = read_page(tmp_path / "r.html")
    phases = {data["nodes"][index][15] for index, *_ in data["errors"]["nodes"]}
    assert phases >= {0, 1}
    if NODE_JS:
        rows = open_page(tmp_path / "r.html")["tabs"]["errors"]
        assert any(row[0].startswith("backward/") for row in rows)


# Plots of mp-opt tune -------------------------------------------------------


def read_plot(page):
    """The text, and the circles, as (class, x, y), and rows of the table."""
    text = page.read_text("utf-8")
    style, = re.findall("<style>(.*?)</style>", text, re.S)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in text
    assert "default-src 'none'" in text and "<script" not in text
    assert not re.search(r" (?:style|on\w+|src|href)=|url\(|@import", text)
    plot = ElementTree.fromstring(re.search("<svg.*?</svg>", text, re.S)[0])
    _, _, width, height = map(float, plot.get("viewBox").split())
    circles = [(c.get("class"), float(c.get("cx")), float(c.get("cy")))
               for c in plot.iter("circle")]
    for _, x, y in circles:
        assert 0 < x < width and 0 < y < height
    table = ElementTree.fromstring(re.search("<table>.*?</table>", text,
                                             re.S)[0])
    rows = [["".join(cell.itertext()) for cell in row] for row in table]
    return text, plot, circles, rows


def write_branches(folder):
    """Outputs with errors of different sizes, which bytes are traded for."""
    rng = np.random.default_rng(0)
    nodes, weights, shape = [], {}, [64, 64]
    for branch in range(6):
        value = "x"
        for layer in range(4):
            name = f"b{branch}.{layer}"
            weights[f"w{name}"] = (
                rng.standard_normal(shape) * 0.03 * 1.8 ** branch
            ).astype("f4")
            nodes.append(helper.make_node("MatMul", [value, f"w{name}"],
                                          [f"m{name}"], f"MatMul{name}"))
            value = "y" + name
            nodes.append(helper.make_node("Tanh", [f"m{name}"], [value],
                                          f"Tanh{name}"))
    outputs = {f"yb{branch}.3": shape for branch in range(6)}
    model = folder / "a<b>&.onnx"
    onnx.save(make_model(nodes, {"x": shape}, outputs, weights), model)
    np.savez(folder / "d.npz", x=rng.standard_normal(shape).astype("f4"))
    return model, f"--data={folder / 'd.npz'}"


def test_plot(tmp_path):
    """The points of the page are those of the JSON."""
    model, data = write_branches(tmp_path)
    page = tmp_path / "tune.html"
    found = json.loads(run_mp_opt(
        "tune", model, "--mixed-bf16", data, "--target-error=5e-3", "--json",
        "--baselines", f"--report={page}").stdout)
    text, plot, circles, rows = read_plot(page)
    assert "<h1>" in text and "a&lt;b&gt;&amp;.onnx" in text
    curve = found["curve"]
    assert len(curve) > 2
    for row, point in zip(rows[1:], curve):
        assert row[1] == f"{point['error']:.2e}"
        assert row[2] == f"{point['predicted']:.2e}"
        assert row[3:] == [str(point["bytes"]), str(point["nodes_16bit"])]
    names = [row[0] for row in rows[1 + len(curve):]]
    assert names == ["by bisection", "by list", "result", "fp32"]
    assert rows[-2][3] == str(found["bytes"])
    measured = [(x, y) for kind, x, y in circles if kind == "measured"]
    drawn = [point for point in curve if point["error"] > 0]
    assert len(measured) == len(drawn)
    # Fewer bytes are further left, smaller errors further down.
    byte_order = np.argsort([point["bytes"] for point in drawn])
    assert (np.diff([measured[i][0] for i in byte_order]) > 0).all()
    error_order = np.argsort([point["error"] for point in drawn])
    assert (np.diff([measured[i][1] for i in error_order]) <= 0).all()
    result, = [y for kind, _, y in circles if kind == "found"]
    target, = [float(line.get("y1")) for line in plot.iter("line")
               if line.get("class") == "target"]
    assert result >= target - 0.1


def test_plot_of_errors_without_logarithms(tmp_path):
    """Without a curve, and where only fp32 is within the target."""
    model, data = write_model(tmp_path)
    page = tmp_path / "tune.html"
    run_mp_opt("tune", model, "--mixed-bf16", data.replace("calibrate", "data"),
               "--no-curve", "--target-error=1e-5", f"--report={page}")
    text, _, circles, rows = read_plot(page)
    assert not circles and [row[0] for row in rows[1:]] == ["result", "fp32"]
    assert "nothing but fp32 is within it" in text
    assert "nan" not in text and "inf" not in text


def test_plot_that_cannot_be_written(tmp_path):
    model, data = write_model(tmp_path)
    page = tmp_path / "missing" / "tune.html"
    done = attempt("tune", model, "--mixed-bf16",
                   data.replace("calibrate", "data"), f"--report={page}")
    assert done.returncode != 0 and done.stderr.count("error") == 1
    assert str(page) in done.stderr
