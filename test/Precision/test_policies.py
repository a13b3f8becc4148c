# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists, gaudi_config.json and policies in YAML: the examples, what they do to
models, and files that are wrong."""

import random
import re
import shutil
import subprocess

import onnx
import pytest
from support import MP_OPT, ROOT, attempt, scratch_dir, staged

EXAMPLES = ROOT / "examples" / "policies"
SMALL = ROOT / "test" / "Tools" / "Inputs" / "small.onnxtxt"
REMARK = re.compile(
    r"Node=\"node '([^']*)' \(([\w.]+)-\d+\)\", Reason=\"([^\"]*)\", To=(\w+)"
)
CONVNEXT = "fwd/convnext_test_op18/model.onnx"
BERT = "fwd/bert_hf_op20/model.onnx"
RESNET = "fwd/resnet18_w8_op17/model.onnx"


def run(*arguments):
    return attempt(*arguments, encoding="utf-8", errors="replace")


def decide(model, *flags):
    """The op, the precision and the reason of every node that has one."""
    output = scratch_dir("policy") / "out.onnx"
    done = run(model, *flags, "--remarks-filter=mp-precision", "-o", output)
    assert done.returncode == 0, done.stderr[-2000:]
    onnx.checker.check_model(str(output), full_check=True)
    return {
        name: (op, to, reason)
        for name, op, reason, to in REMARK.findall(done.stderr)
    }


def precisions(decisions, op):
    return {to for kind, to, _ in decisions.values() if kind == op}


def write(content, name="policy.yaml"):
    path = scratch_dir("policy") / name
    if isinstance(content, str):
        content = content.encode()
    path.write_bytes(content)
    return path


def error_of(*arguments):
    """The one error of a run that fails; nothing is written."""
    output = scratch_dir("policy") / "out.onnx"
    done = run(*arguments, "-o", output)
    assert done.returncode == 1, (done.returncode, done.stderr[-2000:])
    assert not output.exists()
    errors = [line for line in done.stderr.splitlines() if ": error: " in line]
    assert len(errors) == 1, done.stderr[-2000:]
    return errors[0].split(": error: ", 1)[1]


# The examples.


@pytest.mark.parametrize("model", [RESNET, BERT, CONVNEXT])
def test_gaudi_default_lists(model):
    found = decide(
        staged(model),
        "--mixed-bf16",
        f"--allow-file={EXAMPLES / 'gaudi-bf16.txt'}",
        f"--deny-file={EXAMPLES / 'gaudi-fp32.txt'}",
    )
    for op in ("Conv", "Gemm", "MatMul", "Relu", "LayerNormalization", "Mul"):
        reasons = {r for kind, _, r in found.values() if kind == op}
        assert reasons <= {"user's list", "shape arithmetic"}
    for op in ("Conv", "Gemm", "MatMul", "Relu", "LayerNormalization"):
        assert precisions(found, op) <= {"bf16"}
    for op in ("Softmax", "Div", "Gather", "Log", "TopK"):
        assert precisions(found, op) <= {"f32"}


def test_resnet50_lists():
    found = decide(
        staged(RESNET),
        "--mixed-bf16",
        f"--allow-file={EXAMPLES / 'resnet50-bf16.txt'}",
        f"--deny-file={EXAMPLES / 'resnet50-fp32.txt'}",
    )
    for op in ("Conv", "Gemm", "Relu", "MaxPool"):
        assert precisions(found, op) == {"bf16"}
        assert {r for k, _, r in found.values() if k == op} == {"user's list"}


def test_gaudi_config():
    found = decide(
        staged(BERT), f"--gaudi-config={EXAMPLES / 'gaudi_config.json'}"
    )
    for op in ("MatMul", "Softmax", "LayerNormalization", "Gelu"):
        assert precisions(found, op) == {"bf16"}
    assert precisions(found, "Gather") == {"f32"}


def with_metadata():
    """A copy of a model, with the metadata that policy.yaml reads."""
    source = staged(CONVNEXT)
    folder = scratch_dir("metadata")
    for path in source.parent.iterdir():
        shutil.copy(path, folder)
    model = onnx.load(folder / source.name, load_external_data=False)
    entry = model.metadata_props.add()
    entry.key, entry.value = "mp.policy", "ops: {deny: [Tanh]}"
    (node,) = [n for n in model.graph.node if n.name == "node_add_8"]
    entry = node.metadata_props.add()
    entry.key, entry.value = "mp.precision", "fp32"
    onnx.save(model, folder / "annotated.onnx")
    return folder / "annotated.onnx"


def test_policy_with_every_notion():
    found = decide(with_metadata(), f"--policy={EXAMPLES / 'policy.yaml'}")
    assert precisions(found, "MatMul") == {"bf16"}
    assert found["node_Conv_252"][1:] == ("bf16", "user's list")
    overridden = {n: to for n, (_, to, r) in found.items() if r == "node override"}
    assert overridden.pop("node_mean") == "bf16"
    assert overridden.pop("node_layer_norm_1") == "bf16"
    assert set(overridden.values()) == {"f32"}
    assert {
        "node_add_8",
        "node_gelu",
        "node_Conv_253",
        "node_as_strided",
        "node_layer_norm_13",
        "node_Gemm_269",
    } <= set(overridden)
    # More than 2,000 weights, and one group.
    assert not {"node_Conv_258", "node_Conv_252"} & set(overridden)
    assert found["node_Tanh_10"][1:] == ("f32", "user's list")


# A printed policy can be read, and is the same policy.


def meaning(text):
    lines = (re.sub(r"\s+# .*", "", line) for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize(
    "flags",
    [
        ["--mixed-bf16"],
        ["--mixed-fp16"],
        ["--policy=mixed_float16", "--allow=Softmax,linear", "--deny=ai.onnx.ml.*"],
        ["--mixed-bf16", "--deny-node='it''s' #1: \"x\"", "--allow-node=é.*|\\d"],
        [f"--gaudi-config={EXAMPLES / 'gaudi_config.json'}", "--strict"],
        [f"--policy={EXAMPLES / 'policy.yaml'}", "--promote=Sum"],
        ["--mixed-bf16", f"--allow-file={EXAMPLES / 'gaudi-bf16.txt'}"],
    ],
)
def test_print_config_round_trip(flags):
    first = run("--print-config", *flags)
    assert first.returncode == 0, first.stderr
    path = write(first.stdout)
    second = run("--print-config", f"--policy={path}")
    assert second.returncode == 0, second.stderr
    assert meaning(second.stdout) == meaning(first.stdout)


def test_print_config_says_where_entries_come_from():
    path = write("# comment\nSoftmax\n", "ops.txt")
    done = run("--print-config", "--mixed-fp16", f"--deny-file={path}")
    assert f"    - Softmax  # {path}:2\n" in done.stdout
    assert "precision: fp16  # --mixed-fp16\n" in done.stdout
    defaults = done.stdout.split("\ndefaults:")[1]
    assert "ai.onnx.Exp" in defaults and "ai.onnx.Softmax," not in defaults


def test_printed_policy_decides_the_same():
    flags = ["--mixed-fp16", "--allow=Softmax", "--deny-node=node_linear.*"]
    path = write(run("--print-config", *flags).stdout)

    def outcomes(*how):
        found = decide(staged(BERT), *how)
        return {name: (op, to) for name, (op, to, _) in found.items()}

    assert outcomes(f"--policy={path}") == outcomes(*flags)


# Keras' names.


def test_keras_policies():
    model = staged(BERT)
    assert decide(model, "--policy=mixed_bfloat16") == decide(model, "--mixed-bf16")
    assert decide(model, "--policy=mixed_float16") == decide(model, "--mixed-fp16")


@pytest.mark.parametrize("policy", ["float32", "yaml"])
def test_float32_changes_nothing(policy):
    if policy == "yaml":
        policy = write("precision: float32\nops: {deny: [Softmax]}\n")
    for model in (BERT, CONVNEXT, "fwd/resnet18_w8_op20_ext/model.onnx"):
        output = scratch_dir("float32") / "model.onnx"
        done = run(staged(model), f"--policy={policy}", "-o", output)
        assert done.returncode == 0, done.stderr
        assert output.read_bytes() == staged(model).read_bytes()


# Files as editors write them.


@pytest.mark.parametrize(
    "content",
    [
        "Softmax\nlinear\n",
        "\ufeffSoftmax\r\nlinear\r\n",
        "# list\n\n  Softmax\t# why\n\tlinear",
        "Softmax\r\n\r\n# é\r\nlinear",
    ],
)
def test_list_file_forms(content):
    path = write(content, "ops.txt")
    found = decide(staged(BERT), "--mixed-bf16", f"--deny-file={path}")
    assert precisions(found, "MatMul") == {"f32"}
    path = write("\ufeffops:\r\n  deny:\r\n  - Softmax\r\n  - linear\r\n")
    assert decide(staged(BERT), f"--policy={path}") == found


def test_names_beyond_ascii():
    model = onnx.parser.parse_model(SMALL.read_text(encoding="utf-8"))
    model.graph.node[0].name = "größe/层 0"
    path = scratch_dir("names") / "model.onnx"
    onnx.save(model, path)
    policy = write("nodes:\r\n- {class: deny, name: größe/层 0}\r\n")
    assert found_override(path, f"--policy={policy}") == {"größe/层 0"}
    policy = write('nodes:\n- {class: deny, name: "gr\\u00f6\\u00dfe/层 0"}\n')
    assert found_override(path, f"--policy={policy}") == {"größe/层 0"}


def found_override(model, *flags):
    found = decide(model, *flags)
    return {n for n, (_, _, r) in found.items() if r == "node override"}


def test_nodes_without_names_go_by_their_outputs():
    model = onnx.load(staged(RESNET))
    for node in model.graph.node:
        node.name = ""
    path = scratch_dir("nameless") / "model.onnx"
    onnx.save(model, path)
    output = scratch_dir("nameless") / "out.mlir"
    policy = write("nodes: [{class: deny, regex: '/layer1/.*/conv1/.*'}]\n")
    done = run(path, f"--policy={policy}", "-o", output)
    assert done.returncode == 0, done.stderr
    kept = [
        line
        for line in output.read_text().splitlines()
        if '"onnx.Conv"' in line and "bf16" not in line
    ]
    assert len(kept) == 2 and all("layer1" in line for line in kept)


def test_policy_from_a_pipe():
    command = f"{MP_OPT} {SMALL} --policy=<(echo 'precision: fp16') -o /dev/null"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 0 and "mixed precision (fp16)" in done.stderr


# Files that are wrong.

BAD_LISTS = {
    "": "ops.txt: the list is empty",
    "# nothing\r\n\n": "ops.txt: the list is empty",
    "Conv\n\nMatMul\nConv\n": "operator 'Conv' is twice in the deny list at "
    "ops.txt:1 and ops.txt:4",
    "linear\nlinear\n": "operator 'linear' is twice",
    "Conv, MatMul\n": "ops.txt:1: expected one operator a line, found 'Conv, MatMul'",
    "BiasAdd\\|Softmax\n": "unknown operator 'BiasAdd\\|Softmax' in the deny "
    "list at ops.txt:1",
    "Conv\nSofmax\n": "unknown operator 'Sofmax' in the deny list at ops.txt:2; "
    "did you mean 'Softmax'?",
    "layer_nrom\n": "did you mean 'layer_norm'?",
    b"Conv\n\xff\xfe\n": "ops.txt:2: expected UTF-8 text",
    b"\xff\xfeC\0o\0": "ops.txt: expected UTF-8, found UTF-16",
    b"Conv\0\n": "ops.txt:1: expected UTF-8 text",
}


@pytest.mark.parametrize("content", BAD_LISTS)
def test_bad_list(content):
    path = write(content, "ops.txt")
    error = error_of(SMALL, "--mixed-bf16", f"--deny-file={path}")
    assert BAD_LISTS[content] in error.replace(str(path), "ops.txt")


BAD_POLICIES = {
    "": "policy.yaml:1: expected a map of keys, found nothing",
    "{}": "policy.yaml: the policy is empty",
    "- a\n": "policy.yaml:1: expected a map of keys, found a list",
    "version: 2\n": "policy.yaml:1: 'version': expected 1, found '2'",
    "precision: mixed_bfloat\n": "found 'mixed_bfloat'; did you mean 'mixed_bfloat16'?",
    "precision: bf16\nprecision: fp16\n": "policy.yaml:2: key 'precision' is "
    "there twice",
    "ops: [Conv]\n": "policy.yaml:1: 'ops': expected lists of operators, found a list",
    "ops: {allow: []}\n": "policy.yaml:1: 'allow': the list is empty",
    "ops: {allow: Conv}\n": "'allow': expected a list of operators, found 'Conv'",
    "ops: {allow: [[Conv]]}\n": "'allow': expected an operator, found a list",
    "ops:\n  allow: [Conv]\n  deny:\n  - Conv\n": "operator 'Conv' is in both the "
    "allow list at policy.yaml:2 and the deny list at policy.yaml:4",
    "ops: {alow: [Conv]}\n": "unknown key 'alow'; did you mean 'allow'?",
    "nodes: {class: deny}\n": "'nodes': expected a list of rules, found a map",
    "nodes: [x]\n": "policy.yaml:1: expected 'class' and one of",
    "nodes: [{class: deny}]\n": "policy.yaml:1: expected 'class' and one of",
    "nodes: [{name: mm}]\n": "policy.yaml:1: expected 'class' and one of",
    "nodes: [{class: deny, name: mm, regex: mm}]\n": "expected 'class' and one of",
    "nodes: [{class: deny, op: Conv}]\n": "expected 'class' and one of",
    "nodes: [{class: deny, name: mm, where: {group: 1}}]\n": "expected 'class' and",
    "nodes: [{class: denny, name: mm}]\n": "expected allow, deny, promote or follow, "
    "found 'denny'; did you mean 'deny'?",
    "nodes: [{class: deny, nmae: mm}]\n": "unknown key 'nmae'; did you mean 'name'?",
    "nodes:\n- class: deny\n  regex: 'a(b'\n": "policy.yaml:3: 'regex': 'a(b' is not a "
    "regular expression: parentheses not balanced",
    "nodes:\n- class: deny\n  regex: '(((a{99}){99}){99})'\n": "it repeats too much",
    "nodes: [{class: deny, regex: 'x.*'}]\n": "pattern 'x.*' at policy.yaml:1 matches "
    "no node",
    "nodes: [{class: deny, name: sofmax}]\n": "name 'sofmax' at policy.yaml:1 matches "
    "no node; did you mean 'softmax'?",
    "nodes: [{class: deny, between: [sm]}]\n": "'between': expected two names",
    "nodes: [{class: deny, between: [softmax, mm]}]\n": "the region from 'softmax' to "
    "'mm' at policy.yaml:1: no path leads from 'softmax' to 'mm', but one leads from "
    "'mm' to 'softmax'",
    "nodes: [{class: deny, between: [mm, sofmax]}]\n": "no node or value is called "
    "'sofmax'; did you mean 'softmax'?",
    "nodes: [{class: deny, op: Softmax, where: {axs: 1}}]\n": "operator 'Softmax' has "
    "no attribute 'axs' at policy.yaml:1; did you mean 'axis'?",
    "nodes: [{class: deny, op: Softmax, where: {axis: '> x'}}]\n": "'axis': expected a "
    "number after the comparison, found '> x'",
    "nodes: [{class: deny, op: Softmax, where: {axis: 77}}]\n": "the condition on "
    "'Softmax' at policy.yaml:1 matches no node",
    "nodes: [{class: deny, metadata: {a: b}}]\n": "the metadata 'a': 'b' at "
    "policy.yaml:1 matches no node",
    "nodes: [{class: deny, name: mm}, {class: allow, name: mm}]\n": "node 'mm' "
    "(MatMul-13): matches 'mm' at policy.yaml:1 and 'mm' at policy.yaml:1",
    "metadata: {nodes: mp.x}\n": "no node has metadata 'mp.x' (policy.yaml:1)",
    "metadata: {model: mp.x}\n": "the model has no metadata 'mp.x' (policy.yaml:1)",
    "metadata: {node: mp.x}\n": "unknown key 'node'; did you mean 'nodes'?",
    "assign: mincut\n": "'assign': expected min-cut or first-operand, found 'mincut'",
    "min_saving: -1\n": "'min_saving': expected a percentage",
    "min_saving: nan\n": "'min_saving': expected a percentage",
    "dims: {batch: 0}\n": "'batch': expected a size, found '0'",
    "strict: maybe\n": "'strict': expected true or false, found 'maybe'",
    "a: &x [1]\nb: *x\n": "policy.yaml:1: anchors and aliases are not supported",
    "a: [1\nb: 2\n": "policy.yaml:2: ",
    "a: 'b\n": "policy.yaml:1: ",
    "---\nversion: 1\n---\nversion: 1\n": "expected one document",
    "x: " + "[" * 100000: "nested more than 32 deep",
    "- " * 100000: "nested more than 32 deep",
    "x: [" + "a," * 200000 + "]": "more than 100000 entries",
    "x: [" + "," * 100000 + "]": "more than 100 commas in a row",
    "x: {" + ", # a\n" * 100000 + "}": "more than 100 commas in a row",
    "ops:\n  allow: [a,, b]": "policy.yaml:2: an entry of the list is empty",
    "x: [{}, {a: [1], , b: 2}]": "policy.yaml:1: an entry of the map is empty",
    "x: 1\n" + "...\n" * 100000: "more than 100 ends of documents",
    "? " * 100000: "nested more than 32 deep",
    "&a " * 100000: "Already encountered an anchor",
    "x: " + "{" * 100000: "nested more than 32 deep",
    # Commas in texts and comments do not separate entries.
    "metadata: {model: 'a,,b'} # [,,]\n": "no metadata 'a,,b'",
    "metadata:\n  model: |\n    [,,]\n": "no metadata '[,,]\\n'",
    '{"metadata":{"model":"[,,"}}': "no metadata '[,,'",
    "nodes: [{class: deny, regex: '" + "(" * 9999 + "'}]": "more than 100 groups in",
    "#" * (1 << 20) + "#": "expected at most 1048576 bytes, found 1048577",
}


def make_small():
    """The small model, with names that policies can be wrong about."""
    text = SMALL.read_text(encoding="utf-8")
    model = onnx.parser.parse_model(text)
    for node, name in zip(model.graph.node, ["mm", "softmax"]):
        node.name = name
    path = scratch_dir("small") / "small.onnx"
    onnx.save(model, path)
    return path


@pytest.mark.parametrize(
    "content", BAD_POLICIES, ids=lambda content: content[:40].replace("\n", ";")
)
def test_bad_policy(content):
    path = write(content)
    error = error_of(make_small(), f"--policy={path}")
    assert BAD_POLICIES[content] in error.replace(str(path), "policy.yaml")


def test_all_dead_rules_are_listed():
    path = write("nodes:\n- {class: deny, name: a}\n- {class: deny, regex: b}\n")
    done = run(SMALL, f"--policy={path}", "-o", "/dev/null")
    assert done.returncode == 1
    assert "error: name 'a'" in done.stderr and "note: pattern 'b'" in done.stderr


def spoil(name):
    return name[:-1] + ("x" if name[-1] != "x" else "y")


def keys_of(text):
    """Every key of the policy's own, and where it stands."""
    pattern = re.compile(r"(?:^|(?<=[ {,-]))([a-z_]+)(?=:)", re.M)
    own = set(
        "version precision ops nodes metadata defaults assign min_saving dims strict "
        "raise_opset allow deny promote follow class name regex between op where model"
        .split()
    )
    for match in pattern.finditer(text):
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if "#" not in line and match.group(1) in own:
            yield match


