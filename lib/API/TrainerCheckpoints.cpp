//===- TrainerCheckpoints.cpp - How a run is kept and taken up ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Trainer.h"

#include "mp-opt/API/Error.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cmath>

using namespace llvm;

namespace mp {

DataAttributes Trainer::getSettings() const {
  DataAttributes settings;
  batches.describe(settings);
  options.rate.describe(total, settings);
  return settings;
}

/// Fails where a setting of a checkpoint is not what it is now.
static Error compare(StringRef key, StringRef then, const DataAttributes &now) {
  auto found = now.find(key.str());
  if (found != now.end() && found->second == then)
    return Error::success();
  return createStringError(
      "the checkpoint was made with " + key + " = " + then + ", now it is " +
      (found == now.end() ? "not given" : Twine(found->second)));
}

Error Trainer::checkSettings(const Checkpoint &checkpoint) const {
  DataAttributes now = getSettings();
  for (const auto &[key, text] : checkpoint.settings)
    if (Error failed = compare(key, text, now))
      return failed;
  for (const auto &[key, text] : now)
    if (checkpoint.settings.find(key) == checkpoint.settings.end())
      return createStringError("the checkpoint was made without " + key);
  return Error::success();
}

/// What is known before the step is compiled, which gives the rate.
Error Trainer::checkOrigin(const Checkpoint &checkpoint) const {
  if (checkpoint.model != content)
    return createStringError("the checkpoint belongs to another model");
  DataAttributes now;
  batches.describe(now);
  for (const auto &[key, text] : now)
    if (auto then = checkpoint.settings.find(key);
        then != checkpoint.settings.end())
      if (Error failed = compare(key, then->second, now))
        return failed;
  return Error::success();
}

const DataAttributes &Trainer::getDataHash() {
  if (!hashing && knownData.empty())
    hashing = std::make_unique<DataHash>(batches.getTensors());
  return hashing ? hashing->get() : knownData;
}

/// Files that have not changed since are not read again.
Error Trainer::checkData(const Checkpoint &checkpoint) {
  if (!checkpoint.data.empty() && !dataVersion.empty() &&
      checkpoint.dataVersion == dataVersion) {
    knownData = checkpoint.data;
    hashing.reset();
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

Error Trainer::readCheckpoint() {
  if (options.checkpoints.empty())
    return Error::success();
  // While the step is compiled.
  hashing = std::make_unique<DataHash>(batches.getTensors());
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
  if (Error failed = checkSettings(*checkpoint))
    return fail(std::move(failed));
  if (Error failed = checkData(*checkpoint))
    return fail(std::move(failed));
  if (Error failed = compiled->setStates(checkpoint->states, /*needsAll=*/true))
    return fail(std::move(failed));
  step = checkpoint->step;
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

/// For those who cannot send a signal, as to a run whose launcher ends it at
/// once: a file `stop` beside the checkpoints. It is taken away.
bool Trainer::takeStopFile() const {
  if (options.checkpoints.empty())
    return false;
  SmallString<128> path(options.checkpoints);
  sys::path::append(path, "stop");
  return sys::fs::exists(path) && !sys::fs::remove(path);
}

/// Steps on a device go on while it is written: they change other memory.
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
