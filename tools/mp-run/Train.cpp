//===- Train.cpp - mp-run train -------------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All errors that can be predicted are reported before the first step. If the
// run ends for another reason, its result is kept: in -o, in a checkpoint, or,
// if neither can be written, in a checkpoint in the folder for temporary files.
//
//===----------------------------------------------------------------------===//

#include "Interrupt.h"
#include "Message.h"
#include "TrainFlags.h"

#include "mp-opt/API/Train/TrainedModel.h"
#include "mp-opt/Support/ShownText.h"

#include "llvm/Support/FileSystem.h"

#include <fcntl.h>
#include <unistd.h>

using namespace llvm;

namespace mp {

namespace {
/// A training run and its output.
class Run {
public:
  Run(Trainer &trainer, Model *target, const TrainFlags &flags)
      : trainer(trainer), target(target), flags(flags),
        from(trainer.getStep()) {}

  /// Returns an exit code.
  Expected<int> make();

private:
  Expected<TrainingEnd> makeSteps(const Interrupt &interrupt);
  Error writeOutput() const;
  Error keep(Error error) const;
  std::string keepElsewhere() const;
  std::string describeCheckpoint() const;
  void noteStop(bool isSignal) const;
  bool isFirst() const {
    return !trainer.getRanks() || trainer.getRanks()->getRank() == 0;
  }
  void printResult() const;

