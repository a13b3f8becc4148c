#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converted models by runtime: are they valid, do they run, how many casts.

    benchmarks/precision_zoo.py zoo
    benchmarks/precision_zoo.py more --deployed
    benchmarks/runtimes.py zoo more
    benchmarks/runtimes.py zoo more --peer-python peers/bin/python
    benchmarks/runtimes.py more --only 'kv-.*fp16' --retry

Converts models of the folders - exports and packages, not the networks that
were written for measurements of precision - to fp16 and bf16, for no runtime in
particular and for each runtime (--runtime; repeatable), and checks the results:

- onnx.shape_inference with check_type, strict_mode and data_prop, and ONNX's
  checker with full_check, pass where they pass for the source,
- onnxruntime runs the fp16 model on the CPU; outputs differ from those of the
  source in fp32 by no more than `mp-opt --verify` allows for a model for no
  runtime in particular,
- --runtime has found a kernel for each node. A model is refused if the runtime
  has none for a node of the source; other refusals are failures.

--peer-python is a Python with nvidia-modelopt[onnx]. Its AutoCast gets the
names of the nodes that mp-opt has left in fp32 for TensorRT, keeps the types of
inputs and outputs, and may limit no ranges. A table compares the Cast nodes of
the two results, those of the source included, and the times: of whole commands,
and of AutoCast's own call without imports. Results of AutoCast that are not
valid, or have nothing in 16 bit, are not compared.

Answers are kept in a folder (--results), one file each. Exit code 1: a check
has failed, or a valid result of AutoCast has fewer casts.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import sys
import tempfile
import time

import casts_against_peers as peers
import turns
from zoo import judging

PRECISIONS = ("fp16", "bf16")
RUNTIMES = ("", "tensorrt", "onnxruntime-cuda", "onnxruntime-cpu", "openvino")
# Runtimes that models in bf16 are made for.
TAKES_BF16 = ("", "tensorrt", "onnxruntime-cuda")
# AutoCast makes models for it.
COMPARED = ("tensorrt",)
FAMILIES = {
    "decoder", "detector", "diffusion", "package", "speech", "timm",
    "torchvision", "transformers",
}  # fmt: skip
# Exit code of mp-opt: the runtime has no kernel for a node.
UNSUPPORTED = 4
ROUNDS = 3
# A row of --verify's table: the last two numbers are in percent.
BOUND = re.compile(
    r"^(?!node ')(\S.*?) +\S+ +\S+ +\S+ +\S+ % +(\S+) %(?:  outside)?$",
    re.M,
)


# ---- The peer, in a process of its own -------------------------------------


def convert_with_peer(path):
    """Writes AutoCast's result; prints the seconds of its call."""
    import numpy as np
    import onnx
    from modelopt.onnx import autocast

    job = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    started = time.monotonic()
    model = autocast.convert_to_mixed_precision(
        job["source"], low_precision_type=job["precision"],
        keep_io_types=True, providers=["cpu"], data_max=np.inf,
        init_max=np.inf,
        nodes_to_exclude=[re.escape(n) + "$" for n in job["nodes"]],
    )  # fmt: skip
    onnx.save(model, job["target"])
    print(json.dumps({"seconds": time.monotonic() - started}))


# ---- Checks ----------------------------------------------------------------


def problem_of(path):
    """Why ONNX refuses a file; None if it does not."""
    import onnx

    try:
        model = onnx.load(path)
        onnx.shape_inference.infer_shapes(
            model, check_type=True, strict_mode=True, data_prop=True
        )
        onnx.checker.check_model(str(path), full_check=True)
    except Exception as error:
        return text_of(error)
    return None


def text_of(error):
    lines = str(error).strip().splitlines() or ["no message"]
    return f"{type(error).__name__}: {' '.join(lines)[:300]}"


def runtime_flags(runtime):
    """For onnxruntime's CPU provider, the release that is installed."""
    if runtime == "onnxruntime-cpu":
        import onnxruntime

        major, minor = onnxruntime.__version__.split(".")[:2]
        runtime += f":{major}.{minor}"
    return [f"--runtime={runtime}"] if runtime else []


def run_onnxruntime(path, feeds):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"]
    )
    asked = {value.name for value in session.get_inputs()}
    names = [value.name for value in session.get_outputs()]
    fed = {name: value for name, value in feeds.items() if name in asked}
    return dict(zip(names, session.run(None, fed)))


