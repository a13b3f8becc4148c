# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what mp-opt trains with what torch trains, export by export.

usage: python judge.py FOLDER [--mp-opt PATH] [--match REGEX] [--types bf16 fp16]
                       [--curve] [--details]

FOLDER is what build_models.py wrote. For each export: which parameters of
torch the step does not train, what it trains beside them, the worst gradient
(RMS of the error by RMS of the gradient, or by a thousandth of that of all)
and why. --types: errors in 16 bit, by those of torch's autocast. --curve: 40
steps of AdamW beside torch's losses. Exit code 1 if an export fails.
"""

import argparse
import json
import os
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "examples" / "training"))
import export_torch as recipe  # noqa: E402

TOLERANCE = 1e-5
# A gradient may have the errors of torch's own fp32.
OWN_ERRORS = 3
FACTOR = 3
ROUNDOFF = {"bf16": 2.0**-8, "fp16": 2.0**-11}
CURVE_TOLERANCE, HALF_CURVE_TOLERANCE = 1e-3, 1e-2
RATE, DECAY = 1e-3, 0.01


class Export:
    def __init__(self, path, scratch):
        self.path, self.scratch = path, scratch
        self.facts = json.loads(path.with_suffix(".json").read_text())
        truth = path.parents[1] / "truth" / self.facts["truth"]
        self.truth = np.load(truth)
        self.torch_errors = json.loads(truth.with_suffix(".json").read_text())
        self.exact = self.part("grad:")
        self.start = self.part("param:")
        self.is_half = any(v.dtype == np.float16 for v in self.start.values())
        self.feeds = {**self.part("in:"), "labels": self.truth["labels"]}
        aliases = {n: g[0] for g in self.facts["tied"] for n in g}
        self.aliases = {n: n for n in self.facts["parameters"]} | aliases

    def part(self, prefix):
        return {
            n.removeprefix(prefix): self.truth[n]
            for n in self.truth.files
            if n.startswith(prefix)
        }

    def step(self, *flags):
        step = self.scratch / "step.onnx"
        recipe.make_step(
            OPTIONS.mp_opt, self.path, step, *self.facts["flags"], *flags,
            *OPTIONS.flag,
        )  # fmt: skip
        return step

    def torch_name(self, name, value):
        """Torch's name of what the step trains, and whether it is turned.

        Exporters rename what they fold; then equal elements decide.
        """
        if name in self.aliases:
            return self.aliases[name], False
        for turned in (False, True):
            wanted = value.T if turned else value
            same = [
                n
                for n, v in self.start.items()
                if v.shape == wanted.shape
                and np.array_equal(v, wanted.astype(v.dtype))
            ]
            same = [n for n in same if n not in self.taken] or same
            if same:
                self.taken.add(same[0])
                return same[0], turned
        return None, False

    def map_names(self, found, values):
        """Gradients by torch's names, and what torch does not train."""
        mapped, extra = {}, []
        self.taken = {self.aliases[n] for n in found if n in self.aliases}
        for name, gradient in found.items():
            value = values.get(name)
            torch_name, turned = self.torch_name(
                name, np.empty(0) if value is None else value
            )
            if torch_name is None and not self.packed(name, value):
                extra.append(name)
                continue
            if torch_name is None:
                continue
            gradient = gradient.T if turned else gradient
            if torch_name in mapped:
                # Two of one parameter: torch's gradient is their sum.
                self.untied.append(name)
                gradient = mapped[torch_name] + gradient
            mapped[torch_name] = gradient
        return mapped, extra

    def packed(self, name, value):
        """Recurrent weights are stacked and reordered: found by elements."""
        parts = [v for n, v in self.start.items() if "rnn" in n]
        if value is None or value.ndim < 2 or not parts:
            return False
        pool = np.sort(np.concatenate([p.ravel() for p in parts]))
        at = np.searchsorted(pool, value.ravel().astype(pool.dtype))
        inside = pool[np.minimum(at, len(pool) - 1)] == value.ravel()
        if inside.all():
            self.packs.append(name)
        return bool(inside.all())


def gradients_of(export, *flags):
    step = export.step("--optimizer=none", *flags)
    results = recipe.run_step(step, export.feeds)
    found = {
        n.removesuffix("_grad"): v
        for n, v in results.items()
        if n.endswith("_grad")
    }
    return found, step


