//===- Sweep.cpp - mp-run bench --sweep -----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "mp-opt/API/Run/SizeSweep.h"
#include "mp-opt/Support/ShownText.h"

#include "llvm/ADT/StringSet.h"

#include <mutex>

using namespace llvm;

namespace mp {

/// The same limit as for --dim.
constexpr int64_t maxSize = int64_t(1) << 40;

/// Parses "batch=8,16,32"; false for anything else.
static bool parseSweep(StringRef text, SizeSweepOptions &options) {
  auto [name, sizes] = text.rsplit('=');
  options.dim = name.str();
  SmallVector<StringRef> entries;
  sizes.split(entries, ',');
  for (StringRef entry : entries) {
    int64_t size = 0;
    int64_t last = options.sizes.empty() ? 0 : options.sizes.back();
    if (entry.getAsInteger(10, size) || size <= last || size > maxSize)
      return false;
    options.sizes.push_back(size);
  }
  return !name.empty() && name.size() < text.size();
}

/// Each row reads the model again: repeated messages are printed once.
static MessageFn sayOnce() {
  struct Said {
    std::mutex mutex;
    StringSet<> texts;
  };
  auto said = std::make_shared<Said>();
  return [said](StringRef name, mlir::DiagnosticSeverity severity,
                const Twine &text) {
    std::lock_guard<std::mutex> lock(said->mutex);
    if (said->texts.insert((name + ": " + text).str()).second)
      sayOfModel(name, severity, text);
  };
}

int runSweep(const Flags &flags, SessionFlags &session, StringRef sweep,
             BenchmarkOptions calls, bool asJSON,
             mlir::DialectRegistry &registry) {
  ModelFlags &model = session.model;
  SizeSweepOptions options;
  if (!parseSweep(sweep, options))
    return flags.usageError("--sweep: expected NAME=SIZE,SIZE,... with sizes "
                            "of at least 1 that increase, got '" +
                            sweep + "'");
  if (model.sizes.count(options.dim))
    return flags.usageError("--sweep and --dim both give '" + options.dim +
                            "'");
  // The step is compiled and called as in training.
  model.inPlace = calls.keepStates = session.likeTraining = true;
  MessageFn say = sayOnce();
  options.calls = calls;
  options.compile = model.getOptions();
  if (model.isEstimated)
    options.estimated = &*model.estimated;
  options.binding = {session.data.seed, say};
  options.read = [&](StringRef precision, const StringMap<int64_t> &dims) {
    return session.read(registry, precision, dims, say);
  };
  StringMap<int64_t> dims = model.sizes;
  dims[options.dim] = options.sizes.front();
  auto first = options.read("", dims);
  if (!first)
    return reportError(first.takeError());
  StringRef precision = model.getPrecision();
  if (!precision.empty())
    options.precisions = {precision.str()};
  else if (findPrecision((*first)->getModule()).empty())
    options.precisions = {"", "bf16", "fp16"};
  else
    options.precisions = {""};
  first->reset();
  auto data = session.data.read(
      session.files.size() > 1 ? StringRef(session.files[1]) : "");
  if (!data)
    return reportError(data.takeError());
  Expected<SizeSweep> swept = sweepSizes(*data, options);
  if (!swept)
    return reportError(swept.takeError());
  if (asJSON)
    swept->printJSON(outs());
  else
    swept->print(EscapingStream(outs()).get());
  return finishOutput(exitOk);
}

} // namespace mp
