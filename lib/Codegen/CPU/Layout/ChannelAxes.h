//===- ChannelAxes.h - Which axes are channels ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_CPU_LAYOUT_CHANNELAXES_H
#define MPOPT_LIB_CODEGEN_CPU_LAYOUT_CHANNELAXES_H

#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mp {

/// The parts of a convolution on tensors, of the gradient of its image, or of
/// that of its weights.
struct ConvolutionParts {
  /// The operands, a (0) or b (1): the one that is read by windows, and the
  /// weights, or the gradient of the result.
  unsigned image, other;
  /// True if the result is the gradient of the weights.
  bool isWeightGradient = false;
  /// The dimensions of channels; all others are pixels, filter positions or
  /// images.
  llvm::SmallBitVector channels;

  /// Absent if it is something else.
  static std::optional<ConvolutionParts> find(kernel::ContractOp op);
  /// True if an operand, or the result for the last of them, is an image;
  /// otherwise it is weights, whose axes stay.
  bool isImage(kernel::ContractOp op, unsigned operand) const;
};

/// An order of a tensor's axes in memory: the i-th is `order[i]`.
using AxisOrder = llvm::SmallVector<int64_t>;

/// The type's axes in another order.
mlir::RankedTensorType permute(mlir::RankedTensorType type,
                               llvm::ArrayRef<int64_t> order);

/// The axes of `order` that are not known to have size one.
AxisOrder dropUnits(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> order);

/// The axes of each value of a block that belongs to convolutions, in an order
/// in which channels are last. Convolutions define what channels are; other ops
/// propagate it.
class ChannelAxes {
public:
  explicit ChannelAxes(mlir::Block &block);

  /// Null if the order is the value's own, or if no channels are known.
  const AxisOrder *getOrder(mlir::Value value) const {
    auto found = orders.find(value);
    return found == orders.end() ? nullptr : &found->second;
  }
  /// The same, with the value's own order for others.
  AxisOrder getAnyOrder(mlir::Value value) const;
  /// True if an op can run with channels last in all values that have them.
  bool isFlexible(mlir::Operation *op) const;
  /// True if a flexible op reads a value in that order: false for weights.
  static bool isImage(mlir::OpOperand &use);

private:
  using Flags = llvm::SmallBitVector;
  void visit(mlir::Operation *op);
  void visitMaps(llvm::ArrayRef<mlir::Value> values,
                 llvm::ArrayRef<mlir::AffineMap> maps, Flags channels,
                 Flags others);
  void visitReshape(mlir::Value joined, mlir::Value divided,
                    llvm::ArrayRef<mlir::ReassociationIndices> groups);
  void set(mlir::Value value, const Flags &channels);
  bool keepsOrder(mlir::Value joined, mlir::Value divided,
                  llvm::ArrayRef<mlir::ReassociationIndices> groups) const;

  mlir::Block &block;
  llvm::DenseMap<mlir::Value, Flags> channels;
  llvm::DenseMap<mlir::Value, AxisOrder> orders;
  llvm::SmallVector<mlir::Operation *> worklist;
};

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_CPU_LAYOUT_CHANNELAXES_H
