# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import functools

CASES = [
    Case(
        f"{op}-{kind}",
        f"y = {op.capitalize()}(a, b)",
        {"a": a, "b": b},
        torch=f,
        low=0.5 if op in ("div", "pow") else -2.0,
    )
    for op, f in {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "pow": lambda a, b: a**b,
    }.items()
    for kind, a, b in [
        ("same", (3, 4), (3, 4)),
        ("row", (3, 4), (4,)),
        ("column", (3, 4), (3, 1)),
        ("both", (3, 1, 2), (4, 1)),
        ("scalar", (), (3, 4)),
    ]
] + [
    Case("square", "y = Mul(a, a)", {"a": (3, 4)}, torch=lambda a: a * a),
    Case("relu", "y = Relu(a)", {"a": (3, 4)}, torch=lambda a: a.relu()),
]

# Exponents that are constants, integers, or at a special point.
CASES += [
    Case(
        f"pow-{name}",
        f"e = Constant<value={text}>() y = Pow(a, e)",
        {"a": (3, 4)},
        torch=lambda a, number=number: a ** torch.tensor(number),
        low=0.5,
    )
    for name, text, number in [
        ("one", "double {1.0}", 1),
        ("two", "double {2.0}", 2),
        ("half", "double {0.5}", 0.5),
        ("minus-three", "double {-3.0}", -3),
        ("vector", "double[4] {-1.0, 0.0, 1.0, 2.5}",
         [-1, 0, 1, 2.5]),
        ("int", "int64 {3}", 3),
    ]
] + [
    Case(
        "pow-int-input",
        "y = Pow(a, e)",
        {"a": (3, 4), "e": np.array([0, 1, 2, 3], np.int32)},
        torch=lambda a, e: a**e,
    ),
    Case(
        "pow-float-exponent",
        "f = Cast<to=1>(e) y = Pow(a, f)",
        {"a": (3, 4), "e": (4,)},
        low=0.5,
        step=1e-2,
        tolerance=1e-3,
    ),
]

# Any number of operands.
CASES += [
    Case(f"{op}-{kind}", f"y = {op.capitalize()}({', '.join(shapes)})", shapes,
         torch=f)
    for op, f in {
        "sum": lambda *x: sum(x),
        "mean": lambda *x: sum(x) / len(x),
        "max": lambda *x: functools.reduce(
            torch.maximum, x
        ),
        "min": lambda *x: functools.reduce(
            torch.minimum, x
        ),
    }.items()
    for kind, shapes in [
        ("one", {"a": (3, 4)}),
        ("two", {"a": (3, 4), "b": (4,)}),
        ("three", {"a": (3, 1), "b": (4,), "c": (2, 1, 1)}),
    ]
]

# Choices.
CASES += [
    Case(
        "where",
        "y = Where(c, a, b)",
        {
            "c": np.array([[True], [False], [True]]),
            "a": (3, 4),
            "b": (2, 1, 4),
        },
        torch=lambda c, a, b: c.where(c, c) * 0 + a.where(c, b),
    ),
    Case(
        "clip-both",
        "y = Clip(a, low, high)",
        {"a": (3, 4), "low": np.array(-0.5), "high": np.array(1.0)},
        torch=lambda a, low, high: a.clamp(low, high),
    ),
    Case(
        "clip-crossed",
        "y = Clip(a, low, high)",
        {"a": (3, 4), "low": np.array(0.5), "high": np.array(-1.0)},
        torch=lambda a, low, high: a.clamp(low, high),
        wrt=("a", "low", "high"),
    ),
    Case(
        "clip-low",
        "y = Clip(a, low)",
        {"a": (3, 4), "low": np.array(-0.5)},
        torch=lambda a, low: a.clamp(min=low),
    ),
    Case(
        "clip-high",
        "y = Clip(a, , high)",
        {"a": (3, 4), "high": np.array(0.5)},
        torch=lambda a, high: a.clamp(max=high),
    ),
    Case("clip-none", "y = Clip(a)", {"a": (3, 4)}, torch=lambda a: a),
    Case(
        "mod",
        "y = Mod<fmod=1>(a, b)",
        {"a": (3, 4), "b": np.array([0.3, -0.7, 0.9, -1.1])},
        torch=lambda a, b: a.fmod(b),
    ),
]

