//===- HazardAnalysis.h - Nodes that must not be 16 bit ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds nodes that need fp32 because of their data, which no list of operators
// can express. Such a node would hold a 16-bit value that is proved to
// overflow, that is made of a constant that overflows, or that guards a
// division or a logarithm against zero and would vanish. Only finite numbers
// count: infinities, NaNs and signs are the same in 16 bit.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ANALYSIS_HAZARDANALYSIS_H
#define MPOPT_PRECISION_ANALYSIS_HAZARDANALYSIS_H

#include "mp-opt/Precision/Analysis/FloatSignature.h"
#include "mp-opt/Precision/Analysis/RangeAnalysis.h"

namespace mp {

/// The reasons why nodes must stay fp32; a node keeps the first that is found.
class Hazards {
public:
  /// Keeps the first reason. The hazard of a node is cautious if all its
  /// reasons are (Dialect/MP/Attributes.h: addHazard).
  void add(mlir::Operation *node, std::string reason, bool isCautious = false) {
    bool isFirst = reasons.try_emplace(node, std::move(reason)).second;
    if (!isCautious)
      cautious.erase(node);
    else if (isFirst)
      cautious.insert(node);
  }
  bool isCautious(mlir::Operation *node) const {
    return cautious.contains(node);
  }
  /// Empty if no hazard prevents 16 bit.
  llvm::StringRef lookup(mlir::Operation *node) const {
    auto it = reasons.find(node);
    return it == reasons.end() ? llvm::StringRef() : it->second;
  }

private:
  llvm::DenseMap<mlir::Operation *, std::string> reasons;
  llvm::DenseSet<mlir::Operation *> cautious;
};

/// Analyzes all nodes of `scope` (a graph or a specialized function) and its
/// subgraphs in their present form.
Hazards findHazards(mlir::Operation *scope, RangeAnalysis &ranges,
                    ElementKind low);

} // namespace mp

#endif // MPOPT_PRECISION_ANALYSIS_HAZARDANALYSIS_H
