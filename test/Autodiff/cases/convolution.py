# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception


def same_pads(sizes, kernel, strides, mode):
    pads = []
    for size, cells, stride in zip(sizes, kernel, strides):
        total = max((-(-size // stride) - 1) * stride + cells - size, 0)
        less, more = total // 2, total - total // 2
        pads.append((more, less) if mode == "SAME_LOWER" else (less, more))
    return [p[0] for p in pads] + [p[1] for p in pads]


def conv(name, x, w, bias=False, expected_pads=None, **given):
    rank = len(x) - 2

    def torch_conv(x, w, b=None):
        f = torch.nn.functional
        pads = expected_pads or given.get("pads", [0] * (2 * rank))
        # torch pads the last axis first.
        x = f.pad(
            x, [p for i in reversed(range(rank)) for p in pads[i::rank]]
        )
        return getattr(f, f"conv{rank}d")(
            x,
            w,
            b,
            stride=given.get("strides", 1),
            dilation=given.get("dilations", 1),
            groups=given.get("group", 1),
        )

    inputs = {"x": x, "w": w, **({"b": (w[0],)} if bias else {})}
    body = f"y = Conv<{attributes(**given)}>({', '.join(inputs)})"
    return Case(name, body.replace("<>", ""), inputs, torch=torch_conv)


def transposed(name, x, w, bias=False, torch_ok=True, **given):
    rank = len(x) - 2

    def torch_conv(x, w, b=None):
        f = torch.nn.functional
        return getattr(f, f"conv_transpose{rank}d")(
            x,
            w,
            b,
            stride=given.get("strides", 1),
            padding=given.get("pads", [0] * rank)[:rank],
            dilation=given.get("dilations", 1),
            output_padding=given.get("output_padding", 0),
            groups=given.get("group", 1),
        )

    channels = w[1] * given.get("group", 1)
    inputs = {"x": x, "w": w, **({"b": (channels,)} if bias else {})}
    body = f"y = ConvTranspose<{attributes(**given)}>({', '.join(inputs)})"
    return Case(
        name,
        body.replace("<>", ""),
        inputs,
        torch=torch_conv if torch_ok else None,
    )


CASES = [
    conv("conv-plain", (2, 2, 4, 5), (3, 2, 3, 2)),
    conv("conv-bias", (2, 2, 4, 4), (3, 2, 3, 3), True, pads=[1, 1, 1, 1]),
    conv("conv-1d", (2, 2, 7), (2, 2, 3), True, pads=[1, 0], strides=[2]),
    conv(
        "conv-3d",
        (1, 2, 3, 4, 3),
        (2, 2, 2, 3, 2),
        True,
        pads=[1, 1, 0, 0, 1, 1],
        strides=[1, 2, 2],
    ),
    # The stride leaves cells at the end that no window reaches.
    conv("conv-rest", (1, 2, 6, 9), (2, 2, 3, 2), strides=[2, 4]),
    conv(
        "conv-rest-pads",
        (1, 1, 6, 8),
        (2, 1, 3, 3),
        strides=[2, 3],
        pads=[1, 1, 1, 1],
    ),
    conv("conv-rest-wide", (1, 1, 9, 9), (1, 1, 1, 2), strides=[5, 4]),
    conv("conv-asymmetric", (2, 1, 4, 4), (2, 1, 3, 3), pads=[2, 0, 0, 1]),
    conv("conv-dilated", (1, 2, 7, 6), (2, 2, 3, 2), dilations=[2, 3]),
    conv(
        "conv-dilated-strided",
        (1, 1, 9, 10),
        (2, 1, 2, 3),
        dilations=[3, 2],
        strides=[2, 3],
        pads=[0, 1, 2, 0],
    ),
    conv("conv-group", (2, 4, 4, 4), (6, 2, 3, 3), True, group=2),
    conv(
        "conv-group-strided",
        (3, 4, 5, 6),
        (2, 2, 2, 3),
        group=2,
        strides=[2, 2],
        pads=[1, 0, 1, 1],
    ),
    conv("conv-depthwise", (2, 3, 4, 4), (3, 1, 3, 3), group=3, pads=[1] * 4),
    conv("conv-multiplier", (2, 2, 4, 4), (4, 1, 2, 2), group=2),
    conv("conv-pointwise", (2, 3, 3, 3), (2, 3, 1, 1), True),
    conv("conv-kernel-shape", (1, 2, 4), (2, 2, 3), kernel_shape=[3]),
    conv("conv-valid", (1, 1, 5, 5), (1, 1, 2, 3), auto_pad="VALID"),
    *[
        conv(
            f"conv-{mode.lower()}-{kernel}-{stride}",
            (1, 1, 5, 6),
            (2, 1, kernel, kernel),
            auto_pad=mode,
            strides=[stride, stride],
            expected_pads=same_pads((5, 6), [kernel] * 2, [stride] * 2, mode),
        )
        for mode in ("SAME_UPPER", "SAME_LOWER")
        for kernel in (2, 3)
        for stride in (1, 2)
    ],
    conv(
        "conv-same-wide-stride",
        (1, 1, 7, 7),
        (1, 1, 2, 2),
        auto_pad="SAME_UPPER",
        strides=[3, 4],
        expected_pads=same_pads((7, 7), [2, 2], [3, 4], "SAME_UPPER"),
    ),
    transposed("transposed-plain", (2, 2, 3, 4), (2, 3, 3, 2)),
    transposed("transposed-bias", (1, 2, 3, 3), (2, 2, 2, 2), True),
    transposed("transposed-1d", (2, 2, 4), (2, 2, 3), strides=[2]),
    transposed(
        "transposed-3d",
        (1, 2, 2, 2, 3),
        (2, 1, 2, 3, 2),
        True,
        strides=[2, 1, 2],
        pads=[0, 1, 1, 0, 1, 1],
    ),
    transposed(
        "transposed-strided",
        (1, 2, 3, 3),
        (2, 2, 3, 3),
        strides=[2, 2],
        pads=[1, 1, 1, 1],
        output_padding=[1, 1],
    ),
    transposed(
        "transposed-asymmetric",
        (1, 1, 3, 4),
        (1, 2, 3, 3),
        torch_ok=False,
        strides=[2, 1],
        pads=[1, 0, 0, 2],
    ),
    transposed("transposed-dilated", (1, 2, 3, 3), (2, 1, 2, 2), dilations=[2, 3]),
    # Room for another window in dX, and for another cell in dW.
    transposed(
        "transposed-padded-past-stride",
        (1, 1, 3),
        (1, 1, 2),
        strides=[1],
        dilations=[3],
        output_padding=[2],
    ),
    transposed(
        "transposed-padded-past-dilation",
        (1, 1, 3),
        (1, 1, 2),
        strides=[4],
        output_padding=[3],
    ),
    transposed("transposed-group", (2, 4, 3, 3), (4, 2, 2, 2), True, group=2),
    transposed("transposed-depthwise", (1, 3, 3, 3), (3, 1, 2, 2), group=3),
    transposed(
        "transposed-output-shape",
        (1, 2, 3, 3),
        (2, 1, 3, 3),
        torch_ok=False,
        strides=[3, 2],
        output_shape=[8, 6],
    ),
    *[
        transposed(
            f"transposed-{mode.lower()}",
            (1, 1, 3, 4),
            (1, 2, 3, 4),
            torch_ok=False,
            strides=[2, 1],
            auto_pad=mode,
        )
        for mode in ("SAME_UPPER", "SAME_LOWER")
    ],
    transposed(
        "transposed-valid",
        (1, 1, 3),
        (1, 1, 3),
        strides=[2],
        auto_pad="VALID",
    ),
]
