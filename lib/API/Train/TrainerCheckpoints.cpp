//===- TrainerCheckpoints.cpp - Saves and resumes runs --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/Trainer.h"

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/API/Model/TensorText.h"
#include "mp-opt/Training/Optimizers.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <cmath>

using namespace llvm;

namespace mp {

static const std::string statesSetting = "states";

DataAttributes Trainer::getSettings() const {
  DataAttributes settings;
  batches.describe(settings);
  options.rate.describe(total, settings);
  return settings;
}

/// True if a state belongs to accumulation. Steps that accumulate a different
/// number of batches share all other states.
static bool isOfAccumulation(StringRef state) {
  return state == accumulatedSteps || isAccumulatedSum(state);
}

/// A hash of everything that steps of one model and optimizer have in common:
/// names and types of states, and initial parameters.
std::string Trainer::hashStates() const {
  ArrayRef<ProgramValue> takes = compiled->getInputs();
  StringSet<> names;
  for (unsigned index : compiled->getStates())
    names.insert(takes[index].name);
  std::string text;
  raw_string_ostream os(text);
  for (unsigned index : compiled->getStates()) {
    StringRef name = takes[index].name;
    if (isOfAccumulation(name))
      continue;
    ArrayRef<int64_t> sizes = isRange(index)
                                  ? ArrayRef<int64_t>(shards.at(index)->sizes)
                                  : compiled->getValues()[index].getSizes();
    os << name << " " << describeType(takes[index].kind, sizes) << "\n";
    // States of an optimizer have the parameter's name as a prefix.
    if (names.contains(name.rsplit('.').first) && name.contains('.'))
      continue;
    const Tensor &initial = compiled->getValues()[index];
    uint64_t content = xxh3_64bits(
        ArrayRef<uint8_t>(static_cast<const uint8_t *>(initial.getData()),
                          initial.getNumBytes()));
    os << content << "\n";
  }
  return getContentName(text);
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

Error Trainer::checkSettings(const Checkpoint &checkpoint) const {
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
Error Trainer::convertCheckpoint(Checkpoint &checkpoint) const {
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
  for (unsigned index : compiled->getStates())
    if (StringRef name = compiled->getInputs()[index].name;
        isOfAccumulation(name))
      checkpoint.states.push_back({name.str(), compiled->getValues()[index]});
  return Error::success();
}

/// Checks settings that are known before the step is compiled. The learning
/// rate is known only after that.
Error Trainer::checkOrigin(const Checkpoint &checkpoint) const {
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

/// Runs without checkpoints need hashes for one that is written in need.
const DataAttributes &Trainer::getDataHash() {
  if (!reading)
    return knownData;
  if (reading->getHashes().empty()) {
    std::vector<ReadData> files{{dataPath, batches.getTensors(), false, true}};
    reading =
        std::make_unique<DataPass>(std::move(files), StringMap<DataRule>());
  }
  return reading->getHashes();
}

/// Checks the data by their hashes. Files that have not changed since the
/// checkpoint are not read again.
Error Trainer::checkData(const Checkpoint &checkpoint) {
  if (!checkpoint.data.empty() && !dataVersion.empty() &&
      checkpoint.dataVersion == dataVersion) {
    knownData = checkpoint.data;
    reading.reset();
    return Error::success();
  }
  if (checkpoint.data.empty()) {
    if (options.onWarning)
      options.onWarning(options.checkpoints +
                        ": the checkpoint does not say what is in the data: "
                        "they are taken for the same");
    return Error::success();
  }
  for (const auto &[name, hash] : getDataHash()) {
    auto known = checkpoint.data.find(name);
    if (known == checkpoint.data.end() || known->second != hash)
      return createStringError("the checkpoint was made with other data: '" +
                               name +
                               "' has the same sizes, but not the same "
                               "elements");
  }
  return Error::success();
}

/// Starts reading the data while the step is compiled.
Error Trainer::readData() {
  ReadData read{dataPath, batches.getTensors(), !batches.areRows(),
                !options.checkpoints.empty() || options.ranks};
  std::vector<ReadData> files{std::move(read)};
  if (options.validation) {
    const DataSet &data = *options.validation;
    files.push_back({data.path, {}, !batches.areRows(), false});
    for (const NamedTensor &named : data.inputs)
      if (llvm::any_of(files.front().tensors, [&](const NamedTensor &input) {
            return input.name == named.name;
          }))
        files.back().tensors.push_back(named);
  }
  reading = std::make_unique<DataPass>(std::move(files),
                                       findDataRules(model->getModule()));
  return Error::success();
}

/// Checks before the first step if the step can be trained on the data. Data
/// that a checkpoint has recorded were checked before.
Error Trainer::judgeData() {
  return reading ? reading->check() : Error::success();
}

Error Trainer::readCheckpoint() {
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
  checkpoint = std::move(*read);
  return Error::success();
}

Error Trainer::resume() {
  if (!checkpoint)
    return Error::success();
  auto fail = [&](Error error) {
    return prefixError(options.checkpoints, std::move(error));
  };
  if (checkpoint->model != content)
    if (Error failed = convertCheckpoint(*checkpoint))
      return fail(std::move(failed));
  if (Error failed = checkSettings(*checkpoint))
    return fail(std::move(failed));
  if (Error failed = checkData(*checkpoint))
    return fail(std::move(failed));
  if (Error failed = setStates(checkpoint->states, /*needsAll=*/true))
    return fail(std::move(failed));
  step = checkpoint->step;
  gatheredStep = step;
  writer.setStep(step);
  last.step = step;
  last.epoch = (std::max<uint64_t>(step, 1) - 1) / batches.getCount();
  last.loss = last.epochLoss = checkpoint->loss.value_or(NAN);
  validation = checkpoint->validation;
  checkpoint.reset();
  return Error::success();
}

Expected<Checkpoint> Trainer::makeCheckpoint() {
  Checkpoint checkpoint;
  checkpoint.step = step;
  checkpoint.epoch = step / batches.getCount();
  checkpoint.position = step % batches.getCount();
  checkpoint.model = content;
  checkpoint.settings = getSettings();
  if (!stateHash.empty())
    checkpoint.settings[statesSetting] = stateHash;
  checkpoint.data = getDataHash();
  checkpoint.dataVersion = dataVersion;
  if (std::isfinite(last.loss))
    checkpoint.loss = last.loss;
  if (validation && std::isfinite(*validation))
    checkpoint.validation = validation;
  auto states = getStates();
  if (!states)
    return states.takeError();
  checkpoint.states = std::move(*states);
  return checkpoint;
}

Error Trainer::writeCheckpoint(StringRef folder) {
  auto made = makeCheckpoint();
  if (!made)
    return made.takeError();
  return CheckpointFolder(folder).write(*made, unsigned(options.keep));
}

/// A file named `stop` next to the checkpoints also stops the run, for users
/// who cannot send a signal, e.g. because the launcher would end the run at
/// once. The file is removed.
bool Trainer::takeStopFile() const {
  if (options.checkpoints.empty())
    return false;
  SmallString<128> path(options.checkpoints);
  sys::path::append(path, "stop");
  return sys::fs::exists(path) && !sys::fs::remove(path);
}

/// Writes a checkpoint. Steps on a device continue meanwhile, since they change
/// other memory.
Error Trainer::writeCheckpoint() {
  if (Error failed = writer.finish())
    return failed;
  if (options.checkpoints.empty() || writer.getStep() == step)
    return Error::success();
  auto made = makeCheckpoint();
  if (!made)
    return made.takeError();
  if (Error failed = writer.start(std::move(*made)))
    return failed;
  return compiled->getProgram().hasStatesApart() ? Error::success()
                                                 : writer.finish();
}

} // namespace mp
