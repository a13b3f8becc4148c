# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model or a training step in one process, called when it is told to.

The engines share module names and fight over threads, so each runs in a
process of its own, in its own virtual environment, and turns.py tells them
when it is their turn.

Every line on stdin is two numbers, calls and calls before them; the answer is a
line of JSON: seconds of each call, the last loss (or first output), the peak
memory so far in bytes, and the time to compile: until the first result was
there, beyond what one more call takes.
"""

import argparse
import importlib
import json
import os
import pathlib
import resource
import subprocess
import sys
import time

import numpy as np

UPDATED = "_new"


def load_batches(job):
    """Inputs by name; "stacked" data have a leading axis of batches."""
    data = dict(np.load(job["data"]))
    if not job.get("stacked"):
        return [data]
    count = min(len(values) for values in data.values())
    return [{n: v[i] for n, v in data.items()} for i in range(count)]


class OnnxRuntime:
    """onnxruntime with a forward model. Sizes that the data fix are fixed."""

    MODULE = "onnxruntime"

    def __init__(self, job):
        options = self.options(job)
        self.batch = load_batches(job)[0]
        for name, size in job.get("dims", {}).items():
            options.add_free_dimension_override_by_name(name, size)
        self.session = self.load(job, options)
        self.outputs = [o.name for o in self.session.get_outputs()]

    @staticmethod
    def options(job):
        import onnxruntime

        onnxruntime.set_default_logger_severity(3)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = job["threads"]
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        return options

    @staticmethod
    def load(job, options):
        import onnxruntime

        return onnxruntime.InferenceSession(
            job["model"], options, providers=["CPUExecutionProvider"]
        )

    def call(self):
        return self.session.run(self.outputs, self.batch)

    def results(self, value):
        return value


class OnnxRuntimeStep(OnnxRuntime):
    """One model: states are fed back as OrtValues, which copies nothing."""

    def __init__(self, job):
        from onnxruntime import OrtValue

        self.session = self.load(job, self.options(job))
        self.outputs = [o.name for o in self.session.get_outputs()]
        inputs = [i.name for i in self.session.get_overridable_initializers()]
        made = set(self.outputs)
        self.states = {n: n + UPDATED for n in inputs if n + UPDATED in made}
        self.last, self.step, self.loss = {}, 0, "loss"
        self.batches = [
            {n: OrtValue.ortvalue_from_numpy(v) for n, v in batch.items()}
            for batch in load_batches(job)
        ]

    def call(self):
        binding = self.session.io_binding()
        batch = self.batches[self.step % len(self.batches)]
        for name, value in {**batch, **self.last}.items():
            binding.bind_ortvalue_input(name, value)
        for name in self.outputs:
            binding.bind_output(name)
        self.session.run_with_iobinding(binding)
        values = dict(zip(self.outputs, binding.get_outputs()))
        self.last = {n: values[u] for n, u in self.states.items()}
        self.step += 1
        return values[self.loss]

    def results(self, value):
        return [value.numpy()]


class OnnxRuntimeTraining(OnnxRuntimeStep):
    """onnxruntime-training's own artifacts: module, then optimizer."""

    def __init__(self, job):
        from onnxruntime.capi import _pybind_state as native

        # Nothing else keeps it: the module only refers to it.
        self.state = state = native.load_checkpoint(job["checkpoint"])
        device = native.OrtDevice(
            native.OrtDevice.cpu(), native.OrtDevice.default_memory(), 0
        )
        options = self.options(job)
        self.vector = native.OrtValueVector
        self.module = native.Module(
            job["model"], state, job["eval_model"], device, options
        )
        self.optimizer = native.Optimizer(
            job["optimizer"], state, device, options
        )
        self.optimizer.set_learning_rate(job["learning_rate"])
        # The loss names its own input, "labels" or "target", after all others.
        names = [*self.module.input_names(True)[:-1], "labels"]
        self.batches = [
            [batch[n] for n in names] for batch in load_batches(job)
        ]
        self.step = 0

    def call(self):
        outputs = self.vector()
        self.module.train_step(
            self.batches[self.step % len(self.batches)], outputs
        )
        self.optimizer.optimizer_step()
        self.module.lazy_reset_grad()
        self.step += 1
        return outputs[0]


