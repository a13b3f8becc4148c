//===- Checkpoints.cpp - Saves and resumes a run --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Checkpoints.h"

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/API/Model/TensorText.h"
#include "mp-opt/Training/Optimizers.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cmath>

using namespace llvm;

namespace mp {

static const std::string statesSetting = "states";

Checkpoints::Checkpoints(const TrainerOptions &options, CheckpointLock lock,
                         const Batches &batches, RunData &data,
                         std::string content)
    : options(options), batches(batches), data(data),
      content(std::move(content)), held(std::move(lock)),
      writer(options.checkpoints, unsigned(options.keep)) {}

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

DataAttributes Checkpoints::getSettings() const {
  DataAttributes settings;
  batches.describe(settings);
  session->getSchedule().describe(session->getTotal(), settings);
  return settings;
}

/// Prints numbers with the digits of a float; other text stays unchanged.
static std::string shorten(StringRef setting) {
  double number = 0;
  bool isFraction = setting.contains('.') && !setting.getAsDouble(number);
  return isFraction ? formatShort(number) : setting.str();
}

/// The error for a run with other settings, which may nevertheless share
/// states.
static Error refuseSetting(const Twine &text, StringRef folder) {
  return createStringError("the checkpoint was made " + text +
                           "; --init=" + folder +
                           " and another --checkpoint begin a run with its "
                           "states");
}

/// Fails if a setting of a checkpoint in `folder` differs from the current
/// setting.
static Error compare(StringRef key, StringRef then, const DataAttributes &now,
                     StringRef folder) {
  auto found = now.find(key.str());
  if (found != now.end() && found->second == then)
    return Error::success();
  return refuseSetting(
      "with " + key + " = " + shorten(then) + ", now it is " +
          (found == now.end() ? "not given" : shorten(found->second)),
      folder);
}

Error Checkpoints::checkSettings(const Checkpoint &checkpoint) const {
  DataAttributes now = getSettings(), then = checkpoint.settings;
  then.erase(statesSetting);
  for (const auto &[key, text] : then)
    if (Error failed = compare(key, text, now, options.checkpoints))
      return failed;
  for (const auto &[key, text] : now)
    if (then.find(key) == then.end())
      return refuseSetting("without " + key, options.checkpoints);
  return Error::success();
}

static uint64_t getNumber(const DataAttributes &settings, StringRef key) {
  auto found = settings.find(key.str());
  uint64_t number = 0;
  if (found == settings.end() ||
      StringRef(found->second).getAsInteger(10, number))
    return 0;
  return number;
}

/// Converts a checkpoint of a run whose steps took more rows, because it had
/// more ranks, or accumulated fewer and larger batches. The step number is
/// scaled to keep the number of rows. It grows, so new checkpoints are newer
/// than existing ones.
Error Checkpoints::convert(Checkpoint &checkpoint) const {
  const StepProgram &program = session->getProgram();
  DataAttributes now = getSettings(), &then = checkpoint.settings;
  auto known = then.find(statesSetting);
  if (known == then.end() || known->second != stateHash)
    return createStringError("the checkpoint belongs to another model");
  uint64_t before = getNumber(then, "batch"), batch = getNumber(now, "batch");
  if (!before || !batch)
    return createStringError(
        "the checkpoint was made with another step: that is possible where "
        "batches are made of rows, and these data are batches already");
  for (const NamedTensor &state : checkpoint.states)
    if (state.name == accumulatedSteps && state.tensor.toDoubles().front() != 0)
      return createStringError("the checkpoint was made with another step, "
                               "within a window of accumulated batches");
  uint64_t perEpoch = batches.getCount() * batch;
  if (before % batch || perEpoch != batches.getRows() / before * before)
    return createStringError("the checkpoint was made with another step, of " +
                             Twine(before) + " rows: steps of " + Twine(batch) +
                             " rows do not continue with the same rows; "
                             "expected a divisor of it, in "
                             "epochs of as many rows");
  uint64_t factor = before / batch;
  if (options.onWarning)
    options.onWarning(options.checkpoints +
                      ": the checkpoint was made with "
                      "another step, of " +
                      Twine(before) + " rows; this one takes " + Twine(batch) +
                      ": the update is the same if it accumulates as many");
  checkpoint.step *= factor;
  then["batch"] = std::to_string(batch);
  for (StringRef key : {"warmup", "lr-step", "steps"})
    if (then.find(key.str()) != then.end())
      then[key.str()] = std::to_string(getNumber(then, key) * factor);
  // Partial sums of accumulation are discarded.
  llvm::erase_if(checkpoint.states, [](const NamedTensor &state) {
    return isOfAccumulation(state.name);
  });
  for (unsigned index : program.getStates())
    if (StringRef name = program.getInputs()[index].name;
        isOfAccumulation(name))
      checkpoint.states.push_back({name.str(), program.getValues()[index]});
  return Error::success();
}

/// Checks settings that are known before the step is compiled. The learning
/// rate is known only after that.
Error Checkpoints::checkOrigin(const Checkpoint &checkpoint) const {
  // A checkpoint of another step of the same model needs further checks.
  bool hasStates = checkpoint.settings.count(statesSetting);
  if (checkpoint.model != content)
    return hasStates
               ? Error::success()
               : createStringError("the checkpoint belongs to another model");
  DataAttributes now;
  batches.describe(now);
  for (const auto &[key, text] : now)
    if (auto then = checkpoint.settings.find(key);
        then != checkpoint.settings.end())
      if (Error failed = compare(key, then->second, now, options.checkpoints))
        return failed;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Expected<CheckpointLock> Checkpoints::lock(const TrainerOptions &options) {
  if (options.checkpoints.empty())
    return CheckpointLock();
  auto taken =
      CheckpointLock::take(options.checkpoints, [&](const Twine &warning) {
        if (options.onWarning)
          options.onWarning(warning);
      });
  if (!taken || options.resume ||
      CheckpointFolder(options.checkpoints).getSteps().empty())
    return taken;
  return createStringError(options.checkpoints +
                           ": has checkpoints of another run; --resume "
                           "continues from it");
}

Error Checkpoints::readNewest() {
  if (options.checkpoints.empty())
    return Error::success();
  CheckpointFolder folder(options.checkpoints);
  if (folder.getSteps().empty())
    return Error::success();
  auto read = folder.readNewest([&](const Twine &warning) {
    if (options.onWarning)
      options.onWarning(warning);
  });
  if (!read)
    return read.takeError();
  if (Error failed = checkOrigin(*read))
    return prefixError(options.checkpoints, std::move(failed));
  newest = std::move(*read);
  return Error::success();
}

void Checkpoints::setStates(StepSession &compiled, RunStates &all) {
  session = &compiled;
  states = &all;
  if (!options.checkpoints.empty())
    stateHash = states->hashOrigin();
}

Error Checkpoints::load(Checkpoint &checkpoint) {
  if (checkpoint.model != content)
    if (Error failed = convert(checkpoint))
      return failed;
  if (Error failed = checkSettings(checkpoint))
    return failed;
  if (Error failed = data.check(checkpoint))
    return failed;
  // Whole states belong to the step that is set before them.
  session->setCount(checkpoint.step);
  return states->set(checkpoint.states, /*needsAll=*/true);
}

Error Checkpoints::resume(StepRecord &last, std::optional<double> &validation) {
  if (!newest)
    return Error::success();
  if (Error failed = load(*newest))
    return prefixError(options.checkpoints, std::move(failed));
  uint64_t step = newest->step;
  writer.setStep(step);
  last.step = step;
  last.epoch = (std::max<uint64_t>(step, 1) - 1) / batches.getCount();
  last.loss = last.epochLoss = newest->loss.value_or(NAN);
  validation = newest->validation;
  newest.reset();
  return Error::success();
}

Expected<std::vector<NamedTensor>>
readInitStates(const TrainerOptions &options) {
  // `init` may be a single checkpoint inside a folder of checkpoints.
  SmallString<128> states(options.init);
  sys::path::append(states, "states.safetensors");
  if (sys::fs::exists(states))
    return readDataFile(states);
  if (sys::fs::is_directory(options.init) &&
      !CheckpointFolder::isOne(options.init))
    return createStringError(options.init +
                             ": expected a file with states or a folder with "
                             "checkpoints, found a folder without any");
  return readTensors(options.init, [&](const Twine &warning) {
    if (options.onWarning)
      options.onWarning(warning);
  });
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Expected<Checkpoint> Checkpoints::make(const StepRecord &last,
                                       std::optional<double> validation) {
  DataAttributes hashes = data.getHashes();
  auto all = states->get();
  if (!all)
    return all.takeError();
  Checkpoint checkpoint = session->makeCheckpoint(std::move(*all));
  checkpoint.epoch = checkpoint.step / batches.getCount();
  checkpoint.position = checkpoint.step % batches.getCount();
  checkpoint.settings = getSettings();
  if (!stateHash.empty())
    checkpoint.settings[statesSetting] = stateHash;
  checkpoint.data = std::move(hashes);
  checkpoint.dataVersion = data.getVersion();
  if (std::isfinite(last.loss))
    checkpoint.loss = last.loss;
  if (validation && std::isfinite(*validation))
    checkpoint.validation = validation;
  return checkpoint;
}

Error Checkpoints::writeTo(StringRef folder, const StepRecord &last,
                           std::optional<double> validation) {
  auto made = make(last, validation);
  if (!made)
    return made.takeError();
  return CheckpointFolder(folder).write(*made, unsigned(options.keep));
}

bool Checkpoints::takeStopFile() const {
  if (options.checkpoints.empty())
    return false;
  SmallString<128> path(options.checkpoints);
  sys::path::append(path, "stop");
  return sys::fs::exists(path) && !sys::fs::remove(path);
}

Error Checkpoints::write(const StepRecord &last,
                         std::optional<double> validation) {
  if (Error failed = writer.finish())
    return failed;
  if (options.checkpoints.empty() || writer.getStep() == session->getCount())
    return Error::success();
  auto made = make(last, validation);
  if (!made)
    return made.takeError();
  if (Error failed = writer.start(std::move(*made)))
    return failed;
  return session->getProgram().getProgram().hasStatesApart() ? Error::success()
                                                             : writer.finish();
}

} // namespace mp