  Trainer &trainer;
  /// Null if states go to a data file.
  Model *target;
  const TrainFlags &flags;
  const uint64_t from;
  double seconds = 0;
};
} // namespace

Expected<TrainingEnd> Run::makeSteps(const Interrupt &interrupt) {
  std::optional<ProgressOptions> options = flags.getProgress();
  bool isShown = options.has_value();
  if (!options)
    options.emplace();
  options->steps = trainer.getTotal();
  options->stepsPerEpoch = trainer.getEpochSteps();
  options->rows = trainer.getBatchSize();
  TrainingProgress progress(errs(), *options);
  TrainingObserver observer;
  observer.shouldStop = [&] { return interrupt.get() != 0; };
  if (isShown)
    observer.onStep = [&](const StepRecord &record) {
      progress.show(record);
      return Error::success();
    };
  Expected<TrainingEnd> end = trainer.run(observer);
  seconds = progress.getSeconds();
  return end;
}

Error Run::writeOutput() const {
  if (flags.output.empty())
    return Error::success();
  auto result = trainer.getResult();
  if (!result)
    return result.takeError();
  return writeTrained(target, *result, flags.output);
}

/// Writes a checkpoint into a new folder; returns a text with its place.
std::string Run::keepElsewhere() const {
  SmallString<128> folder;
  std::error_code error =
      sys::fs::createUniqueDirectory("mp-run-train", folder);
  if (error)
    return "; no folder can be made to keep the states in: " + error.message();
  std::string step = std::to_string(trainer.getStep());
  if (Error failed = trainer.writeCheckpoint(folder)) {
    sys::fs::remove(folder);
    return "; the states after step " + step +
           " are lost: " + toString(std::move(failed));
  }
  return "; the states after step " + step + " are kept in '" +
         folder.str().str() + "': --checkpoint=" + folder.str().str() +
         " --resume continues from them" +
         (trainer.isStepBroken()
              ? ", but the step that failed may have changed some"
              : "");
}

/// Describes the checkpoint that remains of a run whose states are lost.
std::string Run::describeCheckpoint() const {
  std::optional<uint64_t> kept = trainer.getCheckpointStep();
  if (!kept)
    return ", and there is no checkpoint";
  return "; the last checkpoint is that of step " + std::to_string(*kept) +
         ": --resume continues from it";
}

/// The error that ended the run, and the place of its states.
Error Run::keep(Error error) const {
  ErrorDetails details = takeDetails(std::move(error));
  bool isWanted = !flags.output.empty() || !flags.trainer.checkpoints.empty();
  uint64_t step = trainer.getStep();
  if (step == from || !isWanted)
    return makeError(std::move(details));
  Expected<bool> areFinite = trainer.hasFiniteStates();
  if (!areFinite) {
    // The error comes from the states.
    consumeError(areFinite.takeError());
    details.text += "; the states after step " + std::to_string(step) +
                    " are lost" + describeCheckpoint();
    return makeError(std::move(details));
  }
  if (!*areFinite) {
    details.text += "; " + trainer.describeDivergence();
    return makeError(std::move(details));
  }
  bool isSure = !flags.output.empty() && !trainer.isStepBroken();
  Error failed = isSure ? writeOutput() : Error::success();
  if (isSure && !failed)
    details.text += "; '" + flags.output + "' has the states after step " +
                    Twine(step).str();
  else if (trainer.getCheckpointStep() == step)
    details.text += "; the checkpoint of step " + std::to_string(step) +
                    " has the states: --resume continues from it";
  else
    details.text += keepElsewhere();
  consumeError(std::move(failed));
  return makeError(std::move(details));
}

void Run::noteStop(bool isSignal) const {
  if (!isFirst())
    return;
  bool hasCheckpoint = trainer.getCheckpointStep() == trainer.getStep();
  bool isKept = hasCheckpoint || !flags.output.empty();
  noteTraining((isSignal ? Twine("stopped by a signal after step ")
                         : Twine("stopped as asked after step ")) +
               Twine(trainer.getStep()) +
               (hasCheckpoint ? ", with a checkpoint" : "") +
               (flags.output.empty()
                    ? Twine()
                    : "; '" + Twine(flags.output) + "' has its states") +
               (isKept ? "" : "; nothing is kept, without -o or --checkpoint"));
}

void Run::printResult() const {
  if (!isFirst())
    return;
  TrainingResult result;
  result.last = trainer.getLast();
  result.validation = trainer.getValidation();
  result.made = trainer.getStep() - from;
  result.rows = trainer.getBatchSize();
  result.seconds = seconds;
  result.stepSeconds = trainer.getStepSeconds();
  if (const ProcessGroup *ranks = trainer.getRanks()) {
    ProcessGroupFigures figures = ranks->getFigures();
    result.ranks = uint64_t(ranks->getSize());
    result.sentBytes = figures.bytes;
    result.sendSeconds = figures.busySeconds;
    result.exposedSeconds = figures.waitSeconds;
  }
  if (flags.json)
    result.printJSON(outs());
  else if (result.made)
    result.print(EscapingStream(outs()).get());
  else if (!flags.quiet)
    noteTraining("all " + Twine(trainer.getTotal()) +
                 " steps are made already");
}

Expected<int> Run::make() {
  if (flags.trainer.resume && !flags.quiet)
    noteTraining(from ? "going on after step " + Twine(from)
                      : Twine("no checkpoint yet, starting anew"));
  if (flags.output.empty() && flags.trainer.checkpoints.empty() && !flags.quiet)
    noteTraining(
        "neither -o nor --checkpoint: the trained states are not kept");
  // A signal ends the run only after everything is written.
  Interrupt interrupt;
  Expected<TrainingEnd> end = makeSteps(interrupt);
  if (!end)
    return keep(end.takeError());
  if (*end == TrainingEnd::Diverged || *end == TrainingEnd::Unchanged) {
    if (isFirst())
      printMessage("mp-run train", mlir::DiagnosticSeverity::Error,
                   (*end == TrainingEnd::Diverged
                        ? trainer.describeDivergence()
                        : trainer.describeUnchanged()) +
                       (flags.output.empty()
                            ? ""
                            : "; '" + flags.output + "' is not written"));
    return exitDiverged;
  }
  if (Error failed = writeOutput())
    return keep(std::move(failed));
  // Only one of the ranks gets the signal; none does if a file stopped the run.
  int signal = interrupt.get();
  if (*end == TrainingEnd::Stopped)
    noteStop(signal != 0);
  printResult();
  return *end == TrainingEnd::Stopped && signal ? 128 + signal : exitOk;
}

/// The model that gets the trained parameters, or null. Fails if it cannot take
/// them.
static Expected<std::unique_ptr<Model>>
readTarget(Model &step, const TrainFlags &flags,
           const mlir::DialectRegistry &registry) {
  auto found = TrainingStep::find(step, flags.model.sizes);
  if (!found)
    return found.takeError();
  std::unique_ptr<Model> target;
  if (!flags.into.empty()) {
    auto read =
        flags.model.read(flags.into, registry, /*precision=*/"", sayOfModel,
                         /*hasDims=*/false);
    if (!read)
      return read.takeError();
    target = std::move(*read);
  }
  if (!flags.output.empty())
    if (Error failed = checkTrained(target.get(), *found, flags.output))
      return failed;
  return target;
}

static Expected<std::unique_ptr<Trainer>>
makeTrainer(const TrainFlags &flags, ProcessGroup *ranks,
            std::unique_ptr<Model> &target,
            const mlir::DialectRegistry &registry, const MessageFn &say) {
  // Only one rank writes.
  if (!ranks || ranks->getRank() == 0)
    if (Error failed = flags.checkPaths())
      return failed;
  auto step = flags.model.read(flags.files[0], registry,
                               flags.model.getPrecision(), say);
  if (!step)
    return step.takeError();
  auto read = readTarget(**step, flags, registry);
  if (!read)
    return read.takeError();
  target = std::move(*read);
  Expected<DataSet> data = flags.data.read(flags.dataFile);
  if (!data)
    return data.takeError();
  TrainerOptions options = flags.trainer;
  options.readStep = [&flags, &registry] {
    return flags.model.read(flags.files[0], registry,
                            flags.model.getPrecision(), MessageFn());
  };
  options.ranks = ranks;
  options.shardOptimizer = flags.shard == "optimizer";
  if (!flags.validation.empty()) {
    auto validation = readDataSet(flags.validation);
    if (!validation)
      return validation.takeError();
    options.validation = std::move(*validation);
  }
  return Trainer::create(std::move(*step), *data, std::move(options));
}

/// Agrees on an error of all ranks: the first rank that failed reports it. It
/// reports its error or, if that was already reported, the message in `heard`.
static Error agree(Error error, ProcessGroup *ranks, StringRef heard) {
  if (!ranks)
    return error;
  auto failed = ranks->allGatherNumbers(char(bool(error)));
  if (!failed)
    return joinErrors(std::move(error), failed.takeError());
  auto first = llvm::find(*failed, char(true)) - failed->begin();
  if (first == ranks->getSize())
    return Error::success();
  ErrorDetails details;
  if (error)
    details = takeDetails(std::move(error));
  if (details.isReported && !heard.empty()) {
    details.text = heard.str();
    details.isReported = false;
  }
  details.isReported |= first != ranks->getRank();
  details.isEverywhere = true;
  if (first > 0)
    details.text = "rank " + std::to_string(first) + ": " + details.text;
  return makeError(std::move(details));
}

static void noteRanks(const Trainer &trainer, const ProcessGroup &ranks) {
  auto [own, whole] = trainer.getShardedBytes();
  std::string text;
  raw_string_ostream os(text);
  os << ranks.getSize() << " ranks, by " << ranks.getLibrary();
  if (whole)
    os << format("; of %.1f MB of states, each has %.1f", double(whole) / 1e6,
                 double(own) / 1e6);
  if (!ranks.getDeviceNote().empty())
    os << "; " << ranks.getDeviceNote();
  noteTraining(text);
}

static Expected<int> readAndTrain(const TrainFlags &flags, ProcessGroup *ranks,
                                  const mlir::DialectRegistry &registry) {
  std::unique_ptr<Model> target;
  // All ranks find the same messages for a model; only one prints them.
  std::string heard;
  MessageFn say = sayOfModel;
  if (ranks && ranks->getRank() > 0)
    say = [&](StringRef name, mlir::DiagnosticSeverity severity,
              const Twine &text) {
      if (severity == mlir::DiagnosticSeverity::Error)
        heard = (name + ": " + text).str();
    };
  auto trainer = makeTrainer(flags, ranks, target, registry, say);
  if (Error failed =
          agree(trainer ? Error::success() : trainer.takeError(), ranks, heard))
    return failed;
  if (Error failed = (*trainer)->joinRanks()) {
    // All ranks have found the same error.
    ErrorDetails details = takeDetails(std::move(failed));
    details.isReported = ranks->getRank() > 0;
    details.isEverywhere = true;
    return makeError(std::move(details));
  }
  if (Error failed = (*trainer)->connectDevices())
    return failed;
  if (ranks && !flags.quiet)
    noteRanks(**trainer, *ranks);
  return Run(**trainer, target.get(), flags).make();
}

/// Returns an exit code.
static int report(Error error) {
  return reportError("mp-run train", std::move(error));
}

/// This process may be one of several that mpiexec has started.
static int trainRank(TrainFlags &flags, const mlir::DialectRegistry &registry) {
  Expected<Launch> launch = flags.numRanks == 1 ? Launch() : Launch::find();
  if (!launch)
    return report(launch.takeError());
  auto joined = flags.join(*launch);
  if (!joined) {
    // All ranks see the same error.
    ErrorDetails details = takeDetails(joined.takeError());
    details.isReported = launch->rank > 0;
    return report(makeError(std::move(details)));
  }
  std::unique_ptr<ProcessGroup> ranks = std::move(*joined);
  if (ranks && launch->rank > 0) {
    flags.beQuiet();
    hushInterrupts();
  }
  Expected<int> trained = readAndTrain(flags, ranks.get(), registry);
  if (trained)
    return *trained;
  ErrorDetails details = takeDetails(trained.takeError());
  // Once a rank has ended, the launcher may end this one as well.
  if (ranks)
    hushInterrupts();
  // Other ranks would wait for this one, unless all have the error.
  if (ranks && !details.isEverywhere)
    ranks->abandon();
  return report(makeError(std::move(details)));
}

/// All ranks have the same command line; only the first reports its errors.
static std::optional<int> parseAsRank(TrainFlags &flags, Arguments arguments,
                                      mlir::DialectRegistry &registry) {
  Expected<Launch> launch = Launch::find();
  bool isOther = launch && launch->rank > 0;
  if (!launch)
    consumeError(launch.takeError());
  int nowhere = isOther ? ::open("/dev/null", O_WRONLY) : -1;
  int before = nowhere < 0 ? -1 : ::dup(STDERR_FILENO);
  if (before >= 0)
    ::dup2(nowhere, STDERR_FILENO);
  std::optional<int> code = flags.parse(arguments, registry);
  errs().flush();
  if (before >= 0)
    ::dup2(before, STDERR_FILENO);
  for (int file : {nowhere, before})
    if (file >= 0)
      ::close(file);
  return code;
}

int runTrain(Arguments arguments, mlir::DialectRegistry &registry) {
  TrainFlags flags;
  if (std::optional<int> code = parseAsRank(flags, arguments, registry))
    return *code;
  // A closed output must not end hours of training.
  ::signal(SIGPIPE, SIG_IGN);
  int code = trainRank(flags, registry);
  code = code ? code : finishOutput(exitOk);
  errs().clear_error();
  return code;
}

} // namespace mp
