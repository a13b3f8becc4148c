//===- TrainerShards.cpp - States of which each rank has a range ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files contain whole states under the names that they have without sharding,
// so any number of ranks can read them. Before the first step, rank 0 sends
// whole states, of which each rank takes its range. To save states, rank 0
// gathers them, and keeps the whole states until the next step.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/Trainer.h"

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/Support/Rounding.h"

#include "llvm/ADT/StringMap.h"

#include <cstring>

using namespace llvm;

namespace mp {

Error Trainer::shardStates() {
  if (!options.shardOptimizer || !options.ranks)
    return Error::success();
  ShardSettings settings;
  settings.ranks = options.ranks->getSize();
  settings.rank = options.ranks->getRank();
  shardList = shardOptimizer(model->getModule(), settings);
  bool hasRanges = llvm::any_of(
      shardList, [](const ShardedState &state) { return state.isRange; });
  if (hasRanges)
    return Error::success();
  return createStringError(
      model->getName() +
      ": --shard=optimizer: it has no state of an optimizer that ranks could "
      "share: expected parameters of " +
      Twine(settings.minElements) +
      " elements or more, with states, that are updated element by element");
}

/// Maps inputs of the program to sharded states.
void Trainer::findShards() {
  StringMap<const ShardedState *> byName;
  for (const ShardedState &state : shardList)
    byName[state.name] = &state;
  for (const auto &[index, input] : llvm::enumerate(compiled->getInputs()))
    if (const ShardedState *state = byName.lookup(input.name))
      shards[unsigned(index)] = state;
}

bool Trainer::isRange(unsigned input) const {
  auto shard = shards.find(input);
  return shard != shards.end() && shard->second->isRange;
}

/// Sets states; whole states of ranges are kept until all ranks get their
/// ranges of them, before the first step.
Error Trainer::setStates(ArrayRef<NamedTensor> given, bool needsAll) {
  std::vector<NamedTensor> others;
  StringMap<unsigned> missing;
  for (const auto &[input, shard] : shards)
    if (shard->isRange)
      missing[shard->name] = input;
  for (const NamedTensor &state : given) {
    auto found = missing.find(state.name);
    if (found == missing.end()) {
      others.push_back(state);
      continue;
    }
    unsigned input = found->second;
    missing.erase(found);
    ElementKind kind = compiled->getInputs()[input].kind;
    ArrayRef<int64_t> sizes = shards[input]->sizes;
    if (kind != state.tensor.getKind() || sizes != state.tensor.getSizes())
      return createStringError(
          "state '" + state.name + "': expected " + describeType(kind, sizes) +
          ", found " +
          describeType(state.tensor.getKind(), state.tensor.getSizes()));
    Expected<Tensor> copy = state.tensor.clone();
    if (!copy)
      return prefixError("state '" + state.name + "'", copy.takeError());
    wholes[input] = std::move(*copy);
  }
  gatheredStep = step;
  if (needsAll && !missing.empty())
    return createStringError("state '" + missing.begin()->getKey() +
                             "' is missing");
  // Ranges are not set here: they get their current values, so that no state is
  // missing.
  if (needsAll)
    for (const auto &[input, shard] : shards)
      if (shard->isRange)
        others.push_back({shard->name, compiled->getValues()[input]});
  return compiled->setStates(others, needsAll);
}

/// Replaces ranges by whole states.
void Trainer::putWholes(std::vector<NamedTensor> &states) const {
  StringMap<Tensor> byName;
  for (const auto &[input, whole] : wholes)
    byName[compiled->getInputs()[input].name] = whole;
  for (NamedTensor &state : states)
    if (auto found = byName.find(state.name); found != byName.end())
      state.tensor = found->second;
}

/// Sets this rank's range from the whole state of rank 0, if rank 0 has it.
Error Trainer::shareRange(unsigned input) {
  const ShardedState &shard = *shards[input];
  Tensor &own = compiled->getValues()[input];
  auto known = wholes.find(input);
  char hasWhole = known != wholes.end();
  if (Error failed = options.ranks->broadcast(&hasWhole, 1))
    return failed;
  if (!hasWhole)
    return Error::success();
  Tensor whole;
  if (known != wholes.end()) {
    whole = known->second;
  } else {
    Expected<Tensor> made = Tensor::create(own.getKind(), shard.sizes);
    if (!made)
      return made.takeError();
    whole = std::move(*made);
  }
  if (Error failed =
          options.ranks->broadcast(whole.getData(), whole.getNumBytes()))
    return failed;
  size_t width = own.getNumBytes() / size_t(shard.count);
  std::memcpy(own.getData(),
              static_cast<char *>(whole.getData()) +
                  size_t(shard.first) * width,
              own.getNumBytes());
  return Error::success();
}

/// Gathers a state on rank 0, chunk by chunk, since the other ranks have no
/// memory for whole states.
Error Trainer::gatherShard(unsigned input, const ShardedState &shard) {
  constexpr uint64_t maxElements = 1 << 18;
  const Tensor &own = compiled->getValues()[input];
  uint64_t numRanks = options.batches.ranks, total = 1;
  for (int64_t size : shard.sizes)
    total *= uint64_t(size);
  uint64_t count = uint64_t(shard.count);
  size_t width = own.getNumBytes() / (shard.isRange ? count : total);
  const char *data = static_cast<const char *>(own.getData()) +
                     (shard.isRange ? 0 : size_t(shard.first) * width);
  Tensor *whole = nullptr;
  if (options.ranks->getRank() == 0) {
    whole = &wholes[input];
    if (!whole->getData()) {
      Expected<Tensor> made = Tensor::create(own.getKind(), shard.sizes);
      if (!made)
        return made.takeError();
      *whole = std::move(*made);
    }
  }
  // The sizes of ranges differ by at most one element.
  uint64_t longest = (total + numRanks - 1) / numRanks;
  for (uint64_t from = 0; from < longest; from += maxElements) {
    uint64_t size = std::min(maxElements, longest - from);
    std::vector<char> piece(size * width);
    if (from < count)
      std::memcpy(piece.data(), data + from * width,
                  std::min(size, count - from) * width);
    auto all = options.ranks->allGather(piece);
    if (!all)
      return all.takeError();
    for (uint64_t rank = 0; whole && rank < numRanks; ++rank) {
      uint64_t first = rank * total / numRanks + from;
      uint64_t last = (rank + 1) * total / numRanks;
      if (first < last)
        std::memcpy(static_cast<char *>(whole->getData()) + first * width,
                    all->data() + rank * piece.size(),
                    std::min(size, last - first) * width);
    }
  }
  return Error::success();
}

Error Trainer::gatherShards() {
  if (shards.empty() || gatheredStep == step)
    return Error::success();
  if (Error failed = compiled->getProgram().fetchStates())
    return failed;
  for (const auto &[input, shard] : shards)
    if (Error failed = gatherShard(input, *shard))
      return failed;
  gatheredStep = step;
  return Error::success();
}

/// The bits of a state that must be equal on all ranks; empty for ranges.
std::vector<uint16_t> Trainer::getSharedBits(unsigned input) const {
  std::vector<uint16_t> bits;
  if (isRange(input))
    return bits;
  const Tensor &tensor = compiled->getValues()[input];
  bits.resize(size_t(tensor.getNumElements()));
  roundToBFloat16({static_cast<const float *>(tensor.getData()), bits.size()},
                  bits.data());
  return bits;
}

std::pair<uint64_t, uint64_t> Trainer::getShardedBytes() const {
  uint64_t own = 0, whole = 0;
  for (const auto &[input, shard] : shards) {
    if (!shard->isRange)
      continue;
    uint64_t total =
        compiled->getValues()[input].getNumBytes() / uint64_t(shard->count);
    own += compiled->getValues()[input].getNumBytes();
    for (int64_t size : shard->sizes)
      total *= uint64_t(size);
    whole += total;
  }
  return {own, whole};
}

} // namespace mp
