//===- Bench.cpp - mp-run bench -------------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "mp-opt/API/Run/Benchmark.h"
#include "mp-opt/API/Run/DeviceEstimate.h"
#include "mp-opt/API/Run/Profile.h"
#include "mp-opt/Support/AtomicFile.h"
#include "mp-opt/Support/ShownText.h"

#include <cstdio>

using namespace llvm;

namespace mp {

static constexpr StringLiteral benchHelp = R"(mp-run bench: measures a model

usage: mp-run bench MODEL [DATA | --random] [options]

Runs the model on the same inputs again and again and prints the median time,
its spread (10th to 90th percentile, interquartile range), the rate of
arithmetic, bytes, and the process's peak memory.

  --repeat=N            measured calls (as many as 3 seconds take, at least 10)
  --warmup=N            calls before the measured ones (3)
  --input=NAME=FILE, --raw=NAME:FILE:TYPE[SIZES], --random[=SEED]
                        inputs, as for mp-run run
  --json                print as JSON, every time included
  --dry-run             run nothing: with --device=cuda:NAME, a GPU by its name
                        or chip (sm_86), or --device=cuda, the GPU of this
                        machine, print what the model's kernels move and
                        compute, how long they take there at least, and how
                        long by a model of the GPU that is fitted to
                        measurements. Sizes are those of the data, or of --dim.
  --turns               measure on request: each line of standard input has two
                        numbers, of measured calls and of warm-up calls; the
                        answer is a line of JSON. Programs that are compared
                        can thus take turns.

  --profile[=FILE]      where the time goes: for each kernel its nodes, time,
                        rates, and its share of this machine's roofline;
                        FILE gets one call as a trace for chrome://tracing or
                        Perfetto
  --sweep=NAME=SIZE,SIZE,...
                        a table of times and memory instead, for sizes of a
                        dimension, in fp32, bf16 and fp16 if the model is fp32.
                        States are written in place. Sizes that do not fit the
                        memory are not run; the largest that fits is estimated.
                        With --dry-run, times are lower bounds for the GPU.

  --dim=NAME=SIZE,... --threads=N --device=NAME --fp32-products=tf32
  --kernels=FORM --excess-precision --in-place --mixed-bf16 --mixed-fp16
  --schemas=FILE --external-data-root=DIR --model-check=strict --cache=WHERE
  --mlir-timing
                        as for mp-run run

With --in-place, and with --sweep, a training step is measured as mp-run train
calls it: outputs other than the loss, its parts and states are not computed.
)";

/// Measures once for each line of standard input.
static int takeTurns(Session &session, BenchmarkOptions options) {
  char line[64];
  while (std::fgets(line, sizeof line, stdin)) {
    auto [calls, before] = StringRef(line).trim().split(' ');
    if (calls.getAsInteger(10, options.repeat) || !options.repeat ||
        before.getAsInteger(10, options.warmup))
      return reportError(createStringError(
          "--turns: expected two numbers, calls and warm-up calls, got '" +
          StringRef(line).trim() + "'"));
    Expected<Measurement> measured = measure(session, options);
    if (!measured)
      return reportError(measured.takeError());
    measured->printJSON(outs(), /*indent=*/0);
    outs().flush();
  }
  return finishOutput(exitOk);
}

/// Estimates what the model would take on a device, without the device.
static int estimate(const SessionFlags &flags, bool asJSON,
                    mlir::DialectRegistry &registry) {
  Expected<DevicePlan> plan = flags.plan(registry);
  if (!plan)
    return reportError(plan.takeError());
  DeviceEstimate estimate(*plan, *flags.model.estimated);
  if (asJSON)
    estimate.printJSON(outs());
  else
    estimate.print(EscapingStream(outs()).get());
  return finishOutput(exitOk);
}

/// Profiles the model; writes a trace to `path` if it is not empty.
static int profile(Session &session, const BenchmarkOptions &options,
                   const Target &target, StringRef path, bool asJSON) {
  if (!path.empty())
    if (Error failed = AtomicFile::check(path))
      return reportError(std::move(failed));
  HostPeaks peaks = measureHostPeaks(target, getNumThreads());
  Expected<Profile> made = Profile::measure(session, options, peaks);
  if (!made)
    return reportError(made.takeError());
  if (!path.empty()) {
    auto file = AtomicFile::create(path);
    if (!file)
      return reportError(file.takeError());
    made->printTrace((*file)->os());
    if (Error failed = (*file)->finish())
      return reportError(std::move(failed));
    if (Error failed = (*file)->commit())
      return reportError(std::move(failed));
  }
  if (asJSON)
    made->printJSON(outs());
  else
    made->print(EscapingStream(outs()).get());
  return finishOutput(exitOk);
}

int runBench(Arguments arguments, mlir::DialectRegistry &registry) {
  SessionFlags session;
  BenchmarkOptions calls;
  bool asJSON = false, inTurns = false;
  std::optional<std::string> sweep, trace;
  Flags flags("mp-run bench", benchHelp);
  session.addTo(flags);
  flags.beginGroup("Measuring");
  flags.add("repeat", calls.repeat, "measured calls", 1);
  flags.add("warmup", calls.warmup, "calls before the measured ones");
  flags.add("json", asJSON, "print as JSON");
  flags.add("dry-run", session.model.isEstimated,
            "print lower bounds and predictions for a GPU, and run nothing");
  flags
      .addOptional("profile", "where the time goes, by kernels and nodes",
                   "FILE",
                   [&](StringRef text) {
                     trace = text.str();
                     return true;
                   })
      .expected = "a file";
  flags.add("turns", inTurns, "measure on request, by lines of two numbers");
  flags.add("sweep", sweep, "times and memory for sizes of a dimension",
            "NAME=SIZE,SIZE,...");
  if (auto code = session.parse(flags, arguments, registry))
    return *code;
  if (sweep && inTurns)
    return flags.usageError("--sweep and --turns exclude each other");
  StringRef other = flags.findGiven({"repeat", "warmup", "turns"});
  if (session.model.isEstimated && !other.empty())
    return flags.usageError("--dry-run runs nothing, --" + other +
                            " measures runs");
  session.likeTraining = session.model.inPlace;
  session.model.keepTimes = trace.has_value();
  session.model.showsCompiling = !asJSON && !inTurns;
  if (trace && (inTurns || sweep || session.model.isEstimated))
    return flags.usageError("--profile excludes --" +
                            flags.findGiven({"turns", "sweep", "dry-run"}));
  if (trace && session.model.device != DeviceKind::CPU)
    return flags.usageError("--profile is of processors: expected "
                            "--device=cpu, got " +
                            stringifyDevice(session.model.device));
  if (sweep)
    return runSweep(flags, session, *sweep, calls, asJSON, registry);
  if (session.model.isEstimated)
    return estimate(session, asJSON, registry);
  DataSet data;
  Expected<Session> opened = session.open(registry, data);
  if (!opened)
    return reportError(opened.takeError());
  // States are kept between calls, as in training.
  calls.keepStates = session.model.inPlace;
  if (calls.keepStates) {
    if (Error failed = opened->takeStates())
      return reportError(std::move(failed));
    opened->getModel().releasePages();
  }
  if (inTurns)
    return takeTurns(*opened, calls);
  if (trace)
    return profile(*opened, calls, session.model.target, *trace, asJSON);
  Expected<Measurement> measured = measure(*opened, calls);
  if (!measured)
    return reportError(measured.takeError());
  if (asJSON)
    measured->printJSON(outs(), /*indent=*/2);
  else
    measured->print(EscapingStream(outs()).get());
  return finishOutput(exitOk);
}

} // namespace mp