LOST = "not in the export"


def why_missing(export, name, constants, trained):
    value = export.start[name]
    names = [a for a, n in export.aliases.items() if n == name]
    if any(n in constants for n in names):
        return "frozen"
    same = [
        n
        for n, v in constants.items()
        if v.size == value.size
        and (
            np.array_equal(v.reshape(value.shape), value)
            or np.array_equal(v.reshape(value.T.shape), value.T)
        )
    ]
    merged = [n for n in same if n in trained]
    if merged:
        return f"merged with {merged[0]}"
    return f"is the constant {same[0]}" if same else LOST


def judge_set(export, row):
    """What is missing, what is too much, and the gradients."""
    export.untied, export.packs = [], []
    found, step = gradients_of(export)
    constants = recipe.constants_of(onnx.load(export.path).graph)
    made = recipe.constants_of(onnx.load(step).graph)
    mapped, extra = export.map_names(found, {**constants, **made})
    missing = [n for n in export.exact if n not in mapped]
    if export.packs:
        missing = [n for n in missing if "rnn" not in n]
    row["trained"] = len(found)
    row["missing"] = {
        n: why_missing(export, n, constants, found) for n in missing
    }
    row["extra"] = extra
    row["untied"], row["packed"] = export.untied, export.packs
    errors = recipe.relative_errors(mapped, export.exact)
    everything = total_rms(export.exact)
    # A model in half computes as autocast does, or a little coarser.
    dtype, least = "fp32", TOLERANCE
    if export.is_half:
        dtype, least = "fp16", ROUNDOFF["fp16"]
    bounds = {
        n: max(least, OWN_ERRORS * bound_of(export, dtype, n, everything))
        for n in errors
    }
    wrong = {n: e for n, e in errors.items() if not e <= bounds[n]}
    row["worst"] = max(errors.values(), default=float("nan"))
    row["wrong"] = dict(sorted(wrong.items(), key=lambda p: -p[1]))
    row["ok"] = not (row["missing"] or extra or wrong or export.untied)
    # Parameters that the exporter has folded cannot be trained as in torch.
    lost = row["missing"] and set(row["missing"].values()) == {LOST}
    row["part"] = bool(lost and not wrong)


def total_rms(gradients):
    return recipe.rms(np.concatenate([g.ravel() for g in gradients.values()]))


def bound_of(export, dtype, name, everything):
    """What torch's own gradient misses by; no bound where it has none."""
    if not export.torch_errors[dtype]:
        return np.inf
    error = export.torch_errors[dtype][name]
    return error / max(
        recipe.rms(export.exact[name]), recipe.FLOOR * everything, 1e-30
    )


def finite_gradients(export, dtype):
    """As a dynamic scale ends: halved until nothing overflows."""
    flags = [f"--mixed-{dtype}", "--emulate"]
    if dtype != "fp16":
        return gradients_of(export, *flags)[0]
    for exponent in range(16, -1, -4):
        scale = f"--loss-scale={1 << exponent}"
        found, _ = gradients_of(export, *flags, scale)
        if all(np.isfinite(g).all() for g in found.values()):
            break
    return found


def judge_type(export, row, dtype):
    """The error in 16 bit by torch's: of all gradients, and the worst one."""
    if not export.torch_errors.get(dtype):
        row[dtype] = "autocast fails"
        return
    found = finite_gradients(export, dtype)
    constants = recipe.constants_of(onnx.load(export.path).graph)
    mapped, _ = export.map_names(found, constants)
    same = [n for n in mapped if mapped[n].shape == export.exact[n].shape]
    everything = total_rms(export.exact)
    ratios = {}
    for name in same:
        size = recipe.rms(export.exact[name])
        error = recipe.rms(mapped[name] - export.exact[name])
        # A gradient without any rounding to 16 bit differs by fp32's own noise,
        # and a gradient of few elements may be off by one rounding of itself.
        noise = 1e-5 * max(size, 1e-2 * everything)
        noise = max(noise, ROUNDOFF[dtype] * size)
        allowed = max(export.torch_errors[dtype][name], noise / FACTOR)
        ratios[name] = error / max(allowed, 1e-30)
    worst = max(ratios, key=ratios.get)
    row[dtype] = f"{ratios[worst]:.2f} {worst}"
    # NaN is a failure.
    row["ok"] = bool(row["ok"] and ratios[worst] <= FACTOR)


