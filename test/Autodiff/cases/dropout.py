# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The evaluator draws the same mask each time, from the seed.
MODE = "mode = Constant<value = bool {1}>() "
RATIO = "ratio = Constant<value = double {0.3}>() "

CASES = [
    Case(
        "training",
        MODE + RATIO + "y = Dropout<seed=3>(x, ratio, mode)",
        {"x": (4, 5)},
    ),
    Case(
        "training-mask",
        MODE + RATIO + "y, mask = Dropout<seed=3>(x, ratio, mode)",
        {"x": (4, 5)},
    ),
    Case(
        "ratio-absent", MODE + "y = Dropout<seed=3>(x, , mode)", {"x": (4, 5)}
    ),
    Case(
        "ratio-zero",
        MODE
        + "ratio = Constant<value = double {0.0}>() "
        + "y = Dropout<seed=3>(x, ratio, mode)",
        {"x": (4, 5)},
        torch=lambda x: x * 1,
    ),
    *[
        Case(
            f"mode-input-{mode}",
            RATIO + "y = Dropout<seed=3>(x, ratio, mode)",
            {"x": (4, 5), "mode": np.array(bool(mode))},
            torch=None if mode else lambda x, mode: x * 1,
        )
        for mode in (0, 1)
    ],
    Case(
        "inference",
        "y = Dropout<seed=3>(x)",
        {"x": (4, 5)},
        torch=lambda x: x * 1,
    ),
    # One mask is shared by two nodes with the same seed only.
    Case(
        "chain",
        MODE
        + RATIO
        + "z = Dropout<seed=3>(x, ratio, mode) y = Dropout<seed=5>(z, ratio, mode)",
        {"x": (4, 5)},
    ),
    *[
        Case(
            f"bias-{name}",
            MODE
            + RATIO
            + f"y = com.microsoft.BiasDropout<seed=3>(x, b{residual}, ratio, mode)",
            {"x": (3, 4), "b": (4,), **({"r": (3, 4)} if residual[2:] else {})},
        )
        for name, residual in [("plain", ", "), ("residual", ", r")]
    ],
    Case(
        "bitmask",
        MODE
        + RATIO
        + "y = com.microsoft.BitmaskDropout<seed=3>(x, ratio, mode)",
        {"x": (5, 9)},
    ),
]
