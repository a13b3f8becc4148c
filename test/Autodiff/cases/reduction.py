# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
CASES = [
    Case(
        f"{op}-all-{keep}",
        f"y = Reduce{op.capitalize()}<keepdims={keep}>(a)",
        {"a": (3, 4)},
        torch=lambda a, op=op, keep=keep: getattr(a, op)(
            dim=(0, 1), keepdim=bool(keep)
        ),
    )
    for op in ("sum", "mean")
    for keep in (0, 1)
] + [
    Case(
        f"{op}-axes-{keep}",
        "axes = Constant<value_ints=[0, -1]>() "
        f"y = Reduce{op.capitalize()}<keepdims={keep}>(a, axes)",
        {"a": (3, 4, 2)},
        torch=lambda a, op=op, keep=keep: getattr(a, op)(
            dim=(0, 2), keepdim=bool(keep)
        ),
    )
    for op in ("sum", "mean")
    for keep in (0, 1)
]


def prod(a, dim, keepdim):
    for axis in sorted(dim, reverse=True):
        a = a.prod(axis, keepdim=keepdim)
    return a


FUNCTIONS = {
    "Sum": lambda a, **k: a.sum(**k),
    "Mean": lambda a, **k: a.mean(**k),
    "Max": lambda a, **k: a.amax(**k),
    "Min": lambda a, **k: a.amin(**k),
    "Prod": prod,
    "L1": lambda a, **k: a.abs().sum(**k),
    "L2": lambda a, **k: torch.linalg.vector_norm(a, **k),
    "LogSum": lambda a, **k: a.sum(**k).log(),
    "LogSumExp": lambda a, **k: a.logsumexp(**k),
    "SumSquare": lambda a, **k: (a * a).sum(**k),
}

CASES += [
    Case(
        f"{op.lower()}-{name}-{keep}",
        f"{axes} y = Reduce{op}<keepdims={keep}{extra}>({operands})",
        {"a": (3, 4, 2)},
        low=0.5,
        torch=lambda a, f=f, keep=keep, dims=dims: f(
            a, dim=dims, keepdim=bool(keep)
        ),
    )
    for op, f in FUNCTIONS.items()
    for name, axes, operands, extra, dims in [
        ("some", "x = Constant<value_ints=[0, -1]>()", "a, x", "", (0, 2)),
        ("none", "", "a", "", (0, 1, 2)),
        ("empty", "x = Constant<value=int64[0] {}>()", "a, x", "", (0, 1, 2)),
    ]
    for keep in (0, 1)
]

# No axes and no reduction: functions of single elements.
CASES += [
    Case(
        f"{op.lower()}-noop-{name}",
        f"{axes} y = Reduce{op}<keepdims=0, noop_with_empty_axes=1>({operands})",
        {"a": (3, 4)},
        torch=f,
        low=0.5,
    )
    for op, f in {
        "Sum": lambda a: a * 1,
        "Mean": lambda a: a * 1,
        "Max": lambda a: a * 1,
        "Prod": lambda a: a * 1,
        "L1": lambda a: a.abs(),
        "L2": lambda a: a.abs(),
        "LogSum": lambda a: a.log(),
        "LogSumExp": lambda a: a * 1,
        "SumSquare": lambda a: a * a,
    }.items()
    for name, axes, operands in [
        ("absent", "", "a"),
        ("empty", "x = Constant<value=int64[0] {}>()", "a, x"),
    ]
]

