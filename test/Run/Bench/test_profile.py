# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mp-run bench --profile: where the time of a call goes."""

import json
import re

import numpy as np
import pytest

import support
from runs import USAGE, attempt, make_step, mp_run, run_mp_opt
from runs import write_model

MODEL = """
f (float[n,256] x, float[256,512] w, float[512,256] v) => (float[n,256] y)
{ h = MatMul(x, w)  r = Relu(h)  z = MatMul(r, v)  y = Softmax(z) }
"""


def profile(model, *flags):
    flags = ("--profile", "--random", "--repeat=11", "--json", *flags)
    return json.loads(mp_run("bench", model, *flags).stdout)


def test_kernels(tmp_path):
    """What is fused is one kernel; its work is that of its operands."""
    figures = profile(write_model(tmp_path, MODEL), "--dim=n=64")
    first, second, softmax = figures["kernels"]
    assert [k["kind"] for k in figures["kernels"]] == [
        "product", "product", "rows"
    ]
    types = [[n.split("(")[1].split("-")[0] for n in k["nodes"]]
             for k in figures["kernels"]]
    assert types == [["MatMul", "Relu"], ["MatMul"], ["Softmax"]]
    assert first["read_bytes"] == 4 * (64 * 256 + 256 * 512)
    assert first["written_bytes"] == 4 * 64 * 512
    assert first["bytes"] == first["read_bytes"] + first["written_bytes"]
    # Multiply-adds, and one comparison for each element.
    assert first["flops"] == 2 * 64 * 256 * 512 + 64 * 512
    assert second["flops"] == 2 * 64 * 256 * 512
    assert softmax["bytes"] == 2 * 4 * 64 * 256
    peaks = figures["peaks"]
    for kernel in figures["kernels"]:
        assert kernel["phase"] == "forward"
        bound = max(kernel["flops"] / peaks["fp32_flops_per_second"],
                    kernel["bytes"] / peaks["bytes_per_second"])
        assert kernel["bound_seconds"] == pytest.approx(bound, rel=1e-9)
        share = bound / kernel["seconds"]
        assert kernel["roofline"] == pytest.approx(share, rel=1e-9)
    # Products are near the peak, by the standards of a machine that others use.
    share = first["flops"] / first["seconds"] / peaks["fp32_flops_per_second"]
    assert 0.03 < share < 3


def test_times_add_up(tmp_path):
    figures = profile(write_model(tmp_path, MODEL), "--dim=n=512")
    total = sum(k["seconds"] for k in figures["kernels"])
    # Neighbours hold up another kernel in each call.
    assert total <= 1.2 * figures["median"]
    assert 0 <= figures["other_seconds"] < 0.5 * figures["median"]
    for name in "kinds", "phases", "nodes":
        sums = [entry["seconds"] for entry in figures[name]]
        assert sum(sums) == pytest.approx(total, rel=1e-6)
        assert sums == sorted(sums, reverse=True)
        count = sum(entry["kernels"] for entry in figures[name])
        assert count == len(figures["kernels"])


def test_training_step():
    """Phases, and bf16 products against the peak of bf16."""
    step = make_step("resnet8", "sgd", "--mixed-bf16")
    figures = profile(step, "--dim=batch=8", "--in-place")
    phases = {entry["name"]: entry for entry in figures["phases"]}
    assert phases.keys() == {"forward", "backward", "update"}
    # Two products of a gradient for each of the forward pass.
    ratio = phases["backward"]["flops"] / phases["forward"]["flops"]
    assert 1.5 < ratio < 2.5
    assert any("Conv-" in node for kernel in figures["kernels"]
               for node in kernel["nodes"])


def test_trace(tmp_path):
    path = tmp_path / "trace.json"
    model = write_model(tmp_path, MODEL)
    mp_run("bench", model, "--random", f"--profile={path}", "--repeat=3")
    events = json.loads(path.read_text())["traceEvents"]
    assert len(events) == 3
    end = 0
    for event in events:
        assert event["ph"] == "X" and event["dur"] > 0
        assert event["ts"] == pytest.approx(end, abs=1e-6)
        end = event["ts"] + event["dur"]
        assert event["name"] == event["args"]["nodes"][0]


