#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A folder, and an archive of it, to take to a machine with a GPU: libraries of
models and steps, what they have to compute, and what runs and compares them.

    benchmarks/device_kit.py build/gpu-check
    benchmarks/device_kit.py kit --models=product-bf16,mlp784-fp16

scripts/gpu-check.sh makes and runs it. Entries are small kernels, all models
of test/models forward and all training steps there (eight steps of AdamW), in
fp32, bf16 and fp16 with dynamic loss scaling, large products, and steps of
larger models: encoders of 6 layers of width 512 and of 12 of 768, 16 x 128
tokens, and ResNet-18, 16 images of 224 pixels. What is expected is what the
processor's library of the same model gives; bounds are those of the tests of
the emulated device, and for 16-bit outputs of forward models what test/Support
allows.

With --large or in --models there are also steps of large_models.py (gpt2-bf16,
bert-large-bf16, resnet50-bf16, and small-gpt-bf16 for tests): torch's
environment exports them, and the processor's results take minutes and 16 GB.

An entry is NAME.so, NAME.txt (device_check.c reads it), NAME.plan.json (what
bench --dry-run says of each launch, for comparison with launches.jsonl) and
NAME.bin, the data of its lines one after another:

    library NAME.so PREFIX CALLS
    work BYTES FLOP LAUNCHES SECONDS-ON-H100 SECONDS-ON-H200
    give CALL INPUT BYTES
    again CALL INPUT BYTES      what it had in the call before
    fill INPUT uniform|constant VALUE
    expect CALL OUTPUT BYTES max|rms|exact BOUND