def judge_curve(export, row):
    """40 steps on one batch, beside torch's losses; what must stay, stays."""
    step = export.step(
        "--optimizer=adamw", f"--lr={RATE}", f"--weight-decay={DECAY}"
    )
    session = recipe.open_step(step)
    state, losses = {}, []
    expected = export.truth["curve"]
    for _ in expected:
        results = recipe.call_step(session, {**export.feeds, **state})
        state = {
            n.removesuffix("_new"): v
            for n, v in results.items()
            if n.endswith("_new")
        }
        losses.append(float(results["loss"]))
    worst = float(np.max(np.abs(np.array(losses) / expected - 1)))
    row["curve"] = worst
    bound = HALF_CURVE_TOLERANCE if export.is_half else CURVE_TOLERANCE
    row["ok"] = row["ok"] and worst <= bound


def judge(path, scratch):
    export = Export(path, scratch)
    row = {"name": path.stem, "forward": export.facts["forward_error"]}
    try:
        judge_set(export, row)
        for dtype in OPTIONS.types if not export.is_half else ():
            judge_type(export, row, dtype)
        if OPTIONS.curve:
            judge_curve(export, row)
    except Exception as error:
        lines = [t for t in str(error).split("\n") if "error" in t.lower()]
        text = (lines or [f"{type(error).__name__}: {error}"])[0]
        row["error"], row["ok"] = text[-400:], False
    return row


def shorten(names, most=4):
    text = ", ".join(names[:most])
    return text + (f" and {len(names) - most} more" if len(names) > most else "")


def describe(row):
    verdict = "ok  " if row["ok"] else "part" if row.get("part") else "FAIL"
    head = f"{verdict} {row['name']:42}"
    if "error" in row:
        return f"{head} {row['error']}"
    parts = [
        f"{head} trained {row['trained']:3}  missing {len(row['missing']):2}"
        f"  extra {len(row['extra']):2}  gradient {row['worst']:.1e}"
    ]
    parts[0] += "".join(f"  {t} {row[t]}" for t in OPTIONS.types if t in row)
    if "curve" in row:
        parts[0] += f"  curve {row['curve']:.1e}"
    forward = row["forward"]
    if isinstance(forward, str) or forward > 1e-3:
        parts.append(f"       the export itself is wrong: {forward}")
    causes = {}
    for name, cause in row["missing"].items():
        causes.setdefault(cause, []).append(name)
    most = 100 if OPTIONS.details else 4
    for cause, names in causes.items():
        parts.append(f"       missing ({cause}): {shorten(names, most)}")
    for key in ("extra", "untied", "packed"):
        if row[key]:
            parts.append(f"       {key}: {shorten(row[key], most)}")
    if row["wrong"]:
        wrong = [f"{n} {e:.1e}" for n, e in row["wrong"].items()]
        parts.append(f"       wrong gradients: {shorten(wrong, most)}")
    return "\n".join(parts)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--mp-opt", default=os.environ.get("MP_OPT", "mp-opt"))
    parser.add_argument("--match", default="")
    parser.add_argument("--types", nargs="*", default=[])
    parser.add_argument("--curve", action="store_true")
    parser.add_argument("--details", action="store_true")
    parser.add_argument("--flag", action="append", default=[])
    return parser.parse_args()


def main():
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for path in sorted((OPTIONS.folder / "models").glob("*.onnx")):
            described = path.with_suffix(".json").exists()
            if described and re.search(OPTIONS.match, path.stem):
                rows.append(judge(path, pathlib.Path(scratch)))
                print(describe(rows[-1]), flush=True)
    good = sum(row["ok"] for row in rows)
    part = sum(row.get("part", False) for row in rows)
    print(
        f"{good} of {len(rows)} exports train as torch does,"
        f" {part} more but for what the exporter has folded"
    )
    return 0 if rows and good == len(rows) else 1


if __name__ == "__main__":
    OPTIONS = parse_arguments()
    sys.exit(main())
