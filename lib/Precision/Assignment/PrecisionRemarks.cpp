//===- PrecisionRemarks.cpp - Reasons for precisions ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Assignment/PrecisionRemarks.h"

#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"
#include "mp-opt/Precision/Assignment/ByteCount.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mp::onnxir;
using remark::detail::Remark;

namespace mp {

/// The bytes of a node's results if the float ones among them are `to`.
static uint64_t countResultBytes(Operation *node, StringRef to) {
  uint64_t bytes = 0;
  for (Type type : node->getResultTypes()) {
    Type element = onnxir::getTensorElementType(type);
    Builder builder(node->getContext());
    if (isF32Tensor(type) || is16BitTensor(type))
      element = to == "f32"    ? Type(builder.getF32Type())
                : to == "bf16" ? Type(builder.getBF16Type())
                               : Type(builder.getF16Type());
    bytes = llvm::SaturatingAdd(bytes, countBytes(type, element).bytes);
  }
  return bytes;
}

static void emitRemark(Operation *op, StringRef what, RemarkOutcome outcome,
                       StringRef to, StringRef reason, ArrayAttr values = {}) {
  auto emit = outcome == RemarkOutcome::Passed   ? remark::passed
              : outcome == RemarkOutcome::Missed ? remark::missed
                                                 : remark::analysis;
  auto options = remark::RemarkOpts::name("precision").category("mp-precision");
  auto remark = emit(op->getLoc(), options);
  if (!remark)
    return;
  remark << Remark::Arg(what, onnxir::describe(op))
         << Remark::Arg("From", "f32") << Remark::Arg("To", to)
         << Remark::Arg("Reason", describeReasonGroup(reason, values))
         << Remark::Arg("Bytes", countResultBytes(op, to));
  for (Attribute value : values ? values.getValue() : ArrayRef<Attribute>())
    if (auto name = dyn_cast<StringAttr>(value))
      remark << Remark::Arg("Name", name.getValue());
    else
      remark << Remark::Arg("Cost", cast<IntegerAttr>(value).getInt());
}

std::string describeCastUsers(Operation *cast) {
  Operation *first = nullptr;
  size_t others = 0;
  // Uses are listed from last to first, which is the same in every run.
  for (Operation *user : cast->getResult(0).getUsers()) {
    others += first != nullptr;
    first = user;
  }
  if (!first)
    return "unused";
  std::string text = isa<onnxir::YieldOp>(first)
                         ? "wanted by an output of the graph"
                         : "wanted by " + onnxir::describe(first);
  return others ? text + " and " + std::to_string(others) + " more" : text;
}

void emitCastRemark(Operation *cast) {
  auto options = remark::RemarkOpts::name("cast").category("mp-precision");
  auto remark = remark::analysis(cast->getLoc(), options);
  if (!remark)
    return;
  Value from = cast->getOperand(0), to = cast->getResult(0);
  auto getName = [](Value value) {
    return getPrecisionName(onnxir::getTensorElementType(value.getType()));
  };
  uint64_t bytes = llvm::SaturatingAdd(countBytes(from.getType()).bytes,
                                       countBytes(to.getType()).bytes);
  remark << Remark::Arg("Value", onnxir::getValueName(from))
         << Remark::Arg("From", getName(from)) << Remark::Arg("To", getName(to))
         << Remark::Arg("Reason", describeCastUsers(cast))
         << Remark::Arg("Bytes", bytes);
}

void emitPrecisionRemark(Operation *node, RemarkOutcome outcome, StringRef to,
                         StringRef reason, ArrayAttr values) {
  emitRemark(node, "Node", outcome, to, reason, values);
}

void emitConstantRemark(Operation *constant, RemarkOutcome outcome,
                        StringRef to, StringRef reason) {
  emitRemark(constant, "Constant", outcome, to, reason);
}

} // namespace mp