class Torch:
    """The same architecture as a torch module: forward, or with AdamW."""

    MODULE = "torch"

    def __init__(self, job):
        import torch
        import torch_models

        self.torch = torch
        torch.set_num_threads(job["threads"])
        batch = load_batches(job)[0]
        self.labels = batch.pop("labels", None)
        self.inputs = [torch.from_numpy(value) for value in batch.values()]
        self.is_training = self.labels is not None
        module = torch_models.make(
            *job["module"], job["weights"], self.is_training
        )
        module.train(self.is_training)
        if job["channels_last"]:
            module = module.to(memory_format=torch.channels_last)
            self.inputs = [
                value.to(memory_format=torch.channels_last)
                for value in self.inputs
            ]
        if self.is_training:
            self.labels = torch.from_numpy(self.labels)
            # One kernel for all parameters: the fastest form on a CPU.
            self.optimizer = torch.optim.AdamW(
                module.parameters(),
                lr=job["learning_rate"],
                weight_decay=job["weight_decay"],
                fused=True,
            )
        self.module = torch.compile(module) if job["compiled"] else module
        self.autocast = job["autocast"]

    def forward(self):
        torch = self.torch
        with torch.autocast("cpu", torch.bfloat16, enabled=self.autocast):
            scores = self.module(*self.inputs)
            if not self.is_training:
                return scores
            return torch.nn.functional.cross_entropy(scores, self.labels)

    def call(self):
        if not self.is_training:
            with self.torch.inference_mode():
                return self.forward()
        loss = self.forward()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    def results(self, value):
        return [value.float().numpy()]


class Iree:
    """IREE's compiler for this CPU, on a model whose sizes are fixed."""

    MODULE = "iree.runtime"

    def __init__(self, job):
        from iree.compiler import tools

        text = job["model"] + f".{os.getpid()}.mlir"
        # The path is not resolved: a link's folder is the virtual
        # environment's.
        tool = pathlib.Path(sys.executable).parent / "iree-import-onnx"
        subprocess.run(
            [tool, job["model"], "-o", text, "--opset-version", "17"],
            check=True,
        )
        binary = tools.compile_file(
            text,
            input_type="onnx",
            target_backends=["llvm-cpu"],
            extra_args=[
                "--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3",
            ],
        )
        self.load(binary, job["threads"])
        self.inputs = list(load_batches(job)[0].values())

    def load(self, binary, threads):
        from iree import runtime

        runtime.flags.parse_flags(f"--task_topology_group_count={threads}")
        driver = "local-sync" if threads == 1 else "local-task"
        config = runtime.Config(driver)
        context = runtime.SystemContext(config=config)
        module = runtime.VmModule.copy_buffer(context.instance, binary)
        context.add_vm_module(module)
        functions = context.modules[module.name]
        names = [n for n in module.function_names if n not in ("__init",)]
        self.function = functions[min(names, key=len)]

    def call(self):
        value = self.function(*self.inputs)
        values = value if isinstance(value, (list, tuple)) else [value]
        return [np.asarray(v.to_host()) for v in values]

    def results(self, value):
        return value


KINDS = {
    "onnxruntime": OnnxRuntime,
    "onnxruntime-step": OnnxRuntimeStep,
    "onnxruntime-training": OnnxRuntimeTraining,
    "torch": Torch,
    "iree": Iree,
}


def timed(action):
    start = time.perf_counter()
    value = action()
    return time.perf_counter() - start, value


def answer_requests(engine, answers, figures):
    for line in sys.stdin:
        calls, warmup = map(int, line.split())
        for _ in range(warmup):
            engine.call()
        times = []
        for _ in range(calls):
            seconds, value = timed(engine.call)
            times.append(seconds)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        answer = {"times": times, "peak_bytes": peak, **figures}
        answer["loss"] = float(np.ravel(engine.results(value)[0])[0])
        print(json.dumps(answer), file=answers, flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("job", metavar="JOB.json")
    with open(parser.parse_args().job, encoding="utf-8") as file:
        job = json.load(file)
    # Output of libraries goes to stderr.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    kind = KINDS[job["kind"]]
    importlib.import_module(kind.MODULE)

    def start():
        engine = kind(job)
        return engine, engine.call()

    first, (engine, value) = timed(start)
    if "results" in job:
        results = [np.asarray(r, np.float32) for r in engine.results(value)]
        np.savez(job["results"], *results)
    again, _ = timed(engine.call)
    figures = {"compile_seconds": max(0, first - again)}
    answer_requests(engine, answers, figures)


if __name__ == "__main__":
    main()
