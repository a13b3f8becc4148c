//===- CompileProgress.cpp - Progress of a compilation --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass may take longer than a second, so a separate thread prints the
// progress. It lives as long as this object.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/CompileProgress.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Unicode.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace mlir;
using Clock = std::chrono::steady_clock;

namespace mp {

namespace {
/// Counts the passes of the pipeline itself. The number of runs of nested
/// passes depends on the module.
class PassCounter : public PassInstrumentation {
public:
  explicit PassCounter(CompileProgress &progress) : progress(progress) {}
  void runAfterPass(Pass *, Operation *op) override {
    if (!op->getParentOp())
      progress.advance();
  }

private:
  CompileProgress &progress;
};
} // namespace

CompileProgress::CompileProgress(std::string what)
    : what(std::move(what)), isTerminal(isOnTerminal()),
      watcher([this] { run(); }) {}

bool CompileProgress::isOnTerminal() { return ::isatty(STDERR_FILENO); }

CompileProgress::~CompileProgress() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isOver = true;
  }
  ended.notify_one();
  watcher.join();
}

void CompileProgress::start(StringRef newPhase, StringRef newUnits,
                            size_t newTotal) {
  std::lock_guard<std::mutex> lock(mutex);
  phase = newPhase.str();
  units = newUnits.str();
  done = 0;
  total = newTotal;
}

void CompileProgress::advance() {
  std::lock_guard<std::mutex> lock(mutex);
  ++done;
}

void CompileProgress::finish() {
  std::lock_guard<std::mutex> lock(mutex);
  isDone = true;
}

void CompileProgress::follow(PassManager &pm) {
  // Consecutive nested passes are run as one.
  size_t count = 0;
  bool isNested = false;
  for (Pass &pass : pm) {
    bool wasNested =
        std::exchange(isNested, pass.getName().contains("OpToOpPassAdaptor"));
    count += !(isNested && wasNested);
  }
  start("lowering", "passes", count);
  pm.addInstrumentation(std::make_unique<PassCounter>(*this));
}

void CompileProgress::clear() {
  std::lock_guard<std::mutex> lock(mutex);
  erase();
}

/// Erases the rest of the shown line on a terminal.
void CompileProgress::erase() {
  if (isShown && isTerminal)
    llvm::errs() << "\r\x1b[K";
}

/// Cuts the text to the width of the terminal, since a wrapped line cannot be
/// overwritten. The progress comes before the current place.
static std::string fit(std::string what, std::string place) {
  struct winsize size = {};
  unsigned room = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
  auto isWider = [&](StringRef text) {
    int width = llvm::sys::unicode::columnWidthUTF8(text);
    return room && (width < 0 || unsigned(width) >= room);
  };
  std::string line = what + (place.empty() ? "" : ": ") + place;
  if (!isWider(line))
    return line;
  line = place.empty() || isWider(place) ? "compiling" : place;
  return isWider(line) ? "" : line;
}

void CompileProgress::show() {
  std::string place;
  if (total && isTerminal)
    llvm::raw_string_ostream(place)
        << phase << ", " << done << " of " << total << " " << units;
  llvm::errs() << (isTerminal ? "\r" + fit(what, place) + "\x1b[K"
                              : what + "\n");
  isShown = true;
}

void CompileProgress::run() {
  constexpr auto quiet = std::chrono::seconds(1);
  constexpr auto pause = std::chrono::milliseconds(200);
  auto start = Clock::now();
  std::unique_lock<std::mutex> lock(mutex);
  if (ended.wait_for(lock, quiet, [&] { return isOver; }))
    return;
  show();
  while (!ended.wait_for(lock, pause, [&] { return isOver; }))
    if (isTerminal)
      show();
  if (isTerminal)
    return erase();
  if (!isDone)
    return;
  std::chrono::duration<double> taken = Clock::now() - start;
  llvm::errs() << what << ": " << llvm::format("done, %.1f s\n", taken.count());
}

//===----------------------------------------------------------------------===//
// CompileWatch
//===----------------------------------------------------------------------===//

void CompileWatch::start(StringRef phase, StringRef units, size_t total) const {
  if (progress)
    progress->start(phase, units, total);
}

void CompileWatch::advance() const {
  if (progress)
    progress->advance();
}

TimingScope CompileWatch::time(StringRef step) const {
  return timing ? timing->nest(step) : TimingScope();
}

} // namespace mp
