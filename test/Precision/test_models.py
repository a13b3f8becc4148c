# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every model of the collection in bf16 and fp16: validity and invariants."""

import functools
import hashlib
import shutil

import onnx
import pytest

import schema_types
from support import (
    DTYPES,
    ELEMENT_TYPE,
    all_models,
    content,
    convert,
    external_files,
    op_types,
    run_mp_opt,
    scratch_dir,
    staged,
)

each_model = pytest.mark.parametrize("relative", all_models())
each_dtype = pytest.mark.parametrize("dtype", DTYPES)

# onnxruntime writes ops into the standard domain that are not standard there
# (LayerNormalization before opset 17), so the checker refuses the source.
SOURCES_THE_CHECKER_REFUSES = {"train/bert2_op15/training_model.onnx"}


@functools.lru_cache(maxsize=None)
def validity(path):
    """What the checker and strict shape inference object to, by name."""
    objections = {}
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception as error:
        objections["checker"] = str(error)
    try:
        model = onnx.load(path)
        onnx.shape_inference.infer_shapes(model, strict_mode=True)
    except Exception as error:
        objections["strict shape inference"] = str(error)
    return objections


def test_the_collection_is_there():
    assert len(all_models()) == 40


@each_model
def test_source_is_valid(relative):
    """Without this, the test of the outputs could be an empty promise."""
    refused = relative in SOURCES_THE_CHECKER_REFUSES
    assert ("checker" in validity(staged(relative))) == refused


@each_model
@each_dtype
def test_mixed_model_is_valid(relative, dtype):
    source = staged(relative)
    output = convert(source, f"--mixed-{dtype}")
    before, after = validity(source), validity(output)
    assert not {k: after[k] for k in after if k not in before}


def unsorted_uses(graph, outer=()):
    """Names used before they are defined, in a graph and its subgraphs."""
    defined = set(outer) | {""}
    defined |= {v.name for v in graph.input}
    defined |= {t.name for t in graph.initializer}
    defined |= {t.values.name for t in graph.sparse_initializer}
    early = []
    for node in graph.node:
        early += [name for name in node.input if name not in defined]
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                early += unsorted_uses(inner, defined)
        defined |= set(node.output)
    return early + [v.name for v in graph.output if v.name not in defined]


@each_model
@each_dtype
def test_mixed_model_is_sorted(relative, dtype):
    output = convert(staged(relative), f"--mixed-{dtype}")
    model = onnx.load(output, load_external_data=False)
    assert not unsorted_uses(model.graph)


def interface(path):
    graph = onnx.load(path, load_external_data=False).graph
    return [
        [value.SerializeToString(deterministic=True) for value in side]
        for side in (graph.input, graph.output)
    ]


@each_model
@each_dtype
def test_interface_is_kept(relative, dtype):
    source = staged(relative)
    assert interface(convert(source, f"--mixed-{dtype}")) == interface(source)


@each_model
@each_dtype
def test_contractions_run_in_16_bit(relative, dtype):
    """All other tests here would pass on an unchanged model."""
    source = staged(relative)
    names = {name.rpartition(".")[2] for name in op_types(source)}
    if not schema_types.CONTRACTIONS & names:
        assert content(convert(source, f"--mixed-{dtype}")) == content(source)
        return
    model = onnx.load(convert(source, f"--mixed-{dtype}"))
    types, problems = schema_types.infer(model)
    assert not problems
    assert schema_types.low_contractions(model, types, ELEMENT_TYPE[dtype])


@each_model
@each_dtype
def test_twice_is_once(relative, dtype):
    once = convert(staged(relative), f"--mixed-{dtype}")
    folder = scratch_dir("twice")
    for path in external_files(once):
        shutil.copy(path, folder)
    twice = folder / once.name
    run_mp_opt(once, f"--mixed-{dtype}", "-o", twice)
    assert content(twice) == content(once)


@each_model
@each_dtype
def test_all_ops_denied_changes_nothing(relative, dtype):
    source = staged(relative)
    deny = f"--deny={','.join(op_types(source))}"
    output = source.with_name(f"{source.stem}.denied.onnx")
    run_mp_opt(source, f"--mixed-{dtype}", deny, "-o", output)
    assert output.read_bytes() == source.read_bytes()


@each_model
def test_no_pass_changes_nothing(relative):
    source = staged(relative)
    assert convert(source).read_bytes() == source.read_bytes()


@each_dtype
@pytest.mark.parametrize(
    "relative",
    ["fwd/bert_like_op17/model.onnx", "train/mlp784/training_model.onnx"],
)
def test_runs_are_deterministic(relative, dtype):
    source = staged(relative)
    hashes = set()
    for _ in range(20):
        output = source.with_name(f"{source.stem}.again.onnx")
        run_mp_opt(source, f"--mixed-{dtype}", "-o", output)
        hashes.add(hashlib.sha256(output.read_bytes()).hexdigest())
    assert len(hashes) == 1
