# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mixed precision for ONNX models: convert, train, compile, run.

>>> import mp_opt
>>> mp_opt.convert("model.onnx", "bf16", output="model.bf16.onnx")  # doctest: +SKIP
'model.bf16.onnx'

Arguments have the names of the programs' flags. What cannot be done is an
``mp_opt.Error``, with messages that name the file, node and attribute; what is
worth a look is a warning, ``mp_opt.ModelWarning``.
"""

import atexit as _atexit

from . import _mp_opt
from ._arrays import Value
from ._attribution import (
    Attribution,
    NodeError,
    Tuning,
    TuningPoint,
    attribute,
    tune,
)
from ._calibrate import calibrate
from ._convert import (
    convert,
    diff,
    explain,
    overlay,
    policy,
    report,
    summary,
    train_step,
    verify,
)
from ._errors import (
    DeviceError,
    Diagnostic,
    Error,
    InternalError,
    ModelWarning,
    NotSupportedError,
    UsageError,
)
from ._flags import flags
from ._ranges import Range, Ranges
from ._reports import Diff, Explanation, Report, Summary, Verification
from ._run import Program, TrainingStep, compile, num_threads, set_num_threads

__version__ = _mp_opt.version().split()[0]
# Calls of other threads, and calls that Ctrl-C has abandoned, end before the
# interpreter does.
_atexit.register(_mp_opt.close)

__all__ = [
    "Attribution",
    "DeviceError",
    "Diagnostic",
    "Diff",
    "Error",
    "Explanation",
    "InternalError",
    "ModelWarning",
    "NodeError",
    "NotSupportedError",
    "Program",
    "Range",
    "Ranges",
    "Report",
    "Summary",
    "TrainingStep",
    "Tuning",
    "TuningPoint",
    "UsageError",
    "Value",
    "Verification",
    "attribute",
    "calibrate",
    "compile",
    "convert",
    "diff",
    "explain",
    "flags",
    "num_threads",
    "overlay",
    "policy",
    "report",
    "set_num_threads",
    "summary",
    "train_step",
    "tune",
    "verify",
]
