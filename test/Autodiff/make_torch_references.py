# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes torch/<family>.npz: the gradients of all cases by torch.autograd.

usage: python make_torch_references.py [FAMILY ...]

Needs torch beside scripts/requirements-test.txt; the tests themselves read
what it has written. Repeat it for a family whose cases have changed.
"""

import sys

import numpy as np

import rules


def main():
    (rules.HERE / "torch").mkdir(exist_ok=True)
    for family in sys.argv[1:] or rules.families():
        arrays = {}
        for case in rules.cases_of(family):
            if case.torch is not None:
                for name, value in rules.torch_gradients(case).items():
                    arrays[f"{case.name}:{name}"] = value
        np.savez_compressed(rules.HERE / "torch" / f"{family}.npz", **arrays)
        print(family, len(arrays))


if __name__ == "__main__":
    main()
