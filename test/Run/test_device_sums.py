# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions on the emulated device, in one stage or two: each point counts
once. Sums of small integers are exact in any order."""

import numpy as np
import pytest

from runs import mp_run, write_model

EMULATED = "--device=emulated"

# Around the bounds of one block, of one warp, and of what is cut; sizes with
# and without divisors.
COLUMNS = [
    ((511, 33), (0,)),
    ((512, 32), (0,)),
    ((521, 31), (0,)),
    ((1009, 100), (0,)),
    ((2048, 64), (0,)),
    ((63, 40), (0,)),
    ((65, 40), (0,)),
    ((33, 70, 9), (0, 1)),
    ((3, 700, 33), (1,)),
    ((24, 5, 50, 7), (0, 2)),
    ((4097, 1), (0,)),
]
ROWS = [
    ((16383,), (0,)),
    ((16384,), (0,)),
    ((32771,), (0,)),
    ((3, 16411), (1,)),
    ((16, 5, 40, 41), (0, 2, 3)),
    ((2, 3, 131, 130), (2, 3)),
]
FUNCTIONS = {"ReduceSum": np.sum, "ReduceMax": np.max, "ReduceProd": np.prod}


def make_data(name, shape, generator):
    if name == "ReduceProd":
        # The product of a few twos and of signs.
        x = generator.choice([-1.0, 1.0], shape)
        x.flat[generator.choice(x.size, 8, replace=False)] *= 2
        return x.astype(np.float32)
    x = generator.integers(-8, 9, shape).astype(np.float32)
    return -np.abs(x) - 1 if name == "ReduceMax" else x


@pytest.mark.parametrize("name", FUNCTIONS)
def test_reductions(tmp_path, name):
    generator = np.random.default_rng(1)
    takes, gives, nodes, data, expected = [], [], [], {}, {}
    constants = []
    for number, (shape, axes) in enumerate(COLUMNS + ROWS):
        kept = [size for axis, size in enumerate(shape) if axis not in axes]
        takes.append(f"float{list(shape)} x{number}")
        gives.append(f"float{kept or ''} y{number}")
        axis_list = ", ".join(map(str, axes))
        constants.append(f"int64[{len(axes)}] a{number} = {{{axis_list}}}")
        nodes.append(f"y{number} = {name}<keepdims = 0>(x{number}, a{number})")
        x = make_data(name, shape, generator)
        data[f"x{number}"] = x
        expected[f"y{number}"] = FUNCTIONS[name](x.astype(np.float64), axis=axes)
    model = write_model(
        tmp_path,
        f"net ({', '.join(takes)}) => ({', '.join(gives)})\n"
        f"<{', '.join(constants)}>\n{{\n" + "\n".join(nodes) + "\n}\n",
    )
    np.savez(tmp_path / "in.npz", **data)
    path = tmp_path / "out.npz"
    mp_run("run", model, tmp_path / "in.npz", EMULATED, "-o", path)
    with np.load(path) as found:
        for key, value in expected.items():
            np.testing.assert_array_equal(found[key], value, err_msg=key)
