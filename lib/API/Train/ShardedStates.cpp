//===- ShardedStates.cpp - States in parts on ranks -----------------------===//
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

#include "ShardedStates.h"

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/Support/Rounding.h"

#include "llvm/ADT/StringMap.h"

#include <cstring>

using namespace llvm;

namespace mp {

Error ShardedStates::shard(Model &model, ProcessGroup &group) {
  ranks = &group;
  ShardSettings settings;
  settings.ranks = ranks->getSize();
  settings.rank = ranks->getRank();
  list = shardOptimizer(model.getModule(), settings);
  bool hasRanges = llvm::any_of(
      list, [](const ShardedState &state) { return state.isRange; });
  if (hasRanges)
    return Error::success();
  return createStringError(
      model.getName() +
      ": --shard=optimizer: it has no state of an optimizer that ranks could "
      "share: expected parameters of " +
      Twine(settings.minElements) +
      " elements or more, with states, that are updated element by element");
}

void ShardedStates::setSession(StepSession &compiled) {
  session = &compiled;
  StringMap<const ShardedState *> byName;
  for (const ShardedState &state : list)
    byName[state.name] = &state;
  for (const auto &[index, input] :
       llvm::enumerate(session->getProgram().getInputs()))
    if (const ShardedState *state = byName.lookup(input.name))
      shards[unsigned(index)] = state;
}

bool ShardedStates::isRange(unsigned input) const {
  auto shard = shards.find(input);
  return shard != shards.end() && shard->second->isRange;
}

Expected<std::vector<NamedTensor>>
ShardedStates::takeWholes(ArrayRef<NamedTensor> given, bool needsAll) {
  StepProgram &program = session->getProgram();
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
    ElementKind kind = program.getInputs()[input].kind;
    ArrayRef<int64_t> sizes = getSizes(input);
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
  setWhole();
  if (needsAll && !missing.empty())
    return createStringError("state '" + missing.begin()->getKey() +
                             "' is missing");
  // Ranges keep their values for now; none of them is missing.
  if (needsAll)
    for (const auto &[input, shard] : shards)
      if (shard->isRange)
        others.push_back({shard->name, program.getValues()[input]});
  return others;
}

void ShardedStates::putWholes(std::vector<NamedTensor> &states) const {
  StringMap<Tensor> byName;
  for (const auto &[input, whole] : wholes)
    byName[session->getProgram().getInputs()[input].name] = whole;
  for (NamedTensor &state : states)
    if (auto found = byName.find(state.name); found != byName.end())
      state.tensor = found->second;
}

Error ShardedStates::share(unsigned input) {
  const ShardedState &shard = *shards.at(input);
  Tensor &own = session->getProgram().getValues()[input];
  auto known = wholes.find(input);
  char hasWhole = known != wholes.end();
  if (Error failed = ranks->broadcast(&hasWhole, 1))
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
  if (Error failed = ranks->broadcast(whole.getData(), whole.getNumBytes()))
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
Error ShardedStates::gather(unsigned input, const ShardedState &shard) {
  constexpr uint64_t maxElements = 1 << 18;
  const Tensor &own = session->getProgram().getValues()[input];
  uint64_t numRanks = uint64_t(ranks->getSize()), total = 1;
  for (int64_t size : shard.sizes)
    total *= uint64_t(size);
  uint64_t count = uint64_t(shard.count);
  size_t width = own.getNumBytes() / (shard.isRange ? count : total);
  const char *data = static_cast<const char *>(own.getData()) +
                     (shard.isRange ? 0 : size_t(shard.first) * width);
  Tensor *whole = nullptr;
  if (ranks->getRank() == 0) {
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
    auto all = ranks->allGather(piece);
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

Error ShardedStates::gather() {
  if (areWhole())
    return Error::success();
  if (Error failed = session->getProgram().getProgram().fetchStates())
    return failed;
  for (const auto &[input, shard] : shards)
    if (Error failed = gather(input, *shard))
      return failed;
  setWhole();
  return Error::success();
}

std::vector<uint16_t> ShardedStates::getSharedBits(unsigned input) const {
  std::vector<uint16_t> bits;
  if (isRange(input))
    return bits;
  const Tensor &tensor = session->getProgram().getValues()[input];
  bits.resize(size_t(tensor.getNumElements()));
  roundToBFloat16({static_cast<const float *>(tensor.getData()), bits.size()},
                  bits.data());
  return bits;
}

std::pair<uint64_t, uint64_t> ShardedStates::getBytes() const {
  uint64_t own = 0, whole = 0;
  for (const auto &[input, shard] : shards) {
    if (!shard->isRange)
      continue;
    uint64_t total = session->getProgram().getValues()[input].getNumBytes() /
                     uint64_t(shard->count);
    own += session->getProgram().getValues()[input].getNumBytes();
    for (int64_t size : shard->sizes)
      total *= uint64_t(size);
    whole += total;
  }
  return {own, whole};
}

} // namespace mp
