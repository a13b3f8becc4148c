//===- TrainFlags.cpp - The flags of mp-run train -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainFlags.h"

#include "Message.h"

#include "mp-opt/API/Model/ModelOutput.h"
#include "mp-opt/Data/Checkpoint.h"
#include "mp-opt/Support/ShownText.h"

#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

#include <sys/ioctl.h>
#include <unistd.h>

using namespace llvm;

namespace mp {

static constexpr StringLiteral trainHelp =
    R"(mp-run train: trains with a step that mp-opt --train has made

usage: mp-run train STEP --data=FILE [--epochs=N | --steps=N] [options]

Makes one step for each batch of the data, in a new order of rows in each epoch,
and writes the trained parameters and other states to -o and to checkpoints.

  --data=FILE           .npz or .safetensors: a tensor of rows, or of batches in
                        order, by the name of each input; types are converted
  --raw=NAME:FILE:TYPE[SIZES]
                        the same from plain elements: x:x.bin:float32[?,784]
  --validation=FILE     the same, to evaluate the loss on after each epoch, as
                        in inference (no Dropout, running statistics)
  --batch=N             rows in a batch; the rest at an epoch's end is unused
  --seed=N              rows' order in an epoch (0); --no-shuffle: the file's
  --epochs=N, --steps=N how long, in all (1 epoch)
  --lr=X                the peak learning rate (the step's own)
  --lr-schedule=NAME    constant, linear or cosine (to --lr-min), or step (by
                        --lr-gamma every --lr-step steps)
  --warmup=N            number of first steps in which the rate rises

  --checkpoint=DIR      folder of checkpoints; one is written at the end, too
  --checkpoint-every=N  steps between them (an epoch); --keep=N: how many (2)
  --resume              continue from the newest complete one, bit by bit
  --init=FILE           states to start with, or a folder of checkpoints
  -o FILE               states at the end: .safetensors, .npz; .onnx (--into)
  --into=MODEL          -o gets this model with the trained parameters
  --recalibrate-at=N    measure ranges after step N; --ranges=FILE gets them
  --average             -o gets the averages that a step of mp-opt --average has
  --log=FILE, --json    a line of JSON for each step; the result as JSON
  --progress=FORM       bar (on a terminal), lines, none or auto; --quiet: only
                        warnings during the run; --mlir-timing at its end
  --timeout=S           with mpiexec: end if a rank is silent for so long (600)
  --wire=fp32|bf16      type in which gradients are sent; --ranks=1: train alone
  --shard=optimizer     each rank keeps a part of the optimizer's states
  --collectives=NAME    GPUs reduce by nccl, or by mpi through the host (auto)

As for mp-run run: --dim=NAME=SIZE,... --threads=N --device=NAME --kernels=FORM
  --fp32-products=tf32 --excess-precision --mixed-bf16 --mixed-fp16
  --schemas=FILE --model-check=strict --external-data-root=DIR --cache=WHERE

Ctrl-C, SIGTERM or SIGHUP ends the run after its step, with -o and a checkpoint
(in $TMPDIR if need be). A run that diverges or changes no parameter has no -o.

Exit codes: 0 done; 1 a file cannot be used, or data cannot be trained on; 2
wrong usage; 4 ops that cannot be compiled; 5 the last loss or a state is not
finite, or no step changed a parameter; 7 the device has failed; 70 internal
error; 75 timeout; 129, 130, 143 ended by SIGHUP, Ctrl-C or SIGTERM.
)";

void noteTraining(const Twine &text) {
  errs() << "mp-run train: " + escapeText(text) + "\n";
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

void TrainFlags::addDataTo(Flags &flags) {
  flags.beginGroup("Data");
  flags.add("data", dataFile, "tensors by the inputs' names", "FILE");
  flags.add("raw", data.raw, "the same from plain elements",
            "NAME:FILE:TYPE[SIZES]");
  flags.add("validation", validation, "data for the loss after each epoch",
            "FILE");
  flags.add("batch", trainer.batches.size, "rows in a batch", 1).foreignNames =
      {"batch-size", "train-batch-size", "per-device-train-batch-size"};
  flags.add("seed", trainer.batches.seed, "seed of the order of rows");
  flags.add("no-shuffle", noShuffle, "rows in the order of the file");
  flags.add("epochs", epochs, "passes over the data, in all", 1)
      .foreignNames = {"num-epochs", "num-train-epochs"};
  flags.add("steps", trainer.steps, "steps, in all", 1).foreignNames = {
      "max-steps", "num-steps"};
  flags.addHint({"loss", "optimizer", "weight-decay", "momentum", "clip-norm",
                 "max-grad-norm", "clip-value", "accumulate", "loss-scale",
                 "gradient-accumulation-steps", "train-only", "freeze"},
                "the step has it: mp-opt MODEL --train --loss=LOSS makes steps "
                "(mp-opt --help=train)");
}

void TrainFlags::addFilesTo(Flags &flags) {
  flags.beginGroup("Files");
  flags.add("checkpoint", trainer.checkpoints, "folder of checkpoints", "DIR")
      .foreignNames = {"checkpoints", "checkpoint-dir"};
  flags.add("checkpoint-every", trainer.every, "steps between checkpoints", 1)
      .foreignNames = {"save-steps"};
  flags.add("keep", trainer.keep, "number of checkpoints kept", 1)
      .foreignNames = {"save-total-limit"};
  flags.add("resume", trainer.resume,
            "continue from the newest complete checkpoint");
  flags.add("init", trainer.init, "states to start with, by names", "FILE");
  flags.add("o", output, "states at the end", "FILE").synonyms = {"output"};
  flags.add("into", into, "model that gets the trained parameters", "MODEL")
      .expected = "a model";
  flags.add("recalibrate-at", trainer.recalibrateAt,
            "step after which ranges are measured", 1);
  flags.add("ranges", trainer.ranges, "gets the ranges", "FILE");
  flags.add("average", trainer.average, "-o gets averages of the parameters");
  flags.add("log", trainer.log, "a line of JSON for each step", "FILE");
}

void TrainFlags::addTo(Flags &flags) {
  model.addTo(flags);
  rate.emplace(flags, trainer.rate);
  addDataTo(flags);
  addFilesTo(flags);
  flags.beginGroup("Ranks");
  flags.add("ranks", numRanks, "1: train alone, even if there are other ranks",
            1);
  flags.addChoice("wire", wire, "type in which gradients are sent",
                  {"fp32", "bf16"});
  flags.addChoice("shard", shard, "what is divided among ranks",
                  {"none", "optimizer"});
  flags.addChoice(
      "collectives", "how GPUs reduce", getCollectivesWords(),
      [this](size_t word) { collectives = DeviceCollectives(word); });
  flags.add("timeout", timeout, "seconds to wait for other ranks", 0.0);
  flags.beginGroup("Printing");
  flags.add("json", json, "print the result as JSON");
  flags.addChoice("progress", progress, "how progress is shown",
                  {"auto", "bar", "lines", "none"});
  flags.add("quiet", quiet, "print only warnings during the run");
}

std::optional<int> TrainFlags::parse(Arguments arguments,
                                     mlir::DialectRegistry &registry) {
  Flags flags("mp-run train", trainHelp);
  addTo(flags);
  if (std::optional<int> code = flags.parse(arguments, files))
    return code;
  for (auto check : {&TrainFlags::checkCombination, &TrainFlags::checkOutput})
    if (std::optional<int> code = (this->*check)(flags))
      return code;
  Error failed = rate->check();
  if (!failed)
    failed = model.apply(registry, "mp-run");
  if (failed)
    return report(flags, std::move(failed));
  if (!quiet)
    noteThreads(model.threads);
  trainer.epochs = std::max<uint64_t>(epochs, 1);
  trainer.batches.shuffle = !noShuffle;
  model.showsCompiling = !quiet && !json && progress != "none";
  trainer.compile = model.getOptions();
  trainer.onWarning = [](const Twine &text) {
    printMessage("mp-run train", mlir::DiagnosticSeverity::Warning, text);
  };
  if (!quiet)
    trainer.onNote = noteTraining;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

std::optional<int> TrainFlags::checkCombination(const Flags &flags) const {
  if (files.size() != 1) {
    bool hasData = files.size() == 2 && dataFile.empty() &&
                   getDataFormat(files[1], /*content=*/"");
    return flags.usageError(
        "expected one model, got " + Twine(files.size()) +
        (hasData ? "; did you mean --data=" + files[1] + "?" : std::string()));
  }
  if (dataFile.empty() && data.raw.empty())
    return flags.usageError("expected --data=FILE or --raw");
  if (!into.empty() && output.empty())
    return flags.usageError("--into needs -o");
  if (trainer.average && output.empty())
    return flags.usageError("--average needs -o");
  if (epochs && trainer.steps)
    return flags.usageError("--epochs and --steps exclude each other");
  if ((trainer.recalibrateAt != 0) != !trainer.ranges.empty())
    return flags.usageError("--recalibrate-at=N and --ranges=FILE need each "
                            "other");
  if (trainer.checkpoints.empty() && (trainer.resume || trainer.every))
    return flags.usageError("--resume and --checkpoint-every need "
                            "--checkpoint=DIR");
  return std::nullopt;
}

/// Checks that output files have a known format and do not replace an input.
std::optional<int> TrainFlags::checkOutput(const Flags &flags) const {
  StringRef suffix = sys::path::extension(output);
  bool isModel = suffix.equals_insensitive(".onnx");
  if (into.empty() && isModel)
    return flags.usageError("-o '" + output +
                            "': a model needs --into=MODEL, "
                            "whose parameters it gets");
  if (into.empty())
    if (Error failed = checkDataFileName(output, /*haveNames=*/true))
      return flags.usageError("-o " + toString(std::move(failed)));
  if (!into.empty() && !suffix.empty() && !isModel)
    return flags.usageError("-o '" + output +
                            "': --into writes a model, "
                            "expected .onnx");
  for (StringRef written :
       {StringRef(output), StringRef(trainer.log), StringRef(trainer.ranges)})
    for (StringRef read : {StringRef(files[0]), StringRef(dataFile),
                           StringRef(validation), StringRef(into)})
      if (isSameFile(read, written))
        return flags.usageError("'" + written + "' would replace '" + read +
                                "', which is read");
  if (isSameFile(output, trainer.log))
    return flags.usageError("-o and --log are both '" + output + "'");
  return std::nullopt;
}

Error TrainFlags::checkPaths() const {
  for (StringRef path :
       {StringRef(output), StringRef(trainer.log), StringRef(trainer.ranges)})
    if (!path.empty())
      if (Error failed = AtomicFile::check(path))
        return failed;
  if (trainer.checkpoints.empty())
    return Error::success();
  return CheckpointFolder(trainer.checkpoints).checkWritable();
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<ProcessGroup>>
TrainFlags::join(const Launch &launch) const {
  if (numRanks == 1 || (launch.size == 1 && numRanks == 0))
    return nullptr;
  if (numRanks && numRanks != uint64_t(launch.size))
    return createStringError(
        "--ranks=" + Twine(numRanks) +
        (launch.kind == Launch::None
             ? ": no launcher has started this process: mpiexec -n " +
                   Twine(numRanks) + " mp-run train ... starts so many"
             : ": the launcher has started " + Twine(launch.size)));
  ProcessGroupOptions options;
  options.timeout = timeout;
  options.isWireBF16 = wire == "bf16";
  options.deviceCollectives = collectives;
  options.localRank = launch.localRank;
  // A test can simulate a network that is slower than memory.
  if (auto slow = sys::Process::GetEnv("MPOPT_TEST_SECONDS_PER_BYTE"))
    (void)StringRef(*slow).getAsDouble(options.secondsPerByte);
  return ProcessGroup::join(launch, options);
}

void TrainFlags::beQuiet() {
  quiet = true;
  json = false;
  output.clear();
  into.clear();
  trainer.average = false;
  trainer.compile.title.clear();
}

//===----------------------------------------------------------------------===//
// Progress
//===----------------------------------------------------------------------===//

static unsigned getTerminalColumns() {
  struct winsize size;
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

/// Dumb terminals cannot overwrite a line.
static bool isSmartTerminal() {
  return sys::Process::StandardErrIsDisplayed() &&
         sys::Process::GetEnv("TERM") != "dumb";
}

std::optional<ProgressOptions> TrainFlags::getProgress() const {
  if (quiet || progress == "none")
    return std::nullopt;
  ProgressOptions options;
  options.isBar =
      progress == "bar" || (progress == "auto" && isSmartTerminal());
  options.isColored = showsColors();
  options.getColumns = getTerminalColumns;
  return options;
}

} // namespace mp
