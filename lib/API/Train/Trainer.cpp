//===- Trainer.cpp - Step after step --------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/Trainer.h"

#include "Checkpoints.h"
#include "DivergenceOrigin.h"
#include "NextBatch.h"
#include "RankAgreement.h"
#include "Recalibration.h"
#include "RunHealth.h"

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/API/Run/Session.h"
#include "mp-opt/API/Train/Evaluation.h"
#include "mp-opt/API/Train/TrainedModel.h"
#include "mp-opt/API/Train/TrainingLog.h"
#include "mp-opt/Training/Distribution.h"

#include <chrono>
#include <cmath>

using namespace llvm;

namespace mp {

/// A run with its parts, and the loop.
struct Trainer::Impl {
  Impl(std::unique_ptr<Model> model, const DataSet &data, TrainingStep step,
       Batches batches, TrainerOptions given, CheckpointLock lock);

  // Creation.
  Error start();
  void report(const Twine &what, const DataRemarks &remarks) const;
  Error makeEvaluation();
  Error compile();
  Error checkAverages();
  Error readInit();

  // Steps.
  Error makeStep();
  void readOutputs();
  void addToEpoch();
  Error evaluate();
  Error measureRanges();
  Expected<std::vector<NamedTensor>> getResult() const;

  // Ends.
  Expected<TrainingEnd> runSteps(const TrainingObserver &observer);
  Expected<std::optional<TrainingEnd>> endStep(bool isStopped);
  Expected<std::optional<TrainingEnd>>
  agreeOnEnd(const TrainingObserver &observer);
  void traceDivergence();

  /// The order matters: the programs need the model's context.
  std::unique_ptr<Model> model;
  std::unique_ptr<StepSession> session;
  std::unique_ptr<Evaluation> evaluation;
  const TrainingStep form;
  Batches batches;
  TrainerOptions options;
  const uint64_t total, every;
  RunData data;
  Checkpoints checkpoints;
  ShardedStates shards;
  std::optional<RunStates> states;
  std::optional<RankAgreement> agreement;
  std::optional<RunHealth> health;
  std::optional<NextBatch> nextBatch;
  StepRecord last;
  std::optional<double> validation;
  double stepSeconds = 0;
  /// Over the finite losses of this epoch.
  double epochSum = 0;
  uint64_t epochCount = 0;
  /// The node that first produced a non-finite value; empty if unknown.
  std::string origin;
};

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

Trainer::Impl::Impl(std::unique_ptr<Model> from, const DataSet &set,
                    TrainingStep step, Batches rows, TrainerOptions given,
                    CheckpointLock lock)
    : model(std::move(from)), form(std::move(step)), batches(std::move(rows)),
      options(std::move(given)),
      total(options.steps ? options.steps
                          : options.epochs * batches.getCount()),
      every(options.every ? options.every : batches.getCount()),
      data(set, batches, options),
      checkpoints(options, std::move(lock), batches, data,
                  getContentName(model->getContent())) {
  report(set.path, batches.getRemarks());
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
    RankAgreement::configureRank(options);
  }
  auto lock = Checkpoints::lock(options);
  if (!lock)
    return lock.takeError();
  auto batches = Batches::create(*step, data, options.batches);
  if (!batches)
    return batches.takeError();
  auto impl = std::make_unique<Impl>(std::move(model), data, std::move(*step),
                                     std::move(*batches), std::move(options),
                                     std::move(*lock));
  if (Error failed = impl->start())
    return failed;
  return std::unique_ptr<Trainer>(new Trainer(std::move(impl)));
}

