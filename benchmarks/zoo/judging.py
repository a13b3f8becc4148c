# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command of mp-opt on each case of a zoo, and keeps the answers.

A case is an entry of the zoo, a precision, and what is judged: outputs, or the
gradients of a training step. Each answer is a file: a run that was interrupted
goes on where it ended.
"""

import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import time

TOOL = pathlib.Path(__file__).resolve().parents[2] / "build" / "bin" / "mp-opt"
PRECISIONS, KINDS = ("bf16", "fp16"), ("outputs", "gradients")
# Loss scaling belongs to fp16 training; a fixed scale makes runs comparable.
FP16_TRAINING = "--loss-scale=4096"


class Failure(Exception):
    """A message for the user: nothing can be measured."""


@dataclasses.dataclass(frozen=True)
class Case:
    folder: pathlib.Path
    name: str
    precision: str
    kind: str
    nodes: int
    is_kinked: bool
    megabytes: float
    part: dict

    @property
    def label(self):
        return f"{self.name}.{self.precision}.{self.kind}"

    def arguments(self, fp16_training=FP16_TRAINING):
        """The model, its precision and its data, as flags of mp-opt."""
        files = ",".join(str(self.folder / n) for n in self.part["data"])
        words = [self.folder / self.part["model"], f"--mixed-{self.precision}",
                 f"--data={files}"]  # fmt: skip
        if self.kind == "gradients":
            words += ["--train", f"--loss={self.part['loss']}"]
            if self.precision == "fp16":
                words += fp16_training.split()
        return list(map(str, words))


def read_entry(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise Failure(f"{path}: not JSON: {error}") from None


def cases_of(folder, only="", precisions=PRECISIONS, kinds=KINDS):
    """Small models come first."""
    found = []
    for path in folder.glob("*/zoo.json"):
        entry = read_entry(path)
        for kind in kinds:
            for precision in precisions:
                if kind not in entry:
                    continue
                model = path.parent / entry[kind]["model"]
                found.append(
                    Case(
                        path.parent, entry["name"], precision, kind,
                        entry["nodes"], bool(entry["kinks"]),
                        model.stat().st_size / 1e6, entry[kind],
                    )
                )  # fmt: skip
    found = [case for case in found if re.search(only, case.label)]
    if not found:
        raise Failure(
            f"{folder}: no case matches '{only}': precision_zoo.py makes"
            " models there"
        )
    return sorted(found, key=lambda case: (case.nodes, case.label))


def error_of(stderr, code):
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line]
    found = errors or lines[-1:] or ["no message"]
    return f"exit code {code}: {found[0][:400]}"


def call(command, limit):
    """Exit code (None: over the limit), output, errors, and seconds; what the
    command has started ends with it."""
    started = time.monotonic()
    process = subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        output, errors = process.communicate(timeout=limit)
    except BaseException as error:
        # After an interrupt from the keyboard as well.
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            return None, "", "", limit
        raise
    return process.returncode, output, errors, time.monotonic() - started


def ask(command, limit, accepted=(0,)):
    """What the command prints as JSON, or why there is none."""
    answer = {"command": list(map(str, command))}
    try:
        code, output, errors, answer["wall"] = call(command, limit)
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror} (--mp-opt)") from None
    answer["exit"] = code
    if code is None:
        return {**answer, "error": f"no answer in {limit:.0f} s"}
    try:
        result = json.loads(output)
    except ValueError:
        result = None
    if code in accepted and isinstance(result, dict):
        return {**answer, "result": result}
    if code in accepted:
        return {**answer, "error": f"exit code {code}, and no JSON object"}
    return {**answer, "error": error_of(errors, code)}


def kept(path, make, again=False):
    """The answer in the file, or a new one that is written there."""
    if path.exists() and not again:
        return read_entry(path)
    answer = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(answer, indent=1), encoding="utf-8")
    part.replace(path)
    return answer


def add_options(parser):
    """Those that all benchmarks of a zoo have."""
    add = parser.add_argument
    add("folder", metavar="FOLDER", type=pathlib.Path,
        help="what precision_zoo.py has made")  # fmt: skip
    add("--results", metavar="DIR", type=pathlib.Path,
        help="one file for each answer; those that exist are read"
             " (default: next to FOLDER)")  # fmt: skip
    add("--only", default="", metavar="REGEX",
        help="cases of these names: MODEL.PRECISION.KIND")  # fmt: skip
    add("--every", type=int, default=1, metavar="K",
        help="each K-th of them: a sample of all sizes")  # fmt: skip
    add("--limit", type=int, metavar="N", help="the first N of them")
    add("--precision", choices=PRECISIONS, action="append")
    add("--of", choices=KINDS, action="append")
    add("--timeout", type=float, default=900, metavar="SECONDS",
        help="for one command (900)")  # fmt: skip
    add("--retry", action="store_true", help="run failed cases once more")
    add("--tables", action="store_true", help="run nothing: kept answers only")
    add("--json", metavar="FILE", type=pathlib.Path, help="the figures as JSON")
    add("--mp-opt", default=os.environ.get("MP_OPT", TOOL))
    add("--flag", action="append", default=[], metavar="FLAG",
        help="a further flag for mp-opt (repeatable)")  # fmt: skip
    add("--fp16-training", default=FP16_TRAINING, metavar="FLAGS",
        help=f"flags of training steps in fp16 ({FP16_TRAINING})")


def chosen_cases(options):
    cases = cases_of(
        options.folder, options.only, options.precision or PRECISIONS,
        options.of or KINDS,
    )  # fmt: skip
    if options.every < 1:
        raise Failure(f"--every: expected at least 1, found {options.every}")
    return cases[:: options.every][: options.limit]


def results_folder(options, name):
    return options.results or options.folder.with_name(
        f"{options.folder.name}-{name}"
    )


def answers(options, cases, folder, make):
    """(case, answer) pairs; `make` gives the answer of a case."""
    for case in cases:
        path = folder / f"{case.label}.json"
        failed = path.exists() and "error" in read_entry(path)
        if options.tables and not path.exists():
            continue
        again = options.retry and failed and not options.tables
        yield case, kept(path, lambda c=case: make(c), again)
