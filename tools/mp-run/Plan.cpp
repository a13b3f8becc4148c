//===- Plan.cpp - mp-run plan ---------------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "mp-opt/API/Train/ScalingPlan.h"
#include "mp-opt/Support/ShownText.h"

using namespace llvm;

namespace mp {

static constexpr StringLiteral planHelp =
    R"(mp-run plan: the time of a distributed step on many ranks

usage: mp-run plan STEP [DATA | --random] --ranks=N,N,... --network=NAME
              [options]
       mp-run plan PLAN.json --ranks=N,N,... --network=NAME [--jitter=SHARE]

Measures one rank's step, which mp-opt --train --distribute has made, and when
its buckets of gradients are ready and needed. Prints for each number of ranks
the time of communication, how much of it the step waits for, and the
efficiency, with the same batch size on each rank: in fp32, in bf16 (--wire),
with four batches for an update (--accumulate), and with a sharded optimizer;
and when each bucket is sent. Latency and bandwidth give the time; --jitter is
for other delays of ranks. PLAN.json, printed by --json on this machine or
another, replaces the measurement: its 'seconds' and 'buckets' are used again.

  --ranks=N,N,...       numbers of ranks (8,64,1024)
  --network=NAME        10g, 25g, 100g, 400g, one rank a node, or nvlink+400g,
                        eight; or GB/S,US: bytes per second of each rank and the
                        latency of a message, with :RANKS,GB/S,US within a node
  --jitter=SHARE        standard deviation of ranks' times (0.01)
  --input=NAME=FILE, --raw=NAME:FILE:TYPE[SIZES], --random[=SEED]
                        inputs, as for mp-run run
  --json                print as JSON

  --dim=NAME=SIZE,... --threads=N --device=NAME --fp32-products=tf32
  --kernels=FORM --excess-precision --in-place --mixed-bf16 --mixed-fp16
  --schemas=FILE --external-data-root=DIR --model-check=strict --cache=WHERE
  --mlir-timing
                        as for mp-run run

Exit codes: 0 done; 1 a file cannot be used, or the step reduces nothing; 2
wrong usage; 4 the model has ops that cannot be compiled; 70 internal error.
)";

/// Parses "8,64,1024"; false for anything else.
static bool parseRanks(StringRef text, SmallVectorImpl<unsigned> &ranks) {
  constexpr unsigned most = 1 << 20;
  SmallVector<StringRef> entries;
  text.split(entries, ',');
  for (StringRef entry : entries) {
    unsigned count = 0;
    if (entry.getAsInteger(10, count) || count < 1 || count > most)
      return false;
    ranks.push_back(count);
  }
  return true;
}

static bool isPlan(StringRef path) { return path.ends_with(".json"); }

static Expected<MeasuredStep> getStep(SessionFlags &session,
                                      mlir::DialectRegistry &registry) {
  if (isPlan(session.files[0]))
    return readMeasuredStep(session.files[0]);
  // The step is compiled as in training.
  session.model.inPlace = true;
  session.keepReductions = true;
  DataSet data;
  Expected<Session> opened = session.open(registry, data);
  if (!opened)
    return opened.takeError();
  if (Error failed = opened->takeStates())
    return failed;
  return measureStep(*opened);
}

int runPlan(Arguments arguments, mlir::DialectRegistry &registry) {
  SessionFlags session;
  std::string ranks = "8,64,1024", name;
  double jitter = 0.01;
  bool asJSON = false;
  Flags flags("mp-run plan", planHelp);
  session.addTo(flags);
  flags.beginGroup("Scaling");
  flags.add("ranks", ranks, "numbers of ranks", "N,N,...");
  flags.add("network", name, "network between ranks", "NAME").words =
      Network::getKnownNames();
  flags.add("jitter", jitter, "standard deviation of ranks' times", 0.0);
  flags.add("json", asJSON, "print as JSON");
  if (auto code = session.parse(flags, arguments, registry))
    return *code;
  session.model.showsCompiling = !asJSON;
  SmallVector<unsigned> counts;
  if (!parseRanks(ranks, counts))
    return flags.usageError("--ranks: expected N,N,... from 1 on, got '" +
                            ranks + "'");
  if (name.empty())
    return flags.usageError("expected --network=NAME");
  Expected<Network> network = Network::parse(name);
  if (!network)
    return flags.usageError("--network: " + toString(network.takeError()));
  const DataFlags &data = session.data;
  if (isPlan(session.files[0]) && (session.files.size() > 1 || data.seed ||
                                   !data.inputs.empty() || !data.raw.empty()))
    return flags.usageError("'" + session.files[0] +
                            "' has what was measured: expected no data");
  Expected<MeasuredStep> step = getStep(session, registry);
  if (!step)
    return reportError(step.takeError());
  ScalingPlan plan = planScaling(std::move(*step), *network, counts, jitter);
  if (asJSON)
    plan.printJSON(outs());
  else
    plan.print(EscapingStream(outs()).get());
  return finishOutput(exitOk);
}

} // namespace mp