/// The data are read while the step is compiled.
Error Trainer::Impl::start() {
  if (options.recalibrateAt > total)
    return createStringError(
        "--recalibrate-at=" + Twine(options.recalibrateAt) +
        " is after the last of " + Twine(total) + " steps");
  data.read(model->getModule());
  if (Error failed = checkpoints.readNewest())
    return failed;
  if (Error failed = makeEvaluation())
    return failed;
  if (Error failed = compile())
    return failed;
  if (Error failed = session->setSchedule(options.rate, total, "--lr"))
    return failed;
  if (Error failed = checkAverages())
    return failed;
  if (Error failed = readInit())
    return failed;
  if (Error failed = checkpoints.resume(last, validation))
    return failed;
  if (options.recalibrateAt && options.onWarning &&
      session->getCount() >= options.recalibrateAt)
    options.onWarning("the run continues after step " +
                      Twine(session->getCount()) + ": --recalibrate-at=" +
                      Twine(options.recalibrateAt) + " writes no ranges");
  return data.judge();
}

Error Trainer::Impl::makeEvaluation() {
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

Error Trainer::Impl::compile() {
  CompileOptions compile = options.compile;
  if (options.ranks) {
    compile.keepReductions = true;
    compile.deviceNumber = options.ranks->getOptions().localRank;
  }
  std::vector<Tensor> first(form.inputs.size());
  if (Error failed = batches.load(0, first))
    return failed;
  addSizes(form.inputs, first, compile);
  if (options.shardOptimizer && options.ranks)
    if (Error failed = shards.shard(*model, *options.ranks))
      return failed;
  dropUnreadOutputs(*model, form);
  auto created =
      StepSession::create(*model, std::move(compile), checkpoints.getContent());
  if (!created)
    return created.takeError();
  model->discard();
  session = std::move(*created);
  shards.setSession(*session);
  states.emplace(*session, shards, checkpoints.getWriter());
  checkpoints.setStates(*session, *states);
  agreement.emplace(options, *session, shards);
  health.emplace(*session, shards, *states, last, options);
  nextBatch.emplace(batches, *session, total);
  return Error::success();
}

void Trainer::Impl::report(const Twine &what,
                           const DataRemarks &remarks) const {
  std::string prefix = what.str();
  prefix += prefix.empty() ? "" : ": ";
  for (const std::string &text : remarks.warnings)
    if (options.onWarning)
      options.onWarning(prefix + text);
  for (const std::string &text : remarks.notes)
    if (options.onNote)
      options.onNote(prefix + text);
}

Error Trainer::Impl::checkAverages() {
  std::vector<NamedTensor> all = session->getProgram().nameStates();
  if (options.average && takeAverages(all).size() == all.size())
    return createStringError("the model has no averages of parameters, as "
                             "mp-opt --average adds them");
  return Error::success();
}

Error Trainer::Impl::readInit() {
  if (options.init.empty())
    return Error::success();
  auto read = readInitStates(options);
  if (!read)
    return read.takeError();
  if (Error failed = states->set(*read, /*needsAll=*/false))
    return prefixError(options.init, std::move(failed));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void Trainer::Impl::addToEpoch() {
  if ((last.step - 1) % batches.getCount() == 0)
    epochSum = double(epochCount = 0);
  if (std::isfinite(last.loss)) {
    epochSum += last.loss;
    ++epochCount;
  }
  last.epochLoss = epochCount ? epochSum / double(epochCount) : last.loss;
}

void Trainer::Impl::readOutputs() {
  const StepProgram &program = session->getProgram();
  last.step = session->getCount();
  last.epoch = (last.step - 1) / batches.getCount();
  last.loss = program.getLoss();
  last.parts = program.getLossParts();
  addToEpoch();
  last.rate = session->getRate();
  last.scale = program.getScalar(scaleName);
  last.skipped = program.getScalar(skippedName);
  last.validation.reset();
}

Error Trainer::Impl::makeStep() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  const StepProgram &program = session->getProgram();
  uint64_t step = session->getCount();
  if (Error failed = nextBatch->load())
    return failed;
  if (Error failed = session->setRate())
    return failed;
  shards.dropWholes();
  // A resumed run continues with the same random numbers. Each rank has the
  // random numbers of its batch.
  const BatchOptions &own = options.batches;
  std::optional<double> skippedBefore = program.getScalar(skippedName);
  if (Error failed = session->run(int64_t(step * own.ranks + own.rank), "",
                                  [&] { return nextBatch->copyNext(); }))
    return failed;
  readOutputs();
  if (Error failed = health->judge(skippedBefore))
    return failed;
  last.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  stepSeconds += last.seconds;
  return Error::success();
}

Expected<std::vector<NamedTensor>> Trainer::Impl::getResult() const {
  auto all = states->get();
  if (!all || !options.average)
    return all;
  return takeAverages(*all);
}

Error Trainer::Impl::evaluate() {
  bool isDue = last.step % batches.getCount() == 0 || last.step == total;
  // Averages may be states that ranks share.
  if (isDue)
    if (Error failed = shards.gather())
      return failed;
  if (!evaluation || !isDue || !health->hasUsableLoss())
    return Error::success();
  auto result = getResult();
  if (!result)
    return result.takeError();
  const StepProgram &program = session->getProgram();
  std::vector<Tensor> values = states->getWholeValues();
  if (options.average)
    for (const NamedTensor &named : *result)
      for (unsigned index : program.getStates())
        if (program.getInputs()[index].name == named.name)
          values[index] = named.tensor;
  Expected<double> loss = evaluation->compute(values);
  if (!loss)
    return prefixError("validation after step " + Twine(last.step),
                       loss.takeError());
  last.validation = validation = *loss;
  return Error::success();
}

/// Writes ranges for the next conversion, if they are due.
Error Trainer::Impl::measureRanges() {
  if (!options.recalibrateAt || last.step != options.recalibrateAt)
    return Error::success();
  // All ranks gather what they share; the first one measures its batches.
  if (Error failed = shards.gather())
    return failed;
  if (options.batches.rank != 0)
    return Error::success();
  Error failed = recalibrate(options, form, batches, states->getWholeValues(),
                             session->getCount());
  return failed ? prefixError("--recalibrate-at=" + Twine(last.step),
                              std::move(failed))
                : Error::success();
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// The end that the run has reached with its last step, if any. A checkpoint
/// does not replace a good one while the loss is not a finite number.
Expected<std::optional<TrainingEnd>> Trainer::Impl::endStep(bool isStopped) {
  if (health->hasDiverged())
    return TrainingEnd::Diverged;
  bool isFinished = last.step == total, isLast = isStopped || isFinished;
  bool isKept =
      isLast || (last.step % every == 0 && !options.checkpoints.empty() &&
                 health->isWorthKeeping());
  if (!isKept)
    return std::nullopt;
  Expected<bool> areFinite = health->hasFiniteStates();
  if (!areFinite)
    return areFinite.takeError();
  if (!*areFinite)
    return TrainingEnd::Diverged;
  if (Error failed = checkpoints.write(last, validation))
    return failed;
  if (!isLast)
    return std::nullopt;
  return isFinished ? TrainingEnd::Finished : TrainingEnd::Stopped;
}

/// The same with the agreement of all ranks.
Expected<std::optional<TrainingEnd>>
Trainer::Impl::agreeOnEnd(const TrainingObserver &observer) {
  bool isStopped = observer.shouldStop && observer.shouldStop();
  isStopped |= checkpoints.takeStopFile();
  Expected<bool> all = agreement->agreeOnStop(
      isStopped, last.step == total || last.step % every == 0);
  if (!all)
    return all.takeError();
  auto end = endStep(*all);
  return end ? agreement->agreeOnEnd(*end) : std::move(end);
}

/// Searches for the origin of the divergence. Errors of the search are ignored,
/// since the run has diverged anyway.
void Trainer::Impl::traceDivergence() {
  if (!options.readStep || options.ranks || !shards.isEmpty())
    return;
  if (Error failed = nextBatch->drop())
    return consumeError(std::move(failed));
  uint64_t reached = session->getCount();
  double made = double(reached - health->getFirstStep());
  Expected<std::string> found =
      findOrigin({options, form, batches, *session, checkpoints.getStep(),
                  stepSeconds / made});
  if (found)
    origin = std::move(*found);
  else
    consumeError(found.takeError());
  session->setCount(reached);
}

Expected<TrainingEnd>
Trainer::Impl::runSteps(const TrainingObserver &observer) {
  std::optional<TrainingLog> log;
  if (!options.log.empty()) {
    auto opened = TrainingLog::open(options.log, session->getCount());
    if (!opened)
      return opened.takeError();
    log = std::move(*opened);
  }
  // The trainable values have been copied.
  model->releasePages();
  health->noteStart();
  // Other programs and ranks have taken their memory on the device.
  if (Error failed = nextBatch->prepare(options.onWarning))
    return failed;
  while (session->getCount() < total) {
    if (Error failed = makeStep())
      return failed;
    if (Error failed = evaluate())
      return failed;
    if (Error failed = measureRanges())
      return failed;
    if (log)
      if (Error failed = log->add(last))
        return failed;
    if (observer.onStep)
      if (Error failed = observer.onStep(last))
        return failed;
    auto end = agreeOnEnd(observer);
    if (!end)
      return end.takeError();
    if (*end && **end == TrainingEnd::Finished)
      return health->checkChanges();
    if (*end && **end == TrainingEnd::Diverged)
      traceDivergence();
    if (*end)
      return **end;
  }
  return TrainingEnd::Finished;
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

Trainer::Trainer(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Trainer::~Trainer() = default;

Error Trainer::setStates(ArrayRef<NamedTensor> states) {
  return impl->states->set(states, /*needsAll=*/false);
}

Error Trainer::joinRanks() {
  if (!impl->options.ranks)
    return Error::success();
  return impl->agreement->join(impl->checkpoints.getSettings(),
                               impl->data.getHashes(), impl->last);
}

Error Trainer::connectDevices() { return impl->agreement->connectDevices(); }

Expected<TrainingEnd> Trainer::run(const TrainingObserver &observer) {
  Expected<TrainingEnd> end = impl->runSteps(observer);
  // After a failure of the device, which is reported, this fails as well.
  consumeError(impl->nextBatch->drop());
  Error failed = impl->checkpoints.finish();
  if (!failed)
    return end;
  // The first error is the reason; later ones are dropped.
  if (!end)
    return joinErrors(end.takeError(), std::move(failed));
  return std::move(failed);
}

uint64_t Trainer::getStep() const { return impl->session->getCount(); }
uint64_t Trainer::getTotal() const { return impl->total; }

std::optional<uint64_t> Trainer::getCheckpointStep() const {
  return impl->checkpoints.getStep();
}

const StepRecord &Trainer::getLast() const { return impl->last; }
uint64_t Trainer::getEpochSteps() const { return impl->batches.getCount(); }

uint64_t Trainer::getBatchSize() const {
  return impl->batches.getBatchSize() * impl->options.batches.ranks;
}

std::pair<uint64_t, uint64_t> Trainer::getShardedBytes() const {
  return impl->shards.getBytes();
}

const ProcessGroup *Trainer::getRanks() const { return impl->options.ranks; }

std::optional<double> Trainer::getValidation() const {
  return impl->validation;
}

double Trainer::getStepSeconds() const { return impl->stepSeconds; }

std::string Trainer::describeDivergence() const {
  std::string text = impl->health->describeDivergence(impl->origin);
  if (auto written = impl->checkpoints.getStep())
    text += "; the last checkpoint is that of step " + std::to_string(*written);
  return text;
}

std::string Trainer::describeUnchanged() const {
  return impl->health->describeUnchanged();
}

Error Trainer::writeCheckpoint(StringRef folder) {
  return impl->checkpoints.writeTo(folder, impl->last, impl->validation);
}

bool Trainer::isStepBroken() const {
  return impl->session->getProgram().isBroken();
}

Expected<bool> Trainer::hasFiniteStates() {
  return impl->health->hasFiniteStates();
}

Expected<std::vector<NamedTensor>> Trainer::getStates() const {
  return impl->states->get();
}

Expected<std::vector<NamedTensor>> Trainer::getResult() const {
  return impl->getResult();
}

} // namespace mp
