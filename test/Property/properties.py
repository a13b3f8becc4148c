# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random models under random policies, and what must hold for all of them.

    properties.py --seeds 100000           a long run; --first says from where
    properties.py --seed 1234 --save DIR   one model, its files, its policy

The runner (Runner.cpp) converts, and checks from inside: each pass leaves a
valid module, the result is a fixed point, another context gives the same
bytes, denying everything changes nothing, no allowed node is fp32 without a
reason. From outside, here: the model is valid, keeps its inputs and outputs,
its names, its other types, and, for a sample, its numbers.
"""

import argparse
import collections
import re
import concurrent.futures
import json
import os
import pathlib
import struct
import subprocess
import sys
import traceback

import numpy as np
import onnx
from evaluation import compare, evaluate
from onnx import TensorProto, helper
from op_table import make_model
from random_policy import choose_policy, deny_all, deny_all_nodes, nodes_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUNNER = os.environ.get(
    "MP_OPT_PROPERTY_RUNNER",
    str(ROOT / "build" / "bin" / "mp-opt-property-runner"),
)
LOW_TYPES = {"bf16": TensorProto.BFLOAT16, "fp16": TensorProto.FLOAT16}
FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, *LOW_TYPES.values())
RULES = ("first-operand", "min-cut")
# One of this many models is checked in each of these ways, too.
EVERY_NUMBER, EVERY_RUNTIME, EVERY_DENIAL = 4, 8, 4


class Runner:
    """A process that converts; a new one after a crash."""

    def __init__(self):
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [RUNNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def frame(self):
        head = self.process.stdout.read(4)
        if len(head) < 4:
            raise EOFError
        return self.process.stdout.read(struct.unpack("<I", head)[0])

    def run(self, header, data):
        if self.process is None:
            self.start()
        try:
            for part in (json.dumps(header).encode(), data):
                self.process.stdin.write(struct.pack("<I", len(part)) + part)
            self.process.stdin.flush()
            report, result, extra = (self.frame() for _ in range(3))
        except (EOFError, BrokenPipeError):
            code = self.process.wait()
            self.process = None
            return {"error": f"the runner ended with {code}"}, b"", b""
        return json.loads(report), result, extra

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def find_rules():
    """How the pipelines with either rule of assignment are written.

    None if there is but one rule, or if nothing tells what it costs. Active as
    soon as mp.summary has cost_bytes under both.
    """
    runner = Runner()
    try:
        for seed in range(10):
            model = make_model(seed)
            policy = choose_policy(model)
            for form in ("option", "passes"):
                costs = [policy.with_rule(rule, form) for rule in RULES]
                header = {"pipeline": policy.pipeline(), "costs": costs}
                report, _, _ = runner.run(header, model.data)
                if min(report.get("costs", [-1])) >= 0:
                    return form
    finally:
        runner.stop()
    return None


# Properties of a result ------------------------------------------------------


def check_valid(source, result):
    try:
        onnx.checker.check_model(
            result.SerializeToString(), full_check=True
        )
    except Exception as error:
        yield f"not valid: {str(error).strip()[:300]}"


def check_interface(source, result):
    for field in ("input", "output"):
        before = list(getattr(source.graph, field))
        after = list(getattr(result.graph, field))
        if before != after:
            yield f"other {field}s than before"


def check_names(source, result):
    before = collections.Counter(n.name for n in nodes_of(source.graph))
    after = collections.Counter(n.name for n in nodes_of(result.graph))
    # check_casts says which of these may be gone.
    casts = {n.name for n in nodes_of(source.graph) if n.op_type == "Cast"}
    for name in before:
        is_kept = name not in casts or after[name] > before[name]
        if name and after[name] != before[name] and is_kept:
            yield f"{before[name]} nodes '{name}' became {after[name]}"
    for name, count in after.items():
        if name and name not in before and count > 1:
            yield f"{count} new nodes are called '{name}'"


def called(model, node):
    """A clone of a function counts as the function that it is made from."""
    functions = {(f.domain, f.name) for f in model.functions}
    if (node.domain, node.op_type) not in functions:
        return node.op_type
    return re.sub(r"_(bf16|fp16)(_\d+)?$", "", node.op_type)


def check_nodes(source, result):
    """New are casts, constants in two types, and what a newer opset needs."""
    before = collections.Counter(n.op_type for n in nodes_of(source.graph))
    after = collections.Counter(
        called(result, n) for n in nodes_of(result.graph)
    )
    for op_type, count in before.items():
        if op_type != "Cast" and after[op_type] < count:
            yield f"{count} nodes {op_type} became {after[op_type]}"
    if source.opset_import == result.opset_import:
        for op_type, count in after.items():
            is_new = op_type in ("Cast", "Constant")
            if not is_new and count > before[op_type]:
                yield f"{before[op_type]} nodes {op_type} became {count}"
    yield from check_casts(source, result)


def element_types(graph):
    """Of values by name, of this graph and the graphs in it."""
    types = {}
    for inner in graphs_of(graph):
        for value in [*inner.input, *inner.output, *inner.value_info]:
            types[value.name] = value.type.tensor_type.elem_type
        types.update({i.name: i.data_type for i in inner.initializer})
    return types


def holds_all(wide, narrow):
    """Whether the type `wide` has all numbers of the type `narrow`."""
    try:
        wide, narrow = map(helper.tensor_dtype_to_np_dtype, (wide, narrow))
    except KeyError:
        return False
    bfloat16 = helper.tensor_dtype_to_np_dtype(TensorProto.BFLOAT16)
    if bfloat16 not in (wide, narrow):
        return np.can_cast(narrow, wide, "safe")
    if wide == bfloat16:
        # Eight binary digits.
        return narrow in (bfloat16, np.dtype(bool), np.uint8, np.int8)
    return wide in (np.float32, np.float64)


def check_casts(source, result):
    """The model's own casts stay, but those that lose nothing: to the operand's
    type or a wider one, from a wider one back, of whole constants, and of
    values that have become 16 bit themselves."""
    types, after = (
        element_types(onnx.shape_inference.infer_shapes(model).graph)
        for model in (source, result)
    )
    casts = {
        n.output[0]: n for n in nodes_of(source.graph) if n.op_type == "Cast"
    }
    constants = {i.name for g in graphs_of(source.graph) for i in g.initializer}
    constants.update(
        n.output[0] for n in nodes_of(source.graph) if n.op_type == "Constant"
    )
    left = {n.output[0] for n in nodes_of(result.graph) if n.op_type == "Cast"}
    # A result may have another name where it ends a graph.
    for graph in graphs_of(source.graph):
        left.update(v.name for v in graph.output)
    # The least type that holds the numbers of a value.
    least = {name: after.get(name, kind) for name, kind in types.items()}
    for name, node in casts.items():
        to, value = types.get(name), node.input[0]
        is_whole = value in constants and types.get(value) not in FLOATS
        is_lossless = is_whole or holds_all(to, least.get(value))
        least[name] = least.get(value) if is_lossless else to
        if name not in left and not is_lossless:
            yield f"the model's own cast to '{name}' is gone"


def graphs_of(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from graphs_of(attribute.g)


def check_weights(source, result, low):
    """Weights change to the 16-bit type, or not at all."""

    def collect(proto):
        return {
            w.name: w
            for graph in graphs_of(proto.graph)
            for w in graph.initializer
        }

    before, after = collect(source), collect(result)
    for name, weight in before.items():
        new = after.get(name)
        if new is None:
            yield f"initializer '{name}' is gone"
        elif new.data_type == weight.data_type and new != weight:
            yield f"initializer '{name}' changed"
        elif new.data_type != weight.data_type and (
            weight.data_type != TensorProto.FLOAT
            or new.data_type != LOW_TYPES[low]
        ):
            yield f"initializer '{name}' became {new.data_type}"


def check_rules(report):
    """The cut never moves more than the rule of the first operand."""
    costs = report.get("costs") or []
    if len(costs) == 2 and min(costs) >= 0 and costs[1] > costs[0]:
        yield f"the cut costs {costs[1]} bytes, the first operand {costs[0]}"


def loads(data):
    """Whether onnxruntime takes a model; and what it says."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    # onnxruntime's fusions have faults of their own, e.g. with a batch
    # normalization of fp16 with fp32 scales after a MatMul.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        ort.InferenceSession(data, options, ["CPUExecutionProvider"])
    except Exception as error:
        return str(error).replace("\n", " ")[:300]
    return ""


