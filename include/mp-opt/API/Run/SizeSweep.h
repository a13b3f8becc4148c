//===- SizeSweep.h - A model at several sizes -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures the speed and memory of a model or training step for several sizes
// of one symbolic dimension, usually the batch, and for each precision. Memory
// is planned before it is allocated; a size that does not fit still gets a row.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_SIZESWEEP_H
#define MPOPT_API_RUN_SIZESWEEP_H

#include "mp-opt/API/Run/Benchmark.h"
#include "mp-opt/Codegen/Target/DeviceModels.h"
#include "mp-opt/Execution/MemoryFigures.h"

namespace mp {

struct SizeSweepOptions {
  /// The name of a dimension of the model, and its sizes in increasing order.
  std::string dim;
  std::vector<int64_t> sizes;
  /// "bf16", "fp16", or empty for a model as it is.
  std::vector<std::string> precisions;
  CompileOptions compile;
  BindingOptions binding;
  BenchmarkOptions calls;
  /// If set, nothing runs and no data are needed: the lower bound of the time
  /// on this device is reported.
  const DeviceModel *estimated = nullptr;
  /// Reads the model, converted to a precision for sizes of dimensions.
  std::function<llvm::Expected<std::unique_ptr<Model>>(
      llvm::StringRef precision, const llvm::StringMap<int64_t> &dims)>
      read;
};

struct SizeSweep {
  struct Row {
    int64_t size = 0;
    /// "fp32", "bf16" or "fp16".
    std::string precision;
    /// Counts only the inputs if they alone are too large.
    MemoryFigures memory;
    bool isPlanned = false, fits = false;
    /// One of both is set if the size fits. `least` is in seconds.
    std::optional<Measurement> measured;
    std::optional<double> least;

    /// The median or the lower bound; absent if the size does not fit.
    std::optional<double> getSeconds() const;
  };

  std::string dim;
  /// Sizes of the dimension are examples: it is the first of an input.
  bool isBatch = false;
  /// The times are estimates; nothing has run.
  bool isEstimated = false;
  /// The total memory of the device or host that runs the model.
  int64_t memoryBytes = 0;
  /// A sentence if numbers of another device are used (DeviceModel).
  std::string deviceNote;
  std::vector<Row> rows;

  /// An estimate of the largest size that fits: memory is extrapolated linearly
  /// from the two largest planned sizes. Absent with fewer sizes, or if memory
  /// does not grow.
  std::optional<int64_t> getLargest(llvm::StringRef precision) const;

  /// Prints one line per row, and the largest size that fits.
  void print(llvm::raw_ostream &os) const;
  void printJSON(llvm::raw_ostream &os) const;
};

/// "bf16" or "fp16" if a model has values of that type: it has been converted
/// before; else empty.
llvm::StringRef findPrecision(mlir::ModuleOp module);

/// Runs the sweep. Fails on errors of reading, binding and compiling.
llvm::Expected<SizeSweep> sweepSizes(const DataSet &data,
                                     const SizeSweepOptions &options);

} // namespace mp

#endif // MPOPT_API_RUN_SIZESWEEP_H
