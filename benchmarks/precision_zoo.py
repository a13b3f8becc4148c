#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes models with data, which judge attribution and targets of precision.

    benchmarks/precision_zoo.py FOLDER
    benchmarks/precision_zoo.py FOLDER --only 'gpt|resnet' --check
    benchmarks/precision_zoo.py OTHER --held-out
    benchmarks/precision_zoo.py MORE --deployed

Needs torch, timm, transformers, onnx and onnxruntime: the environment
venv-torch has them (benchmarks/README.md). FOLDER/NAME has

    model.onnx, batch0.npz ...   a model and its inputs, by name
    train.onnx, train0.npz ...   the same network as training needs it, with
                                 labels
    zoo.json                     family, weights (fresh or trained), exporter,
                                 opset, nodes, operators with kinks, loss

Everything is made from fixed seeds. Entries that exist are kept; --held-out
makes other models, on which nothing may be tuned. --check runs the models with
mp-run and onnxruntime in fp32, and writes check.json.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import sys

CACHE = pathlib.Path(
    os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")
)
TOOLS = pathlib.Path(__file__).resolve().parent.parent / "build" / "bin"


def entries(is_held_out, is_deployed, wheels):
    """Names, and functions that write an entry into a folder."""
    from zoo import deployed, export, recipes, stored

    if is_deployed:
        for entry in deployed.entries():
            yield entry.name, lambda f, e=entry: deployed.write(e, f)
        return

    made = recipes.held_out_recipes() if is_held_out else recipes.seen()
    for recipe in made:
        for weights in recipe.weights:
            yield (
                f"{recipe.name}.{weights}",
                lambda f, r=recipe, w=weights: export.write(r, w, f),
            )
    if not is_held_out:
        for name, kind, write in stored.stored_entries():
            yield f"{name}.{kind}", write
    packaged = stored.PACKAGED_HELD_OUT if is_held_out else stored.PACKAGED
    for entry in packaged:
        yield (
            f"{entry.name}.package",
            lambda f, e=entry: stored.write_packaged(e, f, wheels),
        )


def write_entry(name, write, folder):
    """Makes the entry in a folder of its own; it appears when complete."""
    from zoo import graphs

    part = folder / f".{name}"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    facts = {"name": name, **write(part)}
    facts.update(graphs.facts_of(part / facts["outputs"]["model"]))
    text = json.dumps(facts, indent=1)
    (part / "zoo.json").write_text(text + "\n", encoding="utf-8")
    part.rename(folder / name)
    return facts


def make(arguments):
    """Messages of the entries that cannot be made."""
    failed = []
    for name, write in entries(
        arguments.held_out, arguments.deployed, arguments.wheels
    ):
        if not re.search(arguments.only, name):
            continue
        if arguments.list:
            print(name)
            continue
        if (arguments.folder / name / "zoo.json").exists():
            continue
        try:
            facts = write_entry(name, write, arguments.folder)
        except Exception as error:
            text = str(error).strip().split("\n")[0][:300]
            failed.append(f"{name}: {type(error).__name__}: {text}")
            print(failed[-1], flush=True)
            continue
        kinks = ", ".join(f"{n} {o}" for o, n in facts["kinks"].items())
        loss = facts.get("loss", [])
        steps = f", loss {loss[0]:.2f} to {loss[1]:.3f}" if loss else ""
        print(
            f"{name}: {facts['nodes']} nodes, opset {facts['opset']},"
            f" {kinks or 'smooth'}{steps}",
            flush=True,
        )
    return failed


def check(arguments):
    """Number of models that fail or differ."""
    from zoo import check as checks

    wrong = 0
    for path in sorted(arguments.folder.glob("*/zoo.json")):
        entry = json.loads(path.read_text(encoding="utf-8"))
        target = path.parent / "check.json"
        if not re.search(arguments.only, entry["name"]) or target.exists():
            continue
        found = checks.check_entry(
            arguments.mp_opt, arguments.mp_run, path.parent, entry
        )
        target.write_text(json.dumps(found, indent=1), encoding="utf-8")
        for kind, result in found.items():
            text = checks.describe(result)
            wrong += "failed" in result or "DIFFERS" in text
            print(f"{entry['name']:32} {kind:10} {text}", flush=True)
    return wrong


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("folder", metavar="FOLDER", type=pathlib.Path)
    add("--held-out", action="store_true", help="make the other models")
    add("--deployed", action="store_true",
        help="make models in the forms that users deploy")  # fmt: skip
    add("--only", default="", metavar="REGEX", help="entries of these names")
    add("--list", action="store_true", help="print the names and make nothing")
    add("--check", action="store_true", help="run the models in fp32 as well")
    add("--mp-opt", default=os.environ.get("MP_OPT", TOOLS / "mp-opt"))
    add("--mp-run", default=os.environ.get("MP_RUN", TOOLS / "mp-run"))
    add("--wheels", default=CACHE / "mp-opt" / "zoo-wheels", metavar="DIR",
        type=pathlib.Path, help="where Python packages are kept")  # fmt: skip
    return parser.parse_args()


def main():
    arguments = parse()
    import torch

    torch.set_num_threads(1)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    failed = make(arguments)
    wrong = check(arguments) if arguments.check else 0
    if failed:
        print(f"{len(failed)} entries failed", file=sys.stderr)
    return 1 if failed or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