"""

import argparse
import concurrent.futures
import dataclasses
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import cases
import large_models
import make_models
import numpy as np
import onnx

for folder in ("Support", "Run"):
    sys.path.insert(0, str(cases.ROOT / "test" / folder))
import schema_types  # noqa: E402
import support  # noqa: E402
from libraries import TYPES, Library  # noqa: E402

PRECISIONS = {
    "fp32": (),
    "bf16": ("--mixed-bf16",),
    "fp16": ("--mixed-fp16", "--loss-scale=dynamic"),
}
OPTIMIZER = "--optimizer=adamw:eps=1e-6,mode=1"
STEPS, LONGEST = 8, 600
HEAD = '<ir_version: 9, opset_import: ["" : 21]>\n'
SMALL = {
    "map": "net (float[1000,37] x, float[37] w) => (float[1000,37] y)"
    " { a = Mul(x, w)\n b = Tanh(a)\n y = Add(b, x) }",
    "rows": "net (float[300,200] x) => (float[300,200] y) { y = Softmax(x) }",
    "columns": "net (float[3000,70] x) => (float[70] y) <int64[1] axes = {0}>"
    " { y = ReduceSum<keepdims = 0>(x, axes) }",
    "product": "net (float[200,136] x, float[136,72] w) => (float[200,72] y)"
    " { y = MatMul(x, w) }",
}


@dataclasses.dataclass
class Entry:
    name: str
    stage: str
    # Writes the model to compile to a path.
    write: object
    flags: tuple
    # Arrays by their names, for each call.
    calls: list
    # The measure and the bound of an output, by its name; None: not compared.
    bound: object
    fill: bool = False


def run(*command):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True,
        timeout=LONGEST,
    )
    if done.returncode:
        raise RuntimeError(f"{command[0].name}: {done.stderr.strip()}")
    return done.stdout


def converter(tools, source, flags):
    """Writes what mp-opt makes of a model."""

    def write(path):
        run(tools["opt"], source, *flags, "--summary=none", "-o", path)

    return write


def random_inputs(model, seed=0):
    """Normal values for all inputs of a small model."""
    random = np.random.default_rng(seed)
    return {
        value.name: random.standard_normal(
            [d.dim_value for d in value.type.tensor_type.shape.dim], np.float32
        )
        for value in model.graph.input
    }


def forward_bound(precision, path, output):
    """As test_forward_models of test/Run/Device/test_device.py; what so many 16-bit
    nodes in a row may be off, as test/Precision has it."""
    if precision == "fp32":
        return "max", 1e-5
    model = onnx.load(path, load_external_data=False)
    types, _ = schema_types.infer(model)
    depth = support.rounding_depth(model, types, precision)
    return "rms", support.error_bound(depth, precision)


def loss_bound(name, precision, path, output):
    """As test_curves of test/Run/Device/test_device.py."""
    if output != "loss":
        return None
    bounds = (1e-2, 5e-2) if "resnet" in name else (1e-3, 1e-2)
    return "max", bounds[precision != "fp32"]


def exact_bound(path, output):
    """States of steps that are all skipped."""
    scaled = "scale" in output or "skip" in output
    return None if scaled or not output.endswith("_new") else ("exact", 0)


def small_entries(tools):
    for name, text in SMALL.items():
        source = tools["work"] / f"{name}.onnxtxt"
        source.write_text(HEAD + text)
        model = onnx.parser.parse_model(HEAD + text)
        for precision in PRECISIONS if name == "product" else ("fp32",):
            flags = PRECISIONS[precision][:1]
            yield Entry(
                f"{name}-{precision}", "small",
                converter(tools, source, flags), (),
                [random_inputs(model)],
                functools.partial(forward_bound, precision),
            )


def forward_entries(tools):
    for folder in sorted((cases.MODELS / "fwd").iterdir()):
        source = folder / "model.onnx"
        data = cases.load_inputs(folder / "io0.npz")
        for precision, flags in PRECISIONS.items():
            yield Entry(
                f"{folder.name}-{precision}", "models",
                converter(tools, source, flags[:1]), (), [data],
                functools.partial(forward_bound, precision),
            )


def step_flags(name, precision, rate=1e-3):
    loss = "mse" if name == "mlp_mse" else cases.LOSS
    return (
        "--train", f"--loss={loss}", OPTIMIZER, f"--lr={rate}",
        *PRECISIONS[precision],
    )


def train_entries(tools):
    for folder in sorted((cases.MODELS / "train").iterdir()):
        name, source = folder.name, folder / "forward.onnx"
        rate = json.loads((folder / "curve.json").read_text())
        rate = rate["fp32"]["adamw"]["lr"]
        with np.load(folder / "data.npz") as read:
            data = dict(read)
        count = min(STEPS, *(len(value) for value in data.values()))
        calls = [{n: v[i] for n, v in data.items()} for i in range(count)]
        for precision in PRECISIONS:
            flags = step_flags(name, precision, rate)
            yield Entry(
                f"{name}-{precision}",
                "small" if name == "mlp_mse" else "models",
                converter(tools, source, flags), ("--in-place",), calls,
                functools.partial(loss_bound, name, precision),
            )
        if name == "mlp784":
            flags = step_flags(name, "fp16")[:-1]
            scale = "--loss-scale=dynamic:init=1e30,cap=1e38"
            yield Entry(
                "skipped-fp16", "small",
                converter(tools, source, (*flags, scale)), ("--in-place",),
                calls[:3], exact_bound,
            )


def wide_entries(tools):
    """Products that fill a device: how fast tensor cores are kept."""
    size = 4096
    text = (
        f"net (float[{size},{size}] x, float[{size},{size}] w)"
        f" => (float[{size}] z) <int64[1] axes = {{1}}>"
        " { y = MatMul(x, w)\n z = ReduceSum<keepdims = 0>(y, axes) }"
    )
    model = onnx.parser.parse_model(HEAD + text)
    random = np.random.default_rng(0)
    for name in ("x", "w"):
        # Only the spread of the values is kept, see take_defaults.
        values = random.standard_normal((size, size), np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
    source = tools["work"] / "wide.onnx"
    onnx.save(model, source)
    for precision in ("fp32", "tf32", "bf16", "fp16"):
        flags = PRECISIONS.get(precision, ())[:1]
        extra = ("--fp32-products=tf32",) if precision == "tf32" else ()
        bound = 1e-5 if precision == "fp32" else 1e-2
        yield Entry(
            f"wide-{precision}", "big", converter(tools, source, flags), extra,
            [{}], lambda path, output, bound=bound: ("rms", bound), True,
        )


def big_models():
    """Steps that are measured beside torch: a model's name, how it is made, a
    batch and the module of torch_models.py."""
    for layers, width in ((6, 512), (12, 768)):
        random = np.random.default_rng(0)
        batch = cases.sentences(random)
        batch["labels"] = random.integers(0, 2, cases.BATCH)
        sizes = {
            **cases.TRANSFORMER6, "layers": layers, "width": width,
            "inner": 4 * width, "heads": width // 64,
        }
        make = functools.partial(make_models.encoder, layers, width, 1000)
        yield f"encoder{layers}", make, batch, ("transformer", sizes)
    random = np.random.default_rng(0)
    batch = cases.pictures(random, 224)
    batch["labels"] = random.integers(0, 1000, cases.BATCH)
    make = make_models.MODELS["resnet18t"]
    yield "resnet18t", make, batch, ("resnet", cases.RESNET18)


def big_entries(tools):
    def write(make, flags, path):
        source = tools["work"] / f"{path.stem}.forward.onnx"
        onnx.save(make(), source)
        converter(tools, source, flags)(path)

    for name, make, batch, _ in big_models():
        for precision in ("fp32", "bf16"):
            flags = step_flags(name, precision, cases.RATE)
            yield Entry(
                f"{name}-{precision}", "big",
                functools.partial(write, make, flags), ("--in-place",),
                [batch] * 2, functools.partial(loss_bound, name, precision),
                True,
            )


def large_entries(tools):
    """Models that are exported where they are made, so only what is asked for."""
    def write(name, flags, path):
        source = large_models.find(name, tools["exported"])
        converter(tools, source, flags)(path)

    for name in large_models.MODELS:
        wanted = f"{name}-bf16" in tools["wanted"]
        if wanted or (tools["large"] and name in large_models.LARGE):
            flags = step_flags(name, "bf16", cases.RATE)
            yield Entry(
                f"{name}-bf16", "large" if name in large_models.LARGE else "small",
                functools.partial(write, name, flags), ("--in-place",),
                [large_models.make_batch(name)] * 2,
                functools.partial(loss_bound, name, "bf16"), True,
            )


def dims_of(path, batch):
    """Sizes of symbolic dimensions, which are those of the data."""
    sizes = {}
    model = onnx.load(path, load_external_data=False)
    for value in model.graph.input:
        if value.name in batch:
            dims = value.type.tensor_type.shape.dim
            shape = np.shape(batch[value.name])
            sizes |= {d.dim_param: s for d, s in zip(dims, shape) if d.dim_param}
    text = ",".join(f"{name}={size}" for name, size in sizes.items())
    return (f"--dim={text}",) if text else ()


def uniform(count, scale):
    """As fillUniform of device_check.c."""
    x = np.arange(count, dtype=np.uint32)
    x = x * np.uint32(2654435761) + np.uint32(12345)
    x ^= x >> np.uint32(15)
    x *= np.uint32(2246822519)
    x ^= x >> np.uint32(13)
    centred = (x >> np.uint32(8)).astype(np.int32) - (1 << 23)
    return centred.astype(np.float32) * np.float32(scale) / np.float32(1 << 23)


def drop_unread(path):
    """Leaves the outputs of a step that training reads, as `train` and `bench
    --in-place` do: others, such as logits, would be copied to the host."""
    model = onnx.load(path)
    outputs = model.graph.output
    inputs = {value.name for value in model.graph.input}

    def is_read(name):
        return name == "loss" or name.startswith("loss.") or (
            name.endswith("_new") and name[: -len("_new")] in inputs
        )

    if not any(value.name == "loss" for value in outputs):
        return
    kept = [value for value in outputs if is_read(value.name)]
    del outputs[:]
    outputs.extend(kept)
    onnx.save(model, path)


def take_defaults(path):
    """Takes large values of states from the model; what they are filled with,
    by their names, and what they are then."""
    model = onnx.load(path)
    inputs = {value.name for value in model.graph.input}
    kept, fills, states = [], [], {}
    for tensor in model.graph.initializer:
        array = onnx.numpy_helper.to_array(tensor)
        if (tensor.name not in inputs or array.dtype != np.float32
                or array.nbytes < 256):
            kept.append(tensor)
            continue
        # Scales of normalizations drawn around zero would hide the layers
        # before them.
        if np.ptp(array) == 0 or tensor.name.endswith("_scale"):
            value = float(array.flat[0]) if np.ptp(array) == 0 else 1.0
            fills.append((tensor.name, "constant", value))
            states[tensor.name] = np.full_like(array, value)
        else:
            value = float(np.float32(array.std() * 3**0.5))
            fills.append((tensor.name, "uniform", value))
            states[tensor.name] = uniform(array.size, value).reshape(array.shape)
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    onnx.save(model, path)
    return fills, states


def expect(library, calls, states):
    """What the processor's library gives for each call, states handed on."""
    names = [value.name.decode() for value in library.inputs]
    found = []
    for call, batch in enumerate(calls):
        unknown = batch.keys() - set(names)
        if unknown:
            raise RuntimeError(f"no inputs {sorted(unknown)}")
        results = library.run({**states, **batch})
        for value in library.outputs:
            if value.state >= 0:
                states[names[value.state]] = results[value.name.decode()]
        found.append(results)
    return found


