//===- ChannelAxes.h - Which axes are channels ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_LAYOUT_CHANNELAXES_H
#define MPOPT_LIB_CODEGEN_LAYOUT_CHANNELAXES_H

#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mp {

/// What a convolution on tensors is made of, and the gradient of its image.
struct ConvolutionParts {
  /// The operands, a (0) or b (1).
  unsigned image, weights;
  /// Of the dimensions: those of channels, in the image or in the result, the
  /// others of the result, and the taps.
  llvm::SmallBitVector channels, pixels, taps;

  /// Absent if it is something else.
  static std::optional<ConvolutionParts> find(kernel::ContractOp op);
};

/// An order of a tensor's axes in memory: the i-th is `order[i]`.
using AxisOrder = llvm::SmallVector<int64_t>;

/// The type's axes in another order.
mlir::RankedTensorType permute(mlir::RankedTensorType type,
                               llvm::ArrayRef<int64_t> order);

/// The axes of `order` that are not known to have size one.
AxisOrder dropUnits(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> order);

/// For each value of a block that belongs to convolutions, its axes in an order
/// in which channels are last. Where convolutions say what channels are, other
/// ops carry it on.
class ChannelAxes {
public:
  explicit ChannelAxes(mlir::Block &block);

  /// Null where the order is the value's own, or no channels are known.
  const AxisOrder *getOrder(mlir::Value value) const {
    auto found = orders.find(value);
    return found == orders.end() ? nullptr : &found->second;
  }
  /// The same, with the value's own order for others.
  AxisOrder getAnyOrder(mlir::Value value) const;
  /// Whether an op can run with channels last in all values that have them.
  bool isFlexible(mlir::Operation *op) const;

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

#endif // MPOPT_LIB_CODEGEN_LAYOUT_CHANNELAXES_H
