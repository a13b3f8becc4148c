//===- RunStates.h - States of a run ----------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_API_TRAIN_RUNSTATES_H
#define MPOPT_LIB_API_TRAIN_RUNSTATES_H

#include "ShardedStates.h"

#include "mp-opt/API/Train/CheckpointWriter.h"

namespace mp {

/// The states of a run, whole under their names, wherever their parts are.
class RunStates {
public:
  /// States share memory with checkpoints that `writer` is writing. All three
  /// must outlive this.
  RunStates(StepSession &session, ShardedStates &shards,
            const CheckpointWriter &writer)
      : session(session), program(session.getProgram()), shards(shards),
        writer(writer) {}

  /// Replaces states by copies of those with the same names. Fails, naming the
  /// state, if a type differs or if one is missing and `needsAll` is set.
  llvm::Error set(llvm::ArrayRef<NamedTensor> given, bool needsAll);
  /// All states. They share memory with the step. Fails if a device does not
  /// return them, or if ranks have parts that were not gathered.
  llvm::Expected<std::vector<NamedTensor>> get() const;
  /// The values of all inputs, with whole states.
  std::vector<Tensor> getWholeValues() const;
  /// The name of a state that is no longer finite; empty if there is none.
  /// Fails if a device does not return the states.
  llvm::Expected<std::string> findInfinite() const;

  /// A hash of all float states except those of loss scaling and, unless
  /// `hasSums`, sums of accumulated gradients; absent if there are none.
  std::optional<uint64_t> hashFloats(bool hasSums) const;
  /// A hash of everything that steps of one model and optimizer have in
  /// common: names and types of states, and initial parameters.
  std::string hashOrigin() const;

private:
  StepSession &session;
  StepProgram &program;
  ShardedStates &shards;
  const CheckpointWriter &writer;
};

/// True if a state belongs to accumulation. Steps that accumulate a different
/// number of batches share all other states.
bool isOfAccumulation(llvm::StringRef state);

} // namespace mp

#endif // MPOPT_LIB_API_TRAIN_RUNSTATES_H
