# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports the architectures, and writes what torch makes of the same batch.

usage: python build_models.py FOLDER [--only NAME ...] [--few]

FOLDER/models/ARCH.WEIGHTS.EXPORT.onnx  as the exporter wrote it; beside it a
    .json: how it was exported, its truth, the names of parameters and buffers,
    groups of tied names
FOLDER/truth/ARCH.WEIGHTS.MODE.npz      in:NAME (the batch), labels,
    param:NAME (where training starts), grad:NAME (in float64), loss,
    curve (losses of 40 steps of AdamW in fp32)
FOLDER/truth/ARCH.WEIGHTS.MODE.json     RMS of the errors of torch's own
    gradients against float64: fp32, and autocast in bf16 and fp16

WEIGHTS is fresh (ones and zeros where modules begin with these), perturbed
(none of them left) or half (fresh, in fp16); MODE is train or eval.
--few: the twenty exports of ten architectures that are compared by default.
"""

import argparse
import copy
import json
import os
import pathlib
import sys
import traceback
import warnings

import numpy as np
import onnx
import torch

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "examples" / "training"))
import export_torch as recipe  # noqa: E402

import architectures  # noqa: E402

STEPS, RATE, DECAY = 40, 1e-3, 0.01
FIRST_SCALE = 65536.0  # of torch's GradScaler
# The arguments of torch.onnx.export, and the module's mode.
EXPORTS = {
    "dynamo-raw": ("train", "dynamo", {}),
    "dynamo-optimized": ("train", "dynamo", {"optimize": True}),
    "dynamo-inference": ("eval", "dynamo", {"optimize": True}),
    "script-training": ("train", "script", {}),
    "script-inference": ("eval", "script", {"do_constant_folding": True}),
}
# Each architecture gets other opsets than its neighbours.
OPSETS = {"dynamo": (18, 20, 21, 22, 23), "script": (14, 15, 17, 18, 20)}
HALF = ("gpt2", "llama", "vit_timm", "mask_token", "gru")
FEW = (
    "bert", "gpt2", "llama", "t5", "vit_timm", "swin", "convnext", "resnet18",
    "nerf", "lstm_tagger",
)  # fmt: skip


def autocast_gradients(module, inputs, labels, dtype):
    """As GradScaler has them: a scale that is halved until all is finite."""
    scale = FIRST_SCALE if dtype == torch.float16 else 1.0
    while True:
        copied = copy.deepcopy(module)
        with torch.autocast("cpu", dtype=dtype):
            output = copied(*inputs)
        loss = recipe.loss_of(output.float(), labels, "mse", 1)
        (loss * scale).backward()
        found = {
            n: p.grad.double().numpy() / scale
            for n, p in copied.named_parameters()
            if p.grad is not None
        }
        if all(np.isfinite(g).all() for g in found.values()) or scale < 2:
            return found
        scale /= 2


def errors_of_torch(module, inputs, labels, exact):
    """RMS of each gradient's error, by type; None where autocast fails."""
    _, single = recipe.torch_gradients(module, inputs, labels, "mse", 1, False)
    found = {"fp32": single}
    for name, dtype in (("bf16", torch.bfloat16), ("fp16", torch.float16)):
        try:
            found[name] = autocast_gradients(module, inputs, labels, dtype)
        except RuntimeError:
            found[name] = None
    return {
        dtype: gradients
        and {n: recipe.rms(gradients[n] - exact[n]) for n in exact}
        for dtype, gradients in found.items()
    }


def learning_curve(module, inputs, labels):
    module, losses = copy.deepcopy(module), []
    optimizer = torch.optim.AdamW(
        module.parameters(), lr=RATE, weight_decay=DECAY
    )
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = recipe.loss_of(module(*inputs), labels, "mse", 1)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses)


