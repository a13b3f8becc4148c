//===- Batches.h - Training data, a batch at a time -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_BATCHES_H
#define MPOPT_API_BATCHES_H

#include "mp-opt/API/ModelValue.h"

namespace mp {

struct BatchOptions {
  /// Rows in a batch; 0 for what the model asks for.
  uint64_t size = 0;
  bool shuffle = true;
  /// Of the order of rows.
  uint64_t seed = 0;
};

/// Training data have one more dimension than the inputs of their names - they
/// are batches already, and come in their order - or are rows, of which each
/// batch takes as many as it holds. Rows are shuffled anew in each epoch; what
/// is left at its end is left out.
class Batches {
public:
  /// Fails, naming the tensor, where data do not fit the inputs.
  static llvm::Expected<Batches> create(llvm::ArrayRef<ModelValue> inputs,
                                        const DataSet &data,
                                        BatchOptions options);

  /// Batches in an epoch.
  uint64_t getCount() const { return count; }
  uint64_t getBatchSize() const { return options.size; }
  bool areRows() const { return isByRow; }

  /// Puts the batch of a step into the places of its inputs.
  llvm::Error load(uint64_t step, llvm::MutableArrayRef<Tensor> inputs);

  /// What a checkpoint must agree with.
  void describe(DataAttributes &settings) const;

private:
  struct Source {
    unsigned input;
    std::string name;
    Tensor data;
    /// Of one batch.
    llvm::SmallVector<int64_t> sizes;
    /// Where shuffled rows are gathered.
    Tensor gathered;
  };

  Batches(BatchOptions options) : options(options) {}
  llvm::Error addSources(llvm::ArrayRef<ModelValue> inputs,
                         const DataSet &data);
  llvm::Error findForm(llvm::ArrayRef<ModelValue> inputs);
  llvm::Error chooseSize(llvm::ArrayRef<ModelValue> inputs);
  void shuffleRows(uint64_t epoch);

  BatchOptions options;
  std::vector<Source> sources;
  bool isByRow = false;
  uint64_t rows = 0, count = 0;
  /// The order of rows in `epoch`.
  std::vector<uint64_t> order;
  std::optional<uint64_t> epoch;
};

} // namespace mp

#endif // MPOPT_API_BATCHES_H
