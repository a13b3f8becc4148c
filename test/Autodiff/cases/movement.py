# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception


def ints(name, *values):
    return f"{name} = Constant<value_ints={list(values)}>() "


# Other shapes.
CASES = [
    Case(
        name, body + " y = Mul(s, s)", {"a": shape},
        torch=lambda a, f=f: f(a) ** 2,
    )
    for name, body, shape, f in [
        ("reshape", ints("n", 6, 4) + "s = Reshape(a, n)", (2, 3, 4),
         lambda a: a.reshape(6, 4)),
        ("reshape-zero", ints("n", 0, -1) + "s = Reshape(a, n)", (2, 3, 4),
         lambda a: a.reshape(2, -1)),
        ("reshape-scalar",
         "n = Constant<value=int64[0] {}>() s = Reshape(a, n)", (1, 1),
         lambda a: a.reshape(())),
        ("flatten", "s = Flatten(a)", (2, 3, 4), lambda a: a.flatten(1)),
        ("flatten-axis", "s = Flatten<axis=-1>(a)", (2, 3, 4),
         lambda a: a.flatten(0, 1)),
        ("flatten-zero", "s = Flatten<axis=0>(a)", (2, 3),
         lambda a: a.reshape(1, -1)),
        ("squeeze", ints("x", 0, -1) + "s = Squeeze(a, x)", (1, 3, 1),
         lambda a: a.reshape(3)),
        ("squeeze-all", "s = Squeeze(a)", (1, 3, 1, 2),
         lambda a: a.reshape(3, 2)),
        ("unsqueeze", ints("x", 0, -1) + "s = Unsqueeze(a, x)", (3, 2),
         lambda a: a.reshape(1, 3, 2, 1)),
        ("transpose", "s = Transpose<perm=[2, 0, 1]>(a)", (2, 3, 4),
         lambda a: a.permute(2, 0, 1)),
        ("transpose-default", "s = Transpose(a)", (2, 3, 4),
         lambda a: a.permute(2, 1, 0)),
        ("expand", ints("n", 2, 3, 4) + "s = Expand(a, n)", (3, 1),
         lambda a: a.expand(2, 3, 4)),
        ("expand-smaller", ints("n", 1, 1) + "s = Expand(a, n)", (3, 4),
         lambda a: a),
        ("tile", ints("n", 2, 1, 3) + "s = Tile(a, n)", (2, 3, 2),
         lambda a: a.repeat(2, 1, 3)),
        ("depth-to-space", "s = DepthToSpace<blocksize=2>(a)", (2, 8, 2, 3),
         lambda a: a.reshape(2, 2, 2, 2, 2, 3)
         .permute(0, 3, 4, 1, 5, 2).reshape(2, 2, 4, 6)),
        ("depth-to-space-columns",
         'd = DepthToSpace<blocksize=2, mode="CRD">(a) s = Mul(d, d)',
         (2, 8, 2, 3), lambda a: torch.nn.functional.pixel_shuffle(a, 2) ** 2),
        ("space-to-depth", "s = SpaceToDepth<blocksize=2>(a)", (2, 1, 4, 6),
         lambda a: torch.nn.functional.pixel_unshuffle(a, 2)),
        ("trilu-upper", "s = Trilu(a)", (2, 3, 4), lambda a: a.triu()),
        ("trilu-lower",
         "k = Constant<value=int64 {-1}>() s = Trilu<upper=0>(a, k)", (3, 4),
         lambda a: a.tril(-1)),
        ("center-crop-pad", ints("n", 3, 6) + "s = CenterCropPad(a, n)", (6, 3),
         lambda a: torch.nn.functional.pad(a[1:4], (1, 2))),
        ("center-crop-pad-axes",
         ints("n", 5, 1) + "s = CenterCropPad<axes=[-1, 0]>(a, n)", (4, 2, 2),
         lambda a: torch.nn.functional.pad(a[1:2], (1, 2))),
        ("reverse-sequence", ints("n", 3, 1) + "s = ReverseSequence(a, n)",
         (4, 2, 2),
         lambda a: torch.stack(
             [torch.cat([a[:3, 0].flip(0), a[3:, 0]]), a[:, 1]], 1)),
        ("reverse-sequence-batch-first",
         ints("n", 3, 4) + "s = ReverseSequence<batch_axis=0, time_axis=1>(a, n)",
         (2, 4),
         lambda a: torch.stack(
             [torch.cat([a[0, :3].flip(0), a[0, 3:]]), a[1].flip(0)])),
    ]
]

