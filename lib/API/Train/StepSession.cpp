//===- StepSession.cpp - Training steps, one by one -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/StepSession.h"

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/API/Train/TrainingStep.h"

#include "llvm/Support/FileSystem.h"

#include <cmath>

using namespace llvm;

namespace mp {

Expected<std::unique_ptr<StepSession>>
StepSession::create(Model &model, CompileOptions options, std::string content) {
  auto program = StepProgram::create(model, std::move(options));
  if (!program)
    return program.takeError();
  return std::unique_ptr<StepSession>(
      new StepSession(std::move(*program), std::move(content)));
}

//===----------------------------------------------------------------------===//
// Rates
//===----------------------------------------------------------------------===//

Error StepSession::setSchedule(LearningRate given, uint64_t steps,
                               StringRef flag) {
  if (!program->hasRate() && (given.base || !given.isFixed()))
    return createStringError("the model has no input '" + rateName +
                             "': " + flag + " and its schedule do not apply");
  if (given.schedule == RateSchedule::Step && !given.interval)
    return createStringError("a learning rate that falls in steps needs an "
                             "interval");
  if (program->hasRate() && !given.base)
    given.base = program->getDefaultRate();
  schedule = given;
  total = steps;
  return Error::success();
}

Error StepSession::setRate(std::optional<double> own) {
  if (own && !program->hasRate())
    return createStringError("the model has no input '" + rateName + "'");
  if (own && !(*own >= 0 && std::isfinite(*own)))
    return createStringError("lr: expected a number of at least 0");
  if (!program->hasRate())
    return Error::success();
  rate = own ? *own : schedule.at(count, std::max(total, count + 1));
  return program->setRate(*rate);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Error StepSession::runDoubtful(int64_t number, StringRef doubt) {
  auto states = program->fetchStates();
  if (!states)
    return states.takeError();
  for (NamedTensor &state : *states) {
    Expected<Tensor> copy = state.tensor.clone();
    if (!copy)
      return copy.takeError();
    state.tensor = std::move(*copy);
  }
  Error failed = program->run(number);
  if (!failed)
    return failed;
  std::string text = toString(std::move(failed));
  if (Error lost = program->setStates(*states, /*needsAll=*/true))
    return lost;
  return createStringError(doubt + ": " + text);
}

Error StepSession::run(int64_t number, StringRef doubt, MeanwhileFn meanwhile) {
  if (Error failed = doubt.empty() ? program->run(number, meanwhile)
                                   : runDoubtful(number, doubt))
    return addContext("step " + Twine(count + 1), std::move(failed));
  ++count;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

Checkpoint StepSession::makeCheckpoint(std::vector<NamedTensor> states) const {
  Checkpoint checkpoint;
  checkpoint.step = count;
  checkpoint.model = content;
  checkpoint.states = std::move(states);
  return checkpoint;
}

static bool isDataFile(StringRef path) {
  return path.ends_with(".npz") || path.ends_with(".safetensors");
}

Error StepSession::save(StringRef path, unsigned keep) {
  auto states = program->fetchStates();
  if (!states)
    return states.takeError();
  if (isDataFile(path))
    return writeDataFile(path, *states);
  return CheckpointFolder(path).write(makeCheckpoint(std::move(*states)),
                                      std::max(keep, 1u));
}

Error StepSession::load(StringRef path,
                        function_ref<void(const Twine &warning)> onWarning) {
  if (!sys::fs::is_directory(path)) {
    auto states = readDataFile(path);
    if (!states)
      return states.takeError();
    if (Error failed = program->setStates(*states, /*needsAll=*/false))
      return prefixError(path, std::move(failed));
    return Error::success();
  }
  auto checkpoint = CheckpointFolder(path).readNewest(onWarning);
  if (!checkpoint)
    return checkpoint.takeError();
  if (checkpoint->model != content)
    return createStringError(path + ": the checkpoint belongs to another "
                                    "model");
  if (Error failed = program->setStates(checkpoint->states, /*needsAll=*/true))
    return prefixError(path, std::move(failed));
  count = checkpoint->step;
  return Error::success();
}

} // namespace mp
