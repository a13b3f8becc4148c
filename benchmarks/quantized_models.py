#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes quantized models, converts them, and compares the results.

    benchmarks/quantized_models.py FOLDER
    benchmarks/quantized_models.py FOLDER --only 'resnet|bert'

Needs onnx and onnxruntime. FOLDER gets NAME.onnx and its inputs, NAME.npz, for
each model of benchmarks/zoo/quantized.py, NAME.fp16.onnx and NAME.bf16.onnx.
Each result must pass the checker and strict inference. The table has, for each
model,

    pairs     nodes QuantizeLinear and DequantizeLinear
    fp16      those of which the scale is fp16 afterwards; casts inside and
              after pairs; the error against the model before, both in
              onnxruntime without its optimizations
    bf16      the same; the error is that of mp-run
    quantized the error of the quantized model against the model of floats

Errors are relative root mean squares of the worst output.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx

from zoo import check, pairs, quantized

TOOLS = pathlib.Path(__file__).resolve().parent.parent / "build" / "bin"


def valid(model):
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(
        model, check_type=True, strict_mode=True, data_prop=True
    )


def run_compiled(mp_run, path, inputs):
    with tempfile.TemporaryDirectory() as folder:
        outputs = pathlib.Path(folder) / "outputs.npz"
        check.run([mp_run, "run", path, inputs, "-o", outputs])
        held = np.load(outputs)
        return {
            name.removeprefix("out:"): held[name]
            for name in held.files
            if not name.startswith("in:")
        }


def judge(arguments, recipe, dtype):
    """Pair nodes in 16 bit, casts, and the error or the reason of none."""
    source = arguments.folder / f"{recipe.name}.onnx"
    target = arguments.folder / f"{recipe.name}.{dtype}.onnx"
    check.run([arguments.mp_opt, source, f"--mixed-{dtype}", "--summary=none",
               "-o", target])  # fmt: skip
    model = onnx.load(target)
    valid(model)
    kinds = pairs.scale_types(model)
    low = kinds["FLOAT16" if dtype == "fp16" else "BFLOAT16"]
    inputs = source.with_suffix(".npz")
    feeds = dict(np.load(inputs))
    expected = check.onnxruntime_results(source, feeds)
    try:
        found = (
            check.onnxruntime_results(target, feeds)
            if dtype == "fp16"
            else run_compiled(arguments.mp_run, target, inputs)
        )
        error = f"{check.difference(found, expected):.1e}"
    except Exception as failure:
        print(f"{recipe.name}.{dtype}: {failure}", file=sys.stderr)
        error = "-"
    return low, len(pairs.casts_in_pairs(model)), error


def row(arguments, recipe):
    model, feeds = quantized.make(recipe)
    path = arguments.folder / f"{recipe.name}.onnx"
    onnx.save(model, path)
    np.savez(path.with_suffix(".npz"), **feeds)
    floats = quantized.MODELS / recipe.source / "model.onnx"
    loss = check.difference(
        check.onnxruntime_results(path, feeds),
        check.onnxruntime_results(floats, feeds),
    )
    cells = [recipe.name, str(sum(pairs.scale_types(model).values()))]
    for dtype in ("fp16", "bf16"):
        cells += map(str, judge(arguments, recipe, dtype))
    return [*cells, f"{loss:.1e}"]


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("folder", metavar="FOLDER", type=pathlib.Path)
    add("--only", default="", metavar="REGEX", help="models of these names")
    add("--mp-opt", default=os.environ.get("MP_OPT", TOOLS / "mp-opt"))
    add("--mp-run", default=os.environ.get("MP_RUN", TOOLS / "mp-run"))
    return parser.parse_args()


def main():
    arguments = parse()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    print("| model | pairs | fp16 | casts | error | bf16 | casts | error "
          "| quantized |")  # fmt: skip
    print("|" + "---|" * 9)
    for recipe in quantized.RECIPES:
        if re.search(arguments.only, recipe.name):
            print("| " + " | ".join(row(arguments, recipe)) + " |", flush=True)


if __name__ == "__main__":
    main()
