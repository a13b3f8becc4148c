# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that mean nothing, by what is wrong with them.

Each is a good model in ONNX's text form with one thing wrong, in the text or,
where the text cannot say it, by an edit of the protobuf message. Beside it
stands where its error is to be: parts of the message.
"""

from . import attributes, operands, operators, tensors, training, values
from .cases import CASES, make
from .control_flow import branch, branches
from .functions import function