def test_every_misspelt_key_is_named():
    text = (EXAMPLES / "policy.yaml").read_text(encoding="utf-8")
    keys = list(keys_of(text))
    assert len(keys) > 25
    for match in keys:
        wrong = spoil(match.group(1))
        path = write(text[: match.start()] + wrong + text[match.end() :])
        line = text.count("\n", 0, match.start()) + 1
        done = run("--print-config", f"--policy={path}")
        if match.group(1) == "model" and done.returncode == 0:
            continue
        assert done.returncode == 1, (match.group(1), line)
        assert f"{path}:{line}: unknown key '{wrong}'; did you mean" in done.stderr


BAD_GAUDI = {
    '{"use_torch_autocat": true}': "gaudi_config.json:1: unknown key "
    "'use_torch_autocat'; did you mean 'use_torch_autocast'?",
    '{"use_fused_adam": true,\n "use_dynamics_shapes": true}': "gaudi_config.json:2: "
    "unknown key 'use_dynamics_shapes'; did you mean 'use_dynamic_shapes'?",
    '{"autocast_bf16_ops": []}': "'autocast_bf16_ops': the list is empty",
    '{"autocast_bf16_ops": "add"}': "expected a list of operators, found 'add'",
    '{"autocast_bf16_ops": [1.5]}': "unknown operator '1.5'",
    '{"autocast_bf16_ops": ["addd"]}': "did you mean 'add'?",
    '{"hmp_bf16_ops": ["add",\n"mul",\n"add"]}': "operator 'add' is twice in the allow "
    "list at gaudi_config.json:1 and gaudi_config.json:3",
    '{"hmp_bf16_ops": ["add"],\n"hmp_fp32_ops": ["iadd"]}': "operator 'Add' is in both",
    '{"use_torch_autocast": 1}': "expected true or false, found '1'",
    '{"use_torch_autocast": true,}': "gaudi_config.json:1: malformed JSON",
    '{"use_torch_autocast": true\n"use_fused_adam": true}': "gaudi_config.json:",
    '{"use_torch_autocast": tru}': "gaudi_config.json:1: ",
    "[]": "expected an object, found a list",
    "": "gaudi_config.json:1: ",
    "use_torch_autocast: true\n": "gaudi_config.json:1: malformed JSON",
    "[" * 100000: "nested more than 32 deep",
    '{"a":' * 100000: "nested more than 32 deep",
    '{"a": [' + "," * 100000: "more than 100 commas in a row",
}


