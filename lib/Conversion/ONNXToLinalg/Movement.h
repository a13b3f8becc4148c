//===- Movement.h - Tensors made of parts of others -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CONVERSION_MOVEMENT_H
#define MPOPT_LIB_CONVERSION_MOVEMENT_H

#include "NodeLowering.h"

namespace mp {

/// Inserts `source` into `dest` at `offsets`. Leading axes of `dest` that
/// `source` lacks have size 1 in the slice; so does axis `dropped`, if it is
/// given.
mlir::Value insertSlice(Emitter &e, TensorValue source, mlir::Value dest,
                        llvm::ArrayRef<Size> offsets, int64_t dropped = -1);

/// The part of `tensor` at `index` of `axis`, without that axis.
TensorValue takeAt(Emitter &e, TensorValue tensor, int64_t axis, Size index);

/// Splits `tensor`, which has these sizes, along `axis` into parts of these
/// lengths.
llvm::SmallVector<TensorValue> takeParts(Emitter &e, TensorValue tensor,
                                         Sizes sizes, int64_t axis,
                                         llvm::ArrayRef<Size> lengths);

/// Concatenates the operands. If their other sizes do not agree, the node
/// fails.
mlir::FailureOr<TensorValue> concatenate(NodeLowering &node,
                                         llvm::ArrayRef<TensorValue> operands,
                                         int64_t axis);

/// The first `count` of `tensor`'s axis 0.
TensorValue takeFirst(Emitter &e, TensorValue tensor, Size count);

/// Casts `value` to `type`, which may have more unknown sizes.
mlir::Value castTo(Emitter &e, mlir::Value value, mlir::Type type);

/// Checks that two sizes are equal, now or at run time. %0 and %1 in `text` are
/// replaced by them.
mlir::LogicalResult checkEqual(NodeLowering &node, Size found, Size expected,
                               const llvm::Twine &text);

/// Checks the sizes of the parts of an axis, now or at run time: none may be
/// negative, and they must add up to `extent`.
mlir::LogicalResult checkParts(NodeLowering &node, llvm::ArrayRef<Size> parts,
                               Size extent);

/// The element of a tensor or operand, which must have exactly one.
mlir::FailureOr<mlir::Value> loadOne(NodeLowering &node, TensorValue tensor,
                                     const llvm::Twine &what);
mlir::FailureOr<mlir::Value> loadScalar(NodeLowering &node, unsigned operand);

/// The axes that an attribute lists, or an operand in newer opsets; all `count`
/// axes if neither is given. Constant axes are checked and made non-negative.
mlir::FailureOr<Sizes> getAxisList(NodeLowering &node, llvm::StringRef name,
                                   unsigned operand, unsigned count,
                                   int64_t rank);

/// Spreads `values`, one per entry of `axes`, to one per axis of a tensor; axes
/// that are not listed get the value in `others`.
Sizes spreadOverAxes(Emitter &e, llvm::ArrayRef<Size> axes,
                     llvm::ArrayRef<Size> values, llvm::ArrayRef<Size> others);

/// One i1 for each axis of a tensor: true if `axes` contains it.
llvm::SmallVector<mlir::Value>
getAxisFlags(Emitter &e, llvm::ArrayRef<Size> axes, int64_t rank);

/// `tensor` without the flagged axes. Checks that there are `count` of them,
/// and that their sizes are 1.
TensorValue dropFlagged(Emitter &e, TensorValue tensor,
                        llvm::ArrayRef<mlir::Value> flags, unsigned count);

/// Each element from its indices and the element of `input` that `map` (from
/// the result's indices) leads to.
TensorValue generateFrom(
    Emitter &e, llvm::ArrayRef<Size> sizes, mlir::Type element,
    TensorValue input, mlir::AffineMap map,
    llvm::function_ref<mlir::Value(mlir::ValueRange, mlir::Value)> body);

/// `accumulator` with each element combined with that of `source`, in place.
mlir::Value
accumulate(Emitter &e, TensorValue source, TensorValue accumulator,
           llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

/// Maps indices in [-limit, limit) to int64 in [0, limit); others are errors.
TensorValue normalizeIndices(Emitter &e, TensorValue indices, Size limit);

/// Emits an error at run time if there are indices into an axis of size 0.
void checkIndexable(Emitter &e, Size limit, Size indexCount);

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_MOVEMENT_H
