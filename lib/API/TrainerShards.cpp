//===- TrainerShards.cpp - States of which each rank has a range ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files have whole states, under the names that they have without sharding, so
// that any number of ranks reads them. Rank 0 sends whole states before the
// first step, of which each rank takes its range, and gathers them where they
// are kept: then it has all of them for a while.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Trainer.h"

#include "mp-opt/Support/Rounding.h"

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
      Twine(settings.leastElements) +
      " elements or more, with states, that are updated element by element");
}

/// Of the program's inputs.
void Trainer::findShards() {
  for (const auto &[index, input] : llvm::enumerate(program->getInputs()))
    for (const ShardedState &state : shardList)
      if (state.name == input.name)
        shards[unsigned(index)] = &state;
}

bool Trainer::isRange(unsigned input) const {
  auto shard = shards.find(input);
  return shard != shards.end() && shard->second->isRange;
}

/// Takes the rank's range of whole states that rank 0 has, if it has any.
Error Trainer::shareRange(unsigned input) {
  const ShardedState &shard = *shards[input];
  Tensor &own = inputs[input];
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

/// To rank 0.
Error Trainer::gatherShards() {
  if (shards.empty() || gatheredStep == step)
    return Error::success();
  uint64_t numRanks = options.batches.ranks;
  for (const auto &[input, shard] : shards) {
    const Tensor &own = inputs[input];
    uint64_t total = 1;
    for (int64_t size : shard->sizes)
      total *= uint64_t(size);
    uint64_t elements = shard->isRange ? uint64_t(shard->count) : total;
    size_t width = own.getNumBytes() / elements;
    const char *begin = static_cast<const char *>(own.getData()) +
                        (shard->isRange ? 0 : size_t(shard->first) * width);
    // Ranges differ by one element at most.
    std::vector<char> padded(begin, begin + size_t(shard->count) * width);
    size_t part = (total + numRanks - 1) / numRanks * width;
    padded.resize(part);
    auto all = options.ranks->gather(padded);
    if (!all)
      return all.takeError();
    if (options.ranks->getRank() > 0)
      continue;
    Tensor &whole = wholes[input];
    if (!whole.getData()) {
      Expected<Tensor> made = Tensor::create(own.getKind(), shard->sizes);
      if (!made)
        return made.takeError();
      whole = std::move(*made);
    }
    for (uint64_t rank = 0; rank < numRanks; ++rank) {
      size_t first = rank * total / numRanks;
      size_t last = (rank + 1) * total / numRanks;
      std::memcpy(static_cast<char *>(whole.getData()) + first * width,
                  all->data() + rank * part, (last - first) * width);
    }
  }
  gatheredStep = step;
  return Error::success();
}

/// What all ranks have of a state in the same way; nothing of ranges.
std::vector<uint16_t> Trainer::getSharedBits(unsigned input) const {
  std::vector<uint16_t> bits;
  if (isRange(input))
    return bits;
  const Tensor &tensor = inputs[input];
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
    uint64_t total = inputs[input].getNumBytes() / uint64_t(shard->count);
    own += inputs[input].getNumBytes();
    for (int64_t size : shard->sizes)
      total *= uint64_t(size);
    whole += total;
  }
  return {own, whole};
}

} // namespace mp
