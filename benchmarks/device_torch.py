#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps of torch on a GPU, beside those of a kit (device_kit.py).

    device_torch.py torch.json [--seconds=1] [--results=FILE] [--device=cpu]

The modules of torch_models.py, with AdamW (fused on a GPU) and cross-entropy,
in fp32 (TF32 off, as in the kit's steps) and under autocast to bf16: eager, the
eager step captured in a CUDA graph, and that of torch.compile captured. A call
is what a call of the kit is: a batch that is in the host's memory, and a loss
there. One row of a Markdown table for each, and one JSON object in FILE.
"""

import argparse
import contextlib
import itertools
import json
import statistics
import time

MAX_CALLS = 1000


def make_batch(spec, device):
    import torch

    random = torch.Generator().manual_seed(0)
    batch = {}
    for name, (shape, dtype, end) in spec.items():
        if name.endswith("mask"):
            # The mask keeps everything: zeros to be added, or ones for BERT.
            batch[name] = torch.full(shape, end - 1, dtype=getattr(torch, dtype))
        elif dtype.startswith("int"):
            batch[name] = torch.randint(0, end, shape, generator=random)
        else:
            batch[name] = torch.randn(shape, generator=random)
    if device == "cuda":
        batch = {name: value.pin_memory() for name, value in batch.items()}
    return batch


def capture(compute, warm_ups=3):
    """A function that runs the same kernels again, as one graph."""
    import torch

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(warm_ups):
            compute()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = compute()

    def replay():
        graph.replay()
        return result

    return replay


def make_module(kind, options):
    import torch_models

    if kind == "network":
        return torch_models.make(kind, options, None, is_training=True)
    return torch_models.CLASSES[kind](**options).train()


def make_step(case, precision, mode, device):
    import torch

    torch.manual_seed(0)
    options = dict(case["options"])
    module = make_module(case["kind"], options).to(device)
    extra = {"fused": True, "capturable": True} if device == "cuda" else {}
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3, **extra)
    call = torch.compile(module) if mode == "compiled graph" else module
    batch = make_batch(case["batch"], device)
    held = {name: value.to(device) for name, value in batch.items()}
    labels = held["labels"]
    inputs = [value for name, value in held.items() if name != "labels"]

    def compute():
        cast = contextlib.nullcontext()
        if precision == "bf16":
            cast = torch.autocast(device, torch.bfloat16, cache_enabled=False)
        optimizer.zero_grad(set_to_none=True)
        with cast:
            loss = torch.nn.functional.cross_entropy(call(*inputs), labels)
        loss.backward()
        optimizer.step()
        return loss

    run = compute if mode == "eager" else capture(compute)

    def step():
        for name, value in batch.items():
            held[name].copy_(value, non_blocking=True)
        return run().item()

    return step


def measure(step, seconds):
    for _ in range(3):
        step()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < MAX_CALLS):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return times


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("cases")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--results")
    parser.add_argument("--device", default="cuda")
    return parser.parse_args()


def main():
    arguments = parse()
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    with open(arguments.cases) as file:
        all_cases = json.load(file)
    modes = ["eager", "graph", "compiled graph"]
    if arguments.device != "cuda":
        modes = ["eager"]
    for mode, precision in itertools.product(modes, ("fp32", "bf16")):
        for case in all_cases:
            name = f"{case['name']}-{precision}"
            record = {"torch": torch.__version__, "entry": name, "mode": mode}
            try:
                step = make_step(case, precision, mode, arguments.device)
                times = measure(step, arguments.seconds)
            except Exception as error:
                # The other rows are still wanted; this one says why.
                record["failed"] = str(error)
                cell = f"failed: {str(error).splitlines()[0][:80]}"
            else:
                record["seconds"] = statistics.median(times)
                record["least_seconds"] = min(times)
                record["timed_calls"] = len(times)
                cell = f"{record['seconds'] * 1e3:.3f}"
            print(f"| {name} | {mode} | {cell} |", flush=True)
            if arguments.results:
                with open(arguments.results, "a") as file:
                    print(json.dumps(record), file=file)


if __name__ == "__main__":
    main()
