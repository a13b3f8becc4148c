//===- Batches.h - Training data, a batch at a time -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_BATCHES_H
#define MPOPT_API_BATCHES_H

#include "mp-opt/API/TrainingStep.h"

namespace mp {

struct BatchOptions {
  /// Rows in a batch; 0 for what the model asks for.
  uint64_t size = 0;
  bool shuffle = true;
  /// Of the order of rows.
  uint64_t seed = 0;
  /// Of as many batches as there are ranks, each has one in a step.
  uint64_t ranks = 1, rank = 0;
};

/// What is said of data that are taken, but perhaps not as they are meant.
struct DataRemarks {
  std::vector<std::string> warnings, notes;
};

/// Training data have one more dimension than the inputs of their names - they
/// are batches already, and come in their order - or are rows, of which each
/// batch takes as many as it holds. Rows are shuffled anew in each epoch; what
/// is left at its end is left out. Elements of another type than the input's
/// become that one, batch after batch, if it takes them (API/InputFit.h).
class Batches {
public:
  /// Fails, naming the file and the tensor, where data do not fit the inputs.
  /// Tensors that the step does not take are not used, nor are those of its
  /// states' names.
  static llvm::Expected<Batches>
  create(const TrainingStep &step, const DataSet &data, BatchOptions options);

  /// Batches in an epoch, for each rank.
  uint64_t getCount() const { return count; }
  /// 0 if the data are no rows.
  uint64_t getBatchSize() const { return isByRow ? options.size : 0; }
  /// The first size of a batch, whether it was made of rows or not; 0 if it
  /// has none.
  uint64_t getFirstSize() const;
  bool areRows() const { return isByRow; }
  /// Rows of the data, or batches.
  uint64_t getRows() const { return rows; }
  /// Those of the data that are in no batch.
  uint64_t getLeftRows() const {
    return isByRow ? rows - count * options.ranks * options.size : 0;
  }
  const DataRemarks &getRemarks() const { return remarks; }

  /// Puts this rank's batch of a step into the places of its inputs.
  llvm::Error load(uint64_t step, llvm::MutableArrayRef<Tensor> inputs);

  /// What a checkpoint must agree with.
  void describe(DataAttributes &settings) const;
  /// All the data, as they were given.
  std::vector<NamedTensor> getTensors() const;

private:
  struct Source {
    unsigned input;
    std::string name;
    Tensor data;
    /// Of one batch.
    llvm::SmallVector<int64_t> sizes;
    /// Where shuffled rows are gathered, and where elements of another type
    /// become those of the input's; empty if they do not.
    Tensor gathered, converted;
  };

  Batches(BatchOptions options) : options(options) {}
  llvm::Error fill(const TrainingStep &step, const DataSet &data);
  llvm::Error addSources(const TrainingStep &step, const DataSet &data);
  void noteUnused(const TrainingStep &step,
                  const std::vector<std::string> &unused);
  llvm::Error convert(Source &source, const ModelValue &input);
  llvm::Error makeRoom(Source &source, const ModelValue &input);
  Tensor getBatch(Source &source, uint64_t batch);
  llvm::Error refuseMixture(llvm::ArrayRef<ModelValue> inputs);
  llvm::Error refuseRows(llvm::ArrayRef<ModelValue> inputs);
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
  DataRemarks remarks;
};

} // namespace mp

#endif // MPOPT_API_BATCHES_H
