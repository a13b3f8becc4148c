# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
STATISTICS = {
    "mean": np.array([0.3, -0.5, 0.1]),
    "var": np.array([0.7, 1.5, 0.2]),
}


def batch_norm(name, shape, training):
    mode = "training_mode=1, momentum=0.8, " if training else ""
    results = "y, new_mean, new_var" if training else "y"
    return Case(
        "batch-" + name,
        f"{results} = BatchNormalization<{mode}epsilon=0.01>(x, s, b, mean, var)",
        {"x": shape, "s": (3,), "b": (3,), **STATISTICS},
        wrt=("x", "s", "b"),
        torch=(
            lambda x, s, b, m, v: torch.nn.functional.batch_norm(
                x,
                None if training else m,
                None if training else v,
                s,
                b,
                bool(training),
                0.2,
                EPSILON,
            )
        ),
    )


# The epsilon as ONNX's text form and its attributes represent it.
EPSILON = float(np.float32(0.01))


def layer_norm(name, x, scale, axis, bias=True):
    inputs = {"x": x, "s": scale, **({"b": scale} if bias else {})}
    return Case(
        "layer-" + name,
        f"y = LayerNormalization<axis={axis}, epsilon=0.01>({', '.join(inputs)})",
        inputs,
        torch=lambda x, s, b=0: (
            (x - x.mean(tuple(range(axis % x.ndim, x.ndim)), True))
            / (
                x.var(tuple(range(axis % x.ndim, x.ndim)), False, keepdim=True)
                + EPSILON
            ).sqrt()
            * s
            + b
        ),
    )


def group(x, s, b, groups):
    f = torch.nn.functional
    per_channel = x.shape[1] // s.shape[0]
    s, b = (v.repeat_interleave(per_channel) for v in (s, b))
    return f.group_norm(x, groups, s, b, EPSILON)


def rms(axis):
    def f(x, s):
        axes = tuple(range(axis % x.ndim, x.ndim))
        return x / ((x * x).mean(axes, True) + EPSILON).sqrt() * s

    return f


CASES = [
    batch_norm("training", (4, 3, 2, 2), True),
    batch_norm("training-rows", (5, 3), True),
    batch_norm("training-1d", (3, 3, 4), True),
    batch_norm("training-3d", (2, 3, 2, 1, 2), True),
    batch_norm("inference", (2, 3, 2, 2), False),
    batch_norm("inference-rows", (5, 3), False),
    Case(
        "batch-statistics",
        "y = BatchNormalization<epsilon=0.01>(x, s, b, mean, var)",
        {"x": (2, 3, 2), "s": (3,), "b": (3,), **STATISTICS},
        torch=lambda x, s, b, m, v: (x - m[:, None])
        / (v[:, None] + EPSILON).sqrt()
        * s[:, None]
        + b[:, None],
    ),
    layer_norm("last", (2, 3, 4), (4,), -1),
    layer_norm("no-bias", (2, 3, 4), (4,), 2, bias=False),
    layer_norm("axes", (2, 3, 4), (3, 4), 1),
    layer_norm("all", (3, 4), (3, 4), 0),
    layer_norm("broadcast", (2, 3, 4), (3, 1), 1),
    layer_norm("broadcast-row", (2, 3, 4), (4,), 1),
    layer_norm("scalar", (2, 4), (1,), -1),
    *[
        Case(
            f"rms-{name}",
            f"y = RMSNormalization<axis={axis}, epsilon=0.01>(x, s)",
            {"x": (2, 3, 4), "s": scale},
            opset=23,
            torch=rms(axis),
        )
        for name, axis, scale in [
            ("last", -1, (4,)),
            ("axes", 1, (3, 4)),
            ("broadcast", 1, (4,)),
        ]
    ],
    *[
        Case(
            f"instance-{len(x) - 2}d",
            "y = InstanceNormalization<epsilon=0.01>(x, s, b)",
            {"x": x, "s": (2,), "b": (2,)},
            torch=lambda x, s, b: torch.nn.functional.instance_norm(
                x, None, None, s, b, eps=EPSILON
            ),
        )
        for x in [(2, 2, 5), (2, 2, 3, 2), (1, 2, 2, 2, 2)]
    ],
    *[
        Case(
            f"group-{opset}-{groups}",
            f"y = GroupNormalization<num_groups={groups}, epsilon=0.01>(x, s, b)",
            {"x": (2, 4, 3), "s": (size,), "b": (size,)},
            opset=opset,
            torch=lambda x, s, b, groups=groups: group(x, s, b, groups),
        )
        for opset, groups, size in [(18, 2, 2), (21, 2, 4), (21, 1, 4), (21, 4, 4)]
    ],
    Case(
        "mean-variance",
        "y = MeanVarianceNormalization(x)",
        {"x": (2, 2, 2, 3)},
    ),
    Case(
        "mean-variance-axes",
        "y = MeanVarianceNormalization<axes=[1, -1]>(x)",
        {"x": (2, 2, 3)},
    ),
    *[
        Case(
            f"lp-{p}-{axis}",
            f"y = LpNormalization<p={p}, axis={axis}>(x)",
            {"x": (3, 4)},
            torch=lambda x, p=p, axis=axis: torch.nn.functional.normalize(
                x, p, axis
            ),
        )
        for p in (1, 2)
        for axis in (-1, 0)
    ],
    *[
        Case(
            f"lrn-{size}",
            f"y = LRN<size={size}, alpha=0.5, beta=0.7, bias=1.5>(x)",
            {"x": (2, 5, 2, 1)},
            torch=(
                lambda x, size=size: torch.nn.functional.local_response_norm(
                    x, size, float(np.float32(0.5)), float(np.float32(0.7)), 1.5
                )
            )
            if size % 2
            else None,
        )
        for size in (1, 2, 3, 4, 7)
    ],
]