@pytest.mark.parametrize(
    "content", BAD_GAUDI, ids=lambda content: content[:40].replace("\n", ";")
)
def test_bad_gaudi_config(content):
    path = write(content, "gaudi_config.json")
    error = error_of(SMALL, f"--gaudi-config={path}")
    assert BAD_GAUDI[content] in error.replace(str(path), "gaudi_config.json")


def test_gaudi_switches():
    off = write('{"use_torch_autocast": false, "autocast_bf16_ops": ["add"]}')
    output = scratch_dir("gaudi") / "out.onnx"
    assert run(staged(BERT), f"--gaudi-config={off}", "-o", output).returncode == 0
    assert output.read_bytes() == staged(BERT).read_bytes()
    error = error_of(SMALL, f"--gaudi-config={off}", "--mixed-bf16")
    assert "the precision is bf16 in --mixed-bf16 and float32 at" in error
    old = write(
        '{"use_habana_mixed_precision": true, "hmp_opt_level": "O1",'
        ' "hmp_bf16_ops": ["softmax"], "optimum_version": "1.1.1"}'
    )
    found = decide(staged(BERT), f"--gaudi-config={old}")
    assert precisions(found, "Softmax") == {"bf16"}


def test_unreadable_files():
    for flag in ("--policy", "--gaudi-config", "--mixed-bf16 --deny-file"):
        for path in ("/nonexistent/x.yaml", "/"):
            error = error_of(SMALL, *f"{flag}={path}".split())
            assert f"cannot read '{path}'" in error


