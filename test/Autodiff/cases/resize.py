# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
def floats(values):
    return "float[%d] {%s}" % (len(values), ", ".join(map(str, values)))


def resize(name, x, scales=None, sizes=None, torch=None, roi=None, **given):
    if scales:
        body = f"s = Constant<value = {floats(scales)}>() "
        operands = "s"
    else:
        body = f"s = Constant<value_ints={sizes}>() "
        operands = ", s"
    region = ""
    if roi:
        body += f"region = Constant<value = {floats(roi)}>() "
        region = "region"
    body += f"y = Resize<{attributes(**given)}>(x, {region}, {operands})"
    return Case(name, body, {"x": x}, torch=torch)


def interpolate(**given):
    return lambda x: torch.nn.functional.interpolate(x, **given)


COORDINATES = [
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
]

CASES = [
    resize(
        f"nearest-{coordinates}-{rounding}-{kind}",
        (1, 2, 4, 6),
        mode="nearest",
        nearest_mode=rounding,
        coordinate_transformation_mode=coordinates,
        **sizes,
    )
    for coordinates in COORDINATES
    for rounding in ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
    for kind, sizes in [
        ("up", {"scales": [1.0, 1.0, 2.0, 1.5]}),
        ("down", {"sizes": [1, 2, 3, 2]}),
    ]
] + [
    resize(
        f"{mode}-{coordinates}-{kind}",
        (1, 2, 4, 6),
        mode=mode,
        coordinate_transformation_mode=coordinates,
        **sizes,
    )
    for mode in ["linear", "cubic"]
    for coordinates in COORDINATES
    for kind, sizes in [
        ("up", {"scales": [1.0, 1.0, 2.0, 1.5]}),
        ("down", {"sizes": [1, 2, 3, 2]}),
        ("single", {"sizes": [1, 2, 1, 7]}),
    ]
    # ONNX's evaluator takes the place -0.5 there, not 0.
    if (mode, coordinates, kind) != ("cubic", "pytorch_half_pixel", "single")
] + [
    # The forms that torch has.
    resize(
        "torch-nearest",
        (2, 2, 3, 4),
        sizes=[2, 2, 5, 8],
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="asymmetric",
        torch=interpolate(size=(5, 8), mode="nearest"),
    ),
    resize(
        "torch-linear",
        (2, 2, 3, 4),
        sizes=[2, 2, 5, 7],
        mode="linear",
        torch=interpolate(size=(5, 7), mode="bilinear", align_corners=False),
    ),
    resize(
        "torch-corners",
        (2, 2, 3, 4),
        sizes=[2, 2, 5, 7],
        mode="linear",
        coordinate_transformation_mode="align_corners",
        torch=interpolate(size=(5, 7), mode="bilinear", align_corners=True),
    ),
    resize(
        "torch-cubic",
        (1, 2, 3, 4),
        sizes=[1, 2, 5, 7],
        mode="cubic",
        coordinate_transformation_mode="pytorch_half_pixel",
        torch=interpolate(size=(5, 7), mode="bicubic", align_corners=False),
    ),
    resize(
        "torch-3d",
        (1, 1, 2, 3, 2),
        sizes=[1, 1, 3, 4, 5],
        mode="linear",
        torch=interpolate(
            size=(3, 4, 5), mode="trilinear", align_corners=False
        ),
    ),
    resize(
        "cubic-coefficient",
        (1, 1, 4, 5),
        scales=[1.0, 1.0, 2.0, 0.5],
        mode="cubic",
        cubic_coeff_a=-0.5,
    ),
    resize(
        "cubic-exclude-outside",
        (1, 1, 4, 5),
        scales=[1.0, 1.0, 2.0, 0.5],
        mode="cubic",
        exclude_outside=1,
    ),
    resize(
        "linear-exclude-outside",
        (1, 1, 4, 4),
        scales=[1.0, 1.0, 2.0, 2.0],
        mode="linear",
        exclude_outside=1,
    ),
    # Before Resize-13, a tensor without elements means that the input is
    # absent.
    *[
        Case(
            f"empty-{name}",
            f"""
            e = Constant<value = float[0] {{}}>()
            s = Constant<value = {floats([2.0, 1.5])}>()
            n = Constant<value_ints=[6, 6]>()
            y = Resize<mode="linear", {given}>(x, {operands})
            """,
            {"x": (3, 4)},
            opset=opset,
            # The reference evaluator knows no empty scales.
            forward=f"""
            n = Constant<value_ints=[6, 6]>()
            y = Resize<mode="linear">(x, , , n)
            """,
        )
        for name, given, operands, opset in [
            ("region", "axes=[0, 1]", "e, s", 22),
            ("scales", "axes=[0, 1]", "e, e, n", 22),
        ]
    ],
    # Only one mode reads the region: in the others it has no gradient, and
    # needs none.
    Case(
        "region-unread",
        f"""
        s = Constant<value = {floats([2.0, 1.5])}>() r = ReduceSum<keepdims=0>(x)
        f = Constant<value_ints=[4]>() region = Expand(r, f)
        y = Resize<mode="linear">(x, region, s)
        """,
        {"x": (3, 4)},
    ),
    # Smaller images are smoothed, larger ones are not.
    *[
        resize(
            f"antialias-{mode}-{coordinates}-{kind}",
            (1, 2, 6, 8),
            mode=mode,
            coordinate_transformation_mode=coordinates,
            antialias=1,
            exclude_outside=outside,
            **sizes,
        )
        for mode in ["linear", "cubic"]
        for coordinates in COORDINATES
        for kind, outside, sizes in [
            ("down", 0, {"scales": [1.0, 1.0, 0.5, 0.375]}),
            ("both", 1, {"sizes": [1, 2, 8, 3]}),
        ]
    ],
    *[
        resize(
            f"antialias-torch-{mode}",
            (1, 2, 9, 7),
            sizes=[1, 2, 4, 3],
            mode=mode,
            cubic_coeff_a=-0.5,
            exclude_outside=1,
            antialias=1,
            torch=interpolate(size=(4, 3), mode=f"bi{mode}", antialias=True),
        )
        for mode in ["linear", "cubic"]
    ],
    resize(
        "antialias-policy",
        (3, 9, 2),
        sizes=[6, 2],
        axes=[1, 2],
        mode="linear",
        antialias=1,
        keep_aspect_ratio_policy="not_larger",
    ),
    resize(
        "antialias-crop",
        (1, 1, 6, 8),
        sizes=[1, 1, 3, 3],
        roi=[0.0, 0.0, 0.25, -0.2, 1.0, 1.0, 0.8, 1.1],
        mode="linear",
        coordinate_transformation_mode="tf_crop_and_resize",
        antialias=1,
    ),
    resize("axes", (3, 4, 2), sizes=[5, 3], mode="linear", axes=[0, 1]),
    resize("one-axis", (5,), scales=[2.0], mode="linear"),
    *[
        resize(
            f"policy-{policy}",
            (1, 1, 3, 4),
            sizes=[6, 4],
            axes=[2, 3],
            mode="linear",
            keep_aspect_ratio_policy=policy,
        )
        for policy in ["not_larger", "not_smaller"]
    ],
    *[
        resize(
            f"crop-{mode}",
            (1, 1, 4, 5),
            sizes=[1, 1, 3, 4],
            roi=[0.0, 0.0, 0.25, -0.2, 1.0, 1.0, 0.8, 1.1],
            mode=mode,
            coordinate_transformation_mode="tf_crop_and_resize",
            extrapolation_value=10.0,
        )
        for mode in ["linear", "nearest"]
    ],
]