# Parts and wholes.
CASES += [
    *[
        Case(
            f"concat-{name}" if name else "concat",
            f"s = Concat<axis={axis}>({operands}) y = Mul(s, s)", inputs, wrt=wrt,
            torch=lambda *x, f=f: f(*x) ** 2,
        )
        for name, axis, operands, inputs, wrt, f in [
            ("", 1, "a, b, c", {"a": (2, 3), "b": (2, 1), "c": (2, 2)}, (),
             lambda *x: torch.cat(x, 1)),
            ("negative", -2, "a, b", {"a": (2, 3), "b": (1, 3)}, (),
             lambda *x: torch.cat(x, 0)),
            ("one", 0, "a", {"a": (2, 3)}, (), lambda a: a),
            ("twice", 0, "a, a", {"a": (2, 3)}, (), lambda a: torch.cat([a, a])),
            ("some", 0, "a, b", {"a": (2, 3), "b": (1, 3)}, ("b",),
             lambda *x: torch.cat(x)),
        ]
    ],
    Case(
        "split-sizes",
        ints("n", 1, 2) + "p, y = Split<axis=-1>(a, n)",
        {"a": (2, 3)},
        outputs=("p", "y"),
        torch=lambda a: tuple(x * 1 for x in a.split([1, 2], 1)),
    ),
    Case(
        "split-number",
        "p, y = Split<num_outputs=2>(a)",
        {"a": (5, 2)},
        outputs=("p", "y"),
        torch=lambda a: tuple(x * 1 for x in a.split([3, 2])),
    ),
    Case(
        "split-unused",
        "p, y, q = Split<num_outputs=3, axis=1>(a)",
        {"a": (2, 3)},
        torch=lambda a: a[:, 1:2],
    ),
]

# Slices: (starts, ends, axes, steps).
CASES += [
    Case(
        f"slice-{name}",
        "".join(ints(n, *v) for n, v in zip("uvwx", lists))
        + f"s = Slice(a, {', '.join('uvwx'[:len(lists)])}) y = Mul(s, s)",
        {"a": (4, 5)},
        torch=lambda a, f=f: f(a) ** 2,
    )
    for name, lists, f in [
        ("plain", ([1, 0], [3, 4]), lambda a: a[1:3, 0:4]),
        ("axes", ([1], [-1], [1]), lambda a: a[:, 1:-1]),
        ("negative-axis", ([-2], [100], [-2]), lambda a: a[-2:]),
        ("steps", ([0], [5], [1], [2]), lambda a: a[:, ::2]),
        ("ones", ([2], [5], [1], [1]), lambda a: a[:, 2:5]),
        (
            "backwards",
            ([-1, 3], [-100, 0], [0, 1], [-1, -2]),
            lambda a: a.flip(0)[:, [3, 1]],
        ),
        ("clamped", ([-100, 1], [2, 100], [0, 1]), lambda a: a[:2, 1:]),
    ]
] + [
    Case(
        "slice-computed",
        "y = Slice(a, u, v)",
        {"a": (4, 5), "u": np.array([1, 2]), "v": np.array([3, -1])},
        torch=lambda a, u, v: a[1:3, 2:-1],
    ),
    Case(
        "slice-int32",
        "y = Slice(a, u, v)",
        {
            "a": (4, 5),
            "u": np.array([1, 2], np.int32),
            "v": np.array([3, -1], np.int32),
        },
        torch=lambda a, u, v: a[1:3, 2:-1],
    ),
]