def has_16bit(path):
    import onnx

    low = {onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}
    model = onnx.load(path, load_external_data=False)
    return any(
        tensor.data_type in low
        for graph in peers.graphs(model.graph)
        for tensor in graph.initializer
    ) or any(
        attribute.name == "to" and attribute.i in low
        for graph in peers.graphs(model.graph)
        for node in graph.node
        for attribute in node.attribute
    )


def differences(found, expected):
    """RMS of the difference by that of the value, for each float output; other
    outputs must have as many elements as in fp32 or are said to differ."""
    from zoo import check

    errors, changed = {}, []
    for name, value in expected.items():
        if value.shape != found[name].shape:
            changed.append(name)
        elif value.dtype.kind == "f" and value.size:
            errors[name] = check.relative_error(found[name], value)
    return errors, changed


class Refusal(Exception):
    """The runtime has no kernel for a node of the source."""


class Examination:
    """One model in one precision for one runtime; `allowed` has the bounds of
    errors that are known already."""

    def __init__(self, options, case, runtime, folder, allowed):
        self.options, self.case, self.runtime = options, case, runtime
        self.allowed = allowed
        self.source = folder / "source.onnx"
        self.target = folder / "target.onnx"
        self.other = folder / "other.onnx"
        self.job = folder / "job.json"
        self.data = case.folder / case.part["data"][0]
        self.answer = {}

    def flags(self):
        made = [f"--mixed-{self.case.precision}", *self.options.flag]
        return made + runtime_flags(self.runtime)

    def convert(self):
        """Times, and what mp-opt decided."""
        command = [self.options.mp_opt, self.source, *self.flags(),
                   "--summary=none", "-o", self.target]  # fmt: skip
        times = []
        for _ in range(ROUNDS):
            code, _, errors, seconds = judging.call(command, 120)
            if code == UNSUPPORTED and self.is_refused():
                raise Refusal(judging.error_of(errors, code))
            if code:
                raise judging.Failure(judging.error_of(errors, code))
            times.append(seconds)
        self.answer["seconds"] = statistics.median(times)
        command.append("--remarks-filter=mp-precision")
        _, _, errors, _ = judging.call(command, 120)
        found = [
            match.groups()
            for match in map(peers.REMARK.search, errors.splitlines())
            if match
        ]
        self.nodes = [name for name, _, to in found if to == "f32"]
        self.answer["nodes"] = {
            "fp32": len(self.nodes), "16 bit": len(found) - len(self.nodes),
        }  # fmt: skip

    def is_refused(self):
        command = [self.options.mp_opt, self.source, "--dry-run",
                   *runtime_flags(self.runtime)]  # fmt: skip
        return judging.call(command, 120)[0] == UNSUPPORTED

    def check(self):
        source = problem_of(self.source)
        self.answer["source"] = source
        self.answer["invalid"] = None if source else problem_of(self.target)
        self.answer["casts"] = self.count(self.target)
        self.answer["casts of the source"] = self.count(self.source)

    def count(self, path):
        import onnx

        return peers.count_casts(onnx.load(path, load_external_data=False))

    def verify(self):
        """The bound of each output, in percent."""
        command = [self.options.mp_opt, self.source, *self.flags(),
                   f"--verify={self.data}", "-o", self.other]  # fmt: skip
        code, _, errors, _ = judging.call(command, self.options.timeout)
        allowed = {name: float(x) for name, x in BOUND.findall(errors)}
        self.answer["verify"] = code
        if code not in (0, 3):
            self.answer["verify error"] = judging.error_of(errors, code)
        return allowed

    def run(self):
        """Compares what onnxruntime computes before and after."""
        import numpy as np

        feeds = dict(np.load(self.data))
        expected = run_onnxruntime(self.source, feeds)
        allowed = self.verify() if self.allowed is None else self.allowed
        try:
            found = run_onnxruntime(self.target, feeds)
        except Exception as error:
            self.answer["run"] = text_of(error)
            return
        errors, changed = differences(found, expected)
        self.answer["allowed"], self.answer["errors"] = allowed, errors
        self.answer["other sizes"] = changed
        # An output without a bound is not within it.
        self.answer["beyond"] = [
            name for name, error in errors.items()
            if not 100 * error <= allowed.get(name, -1)
        ]  # fmt: skip

    def compare(self):
        """AutoCast's casts at the same nodes."""
        job = {
            "source": str(self.source), "target": str(self.other),
            "nodes": self.nodes, "precision": self.case.precision,
        }  # fmt: skip
        self.job.write_text(json.dumps(job), encoding="utf-8")
        self.other.unlink(missing_ok=True)
        command = [self.options.peer_python, __file__, "--convert", self.job]
        code, output, errors, seconds = judging.call(
            command, self.options.timeout
        )
        peer = {"whole": seconds}
        if code is None:
            peer["error"] = f"no answer in {seconds:.0f} s"
        elif code:
            peer["error"] = judging.error_of(errors, code)
        else:
            peer.update(json.loads(output.splitlines()[-1]))
            peer["casts"] = self.count(self.other)
            peer["nothing"] = not has_16bit(self.other)
            if not self.answer["source"]:
                peer["invalid"] = problem_of(self.other)
        self.answer["peer"] = peer

    def examine(self):
        peers.name_nodes(self.case.folder / self.case.part["model"],
                         self.source)  # fmt: skip
        self.convert()
        self.check()
        if self.case.precision == "fp16":
            self.run()
        if self.options.peer_python and self.runtime in COMPARED:
            self.compare()
        return self.answer


