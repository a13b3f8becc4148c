# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception


def pad(*sizes, **kwargs):
    return lambda a: torch.nn.functional.pad(a, sizes, **kwargs) ** 2


CASES = [
    Case(
        f"pad-{name}",
        f'y0 = Pad<mode="{mode}">(a, p) y = Mul(y0, y0)',
        {"a": (2, 3, 4), "p": np.array(pads)},
        torch=lambda a, p, f=f: f(a),
    )
    for name, mode, pads, f in [
        ("constant", "constant", [0, 1, 2, 0, 0, 1], pad(2, 1, 1, 0)),
        (
            "reflect",
            "reflect",
            [0, 0, 2, 0, 0, 3],
            pad(2, 3, mode="reflect"),
        ),
        ("edge", "edge", [0, 0, 2, 0, 0, 1], pad(2, 1, mode="replicate")),
        ("wrap", "wrap", [0, 0, 2, 0, 0, 1], pad(2, 1, mode="circular")),
        (
            "wrap-two",
            "wrap",
            [0, 1, 2, 0, 1, 1],
            lambda a: pad(2, 1, 1, 1, mode="circular")(a[None])[0],
        ),
    ]
] + [
    # The pads are a constant.
    Case(
        f"pad-known-{mode}",
        "p = Constant<value_ints=[1, 0, 2, 1]>() "
        f'y0 = Pad<mode="{mode}">(a, p) y = Mul(y0, y0)',
        {"a": (3, 4)},
        torch=None if mode == "reflect" else pad(0, 1, 1, 2),
    )
    for mode in ("constant", "reflect")
] + [
    Case(
        f"pad-negative-{name}",
        f"{constant} y0 = Pad(a, p) y = Mul(y0, y0)",
        inputs,
        torch=lambda a, *p: pad(1, -1, -1, 2)(a),
    )
    for name, constant, inputs in [
        (
            "known",
            "p = Constant<value_ints=[-1, 1, 2, -1]>()",
            {"a": (3, 4)},
        ),
        ("computed", "", {"a": (3, 4), "p": np.array([-1, 1, 2, -1])}),
    ]
] + [
    Case(
        "pad-value",
        "y0 = Pad(a, p, v) y = Mul(y0, y0)",
        {"a": (2, 3), "p": np.array([1, 0, 0, 2]), "v": np.array(0.7)},
    ),
    Case(
        "pad-axes",
        "y0 = Pad(a, p, , x) y = Mul(y0, y0)",
        {
            "a": (2, 3, 4),
            "p": np.array([1, 0, 2, 1]),
            "x": np.array([-1, 0]),
        },
        torch=lambda a, p, x: pad(1, 2, 0, 0, 0, 1)(a),
    ),
    Case(
        "pad-axes-reflect",
        'y0 = Pad<mode="reflect">(a, p, , x) y = Mul(y0, y0)',
        {"a": (2, 3, 4), "p": np.array([1, 2]), "x": np.array([-1])},
        torch=lambda a, p, x: pad(1, 2, mode="reflect")(a),
    ),
]

CASES += [
    Case(
        f"col2im-{name}",
        "n = Constant<value_ints=[5, 6]>() b = Constant<value_ints=[2, 3]>() "
        f"y0 = Col2Im<{attributes}>(a, n, b) y = Mul(y0, y0)",
        {"a": (2, 12, length)},
        torch=lambda a, kwargs=kwargs: torch.nn.functional.fold(
            a, (5, 6), (2, 3), **kwargs
        )
        ** 2,
    )
    for name, attributes, length, kwargs in [
        ("plain", "strides=[1, 1]", 16, {}),
        (
            "attributes",
            "strides=[2, 1], dilations=[1, 2], pads=[1, 0, 1, 0]",
            6,
            {"stride": (2, 1), "dilation": (1, 2), "padding": (1, 0)},
        ),
    ]
]
