#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cast nodes that mp-opt and other converters insert, at the same fp32 nodes.

    benchmarks/casts_against_peers.py                      onnxruntime's converter
    benchmarks/casts_against_peers.py --peer-python PYTHON the peers installed there
    benchmarks/casts_against_peers.py --only bert          models of that name

For every model of test/models mp-opt decides (--mixed-fp16) which nodes stay
fp32. A peer gets the same decision in the form it takes best: the names of
these nodes ("nodes"), or the ops of which no node became 16 bit ("ops", with
which it converts more than mp-opt does). Inputs and outputs keep their types.

Prints a table in Markdown. A count is of Cast nodes beyond those of the
source; what stands behind it is wrong with the result: `unsorted` (nodes come
before what they read; they are sorted before the rest is looked at), `checker`
(ONNX's checker, shapes and types included where all ops are ONNX's), `load`
(the runtime does not take it), `error` (no result). The last column compares
mp-opt with the best peer that succeeds at the same nodes, unsorted or not.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import onnx

HERE = pathlib.Path(__file__).resolve().parent
MP_OPT = HERE.parent / "build" / "bin" / "mp-opt"
MODELS = HERE.parent / "test" / "models"
TRAINING_PYTHON = (
    pathlib.Path.home() / ".cache/mp-opt/venv-training/bin/python"
)
REMARK = re.compile(r"Node=\"node '(.*)' \((\S+)-\d+\)\".*To=(\w+)")
TO_LOAD = """
import sys, onnxruntime
options = onnxruntime.SessionOptions()
options.log_severity_level = 4
onnxruntime.InferenceSession(
    sys.argv[1], options, providers=["CPUExecutionProvider"])
"""


# Peers; each runs in its own process (`--convert`) --------------------------


def with_onnxruntime(job):
    from onnxruntime.transformers import float16

    return float16.convert_float_to_float16(
        onnx.load(job["source"]),
        keep_io_types=True,
        op_block_list=job["ops"],
        node_block_list=job["nodes"],
    )


def with_onnxconverter_common(job):
    from onnxconverter_common import float16

    return float16.convert_float_to_float16(
        onnx.load(job["source"]),
        keep_io_types=True,
        op_block_list=job["ops"],
        node_block_list=job["nodes"],
    )


def with_auto_mixed(job):
    """It searches for itself, running the model on one input."""
    import numpy as np
    from onnxconverter_common import auto_mixed_precision

    data = np.load(job["data"])
    feed = {
        key[3:]: data[key] for key in data.files if key.startswith("in:")
    }
    return auto_mixed_precision.auto_convert_mixed_precision(
        onnx.load(job["source"]), feed, rtol=0.01, atol=0.01,
        keep_io_types=True,
    )  # fmt: skip


def with_modelopt(job):
    from modelopt.onnx import autocast

    return autocast.convert_to_mixed_precision(
        job["source"],
        low_precision_type="fp16",
        keep_io_types=True,
        op_types_to_exclude=job["ops"],
        nodes_to_exclude=[re.escape(name) for name in job["nodes"]],
        providers=["cpu"],
    )


PEERS = {
    "ort": with_onnxruntime,
    "occ": with_onnxconverter_common,
    "occ-auto": with_auto_mixed,
    "modelopt": with_modelopt,
}
MODULES = {
    "ort": "onnxruntime.transformers.float16",
    "occ": "onnxconverter_common.float16",
    "occ-auto": "onnxconverter_common.auto_mixed_precision",
    "modelopt": "modelopt.onnx.autocast",
}


def convert(path):
    job = json.loads(pathlib.Path(path).read_text())
    onnx.save(PEERS[job["peer"]](job), job["target"])


# Judging ---------------------------------------------------------------------


def graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs(attribute.g)


def count_casts(model):
    return sum(
        node.op_type == "Cast" for g in graphs(model.graph) for node in g.node
    )


def is_standard(model):
    return all(
        node.domain in ("", "ai.onnx")
        and onnx.defs.has(node.op_type)
        for g in graphs(model.graph)
        for node in g.node
    )


def sort_nodes(graph, outer=()):
    """Put nodes behind what they read; True if they were not."""
    known = {v.name for v in [*graph.input, *graph.initializer]} | set(outer)
    known.add("")
    made = {name for node in graph.node for name in node.output}
    waiting, ordered = list(graph.node), []
    while waiting:
        later = []
        for node in waiting:
            reads = {*node.input, *captures(node)}
            if all(name in known or name not in made for name in reads):
                ordered.append(node)
                known.update(node.output)
            else:
                later.append(node)
        if len(later) == len(waiting):
            break
        waiting = later
    changed = ordered + waiting != list(graph.node)
    if changed:
        del graph.node[:]
        graph.node.extend(ordered + waiting)
    return changed