def work_line(tools, path, flags, kept):
    """Bytes, operations and floors, by bench --dry-run, whose last plan is
    kept."""
    seconds = {}
    for device in ("h100", "h200"):
        text = run(
            tools["run"], "bench", path, f"--device=cuda:{device}",
            "--dry-run", "--json", *flags,
        )
        plan = json.loads(text)
        seconds[device] = plan["seconds"]
    kept.write_text(text)
    total = plan["total"]
    products = total["tensor_multiply_adds"] + total["other_multiply_adds"]
    return (
        f"work {total['read_bytes'] + total['written_bytes']}"
        f" {2 * products + total['operations']} {total['launches']}"
        f" {seconds['h100']:.6g} {seconds['h200']:.6g}"
    )


def make_entry(tools, entry, kit):
    work = tools["work"]
    path = work / f"{entry.name}.onnx"
    entry.write(path)
    drop_unread(path)
    prefix = "model"
    bound = functools.lru_cache(None)(functools.partial(entry.bound, path))
    fills, states = take_defaults(path) if entry.fill else ([], {})
    dims = dims_of(path, entry.calls[0])
    emit = (path, "--emit=lib", "--summary=none", f"--symbols={prefix}", *dims)
    reference, library = work / f"{entry.name}.so", kit / f"{entry.name}.so"
    run(tools["opt"], *emit, "-o", reference)
    run(tools["opt"], *emit, f"--device={tools['device']}", *entry.flags,
        *tools["targets"], "-o", library)
    model = Library(reference, prefix)
    results = expect(model, entry.calls, dict(states))
    values = {value.name.decode(): value for value in model.inputs}
    lines = [f"library {entry.name}.so {prefix} {len(entry.calls)}"]
    kept = kit / f"{entry.name}.plan.json"
    lines.append(work_line(tools, path, (*entry.flags, *dims), kept))
    lines += [f"fill {name} {mode} {value:.9g}" for name, mode, value in fills]
    compared = 0
    with open(kit / f"{entry.name}.bin", "wb") as data:
        for call, (batch, result) in enumerate(zip(entry.calls, results)):
            for name, array in batch.items():
                is_new = call == 0 or array is not entry.calls[call - 1][name]
                array = np.ascontiguousarray(array, TYPES[values[name].type])
                word = "give" if is_new else "again"
                lines.append(f"{word} {call} {name} {array.nbytes}")
                if is_new:
                    data.write(array.tobytes())
            for value in model.outputs:
                name = value.name.decode()
                is_last = call + 1 == len(entry.calls)
                found = bound(name)
                if not found or (value.state >= 0 and not is_last):
                    continue
                array = result[name]
                lines.append(
                    f"expect {call} {name} {array.nbytes} "
                    f"{found[0]} {found[1]:.6g}"
                )
                data.write(array.tobytes())
                compared += 1
    model.release()
    if not compared:
        raise RuntimeError("nothing to compare")
    (kit / f"{entry.name}.txt").write_text("\n".join(lines) + "\n")
    (kit / f"{entry.name}.h").unlink()
    path.unlink()


