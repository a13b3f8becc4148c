//===- Train.cpp - mp-run train -------------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Model.h"
#include "TrainedModel.h"
#include "Trainer.h"

#include "mp-opt/API/TensorText.h"

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

namespace {
struct TrainFlags {
  ModelFlags model;
  DataFlags data;
  Batches::Options batches;
  TrainerOptions trainer;
  uint64_t epochs = 0, steps = 0;
  std::string dataFile, init, output, into, log;
  bool resume = false, json = false, quiet = false, noShuffle = false;
  bool average = false;
  std::vector<std::string> files;

  std::optional<int> parse(Arguments arguments,
                           mlir::DialectRegistry &registry);
};

class TrainCommand {
public:
  TrainCommand(const TrainFlags &flags, mlir::DialectRegistry &registry)
      : flags(flags), registry(registry) {}
  int run();

private:
  Expected<int> train(Model &model, Program &program, Batches &batches);
  Error writeEnd(const Trainer &trainer);
  Error prepare(Trainer &trainer, TrainingLog &log);
  void printEnd(const Trainer &trainer, const TrainingLog &log, uint64_t from);

  const TrainFlags &flags;
  mlir::DialectRegistry &registry;
  /// What gets the trained parameters, read before they are.
  std::optional<Model> target;
  TrainerOptions options;
};
} // namespace

std::optional<int> TrainFlags::parse(Arguments arguments,
                                     mlir::DialectRegistry &registry) {
  Flags flags("mp-run train", help);
  model.addTo(flags);
  trainer.rate.addTo(flags);
  flags.add("data", dataFile, "a file name");
  flags.add("raw", data.raw, "NAME:FILE:TYPE[SIZES]");
  flags.add("batch", batches.size, 1);
  flags.add("seed", batches.seed);
  flags.add("no-shuffle", noShuffle);
  flags.add("epochs", epochs, 1);
  flags.add("steps", steps, 1);
  flags.add("checkpoint", trainer.checkpoints, "a folder");
  flags.add("checkpoint-every", trainer.every, 1);
  flags.add("keep", trainer.keep, 1);
  flags.add("resume", resume);
  flags.add("init", init, "a file name");
  flags.add("o", output, "a file name");
  flags.add("into", into, "a model");
  flags.add("average", average);
  flags.add("log", log, "a file name");
  flags.add("json", json);
  flags.add("quiet", quiet);
  if (std::optional<int> code = flags.parse(arguments, files))
    return code;
  if (files.size() != 1)
    return flags.usageError("expected one model, got " + Twine(files.size()));
  if (dataFile.empty() && data.raw.empty())
    return flags.usageError("expected --data=FILE or --raw");
  if (!into.empty() && output.empty())
    return flags.usageError("--into needs -o");
  if (average && output.empty())
    return flags.usageError("--average needs -o");
  if (epochs && steps)
    return flags.usageError("--epochs and --steps exclude each other");
  if (trainer.checkpoints.empty() && (resume || trainer.every))
    return flags.usageError("--resume and --checkpoint-every need "
                            "--checkpoint=DIR");
  batches.shuffle = !noShuffle;
  if (std::optional<int> code = trainer.rate.check(flags))
    return code;
  return model.apply(flags, registry);
}

Error TrainCommand::prepare(Trainer &trainer, TrainingLog &log) {
  if (Error failed = trainer.start())
    return failed;
  if (flags.average) {
    std::vector<NamedTensor> states = trainer.getStates();
    if (takeAverages(states).size() == states.size())
      return createStringError("the model has no averages of parameters, as "
                               "mp-opt --average adds them");
  }
  if (!flags.init.empty()) {
    auto states = readDataFile(flags.init);
    if (!states)
      return states.takeError();
    if (Error failed = trainer.setStates(*states, /*needsAll=*/false))
      return prefixError(flags.init, std::move(failed));
  }
  bool hasOld = !options.checkpoints.empty() &&
                CheckpointFolder::isOne(options.checkpoints);
  if (hasOld && !flags.resume)
    return createStringError(options.checkpoints +
                             ": has checkpoints of "
                             "another run; --resume goes on with it");
  if (flags.resume) {
    Expected<bool> resumed = trainer.resume(log);
    if (!resumed)
      return resumed.takeError();
    if (!flags.quiet)
      log.note(*resumed ? "going on after step " + Twine(trainer.getStep())
                        : Twine("no checkpoint yet, starting anew"));
  }
  if (!flags.log.empty())
    return log.open(flags.log, trainer.getStep());
  return Error::success();
}

