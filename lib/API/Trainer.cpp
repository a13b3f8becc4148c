//===- Trainer.cpp - Step after step --------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Trainer.h"

#include "mp-opt/API/Error.h"
#include "mp-opt/API/Session.h"
#include "mp-opt/API/TrainedModel.h"
#include "mp-opt/API/TrainingLog.h"
#include "mp-opt/Training/Distribution.h"

#include <chrono>
#include <cmath>

using namespace llvm;

namespace mp {

static constexpr StringLiteral scaleName = "loss_scale";
static constexpr StringLiteral skippedName = "loss_scale.skipped_steps";
/// Dynamic loss scaling skips steps until it has found its scale; so many in a
/// row are worth a word, or are the end if the loss is no number either.
static constexpr unsigned manySkipped = 10, tooManySkipped = 64;

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

Trainer::Trainer(std::unique_ptr<Model> model, TrainingStep step,
                 Batches batches, TrainerOptions given)
    : model(std::move(model)), form(std::move(step)),
      batches(std::move(batches)), options(std::move(given)),
      content(getContentName(this->model->getContent())),
      total(options.steps ? options.steps
                          : options.epochs * this->batches.getCount()),
      every(options.every ? options.every : this->batches.getCount()),
      writer(options.checkpoints, unsigned(options.keep)) {}

/// Checkpoints of a run that is not to go on.
static Error checkFolder(const TrainerOptions &options) {
  if (options.checkpoints.empty() || options.resume ||
      CheckpointFolder(options.checkpoints).getSteps().empty())
    return Error::success();
  return createStringError(options.checkpoints +
                           ": has checkpoints of another run; --resume goes "
                           "on with it");
}

Expected<std::unique_ptr<Trainer>> Trainer::create(std::unique_ptr<Model> model,
                                                   const DataSet &data,
                                                   TrainerOptions options) {
  auto step = TrainingStep::find(*model, options.compile.dims);
  if (!step)
    return step.takeError();
  if (options.ranks) {
    if (!hasReductions(model->getModule()))
      return createStringError(
          model->getName() +
          ": it reduces nothing over ranks, of which there are " +
          Twine(options.ranks->getSize()) +
          ": mp-opt --train --distribute makes a step that does; --ranks=1 "
          "trains alone");
    beOneOfMany(options);
  }
  if (Error failed = checkFolder(options))
    return failed;
  auto batches = Batches::create(*step, data, options.batches);
  if (!batches)
    return batches.takeError();
  std::unique_ptr<Trainer> trainer(
      new Trainer(std::move(model), std::move(*step), std::move(*batches),
                  std::move(options)));
  trainer->dataVersion = data.version;
  trainer->say(data.path, trainer->batches.getRemarks());
  for (auto next :
       {&Trainer::readCheckpoint, &Trainer::makeEvaluation, &Trainer::compile,
        &Trainer::start, &Trainer::findRate, &Trainer::checkAverages,
        &Trainer::readInit, &Trainer::resume})
    if (Error failed = ((*trainer).*next)())
      return failed;
  return trainer;
}

Error Trainer::makeEvaluation() {
  if (!options.validation)
    return Error::success();
  auto created = Evaluation::create(*model, form, *options.validation,
                                    batches.getFirstSize(), options.compile);
  if (!created)
    return created.takeError();
  evaluation = std::move(*created);
  say(options.validation->path, evaluation->getRemarks());
  return Error::success();
}

Error Trainer::compile() {
  CompileOptions compile = options.compile;
  std::vector<Tensor> first(form.inputs.size());
  if (Error failed = batches.load(0, first))
    return failed;
  addSizes(form.inputs, first, compile);
  compile.updateInPlace = true;
  if (Error failed = shardStates())
    return failed;
  auto compiled = model->compile(compile);
  if (!compiled)
    return compiled.takeError();
  program = std::move(*compiled);
  return Error::success();
}

void Trainer::say(const Twine &what, const DataRemarks &remarks) const {
  std::string prefix = what.str();
  prefix += prefix.empty() ? "" : ": ";
  for (const std::string &text : remarks.warnings)
    if (options.onWarning)
      options.onWarning(prefix + text);
  for (const std::string &text : remarks.notes)
    if (options.onNote)
      options.onNote(prefix + text);
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
    return createStringError(model->getName() +
                             ": it is no training step, as mp-opt --train "
                             "makes it: it has no output NAME_new for an "
                             "input NAME");
  lossOutput = *loss;
  findShards();
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
    if (isFinite(inputs[index]))
      finite.push_back(takes[index].name);
    // Read after each step.
    if (takes[index].name == scaleName || takes[index].name == skippedName)
      program->watchState(index);
  }
  if (!options.checkpoints.empty())
    stateHash = hashStates();
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
  std::vector<NamedTensor> all = nameStates();
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
    ArrayRef<int64_t> sizes = isRange(place->second)
                                  ? shards[place->second]->sizes
                                  : inputs[place->second].getSizes();
    if (input.kind != tensor.getKind() || sizes != tensor.getSizes())
      return createStringError(
          "state '" + name + "': expected " + describeType(input.kind, sizes) +
          ", found " + describeType(tensor.getKind(), tensor.getSizes()));
    Expected<Tensor> copy = tensor.clone();
    if (!copy)
      return prefixError("state '" + name + "'", copy.takeError());
    // Of a range, all ranks get theirs before the first step.
    if (isRange(place->second))
      wholes[place->second] = std::move(*copy);
    else
      inputs[place->second] = std::move(*copy);
    places.erase(place);
  }
  gatheredStep = step;
  if (needsAll && !places.empty())
    return createStringError("state '" + places.begin()->getKey() +
                             "' is missing");
  return Error::success();
}

