//===- RangeStatistics.h - Statistics of a model's values -------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model whose only output is a vector with a few numbers for each value that
// its nodes compute. Values therefore live no longer than in the original
// model.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_RANGESTATISTICS_H
#define MPOPT_API_RUN_RANGESTATISTICS_H

#include "mp-opt/API/Model/Model.h"
#include "mp-opt/Precision/Data/ObservedRanges.h"

namespace mp {

/// A value that is measured.
struct MeasuredValue {
  /// The name in ObservedRanges, and the name in messages.
  std::string key, name;
  /// "node 'fc' (MatMul-13)".
  std::string node;
  bool isOutput = false;
};

class RangeStatistics {
public:
  /// Compiles the statistics of a model, which may be marked by the passes
  /// before mp-classify, as it would run in fp32. In a training step only the
  /// forward pass is measured, and nothing else is run. `options` have the
  /// sizes of the inputs.
  static llvm::Expected<std::unique_ptr<RangeStatistics>>
  create(mlir::ModuleOp module, llvm::StringRef name,
         const CompileOptions &options);

  /// Runs one batch with its number, and adds it to the ranges. Fails if a NaN
  /// reaches an output: the error names the first node that yields one.
  llvm::Error run(llvm::ArrayRef<NamedTensor> inputs, int64_t number,
                  ObservedRanges &ranges);

private:
  friend class StatisticsBuilder;

  /// The places of numbers in the program's output; -1 for absent ones.
  struct Entry {
    MeasuredValue value;
    int max = -1, energy = -1, lost = -1, smallest = -1, partial = -1;
    /// The partial sum is the result, or its square.
    bool isSum = false, isRoot = false;
  };

  RangeStatistics() = default;
  ObservedRange read(const Entry &entry, llvm::ArrayRef<float> numbers) const;

  /// The order matters: the program needs the model's context.
  std::unique_ptr<Model> model;
  std::unique_ptr<Program> program;
  std::vector<Entry> entries;
};

/// The range of the elements of a float tensor.
ObservedRange measureTensor(const Tensor &tensor);

} // namespace mp

#endif // MPOPT_API_RUN_RANGESTATISTICS_H