def examine(options, case, runtime, allowed):
    with tempfile.TemporaryDirectory() as folder:
        made = Examination(
            options, case, runtime, pathlib.Path(folder), allowed
        )
        try:
            return made.examine()
        except Refusal as refusal:
            return {**made.answer, "refused": str(refusal)}
        except judging.Failure as failure:
            return {**made.answer, "error": str(failure)}
        except Exception as error:
            return {**made.answer, "error": text_of(error)}


# ---- Tables ----------------------------------------------------------------


def failures_of(answer):
    """What is wrong with our result, in words."""
    found = []
    if "error" in answer:
        found.append(answer["error"])
    if answer.get("invalid"):
        found.append(f"invalid: {answer['invalid']}")
    if "run" in answer:
        found.append(f"onnxruntime: {answer['run']}")
    for name in answer.get("beyond", []):
        off, allowed = answer["errors"][name], answer["allowed"].get(name)
        text = "no bound" if allowed is None else f"{allowed:g} allowed"
        found.append(f"'{name}' off by {100 * off:.3g} %, {text}")
    return found


def comparison(answer):
    """-1, 0 or 1: fewer casts than the peer, as many, more; None without a
    valid result of the peer."""
    peer = answer.get("peer", {})
    if "casts" not in peer or "casts" not in answer:
        return None
    if peer.get("invalid") or peer["nothing"]:
        return None
    difference = answer["casts"] - peer["casts"]
    return (difference > 0) - (difference < 0)


def print_case(label, answer):
    if "refused" in answer:
        print(f"{label:50} refused: {answer['refused']}", flush=True)
        return
    words = [f"{answer.get('casts', '-')} casts"]
    peer = answer.get("peer")
    if peer:
        state = peer.get("error") or peer.get("invalid") or ""
        state = state or ("nothing in 16 bit" if peer["nothing"] else "")
        words.append(f"AutoCast {peer.get('casts', '-')} {state[:60]}".strip())
        words.append(f"{answer.get('seconds', 0):.3f} s, {peer['whole']:.1f} s")
    words += failures_of(answer)
    more = " MORE" if comparison(answer) == 1 else ""
    print(f"{label:50} {'; '.join(words)}{more}", flush=True)


def print_summary(answers):
    """A row for each runtime and precision."""
    print()
    turns.head(
        "runtime", "precision", ">models", ">refused", ">valid",
        ">run, within bounds", ">fewer casts than AutoCast", ">as many",
        ">more", ">AutoCast fails", ">invalid", ">nothing",
        ">x faster, whole", ">without imports",
    )  # fmt: skip
    groups = sorted({(runtime, case.precision) for runtime, case, _ in answers})
    for runtime, precision in groups:
        rows = [
            a for r, c, a in answers
            if (r, c.precision) == (runtime, precision)
        ]  # fmt: skip
        print_row(runtime or "-", precision, rows)


