//===- StepProgram.h - A compiled training step -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiled step, and the states that each call passes on to the next one. The
// caller, which is a run over data (Trainer.h) or a program with its own loop,
// sets the inputs of the batch.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_TRAIN_STEPPROGRAM_H
#define MPOPT_API_TRAIN_STEPPROGRAM_H

#include "mp-opt/API/Model/Model.h"

namespace mp {

// States of loss scaling, as mp-opt --train names them.
constexpr llvm::StringLiteral scaleName = "loss_scale";
constexpr llvm::StringLiteral skippedName = "loss_scale.skipped_steps";

class StepProgram {
public:
  /// Compiles `model`, which is consumed and must outlive the program. States
  /// begin with their defaults. Fails if the model is not a training step as
  /// made by mp-opt --train. Steps always update states in place, whatever
  /// `options` say.
  static llvm::Expected<std::unique_ptr<StepProgram>>
  create(Model &model, CompileOptions options);

  Program &getProgram() { return *program; }
  llvm::ArrayRef<ProgramValue> getInputs() const {
    return program->getInputs();
  }
  /// One tensor per input: the batch, which must be set before a call, the
  /// states, and empty tensors for inputs that use their defaults.
  llvm::MutableArrayRef<Tensor> getValues() { return values; }
  llvm::ArrayRef<Tensor> getValues() const { return values; }
  /// Indices of inputs.
  llvm::ArrayRef<unsigned> getStates() const { return states; }
  /// States that were finite at the beginning.
  llvm::ArrayRef<unsigned> getFiniteStates() const { return finite; }

  /// The states, which share memory with this object, as of the time when the
  /// program last returned them.
  std::vector<NamedTensor> nameStates() const;
  /// Returns the current states, which are fetched from the device first. Fails
  /// if the device does not return them.
  llvm::Expected<std::vector<NamedTensor>> fetchStates() const;
  /// Replaces states by copies of the tensors with the same names. Fails,
  /// naming the state, if a type differs or if one is missing and `needsAll` is
  /// set.
  llvm::Error setStates(llvm::ArrayRef<NamedTensor> given, bool needsAll);
  /// A state that is no longer finite although it was at the beginning; null if
  /// there is none. Sums of an open window do not count. Fails if a device does
  /// not return the states.
  llvm::Expected<const ProgramValue *> findInfinite();
  /// True between the first and the last step of a window of accumulated
  /// batches, in steps that skip the update if sums are not finite. Sums may
  /// have any value until the window ends.
  bool isWindowOpen() const;
  /// False if a sum of accumulated gradients is not finite.
  llvm::Expected<bool> hasFiniteSums();
  /// The value of a state with one element; absent if there is none of this
  /// name.
  std::optional<double> getScalar(llvm::StringRef state) const;

  bool hasRate() const { return rateInput.has_value(); }
  /// The rate of steps for which none is set. Only valid if hasRate().
  double getDefaultRate() const;
  llvm::Error setRate(double rate);

  /// Runs one step. Random numbers are a function of `number`. The program
  /// `isBroken` until the call has succeeded or all states are set, since a
  /// failed step may have changed some states. `meanwhile` is as for
  /// Program::run; values of the batch may be set there.
  llvm::Error run(int64_t number, MeanwhileFn meanwhile = nullptr);
  bool isBroken() const { return broken; }
  void setBroken() { broken = true; }

  // Results of the last call.

  double getLoss() const { return outputs[lossOutput].toDoubles().front(); }
  /// The losses that it is a sum of.
  std::vector<std::pair<std::string, double>> getLossParts() const;
  /// All outputs that are not states.
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

#endif // MPOPT_API_TRAIN_STEPPROGRAM_H
