//===- FoldRules.h - Rules for known tensors --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_FOLDING_FOLDRULES_H
#define MPOPT_LIB_FOLDING_FOLDRULES_H

#include "mp-opt/Folding/KnownTensors.h"
#include "mp-opt/Operators/NodeView.h"

namespace mp {

/// Shapes have few elements, tables of indices somewhat more.
inline constexpr int64_t maxKnownElements = 1024;

/// Absent if nothing is known of the result.
using Folded = std::optional<KnownTensor>;

/// A rule's view of a node with integer operands.
class FoldedNode : public NodeView {
public:
  FoldedNode(const KnownTensors &known, mlir::Operation *node)
      : NodeView(node), known(known) {}

  const KnownTensor *in(unsigned index) const {
    return has(index) ? known.lookup(node->getOperand(index)) : nullptr;
  }
  /// The elements of an operand all of whose elements are known.
  std::optional<llvm::SmallVector<int64_t>> ints(unsigned index) const;
  mlir::Type outType() const { return node->getResult(0).getType(); }

private:
  const KnownTensors &known;
};

using FoldRule = Folded (*)(const FoldedNode &);

/// The rule for an operator of the default domain; null if there is none.
FoldRule findArithmeticFold(llvm::StringRef op);
FoldRule findMovementFold(llvm::StringRef op);

/// The number of elements; absent if there are more than `maxKnownElements`, or
/// a size is negative.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);
/// Broadcasts `tensor` to `shape`, which it must fit.
Folded broadcast(const KnownTensor &tensor, llvm::ArrayRef<int64_t> shape);

} // namespace mp

#endif // MPOPT_LIB_FOLDING_FOLDRULES_H
