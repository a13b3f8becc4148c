# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception


def einsum(name, equation, *shapes, **kwargs):
    names = "abc"[: len(shapes)]
    body = f'y = Einsum<equation="{equation}">({", ".join(names)})'
    return Case(
        name,
        body,
        dict(zip(names, shapes)),
        torch=lambda *x: torch.einsum(equation, *x),
        **kwargs,
    )


CASES = [
    einsum("matmul", "ij,jk->ik", (2, 3), (3, 4)),
    einsum("spaces", " i j , j k -> i k ", (2, 3), (3, 4)),
    einsum("batch", "bhid,bhjd->bhij", (2, 2, 3, 4), (2, 2, 5, 4)),
    einsum("implicit", "kj,ik", (2, 3), (4, 2)),
    einsum("transpose", "ijk->kij", (2, 3, 4)),
    einsum("implicit-transpose", "ba", (2, 3)),
    einsum("sum", "ij->", (2, 3)),
    einsum("sum-axis", "ij->j", (2, 3)),
    einsum("outer", "i,j->ij", (2,), (3,)),
    einsum("dot", "i,i->", (3,), (3,)),
    einsum("three", "ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    einsum("three-shared", "bi,bj,bk->bijk", (2, 3), (2, 2), (2, 4)),
    einsum("own-letter", "ijk,j->i", (2, 3, 4), (3,)),
    einsum("capitals", "iI,Ij->ij", (2, 3), (3, 2)),
    einsum("trace", "ii->", (3, 3)),
    einsum("diagonal", "ii->i", (3, 3)),
    einsum("diagonal-batch", "bii->bi", (2, 3, 3)),
    einsum("diagonal-times", "ijij,jk->ik", (2, 3, 2, 3), (3, 2)),
    einsum("diagonal-thrice", "iii->i", (2, 2, 2)),
    einsum("broadcast-letter", "ij,jk->ik", (2, 1), (3, 4)),
    einsum("broadcast-other", "ij,jk->ik", (2, 3), (1, 4)),
    einsum("broadcast-result", "ij,ij->ij", (2, 3), (2, 1)),
    einsum("ellipsis", "...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)),
    einsum(
        "ellipsis-broadcast",
        "...ij,...jk->...ik",
        (2, 1, 3, 4),
        (1, 5, 4, 2),
    ),
    einsum("ellipsis-absent", "...ij,jk->...ik", (2, 3, 4), (4, 5)),
    einsum("ellipsis-implicit", "...ij,...jk", (2, 3, 4), (2, 4, 5)),
    einsum("ellipsis-middle", "i...j,j...->i...", (2, 3, 4), (4, 3)),
    einsum("ellipsis-last", "ij...,j...->i...", (2, 3, 2, 2), (3, 1, 2)),
    einsum("ellipsis-diagonal", "...ii->...i", (2, 3, 3)),
    einsum("ellipsis-diagonal-first", "ii...->i...", (3, 3, 2)),
]

CASES += [
    Case(
        f"fused-{name}",
        f"y = com.microsoft.FusedMatMul<{attributes}>(a, b)",
        {"a": a, "b": b},
        forward=f"m = {forward} s = Constant<value=double {{{alpha}}}>() "
        "y = Mul(m, s)",
        torch=f,
    )
    for name, attributes, alpha, a, b, forward, f in [
        (
            "plain",
            "alpha=1.0",
            1.0,
            (2, 3),
            (3, 4),
            "MatMul(a, b)",
            lambda a, b: a @ b,
        ),
        (
            "both",
            "alpha=0.5, transA=1, transB=1",
            0.5,
            (2, 4, 3),
            (5, 4),
            'Einsum<equation="bji,kj->bik">(a, b)',
            lambda a, b: 0.5 * a.mT @ b.mT,
        ),
        (
            "left",
            "alpha=0.25, transA=1",
            0.25,
            (2, 4, 3),
            (1, 4, 5),
            'Einsum<equation="bji,cjk->bik">(a, b)',
            lambda a, b: 0.25 * a.mT @ b,
        ),
        (
            "right",
            "transB=1",
            1.0,
            (3, 1, 2, 4),
            (2, 5, 4),
            'Einsum<equation="baij,akj->baik">(a, b)',
            lambda a, b: a @ b.mT,
        ),
        (
            "batch-left",
            "alpha=0.5, transBatchA=1",
            0.5,
            (3, 2, 4),
            (2, 4, 5),
            'Einsum<equation="ibj,bjk->bik">(a, b)',
            lambda a, b: 0.5 * a.permute(1, 0, 2) @ b,
        ),
        (
            "batch-both",
            "transBatchA=1, transA=1, transBatchB=1, transB=1",
            1.0,
            (4, 2, 2, 3),
            (5, 2, 2, 4),
            'Einsum<equation="jbci,kbcj->bcik">(a, b)',
            lambda a, b: a.permute(1, 2, 3, 0) @ b.permute(1, 2, 3, 0),
        ),
    ]
]
