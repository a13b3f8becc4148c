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

/// `dest` with `source` at `offsets`. Leading axes of `dest` that `source` does
/// not have are of size 1 there; so is axis `dropped`, if it is given.
mlir::Value insertSlice(Emitter &e, TensorValue source, mlir::Value dest,
                        llvm::ArrayRef<Size> offsets, int64_t dropped = -1);

/// The part of `tensor` at `index` of `axis`, which it does not have.
TensorValue takeAt(Emitter &e, TensorValue tensor, int64_t axis, Size index);

/// The parts of these lengths that `tensor`, of these sizes, has along `axis`.
llvm::SmallVector<TensorValue> takeParts(Emitter &e, TensorValue tensor,
                                         Sizes sizes, int64_t axis,
                                         llvm::ArrayRef<Size> lengths);

/// The operands one behind the other; their other sizes agree, or the node
/// fails.
mlir::FailureOr<TensorValue> concatenate(NodeLowering &node,
                                         llvm::ArrayRef<TensorValue> operands,
                                         int64_t axis);

/// The first `count` of `tensor`'s axis 0.
TensorValue takeFirst(Emitter &e, TensorValue tensor, Size count);

/// `value` with unknown sizes wherever `type` has them.
mlir::Value castTo(Emitter &e, mlir::Value value, mlir::Type type);

/// Two sizes that must be equal: an error now or at run time. `text` has %0
/// and %1 for the two.
mlir::LogicalResult checkEqual(NodeLowering &node, Size found, Size expected,
                               const llvm::Twine &text);

/// Sizes of the parts of an axis: an error now or at run time where one is
/// negative or they do not add up to `extent`.
mlir::LogicalResult checkParts(NodeLowering &node, llvm::ArrayRef<Size> parts,
                               Size extent);

/// The element of a tensor or operand that has one, which is checked.
mlir::FailureOr<mlir::Value> loadOne(NodeLowering &node, TensorValue tensor,
                                     const llvm::Twine &what);
mlir::FailureOr<mlir::Value> loadScalar(NodeLowering &node, unsigned operand);

/// The axes that an attribute or, since it became one, operand lists, all of
/// `count` if there is none. Constants are checked and not negative.
mlir::FailureOr<Sizes> getAxisList(NodeLowering &node, llvm::StringRef name,
                                   unsigned operand, unsigned count,
                                   int64_t rank);

/// `values`, one for each of `axes`, as one for each axis of a tensor, which
/// has that of `others` if it is not listed.
Sizes spreadOverAxes(Emitter &e, llvm::ArrayRef<Size> axes,
                     llvm::ArrayRef<Size> values, llvm::ArrayRef<Size> others);

/// For each axis of a tensor whether `axes` has it, i1.
llvm::SmallVector<mlir::Value>
getAxisFlags(Emitter &e, llvm::ArrayRef<Size> axes, int64_t rank);

/// `tensor` without the flagged axes, of which there are `count`, of size 1:
/// both is checked.
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

/// Indices in [-limit, limit) as int64 in [0, limit); others are errors.
TensorValue normalizeIndices(Emitter &e, TensorValue indices, Size limit);

/// An error at run time if there are indices into an axis of size 0.
void checkIndexable(Emitter &e, Size limit, Size indexCount);

} // namespace mp

#endif // MPOPT_LIB_CONVERSION_MOVEMENT_H
