//===- StepProgram.h - A compiled training step -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step that has been compiled, and the states that each call of it hands on
// to the next. Who calls it - a run over data (Trainer.h), or a program with a
// loop of its own - puts the batch into its inputs.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_STEPPROGRAM_H
#define MPOPT_API_STEPPROGRAM_H

#include "mp-opt/API/Model.h"

namespace mp {

// States of loss scaling, as mp-opt --train names them.
constexpr llvm::StringLiteral scaleName = "loss_scale";
constexpr llvm::StringLiteral skippedName = "loss_scale.skipped_steps";

class StepProgram {
public:
  /// Compiles `model`, which is used up and must outlive it; its states begin
  /// with their defaults. Fails if the model is no training step, as mp-opt
  /// --train makes it. Steps write over their states, whatever `options` say.
  static llvm::Expected<std::unique_ptr<StepProgram>>
  create(Model &model, CompileOptions options);

  Program &getProgram() { return *program; }
  llvm::ArrayRef<ProgramValue> getInputs() const {
    return program->getInputs();
  }
  /// One for each input: the batch, to be set before a call, the states, and
  /// what takes its default if it is empty.
  llvm::MutableArrayRef<Tensor> getValues() { return values; }
  llvm::ArrayRef<Tensor> getValues() const { return values; }
  /// Indices of inputs.
  llvm::ArrayRef<unsigned> getStates() const { return states; }
  /// States that were finite at the beginning.
  llvm::ArrayRef<unsigned> getFiniteStates() const { return finite; }

  /// The states, which share their memory with this; as they were when the
  /// program last gave them.
  std::vector<NamedTensor> nameStates() const;
  /// The same, as they are. An error if a device does not give them.
  llvm::Expected<std::vector<NamedTensor>> fetchStates() const;
  /// Replaces states by copies of those of the same names. Fails, naming the
  /// state, where a type differs or, if it `needsAll`, where one is missing.
  llvm::Error setStates(llvm::ArrayRef<NamedTensor> given, bool needsAll);
  /// A state that is no longer finite, though it was at the beginning; null if
  /// there is none. Sums of an open window do not count. An error if a device
  /// does not give them.
  llvm::Expected<const ProgramValue *> findInfinite();
  /// True between the first and the last step of a window of accumulated
  /// batches, in steps that skip the update of a window whose sums are not
  /// finite: until the window ends, sums may be anything.
  bool isWindowOpen() const;
  /// False if a sum of accumulated gradients is not finite.
  llvm::Expected<bool> hasFiniteSums();
  /// Of a state with one element; absent if there is none of that name.
  std::optional<double> getScalar(llvm::StringRef state) const;

  bool hasRate() const { return rateInput.has_value(); }
  /// Of steps for which none is set, if they have one.
  double getDefaultRate() const;
  llvm::Error setRate(double rate);

  /// One step. Random numbers are a function of `number`. Until it has ended
  /// well, or all states are set, it `isBroken`: it may have changed some.
  llvm::Error run(int64_t number);
  bool isBroken() const { return broken; }
  void setBroken() { broken = true; }

  // Of the last call.

  double getLoss() const { return outputs[lossOutput].toDoubles().front(); }
  /// The losses that it is a sum of.
  std::vector<std::pair<std::string, double>> getLossParts() const;
  /// All that are no states.
  std::vector<NamedTensor> getOutputs() const;

private:
  StepProgram() = default;
  llvm::Error start(Model &model);

  std::unique_ptr<Program> program;
  std::vector<Tensor> values;
  llvm::SmallVector<Tensor> outputs;
  /// Indices of inputs; and those that were finite at the beginning.
  std::vector<unsigned> states, finite;
  std::optional<unsigned> rateInput;
  unsigned lossOutput = 0;
  bool broken = false;
};

} // namespace mp

#endif // MPOPT_API_STEPPROGRAM_H