void TrainCommand::printEnd(const Trainer &trainer, const TrainingLog &log,
                            uint64_t from) {
  double seconds = log.getSeconds();
  uint64_t made = trainer.getStep() - from;
  if (!flags.json) {
    outs() << "steps " << trainer.getStep() << "  loss "
           << formatShort(trainer.getLast().loss) << "  "
           << format("%.3g", seconds) << " s  "
           << format("%.3g", double(made) / std::max(seconds, 1e-9))
           << " steps/s\n";
    return;
  }
  json::OStream json(outs(), 2);
  json.object([&] {
    json.attribute("steps", trainer.getStep());
    json.attribute("steps_of_this_run", made);
    json.attribute("loss", toJSON(trainer.getLast().loss));
    json.attribute("seconds", seconds);
    if (trainer.getLast().scale)
      json.attribute("scale", toJSON(*trainer.getLast().scale));
    if (trainer.getLast().skipped)
      json.attribute("skipped", toJSON(*trainer.getLast().skipped));
  });
  outs() << "\n";
}

Error TrainCommand::writeEnd(const Trainer &trainer) {
  std::vector<NamedTensor> states = trainer.getStates();
  if (flags.average)
    states = takeAverages(states);
  if (!target)
    return writeDataFile(flags.output, states);
  if (Error failed = setInitializers(*target, states))
    return failed;
  return writeModel(*target, flags.output);
}

Expected<int> TrainCommand::train(Model &model, Program &program,
                                  Batches &batches) {
  TrainingLog log(options.total, flags.quiet);
  Trainer trainer(program, batches, options);
  if (Error failed = prepare(trainer, log))
    return failed;
  model.releasePages();
  uint64_t from = trainer.getStep();
  Expected<int> code = trainer.run(log);
  if (!code || *code == exitDiverged)
    return code;
  if (!flags.output.empty() && *code == exitOk)
    if (Error failed = writeEnd(trainer))
      return failed;
  if (trainer.getStep() > from)
    printEnd(trainer, log, from);
  return code;
}

int TrainCommand::run() {
  Model model(registry);
  if (int code = model.read(flags.files[0], flags.model))
    return code;
  if (int code = model.mix(flags.model.getPrecision(), flags.model))
    return code;
  if (!flags.into.empty())
    if (int code = target.emplace(registry).read(flags.into, flags.model))
      return code;
  Expected<DataSet> data = flags.data.read(flags.dataFile);
  if (!data)
    return reportError(data.takeError());
  CompileOptions compileOptions = flags.model.getOptions();
  std::vector<ModelValue> inputs = model.getInputs(compileOptions.dims);
  Expected<Batches> batches = Batches::create(inputs, *data, flags.batches);
  if (!batches)
    return reportError(data->path.empty()
                           ? batches.takeError()
                           : prefixError(data->path, batches.takeError()));
  std::vector<Tensor> first(inputs.size());
  if (Error failed = batches->load(0, first))
    return reportError(std::move(failed));
  addSizes(inputs, first, compileOptions);
  compileOptions.updateInPlace = true;
  if (flags.quiet)
    compileOptions.title.clear();
  options = flags.trainer;
  options.total =
      flags.steps ? flags.steps
                  : std::max<uint64_t>(flags.epochs, 1) * batches->getCount();
  options.every = options.every ? options.every : batches->getCount();
  options.model = getContentName(model.getContent());
  std::unique_ptr<Program> program = model.compile(compileOptions);
  if (!program)
    return exitNotSupported;
  Expected<int> code = train(model, *program, *batches);
  if (!code)
    return reportError(code.takeError());
  return *code ? *code : finishOutput(exitOk);
}

int runTrain(Arguments arguments, mlir::DialectRegistry &registry) {
  TrainFlags flags;
  if (std::optional<int> code = flags.parse(arguments, registry))
    return *code;
  return TrainCommand(flags, registry).run();
}

} // namespace mp
