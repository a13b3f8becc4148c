//===- ShardedStates.h - States in parts on ranks ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_API_TRAIN_SHARDEDSTATES_H
#define MPOPT_LIB_API_TRAIN_SHARDEDSTATES_H

#include "mp-opt/API/Train/StepSession.h"
#include "mp-opt/Collectives/ProcessGroup.h"
#include "mp-opt/Training/Sharding.h"

#include <map>

namespace mp {

/// The states of which each rank owns a range, by index of the step's input.
/// Without sharding there are none, and no function has an effect.
class ShardedStates {
public:
  /// Makes `model`, a step that is not compiled yet, share the optimizer's
  /// states. Fails if it has none that ranks could share.
  llvm::Error shard(Model &model, ProcessGroup &group);
  /// Finds the inputs of the compiled step, which must outlive this.
  void setSession(StepSession &compiled);

  bool isEmpty() const { return shards.empty(); }
  bool contains(unsigned input) const { return shards.count(input); }
  /// True if this rank has only a range of the elements.
  bool isRange(unsigned input) const;
  /// The sizes of the whole state. Only valid if contains(input).
  llvm::ArrayRef<int64_t> getSizes(unsigned input) const {
    return shards.at(input)->sizes;
  }
  /// On rank 0, whole states as they were after a step.
  const std::map<unsigned, Tensor> &getWholes() const { return wholes; }
  void dropWholes() { wholes.clear(); }
  /// True if whole states are those after the newest step.
  bool areWhole() const {
    return isEmpty() || gatheredStep == session->getCount();
  }
  void setWhole() { gatheredStep = session->getCount(); }

  /// Keeps copies of whole states until all ranks get their ranges of them,
  /// before the first step. Returns the other states and, if `needsAll`, this
  /// rank's ranges as they are. Fails, naming the state, if a type differs or
  /// if one is missing and `needsAll` is set.
  llvm::Expected<std::vector<NamedTensor>>
  takeWholes(llvm::ArrayRef<NamedTensor> given, bool needsAll);
  /// Replaces ranges by whole states.
  void putWholes(std::vector<NamedTensor> &states) const;
  /// Sets this rank's range from the whole state of rank 0, if it has that.
  llvm::Error share(unsigned input);
  /// Gathers all whole states on rank 0. Called by all ranks.
  llvm::Error gather();

  /// The bits of a state that must be equal on all ranks; empty for ranges.
  std::vector<uint16_t> getSharedBits(unsigned input) const;
  /// The bytes of ranges: those of this rank, and those of all.
  std::pair<uint64_t, uint64_t> getBytes() const;

private:
  llvm::Error gather(unsigned input, const ShardedState &shard);

  StepSession *session = nullptr;
  ProcessGroup *ranks = nullptr;
  std::vector<ShardedState> list;
  std::map<unsigned, const ShardedState *> shards;
  std::map<unsigned, Tensor> wholes;
  std::optional<uint64_t> gatheredStep;
};

} // namespace mp

#endif // MPOPT_LIB_API_TRAIN_SHARDEDSTATES_H
