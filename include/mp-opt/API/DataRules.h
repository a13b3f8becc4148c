//===- DataRules.h - What data a training step takes ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The graph says which elements of its inputs it can use: labels are classes,
// indices are rows of a table, targets of a binary cross entropy are
// probabilities, and all other floats are finite numbers, unless the model asks
// whether they are, or uses infinite ones to mask scores.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_DATARULES_H
#define MPOPT_API_DATARULES_H

#include "mp-opt/Data/Tensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace mp {

/// Rules for the elements of one input.
struct DataRule {
  /// The type of the input: float64 beyond that of float is not finite there.
  ElementKind kind = ElementKind::Undefined;
  /// Integers: from `least` to `greatest`, or `ignored`.
  struct Range {
    int64_t least, greatest;
    std::optional<int64_t> ignored;
    /// Labels of a loss, which may have one that is ignored.
    bool areLabels = false;
    /// "node 'loss' (SoftmaxCrossEntropyLoss-13)".
    std::string node;
  };
  std::optional<Range> range;
  /// Floats: from 0 to 1.
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

/// Looks at the elements from `first` on, `count` of them.
DataFault findFault(const Tensor &tensor, const DataRule &rule, uint64_t first,
                    uint64_t count);

/// "row 5, column 2", from 0 on.
std::string describePlace(llvm::ArrayRef<int64_t> sizes, uint64_t place,
                          bool areBatches);

/// "'labels' has 3 labels that are none of the classes 0 to 9 of node 'loss'
/// (...), the first is 12 in row 5". `areBatches` says whether the data are
/// batches, or rows.
std::string describeFault(const NamedTensor &data, const DataRule &rule,
                          const DataFault &fault, bool areBatches);

} // namespace mp

#endif // MPOPT_API_DATARULES_H
