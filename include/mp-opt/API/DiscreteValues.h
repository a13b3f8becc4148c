//===- DiscreteValues.h - Integers that a model makes of floats -*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In float64 a model may round, compare and choose otherwise than in its own
// types, and is another model from there on: no reference. So its integers,
// truth values and steps (Operators/Discontinuity.h) are those of a run in its
// own types.
//
// Within If, Loop and Scan nothing can be given: where a subgraph makes such
// values, all results of the node are those of that run.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_DISCRETEVALUES_H
#define MPOPT_API_DISCRETEVALUES_H

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
  /// It is a float that a node with subgraphs yields, or one with steps.
  bool isFloat = false;
  bool isBool = false;
};

/// Elements of a value that two models make otherwise.
struct DiscreteDifference {
  DiscreteValue value;
  int64_t count = 0, numElements = 0;

  /// "node 'k' (Cast-13) makes other integers in 3 of 64 places".
  std::string describe() const;
};

/// In the order of the main graph's nodes.
std::vector<DiscreteValue> findDiscreteValues(mlir::ModuleOp module);

/// Cuts the main graph where it makes the values of these names: who reads
/// them, outputs included, reads the tensors. Small integers, which may be
/// sizes, become constants, all others new inputs, which are returned.
std::vector<NamedTensor> giveValues(mlir::ModuleOp module,
                                    const llvm::StringMap<Tensor> &tensors);

/// The first of the values, which both maps hold, that differs; absent where
/// all are equal. Floats are left out.
std::optional<DiscreteDifference>
findDiscreteDifference(llvm::ArrayRef<DiscreteValue> values,
                       const llvm::StringMap<Tensor> &actual,
                       const llvm::StringMap<Tensor> &expected);

/// The names of the outputs whose elements are the same whatever the inputs
/// hold; none in a model without inputs.
llvm::StringSet<> findConstantOutputs(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_API_DISCRETEVALUES_H
