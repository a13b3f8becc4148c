# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random models of branches and loops whose bodies yield what is shared: one
value in two places, views of one, values from outside, constants."""

import random

import numpy as np
from onnx_models import make_model
from onnx import TensorProto, helper, numpy_helper

SHAPES = [(2, 3), (3, 2), (6,), (1, 2, 3), (1, 6), (1,), ()]
X = (2, 3)


def info(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


class Scope:
    """A graph that is being made, and what it can read."""

    def __init__(self, maker, outer=None):
        self.maker, self.outer = maker, outer
        self.nodes, self.shapes, self.inputs = [], {}, []

    def values(self):
        outer = self.outer.values() if self.outer else []
        return outer + list(self.shapes.items())

    def add(self, op, inputs, shape=None, **attributes):
        """The name of a value; without a shape, no one else reads it."""
        name = self.maker.name()
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        if shape is not None:
            self.shapes[name] = shape
        return name

    def constant(self, value, shape=None):
        tensor = numpy_helper.from_array(np.asarray(value))
        return self.add("Constant", [], shape, value=tensor)

    def reshape(self, value, shape):
        sizes = self.constant(np.array(shape, np.int64))
        return self.add("Reshape", [value, sizes], shape)

    def sum(self, value, shape=(), axes=None):
        axes = [] if axes is None else [self.constant(np.array(axes))]
        return self.add("ReduceSum", [value, *axes], shape, keepdims=0)


class Maker:
    """`yields_anything`: bodies yield values from outside, and one twice, as
    they are. Other runtimes need an Identity there; the model is the same."""

    def __init__(self, seed, yields_anything):
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.yields_anything = yields_anything
        self.count = 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def chance(self, probability):
        return self.random.random() < probability

    def new_constant(self, scope, shape):
        value = np.full(shape, self.random.choice([0, 0.5, 1]), np.float32)
        if self.chance(0.5):
            value = self.numbers.standard_normal(shape).astype(np.float32)
        return scope.constant(value, shape)

    def get(self, scope, shape):
        """A value of the shape: there already, a view, or a constant."""
        found = [n for n, s in scope.values() if s == shape]
        if found and self.chance(0.8):
            return self.random.choice(found)
        size = np.prod(shape, dtype=int)
        same = [n for n, s in scope.values() if np.prod(s, dtype=int) == size]
        if same and self.chance(0.7):
            return scope.reshape(self.random.choice(same), shape)
        return self.new_constant(scope, shape)

    def add_simple(self, scope):
        shape = self.random.choice(SHAPES)
        kind = self.random.randrange(6)
        if kind == 0:
            scope.add("Identity", [self.get(scope, shape)], shape)
        elif kind == 1:
            scope.add("Transpose", [self.get(scope, X)], (3, 2), perm=[1, 0])
        elif kind == 2:
            a, b = self.get(scope, X), self.get(scope, (3, 2))
            square = scope.add("MatMul", [a, b], (2, 2))
            scope.add("MatMul", [square, a], X)
        elif kind == 3:
            self.new_constant(scope, shape)
        else:
            op = self.random.choice(["Tanh", "Neg", "Add", "Mul", "Max"])
            count = 1 if op in ("Tanh", "Neg") else 2
            inputs = [self.get(scope, shape) for _ in range(count)]
            scope.add(op, inputs, shape)

    def condition(self, scope):
        total = scope.sum(self.get(scope, self.random.choice(SHAPES)))
        zero = scope.constant(np.float32(0.1))
        return scope.add("Greater", [total, zero])

    def choose_shapes(self):
        few = self.random.sample(SHAPES, self.random.randrange(1, 3))
        return [self.random.choice(few) for _ in range(self.random.randrange(1, 5))]

    def choose_yields(self, scope, shapes):
        chosen = []
        for shape in shapes:
            before = [(n, s) for n, s in zip(chosen, shapes)]
            same = [n for n, s in before if s == shape]
            views = [n for n, s in before if np.prod(s) == np.prod(shape)]
            if same and self.chance(0.4):
                chosen.append(self.random.choice(same))
            elif views and self.chance(0.3):
                chosen.append(scope.reshape(self.random.choice(views), shape))
            else:
                chosen.append(self.get(scope, shape))
        if self.yields_anything:
            return chosen
        own = set(scope.shapes) - set(scope.inputs)
        return [
            name
            if name in own and name not in chosen[:place]
            else scope.add("Identity", [name], shape)
            for place, (name, shape) in enumerate(zip(chosen, shapes))
        ]

    def make_body(self, scope, depth, shapes, inputs=(), condition=None):
        self.fill(scope, depth + 1, self.random.randrange(4))
        first = []
        if condition and self.chance(0.3):
            first = [info(self.condition(scope), (), TensorProto.BOOL)]
        elif condition:
            goes_on = scope.add("Identity", [condition])
            first = [info(goes_on, (), TensorProto.BOOL)]
        names = self.choose_yields(scope, shapes)
        outputs = first + [info(n, s) for n, s in zip(names, shapes)]
        return helper.make_graph(scope.nodes, self.name(), inputs, outputs)

    def add_if(self, scope, depth):
        shapes = self.choose_shapes()
        where = self.random.choice(["c", "d", None]) or self.condition(scope)
        branches = {
            name: self.make_body(Scope(self, scope), depth, shapes)
            for name in ("then_branch", "else_branch")
        }
        names = [self.name() for _ in shapes]
        scope.nodes.append(helper.make_node("If", [where], names, **branches))
        scope.shapes.update(zip(names, shapes))

    def add_iteration(self, scope, depth, op):
        states, outputs = self.choose_shapes(), self.choose_shapes()
        starts = [self.get(scope, shape) for shape in states]
        body = Scope(self, scope)
        arguments = [self.name() for _ in states]
        body.shapes.update(zip(arguments, states))
        inputs = [info(n, s) for n, s in zip(arguments, states)]
        condition, attributes = None, {}
        if op == "Loop":
            number, condition = self.name(), self.name()
            inputs.insert(0, info(condition, (), TensorProto.BOOL))
            inputs.insert(0, info(number, (), TensorProto.INT64))
            count = np.int64(self.random.randrange(4))
            count = "n" if self.chance(0.4) else scope.constant(count)
            operands = [count, "", *starts]
        else:
            row = self.name()
            body.shapes[row] = (3,)
            inputs.append(info(row, (3,)))
            operands = [*starts, self.get(scope, X)]
            attributes["num_scan_inputs"] = 1
        body.inputs = list(body.shapes)
        graph = self.make_body(body, depth, states + outputs, inputs, condition)
        names = [self.name() for _ in states + outputs]
        scope.nodes.append(
            helper.make_node(op, operands, names, body=graph, **attributes)
        )
        scope.shapes.update(zip(names, states))
        for name, shape in zip(names[len(states) :], outputs):
            scope.sum(name, shape, axes=[0])

    def fill(self, scope, depth, count):
        for _ in range(count):
            kind = self.random.random()
            if depth < 3 and kind < 0.25:
                self.add_if(scope, depth)
            elif depth < 2 and kind < 0.4:
                op = self.random.choice(["Loop", "Scan"])
                self.add_iteration(scope, depth, op)
            else:
                self.add_simple(scope)

    def make(self):
        scope = Scope(self)
        scope.shapes.update({"x": X, "y": (6,), "z": X})
        self.fill(scope, 0, self.random.randrange(3))
        self.add_if(scope, 0)
        self.fill(scope, 0, self.random.randrange(4))
        made = [(n, s) for n, s in scope.shapes.items() if n not in "xyz"]
        count = self.random.randrange(1, 7)
        chosen = self.random.sample(made, min(len(made), count))
        inputs = [info(n, s) for n, s in scope.shapes.items() if n in "xyz"]
        inputs += [info(n, (), TensorProto.BOOL) for n in "cd"]
        inputs.append(info("n", (), TensorProto.INT64))
        outputs = [info(n, s) for n, s in chosen]
        return make_model(scope.nodes, inputs, outputs)


def make_feeds(seed):
    numbers = np.random.default_rng(seed)
    feeds = {
        name: numbers.standard_normal(shape).astype(np.float32)
        for name, shape in (("x", X), ("y", (6,)), ("z", X))
    }
    c, d, n = numbers.integers(0, 2), numbers.integers(0, 2), seed % 4
    return {**feeds, "c": np.array(c > 0), "d": np.array(d > 0), "n": np.array(n)}
