# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A random policy for a model, as the text of a pass pipeline."""

import dataclasses
import random
import re

import onnx

# Ops that any policy may name, whether a model has them or not.
COMMON = [
    "Add", "Attention", "Clip", "Concat", "Conv", "Exp", "Gather", "Gemm",
    "Identity", "If", "LSTM", "LayerNormalization", "Loop", "MatMul", "Mul",
    "Pow", "ReduceMean", "ReduceSum", "Relu", "Reshape", "Resize", "Scan",
    "SequenceConstruct", "Softmax", "Tanh", "Transpose", "Where",
]  # fmt: skip
# Text that a pipeline can contain without quotes.
PLAIN = re.compile(r"[A-Za-z0-9_./]+")


@dataclasses.dataclass
class Policy:
    low: str
    # Every option but the rule of assignment.
    options: str

    def pipeline(self, rule=""):
        rule = f" assign={rule}" if rule else ""
        return f"builtin.module(mp-mixed-precision{{{self.options}{rule}}})"

    def with_rule(self, rule, form):
        """With a rule of assignment, as an option of the pipeline or, before
        it has one, of the pass."""
        if form == "option":
            return self.pipeline(rule)
        options = self.options.replace(" raise-opset=false", "")
        raising = "" if options != self.options else "onnx-raise-opset,"
        return (
            f"builtin.module(mp-set-policy{{{options}}},mp-classify,{raising}"
            f"mp-assign{{assign={rule}}},mp-insert-casts,mp-simplify-casts,"
            "mp-convert-weights,mp-verify-precision)"
        )

    def emulated(self):
        pipeline = self.pipeline().removesuffix(")")
        return f"{pipeline},mp-emulate)"


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from nodes_of(attribute.g)


def qualified(node):
    return f"{node.domain}.{node.op_type}".lstrip(".")


def deny_all(model, low):
    ops = sorted({qualified(n) for n in nodes_of(model.proto.graph)})
    return Policy(low, f"precision={low} deny={','.join(ops)}").pipeline()


def deny_all_nodes(low):
    return Policy(low, f"precision={low} deny-nodes=.*").pipeline()


def choose_nodes(rng, nodes):
    """Patterns for nodes to allow and to deny that no node matches both."""
    names = sorted({n.name for n in nodes if PLAIN.fullmatch(n.name)})
    if not names or rng.random() < 0.6:
        return [], []
    if rng.random() < 0.4:
        prefix = rng.choice(names).split("/")[0]
        return [], [f"{prefix}/.*"]
    chosen = rng.sample(names, min(len(names), rng.choice([1, 2, 4])))
    patterns = [name.replace(".", "[.]") for name in chosen]
    cut = rng.randrange(len(patterns) + 1)
    return patterns[:cut], patterns[cut:]


def choose_policy(model):
    rng = random.Random(model.seed ^ 0x5EED)
    nodes = list(nodes_of(model.proto.graph))
    ops = sorted({qualified(n) for n in nodes if n.domain != "local"})
    pool = sorted(set(ops) | set(rng.sample(COMMON, 5)))
    rng.shuffle(pool)
    options = [f"precision={(low := rng.choice(['bf16', 'fp16']))}"]
    for key in ("allow", "deny", "promote"):
        if rng.random() < 0.5:
            count = rng.choice([1, 1, 2, 4])
            chosen, pool = pool[:count], pool[count:]
            if chosen:
                options.append(f"{key}={','.join(chosen)}")
    for key, patterns in zip(
        ("allow-nodes", "deny-nodes"), choose_nodes(rng, nodes)
    ):
        if patterns:
            options.append(f"{key}={','.join(patterns)}")
    if rng.random() < 0.2:
        options.append("raise-opset=false")
    return Policy(low, " ".join(options))
