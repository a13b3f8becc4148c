//===- RankAgreement.cpp - One run of several ranks -----------------------===//
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

#include "RankAgreement.h"

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

void RankAgreement::configureRank(TrainerOptions &options) {
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
static DataAttributes describeRun(DataAttributes run,
                                  const DataAttributes &dataHashes,
                                  const StepSession &session,
                                  const TrainerOptions &options) {
  run["version"] = MPOPT_VERSION;
  run["training step"] = session.getContent();
  run["steps in all"] = std::to_string(session.getTotal());
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
  for (const auto &[name, hash] : dataHashes)
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

Error RankAgreement::compareRuns(const DataAttributes &run) {
  std::string own;
  for (const auto &[name, value] : run)
    own += name + " = " + value + "\n";
  auto strings = gatherStrings(*ranks, own);
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

Error RankAgreement::shareStates(StepRecord &last) {
  struct Position {
    uint64_t step, epoch;
    double loss, epochLoss;
  } position = {session.getCount(), last.epoch, last.loss, last.epochLoss};
  if (Error failed = ranks->broadcast(&position, sizeof(position)))
    return failed;
  session.setCount(position.step);
  last.step = position.step;
  last.epoch = position.epoch;
  last.loss = position.loss;
  last.epochLoss = position.epochLoss;
  for (unsigned index : program.getStates()) {
    const Tensor &state = program.getValues()[index];
    if (Error failed =
            shards.isRange(index)
                ? shards.share(index)
                : ranks->broadcast(state.getData(), state.getNumBytes()))
      return failed;
  }
  return Error::success();
}

Error RankAgreement::join(DataAttributes settings,
                          const DataAttributes &dataHashes, StepRecord &last) {
  if (!ranks)
    return Error::success();
  if (Error failed = compareRuns(
          describeRun(std::move(settings), dataHashes, session, options)))
    return failed;
  if (Error failed = shareStates(last))
    return failed;
  ranks->serveModels();
  const Program &compiled = program.getProgram();
  const mp_driver *driver = compiled.getDriver();
  if (!driver)
    return Error::success();
  auto open = [&]() -> Expected<const mp_nccl *> {
    if (driver->is_emulated)
      return mp_emulated_nccl();
    return openNCCL();
  };
  return ranks->agreeOnDevices({driver, compiled.getDeviceNumber()}, open);
}

Error RankAgreement::connectDevices() {
  return ranks ? ranks->connectDevices() : Error::success();
}

//===----------------------------------------------------------------------===//
// During the run
//===----------------------------------------------------------------------===//

/// Flips a bit of one rank's state, for tests: "rank=1,step=37,state=w2".
void RankAgreement::flipForTest() {
  const char *text = std::getenv("MPOPT_TEST_FLIP");
  if (!text)
    return;
  std::string own = ("rank=" + Twine(ranks->getRank()) +
                     ",step=" + Twine(session.getCount()) + ",state=")
                        .str();
  StringRef wanted(text);
  if (!wanted.consume_front(own))
    return;
  for (unsigned index : program.getStates())
    if (program.getInputs()[index].name == wanted) {
      *static_cast<char *>(program.getValues()[index].getData()) ^= 1;
      program.getProgram().changeInput(index);
    }
}

static uint64_t hash(const void *data, size_t bytes) {
  return xxh3_64bits(
      ArrayRef<uint8_t>(static_cast<const uint8_t *>(data), bytes));
}

/// The error for a state that differs on `rank`. All ranks find the same
/// difference. The states must not be saved.
Error RankAgreement::refuseState(unsigned input, size_t rank) {
  program.setBroken();
  std::string text =
      "after step " + std::to_string(session.getCount()) + ", rank " +
      std::to_string(rank) + " has other states than rank 0: '" +
      program.getInputs()[input].name +
      "' is the first of them; the last checkpoint is from before";
  return makeError({ErrorKind::BadInput, std::move(text),
                    /*isReported=*/ranks->getRank() > 0,
                    /*isEverywhere=*/true});
}

Error RankAgreement::compareStates() {
  if (Error failed = program.getProgram().fetchStates())
    return failed;
  std::vector<uint64_t> own;
  for (unsigned index : program.getStates()) {
    const Tensor &tensor = program.getValues()[index];
    if (!shards.contains(index)) {
      own.push_back(hash(tensor.getData(), tensor.getNumBytes()));
      continue;
    }
    std::vector<uint16_t> bits = shards.getSharedBits(index);
    own.push_back(hash(bits.data(), bits.size() * sizeof(uint16_t)));
  }
  ArrayRef<char> bytes(reinterpret_cast<const char *>(own.data()),
                       own.size() * sizeof(uint64_t));
  // First compare a single hash of all states.
  auto sums = ranks->allGatherNumbers(hash(bytes.data(), bytes.size()));
  if (!sums)
    return sums.takeError();
  if (llvm::all_equal(*sums))
    return Error::success();
  auto all = ranks->allGather(bytes);
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
      return refuseState(program.getStates()[place], rank);
    }
  return Error::success();
}

/// In a window of accumulated batches each rank has its own sums. Before states
/// may be kept, all ranks replace the sums by their means.
Error RankAgreement::shareSums() {
  if (Error failed = program.getProgram().fetchStates())
    return failed;
  if (program.getScalar(accumulatedSteps).value_or(0) == 0)
    return Error::success();
  for (unsigned index : program.getStates()) {
    Tensor &tensor = program.getValues()[index];
    if (isAccumulatedSum(program.getInputs()[index].name) &&
        tensor.getKind() == ElementKind::Float) {
      if (Error failed = ranks->average({static_cast<float *>(tensor.getData()),
                                         size_t(tensor.getNumElements())}))
        return failed;
      program.getProgram().changeInput(index);
    }
  }
  return Error::success();
}

Expected<bool> RankAgreement::agreeOnStop(bool isStopped, bool isSaved) {
  if (!ranks)
    return isStopped;
  flipForTest();
  auto all = ranks->allGatherNumbers(char(isStopped));
  if (!all)
    return all.takeError();
  isStopped = llvm::is_contained(*all, char(true));
  isSaved |= isStopped;
  if (isSaved || session.getCount() % stepsBetweenChecks == 0) {
    if (Error failed = shareSums())
      return failed;
    if (Error failed = compareStates())
      return failed;
  }
  if (isSaved)
    if (Error failed = shards.gather())
      return failed;
  return isStopped;
}

Expected<std::optional<TrainingEnd>>
RankAgreement::agreeOnEnd(std::optional<TrainingEnd> end) {
  if (!ranks)
    return end;
  constexpr int8_t goesOn = -1;
  int8_t code = end ? int8_t(*end) : goesOn;
  if (Error failed = ranks->broadcast(&code, sizeof(code)))
    return failed;
  if (code == goesOn)
    return std::nullopt;
  return TrainingEnd(code);
}

} // namespace mp
