# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Numbers inside, at the ends, and beyond the range of the integers.
X = np.linspace(-4.1, 4.3, 24, dtype=np.float32).reshape(2, 3, 4)


def fake_quantize(name, scale, point, kind, low, high, axis=None):
    """One scale, or one for each slice along an axis."""
    shape = f"[{len(scale)}]" if axis is not None else ""
    scales = f"float{shape} {{{', '.join(map(str, scale))}}}"
    points = f"{kind}{shape} {{{', '.join(map(str, point))}}}"
    given = f"<axis={axis}>" if axis is not None else ""

    def reference(x):
        if axis is None:
            return torch.fake_quantize_per_tensor_affine(
                x.float(), scale[0], point[0], low, high
            )
        return torch.fake_quantize_per_channel_affine(
            x.float(),
            torch.tensor(scale),
            torch.tensor(point, dtype=torch.int32),
            axis % 3,
            low,
            high,
        )

    return Case(
        name,
        f"""
        s = Constant<value = {scales}>() z = Constant<value = {points}>()
        q = QuantizeLinear{given}(x, s, z)
        y = DequantizeLinear{given}(q, s, z)
        """,
        {"x": X},
        torch=reference,
        kinks=True,
        dtype=np.float32,
        torch_tolerance=1e-6,
        options="straight-through=true",
    )


CASES = [
    fake_quantize("signed", [0.02], [0], "int8", -128, 127),
    fake_quantize("unsigned", [0.025], [100], "uint8", 0, 255),
    fake_quantize("point-beyond-zero", [0.02], [-120], "int8", -128, 127),
    fake_quantize(
        "channels", [0.01, 0.03, 0.02], [3, -5, 100], "int8", -128, 127, axis=1
    ),
    fake_quantize(
        "last-axis",
        [0.01, 0.03, 0.02, 0.015],
        [128, 0, 255, 60],
        "uint8",
        0,
        255,
        axis=-1,
    ),
]
