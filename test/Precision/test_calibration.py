# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranges of values in data: models that lists get wrong, and wrong data.

Each model is broken by a conversion to fp16 that knows no data, and right with
--calibrate; mp-run computes both results, since onnxruntime leaves out casts.
"""

import json
import pathlib
import re

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_models import make_model, run_ort, save
from support import MP_OPT, attempt, run_mp_opt, scratch_dir

RUN = pathlib.Path(MP_OPT).with_name("mp-run")
RNG = np.random.default_rng(0)


def weight(*shape, scale=1.0):
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


def node(op, inputs, output, **attributes):
    return helper.make_node(
        op, inputs.split(), [output], name=f"n_{output}", **attributes
    )


def data(*shape, scale=1.0, shift=0.0):
    """Eight batches."""
    return weight(8, *shape, scale=scale) + np.float32(shift)


def large_logits():
    nodes = [
        node("MatMul", "x w", "h"), node("Relu", "h", "r"),
        node("MatMul", "r v", "logits"), node("Softmax", "logits", "y", axis=-1),
    ]
    weights = {"w": weight(64, 64, scale=0.125), "v": weight(64, 32, scale=3e3)}
    return nodes, {"x": [16, 64]}, "y", weights, {"x": data(16, 64, scale=4)}


def long_sum():
    nodes = [
        node("ReduceSum", "x axes", "s", keepdims=0),
        node("MatMul", "s w", "h"), node("Relu", "h", "y"),
    ]
    weights = {"axes": np.array([2]), "w": weight(16, 8, scale=1e-2)}
    x = np.abs(data(4, 16, 65536)) * np.float32(2)
    return nodes, {"x": [4, 16, 65536]}, "y", weights, {"x": x[:2]}


def outlier_channel():
    w = weight(64, 64, scale=0.125)
    w[:, 7] *= 4e4
    v = weight(64, 16, scale=0.125)
    v[7] *= 1e-3
    nodes = [
        node("MatMul", "x w", "h"), node("Relu", "h", "r"),
        node("MatMul", "r v", "y"),
    ]
    return nodes, {"x": [16, 64]}, "y", {"w": w, "v": v}, {"x": data(16, 64)}


def one_large_layer():
    kernels = {"k": weight(8, 3, 3, 3), "l": weight(8, 8, 3, 3, scale=3e3)}
    kernels["m"] = weight(4, 8, 3, 3, scale=1e-3)
    same = dict(pads=[1, 1, 1, 1])
    nodes = [
        node("Conv", "x k", "a", **same), node("Relu", "a", "b"),
        node("Conv", "b l", "c", **same), node("Relu", "c", "d"),
        node("Conv", "d m", "y", **same),
    ]
    return nodes, {"x": [2, 3, 16, 16]}, "y", kernels, {"x": data(2, 3, 16, 16)}


def vanishing_epsilon():
    """The divisor is the input itself where the product is zero."""
    nodes = [
        node("MatMul", "x w", "h"), node("Relu", "h", "r"),
        node("Add", "r eps", "d"), node("Mul", "r scale", "n"),
        node("Div", "n d", "q"), node("Reciprocal", "d", "i"),
        node("Mul", "i eps", "j"), node("Sub", "q j", "u"),
        node("MatMul", "u v", "y"),
    ]
    weights = {
        "w": weight(64, 64, scale=0.125), "v": weight(64, 16, scale=0.125),
        "scale": np.float32(2),
    }
    feeds = {"x": data(16, 64), "eps": np.full((), 1e-9, np.float32)}
    return nodes, {"x": [16, 64], "eps": []}, "y", weights, feeds


def vanishing_values():
    """The energy of a layer lies below what fp16 holds."""
    nodes = [
        node("MatMul", "x w", "h"), node("MatMul", "h v", "g"),
        node("MatMul", "g u", "y"),
    ]
    weights = {
        "w": weight(64, 64, scale=1e-3), "v": weight(64, 64, scale=1e-3),
        "u": weight(64, 16, scale=1e3),
    }
    return nodes, {"x": [16, 64]}, "y", weights, {"x": data(16, 64, scale=1e-3)}


def variance():
    """The mean of squares minus the square of the mean, which is 300."""
    nodes = [
        node("MatMul", "x w", "h"), node("Add", "h b", "a"),
        node("Mul", "a a", "q"),
        node("ReduceMean", "q", "e", axes=[-1], keepdims=1),
        node("ReduceMean", "a", "m", axes=[-1], keepdims=1),
        node("Mul", "m m", "n"), node("Sub", "e n", "c"),
        node("MatMul", "c v", "y"),
    ]
    weights = {
        "w": weight(64, 256, scale=0.5), "b": np.full(256, 300, np.float32),
        "v": weight(1, 8),
    }
    return nodes, {"x": [16, 64]}, "y", weights, {"x": data(16, 64)}


MODELS = {
    "large logits": large_logits, "long sum": long_sum,
    "outlier channel": outlier_channel, "one large layer": one_large_layer,
    "vanishing epsilon": vanishing_epsilon,
    "vanishing values": vanishing_values, "variance": variance,
}
# Lists of ops, which data overrule; the variance is fp32 by the built-in ones.
LISTS = {"variance": ["--allow=Mul,ReduceMean,Sub,Add"]}


class Example:
    """A model and its data in files."""

    def __init__(self, make):
        nodes, inputs, output, weights, feeds = make()
        model = make_model(nodes, inputs, output, weights)
        self.source, self.made = save(model)
        self.data = self.source.parent / "data.npz"
        np.savez(self.data, **feeds)
        self.feed = {
            name: array[0] if array.ndim > len(inputs[name]) else array
            for name, array in feeds.items()
        }

    def convert(self, *flags):
        return run_mp_opt(self.source, "--mixed-fp16", *flags, "-o", self.made)

    def error(self, *flags):
        """Relative to the largest output of fp32; infinite if not finite."""
        self.convert(*flags)
        feed, out = (self.source.parent / name for name in ("in.npz", "out.npz"))
        np.savez(feed, **self.feed)
        attempt("run", self.made, feed, "-o", out, program=RUN, code=0)
        (expected,) = run_ort(onnx.load(self.source), self.feed)
        actual = np.load(out)["y"]
        error = np.abs(actual - expected).max() / np.abs(expected).max()
        return error if np.isfinite(actual).all() else np.inf


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_fails_without_data(name):
    example, lists = Example(MODELS[name]), LISTS.get(name, [])
    without = example.error(*lists)
    with_data = example.error(*lists, f"--calibrate={example.data}")
    assert with_data < 0.03, with_data
    assert without > 10 * with_data, (without, with_data)


def values_of(path):
    return json.loads(path.read_text())["values"]


@pytest.fixture(scope="module")
def logits():
    return Example(large_logits)


def test_ranges_are_those_of_the_data(logits):
    """Of values, of inputs, and their sums of squares over all batches."""
    path = logits.source.parent / "ranges.json"
    logits.convert(f"--calibrate={logits.data}", f"--ranges={path}")
    model = onnx.load(logits.source)
    model.graph.output.append(helper.make_tensor_value_info("h", 1, [16, 64]))
    x = np.load(logits.data)["x"]
    h = np.stack([run_ort(model, {"x": batch})[1] for batch in x])
    ranges = values_of(path)
    assert json.loads(path.read_text())["batches"] == 8
    assert ranges["x"][0] == pytest.approx(np.abs(x).max(), rel=1e-6)
    assert ranges["h"][0] == pytest.approx(np.abs(h).max(), rel=1e-5)
    assert ranges["h"][1] == pytest.approx((h.astype(float) ** 2).sum(), rel=1e-4)
    below = np.abs(h) < 2.0**-14
    lost = ((h.astype(np.float16).astype(float) - h)[below] ** 2).sum()
    assert ranges["h"][2] == pytest.approx(lost, rel=1e-2, abs=1e-20)


def test_a_decision_repeats_without_the_data(logits):
    """From the file, from several, and from the metadata of the result."""
    folder = logits.source.parent
    path, other = folder / "a.json", folder / "b.json"
    logits.convert(f"--calibrate={logits.data}", f"--ranges={path}")
    first = onnx.load(logits.made).SerializeToString()
    np.savez(folder / "small.npz", x=np.load(logits.data)["x"] * 1e-3)
    logits.convert(f"--calibrate={folder / 'small.npz'}", f"--ranges={other}")
    assert onnx.load(logits.made).SerializeToString() != first
    logits.convert(f"--ranges={path}")
    assert onnx.load(logits.made).SerializeToString() == first
    logits.convert(f"--ranges={other},{path}")
    types = {t.name: t.data_type for t in onnx.load(logits.made).graph.initializer}
    logits.convert(f"--calibrate={logits.data}")
    again = {t.name: t.data_type for t in onnx.load(logits.made).graph.initializer}
    assert types == again
    metadata = {p.key: p.value for p in onnx.load(logits.made).metadata_props}
    assert json.loads(metadata["mp-opt.ranges"])["batches"] == 8
    plain = onnx.load(logits.source)
    held = plain.metadata_props.add()
    held.key, held.value = "mp-opt.ranges", metadata["mp-opt.ranges"]
    source, made = save(plain)
    run_mp_opt(source, "--mixed-fp16", "-o", made)
    repeated = {t.name: t.data_type for t in onnx.load(made).graph.initializer}
    assert repeated == types


def test_a_reason_names_the_number(logits):
    done = run_mp_opt(
        logits.source, "--mixed-fp16", f"--calibrate={logits.data}",
        "--explain=n_logits",
    )
    assert "its result reaches" in done.stdout
    assert "with head-room 2 it does not fit fp16" in done.stdout


def test_head_room(logits):
    """The largest value is half of what fp16 holds."""
    folder = logits.source.parent
    logits.convert(f"--calibrate={logits.data}", f"--ranges={folder / 'r.json'}")
    ranges = json.loads((folder / "r.json").read_text())
    for value in ranges["values"].values():
        value[0] = min(value[0], 30000)
    (folder / "r.json").write_text(json.dumps(ranges))

    def is_fp32(*flags):
        logits.convert(f"--ranges={folder / 'r.json'}", *flags)
        held = onnx.load(logits.made).graph.initializer
        return {t.name: t.data_type == 1 for t in held}["v"]

    assert not is_fp32()
    assert is_fp32("--head-room=3")
    assert not is_fp32("--head-room=1")


def test_large_negative_scores_are_no_mask():
    """Scores of -1e5 come from the data, and not from a constant."""
    nodes = [
        node("Add", "x b", "a"), node("Mul", "a c", "m"),
        node("MatMul", "m w", "s"), node("Softmax", "s", "y", axis=-1),
    ]
    weights = {
        "b": np.float32(1), "c": np.float32(0.5),
        "w": np.eye(8, dtype=np.float32),
    }
    example = Example(
        lambda: (
            nodes, {"x": [4, 8]}, "y", weights,
            {"x": data(4, 8, scale=3, shift=-3e5)},
        )
    )
    assert example.error("--allow=Add,Mul") == np.inf
    assert example.error("--allow=Add,Mul", f"--calibrate={example.data}") < 0.03


def test_masks_are_no_values():
    """-1e9 in front of a softmax is clamped; the scores are small."""
    mask = np.where(np.tri(16), 0, -1e9).astype(np.float32)
    nodes = [
        node("MatMul", "x w", "s"), node("Add", "s mask", "m"),
        node("Softmax", "m", "p", axis=-1), node("MatMul", "p x", "y"),
    ]
    weights = {"w": weight(16, 16, scale=0.25), "mask": mask}
    example = Example(
        lambda: (nodes, {"x": [16, 16]}, "y", weights, {"x": data(16, 16)})
    )
    path = example.source.parent / "ranges.json"
    example.convert(f"--calibrate={example.data}", f"--ranges={path}")
    assert values_of(path)["m"][0] < 100
    plain = example.source.parent / "plain.onnx"
    run_mp_opt(example.source, "--mixed-fp16", "-o", plain)
    types = [[t.data_type for t in onnx.load(p).graph.initializer]
             for p in (example.made, plain)]  # fmt: skip
    assert types[0] == types[1]


def layers_in_functions():
    """A function that is called twice: with small values and with large ones."""
    layer = helper.make_function(
        "my", "Layer", ["a", "b"], ["c"],
        [node("MatMul", "a b", "m"), node("Relu", "m", "c")],
        [helper.make_opsetid("", 17)],
    )
    calls = [
        helper.make_node("Layer", inputs.split(), [output], domain="my")
        for inputs, output in (("x w", "p"), ("p v", "q"))
    ]
    return [*calls, node("MatMul", "q u", "y")], [layer]


def layers_in_branches():
    """The large values are made in a branch that is taken."""
    branches = {
        name: helper.make_graph([made], name, [], [described])
        for name, made, described in (
            ("then_branch", node("MatMul", "h v", "t"),
             helper.make_tensor_value_info("t", 1, [4, 16])),
            ("else_branch", node("Relu", "h", "e"),
             helper.make_tensor_value_info("e", 1, [4, 16])),
        )
    }
    nodes = [
        node("MatMul", "x w", "h"), node("ReduceMax", "h", "s", keepdims=0),
        node("Less", "s big", "less"), node("If", "less", "r", **branches),
        node("MatMul", "r u", "y"),
    ]
    return nodes, []


@pytest.mark.parametrize("make", [layers_in_functions, layers_in_branches])
def test_values_in_functions_and_branches(make):
    nodes, functions = make()
    weights = {
        "w": weight(16, 16, scale=0.25), "u": weight(16, 4, scale=0.1),
        "v": RNG.uniform(-3e4, 3e4, (16, 16)).astype(np.float32),
        "big": np.float32(1e6),
    }
    model = make_model(
        nodes, {"x": [4, 16]}, {"y": [4, 4]}, weights, functions=functions,
        domains=["my"] if functions else (),
    )
    example = Example.__new__(Example)
    example.source, example.made = save(model)
    example.data = example.source.parent / "data.npz"
    feeds = data(4, 16)
    np.savez(example.data, x=feeds)
    example.feed = {"x": feeds[0]}
    path = example.source.parent / "ranges.json"
    flags = [f"--calibrate={example.data}", f"--ranges={path}"]
    assert example.error() == np.inf
    assert example.error(*flags) < 0.03
    assert example.error(f"--ranges={path}") < 0.03
    large = {name for name, row in values_of(path).items() if row[0] > 65504}
    expected = {"Layer_2:m", "Layer_2:c"} if functions else {"r"}
    assert large - {"y"} == expected


def transformer(layers=3, width=256, rows=512):
    """Blocks of attention and products, where arithmetic takes the time."""
    nodes, weights, x = [], {"scale": np.float32(width**-0.5)}, "x"
    for layer in range(layers):

        def product(name, value, rows=width, columns=width, layer=layer):
            key = f"w{name}{layer}"
            weights[key] = weight(rows, columns, scale=rows**-0.5)
            nodes.append(node("MatMul", f"{value} {key}", f"{name}{layer}"))
            return f"{name}{layer}"

        q, k, v = (product(name, x) for name in "qkv")
        nodes += [
            node("Transpose", k, f"t{layer}", perm=[1, 0]),
            node("MatMul", f"{q} t{layer}", f"s{layer}"),
            node("Mul", f"s{layer} scale", f"m{layer}"),
            node("Softmax", f"m{layer}", f"p{layer}", axis=-1),
            node("MatMul", f"p{layer} {v}", f"a{layer}"),
            node("Add", f"a{layer} {x}", f"b{layer}"),
        ]
        h = product("h", f"b{layer}", columns=4 * width)
        nodes.append(node("Tanh", h, f"g{layer}"))
        o = product("o", f"g{layer}", rows=4 * width)
        nodes.append(node("Add", f"{o} b{layer}", f"x{layer}"))
        x = f"x{layer}"
    nodes[-1].output[0] = "y"
    return nodes, {"x": [rows, width]}, "y", weights, {"x": data(rows, width)}


def test_a_run_takes_at_most_twice_the_time():
    """Of a plain run in fp32, without compiling; the fastest of some, since
    others use the machine as well."""
    example = Example(transformer)
    measured, plain = [], []
    for _ in range(4):
        done = run_mp_opt(
            example.source, "--mixed-fp16", f"--calibrate={example.data}",
            "-o", example.made,
        )
        found = re.search(r"in (\d+) batches, ([\d.]+) s", done.stderr)
        measured.append(float(found[2]) / int(found[1]))
        done = attempt(
            "bench", example.source, "--random", "--repeat=20", "--json",
            program=RUN, code=0,
        )
        plain.append(json.loads(done.stdout)["median"])
    assert min(measured) < 2 * min(plain), (measured, plain)


#===------------------------------------------------------------------------===#
# Forms of data
#===------------------------------------------------------------------------===#


def batches_of(example, *flags):
    path = example.source.parent / "form.json"
    example.convert(*flags, f"--ranges={path}")
    ranges = json.loads(path.read_text())
    return ranges["batches"], ranges["values"]["x"][0]


def test_forms_of_data(logits):
    """Batches, rows, folders, raw elements and several files."""
    folder = scratch_dir("forms")
    x = np.load(logits.data)["x"]
    np.savez(folder / "rows.npz", x=x.reshape(-1, 64))
    x.reshape(-1, 64).tofile(folder / "x.bin")
    for number, batch in enumerate(x[:3]):
        inner = folder / "sets" / f"test_data_set_{number}"
        inner.mkdir(parents=True)
        tensor = onnx.numpy_helper.from_array(batch)
        (inner / "input_0.pb").write_bytes(tensor.SerializeToString())
        np.savez(folder / f"{number}.npz", x=batch)
    np.save(folder / "x.npy", x)
    header = json.dumps({
        "x": {"dtype": "F32", "shape": list(x.shape),
              "data_offsets": [0, x.nbytes]},
    }).encode()  # fmt: skip
    (folder / "x.safetensors").write_bytes(
        len(header).to_bytes(8, "little") + header + x.tobytes()
    )
    largest = pytest.approx(float(np.abs(x).max()), rel=1e-6)
    for name in ("x.npy", "x.safetensors"):
        assert batches_of(logits, f"--calibrate={folder / name}") == (8, largest)
    one = f"--calibrate=x={folder / 'x.npy'}"
    assert batches_of(logits, one) == (8, largest)
    three = pytest.approx(float(np.abs(x[:3]).max()), rel=1e-6)
    assert batches_of(logits, f"--calibrate={folder / 'rows.npz'}") == (8, largest)
    raw = f"--calibrate=x:{folder / 'x.bin'}:float32[?,64]"
    assert batches_of(logits, raw) == (8, largest)
    assert batches_of(logits, f"--calibrate={folder / 'sets'}") == (3, three)
    files = ",".join(str(folder / f"{n}.npz") for n in range(2))
    both = (files, str(folder / "2.npz"))
    assert batches_of(logits, *(f"--calibrate={f}" for f in both)) == (3, three)


def test_more_batches_than_needed_are_spread():
    """Sixteen batches, of which the last ones are the largest."""
    nodes = [node("MatMul", "x w", "h"), node("Relu", "h", "y")]
    x = data(4, 8)
    x = np.concatenate([x, 100 * x])
    example = Example(
        lambda: (nodes, {"x": [4, 8]}, "y", {"w": weight(8, 8)}, {"x": x})
    )
    count, largest = batches_of(example, f"--calibrate={example.data}")
    assert count == 8 and largest == pytest.approx(np.abs(x[::2]).max())


def test_open_batch_size():
    nodes = [node("MatMul", "x w", "h"), node("Relu", "h", "y")]
    feeds = {"x": weight(19, 8)}
    model = make_model(nodes, {"x": ["batch", 8]}, "y", {"w": weight(8, 8)})
    source, made = save(model)
    np.savez(source.parent / "x.npz", **feeds)
    path = source.parent / "r.json"

    def count(*flags):
        run_mp_opt(
            source, "--mixed-fp16", f"--calibrate={source.parent / 'x.npz'}",
            f"--ranges={path}", *flags, "-o", made,
        )
        return json.loads(path.read_text())["batches"]

    assert count() == 4
    assert count("--dim=batch=8") == 2


@pytest.mark.parametrize("sizes", [["s", 2, 8], [None, None, 8]])
def test_a_sequence_is_not_cut(sizes):
    """The first dimension of the scores is that of the mask's columns, too, or
    has no name and is not the only one that is open."""
    nodes = [
        node("MatMul", "x w", "h"),
        node("ReduceMean", "h", "m", axes=[1], keepdims=0),
        node("Transpose", "m", "t", perm=[1, 0]), node("MatMul", "m t", "s"),
        node("Add", "s mask", "y"),
    ]
    mask = ["s", "s"] if sizes[0] else [None, None]
    model = make_model(
        nodes, {"x": sizes, "mask": mask}, {"y": mask}, {"w": weight(8, 8)}
    )
    source, made = save(model)
    path = source.parent / "x.npz"
    np.savez(path, x=weight(12, 2, 8), mask=weight(12, 12))
    ranges = source.parent / "r.json"
    run_mp_opt(
        source, "--mixed-fp16", f"--calibrate={path}", f"--ranges={ranges}",
        "-o", made,
    )
    assert json.loads(ranges.read_text())["batches"] == 1


#===------------------------------------------------------------------------===#
# Wrong data
#===------------------------------------------------------------------------===#


def refused(example, *flags, code=1):
    made = example.source.parent / "refused.onnx"
    done = attempt(
        example.source, "--mixed-fp16", *flags, "-o", made, code=code
    )
    assert done.stderr.count("error:") == 1, done.stderr
    assert not made.exists()
    return done.stderr


def write(name, **arrays):
    path = scratch_dir("wrong") / name
    np.savez(path, **arrays)
    return f"--calibrate={path}"


def test_wrong_data(logits):
    x = np.load(logits.data)["x"]
    text = refused(logits, write("other.npz", z=x))
    assert "input 'x' is missing: expected float32[16,64], found 'z'" in text
    empty = scratch_dir("wrong") / "empty.npz"
    empty.write_bytes(b"")
    assert "empty.npz" in refused(logits, f"--calibrate={empty}")
    assert "zero batches" in refused(logits, write("none.npz", x=x[:0]))
    few = refused(logits, write("few.npz", x=x[0, :3]))
    assert "has 3 rows, less than a batch of 16" in few
    sizes = refused(logits, write("sizes.npz", x=x[..., :5]))
    assert "input 'x': expected float32[16,64]" in sizes
    assert "cannot read it" in refused(logits, "--calibrate=nowhere.npz")
    folder = scratch_dir("nothing")
    assert "expected files such as" in refused(logits, f"--calibrate={folder}")


def test_numbers_that_are_not_finite(logits):
    x = np.load(logits.data)["x"].copy()
    x[2, 3, 4] = np.nan
    text = refused(logits, write("nan.npz", x=x))
    assert "nan.npz: batch 2: 'x' has 1 element" in text
    assert "NaN in row 3, column 4" in text
    x[2, 3, 4] = np.inf
    assert "batch 2: 'x' has 1 element" in refused(logits, write("inf.npz", x=x))


def test_nan_from_inside_names_the_first_node():
    nodes = [
        node("MatMul", "x w", "h"), node("Sqrt", "h", "r"),
        node("MatMul", "r w", "y"),
    ]
    example = Example(
        lambda: (nodes, {"x": [4, 8]}, "y", {"w": weight(8, 8)}, {"x": data(4, 8)})
    )
    text = refused(example, f"--calibrate={example.data}")
    assert "batch 0: value 'r' has NaN in fp32, from node 'n_r' (Sqrt-13)" in text


def test_infinities_that_no_output_shows_stay_fp32():
    nodes = [
        node("MatMul", "x w", "h"), node("Relu", "h", "r"),
        node("Reciprocal", "r", "i"), node("Min", "i one", "m"),
        node("MatMul", "m w", "y"),
    ]
    weights = {"w": weight(8, 8), "one": np.float32(1)}
    example = Example(
        lambda: (nodes, {"x": [4, 8]}, "y", weights, {"x": data(4, 8)})
    )
    done = run_mp_opt(
        example.source, "--mixed-fp16", f"--calibrate={example.data}",
        "--explain=n_i",
    )
    assert "elements in the data that are not finite" in done.stdout


def test_random_numbers_are_refused(logits):
    text = refused(logits, "--calibrate=random")
    assert "random numbers do not have the ranges of data" in text
    assert "--force-random" in text
    count, largest = batches_of(logits, "--calibrate=random", "--force-random")
    assert count == 8 and 3 < largest < 6


def test_ranges_of_another_model(logits):
    path = logits.source.parent / "other.json"
    other = Example(outlier_channel)
    other.convert(f"--calibrate={other.data}", f"--ranges={path}")
    text = refused(logits, f"--ranges={path}")
    assert "other.json: ranges of another model" in text
    ranges = json.loads(path.read_text())
    ranges["model"] = ""
    ranges["values"] = {"nobody": ranges["values"]["h"]}
    path.write_text(json.dumps(ranges))
    assert "none of their 1 values" in refused(logits, f"--ranges={path}")


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", "expected ranges as --calibrate"),
        ("[1, 2]", 'there is no "format"'),
        ('{"format": "mp-opt.ranges", "version": 9}', "found 9"),
        ('{"format": "mp-opt.ranges", "version": 1, "batches": 0}', "batches"),
        ('{"format": "mp-opt.ranges", "version": 1, "batches": 1}', "values"),
        (
            '{"format": "mp-opt.ranges", "version": 1, "batches": 1, '
            '"values": {"h": [-1, 0, 0, null, null]}}',
            "value 'h': 'max' is not a number from 0 on",
        ),
        ("[" * 100000, "expected ranges"),
    ],
)
def test_a_file_that_is_not_one_of_ranges(logits, text, expected):
    path = scratch_dir("ranges") / "r.json"
    path.write_text(text)
    found = refused(logits, f"--ranges={path}")
    assert "r.json" in found and expected in found


def test_flags_that_contradict_each_other(logits):
    for flags, expected in (
        (["--ranges=a", "--ranges=b", "--calibrate=c"], "one file"),
        (["--force-random"], "needs --calibrate=random"),
        (["--head-room=0.5"], "from 1 on"),
    ):
        assert expected in refused(logits, *flags, code=2)
    done = attempt(logits.source, "--calibrate=x.npz", code=2)
    assert "need --mixed-bf16" in done.stderr


def test_a_file_of_ranges_stays_whole(logits):
    """A run that fails after the measurement writes nothing."""
    path = scratch_dir("whole") / "r.json"
    path.write_text("old")
    refused(
        logits, f"--calibrate={logits.data}", f"--ranges={path}", "--strict",
        "--allow-node=n_logits", "--deny-node=n_logits",
    )
    assert path.read_text() == "old"


#===------------------------------------------------------------------------===#
# Stated ranges
#===------------------------------------------------------------------------===#


def square_model():
    nodes = [
        node("Mul", "image image", "q"), node("MatMul", "q w", "h"),
        node("Relu", "h", "y"),
    ]
    return make_model(nodes, {"image": [4, 8]}, "y", {"w": weight(8, 8)})


def test_a_stated_range_replaces_the_warning():
    source, made = save(square_model())
    flags = (source, "--mixed-fp16", "--allow=Mul", "-o", made)
    assert "inputs of unknown range" in run_mp_opt(*flags).stderr
    done = run_mp_opt(*flags, "--input-range=image:0..1")
    assert "inputs of unknown range" not in done.stderr
    np.savez(source.parent / "image.npz", image=data(4, 8))
    done = run_mp_opt(*flags, f"--calibrate={source.parent / 'image.npz'}")
    assert "inputs of unknown range" not in done.stderr


def test_wrong_stated_ranges():
    source, made = save(square_model())
    for text, expected in (
        ("imag:0..1", "did you mean 'image'?"),
        ("image:5..1", "the smaller number first"),
        ("image:0", "NAME:LOW..HIGH"),
    ):
        done = attempt(
            source, "--mixed-fp16", f"--input-range={text}", "-o", made, code=1
        )
        assert expected in done.stderr and not made.exists()


def test_data_rule_out_what_a_constant_might_do():
    """b * c may overflow, since b is made of 1e5; in the data b is small."""
    nodes = [
        node("MatMul", "x w", "a"), node("Sigmoid", "a", "s"),
        node("Mul", "s k", "b"), node("Mul", "b c", "h"),
        node("MatMul", "h v", "y"),
    ]
    weights = {
        "w": -np.eye(8, dtype=np.float32), "k": np.float32(1e5),
        "c": np.full(8, 0.5, np.float32), "v": weight(8, 8),
    }
    example = Example(
        lambda: (
            nodes, {"x": [4, 8]}, "y", weights,
            {"x": data(4, 8, scale=0.1, shift=9)},
        )
    )

    def explain(*flags):
        return run_mp_opt(
            example.source, "--mixed-fp16", "--allow=Mul", *flags,
            "--explain=n_h",
        ).stdout

    fear, proof = "'b' is made of 'k' (100000)", "so that no caution is needed"
    data_flag = f"--calibrate={example.data}"
    assert fear in explain() and proof not in explain()
    assert fear in explain(data_flag) and proof not in explain(data_flag)
    trusted = explain(data_flag, "--trust-data")
    assert "runs in fp16" in trusted and proof in trusted