def torch_cases(tools):
    """What device_torch.py measures beside: modules and their batches."""
    entries = []
    for case in cases.train_cases(["mlp784", "bert2_op17", "resnet8"], None):
        entries.append((case.name, case.module, case.batch))
    for name, _, batch, module in big_models():
        entries.append((name, module, batch))
    for name, (kind, options, _) in large_models.MODELS.items():
        if tools["large"] and name in large_models.LARGE:
            batch = large_models.make_batch(name)
            entries.append((name, (kind, options), batch))
    return [
        {
            "name": name, "kind": module[0], "options": module[1],
            "batch": {
                n: [list(np.shape(v)), str(v.dtype), int(np.max(v)) + 1]
                for n, v in batch.items()
            },
        }
        for name, module, batch in entries
    ]


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("kit", type=pathlib.Path, help="the folder to write")
    add("--mp-opt", type=pathlib.Path, default=cases.tool("mp-opt"))
    add("--mp-run", type=pathlib.Path, default=cases.tool("mp-run"))
    add("--models", help="entries, by names that are parted by commas")
    add("--large", action="store_true", help="steps of large_models.py as well")
    add("--device", default="cuda", choices=["cuda", "emulated"],
        help="emulated: libraries that run on the processor")
    add("--target", help="as of mp-opt; sm_80,sm_90a:cubin if there is ptxas")
    add("--cc", default=os.environ.get("CC", "cc"), help="a C compiler")
    add("--jobs", type=int, default=os.cpu_count())
    return parser.parse_args()


