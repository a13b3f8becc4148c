//===- Trainer.cpp - Step after step --------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/Trainer.h"

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/API/Run/Session.h"
#include "mp-opt/API/Train/TrainedModel.h"
#include "mp-opt/API/Train/TrainingLog.h"
#include "mp-opt/Training/Distribution.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <chrono>
#include <cmath>

using namespace llvm;

namespace mp {

/// Dynamic loss scaling skips steps until it has found its scale. This many
/// skipped steps in a row give a warning.
static constexpr unsigned manySkipped = 10;

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

/// Locks the folder of checkpoints. Fails if another run holds it, or if it has
/// checkpoints of a run that is not resumed.
static Error takeFolder(const TrainerOptions &options, CheckpointLock &lock) {
  if (options.checkpoints.empty())
    return Error::success();
  auto taken =
      CheckpointLock::take(options.checkpoints, [&](const Twine &warning) {
        if (options.onWarning)
          options.onWarning(warning);
      });
  if (!taken)
    return taken.takeError();
  lock = std::move(*taken);
  if (options.resume ||
      CheckpointFolder(options.checkpoints).getSteps().empty())
    return Error::success();
  return createStringError(options.checkpoints +
                           ": has checkpoints of another run; --resume "
                           "continues from it");
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
    configureRank(options);
  }
  CheckpointLock lock;
  if (Error failed = takeFolder(options, lock))
    return failed;
  auto batches = Batches::create(*step, data, options.batches);
  if (!batches)
    return batches.takeError();
  std::unique_ptr<Trainer> trainer(
      new Trainer(std::move(model), std::move(*step), std::move(*batches),
                  std::move(options)));
  trainer->lock = std::move(lock);
  trainer->dataPath = data.path;
  trainer->dataVersion = data.version;
  trainer->report(data.path, trainer->batches.getRemarks());
  for (auto next :
       {&Trainer::readData, &Trainer::readCheckpoint, &Trainer::makeEvaluation,
        &Trainer::compile, &Trainer::findRate, &Trainer::checkAverages,
        &Trainer::readInit, &Trainer::resume, &Trainer::judgeData})
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
  report(options.validation->path, evaluation->getRemarks());
  return Error::success();
}

Error Trainer::compile() {
  CompileOptions compile = options.compile;
  if (options.ranks) {
    compile.keepReductions = true;
    compile.deviceNumber = options.ranks->getOptions().localRank;
  }
  std::vector<Tensor> first(form.inputs.size());
  if (Error failed = batches.load(0, first))
    return failed;
  addSizes(form.inputs, first, compile);
  if (Error failed = shardStates())
    return failed;
  dropUnreadOutputs(*model, form);
  auto created = StepProgram::create(*model, std::move(compile));
  if (!created)
    return created.takeError();
  model->discard();
  compiled = std::move(*created);
  findShards();
  if (!options.checkpoints.empty())
    stateHash = hashStates();
  return Error::success();
}

void Trainer::report(const Twine &what, const DataRemarks &remarks) const {
  std::string prefix = what.str();
  prefix += prefix.empty() ? "" : ": ";
  for (const std::string &text : remarks.warnings)
    if (options.onWarning)
      options.onWarning(prefix + text);
  for (const std::string &text : remarks.notes)
    if (options.onNote)
      options.onNote(prefix + text);
}

Error Trainer::findRate() {
  if (compiled->hasRate() && !options.rate.base)
    options.rate.base = compiled->getDefaultRate();
  else if (!compiled->hasRate() &&
           (options.rate.base || !options.rate.isFixed()))
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
  std::vector<NamedTensor> all = compiled->nameStates();
  if (options.average && takeAverages(all).size() == all.size())
    return createStringError("the model has no averages of parameters, as "
                             "mp-opt --average adds them");
  return Error::success();
}

Expected<std::vector<NamedTensor>> Trainer::readInitStates() const {
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

Error Trainer::readInit() {
  if (options.init.empty())
    return Error::success();
  auto read = readInitStates();
  if (!read)
    return read.takeError();
  if (Error failed = setStates(*read))
    return prefixError(options.init, std::move(failed));
  return Error::success();
}

Error Trainer::setStates(ArrayRef<NamedTensor> given) {
  return setStates(given, /*needsAll=*/false);
}

Expected<std::vector<NamedTensor>> Trainer::getStates() const {
  writer.wait();
  if (!shards.empty() && gatheredStep != step)
    return createStringError("the ranks have parts of the states, which were "
                             "not put together after step " +
                             Twine(step));
  auto states = compiled->fetchStates();
  if (!states)
    return addContext("the states after step " + Twine(step),
                      states.takeError());
  putWholes(*states);
  return states;
}

Expected<std::vector<NamedTensor>> Trainer::getResult() const {
  auto states = getStates();
  if (!states || !options.average)
    return states;
  return takeAverages(*states);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Error Trainer::setRate() {
  if (!compiled->hasRate())
    return Error::success();
  double value = options.rate.at(step, total);
  last.rate = value;
  return compiled->setRate(value);
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
  last.loss = compiled->getLoss();
  last.parts = compiled->getLossParts();
  addToEpoch();
  last.scale = compiled->getScalar(scaleName);
  last.skipped = compiled->getScalar(skippedName);
  last.validation.reset();
}

Error Trainer::makeStep() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  if (Error failed = batches.load(step, compiled->getValues()))
    return failed;
  if (Error failed = setRate())
    return failed;
  wholes.clear();
  // A resumed run continues with the same random numbers. Each rank has the
  // random numbers of its batch.
  const BatchOptions &own = options.batches;
  std::optional<double> before = compiled->getScalar(skippedName);
  if (Error failed = compiled->run(int64_t(step * own.ranks + own.rank)))
    return addContext("step " + Twine(step + 1), std::move(failed));
  readOutputs();
  countSkipped(before);
  if (Error failed = judgeLoss())
    return failed;
  last.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  stepSeconds += last.seconds;
  return Error::success();
}

void Trainer::countSkipped(std::optional<double> before) {
  // The update of an open window has not happened yet.
  if (compiled->isWindowOpen())
    return;
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
  if (!evaluation || !isDue || !(std::isfinite(last.loss) || isVoid))
    return Error::success();
  auto result = getResult();
  if (!result)
    return result.takeError();
  std::vector<Tensor> values = std::as_const(*compiled).getValues();
  for (const auto &[index, whole] : wholes)
    values[index] = whole;
  if (options.average)
    for (const NamedTensor &named : *result)
      for (unsigned index : compiled->getStates())
        if (compiled->getInputs()[index].name == named.name)
          values[index] = named.tensor;
  Expected<double> loss = evaluation->compute(values);
  if (!loss)
    return prefixError("validation after step " + Twine(step),
                       loss.takeError());
  last.validation = validation = *loss;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

Expected<TrainingEnd> Trainer::run(const TrainingObserver &observer) {
  Expected<TrainingEnd> end = runSteps(observer);
  Error failed = writer.finish();
  if (!failed)
    return end;
  // The first error is the reason; later ones are dropped.
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
  // The trainable values have been copied.
  model->releasePages();
  noteStart();
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
    if (*end && **end == TrainingEnd::Finished)
      return checkChanges();
    if (*end && **end == TrainingEnd::Diverged)
      traceDivergence();
    if (*end)
      return **end;
  }
  return TrainingEnd::Finished;
}

} // namespace mp
