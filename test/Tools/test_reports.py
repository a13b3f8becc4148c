# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mp-opt says of its decisions: JSON, HTML, overlay, node metadata.

Names in these models are hostile: they must come through as text and never as
markup. The page is also opened in Chromium where there is one.
"""

import base64
import hashlib
import html.parser
import json
import re
import shutil
import subprocess
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
import onnx_models
from support import DTYPES, MP_OPT, run_mp_opt

FLOAT = TensorProto.FLOAT
HOSTILE = [
    "</script><script>document.documentElement.dataset.pwned=1</script>",
    '"><img src=x onerror=document.documentElement.dataset.pwned=1>',
    "<!--<script>",
    "\u2028]]>'`${1}&lt;",
]
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser",
                                    "google-chrome"))), None
)


def make_model(path, layers=3, names=(), ir_version=8):
    """Layers of MatMul, Add, Softmax and Relu with scoped names."""
    nodes, value = [], "x"
    for layer in range(layers):
        scope = f"/enc/block.{layer // 10}/layer.{layer % 10}/"
        for op, *more in (("MatMul", "w"), ("Add", "w"), ("Softmax",),
                          ("Relu",)):
            output = f"{scope}{op}_{layer}_out"
            name = f"{scope}{op}_{layer}"
            if len(nodes) < len(names):
                name, output = names[len(nodes)], names[len(nodes)] + "_out"
            nodes.append(helper.make_node(op, [value, *more], [output], name))
            value = output
    nodes.append(helper.make_node("Identity", [value], ["y"], "last"))
    shape = ["batch", 8, 8]
    model = onnx_models.make_model(
        nodes, {"x": shape}, {"y": shape}, {"w": np.ones((8, 8), np.float32)},
        ir=ir_version, name="main graph"
    )
    onnx.save(model, path)
    return path


def is_integer(value):
    return type(value) is int and value >= 0


CHANGE = {"before": is_integer, "after": is_integer}
PORT = {"name": str, "type": str, "before": str}
SUMMARY = {
    "schema_version": lambda value: value == 2,
    "tool": {"name": lambda value: value == "mp-opt", "version": str},
    "input": str,
    "output": str,
    "precision": lambda value: value in DTYPES,
    "runtimes": {
        "runs_in": [str],
        "not_in": [{"runtime": str, "reason": str, "remedies": [str]}],
    },
    "graph_inputs": [PORT],
    "graph_outputs": [PORT],
    "multiply_adds": {"*": is_integer},
    "kept": [
        {
            "reason": str,
            "remedy": lambda value: value is None or isinstance(value, str),
            "ops": [str],
            "nodes": is_integer,
            "multiply_adds": is_integer,
        }
    ],
    "nodes": {"*": is_integer},
    "ops": {"*": {"*": is_integer}},
    "reasons": [
        {
            "precision": str,
            "reason": str,
            "nodes": is_integer,
            "multiply_adds": is_integer,
            "bytes?": is_integer,
        }
    ],
    "casts": {
        "inserted": is_integer,
        "removed": is_integer,
        "left": {"*": is_integer},
        "bytes_moved": is_integer,
    },
    "bytes": {
        "weights": CHANGE,
        "activations": {
            **CHANGE,
            "values": is_integer,
            "values_with_unknown_dims": is_integer,
            "values_of_unknown_size": is_integer,
            "unknown_dim_counted_as": is_integer,
        },
    },
    "opset": CHANGE,
    "ir_version": CHANGE,
    "savings": [
        {
            "op": str,
            "nodes": is_integer,
            "following_nodes": is_integer,
            "bytes": is_integer,
            "needs_opset": lambda value: value is None or is_integer(value),
        }
    ],
    "weights_rounded_to_zero": is_integer,
    "mask_constants_clamped": is_integer,
    "warnings": [str],
}


def check(value, schema, place="$"):
    """The value has the keys and types of the schema, and no others; those
    that end in '?' may be missing."""
    if isinstance(schema, dict):
        assert isinstance(value, dict), place
        optional = {key[:-1]: schema[key] for key in schema
                    if key.endswith("?")}
        schema = {key: entry for key, entry in schema.items()
                  if not key.endswith("?")}
        if "*" not in schema:
            assert set(value) - set(optional) == set(schema), place
        schema |= optional
        for key, entry in value.items():
            check(entry, schema.get(key, schema.get("*")), f"{place}.{key}")
    elif isinstance(schema, list):
        assert isinstance(value, list), place
        for index, entry in enumerate(value):
            check(entry, schema[0], f"{place}[{index}]")
    elif isinstance(schema, type):
        assert isinstance(value, schema), place
    else:
        assert schema(value), f"{place}: {value}"


@pytest.mark.parametrize("dtype", DTYPES)
def test_summary_json(tmp_path, dtype):
    model = make_model(tmp_path / "m.onnx", names=HOSTILE[:2])
    done = run_mp_opt(model, f"--mixed-{dtype}", "--summary=json", "-o",
                      tmp_path / "out.onnx")
    assert done.stderr == ""
    summary = json.loads(done.stdout)
    check(summary, SUMMARY)
    written = onnx.load(tmp_path / "out.onnx")
    casts = [n for n in written.graph.node if n.op_type == "Cast"]
    assert sum(summary["casts"]["left"].values()) == len(casts) > 0
    assert (summary["casts"]["inserted"] - summary["casts"]["removed"]
            == len(casts))
    ops = summary["ops"]
    assert ops["MatMul"] == {dtype: 3, "fp32": 0, "other": 0}
    assert ops["Softmax"] == {dtype: 0, "fp32": 3, "other": 0}
    for precision, count in summary["nodes"].items():
        assert count == sum(op[precision] for op in ops.values())
    assert summary["multiply_adds"] == {
        dtype: 3 * 32 * 8 * 8 * 8,
        "all": 3 * 32 * 8 * 8 * 8,
        "nodes_of_unknown_work": 0,
    }
    assert summary["bytes"]["weights"] == {"before": 256, "after": 128}
    # 13 values of 32 * 64 elements, the unknown dimension counting for 32.
    activations = summary["bytes"]["activations"]
    assert activations["before"] == 13 * 32 * 64 * 4 > activations["after"]
    assert activations["values"] == activations["values_with_unknown_dims"]
    assert summary["savings"][0]["op"] == "Softmax"
    assert summary["savings"][0]["nodes"] == 3


class Page(html.parser.HTMLParser):
    """Tags, their attributes, and the content of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.content = [], {}
        self.inside = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag in ("script", "style"):
            self.inside = attributes.get("id", tag)
            assert self.inside not in self.content, "one of each"
            self.content[self.inside] = ""

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.content[self.inside] += data


