# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of readers share: running mp-run show."""

import json
import os
import pathlib

from support import ROOT, attempt

MP_RUN = os.path.abspath(
    os.environ.get("MP_RUN", ROOT / "build" / "bin" / "mp-run")
)
BAD_INPUT = 1


def mp_run(*arguments, **options):
    return attempt(*arguments, program=MP_RUN, errors="replace", **options)


def show(path):
    """What mp-run says of the tensors in a file, by their names."""
    done = mp_run("show", path, "--json")
    assert done.returncode == 0, done.stderr
    return {t["name"]: t for t in json.loads(done.stdout)}


def refuse(path, *texts):
    """The file is refused in one line that names it and has these texts."""
    done = mp_run("show", path)
    assert done.returncode == BAD_INPUT, done.stdout + done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    for text in (pathlib.Path(path).name, *texts):
        assert text in done.stderr
    return done.stderr