# Strict.


def test_strict_lists_every_refusal():
    policy = write("nodes: [{class: allow, regex: 'node_(Conv|linear).*'}]\n")
    flags = (f"--policy={policy}", "--strict", "--raise-opset=false")
    done = run(staged(CONVNEXT), *flags, "-o", "/dev/null")
    assert done.returncode == 4
    assert "error: 13 nodes cannot run in bf16 as asked" in done.stderr
    notes = re.findall(r"note: node '(\w+)' \(Conv-11\): .*; asked at", done.stderr)
    assert len(notes) == 13 and done.stderr.count(" error: ") == 1
    # The built-in list requests the same; no wish of the user is refused.
    flags = ("--mixed-bf16", "--strict", "--raise-opset=false")
    assert run(staged(CONVNEXT), *flags, "-o", "/dev/null").returncode == 0


# Files with random damage: an answer and at most one error, never a crash.

MUTANTS = 120


def mutate(content, source):
    data = bytearray(content)
    for _ in range(source.randint(1, 3)):
        place = source.randrange(len(data))
        kind = source.randrange(5)
        if kind == 0:
            data[place] = source.randrange(256)
        elif kind == 1:
            del data[place : place + source.randint(1, 20)]
        elif kind == 2:
            data[place:place] = source.choice(
                [b"[", b"]", b"{", b"}", b": ", b"\n", b"- ", b"&a ", b"*a", b"'",
                 b'"', b"#", b"\t", b"? ", b"|\n", b"!!int ", b"%", b"\0", b"\xff"]
            )
        elif kind == 3:
            piece = data[place : place + source.randint(1, 60)]
            data[place:place] = piece * source.randint(1, 3)
        else:
            data = data[: place + 1]
    return bytes(data)


@pytest.mark.parametrize("name", ["policy.yaml", "gaudi_config.json", "gaudi-fp32.txt"])
def test_damaged_files(name):
    content = (EXAMPLES / name).read_bytes()
    flag = {"yaml": "--policy", "json": "--gaudi-config"}.get(name[-4:], "--deny-file")
    source = random.Random(name)
    outcomes = set()
    path = scratch_dir("damaged") / name
    model = make_small()
    for index in range(MUTANTS):
        path.write_bytes(mutate(content, source))
        what = ["--print-config"] if index % 2 else [model, "-o", "/dev/null"]
        done = run(*what, "--mixed-bf16", f"{flag}={path}")
        assert done.returncode in (0, 1), (index, done.returncode, done.stderr)
        errors = done.stderr.count(" error: ")
        assert errors == done.returncode, (index, done.stderr)
        outcomes.add(done.returncode)
    assert 1 in outcomes