@pytest.fixture(scope="module")
def hostile_report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    model = make_model(folder / "m.onnx", names=HOSTILE)
    run_mp_opt(model, "--mixed-bf16", f"--report={folder / 'r.html'}")
    return folder / "r.html"


def test_page_is_one_safe_file(hostile_report):
    text = hostile_report.read_text(encoding="utf-8")
    page = Page(text)
    tags = [tag for tag, _ in page.tags]
    assert sorted(page.content) == ["data", "script", "style"]
    assert not {"img", "link", "iframe", "object", "base", "form"} & set(tags)
    for _, attributes in page.tags:
        assert not {"src", "href", "style"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
    assert not re.search(r"https?:|url\(|@import|fetch\(|innerHTML|eval\(",
                         page.content["script"] + page.content["style"])
    policy = next(a["content"] for t, a in page.tags
                  if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy and "unsafe" not in policy
    for kind in ("script", "style"):
        digest = hashlib.sha256(page.content[kind].encode()).digest()
        assert f"'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert "<" not in page.content["data"]


def test_page_has_the_data(hostile_report):
    data = json.loads(Page(hostile_report.read_text("utf-8")).content["data"])
    strings = data["strings"]
    names = [strings[node[0]] for node in data["nodes"]]
    assert names[1:] != [] and set(HOSTILE) <= set(names)
    for node in data["nodes"]:
        for value in (*node[9], *node[10]):
            assert -1 <= value < len(data["values"])
        assert node[2] < len(data["scopes"])
        assert -1 <= node[12] < len(data["nodes"])
    scopes = {strings[scope] for scope in data["scopes"]}
    assert "enc/block.0/layer.1" in scopes


def read_data(page):
    """The page's data, and for each name of a node its scope and phase."""
    data = json.loads(Page(page.read_text("utf-8")).content["data"])
    strings = data["strings"]
    places = {strings[node[0]]: (strings[data["scopes"][node[2]]], node[15])
              for node in data["nodes"]}
    return data, places


def describe_scopes(node, key, scopes):
    """The metadata that torch's exporter leaves."""
    entry = node.metadata_props.add()
    entry.key = key
    entry.value = (repr(scopes) if "scopes" in key else
                   "/".join(f"{name}: torch.nn.Module" for name in scopes))


def make_torch_model(path, key, layers=12):
    """Layers whose scopes are in the metadata of nodes, as torch's newer
    exporter writes them; the names of nodes say nothing."""
    nodes, weights, value = [], [], "x"
    shape = [2, 8]
    for layer in range(layers):
        module = f"encoder.layers.{layer}"
        scopes = ["", "encoder", module]
        parameter = f"{module}.mlp.weight"
        weights.append(numpy_helper.from_array(
            np.full((8, 8), 0.1, np.float32), parameter))
        for op, own in (("MatMul", "mlp"), ("Relu", None)):
            more = [parameter] if op == "MatMul" else []
            output = f"{op.lower()}_{layer}"
            node = helper.make_node(op, [value, *more], [output],
                                    f"node_{output}")
            inner = [f"{module}.{own}"] if own else []
            describe_scopes(node, key, [*scopes, *inner, output])
            nodes.append(node)
            value = output
    model = onnx_models.make_model(
        nodes, {"x": shape}, {value: shape}, weights, 20, 10, name="main_graph")
    model.producer_name = "pytorch"
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("key", ["pkg.torch.onnx.name_scopes", "namespace"])
def test_scopes_are_the_exporters(tmp_path, key):
    model = make_torch_model(tmp_path / "m.onnx", key)
    run_mp_opt(model, "--mixed-bf16", f"--report={tmp_path / 'r.html'}")
    _, places = read_data(tmp_path / "r.html")
    assert places["node_matmul_11"] == ("encoder/layers.11/mlp", 0)
    assert places["node_relu_0"] == ("encoder/layers.0", 0)
    # A cast belongs to the layer of its user.
    assert places["x_cast_bf16"] == ("encoder/layers.0/mlp", 0)


def test_phases_have_the_scopes_of_the_model(tmp_path):
    model = make_torch_model(tmp_path / "m.onnx", "pkg.torch.onnx.name_scopes")
    run_mp_opt(model, "--train", "--loss=softmax-cross-entropy",
               "--optimizer=adamw", "--mixed-bf16",
               f"--report={tmp_path / 'r.html'}")
    data, places = read_data(tmp_path / "r.html")
    assert list(data["phases"]) == ["forward", "backward", "optimizer"]
    assert places["node_matmul_3"] == ("encoder/layers.3/mlp", 0)
    backward = {name: scope for name, (scope, phase) in places.items()
                if phase == 1}
    assert backward["node_matmul_3_grad/MatMul"] == (
        "encoder/layers.3/mlp/node_matmul_3_grad")
    assert places["encoder.layers.3.mlp.weight_cast_bf16"] == (
        "encoder/layers.3/mlp", 0)
    updates = {scope for scope, phase in places.values() if phase == 2}
    assert "encoder/layers.3/mlp/weight_update" in updates
    # Gradients lead from the backward pass to the optimizer.
    phase_of = [node[15] for node in data["nodes"]]
    sources = [value[5] for value in data["values"]]
    steps = {(phase_of[sources[v]], phase_of[i])
             for i, node in enumerate(data["nodes"])
             for v in node[9] if v >= 0 and sources[v] >= 0}
    assert {(0, 1), (1, 2)} <= steps and (2, 1) not in steps
    # Nodes that belong to neither gradients nor updates are forward nodes.
    for name, (_, phase) in places.items():
        assert ("_grad" in name) == (phase == 1) or "_cast_" in name, name
        assert ("_update" in name) <= (phase == 2), name


def open_in_chromium(page, fragment="", width=1600):
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
               "--virtual-time-budget=20000", f"--window-size={width},900",
               "--dump-dom", page.as_uri() + fragment]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.stdout


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium to open the page in")
def test_page_in_chromium(hostile_report):
    dom = open_in_chromium(hostile_report, "#node=last")
    assert re.search(r'<html[^>]* data-ready="\d\d"', dom), "no script ran"
    assert "data-pwned" not in dom
    details = dom[dom.index('id="details"'):]
    assert "<h2>last</h2>" in details and "Identity-16" in details


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium to open the page in")
@pytest.mark.parametrize("width, least", [(900, 450), (1600, 750)])
def test_layout_in_chromium(tmp_path, width, least):
    """The graph has room at any width; layers stand by their numbers."""
    model = make_torch_model(tmp_path / "m.onnx", "namespace")
    run_mp_opt(model, "--train", "--loss=softmax-cross-entropy",
               "--mixed-bf16", f"--report={tmp_path / 'r.html'}")
    dom = open_in_chromium(tmp_path / "r.html", width=width)
    assert 'data-ready="' in dom
    canvas = re.search("<canvas[^>]*>", dom).group()
    assert int(re.search(r' width="(\d+)"', canvas).group(1)) >= least
    assert int(re.search(r' height="(\d+)"', canvas).group(1)) >= 400
    rows = re.findall(r">([^<>]+)</button></span></td>", dom)
    assert rows == ["forward", "backward", "optimizer"]
    assert "-0 %" not in dom
    # An opened phase shows its layers in order, although the graph's backward
    # pass runs from the last to the first.
    text = (tmp_path / "r.html").read_text("utf-8")
    opened = text.replace("root.open = true;\n", """root.open = true;
      const list = at => { at.listed = true; at.sub.forEach(list); };
      setTimeout(() => { list(root.sub.get('backward')); show('layers'); });
      """, 1)
    policy = re.compile('<meta http-equiv="Content-Security-Policy"[^>]*>')
    (tmp_path / "o.html").write_text(policy.sub("", opened), "utf-8")
    dom = open_in_chromium(tmp_path / "o.html", width=width)
    layers = re.findall(r">(layers\.\d+)</button>", dom)
    assert layers == [f"layers.{layer}" for layer in range(12)]


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium to open the page in")
def test_page_says_why_little_is_16_bit(tmp_path):
    model = make_model(tmp_path / "m.onnx")
    for flags, expected in ((["--deny=MatMul"], True), ([], False)):
        run_mp_opt(model, "--mixed-bf16", *flags,
                   f"--report={tmp_path / 'r.html'}")
        dom = open_in_chromium(tmp_path / "r.html")
        details = dom[dom.index('id="details"'):].split("<script")[0]
        assert ("What is not bf16, and why" in details) == expected
        assert ("3 × MatMul: user's list (--deny)" in details) == expected


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium to open the page in")
def test_big_page_in_chromium(tmp_path):
    model = make_model(tmp_path / "m.onnx", layers=5000)
    run_mp_opt(model, "--mixed-bf16", f"--report={tmp_path / 'r.html'}")
    dom = open_in_chromium(tmp_path / "r.html")
    assert int(re.search(r'data-ready="(\d+)"', dom).group(1)) > 20000
    # The document does not contain closed parts.
    assert len(re.sub(r"(?s)<script.*?</script>", "", dom)) < 50000


def test_report_of_20k_nodes_takes_2_s_more_at_most(tmp_path):
    model = make_model(tmp_path / "m.onnx", layers=5000)

    def seconds(*flags):
        best = float("inf")
        for _ in range(2):
            start = time.perf_counter()
            run_mp_opt(model, "--mixed-bf16", "--summary=none", *flags)
            best = min(best, time.perf_counter() - start)
        return best

    plain = seconds("-o", tmp_path / "out.onnx")
    assert seconds(f"--report={tmp_path / 'r.html'}") < plain + 2


def test_overlay(tmp_path):
    model = make_model(tmp_path / "m.onnx", names=HOSTILE)
    run_mp_opt(model, "--mixed-bf16", f"--overlay={tmp_path / 'o.json'}")
    overlay = json.loads((tmp_path / "o.json").read_text("utf-8"))
    assert list(overlay) == ["main graph"]
    results = overlay["main graph"]["results"]
    names = {node.name for node in onnx.load(model).graph.node}
    assert names <= set(results)
    assert results[HOSTILE[0]]["value"] == 16
    assert results[HOSTILE[2]]["value"] == 32
    thresholds = overlay["main graph"]["thresholds"]
    assert [entry["value"] for entry in thresholds] == [0, 16, 32]
    for entry in (*results.values(), *thresholds):
        assert re.fullmatch("#[0-9a-f]{6}", entry["bgColor"])


def metadata(path):
    return {
        node.name: {entry.key: entry.value for entry in node.metadata_props}
        for node in onnx.load(path).graph.node
    }


@pytest.mark.parametrize("dtype", DTYPES)
def test_annotate(tmp_path, dtype):
    model = onnx.load(make_model(tmp_path / "m.onnx", names=HOSTILE[:1]))
    own = model.graph.node[1].metadata_props.add()
    own.key, own.value = "user.key", "user value"
    stale = model.graph.node[2].metadata_props.add()
    stale.key, stale.value = "mp-opt.precision", dtype
    onnx.save(model, tmp_path / "m.onnx")
    first, second = tmp_path / "a.onnx", tmp_path / "b.onnx"
    run_mp_opt(tmp_path / "m.onnx", f"--mixed-{dtype}", "--annotate", "-o",
               first)
    written = onnx.load(first)
    onnx.checker.check_model(written, full_check=True)
    assert written.ir_version == 8
    names = [node.name for node in model.graph.node]
    found = metadata(first)
    assert found[names[0]]["mp-opt.precision"] == dtype
    assert "allow" in found[names[0]]["mp-opt.reason"]
    assert found[names[1]]["user.key"] == "user value"
    assert found[names[2]]["mp-opt.precision"] == "fp32"
    assert "deny" in found[names[2]]["mp-opt.reason"]
    casts = [n.name for n in written.graph.node if n.op_type == "Cast"]
    assert casts
    for cast in casts:
        assert found[cast]["mp-opt.inserted"].startswith("wanted by ")
    # A second run has nothing to add.
    run_mp_opt(first, f"--mixed-{dtype}", "--annotate", "-o", second)
    assert first.read_bytes() == second.read_bytes()
    # Without the flag, the existing file is kept.
    run_mp_opt(first, f"--mixed-{dtype}", "-o", second)
    assert first.read_bytes() == second.read_bytes()


def test_reports_do_not_change_the_model(tmp_path):
    model = make_model(tmp_path / "m.onnx")
    plain, explained = tmp_path / "a.onnx", tmp_path / "b.onnx"
    run_mp_opt(model, "--mixed-bf16", "-o", plain)
    run_mp_opt(model, "--mixed-bf16", f"--report={tmp_path / 'r.html'}",
               f"--overlay={tmp_path / 'o.json'}", "--explain=last",
               "--summary=json", "-o", explained)
    assert plain.read_bytes() == explained.read_bytes()
    run_mp_opt(model, "--mixed-bf16", "--deny-node=.*",
               f"--report={tmp_path / 'r.html'}", "-o", explained)
    assert model.read_bytes() == explained.read_bytes()
    run_mp_opt(model, "--mixed-bf16", f"--report={tmp_path / 'r2.html'}")
    run_mp_opt(model, "--mixed-bf16", f"--report={tmp_path / 'r3.html'}")
    assert ((tmp_path / "r2.html").read_bytes()
            == (tmp_path / "r3.html").read_bytes())


def test_names_that_are_no_utf8(tmp_path):
    model = make_model(tmp_path / "m.onnx")
    data = model.read_bytes()
    assert data.count(b"last") == 1
    model.write_bytes(data.replace(b"last", b"l\xff\xfet"))
    done = run_mp_opt(model, "--mixed-bf16", "--summary=json",
                      f"--report={tmp_path / 'r.html'}",
                      f"--overlay={tmp_path / 'o.json'}", "--annotate", "-o",
                      tmp_path / "out.onnx")
    check(json.loads(done.stdout), SUMMARY)
    json.loads((tmp_path / "o.json").read_text("utf-8"))
    json.loads(Page((tmp_path / "r.html").read_text("utf-8")).content["data"])


def test_diff_matches_what_was_done(tmp_path):
    model = make_model(tmp_path / "m.onnx", names=HOSTILE)
    mixed = tmp_path / "out.onnx"
    run_mp_opt(model, "--mixed-bf16", "-o", mixed)
    diff = json.loads(run_mp_opt("diff", "--json", model, mixed).stdout)
    casts = [n.name for n in onnx.load(mixed).graph.node
             if n.op_type == "Cast"]
    assert [cast["name"] for cast in diff["casts_added"]] == casts
    assert diff["differs"] and not diff["nodes_added"]
    assert diff["matched_nodes"] == len(onnx.load(model).graph.node)
    assert diff["inputs"] == diff["outputs"] == diff["casts_removed"] == []
    changed = {node["name"] for node in diff["nodes"]}
    assert HOSTILE[0] in changed and HOSTILE[2] not in changed


def test_diff_matches_nodes_without_names(tmp_path):
    model = onnx.load(make_model(tmp_path / "m.onnx"))
    run_mp_opt(tmp_path / "m.onnx", "--mixed-bf16", "-o", tmp_path / "a.onnx")
    mixed = onnx.load(tmp_path / "a.onnx")
    for node in mixed.graph.node:
        node.ClearField("name")
    onnx.save(mixed, tmp_path / "b.onnx")
    command = [MP_OPT, "diff", "--exit-code", tmp_path / "m.onnx",
               tmp_path / "b.onnx"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 6, done.stderr
    assert f"{len(model.graph.node)} nodes matched" in done.stdout
    same = run_mp_opt("diff", tmp_path / "a.onnx", tmp_path / "b.onnx")
    assert same.stdout.startswith("no difference in precision")
