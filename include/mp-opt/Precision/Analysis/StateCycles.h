//===- StateCycles.h - Nodes that iterations accumulate in ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A state of a Loop or Scan is added to, or otherwise computed with, until it
// becomes its next value; each rounding on this path is repeated in every
// iteration. The nodes of the path form a cycle of the dataflow: a strongly
// connected component of the values, through control flow and calls, that
// contains a node which computes. Several states may share a cycle (a sum and
// its compensation). A product (contraction) ends the path, as it computes its
// result anew from all elements.
//
// Linear in the number of uses.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ANALYSIS_STATECYCLES_H
#define MPOPT_PRECISION_ANALYSIS_STATECYCLES_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace mp {

class ValueFlow;

class StateCycles {
public:
  explicit StateCycles(const ValueFlow &flow);

  /// A state of the value's cycle; null if the value is in no cycle.
  mlir::Value getState(mlir::Value value) const { return states.lookup(value); }
  /// The nodes of cycles, in the order of the module.
  llvm::ArrayRef<mlir::Operation *> getNodes() const { return nodes; }

private:
  llvm::DenseMap<mlir::Value, mlir::Value> states;
  std::vector<mlir::Operation *> nodes;
};

} // namespace mp

#endif // MPOPT_PRECISION_ANALYSIS_STATECYCLES_H