def make_program(arguments):
    source = cases.HERE / "device_check.c"
    run(pathlib.Path(shutil.which(arguments.cc) or arguments.cc), "-std=c99",
        "-O2", source, "-o", arguments.kit / "device_check", "-ldl", "-lm")
    for name in ("device_torch.py", "image_networks.py", "torch_models.py"):
        shutil.copy(cases.HERE / name, arguments.kit)
    shutil.copy(cases.ROOT / "scripts" / "gpu-check.sh", arguments.kit)


def main():
    arguments = parse()
    arguments.kit.mkdir(parents=True, exist_ok=True)
    for old in arguments.kit.iterdir():
        if old.suffix in (".so", ".txt", ".bin", ".list", ".json"):
            old.unlink()
    make_program(arguments)
    with tempfile.TemporaryDirectory() as folder:
        targets = arguments.target
        if not targets and arguments.device == "cuda" and shutil.which("ptxas"):
            targets = "sm_80,sm_90a:cubin"
        tools = {
            "opt": arguments.mp_opt, "run": arguments.mp_run,
            "work": pathlib.Path(folder), "device": arguments.device,
            "targets": (f"--target={targets}",) if targets else (),
            "large": arguments.large,
            "wanted": (arguments.models or "").split(","),
            "exported": pathlib.Path(folder) / "exported",
        }
        makers = (
            small_entries, train_entries, wide_entries, big_entries,
            forward_entries, large_entries,
        )
        entries = [entry for maker in makers for entry in maker(tools)]
        if arguments.models:
            wanted = arguments.models.split(",")
            unknown = set(wanted) - {entry.name for entry in entries}
            if unknown:
                sys.exit(f"device_kit.py: error: no entries {sorted(unknown)}")
            entries = [entry for entry in entries if entry.name in wanted]
        order = ("small", "big", "large", "models")
        entries.sort(key=lambda entry: order.index(entry.stage))
        made = []
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            futures = [
                pool.submit(make_entry, tools, entry, arguments.kit)
                for entry in entries
            ]
            for entry, future in zip(entries, futures):
                try:
                    future.result()
                except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                    sys.exit(f"device_kit.py: error: {entry.name}: {error}")
                made.append(f"{entry.stage} {entry.name}\n")
                print(entry.name, flush=True)
    (arguments.kit / "torch.json").write_text(json.dumps(torch_cases(tools)))
    version = run(arguments.mp_opt, "--version").strip().splitlines()[0]
    (arguments.kit / "version").write_text(version + "\n")
    # The list is written last: a kit that has it is complete.
    (arguments.kit / "entries.list").write_text("".join(made))
    whole = arguments.kit.resolve()
    shutil.make_archive(str(whole), "gztar", whole.parent, whole.name)


if __name__ == "__main__":
    main()
