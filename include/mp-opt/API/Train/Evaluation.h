//===- Evaluation.h - The loss on validation data ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forward pass of a step is the step without any outputs but the loss.
// Gradients and updates are then unused, no state is written, and each node has
// the same precision as in the step. Nodes that behave differently in training
// are switched to inference: Dropout drops nothing, and BatchNormalization uses
// its running statistics.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAIN_EVALUATION_H
#define MPOPT_API_TRAIN_EVALUATION_H

#include "mp-opt/API/Train/Batches.h"

namespace mp {

class Evaluation {
public:
  /// Compiles the forward pass of `model`, which is `step`, for all rows of
  /// `data` in batches of `size` rows, if they are rows. Remaining rows form a
  /// smaller batch if the model takes batches of any size; otherwise they are
  /// dropped with a remark. The context of `model` must outlive this.
  static llvm::Expected<std::unique_ptr<Evaluation>>
  create(Model &model, const TrainingStep &step, const DataSet &data,
         uint64_t size, const CompileOptions &compile);

  /// The mean of the losses of all batches, weighted by their rows. `inputs`
  /// are the step's, including states.
  llvm::Expected<double> compute(llvm::ArrayRef<Tensor> inputs);

  const DataRemarks &getRemarks() const { return remarks; }

private:
  /// Batches of one size, and their program.
  struct Part {
    Batches batches;
    /// The share of all the data.
    double weight;
    std::unique_ptr<Program> program;
    /// Inputs that are the same for all batches of an evaluation.
    std::vector<unsigned> kept;
  };

  Evaluation() = default;
  llvm::Error add(Model &model, const TrainingStep &step, const DataSet &data,
                  uint64_t size, const CompileOptions &compile);
  llvm::Expected<double> compute(Part &part, std::vector<Tensor> inputs);

  std::vector<Part> parts;
  DataRemarks remarks;
};

/// Removes all outputs except the loss, and everything that only they need.
/// States lose their defaults, and nodes switch to inference.
void makeEvaluationModel(Model &model, const TrainingStep &step);

} // namespace mp

#endif // MPOPT_API_TRAIN_EVALUATION_H