# Through other types, and through nothing at all.
CASES += [
    Case("identity", "y = Identity(a)", {"a": (3,)}, torch=lambda a: a),
    Case(
        "cast",
        "f = Cast<to=1>(a) s = Mul(f, f) y = Cast<to=11>(s)",
        {"a": (3, 4)},
        step=1e-2,
        tolerance=1e-4,
    ),
    Case(
        "cast-like",
        "k = Constant<value=float {0.0}>() f = CastLike(a, k)"
        "s = Mul(f, f) y = CastLike(s, a)",
        {"a": (3, 4)},
        step=1e-2,
        tolerance=1e-4,
    ),
    Case(
        "range",
        "limit = Constant<value=double {5.0}>() y = Range(a, limit, b)",
        {"a": np.array(1.0), "b": np.array(0.71)},
    ),
] + [
    # Factors without a derivative.
    Case(
        f"zero-{op.lower()}",
        f"s = {op}(a) y = Mul(s, a)",
        {"a": np.array([[0.3, 1.7, -0.6], [-1.2, 2.1, 0.9]])},
        torch=lambda a, f=f: f(a).detach() * a,
    )
    for op, f in {
        "Floor": lambda a: a.floor(),
        "Ceil": lambda a: a.ceil(),
        "Round": lambda a: a.round(),
        "Sign": lambda a: a.sign(),
        "Hardmax": lambda a: torch.nn.functional.one_hot(
            a.argmax(-1), a.shape[-1]
        ),
    }.items()
]

# Points without a derivative, or where the formula has none.
ZEROS = np.array([0.0, 0.0, 0.0, 2.0])

CASES += [
    Case(name, body, inputs, torch=f, kinks=True)
    for name, body, inputs, f in [
        (
            "max-ties",
            "y = Max(a, b)",
            {"a": np.array([1.0, 2.0, 3.0]), "b": np.array([1.0, 3.0, 2.0])},
            lambda a, b: torch.maximum(a, b),
        ),
        (
            "min-ties",
            "y = Min(a, b)",
            {"a": np.array([1.0, 2.0, 3.0]), "b": np.array([2.0])},
            lambda a, b: torch.minimum(a, b),
        ),
        (
            # All of them share, which chains of torch.maximum do not do.
            "max-ties-three",
            "y = Max(a, b, c)",
            {n: np.array([1.0, float(n == "c")]) for n in "abc"},
            lambda *x: torch.stack(x).amax(0),
        ),
        (
            "clip-bounds",
            "y = Clip(a, l, h)",
            {
                "a": np.array([-1.0, 0.0, 1.0, 2.0]),
                "l": np.array(-1.0),
                "h": np.array(1.0),
            },
            lambda a, low, high: a.clamp(low, high),
        ),
        (
            "pow-zeros",
            "y = Pow(a, b)",
            {"a": ZEROS, "b": np.array([0.0, 2.0, 1.0, 0.0])},
            lambda a, b: a**b,
        ),
        (
            "pow-zero-constant",
            "e = Constant<value=double {0.0}>() y = Pow(a, e)",
            {"a": ZEROS},
            lambda a: a**0.0,
        ),
        (
            "relu6",
            "l = Constant<value=double {0.0}>() "
            "h = Constant<value=double {6.0}>() y = Clip(a, l, h)",
            {"a": np.array([-1.0, 0.0, 3.0, 6.0, 7.0])},
            lambda a: a.clamp(0, 6),
        ),
    ]
]