/// As they were when the program last gave them.
std::vector<NamedTensor> Trainer::nameStates() const {
  std::vector<NamedTensor> named;
  for (unsigned index : states) {
    auto whole = wholes.find(index);
    named.push_back({program->getInputs()[index].name,
                     whole == wholes.end() ? inputs[index] : whole->second});
  }
  return named;
}

Expected<std::vector<NamedTensor>> Trainer::getStates() const {
  writer.wait();
  if (!shards.empty() && gatheredStep != step)
    return createStringError("the ranks have parts of the states, which were "
                             "not put together after step " +
                             Twine(step));
  if (Error failed = program->fetchStates())
    return addContext("the states after step " + Twine(step),
                      std::move(failed));
  return nameStates();
}

Expected<std::vector<NamedTensor>> Trainer::getResult() const {
  auto states = getStates();
  if (!states || !options.average)
    return states;
  return takeAverages(*states);
}

std::optional<double> Trainer::getScalar(StringRef state) const {
  for (unsigned index : states)
    if (program->getInputs()[index].name == state &&
        inputs[index].getNumElements() == 1)
      return inputs[index].toDoubles().front();
  return std::nullopt;
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
    if (StringRef name = value.name; name.consume_front(lossPartPrefix) &&
                                     value.state < 0 &&
                                     tensor.getNumElements() == 1)
      last.parts.emplace_back(name.str(), tensor.toDoubles().front());
}

void Trainer::addToEpoch() {
  if ((step - 1) % batches.getCount() == 0)
    epochSum = double(epochCount = 0);
  if (std::isfinite(last.loss)) {
    epochSum += last.loss;
    ++epochCount;
  }
  last.epochLoss = epochCount ? epochSum / double(epochCount) : last.loss;
}

void Trainer::readOutputs() {
  last.epoch = step / batches.getCount();
  last.step = ++step;
  last.loss = outputs[lossOutput].toDoubles().front();
  readParts();
  addToEpoch();
  last.scale = getScalar(scaleName);
  last.skipped = getScalar(skippedName);
  last.validation.reset();
}

Error Trainer::makeStep() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  if (Error failed = batches.load(step, inputs))
    return failed;
  if (Error failed = setRate())
    return failed;
  // A run that is resumed goes on with the random numbers it would have had.
  // Each rank has those of its batch.
  const BatchOptions &own = options.batches;
  program->setCallNumber(int64_t(step * own.ranks + own.rank));
  std::optional<double> before = getScalar(skippedName);
  isBroken = true;
  if (Error failed = program->run(inputs, outputs))
    return addContext("step " + Twine(step + 1), std::move(failed));
  for (auto [value, tensor] : llvm::zip(program->getOutputs(), outputs))
    if (value.state >= 0)
      inputs[value.state] = tensor;
  isBroken = false;
  if (int64_t count = outputs[lossOutput].getNumElements(); count != 1)
    return createStringError(
        "expected one number as the output 'loss', found " + Twine(count));
  readOutputs();
  countSkipped(before);
  last.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  stepSeconds += last.seconds;
  return Error::success();
}

