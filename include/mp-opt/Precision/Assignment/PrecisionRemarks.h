//===- PrecisionRemarks.h - Reasons for precisions --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ASSIGNMENT_PRECISIONREMARKS_H
#define MPOPT_PRECISION_ASSIGNMENT_PRECISIONREMARKS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <string>

namespace mp {

enum class RemarkOutcome {
  /// The node became 16 bit.
  Passed,
  /// The node is allowed 16 bit, but stays fp32.
  Missed,
  /// The node stays fp32, as intended.
  Analysis,
};

/// Emits a remark of category `mp-precision` at `node`, with the arguments
/// Node, From, To, Reason and Bytes (of its results in precision `to`). Reasons
/// with the same text are one Reason. The `values` of this reason
/// (#mp.precision) are separate arguments: a Cost for each number, a Name for
/// each name. Costs nothing if remarks are off.
void emitPrecisionRemark(mlir::Operation *node, RemarkOutcome outcome,
                         llvm::StringRef to, llvm::StringRef reason,
                         mlir::ArrayAttr values = {});

/// The same for a constant: how its elements changed in the conversion.
void emitConstantRemark(mlir::Operation *constant, RemarkOutcome outcome,
                        llvm::StringRef to, llvm::StringRef reason);

/// The same for an inserted cast: Value, From, To, Reason and Bytes (read and
/// written).
void emitCastRemark(mlir::Operation *cast);

/// Describes the users of a cast: `wanted by node 'a' (Softmax-13) and 2 more`.
std::string describeCastUsers(mlir::Operation *cast);

} // namespace mp

#endif // MPOPT_PRECISION_ASSIGNMENT_PRECISIONREMARKS_H
