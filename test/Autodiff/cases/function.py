# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
CASES = [
    Case(
        op.lower(),
        f"y = {op}(a)",
        {"a": (3, 4)},
        low=low,
        high=high,
        torch=lambda a, op=op.lower(): getattr(a, op)(),
    )
    for op, low, high in [
        ("Abs", -2, 2),
        ("Acos", -0.9, 0.9),
        ("Acosh", 1.1, 3),
        ("Asin", -0.9, 0.9),
        ("Asinh", -2, 2),
        ("Atan", -2, 2),
        ("Atanh", -0.9, 0.9),
        ("Cos", -2, 2),
        ("Cosh", -2, 2),
        ("Erf", -2, 2),
        ("Exp", -2, 2),
        ("Log", 0.2, 3),
        ("Neg", -2, 2),
        ("Reciprocal", 0.3, 2),
        ("Sin", -2, 2),
        ("Sinh", -2, 2),
        ("Sqrt", 0.2, 3),
        ("Tan", -1, 1),
    ]
]
