//===- Train.cpp - mp-run train -------------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Interrupt.h"
#include "Message.h"

#include "mp-opt/API/TrainedModel.h"
#include "mp-opt/API/Trainer.h"
#include "mp-opt/API/TrainingProgress.h"

#include "llvm/Support/Process.h"

#include <cmath>

using namespace llvm;

namespace mp {

static constexpr StringLiteral help =
    R"(mp-run train: trains with a step that mp-opt --train has made

usage: mp-run train STEP --data=FILE [--epochs=N | --steps=N] [options]

  --data=FILE           an .npz or .safetensors file; its tensors have the names
                        of inputs, and are rows, of which --batch make up a
                        batch, or batches (with one more dimension), in order
  --raw=NAME:FILE:TYPE[SIZES]
                        the same from plain elements: x:x.bin:float32[?,784]
  --batch=N             rows in a batch; those left at an epoch's end are unused
  --seed=N              of the order of rows, anew in each epoch (0)
  --no-shuffle          rows in the order of the file
  --epochs=N, --steps=N how long, in all (1 epoch)
  --lr=X                the greatest learning rate (the step's own)
  --lr-schedule=NAME    constant, linear or cosine (to --lr-min), or step (by
                        --lr-gamma every --lr-step steps)
  --warmup=N            first N steps in which the rate rises

  --checkpoint=DIR      where checkpoints go; at the end there is one, too
  --checkpoint-every=N  steps between them (an epoch)
  --keep=N              how many are kept (2)
  --resume              go on with the newest whole one, to the same bits
  --init=FILE           parameters and other states to start with, by names
  -o FILE               parameters and other states at the end: .safetensors,
                        .npz; or .onnx with --into
  --into=MODEL          the model whose parameters -o gets as they are trained
  --average             -o gets the averages of the parameters in their place,
                        which a step of mp-opt --average has
  --log=FILE            a line of JSON for each step
  --json                print the end as JSON
  --quiet               print nothing on the way

  --dim=NAME=SIZE,... --threads=N --kernels=FORM --mixed-bf16 --mixed-fp16
  --schemas=FILE --external-data-root=DIR --cache=WHERE --mlir-timing
                        as for mp-run run

Ctrl-C ends the run after its step, with a checkpoint; exit code 130. It is 5 if
the loss is no number any more.
)";

static void note(const Twine &text) {
  errs() << "mp-run train: " << text << "\n";
}

namespace {
struct TrainFlags {
  ModelFlags model;
  DataFlags data;
  TrainerOptions trainer;
  uint64_t epochs = 0;
  std::string dataFile, rate, schedule, output, into;
  bool json = false, quiet = false, noShuffle = false;
  std::vector<std::string> files;

