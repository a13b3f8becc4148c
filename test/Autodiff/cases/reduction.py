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
