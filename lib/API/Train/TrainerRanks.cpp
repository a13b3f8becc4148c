//===- TrainerRanks.cpp - One run of several ranks ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All ranks have the same states and make the same decisions, since the values
// that these depend on are reduced in the step or agreed upon here. Before the
// first step, ranks compare their settings and take rank 0's states. Every
// hundred steps, and before states are saved, they compare states.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/Trainer.h"

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/Codegen/Host/HostTarget.h"
#include "mp-opt/Emulation/EmulatedNCCL.h"
#include "mp-opt/Training/Distribution.h"
#include "mp-opt/Training/Optimizers.h"

#include "llvm/Support/xxhash.h"

#include <cstdlib>

using namespace llvm;

namespace mp {

static constexpr uint64_t stepsBetweenChecks = 100;

void Trainer::configureRank(TrainerOptions &options) {
  options.batches.ranks = uint64_t(options.ranks->getSize());
  options.batches.rank = uint64_t(options.ranks->getRank());
  if (options.ranks->getRank() == 0)
    return;
  // Only rank 0 reads and writes files; the others receive its data.
  options.init.clear();
  options.checkpoints.clear();
  options.log.clear();
  options.resume = false;
  options.validation.reset();
  options.onWarning = nullptr;
  options.onNote = nullptr;
}

//===----------------------------------------------------------------------===//
// Before the first step
//===----------------------------------------------------------------------===//

/// Settings that must be equal on all ranks, by names that users know.
DataAttributes Trainer::describeRun() {
  DataAttributes run = getSettings();
  run["version"] = MPOPT_VERSION;
  run["training step"] = content;
  run["steps in all"] = std::to_string(total);
  run["wire"] = options.ranks->getOptions().isWireBF16 ? "bf16" : "fp32";
  run["shared by ranks"] = options.shardOptimizer ? "optimizer" : "none";
  run["collectives"] =
      getCollectivesWords()[unsigned(
                                options.ranks->getOptions().deviceCollectives)]
          .str();
  run["device"] = stringifyDevice(options.compile.device).str();
  std::optional<Target> target = options.compile.target;
  if (Expected<Target> host = getHostTarget(); !host)
    consumeError(host.takeError());
  else if (!target)
    target = *host;
  if (target)
    run["instructions and kernels"] =
        (stringifyInstructionSet(target->isa) + ", " +
         stringifyProducts(target->products) +
         (target->isDirect ? ", direct" : ""))
            .str();
  for (const auto &[name, hash] : getDataHash())
    run["elements of '" + name + "'"] = hash;
  return run;
}

/// Gathers one text of each rank.
static Expected<std::vector<std::string>> gatherStrings(ProcessGroup &ranks,
                                                        StringRef own) {
  auto sizes = ranks.allGatherNumbers(uint64_t(own.size()));
  if (!sizes)
    return sizes.takeError();
  uint64_t most = std::max<uint64_t>(*llvm::max_element(*sizes), 1);
  std::vector<char> padded(own.begin(), own.end());
  padded.resize(most);
  auto bytes = ranks.allGather(padded);
  if (!bytes)
    return bytes.takeError();
  std::vector<std::string> strings;
  for (auto [rank, size] : llvm::enumerate(*sizes))
    strings.emplace_back(bytes->data() + rank * most, size_t(size));
  return strings;
}

/// Splits a text into lines, each of which begins with a name.
static SmallVector<StringRef> split(StringRef text) {
  SmallVector<StringRef> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  return lines;
}

Error Trainer::compareRuns() {
  std::string own;
  for (const auto &[name, value] : describeRun())
    own += name + " = " + value + "\n";
  auto strings = gatherStrings(*options.ranks, own);
  if (!strings)
    return strings.takeError();
  SmallVector<StringRef> first = split(strings->front());
  for (auto [rank, text] : llvm::enumerate(*strings)) {
    SmallVector<StringRef> lines = split(text);
    for (StringRef line : lines)
      if (!llvm::is_contained(first, line)) {
        StringRef name = line.split(" = ").first;
        const auto *there = llvm::find_if(first, [&](StringRef other) {
          return other.split(" = ").first == name;
        });
        return createStringError(
            "rank " + Twine(rank) + " is about to do something else: " + line +
            "; rank 0 has " +
            (there == first.end() ? "nothing of this name" : *there));
      }
    if (lines.size() != first.size())
      return createStringError("rank " + Twine(rank) +
                               " is about to do something else: it has fewer "
                               "inputs than rank 0");
  }
  return Error::success();
}

Error Trainer::shareStates() {
  struct Position {
    uint64_t step, epoch;
    double loss, epochLoss;
  } position = {step, last.epoch, last.loss, last.epochLoss};
  if (Error failed = options.ranks->broadcast(&position, sizeof(position)))
    return failed;
  step = last.step = position.step;
  last.epoch = position.epoch;
  last.loss = position.loss;
  last.epochLoss = position.epochLoss;
  for (unsigned index : compiled->getStates()) {
    const Tensor &state = compiled->getValues()[index];
    if (Error failed = isRange(index)
                           ? shareRange(index)
                           : options.ranks->broadcast(state.getData(),
                                                      state.getNumBytes()))
      return failed;
  }
  return Error::success();
}

Error Trainer::joinRanks() {
  if (!options.ranks)
    return Error::success();
  if (Error failed = compareRuns())
    return failed;
  if (Error failed = shareStates())
    return failed;
  options.ranks->serveModels();
  const Program &program = compiled->getProgram();
  const mp_driver *driver = program.getDriver();
  if (!driver)
    return Error::success();
  auto open = [&]() -> Expected<const mp_nccl *> {
    if (driver->is_emulated)
      return mp_emulated_nccl();
    return openNCCL();
  };
  return options.ranks->agreeOnDevices({driver, program.getDeviceNumber()},
                                       open);
}

Error Trainer::connectDevices() {
  return options.ranks ? options.ranks->connectDevices() : Error::success();
}

//===----------------------------------------------------------------------===//
// During the run
//===----------------------------------------------------------------------===//

/// Flips a bit of one rank's state, for tests: "rank=1,step=37,state=w2".
void Trainer::flipForTest() {
  const char *text = std::getenv("MPOPT_TEST_FLIP");
  if (!text)
    return;
  std::string own = ("rank=" + Twine(options.ranks->getRank()) +
                     ",step=" + Twine(step) + ",state=")
                        .str();
  StringRef wanted(text);
  if (!wanted.consume_front(own))
    return;
  for (unsigned index : compiled->getStates())
    if (compiled->getInputs()[index].name == wanted) {
      *static_cast<char *>(compiled->getValues()[index].getData()) ^= 1;
      compiled->getProgram().changeInput(index);
    }
}

static uint64_t hash(const void *data, size_t bytes) {
  return xxh3_64bits(
      ArrayRef<uint8_t>(static_cast<const uint8_t *>(data), bytes));
}

Error Trainer::compareStates() {
  if (Error failed = compiled->getProgram().fetchStates())
    return failed;
  std::vector<uint64_t> own;
  for (unsigned index : compiled->getStates()) {
    const Tensor &tensor = compiled->getValues()[index];
    if (!shards.count(index)) {
      own.push_back(hash(tensor.getData(), tensor.getNumBytes()));
      continue;
    }
    std::vector<uint16_t> bits = getSharedBits(index);
    own.push_back(hash(bits.data(), bits.size() * sizeof(uint16_t)));
  }
  ArrayRef<char> bytes(reinterpret_cast<const char *>(own.data()),
                       own.size() * sizeof(uint64_t));
  // First compare a single hash of all states.
  auto sums = options.ranks->allGatherNumbers(hash(bytes.data(), bytes.size()));
  if (!sums)
    return sums.takeError();
  if (llvm::all_equal(*sums))
    return Error::success();
  auto all = options.ranks->allGather(bytes);
  if (!all)
    return all.takeError();
  for (size_t place = 0; place < own.size(); ++place)
    for (size_t rank = 1; rank < sums->size(); ++rank) {
      auto isEqual = [&](size_t one, size_t other) {
        auto at = [&](size_t of) {
          return all->data() + (of * own.size() + place) * sizeof(uint64_t);
        };
        return std::equal(at(one), at(one) + sizeof(uint64_t), at(other));
      };
      if (isEqual(0, rank))
        continue;
      // The states must not be saved.
      compiled->setBroken();
      std::string text =
          "after step " + std::to_string(step) + ", rank " +
          std::to_string(rank) + " has other states than rank 0: '" +
          compiled->getInputs()[compiled->getStates()[place]].name +
          "' is the first of them; the last checkpoint is from "
          "before";
      // All ranks find the same difference.
      return makeError({ErrorKind::BadInput, std::move(text),
                        /*isReported=*/options.ranks->getRank() > 0,
                        /*isEverywhere=*/true});
    }
  return Error::success();
}

/// In a window of accumulated batches each rank has its own sums. Before states
/// may be kept, all ranks replace the sums by their means.
Error Trainer::shareSums() {
  if (Error failed = compiled->getProgram().fetchStates())
    return failed;
  if (compiled->getScalar(accumulatedSteps).value_or(0) == 0)
    return Error::success();
  for (unsigned index : compiled->getStates()) {
    Tensor &tensor = compiled->getValues()[index];
    if (isAccumulatedSum(compiled->getInputs()[index].name) &&
        tensor.getKind() == ElementKind::Float) {
      if (Error failed =
              options.ranks->average({static_cast<float *>(tensor.getData()),
                                      size_t(tensor.getNumElements())}))
        return failed;
      compiled->getProgram().changeInput(index);
    }
  }
  return Error::success();
}

/// True if any rank has been asked to stop.
Expected<bool> Trainer::agreeOnStop(bool isStopped) {
  isStopped |= takeStopFile();
  if (!options.ranks)
    return isStopped;
  flipForTest();
  auto all = options.ranks->allGatherNumbers(char(isStopped));
  if (!all)
    return all.takeError();
  isStopped = llvm::is_contained(*all, char(true));
  if (isStopped || step == total || step % stepsBetweenChecks == 0 ||
      step % every == 0) {
    if (Error failed = shareSums())
      return failed;
    if (Error failed = compareStates())
      return failed;
  }
  if (isStopped || step == total || step % every == 0)
    if (Error failed = gatherShards())
      return failed;
  return isStopped;
}

/// Broadcasts the decision of rank 0, which writes checkpoints. It may find an
/// end that other ranks do not see, e.g. a state that is not finite.
Expected<std::optional<TrainingEnd>>
Trainer::agreeOnEnd(std::optional<TrainingEnd> end) {
  if (!options.ranks)
    return end;
  constexpr int8_t goesOn = -1;
  int8_t code = end ? int8_t(*end) : goesOn;
  if (Error failed = options.ranks->broadcast(&code, sizeof(code)))
    return failed;
  if (code == goesOn)
    return std::nullopt;
  return TrainingEnd(code);
}

} // namespace mp
