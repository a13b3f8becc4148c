//===- SizeSweep.h - A model at several sizes -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How fast a model or training step is, and what memory it takes, for sizes of
// one symbolic dimension, the batch most often, and for each precision. Memory
// is planned before any is taken, so that sizes that do not fit are rows of the
// table, too.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_SIZESWEEP_H
#define MPOPT_API_SIZESWEEP_H

#include "mp-opt/API/Benchmark.h"
#include "mp-opt/Execution/DeviceModels.h"
#include "mp-opt/Execution/MemoryFigures.h"

namespace mp {

struct SizeSweepOptions {
  /// The name of a dimension of the model, and its sizes, which increase.
  std::string dim;
  std::vector<int64_t> sizes;
  /// "bf16", "fp16", or empty for a model as it is.
  std::vector<std::string> precisions;
  CompileOptions compile;
  BindingOptions binding;
  BenchmarkOptions calls;
  /// Nothing runs, and needs data: what calls take at least on this device.
  const DeviceModel *estimated = nullptr;
  /// The model, converted to a precision for sizes of dimensions.
  std::function<llvm::Expected<std::unique_ptr<Model>>(
      llvm::StringRef precision, const llvm::StringMap<int64_t> &dims)>
      read;
};

struct SizeSweep {
  struct Row {
    int64_t size = 0;
    /// "fp32", "bf16" or "fp16".
    std::string precision;
    /// Of inputs alone where these are too large already.
    MemoryFigures memory;
    bool isPlanned = false, fits = false;
    /// One of them where it fits; seconds.
    std::optional<Measurement> measured;
    std::optional<double> least;

    /// The median, or the least; nothing where it does not fit.
    std::optional<double> getSeconds() const;
  };

  std::string dim;
  /// Sizes of the dimension are examples: it is the first of an input.
  bool isBatch = false;
  /// Nothing has run.
  bool isEstimated = false;
  /// All memory of where the model runs.
  int64_t memoryBytes = 0;
  std::vector<Row> rows;

  /// About the largest size that fits: memory grows along the line through the
  /// two largest sizes that were planned. Absent with fewer, or if it does not
  /// grow.
  std::optional<int64_t> getLargest(llvm::StringRef precision) const;

  /// One line for each row, and where memory ends.
  void print(llvm::raw_ostream &os) const;
  void printJSON(llvm::raw_ostream &os) const;
};

/// "bf16" or "fp16" if a model has values of that type: it has been converted
/// before; else empty.
llvm::StringRef findPrecision(mlir::ModuleOp module);

/// Errors are those of reading, binding and compiling.
llvm::Expected<SizeSweep> sweepSizes(const DataSet &data,
                                     const SizeSweepOptions &options);

} // namespace mp

#endif // MPOPT_API_SIZESWEEP_H
