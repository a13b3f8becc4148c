//===- LongReductions.cpp - Sums too long for 16 bit ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/LongReductions.h"

#include "OpKinds.h"
#include "mp-opt/Precision/FloatSignature.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

/// Where the number of accumulated elements comes from.
enum class Extent : uint8_t {
  /// The axes that a reduction reduces.
  Axes,
  /// The one axis that operand 1 names.
  Axis,
  /// All dimensions but the first two.
  Space,
  /// The attribute `kernel_shape`.
  Window,
  /// The operands.
  Operands,
  /// How often an index may occur: indices, or their tuples, in operand 1.
  Indices,
  IndexTuples,
};

struct Accumulation {
  llvm::StringLiteral name;
  Extent extent;
};

} // namespace

static constexpr Accumulation accumulations[] = {
    {"AveragePool", Extent::Window},
    {"CumProd", Extent::Axis},
    {"CumSum", Extent::Axis},
    {"GlobalAveragePool", Extent::Space},
    {"GlobalLpPool", Extent::Space},
    {"LpPool", Extent::Window},
    {"Mean", Extent::Operands},
    {"ReduceL1", Extent::Axes},
    {"ReduceL2", Extent::Axes},
    {"ReduceLogSum", Extent::Axes},
    {"ReduceLogSumExp", Extent::Axes},
    {"ReduceMean", Extent::Axes},
    {"ReduceProd", Extent::Axes},
    {"ReduceSum", Extent::Axes},
    {"ReduceSumSquare", Extent::Axes},
    {"ReduceSumTraining", Extent::Axes},
    {"ScatterElements", Extent::Indices},
    {"ScatterND", Extent::IndexTuples},
    {"Sum", Extent::Operands},
};

/// Unknown, or too many to matter how many.
static constexpr int64_t unknown = -1;

static std::optional<Extent> findExtent(Operation *op) {
  StringRef domain = getDomain(op), opType = getOpType(op);
  bool isKnown = domain.empty() ||
                 (domain == "com.microsoft" && opType.starts_with("Red"));
  if (isa<CustomOp>(op) || !isKnown)
    return std::nullopt;
  for (const Accumulation &entry : accumulations)
    if (entry.name == opType)
      return entry.extent;
  return std::nullopt;
}

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

/// How many updates may meet at one place.
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

/// The number of elements that one element of the result is made of.
static int64_t countElements(Operation *op, Extent extent) {
  Value operand = op->getOperand(0);
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  switch (extent) {
  case Extent::Axes: {
    auto axes = getReducedAxes(op);
    return axes ? multiply(operand, *axes) : unknown;
  }
  case Extent::Axis: {
    auto axis = op->getNumOperands() > 1 ? getIntegerConstant(op->getOperand(1))
                                         : std::nullopt;
    if (!axis || axis->size() != 1 || !type)
      return unknown;
    int64_t index = axis->front();
    return multiply(operand,
                    ArrayRef(index < 0 ? index + type.getRank() : index));
  }
  case Extent::Space: {
    int64_t count =
        type ? multiply(operand,
                        llvm::seq<int64_t>(std::min<int64_t>(2, type.getRank()),
                                           type.getRank()))
             : unknown;
    return count == unknown ? 1 : count;
  }
  case Extent::Window:
    return countInWindow(op);
  case Extent::Operands:
    return op->getNumOperands();
  case Extent::Indices:
    return countUpdates(op, false);
  case Extent::IndexTuples:
    return countUpdates(op, true);
  }
  return unknown;
}

std::vector<LongReduction> findLongReductions(Operation *scope,
                                              ElementKind low) {
  int64_t limit = low == ElementKind::Float16 ? 2048 : 256;
  StringRef lowName = low == ElementKind::Float16 ? "fp16" : "bf16";
  llvm::DenseMap<const void *, std::optional<Extent>> extents;
  std::vector<LongReduction> found;
  scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isNode(op) || op->getNumOperands() == 0 ||
        !isF32Tensor(op->getOperand(0).getType()))
      return;
    auto [it, isNew] = extents.try_emplace(op->getName().getAsOpaquePointer());
    if (isNew)
      it->second = findExtent(op);
    if (!it->second)
      return;
    int64_t count = countElements(op, *it->second);
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
