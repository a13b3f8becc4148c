//===- StepProgram.cpp - A compiled training step -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/StepProgram.h"

#include "mp-opt/API/Train/TrainingStep.h"
#include "mp-opt/Training/Optimizers.h"

using namespace llvm;

namespace mp {

Expected<std::unique_ptr<StepProgram>>
StepProgram::create(Model &model, CompileOptions options) {
  options.updateInPlace = true;
  auto compiled = model.compile(options);
  if (!compiled)
    return compiled.takeError();
  std::unique_ptr<StepProgram> step(new StepProgram());
  step->program = std::move(*compiled);
  if (Error failed = step->start(model))
    return failed;
  return step;
}

Error StepProgram::start(Model &model) {
  ArrayRef<ProgramValue> takes = program->getInputs();
  values.resize(takes.size());
  for (const auto &[index, input] : llvm::enumerate(takes))
    if (input.name == rateName)
      rateInput = index;
  std::optional<unsigned> loss;
  for (const auto &[index, output] : llvm::enumerate(program->getOutputs())) {
    if (output.name == lossName)
      loss = index;
    if (output.state >= 0)
      states.push_back(unsigned(output.state));
  }
  if (!loss || states.empty())
    return createStringError(model.getName() +
                             ": it is not a training step, as mp-opt --train "
                             "makes it: it has no output NAME_new for an "
                             "input NAME");
  lossOutput = *loss;
  for (unsigned index : states) {
    if (!takes[index].hasDefault)
      return createStringError("state '" + takes[index].name +
                               "' has no default to start with");
    // Steps overwrite their states.
    Expected<Tensor> state = program->takeDefault(index);
    if (!state)
      return prefixError("state '" + takes[index].name + "'",
                         state.takeError());
    values[index] = std::move(*state);
    if (isFinite(values[index]))
      finite.push_back(index);
    // Read after each step.
    if (llvm::is_contained({scaleName, skippedName, accumulatedSteps},
                           StringRef(takes[index].name)))
      program->watchState(index);
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

Error StepProgram::setStates(ArrayRef<NamedTensor> given, bool needsAll) {
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
        values[place->second].getSizes() != tensor.getSizes())
      return createStringError(
          "state '" + name + "': expected " +
          describeType(input.kind, values[place->second].getSizes()) +
          ", found " + describeType(tensor.getKind(), tensor.getSizes()));
    Expected<Tensor> copy = tensor.clone();
    if (!copy)
      return prefixError("state '" + name + "'", copy.takeError());
    values[place->second] = std::move(*copy);
    places.erase(place);
  }
  if (needsAll && !places.empty())
    return createStringError("state '" + places.begin()->getKey() +
                             "' is missing");
  broken &= !places.empty();
  return Error::success();
}

std::vector<NamedTensor> StepProgram::nameStates() const {
  std::vector<NamedTensor> named;
  for (unsigned index : states)
    named.push_back({program->getInputs()[index].name, values[index]});
  return named;
}

Expected<std::vector<NamedTensor>> StepProgram::fetchStates() const {
  if (Error failed = program->fetchStates())
    return failed;
  return nameStates();
}

/// The loss of a step is computed from the states before it.
Expected<const ProgramValue *> StepProgram::findInfinite() {
  if (Error failed = program->fetchStates())
    return failed;
  bool isOpen = isWindowOpen();
  for (unsigned index : finite)
    if (!(isOpen && isAccumulatedSum(program->getInputs()[index].name)) &&
        !isFinite(values[index]))
      return &program->getInputs()[index];
  return nullptr;
}

bool StepProgram::isWindowOpen() const {
  return getScalar(skippedName) && getScalar(accumulatedSteps).value_or(0) != 0;
}

Expected<bool> StepProgram::hasFiniteSums() {
  if (Error failed = program->fetchStates())
    return failed;
  return llvm::all_of(finite, [&](unsigned index) {
    return !isAccumulatedSum(program->getInputs()[index].name) ||
           isFinite(values[index]);
  });
}

std::optional<double> StepProgram::getScalar(StringRef state) const {
  for (unsigned index : states)
    if (program->getInputs()[index].name == state &&
        values[index].getNumElements() == 1)
      return values[index].toDoubles().front();
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

double StepProgram::getDefaultRate() const {
  return program->getDefault(*rateInput).toDoubles().front();
}

Error StepProgram::setRate(double value) {
  const ProgramValue &input = program->getInputs()[*rateInput];
  Tensor known = program->getDefault(*rateInput);
  Expected<Tensor> rate = Tensor::create(input.kind, known.getSizes());
  if (!rate)
    return rate.takeError();
  if (input.kind == ElementKind::Float)
    rate->get<float>()[0] = float(value);
  else if (input.kind == ElementKind::Double)
    rate->get<double>()[0] = value;
  else
    return createStringError("input '" + input.name + "': a rate of type " +
                             describeType(input.kind, input.sizes) +
                             " is not supported");
  values[*rateInput] = std::move(*rate);
  return Error::success();
}

Error StepProgram::run(int64_t number, MeanwhileFn meanwhile) {
  program->setCallNumber(number);
  broken = true;
  if (Error failed = program->run(values, outputs, meanwhile))
    return failed;
  for (auto [value, tensor] : llvm::zip(program->getOutputs(), outputs))
    if (value.state >= 0)
      values[value.state] = tensor;
  broken = false;
  if (int64_t count = outputs[lossOutput].getNumElements(); count != 1)
    return createStringError(
        "expected one number as the output 'loss', found " + Twine(count));
  return Error::success();
}

std::vector<std::pair<std::string, double>> StepProgram::getLossParts() const {
  std::vector<std::pair<std::string, double>> parts;
  for (auto [value, tensor] : llvm::zip(program->getOutputs(), outputs))
    if (StringRef name = value.name; name.consume_front(lossPartPrefix) &&
                                     value.state < 0 &&
                                     tensor.getNumElements() == 1)
      parts.emplace_back(name.str(), tensor.toDoubles().front());
  return parts;
}

std::vector<NamedTensor> StepProgram::getOutputs() const {
  std::vector<NamedTensor> named;
  for (auto [value, tensor] : llvm::zip(program->getOutputs(), outputs))
    if (value.state < 0)
      named.push_back({value.name, tensor});
  return named;
}

} // namespace mp