def print_row(runtime, precision, rows):
    peer = [row for row in rows if "peer" in row]
    ways = [comparison(row) for row in peer]
    refused = sum("refused" in row for row in rows)
    rows = [row for row in rows if "refused" not in row]
    valid = [r for r in rows if "error" not in r and not r.get("invalid")]
    ran = [r for r in valid if "errors" in r and not r["beyond"]]
    turns.row(
        runtime, precision, len(rows) + refused, refused, len(valid),
        len(ran) if precision == "fp16" else "-", ways.count(-1),
        ways.count(0), ways.count(1),
        sum("error" in row["peer"] for row in peer),
        sum(bool(row["peer"].get("invalid")) for row in peer),
        sum(row["peer"].get("nothing", False) for row in peer),
        faster(peer, "whole"), faster(peer, "seconds"),
    )  # fmt: skip


def faster(rows, key):
    """Median and least of the peer's time by ours."""
    ratios = [
        row["peer"][key] / row["seconds"]
        for row in rows
        if key in row["peer"] and "error" not in row["peer"]
    ]
    if not ratios:
        return "-"
    return f"{statistics.median(ratios):.0f} ({min(ratios):.0f})"


# ---- Command line ----------------------------------------------------------


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("folders", metavar="FOLDER", nargs="*", type=pathlib.Path,
        help="what precision_zoo.py has made")  # fmt: skip
    add("--runtime", action="append", choices=RUNTIMES, metavar="NAME",
        help="all by default; '' is none in particular")  # fmt: skip
    add("--precision", action="append", choices=PRECISIONS)
    add("--only", default="", metavar="REGEX",
        help="cases of these names: MODEL.PRECISION")  # fmt: skip
    add("--peer-python", help="a Python that has modelopt.onnx")
    add("--results", metavar="DIR", type=pathlib.Path,
        help="answers (default: next to the first FOLDER)")  # fmt: skip
    add("--retry", action="store_true", help="examine all cases again")
    add("--tables", action="store_true", help="run nothing: kept answers only")
    add("--timeout", type=float, default=300, metavar="SECONDS")
    add("--mp-opt", default=os.environ.get("MP_OPT", judging.TOOL))
    add("--flag", action="append", default=[], metavar="FLAG",
        help="a further flag for mp-opt (repeatable)")  # fmt: skip
    add("--convert", help=argparse.SUPPRESS)
    return parser.parse_args()


def family_of(case):
    return judging.read_entry(case.folder / "zoo.json")["family"]


def chosen_cases(options):
    """One for each network: trained weights, where there are both."""
    cases = []
    for folder in options.folders:
        cases += judging.cases_of(
            folder, "", options.precision or PRECISIONS, ["outputs"]
        )
    cases = [case for case in cases if family_of(case) in FAMILIES]
    names = {case.name for case in cases}
    return [
        case for case in cases
        if re.search(options.only, f"{case.name}.{case.precision}")
        and not (case.name.endswith(".fresh")
                 and case.name.replace(".fresh", ".trained") in names)
    ]  # fmt: skip


def answers_of(options, case, folder):
    """(runtime, case, answer) for each runtime."""
    answers, allowed = [], None
    for runtime in options.runtime or RUNTIMES:
        if case.precision == "bf16" and runtime not in TAKES_BF16:
            continue
        label = ".".join(filter(None, [case.name, case.precision, runtime]))
        path = folder / f"{label}.json"
        if options.tables and not path.exists():
            continue
        answer = judging.kept(
            path, lambda r=runtime: examine(options, case, r, allowed),
            options.retry and not options.tables,
        )  # fmt: skip
        allowed = answer.get("allowed", allowed)
        print_case(label, answer)
        answers.append((runtime, case, answer))
    return answers


def main():
    options = parse()
    if options.convert:
        return convert_with_peer(options.convert)
    if not options.folders:
        raise judging.Failure("expected a folder that precision_zoo.py made")
    first = options.folders[0]
    folder = options.results or first.with_name(f"{first.name}-runtimes")
    answers = []
    for case in chosen_cases(options):
        answers += answers_of(options, case, folder)
    print_summary(answers)
    wrong = any(failures_of(a) or comparison(a) == 1 for _, _, a in answers)
    return 1 if wrong or not answers else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except judging.Failure as failure:
        sys.exit(f"runtimes.py: error: {failure}")
