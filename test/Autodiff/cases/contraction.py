# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
CASES = [
    *[
        Case(
            f"matmul{name}",
            "y = MatMul(a, b)",
            {"a": a, "b": b},
            torch=lambda a, b: a @ b,
        )
        for name, a, b in [
            ("", (3, 4), (4, 5)),
            ("-batch", (2, 3, 4), (2, 4, 5)),
            ("-broadcast", (2, 1, 3, 4), (5, 4, 2)),
            ("-weight", (2, 3, 4), (4, 5)),
            ("-vector-left", (4,), (2, 4, 5)),
            ("-vector-right", (2, 3, 4), (4,)),
            ("-vectors", (4,), (4,)),
        ]
    ],
    *[
        Case(
            f"gemm-{trans_a}{trans_b}",
            f"y = Gemm<alpha=0.5, beta=2.0, transA={trans_a}, "
            f"transB={trans_b}>(a, b, c)",
            {
                "a": (4, 3) if trans_a else (3, 4),
                "b": (5, 4) if trans_b else (4, 5),
                "c": (5,),
            },
            torch=lambda a, b, c, ta=trans_a, tb=trans_b: 0.5
            * ((a.T if ta else a) @ (b.T if tb else b))
            + 2 * c,
        )
        for trans_a in (0, 1)
        for trans_b in (0, 1)
    ],
    Case(
        "gemm-column",
        "y = Gemm(a, b, c)",
        {"a": (3, 4), "b": (4, 5), "c": (3, 1)},
        torch=lambda a, b, c: a @ b + c,
    ),
]
