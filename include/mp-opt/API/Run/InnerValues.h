//===- InnerValues.h - Values inside of a model -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_INNERVALUES_H
#define MPOPT_API_RUN_INNERVALUES_H

#include "mp-opt/Data/Tensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace mp {

/// A float value computed by a node of the main graph, and the float values
/// that it depends on, with casts skipped; all by name.
struct InnerValue {
  std::string name;
  /// "node 'fc' (MatMul-13)".
  std::string node;
  std::vector<std::string> operands;
  /// True if the node computes; other nodes select and move elements.
  bool isComputed = true;
};

std::vector<InnerValue> getInnerValues(mlir::ModuleOp module);

/// Makes the values with these names outputs, after the existing ones. Returns
/// the number of added outputs.
unsigned exposeValues(mlir::ModuleOp module, const llvm::StringSet<> &names);

/// The error that a node adds to the errors of its operands. Errors are root
/// mean squares relative to that of the value.
struct NodeError {
  std::string node, value;
  double error = 0, added = 0;
  /// The greatest relative root mean square error of an output if only this
  /// node is in 16 bit; absent if that was not tried.
  std::optional<double> atOutputs = {};
  /// The part of the error that rounding explains; infinite if unknown.
  double explained = std::numeric_limits<double>::infinity();

  /// "node 'fc' (MatMul-13) is off by 5 %, rounding explains 0.6 %".
  std::string describe() const;
};

/// Nodes with values in both maps, sorted by the errors that they add, the
/// worst first. Nodes that compute nothing, and masks, come last.
std::vector<NodeError> rankNodes(llvm::ArrayRef<InnerValue> values,
                                 const llvm::StringMap<Tensor> &actual,
                                 const llvm::StringMap<Tensor> &expected);

/// True for values from which masks are made: their numbers may be replaced by
/// others that mask as well (Precision/Patterns/MaskAnalysis.h).
bool holdsMask(const Tensor &values);

} // namespace mp

#endif // MPOPT_API_RUN_INNERVALUES_H
