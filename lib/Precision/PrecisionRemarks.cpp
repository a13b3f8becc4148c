//===- PrecisionRemarks.cpp - Why a node has its precision ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/PrecisionRemarks.h"

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using remark::detail::Remark;

namespace mp {

static void emitRemark(Operation *op, StringRef what, RemarkOutcome outcome,
                       StringRef to, StringRef reason) {
  auto emit = outcome == RemarkOutcome::Passed   ? remark::passed
              : outcome == RemarkOutcome::Missed ? remark::missed
                                                 : remark::analysis;
  auto options = remark::RemarkOpts::name("precision").category("mp-precision");
  auto remark = emit(op->getLoc(), options);
  if (!remark)
    return;
  remark << Remark::Arg(what, onnxir::describe(op))
         << Remark::Arg("From", "f32") << Remark::Arg("To", to)
         << Remark::Arg("Reason", reason);
}

void emitPrecisionRemark(Operation *node, RemarkOutcome outcome, StringRef to,
                         StringRef reason) {
  emitRemark(node, "Node", outcome, to, reason);
}

void emitConstantRemark(Operation *constant, RemarkOutcome outcome,
                        StringRef to, StringRef reason) {
  emitRemark(constant, "Constant", outcome, to, reason);
}

} // namespace mp