void Trainer::countSkipped(std::optional<double> before) {
  bool wasSkipped = before && last.skipped && *last.skipped > *before;
  skippedInRow = wasSkipped ? skippedInRow + 1 : 0;
  if (skippedInRow == manySkipped && options.onWarning)
    options.onWarning("the last " + Twine(manySkipped) + " steps, up to step " +
                      Twine(step) +
                      ", were all skipped: their gradients are "
                      "not finite, and no parameter changes");
}

Error Trainer::evaluate() {
  bool isDue = step % batches.getCount() == 0 || step == total;
  // Averages may be states that ranks share.
  if (isDue)
    if (Error failed = gatherShards())
      return failed;
  if (!evaluation || !isDue || !std::isfinite(last.loss))
    return Error::success();
  auto result = getResult();
  if (!result)
    return result.takeError();
  std::vector<Tensor> values = inputs;
  for (const auto &[index, whole] : wholes)
    values[index] = whole;
  if (options.average)
    for (const NamedTensor &named : *result)
      for (unsigned index : states)
        if (program->getInputs()[index].name == named.name)
          values[index] = named.tensor;
  Expected<double> loss = evaluation->compute(values);
  if (!loss)
    return prefixError("validation after step " + Twine(step),
                       loss.takeError());
  last.validation = validation = *loss;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

bool Trainer::hasDiverged() const {
  return !std::isfinite(last.loss) &&
         (!skippedInRow || skippedInRow > tooManySkipped || step == total);
}

/// The loss of a step is that of the states before it.
Expected<bool> Trainer::hasFiniteStates() {
  auto states = getStates();
  if (!states)
    return states.takeError();
  for (const auto &[name, tensor] : *states)
    if (llvm::is_contained(finite, name) && !isFinite(tensor)) {
      infiniteState = name;
      return false;
    }
  return true;
}

std::string Trainer::describeDivergence() const {
  std::string text = infiniteState.empty()
                         ? "the loss of step " + std::to_string(step) + " is " +
                               (std::isnan(last.loss) ? "NaN" : "infinite")
                         : "state '" + infiniteState +
                               "' is not finite after step " +
                               std::to_string(step);
  if (auto written = writer.getStep())
    text += "; the last checkpoint is that of step " + std::to_string(*written);
  return text;
}

/// What the run has come to with its last step, if that is its end. No
/// checkpoint takes the place of a good one while the loss is no number.
Expected<std::optional<TrainingEnd>> Trainer::endStep(bool isStopped) {
  if (hasDiverged())
    return TrainingEnd::Diverged;
  bool isLast = isStopped || step == total;
  bool isKept = isLast || (step % every == 0 && std::isfinite(last.loss) &&
                           !options.checkpoints.empty());
  if (!isKept)
    return std::nullopt;
  Expected<bool> areFinite = hasFiniteStates();
  if (!areFinite)
    return areFinite.takeError();
  if (!*areFinite)
    return TrainingEnd::Diverged;
  if (Error failed = writeCheckpoint())
    return failed;
  if (!isLast)
    return std::nullopt;
  return step == total ? TrainingEnd::Finished : TrainingEnd::Stopped;
}

Expected<TrainingEnd> Trainer::run(const TrainingObserver &observer) {
  Expected<TrainingEnd> end = runSteps(observer);
  Error failed = writer.finish();
  if (!failed)
    return end;
  // One error is enough, and the first is the reason.
  if (!end)
    return joinErrors(end.takeError(), std::move(failed));
  return std::move(failed);
}

Expected<TrainingEnd> Trainer::runSteps(const TrainingObserver &observer) {
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
    if (Error failed = makeStep())
      return failed;
    if (Error failed = evaluate())
      return failed;
    if (log)
      if (Error failed = log->add(last))
        return failed;
    if (observer.onStep)
      if (Error failed = observer.onStep(last))
        return failed;
    Expected<bool> isStopped =
        agreeOnStop(observer.shouldStop && observer.shouldStop());
    if (!isStopped)
      return isStopped.takeError();
    auto end = endStep(*isStopped);
    if (!end)
      return end.takeError();
    end = agreeOnEnd(*end);
    if (!end)
      return end.takeError();
    if (*end)
      return **end;
  }
  return TrainingEnd::Finished;
}

} // namespace mp