def captures(node):
    """Every name that a body reads."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            for graph in graphs(attribute.g):
                for inner in graph.node:
                    yield from inner.input


def is_valid(path):
    try:
        onnx.checker.check_model(
            str(path), full_check=is_standard(onnx.load(path))
        )
    except Exception:
        return False
    return True


def judge(path, python, source):
    """(casts, what is wrong with the model that was not with its source)"""
    model = onnx.load(path)
    words = []
    if sort_nodes(model.graph):
        words.append("unsorted")
        onnx.save(model, path)
    if not is_valid(path) and is_valid(source):
        words.append("checker")
    command = [python, "-c", TO_LOAD, str(path)]
    if subprocess.run(command, capture_output=True).returncode:
        words.append("load")
    return count_casts(model), " ".join(words)


def name_nodes(source, target):
    """Every node gets a name of its own: decisions go by names."""
    model = onnx.load(source)
    taken = set()
    for graph in graphs(model.graph):
        for node in graph.node:
            if not node.name or node.name in taken:
                node.name = f"{node.op_type}__{len(taken)}"
            taken.add(node.name)
    onnx.save(model, target)
    return model


def run_mp_opt(tool, source, target):
    """Our result, and our decision: what stayed fp32, by node and by op."""
    command = [tool, source, "--mixed-fp16", "-o", target]
    command.append("--remarks-filter=mp-precision")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"mp-opt fails on {source}: {done.stderr[-500:]}")
    nodes, wide, narrow = set(), set(), set()
    for line in done.stderr.splitlines():
        match = REMARK.search(line)
        if not match:
            continue
        name, op_type, to = match.groups()
        (wide if to == "f32" else narrow).add(op_type.split(".")[-1])
        if to == "f32":
            nodes.add(name)
    return sorted(nodes), sorted(wide - narrow)


def run_peer(python, job, folder):
    path = pathlib.Path(folder) / "job.json"
    path.write_text(json.dumps(job))
    command = [python, __file__, "--convert", str(path)]
    pathlib.Path(job["target"]).unlink(missing_ok=True)
    try:
        done = subprocess.run(command, capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def has_peer(python, peer):
    command = [python, "-c", f"import {MODULES[peer]}"]
    return subprocess.run(command, capture_output=True).returncode == 0


def available(arguments):
    pythons = [sys.executable, *filter(None, [arguments.peer_python])]
    for peer in PEERS:
        for python in pythons:
            if has_peer(python, peer):
                yield peer, python
                break


def columns(peers):
    for peer, _ in peers:
        if peer == "occ-auto":
            yield peer, "own"
        else:
            yield from ((peer, "nodes"), (peer, "ops"))


def cells_of(model, peers, folder, arguments):
    """Our casts, and per column of the table what a peer makes of it."""
    is_training = model.parent.parent.name == "train"
    runtime = str(TRAINING_PYTHON) if is_training else sys.executable
    source, target = folder / "source.onnx", folder / "target.onnx"
    before = count_casts(name_nodes(model, source))
    nodes, ops = run_mp_opt(arguments.mp_opt, source, target)
    casts, wrong = judge(target, runtime, source)
    ours = (casts - before, wrong)
    pythons, cells = dict(peers), {}
    for peer, form in columns(peers):
        data = model.parent / "io0.npz"
        if form == "own" and not data.exists():
            cells[peer, form] = (None, "no data")
            continue
        job = {"peer": peer, "source": str(source), "target": str(target)}
        job["nodes"] = nodes if form == "nodes" else []
        job["ops"] = ops if form == "ops" else []
        job["data"] = str(data)
        if run_peer(pythons[peer], job, folder):
            casts, wrong = judge(target, runtime, source)
            cells[peer, form] = (casts - before, wrong)
        else:
            cells[peer, form] = (None, "error")
    return ours, cells


def show(cell):
    casts, wrong = cell
    return f"{'' if casts is None else casts} {wrong}".strip()


def verdict(ours, cells):
    good = [
        casts
        for (_, form), (casts, wrong) in cells.items()
        if form == "nodes" and wrong in ("", "unsorted")
    ]
    if not good:
        return "no peer succeeds"
    best = min(good)
    sign = "<" if ours[0] < best else "=" if ours[0] == best else ">"
    return f"{sign} {best}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--mp-opt", default=os.environ.get("MP_OPT", str(MP_OPT)))
    add("--peer-python", help="a Python with onnxconverter-common, modelopt")
    add("--only", default="", help="a part of the models' paths")
    add("--convert", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.convert:
        return convert(arguments.convert)
    peers = list(available(arguments))
    heads = [f"{peer} {form}" for peer, form in columns(peers)]
    print(f"| model | mp-opt | {' | '.join(heads)} | mp-opt and the best |")
    print("|---|---:|" + "---:|" * len(heads) + "---|")
    worse = 0
    paths = [*MODELS.glob("fwd/*/model.onnx")]
    paths += MODELS.glob("train/*/training_model.onnx")
    for model in sorted(paths):
        if arguments.only not in str(model):
            continue
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            ours, cells = cells_of(model, peers, place, arguments)
        end = verdict(ours, cells)
        worse += end.startswith(">") or bool(ours[1])
        row = [model.parent.name, show(ours), *map(show, cells.values()), end]
        print(f"| {' | '.join(row)} |", flush=True)
    return worse


if __name__ == "__main__":
    sys.exit(main())
