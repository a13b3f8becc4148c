#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fits the constants of `bench --dry-run`'s times to measured steps.

    fit_device_times.py                  fit, and print all errors
    fit_device_times.py --write          the same, and write DeviceTimes.def
    fit_device_times.py --check          are the written constants such a fit?
    fit_device_times.py --store PLAN.json NAME MILLISECONDS
    fit_device_times.py --predict PLAN.json

A step is a row of benchmarks/h200/steps.csv: what was measured (h200.md, and
docs/performance.md for kernels), the bytes of its batch, of these the bytes
that were copied during the call before (none in rows without that column, whose
batches were copied in calls), and whether the time is that of a call or of its
launches alone. benchmarks/h200/NAME.csv has the
launches of a step as `bench --dry-run --json` counted them when it was
measured: one row for each different launch, and how often it ran. --store adds
a step, --predict computes the formula of include/mp-opt/Execution/DeviceTime.h
for the launches of a plan and prints JSON.

Errors are logarithms of predicted by measured time. The fit minimizes their
squares plus, with a small weight, the squared distances of the constants from
what data sheets and probes let expect (PRIORS): twelve steps do not determine
sixteen constants. A row that is left out is predicted by a fit to the others. Errors
of single products that are left out are printed and have no limit, since no
other row has products of their size. --check fails if the errors exceed the limits or those that are written.
"""

import argparse
import csv
import json
import pathlib
import re
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
STEPS = HERE / "h200"
TABLE = (
    HERE.parent / "include" / "mp-opt" / "Execution" / "DeviceTimes.def"
)
# Errors that are accepted: of all rows, and of the worst that is left out.
MAX_ERROR, MAX_LEFT_OUT = 0.10, 0.25
WIDTHS = (1, 2, 4, 8, 16)
COLUMNS = [
    "times", "kernel", "kind", "bytes", "blocks", "threads", "shared",
    "registers", *(f"load{w}" for w in WIDTHS), *(f"store{w}" for w in WIDTHS),
    *(f"copy{w}" for w in WIDTHS), "shared_words", "tensor", "floats",
    "doubles", "special", "other", "barriers", "waits", "atomics",
]
# The data sheet of KnownTargets.cpp.
DEVICES = {
    "h200": {
        "processors": 132, "clock": 1.98e9, "bandwidth": 4.8e12,
        "cache": 50 * 2**20, "tensor": 989e12, "double": 34e12,
        "threads": 2048, "blocks": 32, "shared": 228 * 1024,
    }
}
# A clock of 1.755 GHz was seen under load; the others are not fitted since the
# sum of squares is not smooth in them.
FIXED = {
    "clockShare": 1.755 / 1.98, "cacheShare": 0.6, "issueWarps": 8,
    "tensorWarps": 4,
}
# Expected values, and how far off it may be (standard deviation of the
# logarithm): clocks of instructions and caches by microbenchmarks that are
# published for Hopper, mma.sync at 62 % of the peak, copies from pageable
# memory at 4 to 12 GB/s.
PRIORS = {
    "callSeconds": (30e-6, 0.4), "launchSeconds": (1.6e-6, 0.3),
    "hostRate": (6e9, 0.35), "memoryShare": (0.8, 0.1),
    "cacheBytes": (23, 0.2), "accessBytes": (40, 0.3),
    "accessShare": (0.7, 0.3), "narrowCost": (2, 0.5),
    "otherShare": (0.7, 0.3), "issueShare": (0.7, 0.2),
    "issueExponent": (0.3, 0.5), "tensorShare": (0.5, 0.2),
    "tensorExponent": (0.4, 0.5), "barrierSeconds": (0.15e-6, 0.7),
    "waitSeconds": (0.7e-6, 0.5), "exponent": (2, 0.3),
}
PRIOR_WEIGHT = 0.003


# ---- Launches --------------------------------------------------------------


def read_plan(plan):
    """Rows of COLUMNS from what --dry-run --json printed."""
    rows = {}
    for launch in plan["launches"]:
        counts = plan["kernels"].get(launch["kernel"])
        row = {name: 0 for name in COLUMNS}
        row["kernel"] = launch["kernel"]
        row["kind"] = launch["kinds"][0] if launch["kinds"] else "copy"
        row["bytes"] = launch["read_bytes"] + launch["written_bytes"]
        if "grid" in launch:
            if not counts:
                sys.exit(
                    "fit_device_times.py: error: the plan has no counts of"
                    f" kernel '{launch['kernel']}'"
                )
            row["blocks"] = int(np.prod(launch["grid"]))
            row["threads"] = int(np.prod(launch["block"]))
            row["shared"] = launch["shared"] + counts["static_shared"]
            for plural in ("loads", "stores", "copies"):
                singular = {"copies": "copy"}.get(plural, plural[:-1])
                for width, number in zip(WIDTHS, counts[plural]):
                    row[f"{singular}{width}"] = number
            for name in COLUMNS[COLUMNS.index("shared_words"):]:
                row[name] = counts[name]
            row["registers"] = counts["registers"]
        key = tuple(v for n, v in row.items() if n not in ("times", "kernel"))
        rows.setdefault(key, row)["times"] += 1
    return list(rows.values())


def copies_of_next(plan):
    """A call's copies on the device of inputs that came during the call before:
    rows of COLUMNS."""
    rows = []
    for size in plan["next_inputs"]:
        row = {name: 0 for name in COLUMNS}
        row.update(times=1, kernel="next", kind="copy", bytes=2 * size)
        rows.append(row)
    return rows


def to_step(plan):
    """The launches and bytes of a plan, as read_steps has them; large inputs are
    copied during the call before."""
    return {
        "launches": to_arrays(read_plan(plan) + copies_of_next(plan)),
        "is_call": True, "batch": plan["input_bytes"] - plan["state_bytes"],
        "next": sum(plan["next_inputs"]),
    }


def to_arrays(rows):
    """Columns as arrays; `is_launch` tells launches from copies."""
    launches = {
        name: np.array([float(row[name]) for row in rows])
        for name in COLUMNS if name not in ("kernel", "kind")
    }
    launches["is_launch"] = launches["blocks"] > 0
    launches["blocks"] = np.maximum(launches["blocks"], 1)
    launches["threads"] = np.maximum(launches["threads"], 1)
    return launches


# ---- The formula of DeviceTime.h -------------------------------------------


def power_share(active, needed, exponent):
    return np.minimum(1, (active / needed) ** exponent)


def predict(launches, constants, device):
    """Seconds of each launch, the gap before it included."""
    a, c = launches, constants
    processors, clock = device["processors"], device["clock"] * c["clockShare"]
    warps = a["threads"] / 32
    per = np.ceil(a["blocks"] / processors)
    registers = np.ceil(np.maximum(a["registers"], 16) / 8) * 8
    resident = np.minimum.reduce([
        65536 // (registers * a["threads"]), device["threads"] // a["threads"],
        np.full_like(per, device["blocks"]),
        device["shared"] // np.maximum(a["shared"], 1),
    ])
    resident = np.maximum(resident, 1)
    numbers = [a[f"load{w}"] + a[f"store{w}"] + a[f"copy{w}"] for w in WIDTHS]
    accessed = sum(n * w for n, w in zip(numbers, WIDTHS))
    clocks = a["shared_words"] + sum(
        n * max(c["narrowCost"] if w < 4 else 1, w * 32 / 128)
        for n, w in zip(numbers, WIDTHS)
    )
    instructions = (
        sum(numbers) + a["shared_words"] / 2 + a["floats"] + a["special"]
        + c["otherShare"] * a["other"] + a["tensor"] / 64
    )
    active = np.minimum(per, resident) * warps / 4
    issue = 4 * clock * c["issueShare"] * power_share(
        active, c["issueWarps"], c["issueExponent"]
    )
    tensor = device["tensor"] / processors * c["tensorShare"] * power_share(
        active, c["tensorWarps"], c["tensorExponent"]
    )
    busy = np.where(a["is_launch"], np.minimum(a["blocks"], processors), processors)
    cache = busy * c["cacheBytes"] * clock
    memory = np.minimum(cache, c["memoryShare"] * device["bandwidth"])
    fits = a["bytes"] < c["cacheShare"] * device["cache"]
    threads = per * a["threads"]
    terms = [
        a["bytes"] / np.where(fits, cache, memory),
        threads * accessed / (c["accessBytes"] * clock),
        per * warps * clocks / (c["accessShare"] * clock),
        threads * 2 * a["tensor"] / tensor,
        per * warps * instructions / issue,
        threads * 2 * a["doubles"] / (device["double"] / processors),
        threads * a["special"] / (16 * clock),
        np.ceil(per / resident)
        * (c["barrierSeconds"] * a["barriers"] + c["waitSeconds"] * a["waits"]),
    ]
    power = sum(np.maximum(term, 1e-15) ** c["exponent"] for term in terms)
    return c["launchSeconds"] + power ** (1 / c["exponent"])


def predict_step(step, constants, device):
    launches = step["launches"]
    seconds = float(np.sum(launches["times"] * predict(launches, constants, device)))
    if step["is_call"]:
        seconds = max(seconds, step["next"] / constants["hostRate"])
        batch = step["batch"] - step["next"]
        seconds += constants["callSeconds"] + batch / constants["hostRate"]
    return seconds


# ---- The fit ---------------------------------------------------------------


class Rows:
    """Steps whose launches are predicted together, which is faster."""

    def __init__(self, steps):
        self.steps = steps
        parts = [step["launches"] for step in steps]
        self.launches = {n: np.concatenate([p[n] for p in parts]) for n in parts[0]}
        sizes = [len(part["times"]) for part in parts]
        self.starts = np.cumsum([0, *sizes[:-1]])
        self.measured = np.array([step["seconds"] for step in steps])
        self.is_call = np.array([float(step["is_call"]) for step in steps])
        self.next = np.array([step["next"] for step in steps])
        self.batch = np.array([step["batch"] for step in steps]) - self.next

    def errors(self, constants, device):
        seconds = self.launches["times"] * predict(self.launches, constants, device)
        call = constants["callSeconds"] + self.batch / constants["hostRate"]
        found = np.add.reduceat(seconds, self.starts)
        found = np.maximum(found, self.is_call * self.next / constants["hostRate"])
        found += self.is_call * call
        return np.log(found / self.measured)


def errors(steps, constants, device):
    return Rows(steps).errors(constants, device)


def residuals(logs, rows, device):
    constants = {**FIXED, **dict(zip(PRIORS, np.exp(logs)))}
    middle = np.array([np.log(value) for value, _ in PRIORS.values()])
    width = np.array([width for _, width in PRIORS.values()])
    distance = (logs - middle) / width * PRIOR_WEIGHT**0.5
    return np.concatenate([rows.errors(constants, device), distance])


def fit(steps, device):
    """Levenberg and Marquardt's method, from the constants of PRIORS."""
    rows = Rows(steps)
    logs = np.array([np.log(value) for value, _ in PRIORS.values()])
    found, damping = residuals(logs, rows, device), 1e-2
    for _ in range(60):
        slopes = np.empty((len(found), len(logs)))
        for index in range(len(logs)):
            moved = logs.copy()
            moved[index] += 1e-4
            slopes[:, index] = (residuals(moved, rows, device) - found) / 1e-4
        square = slopes.T @ slopes
        while True:
            damped = square + damping * np.diag(np.diag(square))
            change = -np.linalg.solve(damped, slopes.T @ found)
            tried = residuals(logs + change, rows, device)
            if tried @ tried < found @ found or damping > 1e6:
                break
            damping *= 4
        gain = found @ found - tried @ tried
        if gain < 1e-10:
            break
        logs, found, damping = logs + change, tried, damping / 4
    return {**FIXED, **dict(zip(PRIORS, (float(x) for x in np.exp(logs))))}


