//===- Trainer.cpp - Step after step --------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trainer.h"
#include "ExitCodes.h"
#include "Interrupt.h"

#include "mp-opt/Support/Rounding.h"

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
// States
//===----------------------------------------------------------------------===//

Error Trainer::start() {
  ArrayRef<ProgramValue> takes = program.getInputs();
  inputs.resize(takes.size());
  std::optional<unsigned> loss;
  for (const auto &[index, output] : llvm::enumerate(program.getOutputs())) {
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
    Expected<Tensor> state = program.takeDefault(index);
    if (!state)
      return prefixError("state '" + takes[index].name + "'",
                         state.takeError());
    inputs[index] = std::move(*state);
  }
  for (const auto &[index, input] : llvm::enumerate(takes))
    if (input.name == rateName)
      rateInput = index;
  if (rateInput && !options.rate.base)
    options.rate.base = program.getDefault(*rateInput).toDoubles().front();
  else if (!rateInput && (options.rate.base || !options.rate.isFixed()))
    return createStringError("the model has no input '" + rateName +
                             "': --lr and its schedule do not apply");
  return Error::success();
}

Error Trainer::setStates(ArrayRef<NamedTensor> given, bool needsAll) {
  ArrayRef<ProgramValue> takes = program.getInputs();
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
    named.push_back({program.getInputs()[index].name, inputs[index]});
  return named;
}

std::optional<double> Trainer::getScalar(StringRef state) const {
  for (unsigned index : states)
    if (program.getInputs()[index].name == state &&
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
  options.rate.describe(options.total, settings);
  return settings;
}

Error Trainer::checkSettings(const Checkpoint &checkpoint) const {
  if (checkpoint.model != options.model)
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

Expected<bool> Trainer::resume(TrainingLog &log) {
  CheckpointFolder folder(options.checkpoints);
  if (folder.getSteps().empty())
    return false;
  auto checkpoint = folder.readNewest(
      [&](const Twine &warning) { log.note("warning: " + warning); });
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
  return true;
}

Error Trainer::writeCheckpoint() {
  if (options.checkpoints.empty() || written == step)
    return Error::success();
  Checkpoint checkpoint;
  checkpoint.step = step;
  checkpoint.epoch = step / batches.getCount();
  checkpoint.position = step % batches.getCount();
  checkpoint.model = options.model;
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
  const ProgramValue &input = program.getInputs()[*rateInput];
  Tensor known = program.getDefault(*rateInput);
  Expected<Tensor> rate = Tensor::create(input.kind, known.getSizes());
  if (!rate)
    return rate.takeError();
  double value = options.rate.at(step, options.total);
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
  for (auto [value, tensor] : llvm::zip(program.getOutputs(), outputs))
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
  program.setCallNumber(step);
  if (Error failed = program.run(inputs, outputs))
    return failed;
  for (auto [value, tensor] : llvm::zip(program.getOutputs(), outputs))
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

Expected<int> Trainer::run(TrainingLog &log) {
  // Dynamic loss scaling skips steps until it has found its scale.
  constexpr unsigned mostSkipped = 64;
  unsigned skipped = 0;
  Interrupt interrupt;
  while (step < options.total) {
    std::optional<double> before = getScalar(skippedName);
    if (Error failed = makeStep())
      return failed;
    if (Error failed = log.add(last))
      return failed;
    bool wasSkipped = before && last.skipped && *last.skipped > *before;
    skipped = wasSkipped ? skipped + 1 : 0;
    if (!std::isfinite(last.loss) && (!wasSkipped || skipped > mostSkipped)) {
      log.note("error: " + describeDivergence());
      return exitDiverged;
    }
    bool isDue = options.every && step % options.every == 0;
    int signal = interrupt.get();
    if (isDue || signal || step == options.total)
      if (Error failed = writeCheckpoint())
        return failed;
    if (signal) {
      log.note("stopped by a signal after step " + Twine(step) +
               (written == step ? ", with a checkpoint" : ""));
      return 128 + signal;
    }
  }
  return exitOk;
}

} // namespace mp