# Zeros in products, ties, and a norm of zero.
CASES += [
    Case(
        "prod-zeros",
        "x = Constant<value_ints=[1]>() y = ReduceProd(a, x)",
        {
            "a": np.array(
                [[2.0, 3.0, -5.0], [2.0, 0.0, 3.0], [0.0, 3.0, 0.0]]
            )
        },
        torch=lambda a: a.prod(1, keepdim=True),
    ),
    Case(
        "prod-zeros-all",
        "y = ReduceProd<keepdims=0>(a)",
        {"a": np.array([[2.0, 3.0, -5.0], [2.0, 0.0, 3.0]])},
        torch=lambda a: a.prod(),
    ),
    Case(
        "max-ties",
        "x = Constant<value_ints=[1]>() y = ReduceMax<keepdims=0>(a, x)",
        {"a": np.array([[2.0, 2.0, 1.0], [0.0, 3.0, 1.0]])},
        torch=lambda a: a.amax(1),
        kinks=True,
    ),
    Case(
        "min-ties",
        "y = ReduceMin<keepdims=0>(a)",
        {"a": np.array([[2.0, 1.0, 1.0], [5.0, 3.0, 1.0]])},
        torch=lambda a: a.amin(),
        kinks=True,
    ),
    Case(
        "l1-zero",
        "y = ReduceL1(a)",
        {"a": np.array([0.0, 1.0, -2.0])},
        torch=lambda a: a.abs().sum(0, keepdim=True),
        kinks=True,
    ),
    Case(
        "l2-zero",
        "x = Constant<value_ints=[1]>() y = ReduceL2(a, x)",
        {"a": np.array([[0.0, 0.0], [3.0, -4.0]])},
        torch=lambda a: torch.linalg.vector_norm(a, dim=1, keepdim=True),
        kinks=True,
    ),
    Case(
        "logsumexp-infinities",
        # Masked elements get a zero gradient, not NaN.
        "x = Constant<value_ints=[1]>() s = ReduceLogSumExp(a, x) y = Exp(s)",
        {"a": np.array([[0.25, -np.inf], [0.5, -np.inf]])},
        torch=lambda a: a.logsumexp(1, keepdim=True).exp(),
        kinks=True,
    ),
    Case(
        "logsumexp-large",
        "x = Constant<value_ints=[1]>() y = ReduceLogSumExp(a, x)",
        {"a": np.array([[800.0, 801.0], [-900.0, -901.0]])},
        torch=lambda a: a.logsumexp(1, keepdim=True),
        kinks=True,
    ),
]



def products_before(a):
    """Of the elements before each one of axis 1."""
    return torch.cat([torch.ones_like(a[:, :1]), a[:, :-1].cumprod(1)], 1)


# Along one axis.
CASES += [
    Case(
        f"cumsum-{exclusive}-{reverse}",
        f"x = Constant<value=int64 {{{axis}}}>() "
        f"y = CumSum<exclusive={exclusive}, reverse={reverse}>(a, x)",
        {"a": (3, 4)},
        torch=f,
    )
    for exclusive, reverse, axis, f in [
        (0, 0, 1, lambda a: a.cumsum(1)),
        (0, 1, 0, lambda a: a.flip(0).cumsum(0).flip(0)),
        (1, 0, -1, lambda a: a.cumsum(1) - a),
        (1, 1, -2, lambda a: a.flip(0).cumsum(0).flip(0) - a),
    ]
] + [
    Case(
        f"cumprod-{exclusive}-{reverse}",
        f"x = Constant<value=int64 {{{axis}}}>() "
        f"y = CumProd<exclusive={exclusive}, reverse={reverse}>(a, x)",
        {"a": (3, 4)},
        torch=f,
        opset=26,
    )
    for exclusive, reverse, axis, f in [
        (0, 0, 1, lambda a: a.cumprod(1)),
        (0, 1, 0, lambda a: a.flip(0).cumprod(0).flip(0)),
        (1, 0, -1, lambda a: products_before(a)),
        (1, 1, -2, lambda a: products_before(a.flip(0).T).T.flip(0)),
    ]
] + [
    Case(
        f"cumprod-zeros-{exclusive}",
        "x = Constant<value=int64 {1}>() "
        f"y = CumProd<exclusive={exclusive}>(a, x)",
        # None, one, two and a first zero.
        {"a": np.array([[2.0, 3.0, -1.5, 2.0], [2.0, 0.0, 3.0, 0.5],
                        [2.0, 0.0, 0.0, 3.0], [0.0, 2.0, 3.0, 0.5]])},
        torch=f,
        opset=26,
    )
    for exclusive, f in [
        (0, lambda a: a.cumprod(1)), (1, lambda a: products_before(a)),
    ]
] + [
    Case(
        f"topk-{name}",
        f"k = Constant<value_ints=[2]>() y, i = TopK<{attributes}>(a, k)",
        {"a": (4, 3)},
        torch=lambda a, kwargs=kwargs: a.topk(2, **kwargs).values,
    )
    for name, attributes, kwargs in [
        ("last", "largest=1", {}),
        ("first", "axis=0", {"dim": 0}),
        ("least", "axis=-2, largest=0", {"dim": 0, "largest": False}),
    ]
] + [
    Case(
        f"{op.lower()}-{axis}",
        f"y = {op}<axis={axis}>(a)",
        {"a": (2, 3, 4)},
        torch=lambda a, f=f, axis=axis: getattr(a, f)(axis),
    )
    for op, f in [("Softmax", "softmax"), ("LogSoftmax", "log_softmax")]
    for axis in (0, 1, -1)
] + [
    Case("softmax", "y = Softmax(a)", {"a": (2, 3)},
         torch=lambda a: a.softmax(-1)),
    Case("logsoftmax", "y = LogSoftmax(a)", {"a": (2, 3)},
         torch=lambda a: a.log_softmax(-1)),
]