def left_out_errors(steps, device):
    result = []
    for index, step in enumerate(steps):
        others = steps[:index] + steps[index + 1:]
        result.append(errors([step], fit(others, device), device)[0])
    return np.array(result)


def worst_step(steps, left_out):
    """The largest error of a whole step."""
    return max(abs(e) for e, step in zip(left_out, steps) if step["is_call"])


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


# ---- Files -----------------------------------------------------------------


def read_steps():
    steps = []
    with open(STEPS / "steps.csv", newline="") as file:
        for row in csv.DictReader(file):
            with open(STEPS / f"{row['name']}.csv", newline="") as stored:
                launches = to_arrays(list(csv.DictReader(stored)))
            steps.append({
                "name": row["name"], "seconds": float(row["ms"]) / 1e3,
                "is_call": row["of"] == "call", "batch": float(row["batch"]),
                "next": float(row.get("next") or 0), "launches": launches,
            })
    return steps


def read_table():
    """The errors and constants of DeviceTimes.def."""
    text = TABLE.read_text()
    device = re.search(r"MP_DEVICE\((\w+), ([\d.e-]+), ([\d.e-]+)\)", text)
    constants = re.findall(r"MP_DEVICE_CONSTANT\((\w+), ([\d.e+-]+)\)", text)
    return (
        (float(device[2]), float(device[3])),
        {name: float(value) for name, value in constants},
    )


