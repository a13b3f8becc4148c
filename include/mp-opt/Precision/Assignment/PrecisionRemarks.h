//===- PrecisionRemarks.h - Why a node has its precision --------*- C++ -*-===//
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
  /// The node stays fp32, as it should.
  Analysis,
};

/// Emits a remark of category `mp-precision` at `node`, with the arguments
/// Node, From, To, Reason and Bytes (of its results in precision `to`). Reasons
/// of one text are one Reason; the `values` of this one (#mp.precision) are
/// arguments of their own: a Cost for each number, a Name for each name. Costs
/// nothing if remarks are off.
void emitPrecisionRemark(mlir::Operation *node, RemarkOutcome outcome,
                         llvm::StringRef to, llvm::StringRef reason,
                         mlir::ArrayAttr values = {});

/// The same at a constant: what of its elements became of the conversion.
void emitConstantRemark(mlir::Operation *constant, RemarkOutcome outcome,
                        llvm::StringRef to, llvm::StringRef reason);

/// The same for an inserted cast: Value, From, To, Reason and Bytes (read and
/// written).
void emitCastRemark(mlir::Operation *cast);

/// `wanted by node 'a' (Softmax-13) and 2 more`: the users of a cast.
std::string describeCastUsers(mlir::Operation *cast);

} // namespace mp

#endif // MPOPT_PRECISION_ASSIGNMENT_PRECISIONREMARKS_H
