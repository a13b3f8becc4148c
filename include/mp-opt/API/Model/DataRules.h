//===- DataRules.h - Valid data of a training step --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The graph determines the valid elements of its inputs: labels are classes,
// indices are rows of a table, targets of a binary cross entropy are
// probabilities, and all other floats must be finite, unless the model tests
// for non-finite ones, or uses infinite ones to mask scores.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_MODEL_DATARULES_H
#define MPOPT_API_MODEL_DATARULES_H

#include "mp-opt/Data/Tensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace mp {

/// Rules for the elements of one input.
struct DataRule {
  /// The type of the input. For float, float64 beyond its range counts as not
  /// finite.
  ElementKind kind = ElementKind::Undefined;
  /// The valid integers: from `least` to `greatest`, or equal to `ignored`.
  struct Range {
    int64_t least, greatest;
    std::optional<int64_t> ignored;
    /// True for labels of a loss, one value of which may be ignored.
    bool areLabels = false;
    /// "node 'loss' (SoftmaxCrossEntropyLoss-13)".
    std::string node;
  };
  std::optional<Range> range;
  /// True if floats must be from 0 to 1.
  bool areProbabilities = false;
  bool mayBeNaN = false, mayBeInfinite = false;
};

/// Rules by the names of the main graph's inputs.
llvm::StringMap<DataRule> findDataRules(mlir::ModuleOp module);

/// True if the value goes into a softmax, with a mask added or not.
bool reachesSoftmax(mlir::Value value);

/// Elements of a tensor that break a rule.
struct DataFault {
  uint64_t count = 0;
  /// The first of them.
  uint64_t place = 0;

  explicit operator bool() const { return count != 0; }
};

/// Checks `count` elements from `first` on.
DataFault findFault(const Tensor &tensor, const DataRule &rule, uint64_t first,
                    uint64_t count);

/// "row 5, column 2", from 0 on.
std::string describePlace(llvm::ArrayRef<int64_t> sizes, uint64_t place,
                          bool areBatches);

/// Returns "'labels' has 3 labels that are none of the classes 0 to 9 of node
/// 'loss' (...), the first is 12 in row 5". `areBatches` is true for batches,
/// false for rows.
std::string describeFault(const NamedTensor &data, const DataRule &rule,
                          const DataFault &fault, bool areBatches);

} // namespace mp

#endif // MPOPT_API_MODEL_DATARULES_H
