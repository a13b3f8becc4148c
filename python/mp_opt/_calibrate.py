# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measuring a model's values on data."""

from __future__ import annotations

import os

from ._convert import _run
from ._data import data_paths
from ._flags import precision_flags
from ._ranges import Ranges


def calibrate(model, data, precision=None, *, name=None, **flags) -> Ranges:
    """The ranges of a model's values in fp32 runs on data.

    ``data`` is a path or a list of paths as for ``mp-opt --calibrate``, a
    mapping of arrays by the names of inputs (a batch, batches or rows), or a
    list of such mappings, each a batch. Further arguments are those of
    ``convert``; with ``train=True`` and ``loss``, the step is measured.

    ``convert(model, ranges=calibrate(model, data))`` decides by them.
    """
    import tempfile

    with tempfile.TemporaryDirectory(prefix="mp_opt-") as folder:
        path = os.path.join(folder, "ranges.json")
        arguments = precision_flags(precision, flags) | {
            "calibrate": data_paths(data, folder, "calibrate"), "ranges": path,
        }  # fmt: skip
        _run(model, arguments, name=name)
        return Ranges.load(path)
