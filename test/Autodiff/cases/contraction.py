# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
CASES = [
    Case(
        "matmul",
        "y = MatMul(a, b)",
        {"a": (3, 4), "b": (4, 5)},
        torch=lambda a, b: a @ b,
    ),
    Case(
        "matmul-batch",
        "y = MatMul(a, b)",
        {"a": (2, 3, 4), "b": (2, 4, 5)},
        torch=lambda a, b: a @ b,
    ),
    Case(
        "matmul-broadcast",
        "y = MatMul(a, b)",
        {"a": (2, 1, 3, 4), "b": (5, 4, 2)},
        torch=lambda a, b: a @ b,
    ),
    Case(
        "matmul-weight",
        "y = MatMul(a, b)",
        {"a": (2, 3, 4), "b": (4, 5)},
        torch=lambda a, b: a @ b,
    ),
    Case(
        "matmul-vector-left",
        "y = MatMul(a, b)",
        {"a": (4,), "b": (2, 4, 5)},
        torch=lambda a, b: a @ b,
    ),
    Case(
        "matmul-vector-right",
        "y = MatMul(a, b)",
        {"a": (2, 3, 4), "b": (4,)},
        torch=lambda a, b: a @ b,
    ),
    Case(
        "matmul-vectors",
        "y = MatMul(a, b)",
        {"a": (4,), "b": (4,)},
        torch=lambda a, b: a @ b,
    ),
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
