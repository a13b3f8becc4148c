//===- HazardAnalysis.h - Nodes that must not be 16 bit ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What no list can know of a node: that a value which it would hold in 16 bit
// is proved to overflow, is made of a constant that does, or is what keeps a
// division or a logarithm from zero and would vanish. Only finite numbers
// count: infinities, NaNs and signs are the same in 16 bit.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ANALYSIS_HAZARDANALYSIS_H
#define MPOPT_PRECISION_ANALYSIS_HAZARDANALYSIS_H

#include "mp-opt/Precision/Analysis/FloatSignature.h"
#include "mp-opt/Precision/Analysis/RangeAnalysis.h"

namespace mp {

/// Why nodes must stay fp32, one reason each: the first that is found.
class Hazards {
public:
  void add(mlir::Operation *node, std::string reason) {
    reasons.try_emplace(node, std::move(reason));
  }
  /// Empty if nothing stands against 16 bit.
  llvm::StringRef lookup(mlir::Operation *node) const {
    auto it = reasons.find(node);
    return it == reasons.end() ? llvm::StringRef() : it->second;
  }

private:
  llvm::DenseMap<mlir::Operation *, std::string> reasons;
};

/// Of all nodes of `scope` (a graph or a specialized function) and its
/// subgraphs, seen as they stand now.
Hazards findHazards(mlir::Operation *scope, RangeAnalysis &ranges,
                    ElementKind low);

} // namespace mp

#endif // MPOPT_PRECISION_ANALYSIS_HAZARDANALYSIS_H
