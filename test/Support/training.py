# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training graphs: editing them for a test, and running them elsewhere."""

import functools
import json
import os
import pathlib
import subprocess
import tempfile
import threading

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from schema_types import CONTRACTIONS
from support import ELEMENT_TYPE, MODELS, TIMEOUT_SECONDS, scratch_dir

PYTHON = os.environ.get(
    "MP_OPT_TRAINING_PYTHON",
    str(pathlib.Path("~/.cache/mp-opt/venv-training/bin/python").expanduser()),
)
WORKER = pathlib.Path(__file__).with_name("ort_training_worker.py")

needs_runtime = pytest.mark.skipif(
    not os.access(PYTHON, os.X_OK),
    reason=f"no onnxruntime-training at {PYTHON}: install "
    "scripts/requirements-training.txt or set MP_OPT_TRAINING_PYTHON",
)


def folder_of(name):
    return MODELS / "train" / name


class Worker:
    """A process of the other Python, which does one job after the other."""

    def __init__(self):
        self.messages = tempfile.TemporaryFile("w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [PYTHON, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.messages,
            text=True,
        )

    def do(self, path):
        """None, or what is wrong."""
        start = self.messages.seek(0, os.SEEK_END)
        timer = threading.Timer(TIMEOUT_SECONDS, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write(f"{path}\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        timer.cancel()
        if answer == "done\n":
            return None
        code = f"it ended with {self.process.wait()}" if not answer else ""
        self.messages.seek(start)
        return self.messages.read()[-3000:] + code


_workers = []


def work(kind, **job):
    """Have the worker do a job; its arrays by name."""
    folder = scratch_dir("job")
    for key, value in job.items():
        if isinstance(value, dict):
            np.savez(folder / f"{key}.npz", **value)
            job[key] = str(folder / f"{key}.npz")
        elif isinstance(value, onnx.ModelProto):
            onnx.save(value, folder / f"{key}.onnx")
            job[key] = str(folder / f"{key}.onnx")
        elif isinstance(value, pathlib.Path):
            job[key] = str(value)
    job.update(kind=kind, result=str(folder / "result.npz"))
    (folder / "job.json").write_text(json.dumps(job))
    if not _workers:
        _workers.append(Worker())
    problem = _workers[0].do(folder / "job.json")
    if problem is not None and _workers[0].process.poll() is not None:
        _workers.clear()
    assert problem is None, problem
    return dict(np.load(job["result"]))


@functools.lru_cache(maxsize=None)
def reference(name):
    """The stored arrays of batch 0, by kind and name."""
    arrays = np.load(folder_of(name) / "ref.npz")
    found = {"in": {}, "out": {}, "bnstat_after_step1": {}}
    for key in arrays.files:
        kind, _, value = key.partition(":")
        found[kind][value] = arrays[key]
    return found


def gradients(name):
    return [v for v in reference(name)["out"] if v.endswith("_grad")]


def gradient_values(model):
    """The value each accumulator receives, by the gradient's name."""
    ending = ".accumulation.buffer"
    return {
        node.input[0].removesuffix(ending): node.input[1]
        for node in model.graph.node
        if node.op_type == "InPlaceAccumulatorV2"
    }


def load_source(name):
    return onnx.load(folder_of(name) / "training_model.onnx")


def with_gradient_seed(model, scale):
    """Multiply the initializer that seeds the backward pass: loss scaling."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    seed = model.graph.output[0].name + "_grad"
    (tensor,) = [t for t in model.graph.initializer if t.name == seed]
    value = onnx.numpy_helper.to_array(tensor) * np.float32(scale)
    tensor.CopyFrom(onnx.numpy_helper.from_array(value, seed))
    return model


def expose(model, names):
    """Make values graph outputs, gradients among them."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    have = {output.name for output in model.graph.output}
    for name in dict.fromkeys(names):
        if name not in have:
            model.graph.output.append(
                helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
            )
    return model


def relu_masks(model):
    """The forward result that each ReluGrad reads, by the node's name."""
    return {
        node.name: node.input[1]
        for node in model.graph.node
        if node.op_type == "ReluGrad"
    }


def with_masks_as_inputs(model):
    """Let every ReluGrad read its mask from a graph input, mask:<node>."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for node in model.graph.node:
        if node.op_type == "ReluGrad":
            node.input[1] = "mask:" + node.name
            model.graph.input.append(
                helper.make_tensor_value_info(
                    node.input[1], TensorProto.FLOAT, None
                )
            )
    return model


def with_rounded_contractions(model, dtype):
    """An independent, minimal mixed precision: fp32 with rounding pairs.

    Every fp32 operand and result of a contraction goes through a pair of
    Casts. It knows no lists, no schemas and no legality.
    """
    model = onnx.ModelProto.FromString(model.SerializeToString())
    nodes, rounded, results = [], {}, set()

    def pair(name):
        low, back = name + ":low", name + ":rounded"
        to = {low: ELEMENT_TYPE[dtype], back: TensorProto.FLOAT}
        nodes.append(helper.make_node("Cast", [name], [low], to=to[low]))
        nodes.append(helper.make_node("Cast", [low], [back], to=to[back]))
        rounded[name] = back

    for node in model.graph.node:
        wanted = node.op_type in CONTRACTIONS
        for index, name in enumerate(node.input):
            if wanted and name and name not in rounded:
                pair(name)
            if name in rounded and (wanted or name in results):
                node.input[index] = rounded[name]
        nodes.append(node)
        if wanted:
            for name in filter(None, node.output):
                pair(name)
                results.add(name)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model
