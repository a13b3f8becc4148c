//===- Trainer.cpp - Step after step --------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Trainer.h"

#include "mp-opt/API/Session.h"
#include "mp-opt/API/TrainedModel.h"
#include "mp-opt/API/TrainingLog.h"

#include <cmath>

using namespace llvm;

namespace mp {

// The names that mp-opt --train gives.
static constexpr StringLiteral lossName = "loss";
static constexpr StringLiteral partPrefix = "loss.";
static constexpr StringLiteral rateName = "learning_rate";
static constexpr StringLiteral scaleName = "loss_scale";
static constexpr StringLiteral skippedName = "loss_scale.skipped_steps";

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

Trainer::Trainer(std::unique_ptr<Model> model, std::unique_ptr<Program> program,
                 Batches batches, TrainerOptions given)
    : model(std::move(model)), program(std::move(program)),
      batches(std::move(batches)), options(std::move(given)),
      content(getContentName(this->model->getContent())),
      total(options.steps ? options.steps
                          : options.epochs * this->batches.getCount()),
      every(options.every ? options.every : this->batches.getCount()) {}

Expected<std::unique_ptr<Trainer>> Trainer::create(std::unique_ptr<Model> model,
                                                   const DataSet &data,
                                                   TrainerOptions options) {
  CompileOptions compile = options.compile;
  auto inputs = model->getInputs(compile.dims);
  if (!inputs)
    return inputs.takeError();
  auto batches = Batches::create(*inputs, data, options.batches);
  if (!batches && !data.path.empty())
    return addContext(data.path, batches.takeError());
  if (!batches)
    return batches.takeError();
  std::vector<Tensor> first(inputs->size());
  if (Error failed = batches->load(0, first))
    return failed;
  addSizes(*inputs, first, compile);
  compile.updateInPlace = true;
  auto program = model->compile(compile);
  if (!program)
    return program.takeError();
  std::unique_ptr<Trainer> trainer(
      new Trainer(std::move(model), std::move(*program), std::move(*batches),
                  std::move(options)));
  for (auto step :
       {&Trainer::start, &Trainer::findRate, &Trainer::checkAverages,
        &Trainer::readInit, &Trainer::openCheckpoints})
    if (Error failed = ((*trainer).*step)())
      return failed;
  return trainer;
}

Error Trainer::start() {
  ArrayRef<ProgramValue> takes = program->getInputs();
  inputs.resize(takes.size());
  std::optional<unsigned> loss;
  for (const auto &[index, output] : llvm::enumerate(program->getOutputs())) {
    if (output.name == lossName)
      loss = index;
    if (output.state >= 0)
      states.push_back(unsigned(output.state));
  }
  if (!loss || states.empty())
    return createStringError(
        "expected a training step, as mp-opt --train makes it: the model has " +
        Twine(loss ? "no output NAME_new for an input NAME"
                   : "no output 'loss'"));
  lossOutput = *loss;
  for (unsigned index : states) {
    if (!takes[index].hasDefault)
      return createStringError("state '" + takes[index].name +
                               "' has no default to start with");
    // Steps write over their states.
    Expected<Tensor> state = program->takeDefault(index);
    if (!state)
      return prefixError("state '" + takes[index].name + "'",
                         state.takeError());
    inputs[index] = std::move(*state);
  }
  return Error::success();
}

Error Trainer::findRate() {
  for (const auto &[index, input] : llvm::enumerate(program->getInputs()))
    if (input.name == rateName)
      rateInput = index;
  if (rateInput && !options.rate.base)
    options.rate.base = program->getDefault(*rateInput).toDoubles().front();
  else if (!rateInput && (options.rate.base || !options.rate.isFixed()))
    return createStringError("the model has no input '" + rateName +
                             "': --lr and its schedule do not apply");
  if (options.rate.schedule == RateSchedule::Step && !options.rate.interval)
    return createStringError("a learning rate that falls in steps needs an "
                             "interval");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

Error Trainer::checkAverages() {
  std::vector<NamedTensor> all = getStates();
  if (options.average && takeAverages(all).size() == all.size())
    return createStringError("the model has no averages of parameters, as "
                             "mp-opt --average adds them");
  return Error::success();
}

Error Trainer::readInit() {
  if (options.init.empty())
    return Error::success();
  auto read = readDataFile(options.init);
  if (!read)
    return read.takeError();
  if (Error failed = setStates(*read))
    return prefixError(options.init, std::move(failed));
  return Error::success();
}

Error Trainer::setStates(ArrayRef<NamedTensor> given) {
  return setStates(given, /*needsAll=*/false);
}

Error Trainer::setStates(ArrayRef<NamedTensor> given, bool needsAll) {
  ArrayRef<ProgramValue> takes = program->getInputs();
  StringMap<unsigned> places;
  for (unsigned index : states)
    places[takes[index].name] = index;
  for (const auto &[name, tensor] : given) {
    auto place = places.find(name);
    if (place == places.end())
      return createStringError("the model has no state '" + name + "'");
    const ProgramValue &input = takes[place->second];
    if (input.kind != tensor.getKind() ||
        inputs[place->second].getSizes() != tensor.getSizes())
      return createStringError(
          "state '" + name + "': expected " +
          describeType(input.kind, inputs[place->second].getSizes()) +
          ", found " + describeType(tensor.getKind(), tensor.getSizes()));
    Expected<Tensor> copy = tensor.clone();
    if (!copy)
      return prefixError("state '" + name + "'", copy.takeError());
    inputs[place->second] = std::move(*copy);
    places.erase(place);
  }
  if (needsAll && !places.empty())
    return createStringError("state '" + places.begin()->getKey() +
                             "' is missing");
  return Error::success();
}

std::vector<NamedTensor> Trainer::getStates() const {
  std::vector<NamedTensor> named;
  for (unsigned index : states)
    named.push_back({program->getInputs()[index].name, inputs[index]});
  return named;
}

std::vector<NamedTensor> Trainer::getResult() const {
  return options.average ? takeAverages(getStates()) : getStates();
}

std::optional<double> Trainer::getScalar(StringRef state) const {
  for (unsigned index : states)
    if (program->getInputs()[index].name == state &&
        inputs[index].getNumElements() == 1)
      return inputs[index].toDoubles().front();
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

DataAttributes Trainer::getSettings() const {
  DataAttributes settings;
  batches.describe(settings);
  options.rate.describe(total, settings);
  return settings;
}

Error Trainer::checkSettings(const Checkpoint &checkpoint) const {
  if (checkpoint.model != content)
    return createStringError("the checkpoint belongs to another model");
  DataAttributes now = getSettings();
  for (const auto &[key, text] : checkpoint.settings) {
    auto found = now.find(key);
    if (found == now.end() || found->second != text)
      return createStringError(
          "the checkpoint was made with " + key + " = " + text +
          ", now it is " + (found == now.end() ? "not given" : found->second));
    now.erase(found);
  }
  if (!now.empty())
    return createStringError("the checkpoint was made without " +
                             now.begin()->first);
  return Error::success();
}

Error Trainer::openCheckpoints() {
  if (options.checkpoints.empty())
    return Error::success();
  CheckpointFolder folder(options.checkpoints);
  if (folder.getSteps().empty())
    return Error::success();
  if (!options.resume)
    return createStringError(options.checkpoints +
                             ": has checkpoints of "
                             "another run; --resume goes on with it");
  auto checkpoint = folder.readNewest([&](const Twine &warning) {
    if (options.onWarning)
      options.onWarning(warning);
  });
  if (!checkpoint)
    return checkpoint.takeError();
  auto fail = [&](Error error) {
    return prefixError(options.checkpoints, std::move(error));
  };
  if (Error failed = checkSettings(*checkpoint))
    return fail(std::move(failed));
  if (Error failed = setStates(checkpoint->states, /*needsAll=*/true))
    return fail(std::move(failed));
  step = checkpoint->step;
  written = step;
  return Error::success();
}

Error Trainer::writeCheckpoint() {
  if (options.checkpoints.empty() || written == step)
    return Error::success();
  Checkpoint checkpoint;
  checkpoint.step = step;
  checkpoint.epoch = step / batches.getCount();
  checkpoint.position = step % batches.getCount();
  checkpoint.model = content;
  checkpoint.settings = getSettings();
  checkpoint.states = getStates();
  if (Error failed = CheckpointFolder(options.checkpoints)
                         .write(checkpoint, unsigned(options.keep)))
    return failed;
  written = step;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Error Trainer::setRate() {
  if (!rateInput)
    return Error::success();
  const ProgramValue &input = program->getInputs()[*rateInput];
  Tensor known = program->getDefault(*rateInput);
  Expected<Tensor> rate = Tensor::create(input.kind, known.getSizes());
  if (!rate)
    return rate.takeError();
  double value = options.rate.at(step, total);
  last.rate = value;
  if (input.kind == ElementKind::Float)
    rate->get<float>()[0] = float(value);
  else if (input.kind == ElementKind::Double)
    rate->get<double>()[0] = value;
  else
    return createStringError("input '" + input.name + "': a rate of type " +
                             describeType(input.kind, input.sizes) +
                             " is not supported");
  inputs[*rateInput] = std::move(*rate);
  return Error::success();
}

/// The losses that the loss is a sum of.
void Trainer::readParts() {
  last.parts.clear();
  for (auto [value, tensor] : llvm::zip(program->getOutputs(), outputs))
    if (StringRef name = value.name; name.consume_front(partPrefix) &&
                                     value.state < 0 &&
                                     tensor.getNumElements() == 1)
      last.parts.emplace_back(name.str(), tensor.toDoubles().front());
}

Error Trainer::makeStep() {
  if (Error failed = batches.load(step, inputs))
    return failed;
  if (Error failed = setRate())
    return failed;
  // A run that is resumed goes on with the random numbers it would have had.
  program->setCallNumber(step);
  if (Error failed = program->run(inputs, outputs))
    return failed;
  for (auto [value, tensor] : llvm::zip(program->getOutputs(), outputs))
    if (value.state >= 0)
      inputs[value.state] = tensor;
  std::vector<double> loss = outputs[lossOutput].toDoubles();
  if (loss.size() != 1)
    return createStringError(
        "expected one number as the output 'loss', found " +
        Twine(loss.size()));
  last.epoch = step / batches.getCount();
  last.step = ++step;
  last.loss = loss.front();
  readParts();
  last.scale = getScalar(scaleName);
  last.skipped = getScalar(skippedName);
  return Error::success();
}

std::string Trainer::describeDivergence() const {
  std::string text = "the loss of step " + std::to_string(step) + " is " +
                     (std::isnan(last.loss) ? "NaN" : "infinite");
  if (written)
    text += "; the last checkpoint is that of step " + std::to_string(*written);
  return text;
}

Expected<TrainingEnd> Trainer::run(const TrainingObserver &observer) {
  // Dynamic loss scaling skips steps until it has found its scale.
  constexpr unsigned maxSkipped = 64;
  unsigned skipped = 0;
  std::optional<TrainingLog> log;
  if (!options.log.empty()) {
    auto opened = TrainingLog::open(options.log, step);
    if (!opened)
      return opened.takeError();
    log = std::move(*opened);
  }
  // What is trained was copied.
  model->releasePages();
  while (step < total) {
    std::optional<double> before = getScalar(skippedName);
    if (Error failed = makeStep())
      return failed;
    if (log)
      if (Error failed = log->add(last))
        return failed;
    if (observer.onStep)
      if (Error failed = observer.onStep(last))
        return failed;
    bool wasSkipped = before && last.skipped && *last.skipped > *before;
    skipped = wasSkipped ? skipped + 1 : 0;
    if (!std::isfinite(last.loss) && (!wasSkipped || skipped > maxSkipped))
      return TrainingEnd::Diverged;
    bool isStopped = observer.shouldStop && observer.shouldStop();
    if (step % every == 0 || isStopped || step == total)
      if (Error failed = writeCheckpoint())
        return failed;
    if (isStopped)
      return TrainingEnd::Stopped;
  }
  return TrainingEnd::Finished;
}

} // namespace mp
