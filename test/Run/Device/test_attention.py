# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention on devices: one kernel forward and one backward, in which matrices
of queries by keys are never in memory. Its errors against float64 are those of
the processor, which computes each matrix."""

import dataclasses
import json

import numpy as np
import onnx
import pytest

from runs import DEVICE, mp_run, run_mp_opt

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


def results(folder, model, case, inputs, *flags):
    names = {value.name for value in onnx.load(model).graph.input}
    given = {name: value for name, value in inputs.items() if name in names}
    given |= {
        name: value for name, value in
        (("learning_rate", np.float32(1)), ("step", np.int64(0))) if name in names
    }
    np.savez(folder / "data.npz", **given)
    mp_run("run", model, folder / "data.npz", *flags, "-o", folder / "out.npz")
    with np.load(folder / "out.npz") as read:
        found = {"y": read["y"]}
        for name, value in weights(case).items():
            if f"{name}_new" in read.files:
                found[name] = value - read[f"{name}_new"]
    return found


def estimate(model, device="h200"):
    return json.loads(
        mp_run("bench", model, "--random", f"--device=cuda:{device}", "--dry-run",
               "--json").stdout
    )


def kernels(model):
    names = {launch["kernel"] for launch in estimate(model)["launches"]}
    return sum(name.startswith("attention") for name in names)


def relative(value, exact):
    return np.sqrt(np.mean((value - exact) ** 2) / np.mean(exact**2))


CASES = {
    "tokens-16": Attention(16), "tokens-17": Attention(17),
    "tokens-65": Attention(65), "tokens-128": Attention(128, heads=1),
    "other-keys": Attention(33, 131), "few-keys": Attention(100, 16),
    "head-8": Attention(40, head=8), "head-17": Attention(33, head=17),
    "head-40-24": Attention(40, head=40, value_head=24),
    "head-80": Attention(50, head=80), "head-96": Attention(50, head=96),
    "head-128": Attention(70, head=128), "head-256": Attention(40, head=256),
    "padding": Attention(70, mask="padding"),
    "boolean": Attention(70, mask="bool"), "full": Attention(50, mask="full"),
    "causal": Attention(200, shift=0), "causal-finite": Attention(90, shift=0, infinity=-1e38),
    "causal-padding": Attention(90, shift=0, mask="padding"),
    "causal-shift": Attention(40, 100, shift=60),
    "causal-more-keys": Attention(40, 200, shift=0),
    "causal-head-128": Attention(90, shift=0, head=128),
    "grouped": Attention(50, heads=4, key_heads=2),
    "one-key-head": Attention(50, heads=4, key_heads=1),
    "joined": Attention(50, joined=True), "joined-causal": Attention(70, shift=0, joined=True),
    "joined-head-40": Attention(33, head=40, joined=True),
}


# Kernels of fp16 differ from those of bf16 in the type alone.
FP16 = "tokens-17", "causal", "head-256"


@pytest.mark.parametrize(
    "name, precision",
    [(name, "bf16") for name in CASES] + [(name, "fp16") for name in FP16],
)
def test_against_float64(tmp_path, name, precision):
    case = CASES[name]
    inputs = data(case)
    exact = reference(case, inputs)
    for train in (False, True):
        model = make(tmp_path, case, precision, train)
        assert kernels(model) == 1 + train
        processor = results(tmp_path, model, case, inputs)
        found = results(tmp_path, model, case, inputs, DEVICE)
        for key, value in found.items():
            # The gradient's sums of rows are those of rounded results.
            bound = 1.6 * relative(processor[key], exact[key]) + 1e-6
            assert relative(value, exact[key]) <= bound, (key, train)


def test_same_bits(tmp_path):
    """Gradients are summed in one order."""
    case = Attention(200, shift=0, heads=4, key_heads=2)
    inputs = data(case)
    model = make(tmp_path, case)
    one, other = (results(tmp_path, model, case, inputs, DEVICE) for _ in range(2))
    for key, value in one.items():
        assert value.tobytes() == other[key].tobytes(), key


def test_dropout(tmp_path):
    """The same weights are dropped as on the processor, backward as well."""
    case = Attention(70, dropout=True)
    inputs = data(case)
    model = make(tmp_path, case)
    assert kernels(model) == 2
    processor = results(tmp_path, model, case, inputs)
    found = results(tmp_path, model, case, inputs, DEVICE)
    for key, value in found.items():
        bound = 0.02 if key == "y" else 0.1
        assert relative(value, processor[key]) < bound, key


def test_masked_row(tmp_path):
    """A query without keys has no result, as without fusion."""
    case = Attention(40, shift=-3)
    inputs = data(case)
    model = make(tmp_path, case, train=False)
    assert kernels(model) == 1
    found = results(tmp_path, model, case, inputs, DEVICE)["y"]
    assert np.isnan(found[:, :3]).all() and np.isfinite(found[:, 3:]).all()


@pytest.mark.parametrize("change", [
    {"precision": "fp32"}, {"head": 264}, {"queries": 8},
])
def test_not_fused(tmp_path, change):
    """What kernels do not take is computed matrix by matrix."""
    change = dict(change)
    precision = change.pop("precision", "bf16")
    case = Attention(**{"queries": 40, "heads": 1} | change)
    inputs = data(case)
    model = make(tmp_path, case, precision)
    assert kernels(model) == 0
    exact = reference(case, inputs)
    processor = results(tmp_path, model, case, inputs)
    for key, value in results(tmp_path, model, case, inputs, DEVICE).items():
        bound = 1.3 * relative(processor[key], exact[key]) + 1e-6
        assert relative(value, exact[key]) <= bound, key


def test_joined_product(tmp_path):
    """Queries, keys and values of one product are not moved: neither they nor
    their gradients have maps of their own."""
    model = make(tmp_path, Attention(64, joined=True))
    maps = [
        launch["node"] for launch in estimate(model)["launches"]
        if "map" in launch["kinds"]
    ]
    # Those of the loss, its rounded gradient and the update.
    assert all("loss/" in node or "turned_grad" in node for node in maps), maps


def test_causal_work(tmp_path):
    """Keys behind the diagonal are not multiplied."""
    def count(shift):
        figures = estimate(make(tmp_path, Attention(512, shift=shift)))
        return sum(
            launch["tensor_multiply_adds"] for launch in figures["launches"]
            if launch["kernel"].startswith("attention")
        )

    assert count(0) < 0.6 * count(None)


# Each says that keys up to that of the query's number, plus the shift, count.
@pytest.mark.parametrize("comparison", [
    "a = GreaterOrEqual(row, column)\n scores = Where(a, scores1, least)",
    "a = Greater(column, row)\n scores = Where(a, least, scores1)",
    "a = Less(row, column)\n scores = Where(a, least, scores1)",
    "n = Add(row, one)\n a = Less(column, n)\n scores = Where(a, scores1, least)",
    "n = Sub(column, one)\n a = Greater(row, n)\n scores = Where(a, scores1, least)",
])
def test_causal_forms(tmp_path, comparison):
    case = Attention(150, shift=0, comparison=comparison)
    inputs = data(case)
    model = make(tmp_path, case, train=False)
    products = sum(
        launch["tensor_multiply_adds"] for launch in estimate(model)["launches"]
        if launch["kernel"].startswith("attention")
    )
    # Without the mask, both products are of all pairs.
    assert products < 0.8 * case.batch * case.heads * 150**2 * 2 * case.head
    found = results(tmp_path, model, case, inputs, DEVICE)["y"]
    assert relative(found, reference(case, inputs)["y"]) < 2.0**-7


def test_rows_of_finite_masks(tmp_path):
    """Queries before the tenth have no key that both masks leave: keys that one
    of them leaves share the weight, those behind the query as well."""
    case = Attention(150, shift=0, infinity=-1e38, comparison="""
      nothing = Constant<value_float = 0.0>()
      ten = Constant<value_int = 10>()
      attends = LessOrEqual(column, row)
      behind = Where(attends, nothing, least)
      begins = GreaterOrEqual(column, ten)
      before = Where(begins, nothing, least)
      scores2 = Add(scores1, behind)
      scores = Add(scores2, before)""")
    inputs = data(case)
    model = make(tmp_path, case, train=False)
    assert kernels(model) == 1
    expected = results(tmp_path, model, case, inputs)["y"]
    found = results(tmp_path, model, case, inputs, DEVICE)["y"]
    assert relative(found[:, :10], expected[:, :10]) < 2.0**-6
    assert relative(found, expected) < 2.0**-6


def test_memory(tmp_path):
    """No matrix is in memory: that of one head alone has 2 bytes for each pair
    of a query and a key."""
    tokens = 2048
    figures = estimate(make(tmp_path, Attention(tokens, batch=1)))
    assert figures["arena_bytes"] < 2 * tokens**2


OPERATOR = """<ir_version: 11, opset_import: ["" : 23]>
net (float[2,48,128] x, bool[48,48] mask) => (float[2,48,128] y)
{
  q = MatMul(x, wq)
  k = MatMul(x, wk)
  v = MatMul(x, wv)
  y = Attention<q_num_heads = 2, kv_num_heads = 2>(q, k, v, mask)
}
"""


def test_operator(tmp_path):
    """ONNX's Attention, whose rows without keys give zeros."""
    model = onnx.parser.parse_model(OPERATOR)
    case = Attention(48)
    for name, value in weights(case).items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    onnx.save(model, tmp_path / "net.onnx")
    for flags, count in ((), 1), (("--train", "--loss=mse", "--optimizer=sgd"), 2):
        path = tmp_path / "mixed.onnx"
        run_mp_opt(
            tmp_path / "net.onnx", *flags, "--mixed-bf16", "--summary=none",
            "-o", path,
        )
        assert kernels(path) == count
    run_mp_opt(tmp_path / "net.onnx", "--mixed-bf16", "--summary=none", "-o", path)
    inputs = data(case)
    inputs["mask"] = np.random.default_rng(2).random((48, 48)) < 0.5
    inputs["mask"][3] = False
    expected = results(tmp_path, path, case, inputs)["y"]
    found = results(tmp_path, path, case, inputs, DEVICE)["y"]
    assert not found[:, 3].any() and not expected[:, 3].any()
    assert relative(found, expected) < 2.0**-7
