# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception


def pool(name, op, x, torch=None, indices=False, **given):
    results = "y, indices" if indices else "y"
    return Case(
        name,
        f"{results} = {op}<{attributes(**given)}>(x)",
        {"x": x},
        torch=torch,
    )


def torch_max(**given):
    def f(x):
        f = torch.nn.functional
        rank = x.ndim - 2
        pads = given.get("pads", [0] * rank)[:rank]
        return getattr(f, f"max_pool{rank}d")(
            x,
            given["kernel_shape"],
            given.get("strides", 1),
            pads,
            given.get("dilations", 1),
            bool(given.get("ceil_mode", 0)),
        )

    return f


def torch_average(**given):
    def f(x):
        f = torch.nn.functional
        rank = x.ndim - 2
        pads = given.get("pads", [0] * rank)[:rank]
        return getattr(f, f"avg_pool{rank}d")(
            x,
            given["kernel_shape"],
            given.get("strides", 1),
            pads,
            bool(given.get("ceil_mode", 0)),
            bool(given.get("count_include_pad", 0)),
        )

    return f


def max_pool(name, x, symmetric=True, **given):
    torch = torch_max(**given) if symmetric else None
    return pool("max-" + name, "MaxPool", x, torch, **given)


def average_pool(name, x, symmetric=True, **given):
    torch = torch_average(**given) if symmetric else None
    return pool("average-" + name, "AveragePool", x, torch, **given)


def lp(x, p, axes):
    return (x.abs() ** p).sum(axes, keepdim=True) ** (1 / p)


CASES = [
    max_pool("plain", (2, 2, 4, 6), kernel_shape=[2, 2], strides=[2, 2]),
    max_pool("overlap", (1, 2, 5, 5), kernel_shape=[3, 2]),
    max_pool(
        "pads",
        (2, 1, 5, 6),
        kernel_shape=[3, 3],
        strides=[2, 2],
        pads=[1, 1, 1, 1],
    ),
    max_pool("1d", (2, 2, 7), kernel_shape=[3], strides=[2]),
    max_pool("3d", (1, 2, 3, 4, 3), kernel_shape=[2, 2, 2], strides=[1, 2, 1]),
    max_pool("dilated", (1, 1, 6, 7), kernel_shape=[2, 3], dilations=[3, 2]),
    max_pool(
        "ceil", (1, 2, 5, 6), kernel_shape=[2, 3], strides=[2, 2], ceil_mode=1
    ),
    max_pool(
        "asymmetric",
        (1, 1, 4, 5),
        False,
        kernel_shape=[2, 3],
        pads=[1, 0, 0, 2],
    ),
    *[
        max_pool(
            mode.lower(),
            (1, 1, 5, 6),
            False,
            kernel_shape=[3, 3],
            strides=[2, 2],
            auto_pad=mode,
        )
        for mode in ("SAME_UPPER", "SAME_LOWER", "VALID")
    ],
    max_pool(
        "column-major",
        (2, 2, 4, 3),
        kernel_shape=[2, 2],
        strides=[2, 1],
        storage_order=1,
    ),
    max_pool(
        "column-major-3d",
        (1, 2, 3, 4, 2),
        kernel_shape=[2, 2, 1],
        storage_order=1,
    ),
    # The first of equal elements gets the whole gradient, as in torch.
    Case(
        "max-ties",
        "y = MaxPool<kernel_shape=[2, 2]>(x)",
        {"x": np.array([[[[1.0, 1, 0], [1, 1, 0], [0, 2, 2]]]])},
        torch=torch_max(kernel_shape=[2, 2]),
        kinks=True,
    ),
    average_pool("plain", (2, 2, 4, 6), kernel_shape=[2, 2], strides=[2, 2]),
    average_pool("overlap", (1, 2, 5, 5), kernel_shape=[3, 2], strides=[1, 1]),
    average_pool("rest", (1, 1, 6, 8), kernel_shape=[2, 3], strides=[3, 2]),
    *[
        average_pool(
            f"pads-{include}",
            (2, 1, 5, 6),
            kernel_shape=[3, 3],
            strides=[2, 2],
            pads=[1, 1, 1, 1],
            count_include_pad=include,
        )
        for include in (0, 1)
    ],
    *[
        average_pool(
            f"ceil-{include}",
            (1, 1, 5, 6),
            kernel_shape=[2, 3],
            strides=[2, 2],
            pads=[1, 1, 1, 1],
            ceil_mode=1,
            count_include_pad=include,
        )
        for include in (0, 1)
    ],
    average_pool("1d", (2, 2, 7), kernel_shape=[3], strides=[2]),
    average_pool("3d", (1, 2, 3, 3, 4), kernel_shape=[2, 2, 2]),
    average_pool(
        "asymmetric", (1, 1, 4, 5), False, kernel_shape=[2, 3], pads=[1, 0, 0, 2]
    ),
    average_pool(
        "dilated", (1, 1, 6, 7), False, kernel_shape=[2, 3], dilations=[3, 2]
    ),
    *[
        average_pool(
            f"{mode.lower()}-{include}",
            (1, 1, 5, 6),
            False,
            kernel_shape=[3, 2],
            strides=[2, 2],
            auto_pad=mode,
            count_include_pad=include,
        )
        for mode in ("SAME_UPPER", "SAME_LOWER", "VALID")
        for include in (0, 1)
    ],
    *[
        pool(
            f"lp-{p}",
            "LpPool",
            (1, 2, 4, 5),
            lambda x, p=p: (
                torch.nn.functional.lp_pool2d(x.abs(), p, (2, 3), 2)
            ),
            kernel_shape=[2, 3],
            strides=[2, 2],
            p=p,
        )
        for p in (1, 2, 3)
    ],
    pool("lp-pads", "LpPool", (1, 1, 4, 4), kernel_shape=[2, 2], pads=[1, 0, 1, 1]),
    *[
        Case(
            f"global-{name}{rank}",
            f"y = Global{op}(x)",
            {"x": (2, 2, 3, 2, 2)[: rank + 2]},
            torch=f,
        )
        for name, op, f in [
            ("average", "AveragePool", lambda x: x.mean(tuple(range(2, x.ndim)), True)),
            ("max", "MaxPool", lambda x: x.amax(tuple(range(2, x.ndim)), True)),
        ]
        for rank in (1, 2, 3)
    ],
    *[
        Case(
            f"global-lp-{p}",
            f"y = GlobalLpPool<p={p}>(x)",
            {"x": (2, 2, 3, 2)},
            torch=lambda x, p=p: lp(x, p, (2, 3)),
        )
        for p in (1, 2, 3)
    ],
    Case(
        "unpool",
        "y = MaxUnpool<kernel_shape=[2, 2], strides=[2, 2]>(x, i)",
        {"x": (1, 1, 2, 2), "i": np.array([[[[5, 7], [13, 15]]]])},
        torch=lambda x, i: torch.nn.functional.max_unpool2d(
            x, i, 2, 2
        ),
    ),
]
