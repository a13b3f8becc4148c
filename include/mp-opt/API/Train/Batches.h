//===- Batches.h - Training data, a batch at a time -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAIN_BATCHES_H
#define MPOPT_API_TRAIN_BATCHES_H

#include "mp-opt/API/Train/TrainingStep.h"

namespace mp {

struct BatchOptions {
  /// Rows in a batch; 0 to use the batch size of the model.
  uint64_t size = 0;
  bool shuffle = true;
  /// The seed for shuffling rows.
  uint64_t seed = 0;
  /// The number of ranks, and this rank. In each step, every rank takes one of
  /// `ranks` consecutive batches.
  uint64_t ranks = 1, rank = 0;
};

/// Remarks on data that are accepted, but may not be meant as they are used.
struct DataRemarks {
  std::vector<std::string> warnings, notes;
};

/// Training data are either batches or rows. Batches have one more dimension
/// than the inputs of the same names and are used in order. Rows are combined
/// into batches, and are shuffled anew in each epoch; the remainder at the end
/// of an epoch is dropped. Elements of another type are converted to the
/// input's type, batch by batch, if the input takes them (API/InputFit.h).
class Batches {
public:
  /// Fails, naming the file and the tensor, if data do not fit the inputs.
  /// Tensors that the step does not take, and tensors with names of its states,
  /// are ignored.
  static llvm::Expected<Batches>
  create(const TrainingStep &step, const DataSet &data, BatchOptions options);

  /// Batches in an epoch, for each rank.
  uint64_t getCount() const { return count; }
  /// 0 if the data are not rows.
  uint64_t getBatchSize() const { return isByRow ? options.size : 0; }
  /// The first size of a batch, also if it was not made of rows; 0 if it has
  /// none.
  uint64_t getFirstSize() const;
  bool areRows() const { return isByRow; }
  /// Rows of the data, or batches.
  uint64_t getRows() const { return rows; }
  /// Rows of the data that are in no batch.
  uint64_t getLeftRows() const {
    return isByRow ? rows - count * options.ranks * options.size : 0;
  }
  const DataRemarks &getRemarks() const { return remarks; }

  /// Puts this rank's batch of a step into the places of its inputs; only of
  /// those that `isWanted`, if it is given. Memory of an input's last batch is
  /// used again.
  llvm::Error load(uint64_t step, llvm::MutableArrayRef<Tensor> inputs,
                   llvm::function_ref<bool(unsigned input)> isWanted = nullptr);

  /// Settings that a checkpoint must match.
  void describe(DataAttributes &settings) const;
  /// All the data as they were given.
  std::vector<NamedTensor> getTensors() const;

private:
  struct Source {
    unsigned input;
    std::string name;
    Tensor data;
    /// The sizes of one batch.
    llvm::SmallVector<int64_t> sizes;
    /// Buffers for gathering shuffled rows and for converting elements to the
    /// type of the input. Empty if not needed.
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

#endif // MPOPT_API_TRAIN_BATCHES_H
