# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps in one process, timed when it is told to.

onnxruntime and onnxruntime-training share one module name, so each runs in a
process of its own, and training_steps.py tells them when it is their turn.

Usage: training_step_worker.py JOB.json
Every line on stdin is a number of steps; the answer is one line of JSON: the
seconds that they took, the last loss, and the peak memory so far in bytes.
"""

import json
import resource
import sys
import time

import numpy as np
import onnxruntime

UPDATED = "_new"


def session_options(threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return options


class OurStep:
    """One model: states are fed back as OrtValues, which copies nothing."""

    def __init__(self, job):
        self.session = onnxruntime.InferenceSession(
            job["model"],
            session_options(job["threads"]),
            providers=["CPUExecutionProvider"],
        )
        self.outputs = [o.name for o in self.session.get_outputs()]
        inputs = [i.name for i in self.session.get_overridable_initializers()]
        made = set(self.outputs)
        self.states = {n: n + UPDATED for n in inputs if n + UPDATED in made}
        self.last = {}
        self.loss = job["loss"]
        data = np.load(job["data"])
        count = len(data["labels"])
        self.batches = [
            {
                n: onnxruntime.OrtValue.ortvalue_from_numpy(data[n][i])
                for n in data.files
            }
            for i in range(count)
        ]
        self.step = 0

    def run(self):
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


class TheirStep:
    """onnxruntime-training's own artifacts: module, then optimizer."""

    def __init__(self, job):
        from onnxruntime.capi import _pybind_state as native

        # Nothing else keeps it: the module only refers to it.
        self.state = state = native.load_checkpoint(job["checkpoint"])
        device = native.OrtDevice(
            native.OrtDevice.cpu(), native.OrtDevice.default_memory(), 0
        )
        options = session_options(job["threads"])
        self.vector = native.OrtValueVector
        self.module = native.Module(
            job["model"], state, job["eval_model"], device, options
        )
        self.optimizer = native.Optimizer(
            job["optimizer"], state, device, options
        )
        self.optimizer.set_learning_rate(job["learning_rate"])
        data = np.load(job["data"])
        # The loss names its own input, "labels" or "target", behind the rest.
        names = [*self.module.input_names(True)[:-1], "labels"]
        self.batches = [
            [data[n][i] for n in names] for i in range(len(data["labels"]))
        ]
        self.step = 0

    def run(self):
        outputs = self.vector()
        self.module.train_step(
            self.batches[self.step % len(self.batches)], outputs
        )
        self.optimizer.optimizer_step()
        self.module.lazy_reset_grad()
        self.step += 1
        return outputs[0]


def main():
    onnxruntime.set_default_logger_severity(3)
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    worker = (OurStep if job["kind"] == "ours" else TheirStep)(job)
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in range(int(line)):
            loss = worker.run()
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        answer = {"seconds": seconds, "loss": float(loss.numpy()), "peak": peak}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