  std::optional<int> parse(Arguments arguments,
                           mlir::DialectRegistry &registry);
  void addRateTo(Flags &flags);
  std::optional<int> checkRate(const Flags &flags);
};
} // namespace

void TrainFlags::addRateTo(Flags &flags) {
  flags.beginGroup("Learning rate");
  flags.add("lr", rate, "the greatest learning rate", "X");
  flags.addChoice("lr-schedule", schedule, "how the rate falls",
                  getRateScheduleNames());
  flags.add("lr-min", trainer.rate.least, "where linear and cosine end", 0.0);
  flags.add("lr-gamma", trainer.rate.gamma, "factor of schedule 'step'", 0.0);
  flags.add("lr-step", trainer.rate.interval, "steps between its factors", 1);
  flags.add("warmup", trainer.rate.warmup, "first steps in which it rises");
}

std::optional<int> TrainFlags::checkRate(const Flags &flags) {
  LearningRate &to = trainer.rate;
  if (!schedule.empty())
    to.schedule = *parseRateSchedule(schedule);
  if (to.schedule == RateSchedule::Step && !to.interval)
    return flags.usageError("--lr-schedule=step needs --lr-step=N");
  double value = 0;
  if (!rate.empty() && (StringRef(rate).getAsDouble(value) || !(value >= 0) ||
                        std::isinf(value)))
    return flags.usageError("--lr: expected a number of at least 0, got '" +
                            rate + "'");
  if (!rate.empty())
    to.base = value;
  return std::nullopt;
}

std::optional<int> TrainFlags::parse(Arguments arguments,
                                     mlir::DialectRegistry &registry) {
  Flags flags("mp-run train", help);
  model.addTo(flags);
  addRateTo(flags);
  flags.beginGroup("Data");
  flags.add("data", dataFile, "tensors by the inputs' names", "FILE");
  flags.add("raw", data.raw, "the same from plain elements",
            "NAME:FILE:TYPE[SIZES]");
  flags.add("batch", trainer.batches.size, "rows in a batch", 1);
  flags.add("seed", trainer.batches.seed, "of the order of rows");
  flags.add("no-shuffle", noShuffle, "rows in the order of the file");
  flags.add("epochs", epochs, "passes over the data, in all", 1);
  flags.add("steps", trainer.steps, "steps, in all", 1);
  flags.beginGroup("Files");
  flags.add("checkpoint", trainer.checkpoints, "where checkpoints go", "DIR");
  flags.add("checkpoint-every", trainer.every, "steps between them", 1);
  flags.add("keep", trainer.keep, "how many are kept", 1);
  flags.add("resume", trainer.resume, "go on with the newest whole one");
  flags.add("init", trainer.init, "states to start with, by names", "FILE");
  flags.add("o", output, "states at the end", "FILE").synonyms = {"output"};
  flags.add("into", into, "model that gets the trained parameters", "MODEL")
      .expected = "a model";
  flags.add("average", trainer.average, "-o gets averages of the parameters");
  flags.add("log", trainer.log, "a line of JSON for each step", "FILE");
  flags.add("json", json, "print the end as JSON");
  flags.add("quiet", quiet, "print nothing on the way");
  if (std::optional<int> code = flags.parse(arguments, files))
    return code;
  if (files.size() != 1)
    return flags.usageError("expected one model, got " + Twine(files.size()));
  if (dataFile.empty() && data.raw.empty())
    return flags.usageError("expected --data=FILE or --raw");
  if (!into.empty() && output.empty())
    return flags.usageError("--into needs -o");
  if (trainer.average && output.empty())
    return flags.usageError("--average needs -o");
  if (epochs && trainer.steps)
    return flags.usageError("--epochs and --steps exclude each other");
  if (trainer.checkpoints.empty() && (trainer.resume || trainer.every))
    return flags.usageError("--resume and --checkpoint-every need "
                            "--checkpoint=DIR");
  if (std::optional<int> code = checkRate(flags))
    return code;
  if (std::optional<int> code = model.apply(flags, registry))
    return code;
  trainer.epochs = std::max<uint64_t>(epochs, 1);
  trainer.batches.shuffle = !noShuffle;
  trainer.compile = model.getOptions();
  if (quiet)
    trainer.compile.title.clear();
  trainer.onWarning = [](const Twine &text) {
    printMessage("mp-run train", mlir::DiagnosticSeverity::Warning, text);
  };
  return std::nullopt;
}

/// Returns an exit code.
static Expected<int> makeSteps(Trainer &trainer, TrainingProgress &progress,
                               bool isQuiet) {
  Interrupt interrupt;
  TrainingObserver observer;
  observer.shouldStop = [&] { return interrupt.get() != 0; };
  if (!isQuiet)
    observer.onStep = [&](const StepRecord &record) {
      progress.show(record);
      return Error::success();
    };
  Expected<TrainingEnd> end = trainer.run(observer);
  if (!end)
    return end.takeError();
  if (*end == TrainingEnd::Finished)
    return exitOk;
  progress.end();
  if (*end == TrainingEnd::Diverged) {
    printMessage("mp-run train", mlir::DiagnosticSeverity::Error,
                 trainer.describeDivergence());
    return exitDiverged;
  }
  bool isKept = trainer.getCheckpointStep() == trainer.getStep();
  note("stopped by a signal after step " + Twine(trainer.getStep()) +
       (isKept ? ", with a checkpoint" : ""));
  return 128 + interrupt.get();
}

static Expected<int> train(Trainer &trainer, Model *target,
                           const TrainFlags &flags) {
  uint64_t from = trainer.getStep();
  if (flags.trainer.resume && !flags.quiet)
    note(from ? "going on after step " + Twine(from)
              : Twine("no checkpoint yet, starting anew"));
  TrainingProgress progress(errs(), sys::Process::StandardErrIsDisplayed(),
                            trainer.getTotal());
  Expected<int> code = makeSteps(trainer, progress, flags.quiet);
  if (!code || *code == exitDiverged)
    return code;
  if (!flags.output.empty() && *code == exitOk)
    if (Error failed = writeTrained(target, trainer.getResult(), flags.output))
      return failed;
  TrainingResult result{trainer.getLast(), trainer.getStep() - from,
                        progress.getSeconds()};
  if (result.made && flags.json)
    result.printJSON(outs());
  else if (result.made)
    result.print(outs());
  return code;
}

static Expected<int> readAndTrain(const TrainFlags &flags,
                                  const mlir::DialectRegistry &registry) {
  auto step =
      flags.model.read(flags.files[0], registry, flags.model.getPrecision());
  if (!step)
    return step.takeError();
  std::unique_ptr<Model> target;
  if (!flags.into.empty()) {
    auto read = flags.model.read(flags.into, registry, /*precision=*/"",
                                 /*hasDims=*/false);
    if (!read)
      return read.takeError();
    target = std::move(*read);
  }
  Expected<DataSet> data = flags.data.read(flags.dataFile);
  if (!data)
    return data.takeError();
  auto trainer = Trainer::create(std::move(*step), *data, flags.trainer);
  if (!trainer)
    return trainer.takeError();
  return train(**trainer, target.get(), flags);
}

int runTrain(Arguments arguments, mlir::DialectRegistry &registry) {
  TrainFlags flags;
  if (std::optional<int> code = flags.parse(arguments, registry))
    return *code;
  Expected<int> code = readAndTrain(flags, registry);
  if (!code)
    return reportError(code.takeError());
  return *code ? *code : finishOutput(exitOk);
}

} // namespace mp
