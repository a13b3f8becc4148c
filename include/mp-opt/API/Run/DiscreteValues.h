//===- DiscreteValues.h - Integers that a model makes of floats -*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In float64 a model may round, compare and choose differently than in its own
// types. From there on it is another model and cannot be a reference. Therefore
// its integers, truth values and steps (Operators/Discontinuity.h) are taken
// from a run in its own types.
//
// Values cannot be replaced within If, Loop and Scan. If a subgraph makes such
// values, all results of the node are taken from that run.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_DISCRETEVALUES_H
#define MPOPT_API_RUN_DISCRETEVALUES_H

#include "mp-opt/Data/Tensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <optional>
#include <string>
#include <vector>

namespace mp {

struct DiscreteValue {
  std::string name;
  /// "node 'k' (Cast-13)".
  std::string node;
  /// True for a float from a node with subgraphs or with steps.
  bool isFloat = false;
  bool isBool = false;
};

/// The elements of a value that differ between two models.
struct DiscreteDifference {
  DiscreteValue value;
  int64_t count = 0, numElements = 0;

  /// "node 'k' (Cast-13) makes other integers in 3 of 64 places".
  std::string describe() const;
};

/// Ordered as the nodes of the main graph.
std::vector<DiscreteValue> findDiscreteValues(mlir::ModuleOp module);

/// Replaces the values with these names in the main graph by the given tensors,
/// for all uses, outputs included. Small integers, which may be sizes, become
/// constants. All others become new inputs, which are returned.
std::vector<NamedTensor> giveValues(mlir::ModuleOp module,
                                    const llvm::StringMap<Tensor> &tensors);

/// The first value that differs between both maps; values in only one of them
/// are skipped. Absent if all are equal. Floats are ignored.
std::optional<DiscreteDifference>
findDiscreteDifference(llvm::ArrayRef<DiscreteValue> values,
                       const llvm::StringMap<Tensor> &actual,
                       const llvm::StringMap<Tensor> &expected);

/// The names of outputs whose elements do not depend on the inputs; empty for a
/// model without inputs.
llvm::StringSet<> findConstantOutputs(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_API_RUN_DISCRETEVALUES_H
