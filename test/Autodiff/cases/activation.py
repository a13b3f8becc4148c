# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception


def functional(name, *args, **kwargs):
    """A function of torch.nn.functional, which is looked up when called."""
    return lambda *tensors: getattr(torch.nn.functional, name)(
        *tensors, *args, **kwargs
    )


def quick_gelu(alpha):
    return lambda a: a * (alpha * a).sigmoid()


CASES = [
    Case(name, f"y = {body}(a)", {"a": (3, 5)}, torch=torch, low=-4, high=4)
    for name, body, torch in [
        ("sigmoid", "Sigmoid", functional("sigmoid")),
        ("tanh", "Tanh", functional("tanh")),
        ("softplus", "Softplus", functional("softplus")),
        ("softsign", "Softsign", functional("softsign")),
        ("elu", "Elu", functional("elu")),
        ("elu-alpha", "Elu<alpha=2.5>", functional("elu", alpha=2.5)),
        (
            "selu",
            "Selu",
            lambda a: 1.05070102214813232421875
            * functional("elu", alpha=1.67326319217681884765625)(a),
        ),
        (
            "selu-attributes",
            "Selu<alpha=2.0, gamma=1.5>",
            lambda a: 1.5 * functional("elu", alpha=2.0)(a),
        ),
        ("leaky", "LeakyRelu<alpha=0.25>", functional("leaky_relu", 0.25)),
        ("leaky-zero", "LeakyRelu<alpha=0.0>", functional("leaky_relu", 0.0)),
        (
            "leaky-negative",
            "LeakyRelu<alpha=-0.5>",
            functional("leaky_relu", -0.5),
        ),
        (
            "thresholded",
            "ThresholdedRelu<alpha=0.75>",
            functional("threshold", 0.75, 0.0),
        ),
        (
            "hard-sigmoid",
            "HardSigmoid<alpha=0.25, beta=0.5>",
            lambda a: (0.25 * a + 0.5).clamp(0, 1),
        ),
        ("hard-swish", "HardSwish", functional("hardswish")),
        ("mish", "Mish", functional("mish")),
        (
            "shrink",
            "Shrink<lambd=0.75, bias=0.75>",
            functional("softshrink", 0.75),
        ),
        ("gelu", "Gelu", functional("gelu")),
        (
            "gelu-tanh",
            'Gelu<approximate="tanh">',
            functional("gelu", approximate="tanh"),
        ),
    ]
]

# Inputs at the kink: torch decides.
CASES += [
    Case(
        f"{name}-kink",
        f"y = {body}(a)",
        {"a": np.array(points)},
        torch=torch,
        kinks=True,
    )
    for name, body, points, torch in [
        ("relu", "Relu", [0.0, 1.0], functional("relu")),
        ("abs", "Abs", [0.0, 1.0], lambda a: a.abs()),
        ("elu", "Elu<alpha=2.0>", [0.0, 1.0], functional("elu", 2.0)),
        ("selu", "Selu<alpha=2.0, gamma=1.5>", [0.0, 1.0],
         lambda a: 1.5 * functional("elu", alpha=2.0)(a)),
        ("leaky", "LeakyRelu<alpha=0.25>", [0.0, 1.0],
         functional("leaky_relu", 0.25)),
        ("leaky-negative", "LeakyRelu<alpha=-0.5>", [0.0, 1.0],
         functional("leaky_relu", -0.5)),
        ("thresholded", "ThresholdedRelu<alpha=0.75>", [0.75, 1.0],
         functional("threshold", 0.75, 0.0)),
        ("hard-swish", "HardSwish", [-3.0, 0.0, 3.0], functional("hardswish")),
        ("shrink", "Shrink<lambd=0.75, bias=0.75>", [-0.75, 0.75, 1.0],
         functional("softshrink", 0.75)),
        ("hard-sigmoid", "HardSigmoid<alpha=0.16666667, beta=0.5>",
         [-3.1, 0.0, 3.1],
         lambda a: (np.float64(np.float32(0.16666667)) * a + 0.5).clamp(0, 1)),
    ]
]

CASES += [
    Case(
        f"prelu-{kind}",
        "y = PRelu(a, s)",
        {"a": a, "s": s},
        torch=lambda a, s: a.where(a > 0, a * s),
    )
    for kind, a, s in [
        ("same", (3, 4), (3, 4)),
        ("channels", (2, 3, 4), (3, 1)),
        ("one", (3, 4), (1,)),
    ]
] + [
    Case(
        "swish",
        "y = Swish(a)",
        {"a": (3, 5)},
        opset=24,
        torch=functional("silu"),
    ),
    Case(
        "swish-alpha",
        "y = Swish<alpha=1.5>(a)",
        {"a": (3, 5)},
        opset=24,
        torch=quick_gelu(1.5),
    ),
]

# Celu is for float32 only.
CASES += [
    Case(
        f"celu-{name}",
        f"f = Cast<to=1>(a) g = Celu<alpha={alpha}>(f) y = Cast<to=11>(g)",
        {"a": spec},
        forward=f"y = Celu<alpha={alpha}>(a)",
        torch=functional("celu", alpha),
        torch_tolerance=1e-6,
        kinks=name == "kink",
    )
    for name, alpha, spec in [
        ("one", 1.0, (3, 5)),
        ("two", 2.0, (3, 5)),
        ("kink", 2.0, np.array([0.0, 1.0])),
    ]
]

# Operators of com.microsoft.
CASES += [
    Case(
        "ms-gelu",
        "y = com.microsoft.Gelu(a)",
        {"a": (3, 5)},
        forward="y = Gelu(a)",
        torch=functional("gelu"),
    ),
    Case(
        "ms-quick-gelu",
        "y = com.microsoft.QuickGelu<alpha=1.5>(a)",
        {"a": (3, 5)},
        forward="k = Constant<value=double {1.5}>() s = Mul(a, k)"
        "t = Sigmoid(s) y = Mul(a, t)",
        torch=quick_gelu(1.5),
    ),
    Case(
        "ms-fast-gelu",
        "y = com.microsoft.FastGelu(a)",
        {"a": (3, 5)},
        forward='y = Gelu<approximate="tanh">(a)',
        torch=functional("gelu", approximate="tanh"),
    ),
    Case(
        "ms-fast-gelu-bias",
        "y = com.microsoft.FastGelu(a, b)",
        {"a": (3, 5), "b": (5,)},
        forward='s = Add(a, b) y = Gelu<approximate="tanh">(s)',
        torch=lambda a, b: functional("gelu", approximate="tanh")(a + b),
    ),
    Case(
        "ms-bias-gelu",
        "y = com.microsoft.BiasGelu(a, b)",
        {"a": (3, 5), "b": (5,)},
        forward="s = Add(a, b) y = Gelu(s)",
        torch=lambda a, b: functional("gelu")(a + b),
    ),
]