def check_runtime(model, result):
    if not loads(model.data):
        message = loads(result)
        if message:
            yield f"onnxruntime refuses it: {message}"


def check_numbers(model, variants, counts, low):
    """Of the emulated model, and of one in fp16 as it is."""
    try:
        evaluate(model.proto, model.feed)
    except Exception:
        counts["not evaluated"] += 1
        return
    for kind, data in variants.items():
        try:
            actual = evaluate(onnx.load_from_string(data), model.feed)
        except TypeError:
            # The evaluator hands the element of an optional on as a list.
            nodes = nodes_of(model.proto.graph)
            if not any(n.op_type == "Optional" for n in nodes):
                raise
            counts["not evaluated"] += 1
            continue
        wrong = compare(model.proto, actual, model.feed, low)
        counts["no bound" if wrong is False else kind] += 1
        if wrong:
            yield f"{kind}: {wrong}"


# One seed, and many ----------------------------------------------------------


def header_of(model, policy, form):
    header = {"pipeline": policy.pipeline()}
    if model.seed % EVERY_DENIAL == 0:
        header["same"] = [deny_all(model, policy.low)]
        header["same"].append(deny_all_nodes(policy.low))
    if form:
        header["costs"] = [policy.with_rule(rule, form) for rule in RULES]
        if model.seed % 3 == 0:
            header["pipeline"] = header["costs"][0]
    if model.is_numeric and model.seed % EVERY_NUMBER == 0:
        header["extra"] = policy.emulated()
    return header