def write_truth(module, inputs, path, names):
    labels = recipe.make_labels(module, inputs, "mse", 1)
    float_module = copy.deepcopy(module).float()
    floats = [v.float() if v.is_floating_point() else v for v in inputs]
    loss, exact = recipe.torch_gradients(module, inputs, labels, "mse", 1)
    arrays = {f"in:{n}": v.numpy() for n, v in zip(names, inputs)}
    arrays.update({f"grad:{n}": g.astype(np.float32) for n, g in exact.items()})
    for name, parameter in module.named_parameters():
        arrays[f"param:{name}"] = parameter.detach().numpy()
    arrays["labels"], arrays["loss"] = labels.numpy(), np.float64(loss)
    arrays["curve"] = learning_curve(float_module, floats, labels.float())
    with torch.no_grad():
        arrays["output"] = copy.deepcopy(module)(*inputs).numpy()
    np.savez_compressed(path, **arrays)
    errors = errors_of_torch(float_module, floats, labels.float(), exact)
    path.with_suffix(".json").write_text(json.dumps(errors))


def forward_error(path, truth):
    """How far onnxruntime's output of the export is from torch's."""
    feeds = {n[3:]: truth[n] for n in truth.files if n.startswith("in:")}
    try:
        results = recipe.run_step(path, feeds)
    except Exception as error:
        return str(error)[:200]
    output = results[next(iter(results))].astype(np.float64)
    expected = truth["output"]
    if output.shape != expected.shape:
        return f"output of shape {output.shape}, expected {expected.shape}"
    return recipe.rms(output - expected) / max(recipe.rms(expected), 1e-30)


def write_model(module, inputs, path, export, truth, number):
    mode, exporter, settings = EXPORTS[export]
    opset = OPSETS[exporter][number % len(OPSETS[exporter])]
    recipe.export(module, inputs, path, exporter, opset, **settings)
    model = onnx.load(path, load_external_data=False)
    described = {
        "exporter": exporter,
        "export": export,
        "mode": mode,
        "opset": max(o.version for o in model.opset_import if not o.domain),
        "truth": truth.name,
        "flags": ["--loss=mse"],
        "parameters": [n for n, _ in module.named_parameters()],
        "buffers": [n for n, _ in module.named_buffers()],
        "tied": [n for n in recipe.find_aliases(module) if len(n) > 1],
        "forward_error": forward_error(path, np.load(truth)),
    }
    path.with_suffix(".json").write_text(json.dumps(described, indent=1))


def build(folder, name, weights, exports, number):
    for mode in ("train", "eval"):
        wanted = [e for e in exports if EXPORTS[e][0] == mode]
        missing = [
            e
            for e in wanted
            if not (folder / "models" / f"{name}.{weights}.{e}.json").exists()
        ]
        if not missing:
            continue
        module, inputs = architectures.make(name, weights == "perturbed")
        module.train(mode == "train")
        if weights == "half":
            module = module.half()
            inputs = [v.half() if v.is_floating_point() else v for v in inputs]
        inputs = tuple(inputs)
        truth = folder / "truth" / f"{name}.{weights}.{mode}.npz"
        if not truth.exists():
            write_truth(module, inputs, truth, recipe.input_names(module, inputs))
        for export in missing:
            path = folder / "models" / f"{name}.{weights}.{export}.onnx"
            try:
                write_model(module, inputs, path, export, truth, number)
                print(f"{path.stem}", flush=True)
            except Exception as error:
                path.unlink(missing_ok=True)
                text = str(error).strip().split("\n")[0][:300]
                print(f"{path.stem}: {type(error).__name__}: {text}", flush=True)
                path.with_suffix(".failed").write_text(traceback.format_exc())


def plan(few, only):
    """Architecture, weights, exports and a number, one after the other."""
    pairs = ["dynamo-raw", "script-training"]
    for number, name in enumerate(architectures.ARCHITECTURES):
        if only and name not in only:
            continue
        if few:
            if name in FEW or only:
                yield name, "fresh", pairs, number
            continue
        yield name, "fresh", list(EXPORTS), number
    for number, name in enumerate(architectures.ARCHITECTURES):
        if few or only and name not in only:
            continue
        yield name, "perturbed", pairs, number + 2
        if name in HALF:
            yield name, "half", pairs, number + 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--few", action="store_true")
    options = parser.parse_args()
    for part in ("models", "truth"):
        (options.folder / part).mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore")
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    for part in plan(options.few, options.only):
        try:
            build(options.folder, *part)
        except Exception as error:
            print(f"{part[0]}.{part[1]}: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
