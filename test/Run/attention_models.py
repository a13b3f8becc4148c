# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of attention in the forms of exporters, and their results in float64.
"""

import dataclasses

import numpy as np
import onnx

from runs import mp_run, run_mp_opt

HEAD = '<ir_version: 9, opset_import: ["" : 21]>\n'
RATIO = 0.25


@dataclasses.dataclass
class Attention:
    """Sizes and masks. Keys come from other tokens if there is another number
    of them."""

    queries: int = 64
    keys: int = 0
    heads: int = 2
    head: int = 64
    value_head: int = 0
    key_heads: int = 0
    mask: str = ""
    shift: int = None
    infinity: float = -np.inf
    dropout: bool = False
    batch: int = 2
    # One product computes queries, keys and values.
    joined: bool = False
    comparison: str = (
        "attends = LessOrEqual(column, row)\n"
        "scores = Where(attends, scores1, least)"
    )

    def __post_init__(self):
        self.keys = self.keys or self.queries
        self.value_head = self.value_head or self.head
        self.key_heads = self.key_heads or self.heads

    def mask_shape(self):
        last = self.queries if self.mask == "bool" else 1
        heads = self.heads if self.mask == "full" else 1
        rows = self.queries if self.mask == "full" else last
        return self.batch, heads, rows, self.keys


def parts(case):
    random = np.random.default_rng(0)
    width = case.heads * case.head
    columns = {
        "wq": width, "wk": case.key_heads * case.head,
        "wv": case.key_heads * case.value_head,
    }
    return {
        name: (random.standard_normal((width, size)) * 1.2 * width**-0.5)
        .astype(np.float32) for name, size in columns.items()
    }


def join_parts(case, values):
    if not case.joined:
        return values
    names = "wq", "wk", "wv"
    rest = {name: value for name, value in values.items() if name not in names}
    return rest | {"w": np.concatenate([values[name] for name in names], -1)}


def weights(case):
    return join_parts(case, parts(case))


def data(case):
    random = np.random.default_rng(1)
    width = case.heads * case.head
    result = {"x": random.standard_normal((case.batch, case.queries, width))}
    if case.keys != case.queries:
        result["c"] = random.standard_normal((case.batch, case.keys, width))
    result["labels"] = random.standard_normal(
        (case.batch, case.queries, case.heads * case.value_head)
    )
    result = {name: value.astype(np.float32) / 2 for name, value in result.items()}
    if case.mask == "bool":
        result["mask"] = random.random(case.mask_shape()) < 0.7
        # No row is all masked.
        result["mask"][..., 0] = True
    elif case.mask:
        hidden = random.random(case.mask_shape()) < 0.2
        result["mask"] = np.where(hidden, np.float32(-1e4), np.float32(0))
    return result


def repeat_heads(name, heads, size, case):
    """Nodes that give each group of query heads its key head."""
    if heads == case.heads:
        return f"{name} = Identity({name}_one)"
    groups = case.heads // case.key_heads
    wide = f"{{{case.batch},{case.key_heads},{groups},{case.keys},{size}}}"
    flat = f"{{{case.batch},{case.heads},{case.keys},{size}}}"
    return f"""
      {name}_axis = Constant<value_ints = [2]>()
      {name}_wide = Constant<value_ints = [{wide[1:-1]}]>()
      {name}_flat = Constant<value_ints = [{flat[1:-1]}]>()
      {name}_five = Unsqueeze({name}_one, {name}_axis)
      {name}_all = Expand({name}_five, {name}_wide)
      {name} = Reshape({name}_all, {name}_flat)"""


def write(path, case):
    source = "x" if case.keys == case.queries else "c"
    width = case.heads * case.head
    inputs = [f"float[{case.batch},{case.queries},{width}] x"]
    if source == "c":
        inputs.append(f"float[{case.batch},{case.keys},{width}] c")
    shape = ",".join(map(str, case.mask_shape()))
    if case.mask:
        element = "bool" if case.mask == "bool" else "float"
        inputs.append(f"{element}[{shape}] mask")
    nodes = [f"least = Constant<value_float = {case.infinity}>()"]
    if case.joined:
        nodes.append(f"flat = MatMul({source}, w)")
        nodes.append("q_flat0, k_flat0, v_flat0 = Split<axis = 2, num_outputs = 3>(flat)")
    for name, origin, heads, size in (
        ("q", "x", case.heads, case.head), ("k", source, case.key_heads, case.head),
        ("v", source, case.key_heads, case.value_head),
    ):
        nodes.append(f"{name}_size = Constant<value_ints = [0, 0, {heads}, {size}]>()")
        if not case.joined:
            nodes.append(f"{name}_flat0 = MatMul({origin}, w{name})")
        nodes.append(f"{name}_split = Reshape({name}_flat0, {name}_size)")
        nodes.append(f"{name}_one = Transpose<perm = [0, 2, 1, 3]>({name}_split)")
        nodes.append(repeat_heads(name, heads, size, case))
    nodes += [
        "k_turned = Transpose<perm = [0, 1, 3, 2]>(k)",
        "product = MatMul(q, k_turned)",
        f"scale = Constant<value_float = {case.head ** -0.5}>()",
        "scores0 = Mul(product, scale)",
        {"": "scores1 = Identity(scores0)", "bool": "scores1 = Where(mask, scores0, least)"}
        .get(case.mask, "scores1 = Add(scores0, mask)"),
    ]
    if case.shift is None:
        nodes.append("scores = Identity(scores1)")
    else:
        nodes.append(f"""
          zero = Constant<value_int = 0>()
          one = Constant<value_int = 1>()
          shift = Constant<value_int = {case.shift}>()
          rows = Constant<value_int = {case.queries}>()
          columns = Constant<value_int = {case.keys}>()
          row_axes = Constant<value_ints = [0, 1, 3]>()
          column_axes = Constant<value_ints = [0, 1, 2]>()
          row_range = Range(zero, rows, one)
          column_range = Range(zero, columns, one)
          row0 = Unsqueeze(row_range, row_axes)
          row = Add(row0, shift)
          column = Unsqueeze(column_range, column_axes)
          {case.comparison}""")
    nodes.append("p0 = Softmax<axis = -1>(scores)")
    if case.dropout:
        nodes.append(f"""
          ratio = Constant<value_float = {RATIO}>()
          training = Constant<value = bool {{1}}>()
          p = Dropout(p0, ratio, training)""")
    else:
        nodes.append("p = Identity(p0)")
    nodes += [
        "o = MatMul(p, v)", "turned = Transpose<perm = [0, 2, 1, 3]>(o)",
        "joined = Constant<value_ints = [0, 0, -1]>()", "y = Reshape(turned, joined)",
    ]
    output = f"float[{case.batch},{case.queries},{case.heads * case.value_head}] y"
    text = "\n".join(nodes).replace("value_float = -inf", "value_float = -1e38")
    model = onnx.parser.parse_model(
        f"{HEAD}net ({', '.join(inputs)}) => ({output}) {{\n{text}\n}}"
    )
    if case.infinity == -np.inf:
        least = next(n for n in model.graph.node if "least" in n.output)
        least.attribute[0].f = -np.inf
    for name, value in weights(case).items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    onnx.save(model, path)


def reference(case, inputs):
    """The output and the gradients of the weights in float64."""
    wide = {name: value.astype(float) for name, value in parts(case).items()}
    x, source = inputs["x"].astype(float), inputs.get("c", inputs["x"]).astype(float)
    groups = case.heads // case.key_heads

    def split(value, heads):
        return value.reshape(*value.shape[:2], heads, -1).transpose(0, 2, 1, 3)

    q = split(x @ wide["wq"], case.heads)
    k, v = (
        split(source @ wide[w], case.key_heads).repeat(groups, 1) for w in ("wk", "wv")
    )
    s = q @ k.transpose(0, 1, 3, 2) * case.head**-0.5
    if case.mask == "bool":
        s = np.where(inputs["mask"], s, -np.inf)
    elif case.mask:
        s = s + inputs["mask"]
    if case.shift is not None:
        rows, columns = np.ogrid[: case.queries, : case.keys]
        s = np.where(columns <= rows + case.shift, s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    o = p @ v
    y = o.transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1)
    do = split(2 * (y - inputs["labels"]) / y.size, case.heads)
    dp = do @ v.transpose(0, 1, 3, 2)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) * case.head**-0.5

    def join(value, heads, tokens):
        grouped = value.reshape(case.batch, heads, case.heads // heads, *value.shape[2:])
        summed = grouped.sum(2).transpose(0, 2, 1, 3)
        return tokens.reshape(-1, tokens.shape[-1]).T @ summed.reshape(
            tokens.shape[0] * tokens.shape[1], -1
        )

    return join_parts(case, {
        "y": y, "wq": join(ds @ k, case.heads, x),
        "wk": join(ds.transpose(0, 1, 3, 2) @ q, case.key_heads, source),
        "wv": join(p.transpose(0, 1, 3, 2) @ do, case.key_heads, source),
    })


def make(folder, case, precision="bf16", train=True):
    write(folder / "net.onnx", case)
    flags = ["--train", "--loss=mse", "--optimizer=sgd"] if train else []
    if precision == "fp16" and train:
        flags.append("--loss-scale=1024")
    if precision != "fp32":
        flags.append(f"--mixed-{precision}")
    path = folder / "model.onnx"
    run_mp_opt(folder / "net.onnx", *flags, "--summary=none", "-o", path)
    return path


def results(folder, model, case, inputs, *flags, rate=1):
    """The output, and the gradients of the weights by how much a step at this
    learning rate moves them. A large one moves them by more than they are
    rounded by."""
    names = {value.name for value in onnx.load(model).graph.input}
    given = {name: value for name, value in inputs.items() if name in names}
    given |= {
        name: value for name, value in
        (("learning_rate", np.float32(rate)), ("step", np.int64(0))) if name in names
    }
    np.savez(folder / "data.npz", **given)
    mp_run("run", model, folder / "data.npz", *flags, "-o", folder / "out.npz")
    with np.load(folder / "out.npz") as read:
        found = {"y": read["y"]}
        for name, value in weights(case).items():
            if f"{name}_new" in read.files:
                found[name] = (value - read[f"{name}_new"]) / rate
    return found


def relative(value, exact):
    return np.sqrt(np.mean((value - exact) ** 2) / np.mean(exact**2))
