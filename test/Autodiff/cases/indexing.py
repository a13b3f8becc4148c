# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception


def rows(*values):
    return np.array(values)


# Repeated indices, negative ones, and of other types.
CASES = [
    Case(
        f"gather-{name}",
        f"s = Gather<axis={axis}>(a, i) y = Mul(s, s)",
        {"a": (3, 4, 2), "i": indices},
        torch=lambda a, i, f=f: f(a, i.long()) ** 2,
    )
    for name, axis, indices, f in [
        ("first", 0, rows([0, 2, 0], [-1, 1, 2]), lambda a, i: a[i]),
        ("middle", 1, rows(3, 0, 3), lambda a, i: a[:, i]),
        ("last", -1, rows([1], [1]), lambda a, i: a[..., i]),
        ("before-last", -2, rows([1, -1]), lambda a, i: a[:, i]),
        ("scalar", 0, np.array(1), lambda a, i: a[i]),
        ("scalar-inner", 2, np.array(1), lambda a, i: a[..., i]),
        ("int32", 0, rows(2, 2).astype(np.int32), lambda a, i: a[i]),
    ]
] + [
    Case(
        f"elements-{axis}",
        f"s = GatherElements<axis={axis}>(a, i) y = Mul(s, s)",
        {"a": (3, 4), "i": rows([0, 1, 1], [2, 0, 1])},
        torch=lambda a, i, axis=axis: a.gather(axis, i) ** 2,
    )
    for axis in (0, 1, -1)
] + [
    Case(
        "elements-negative",
        "s = GatherElements<axis=1>(a, i) y = Mul(s, s)",
        {"a": (2, 4), "i": rows([-1, 1, -1], [2, 0, -4])},
        torch=lambda a, i: a.gather(1, i % 4) ** 2,
    ),
    Case(
        "nd-points",
        "s = GatherND(a, i) y = Mul(s, s)",
        {"a": (3, 4), "i": rows([0, 1], [2, -1], [0, 1])},
        torch=lambda a, i: a[i[:, 0], i[:, 1]] ** 2,
    ),
    Case(
        "nd-rows",
        "s = GatherND(a, i) y = Mul(s, s)",
        {"a": (3, 4), "i": rows([[0], [2]], [[0], [1]])},
        torch=lambda a, i: a[i[..., 0]] ** 2,
    ),
    Case(
        "nd-batch",
        "s = GatherND<batch_dims=1>(a, i) y = Mul(s, s)",
        {"a": (2, 3, 4), "i": rows([[1], [1]], [[2], [0]])},
        torch=lambda a, i: torch.stack([a[n, i[n, :, 0]] for n in (0, 1)])
        ** 2,
    ),
    Case(
        "nd-batch-two",
        "s = GatherND<batch_dims=2>(a, i) y = Mul(s, s)",
        {"a": (2, 1, 3, 4), "i": rows([[1, 2]], [[2, 0]])},
        torch=lambda a, i: torch.stack(
            [a[n, 0, i[n, 0, 0], i[n, 0, 1]] for n in (0, 1)]
        ).reshape(2, 1)
        ** 2,
    ),
    Case(
        "compress",
        "s = Compress<axis=1>(a, c) y = Mul(s, s)",
        {"a": (2, 4), "c": np.array([True, False, True])},
        torch=lambda a, c: a[:, [0, 2]] ** 2,
    ),
    Case(
        "compress-flat",
        "s = Compress(a, c) y = Mul(s, s)",
        {"a": (2, 3), "c": np.array([False, True, True, False, True])},
        torch=lambda a, c: a.flatten()[[1, 2, 4]] ** 2,
    ),
]

# Scatters. Places are distinct where the last one would win.
ELEMENTS = rows([2, 0, 1], [0, 2, -1])
REPEATED = rows([2, 0, 1], [2, 2, 1])
REDUCTIONS = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}

CASES += [
    Case(
        "scatter-elements-none",
        "s = ScatterElements<axis=0>(a, i, u) y = Mul(s, s)",
        {"a": (3, 3), "i": ELEMENTS, "u": (2, 3)},
        torch=lambda a, i, u: a.scatter(0, i % 3, u) ** 2,
    ),
    Case(
        "scatter-elements-axis",
        "s = ScatterElements<axis=-1>(a, i, u) y = Mul(s, s)",
        {"a": (2, 3), "i": rows([2, 0, 1], [0, 1, -1]), "u": (2, 3)},
        torch=lambda a, i, u: a.scatter(1, i % 3, u) ** 2,
    ),
    Case(
        "scatter-nd-none",
        "s = ScatterND(a, i, u) y = Mul(s, s)",
        {"a": (3, 4), "i": rows([0], [-1]), "u": (2, 4)},
        torch=lambda a, i, u: a.index_copy(0, i[:, 0] % 3, u) ** 2,
    ),
] + [
    Case(
        f"scatter-elements-{op}",
        f'y = ScatterElements<reduction="{op}">(a, i, u)',
        {"a": (3, 3), "i": REPEATED, "u": (2, 3)},
        torch=lambda a, i, u, r=reduction: a.scatter_reduce(0, i, u, r),
    )
    for op, reduction in REDUCTIONS.items()
] + [
    Case(
        f"scatter-nd-{op}",
        f'y = ScatterND<reduction="{op}">(a, i, u)',
        {"a": (3, 4), "i": rows([0], [1], [0]), "u": (3, 4)},
        torch=lambda a, i, u, r=reduction: a.scatter_reduce(
            0, i.expand(3, 4), u, r
        ),
    )
    for op, reduction in REDUCTIONS.items()
] + [
    Case(
        "scatter-elements-mul-zeros",
        'y = ScatterElements<reduction="mul">(a, i, u)',
        {
            "a": np.array([3.0, 0.0, 2.0, 5.0]),
            "i": rows(0, 0, 1, 2, 2, 2),
            "u": np.array([0.0, 2.0, 3.0, 0.0, 0.0, 7.0]),
        },
    ),
    Case(
        "scatter-elements-max-ties",
        'y = ScatterElements<reduction="max">(a, i, u)',
        {
            "a": np.array([3.0, 1.0, 2.0]),
            "i": rows(0, 0, 1, 1),
            "u": np.array([3.0, 2.0, 4.0, 4.0]),
        },
        torch=lambda a, i, u: a.scatter_reduce(0, i, u, "amax"),
        kinks=True,
    ),
] + [
    Case(
        f"onehot-{axis}",
        "d = Constant<value=int64 {4}>() "
        f"s = OneHot<axis={axis}>(i, d, v) y = Mul(s, s)",
        {"i": rows([0, 2], [-1, 7]), "v": (2,)},
    )
    for axis in (-1, 0)
]
