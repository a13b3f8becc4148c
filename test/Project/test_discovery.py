# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ctest knows every test file of the test folder.

usage: test_discovery.py CTEST BUILD-FOLDER
"""

import json
import pathlib
import subprocess
import sys

TEST = pathlib.Path(__file__).resolve().parents[1]
NOT_LIT = {"Inputs", "Install", "Project", "models"}


def main():
    ctest, build = sys.argv[1:]
    listing = subprocess.run(
        [ctest, "--test-dir", build, "--show-only=json-v1"],
        stdout=subprocess.PIPE,
        check=True,
    )
    known = {test["name"] for test in json.loads(listing.stdout)["tests"]}
    expected = {
        path.relative_to(TEST).as_posix()
        for pattern in ("*.mlir", "*.onnxtxt", "*.test")
        for path in TEST.rglob(pattern)
        if not NOT_LIT & set(path.relative_to(TEST).parts)
    }
    for pattern in ("*/test_*.py", "Run/*/test_*.py"):
        for path in TEST.glob(pattern):
            expected.add(path.relative_to(TEST).as_posix())
    unknown = sorted(expected - known)
    for name in unknown:
        print(f"ctest does not know test/{name}")
    print(f"{len(expected)} test files, {len(unknown)} unknown to ctest")
    return 1 if unknown or not expected else 0


if __name__ == "__main__":
    sys.exit(main())