def test_unknown_sizes(tmp_path):
    """Are timed; their work and roofline are not known."""
    model = write_model(tmp_path, """
    f (float[n,1] x, int64[2] sizes) => (float[a,b] y)
    { z = Expand(x, sizes)  y = Exp(z) }
    """)
    np.savez(tmp_path / "in.npz", sizes=np.array([8, 32]))
    figures = profile(model, tmp_path / "in.npz", "--dim=n=8")
    unknown = [k for k in figures["kernels"] if k["bound_seconds"] is None]
    assert unknown
    for kernel in unknown:
        assert kernel["seconds"] > 0 and kernel["roofline"] is None


def test_text(tmp_path):
    model = write_model(tmp_path, MODEL)
    text = mp_run("bench", model, "--random", "--profile", "--repeat=3").stdout
    lines = text.splitlines()
    assert lines[0].startswith("median")
    assert sum(line.startswith("product") for line in lines) == 3
    assert any("MatMul" in line and "and 1 more" in line for line in lines)


@pytest.mark.parametrize("flags, message", [
    (("--turns",), "--profile excludes --turns"),
    (("--sweep=n=1,2",), "--profile excludes --sweep"),
    (("--device=emulated",), "expected --device=cpu, got emulated"),
])
def test_bad_usage(tmp_path, flags, message):
    model = write_model(tmp_path, MODEL)
    done = attempt("bench", model, "--random", "--profile", *flags)
    assert done.returncode == USAGE and message in done.stderr


def test_bad_path(tmp_path):
    model = write_model(tmp_path, MODEL)
    path = tmp_path / "missing" / "trace.json"
    done = attempt("bench", model, "--random", f"--profile={path}")
    assert done.returncode != 0 and not done.stdout
    assert done.stderr.count("error") == 1 and str(path) in done.stderr


# Profiles in reports ----------------------------------------------------------


def page_data(page):
    text = page.read_text("utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])


def test_report_has_times(tmp_path):
    """The page knows the nodes of each kernel by the names of the profile."""
    model = write_model(tmp_path, MODEL)
    figures = profile(model, "--dim=n=64")
    times, page = tmp_path / "times.json", tmp_path / "report.html"
    times.write_text(json.dumps(figures))
    run_mp_opt(model, "--mixed-bf16", f"--report={page}", f"--profile={times}")
    data = page_data(page)
    strings, nodes = data["strings"], data["nodes"]
    assert len(data["kernels"]) == len(figures["kernels"]) == 3
    for (kind, seconds, roofline, places), kernel in zip(
        data["kernels"], figures["kernels"]
    ):
        assert strings[kind] == kernel["kind"]
        assert (seconds, roofline) == (kernel["seconds"], kernel["roofline"])
        found = [f"({strings[nodes[place][1]]})" for place in places]
        assert found == ["(" + name.split(" (")[1] for name in kernel["nodes"]]
    # A report without times has no kernels.
    run_mp_opt(model, "--mixed-bf16", f"--report={page}")
    assert page_data(page)["kernels"] == []


@pytest.mark.parametrize("text, message", [
    (None, "cannot read"),
    ("[", "expected what `mp-run bench MODEL --profile --json` prints"),
    ("{}", "missing value at profile.kernels"),
    ('{"kernels": [{"kind": "map", "seconds": "1"}]}',
     "expected number at profile.kernels[0].seconds"),
    ('{"kernels": [{"kind": "map", "seconds": 1, "roofline": null, '
     '"nodes": ["node \'other\' (Exp-13)"]}]}',
     "0 of its 1 kernels are of nodes in"),
    # One of three kernels has a node with the name of a node of the model.
    (json.dumps({"kernels": [
        {"kind": "map", "seconds": 1, "roofline": None, "nodes": [node]}
        for node in ("node with output 'h' (Exp-13)", "node 'a' (Exp-13)",
                     "node 'b' (Exp-13)")
    ]}), "1 of its 3 kernels are of nodes in"),
])
def test_bad_profiles(tmp_path, text, message):
    model, page = write_model(tmp_path, MODEL), tmp_path / "report.html"
    times = tmp_path / "times.json"
    if text is not None:
        times.write_text(text)
    flags = (f"--report={page}", f"--profile={times}", "--mixed-bf16")
    done = support.attempt(model, *flags)
    assert done.returncode == 1 and done.stderr.count("error") == 1
    assert message in done.stderr and str(times) in done.stderr, done.stderr
    assert not page.exists()
