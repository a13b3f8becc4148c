# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# onnxruntime evaluates these: ONNX's reference evaluator rounds to float32, and
# clamps the places of cubics, where torch and onnxruntime clamp their cells.

SPELLINGS = {"linear": "bilinear", "cubic": "bicubic", "nearest": "nearest"}


def sample(grid_shape, mode, padding, aligned):
    def reference(x, grid):
        return torch.nn.functional.grid_sample(
            x,
            grid,
            mode=SPELLINGS[mode],
            padding_mode=padding,
            align_corners=bool(aligned),
        )

    return reference


def grid_sample(name, x, grid, mode, padding, aligned, opset=22):
    more = {"opset": opset}
    spelled = SPELLINGS[mode] if opset < 20 else mode
    # Inside, beyond the edges, and so far that reflections repeat.
    reach = 1.4 if padding == "zeros" else 2.9
    if mode == "nearest":
        # The gradient of the grid is zero.
        more["wrt"] = ("x",)
    if opset < 20:
        # onnxruntime has it for float32 only.
        more.update(
            dtype=np.float32, step=1e-3, tolerance=1e-2, torch_tolerance=1e-5
        )
    return Case(
        name,
        f"""
        y = GridSample<mode="{spelled}", padding_mode="{padding}",
          align_corners={aligned}>(x, grid)
        """,
        {"x": x, "grid": grid},
        torch=sample(grid, mode, padding, aligned),
        engine="onnxruntime",
        low=-reach,
        high=reach,
        **more,
    )


def affine_grid(theta, size, aligned):
    """`theta` of images and rows, a grid of `size`."""
    return Case(
        f"affine-{len(size)}-{'corners' if aligned else 'edges'}",
        f"""
        size = Constant<value_ints=[{", ".join(map(str, size))}]>()
        y = AffineGrid<align_corners={aligned}>(theta, size)
        """,
        {"theta": theta},
        torch=lambda theta: torch.nn.functional.affine_grid(
            theta, size, align_corners=bool(aligned)
        ),
        engine="onnxruntime",
        opset=20,
        dtype=np.float32,
        step=1e-3,
        tolerance=1e-2,
        torch_tolerance=1e-5,
    )


CASES = [
    affine_grid(theta, size, aligned)
    for theta, size in [
        ((2, 2, 3), (2, 3, 4, 5)),
        ((2, 3, 4), (2, 1, 3, 4, 2)),
    ]
    for aligned in [0, 1]
] + [
    grid_sample(
        f"{mode}-{padding}-{'corners' if aligned else 'edges'}",
        (2, 3, 4, 5),
        (2, 3, 6, 2),
        mode,
        padding,
        aligned,
    )
    for mode in ["linear", "cubic", "nearest"]
    for padding in ["zeros", "border", "reflection"]
    for aligned in [0, 1]
] + [
    grid_sample(
        f"volume-{mode}-{padding}-{aligned}",
        (2, 2, 3, 4, 2),
        (2, 2, 3, 5, 3),
        mode,
        padding,
        aligned,
    )
    for mode in ["linear", "nearest"]
    for padding in ["zeros", "border", "reflection"]
    for aligned in [0, 1]
] + [
    grid_sample(
        f"opset-{opset}-{mode}", (1, 2, 4, 3), (1, 2, 5, 2), mode, "zeros", 0,
        opset=opset,
    )
    for opset in [18, 20]
    for mode in ["linear", "cubic"]
] + [
    # One cell has nothing to reflect, and nothing on its other side.
    grid_sample(
        f"single-{padding}-{aligned}", (1, 2, 1, 3), (1, 2, 4, 2), "linear",
        padding, aligned,
    )
    for padding in ["zeros", "border", "reflection"]
    for aligned in [0, 1]
] + [
    grid_sample(
        "channel", (2, 1, 4, 5), (2, 1, 9, 2), "linear", "zeros", 0
    ),
]
