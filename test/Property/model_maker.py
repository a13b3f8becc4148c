# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random ONNX models that are valid, small, and unlike what exporters make.

`make_model(seed)` gives a Model; the same seed gives the same bytes. Values
are kept near 1, so that what 16 bit does to a result can be bounded. What
nodes there are is in op_table.py; this file is scopes, names, and the frame.
"""

import dataclasses
import random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE
FLOAT16, BFLOAT16 = TensorProto.FLOAT16, TensorProto.BFLOAT16
INT64, BOOL = TensorProto.INT64, TensorProto.BOOL
MAX_DEPTH = 3
# A dimension that only symbolic axes have at first.
BATCH = 5
# Values beyond it are brought back with Tanh.
MAX_SIZE = 6.0


@dataclasses.dataclass
class Value:
    name: str
    dtype: int
    shape: tuple
    # The approximate magnitude of its elements.
    size: float = 1.0
    kind: str = "tensor"


@dataclasses.dataclass
class Scope:
    """A graph in the making."""

    values: list
    nodes: list = dataclasses.field(default_factory=list)
    weights: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Function:
    """A model-local function: what it needs to be called."""

    name: str
    proto: onnx.FunctionProto
    # "unary": (any shape) -> same; "linear": ([.., k], [k, k]) -> first's.
    form: str
    any_type: bool
    attribute: str


@dataclasses.dataclass
class Model:
    seed: int
    proto: onnx.ModelProto
    data: bytes
    feed: dict
    # The outputs depend continuously on the inputs.
    is_numeric: bool
    opset: int


class Maker:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.np_rng = np.random.default_rng(seed)
        self.seed = seed
        self.opset = self.rng.choice([11, 12, *range(13, 23), 17, 21, 22])
        self.is_numeric = True
        self.is_dynamic = self.rng.random() < 0.4
        self.names = set()
        # Names of finished graphs: their siblings may use them again.
        self.old_names = []
        self.node_names = []
        self.scopes = []
        self.inputs = []
        self.feed = {}
        self.functions = []
        self.domains = {"": self.opset}
        # Models without any name, and models that name all.
        self.unnamed = self.rng.choice([0.0, 0.1, 0.1, 1.0])

    # Chance --------------------------------------------------------------

    def chance(self, probability):
        return self.rng.random() < probability

    def array(self, shape, scale=1.0):
        data = self.np_rng.uniform(-scale, scale, shape)
        return np.asarray(data, np.float32)

    # Names ---------------------------------------------------------------

    def new_name(self, base="v"):
        if self.names and self.chance(0.03):
            # A name that a converter would give.
            old = self.rng.choice(sorted(self.names))
            base = f"{old}_cast_{self.rng.choice(['bf16', 'fp16', 'f32'])}"
            if base not in self.names:
                self.names.add(base)
                return base
        name = f"{base}{len(self.names)}"
        while name in self.names:
            name += "_"
        self.names.add(name)
        return name

    def result_name(self):
        if self.depth and self.old_names and self.chance(0.1):
            return self.old_names.pop()
        return self.new_name()

    def new_node_name(self, op_type):
        if self.chance(self.unnamed):
            return ""
        if self.node_names and self.chance(0.05):
            return self.rng.choice(self.node_names)
        layer = self.rng.choice(["enc/0", "enc/1", "head", "größe", "a.b"])
        name = f"{layer}/{op_type}_{len(self.node_names)}"
        self.node_names.append(name)
        return name

    # Nodes ---------------------------------------------------------------

    @property
    def scope(self):
        return self.scopes[-1]

    @property
    def depth(self):
        return len(self.scopes) - 1

    def node(self, op_type, inputs, results, domain="", **attributes):
        """Add a node; `results` are (dtype, shape, size) or None for ""."""
        outputs = []
        for result in results:
            if result is None:
                outputs.append(Value("", 0, ()))
            else:
                outputs.append(Value(self.result_name(), *result))
        node = helper.make_node(
            op_type,
            [v if isinstance(v, str) else v.name for v in inputs],
            [v.name for v in outputs],
            name=self.new_node_name(op_type),
            domain=domain,
            **attributes,
        )
        self.scope.nodes.append(node)
        self.scope.values += [v for v in outputs if v.name]
        return outputs[0] if len(outputs) == 1 else outputs

    def unary(self, op_type, value, size=None, **attributes):
        result = (value.dtype, value.shape, size or value.size)
        return self.node(op_type, [value], [result], **attributes)

    def tame(self, value, limit=MAX_SIZE):
        return self.unary("Tanh", value, 1.0) if value.size > limit else value

    def weight(self, array, name="w"):
        """An initializer, in this scope or an outer one."""
        array = np.asarray(array)
        scope = self.rng.choice(self.scopes)
        value = Value(
            self.new_name(name),
            helper.np_dtype_to_tensor_dtype(array.dtype),
            array.shape,
            float(np.abs(array).max()) if array.size else 0.0,
        )
        scope.weights.append(numpy_helper.from_array(array, value.name))
        return value

    def constant(self, array):
        """An initializer or a Constant node."""
        array = np.asarray(array)
        if self.chance(0.5):
            return self.weight(array, "k")
        size = float(np.abs(array).max()) if array.size else 0.0
        dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        result = [(dtype, array.shape, size)]
        if array.dtype == np.float32 and array.ndim < 2 and self.opset >= 12:
            if array.ndim == 0 and self.chance(0.5):
                return self.node(
                    "Constant", [], result, value_float=float(array)
                )
            if array.ndim == 1 and array.size and self.chance(0.5):
                floats = [float(f) for f in array]
                return self.node("Constant", [], result, value_floats=floats)
        tensor = numpy_helper.from_array(array)
        return self.node("Constant", [], result, value=tensor)

    def integers(self, values):
        return self.constant(np.array(values, np.int64))

    # Choice --------------------------------------------------------------

    def visible(self, dtype=FLOAT, kind="tensor", accept=None):
        return [
            value
            for scope in self.scopes
            for value in scope.values
            if value.dtype == dtype
            and value.kind == kind
            and (accept is None or accept(value))
        ]

    def pick(self, dtype=FLOAT, kind="tensor", accept=None):
        """A visible value, rather a late one; None if there is none."""
        values = self.visible(dtype, kind, accept)
        if not values:
            return None
        if self.chance(0.7):
            return self.rng.choice(values[-4:])
        return self.rng.choice(values)

    def some_bool(self):
        value = self.pick(BOOL, accept=lambda v: v.shape == ())
        if value is None or self.chance(0.3):
            return self.constant(np.array(self.chance(0.5)))
        return value

    def of_shape(self, like):
        """A value of this scope like `like`, made if it must be."""
        accept = lambda v: v.shape == like.shape  # noqa: E731
        own = [
            v
            for v in self.scope.values
            if v.dtype == like.dtype and v.kind == like.kind and accept(v)
        ]
        if own and self.chance(0.8):
            return self.rng.choice(own[-3:])
        outer = self.pick(like.dtype, like.kind, accept)
        if like.kind == "tensor" and like.dtype == FLOAT and self.chance(0.3):
            array = self.array(like.shape)
            tensor = numpy_helper.from_array(array)
            result = [(FLOAT, like.shape, 1.0)]
            return self.node("Constant", [], result, value=tensor)
        op_type = "Identity"
        if like.kind == "tensor" and like.dtype == FLOAT:
            op_type = self.rng.choice(["Identity", "Relu", "Tanh"])
        elif like.kind == "sequence":
            return None if outer is None else self.reinsert(outer)
        return None if outer is None else self.unary(op_type, outer)

    def reinsert(self, sequence):
        """A sequence with one more element."""
        element = self.pick(
            sequence.dtype, accept=lambda v: v.shape == sequence.shape
        )
        if element is None:
            return None
        result = self.node(
            "SequenceInsert",
            [sequence, element],
            [(sequence.dtype, sequence.shape, sequence.size)],
        )
        result.kind = "sequence"
        return result

    # Graphs --------------------------------------------------------------

    def type_of(self, value, in_body):
        shape = list(value.shape)
        if self.is_dynamic or self.chance(0.3):
            # The main graph must state at least the rank.
            shape = None if in_body else [None] * len(shape)
        tensor = helper.make_tensor_type_proto(value.dtype, shape)
        if value.kind == "sequence":
            return helper.make_sequence_type_proto(tensor)
        if value.kind == "optional":
            return helper.make_optional_type_proto(tensor)
        return tensor

    def info(self, value, in_body=False):
        return helper.make_value_info(
            value.name, self.type_of(value, in_body)
        )

    def body(self, name, inputs, make):
        """A subgraph; `make` fills it and gives the values it ends with."""
        self.scopes.append(Scope(list(inputs)))
        outputs = make()
        scope = self.scopes.pop()
        if outputs is None or any(v is None for v in outputs):
            return None, None
        # A name may end a graph once, and must be defined in it.
        defined = {n for node in scope.nodes for n in node.output}
        self.scopes.append(scope)
        taken, unique = set(), []
        for value in outputs:
            if value.name in taken or value.name not in defined:
                copied = self.unary("Identity", value)
                copied.kind = value.kind
                value = copied
            taken.add(value.name)
            unique.append(value)
        self.scopes.pop()
        if self.depth == 0:
            self.old_names += [n for n in sorted(defined) if n]
        graph = helper.make_graph(
            scope.nodes,
            name,
            [self.info(v, in_body=True) for v in inputs],
            [self.info(v, in_body=True) for v in unique],
            scope.weights,
        )
        return graph, unique


class GraphMaker(Maker):
    """The frame of a model: inputs, outputs, functions, opsets."""

    def add_input(self, base, array, dims=None):
        value = Value(
            self.new_name(base),
            helper.np_dtype_to_tensor_dtype(array.dtype),
            array.shape,
            float(np.abs(array).max()) if array.dtype != bool else 1.0,
        )
        dims = list(array.shape) if dims is None else dims
        self.inputs.append(
            helper.make_tensor_value_info(value.name, value.dtype, dims)
        )
        self.feed[value.name] = array
        self.scope.values.append(value)
        return value

    def add_inputs(self):
        batch = BATCH if self.is_dynamic else self.rng.choice([2, 3])
        dim = "batch" if self.is_dynamic else batch
        width = self.rng.choice([2, 4, 6])
        self.add_input("x", self.array((batch, width)), [dim, width])
        if self.chance(0.5):
            shape = (batch, self.rng.choice([2, 4]), 4, 4)
            self.add_input("img", self.array(shape), [dim, *shape[1:]])
        if self.chance(0.4):
            self.add_input("s", self.array((3, width)))
        if self.chance(0.4):
            self.add_input("c", np.array(self.chance(0.5)))
        if self.chance(0.3):
            self.add_input("m", self.np_rng.random((batch, width)) < 0.5)
        if self.chance(0.3):
            self.add_input("i", self.np_rng.integers(0, 2, (2,)))
        if self.chance(0.15):
            self.add_input("d", self.array((batch, width)).astype(np.float64))
        if self.chance(0.15):
            self.add_input("h", self.array((batch, width)).astype(np.float16))

    def add_parameters(self):
        """Initializers that are graph inputs as well."""
        if not self.chance(0.2):
            return
        value = self.weight(self.array((4, 4), 0.5), "p")
        weight = next(
            w
            for scope in self.scopes
            for w in scope.weights
            if w.name == value.name
        )
        self.inputs.append(
            helper.make_tensor_value_info(value.name, FLOAT, weight.dims)
        )
        self.scope.values.append(value)

    def choose_outputs(self):
        scope = self.scope
        defined = {n for node in scope.nodes for n in node.output}
        candidates = [
            v for v in scope.values if v.name in defined and v.kind == "tensor"
        ]
        if not candidates:
            value = self.unary("Relu", self.pick())
            candidates = [value]
        chosen = candidates[-1:]
        for value in self.rng.sample(candidates, min(3, len(candidates))):
            if value not in chosen and self.chance(0.6):
                chosen.append(value)
        # A graph's input and an initializer can be outputs as they are.
        extra = [self.rng.choice(self.inputs)] if self.chance(0.1) else []
        outputs = [self.info(v) for v in chosen] + extra
        if scope.weights and self.chance(0.05):
            weight = self.rng.choice(scope.weights)
            if all(weight.name != o.name for o in outputs):
                outputs.append(
                    helper.make_tensor_value_info(
                        weight.name, weight.data_type, weight.dims
                    )
                )
        return outputs

    def ir_version(self):
        newest = {11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8}
        version = newest.get(self.opset, 9 if self.opset < 21 else 10)
        return max(version, 8) if self.functions else version

    def value_info(self, outputs):
        """Types of some values in between."""
        if not self.chance(0.4):
            return []
        ends = {v.name for v in [*outputs, *self.inputs]}
        weights = {w.name for w in self.scope.weights}
        return [
            self.info(v)
            for v in self.scope.values
            if v.name not in ends | weights and self.chance(0.6)
        ]

    def finish(self):
        outputs = self.choose_outputs()
        scope = self.scope
        graph = helper.make_graph(
            scope.nodes,
            "g",
            self.inputs,
            outputs,
            scope.weights,
            value_info=self.value_info(outputs),
        )
        opsets = [helper.make_opsetid(d, v) for d, v in self.domains.items()]
        proto = helper.make_model(
            graph,
            opset_imports=opsets,
            functions=[f.proto for f in self.functions],
            ir_version=self.ir_version(),
        )
        if self.chance(0.2):
            helper.set_model_props(proto, {"author": "random"})
        return Model(
            self.seed,
            proto,
            proto.SerializeToString(deterministic=True),
            self.feed,
            self.is_numeric,
            self.opset,
        )
