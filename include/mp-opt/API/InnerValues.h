//===- InnerValues.h - What the nodes of a model compute --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_INNERVALUES_H
#define MPOPT_API_INNERVALUES_H

#include "mp-opt/Data/Tensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace mp {

/// A float value that a node of the main graph makes, and the float values that
/// it is made of, casts left out. All by their names.
struct InnerValue {
  std::string name;
  /// "node 'fc' (MatMul-13)".
  std::string node;
  std::vector<std::string> operands;
  /// The node computes; others choose and move elements.
  bool isComputed = true;
};

std::vector<InnerValue> getInnerValues(mlir::ModuleOp module);

/// Makes the values with these names outputs, behind those that there are.
void exposeValues(mlir::ModuleOp module, const llvm::StringSet<> &names);

/// What a node adds to the errors of its operands. Errors are root mean squares
/// relative to that of the value.
struct NodeError {
  std::string node, value;
  double error = 0, added = 0;
  /// The greatest relative root mean square error of an output where this node
  /// alone is in 16 bit; absent where that was not tried.
  std::optional<double> atOutputs = {};
  /// What rounding explains of the error; infinite where that is unknown.
  double explained = std::numeric_limits<double>::infinity();

  /// "node 'fc' (MatMul-13) is off by 5 %, rounding explains 0.6 %".
  std::string describe() const;
};

/// Nodes whose values are in both maps, by what they add, the worst first;
/// those that compute nothing, and masks, are the last.
std::vector<NodeError> rankNodes(llvm::ArrayRef<InnerValue> values,
                                 const llvm::StringMap<Tensor> &actual,
                                 const llvm::StringMap<Tensor> &expected);

/// True for what a mask is made of: its numbers become others that mask as well
/// (Precision/Patterns/MaskAnalysis.h).
bool holdsMask(const Tensor &values);

} // namespace mp

#endif // MPOPT_API_INNERVALUES_H
