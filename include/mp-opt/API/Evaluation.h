//===- Evaluation.h - The loss on data that are not trained on --*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step holds its forward pass: what is left of it when all its outputs but
// the loss are taken away. Gradients and updates are then nothing that is
// needed, no state is written, and the precision of each node is that of the
// step. What differs in training is switched to inference: Dropout drops
// nothing, and BatchNormalization uses its running statistics.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_EVALUATION_H
#define MPOPT_API_EVALUATION_H

#include "mp-opt/API/Batches.h"

namespace mp {

class Evaluation {
public:
  /// Compiles the forward pass of `model`, which is `step`, for all rows of
  /// `data` in batches of `size` rows, if they are rows. Rows that are left
  /// make up a smaller batch where the model takes batches of any size; else
  /// they are left out, and the remarks say so. The context of `model` must
  /// outlive this.
  static llvm::Expected<std::unique_ptr<Evaluation>>
  create(Model &model, const TrainingStep &step, const DataSet &data,
         uint64_t size, const CompileOptions &compile);

  /// The mean of the losses of all batches, by their rows. `inputs` are the
  /// step's, states included.
  llvm::Expected<double> compute(llvm::ArrayRef<Tensor> inputs);

  const DataRemarks &getRemarks() const { return remarks; }

private:
  /// Batches of one size, for which there is a program.
  struct Part {
    Batches batches;
    /// Of all the data.
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

/// Takes away all outputs but the loss, and what only they need; states lose
/// their defaults. Nodes behave as in inference from then on.
void makeEvaluationModel(Model &model, const TrainingStep &step);

} // namespace mp

#endif // MPOPT_API_EVALUATION_H