ORDER = [
    "callSeconds", "launchSeconds", "hostRate", "clockShare", "memoryShare",
    "cacheShare", "cacheBytes", "accessBytes", "accessShare", "narrowCost",
    "otherShare", "issueShare", "issueWarps", "issueExponent", "tensorShare",
    "tensorWarps", "tensorExponent", "barrierSeconds", "waitSeconds",
    "exponent",
]


def write_table(constants, error, left_out):
    head = TABLE.read_text().split("MP_DEVICE(h200")[0]
    lines = [f"MP_DEVICE(h200, {error:.3f}, {left_out:.3f})"]
    lines += [
        f"MP_DEVICE_CONSTANT({name}, {constants[name]:.5g})" for name in ORDER
    ]
    tail = "MP_DEVICE_END\n\n#undef MP_DEVICE\n#undef MP_DEVICE_CONSTANT\n#undef MP_DEVICE_END\n"
    TABLE.write_text(head + "\n".join(lines) + "\n" + tail)


def store(plan, name, milliseconds, kind, copies_before=False):
    with open(STEPS / f"{name}.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in read_plan(plan) + copies_of_next(plan) * copies_before:
            writer.writerow({
                n: f"{v:.4g}" if isinstance(v, float) else v for n, v in row.items()
            })
    path = STEPS / "steps.csv"
    rows = []
    if path.exists():
        with open(path, newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["name"] != name]
    batch = plan["input_bytes"] - plan["state_bytes"]
    rows.append({
        "name": name, "ms": milliseconds, "of": kind, "batch": batch,
        "next": sum(plan["next_inputs"]) if copies_before else 0,
    })
    with open(path, "w", newline="") as file:
        columns = ["name", "ms", "of", "batch", "next"]
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


# ---- Commands --------------------------------------------------------------


def show(steps, constants, device, left_out):
    print("| step | measured ms | predicted | error | left out |")
    print("|---|---:|---:|---:|---:|")
    for step, out in zip(steps, left_out):
        seconds = predict_step(step, constants, device)
        print(
            f"| {step['name']} | {step['seconds'] * 1e3:.3g} |"
            f" {seconds * 1e3:.3g} |"
            f" {100 * (seconds / step['seconds'] - 1):+.0f} % |"
            f" {100 * (np.exp(out) - 1):+.0f} % |"
        )


def check(steps, device):
    (error, worst), constants = read_table()
    found = rms(errors(steps, constants, device))
    left_out = worst_step(steps, left_out_errors(steps, device))
    print(f"root mean square {found:.3f}, worst row left out {left_out:.3f}")
    wrong = []
    if found > MAX_ERROR or left_out > MAX_LEFT_OUT:
        wrong.append(
            f"expected at most {MAX_ERROR} and, left out, {MAX_LEFT_OUT}"
        )
    if abs(found - error) > 2e-3 or abs(left_out - worst) > 5e-3:
        wrong.append(
            f"{TABLE.name} says {error} and {worst}: write it again (--write)"
        )
    if wrong:
        sys.exit("fit_device_times.py: error: " + "; ".join(wrong))


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--write", action="store_true")
    add("--check", action="store_true")
    add("--store", nargs=3, metavar=("PLAN", "NAME", "MS"))
    add("--launches", action="store_true", help="MS is that of launches alone")
    add(
        "--copies-before", action="store_true",
        help="MS is of steps as in training, whose large inputs were copied during"
        " the step before; calls of libraries, as in gpu-check.sh, copy their own",
    )
    add("--predict", metavar="PLAN")
    return parser.parse_args()


def main():
    arguments = parse()
    device = DEVICES["h200"]
    if arguments.store:
        plan, name, milliseconds = arguments.store
        plan = json.loads(pathlib.Path(plan).read_text())
        kind = "launches" if arguments.launches else "call"
        store(plan, name, milliseconds, kind, arguments.copies_before)
        return
    if arguments.predict:
        plan = json.loads(pathlib.Path(arguments.predict).read_text())
        _, constants = read_table()
        seconds = predict_step(to_step(plan), constants, device)
        print(json.dumps({"seconds": seconds}))
        return
    steps = read_steps()
    if arguments.check:
        check(steps, device)
        return
    constants = fit(steps, device)
    left_out = left_out_errors(steps, device)
    show(steps, constants, device, left_out)
    error = rms(errors(steps, constants, device))
    worst = worst_step(steps, left_out)
    print(
        f"root mean square {error:.3f}; left out {rms(left_out):.3f},"
        f" worst step {worst:.3f}"
    )
    for name in ORDER:
        print(f"  {name} {constants[name]:.4g}")
    if arguments.write:
        write_table(constants, error, worst)


if __name__ == "__main__":
    main()
