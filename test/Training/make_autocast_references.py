# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes autocast_errors.json: what torch's autocast does to gradients.

usage: python make_autocast_references.py

The forward models of four training models are rebuilt in torch, operator by
operator, and differentiated: in fp32, which must give the stored gradients,
and under torch.autocast("cpu") with parameters in fp32, in fp16 with a scaled
loss. What is stored is the root mean square of each gradient's error against
float64. Where the exporter has split a linear layer, the fp32 bias widens what
follows, so that the transformer is a little more exact than the module was.

Needs torch beside scripts/requirements-test.txt; the tests read what it has
written. Repeat it when these models change.
"""

import json
import pathlib

import numpy as np
import onnx
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
MODELS = HERE.parent / "models" / "train"
NAMES = ["mlp784", "mlp_mse", "bert2_op17", "resnet8"]
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
FIRST_SCALE = 65536.0  # of torch's GradScaler


def gather(data, index, axis=0):
    if data.ndim == 2 and axis == 0 and data.is_floating_point():
        return F.embedding(index, data)
    picked = data.index_select(axis, index.reshape(-1))
    return picked.reshape(
        data.shape[:axis] + index.shape + data.shape[axis + 1 :]
    )


def slice_(data, starts, ends, axes, steps):
    ranges = (v.tolist() for v in (starts, ends, axes, steps))
    for start, end, axis, step in zip(*ranges):
        index = range(data.shape[axis])[start:end:step]
        data = data.index_select(axis, torch.tensor(list(index)))
    return data


def reshape(data, shape, allowzero=0):
    sizes = shape.tolist()
    return data.reshape(
        [data.shape[i] if s == 0 else s for i, s in enumerate(sizes)]
    )


def unsqueeze(data, axes):
    for axis in sorted(axes.tolist()):
        data = data.unsqueeze(axis)
    return data


def dropout(data, ratio, training):
    assert not training or not ratio, "masks are drawn"
    return data


def batch_normalization(x, scale, bias, mean, var, epsilon, **_):
    return F.batch_norm(
        x, mean.clone(), var.clone(), scale, bias, training=True, eps=epsilon
    )


def conv(x, weight, bias=None, *, pads, strides, dilations, group, **_):
    sides = len(pads) // 2
    assert pads[:sides] == pads[sides:]
    return F.conv2d(x, weight, bias, strides, pads[:sides], dilations, group)


def gemm(x, weight, bias, alpha, beta, transB):
    assert alpha == beta == transB == 1
    return F.linear(x, weight, bias)


def constant(value):
    return torch.tensor(onnx.numpy_helper.to_array(value))


def cast(data, to):
    return data.to({1: torch.float32, 7: torch.int64}[to])


OPERATORS = {
    "Add": torch.add,
    "BatchNormalization": batch_normalization,
    "Cast": cast,
    "Concat": lambda *values, axis: torch.cat(values, axis),
    "Constant": constant,
    "Conv": conv,
    "Div": torch.div,
    "Dropout": dropout,
    "Erf": torch.erf,
    "Flatten": lambda x, axis: x.flatten(axis),
    "Gather": gather,
    "Gemm": gemm,
    "GlobalAveragePool": lambda x: F.adaptive_avg_pool2d(x, 1),
    "LayerNormalization": lambda x, scale, bias, axis, epsilon: F.layer_norm(
        x, scale.shape, scale, bias, epsilon
    ),
    "MatMul": torch.matmul,
    "Mul": torch.mul,
    "Relu": torch.relu,
    "Reshape": reshape,
    "Shape": lambda x: torch.tensor(x.shape),
    "Sigmoid": torch.sigmoid,
    "Slice": slice_,
    "Softmax": lambda x, axis: torch.softmax(x, axis),
    "Sub": torch.sub,
    "Tanh": torch.tanh,
    "Transpose": lambda x, perm: x.permute(perm),
    "Unsqueeze": unsqueeze,
}


def evaluate(graph, values):
    for node in graph.node:
        attributes = {
            a.name: onnx.helper.get_attribute_value(a) for a in node.attribute
        }
        operands = [values[name] if name else None for name in node.input]
        result = OPERATORS[node.op_type](*operands, **attributes)
        values[node.output[0]] = result
    return values[graph.output[0].name]


def gradients(name, dtype=None, scale=1.0, base=torch.float32):
    """The gradients of the stored batch, in fp32 parameters."""
    graph = onnx.load(MODELS / name / "forward.onnx").graph
    reference = np.load(MODELS / name / "ref.npz")
    feeds = {
        n[3:]: torch.tensor(reference[n])
        for n in reference.files
        if n.startswith("in:")
    }
    labels = feeds["target"] if "target" in feeds else feeds["labels"]
    values = {
        n: v.to(base) if v.is_floating_point() else v for n, v in feeds.items()
    }
    parameters = {}
    for tensor in graph.initializer:
        value = torch.tensor(onnx.numpy_helper.to_array(tensor), dtype=base)
        values[tensor.name] = value
        if f"out:{tensor.name}_grad" in reference.files:
            parameters[tensor.name] = value.requires_grad_()
    with torch.autocast("cpu", dtype, enabled=dtype is not None):
        output = evaluate(graph, values)
        if name == "mlp_mse":
            loss = F.mse_loss(output, labels.to(base))
        else:
            loss = F.cross_entropy(output, labels)
    (loss * scale).backward()
    return {
        n: p.grad.numpy().astype(np.float64) / scale
        for n, p in parameters.items()
    }


def rms(array):
    return float(np.sqrt(np.mean(np.square(array, dtype=np.float64))))


def stack(arrays):
    return np.concatenate([a.ravel() for a in arrays.values()])


def check(name, actual):
    """The rebuilt model is the stored one."""
    stored = np.load(MODELS / name / "ref.npz")
    typical = rms(stack(actual))
    for parameter, value in actual.items():
        expected = stored[f"out:{parameter}_grad"]
        # A gradient that is zero but for rounding has no relative error.
        bound = 1e-5 * max(rms(expected), 1e-2 * typical)
        assert rms(value - expected) <= bound, (name, parameter)


def scaled_gradients(name, dtype):
    """As GradScaler finds its scale: halved until all is finite."""
    scale = FIRST_SCALE if dtype == torch.float16 else 1.0
    while True:
        found = gradients(name, dtype, scale)
        if all(np.isfinite(g).all() for g in found.values()):
            return found, scale
        scale /= 2


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    errors = {}
    for name in NAMES:
        check(name, gradients(name))
        exact = gradients(name, base=torch.float64)
        for label, dtype in DTYPES.items():
            found, scale = scaled_gradients(name, dtype)
            wrong = {n: found[n] - exact[n] for n in exact}
            relative = rms(stack(wrong)) / rms(stack(exact))
            assert relative > 1e-5, "nothing was rounded"
            print(name, label, scale, relative)
            errors.setdefault(name, {})[label] = {
                "all": rms(stack(wrong)),
                "each": {n: rms(w) for n, w in wrong.items()},
            }
    text = json.dumps(errors, indent=1)
    (HERE / "autocast_errors.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
