//===- LongReductions.cpp - Sums too long for 16 bit ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Analysis/LongReductions.h"

#include "SmallConstants.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// An unknown number, or one that overflows.
static constexpr int64_t unknown = -1;

/// The product of the dimensions of `value` at `axes`.
template <typename Range>
static int64_t multiply(Value value, const Range &axes) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  int64_t product = 1;
  for (int64_t axis : axes) {
    if (!type || axis < 0 || axis >= type.getRank() ||
        type.isDynamicDim(axis) ||
        llvm::MulOverflow(product, type.getDimSize(axis), product))
      return unknown;
  }
  return product;
}

static int64_t countInWindow(Operation *op) {
  auto window = op->getAttrOfType<DenseI64ArrayAttr>("kernel_shape");
  int64_t product = 1;
  for (int64_t extent : window ? window.asArrayRef() : ArrayRef<int64_t>())
    if (llvm::MulOverflow(product, extent, product))
      return INT64_MAX;
  return product;
}

/// The number of updates that may be added to one element.
static int64_t countUpdates(Operation *op, bool asTuples) {
  auto how = op->getAttrOfType<StringAttr>("reduction");
  if (!how || (how.getValue() != "add" && how.getValue() != "mul"))
    return 1;
  Value indices = op->getOperand(1);
  auto type = dyn_cast<RankedTensorType>(indices.getType());
  if (!type)
    return unknown;
  // Elements meet along one axis, tuples in any place.
  if (asTuples)
    return multiply(indices, llvm::seq<int64_t>(0, type.getRank() - 1));
  auto axis = op->getAttrOfType<IntegerAttr>("axis");
  int64_t index = axis ? axis.getInt() : 0;
  return multiply(indices,
                  ArrayRef(index < 0 ? index + type.getRank() : index));
}

/// The number of elements that are added into one element of the result.
static int64_t countElements(Operation *op, AccumulationExtent extent) {
  Value operand = op->getOperand(0);
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  switch (extent) {
  case AccumulationExtent::None:
    return 1;
  case AccumulationExtent::Axes: {
    auto axes = getReducedAxes(op);
    return axes ? multiply(operand, *axes) : unknown;
  }
  case AccumulationExtent::Axis: {
    auto axis = op->getNumOperands() > 1 ? getIntegerConstant(op->getOperand(1))
                                         : std::nullopt;
    if (!axis || axis->size() != 1 || !type)
      return unknown;
    int64_t index = axis->front();
    return multiply(operand,
                    ArrayRef(index < 0 ? index + type.getRank() : index));
  }
  case AccumulationExtent::Space: {
    int64_t count =
        type ? multiply(operand,
                        llvm::seq<int64_t>(std::min<int64_t>(2, type.getRank()),
                                           type.getRank()))
             : unknown;
    return count == unknown ? 1 : count;
  }
  case AccumulationExtent::Window:
    return countInWindow(op);
  case AccumulationExtent::Operands:
    return op->getNumOperands();
  case AccumulationExtent::Indices:
    return countUpdates(op, false);
  case AccumulationExtent::IndexTuples:
    return countUpdates(op, true);
  }
  return unknown;
}

std::vector<LongReduction> findLongReductions(Operation *scope,
                                              ElementKind low) {
  int64_t limit = low == ElementKind::Float16 ? 2048 : 256;
  StringRef lowName = low == ElementKind::Float16 ? "fp16" : "bf16";
  OperatorTraitsCache traits;
  std::vector<LongReduction> found;
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isNode(op) || op->getNumOperands() == 0 ||
        !isF32Tensor(op->getOperand(0).getType()))
      return;
    int64_t count = countElements(op, traits.lookup(op).accumulation);
    if (count != unknown && count <= limit)
      return;
    std::string what =
        count == unknown ? "an unknown number of" : std::to_string(count);
    found.push_back({op, "accumulates " + what + " elements, " + lowName.str() +
                             " counts to " + std::to_string(limit)});
  });
  return found;
}

} // namespace mp
