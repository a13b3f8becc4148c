# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
CASES = [
    Case(
        f"{op}-{kind}",
        f"y = {op.capitalize()}(a, b)",
        {"a": a, "b": b},
        torch=f,
    )
    for op, f in {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
    }.items()
    for kind, a, b in [
        ("same", (3, 4), (3, 4)),
        ("row", (3, 4), (4,)),
        ("column", (3, 4), (3, 1)),
        ("both", (3, 1, 2), (4, 1)),
        ("scalar", (), (3, 4)),
    ]
] + [
    Case("square", "y = Mul(a, a)", {"a": (3, 4)}, torch=lambda a: a * a),
    Case("relu", "y = Relu(a)", {"a": (3, 4)}, torch=lambda a: a.relu()),
]