def violations(runner, model, policy, form, counts):
    header = header_of(model, policy, form)
    report, result, emulated = runner.run(header, model.data)
    if "error" in report:
        yield f"fails: {report['error'].strip()[:400]}"
        return
    yield from report["violations"]
    yield from check_rules(report)
    counts["costs compared"] += min(report["costs"], default=-1) >= 0
    counts["changed"] += result != model.data
    counts["missed remarks"] += len(report["missed"])
    if result == model.data:
        return
    proto = onnx.load_from_string(result)
    for check in (check_valid, check_interface, check_names, check_nodes):
        yield from check(model.proto, proto)
    yield from check_weights(model.proto, proto, policy.low)
    runs = policy.low == "fp16" and not model.has_foreign
    if runs and model.seed % EVERY_RUNTIME == 0:
        counts["onnxruntime"] += 1
        yield from check_runtime(model, result)
    if emulated:
        variants = {"emulated": emulated}
        if policy.low == "fp16":
            variants["as it is"] = result
        yield from check_numbers(model, variants, counts, policy.low)


def check_seeds(seeds, form):
    """Violations, as (seed, policy, text), and counts of what was done."""
    runner, found = Runner(), []
    counts = collections.Counter()
    for seed in seeds:
        policy = None
        try:
            model = make_model(seed)
            policy = choose_policy(model)
            onnx.checker.check_model(model.data, full_check=True)
            for text in violations(runner, model, policy, form, counts):
                found.append((seed, policy.pipeline(), text))
        except Exception:
            found.append((seed, str(policy), traceback.format_exc(limit=-3)))
        counts["models"] += 1
    runner.stop()
    return found, counts


def check_many(first, count, workers=2):
    form = find_rules()
    parts = [range(first + w, first + count, workers) for w in range(workers)]
    found, counts = [], collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(workers) as pool:
        for more, done in pool.map(check_seeds, parts, [form] * workers):
            found += more
            counts.update(done)
    return sorted(found), counts


def describe(violation):
    seed, pipeline, text = violation
    return (
        f"seed {seed}: {text}\n  with {pipeline}\n"
        f"  test/Property/properties.py --seed {seed} --save DIR\n"
    )


def save(seed, folder):
    """The model, its result and the command that makes one of the other."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    model = make_model(seed)
    policy = choose_policy(model)
    (folder / f"{seed}.onnx").write_bytes(model.data)
    runner = Runner()
    header = {"pipeline": policy.pipeline(), "extra": policy.emulated()}
    report, result, emulated = runner.run(header, model.data)
    runner.stop()
    (folder / f"{seed}.result.onnx").write_bytes(result)
    (folder / f"{seed}.emulated.onnx").write_bytes(emulated)
    print(json.dumps(report, indent=1))
    inner = policy.pipeline().removeprefix("builtin.module(")
    print(f"mp-opt {seed}.onnx --pass-pipeline='builtin.module({inner}'")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--save", help="a folder for the files of --seed")
    arguments = parser.parse_args()
    if arguments.seed is not None and arguments.save:
        save(arguments.seed, arguments.save)
    if arguments.seed is not None:
        found, counts = check_seeds([arguments.seed], find_rules())
    else:
        found, counts = check_many(
            arguments.first, arguments.seeds, arguments.workers
        )
    for violation in found:
        print(describe(violation))
    print(dict(counts))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
