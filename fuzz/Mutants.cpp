//===- Mutants.cpp - A fixed number of fixed mutants ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: fuzz-mutants SEEDS... [--runs=N] [--shard=I/K] [--first=M]
//                     [--skip-replay] [--corpus=FOLDER]
//
// Replays all seeds (unless told to skip that), then runs N mutants of them,
// each made from its number alone: the same ones on every machine, whatever
// libFuzzer's coverage would choose there. Of ten, seven are models mutated by
// their schemas and three are bytes; for every twenty of these a text for
// another reader is mutated.
// --shard runs every K-th of them. An input that ends the process is left as
// `mutant-M` beside a message that says how to run it alone. --corpus writes
// the seeds in the form that the libFuzzer targets read, and ends.
//
//===----------------------------------------------------------------------===//

#include "ModelMutator.h"
#include "ProtoMutator.h"
#include "Seeds.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <sanitizer/asan_interface.h>

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

using namespace mp::fuzz;
using llvm::StringRef;

/// Mutants above this size are left out: time is for many small ones.
static constexpr size_t maxBytes = 1 << 16;
/// No input takes this much of a processor's time, sanitizers and all.
static constexpr unsigned maxSeconds = 30;

//===----------------------------------------------------------------------===//
// The current run, for the case that it does not end well
//===----------------------------------------------------------------------===//

static std::string currentInput, currentName;

/// Called when the process is about to die, by a sanitizer, a signal or us.
static void keepInput() {
  std::string file = currentName.empty() ? "input" : currentName;
  int fd = ::open(file.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0644);
  if (fd < 0 || ::write(fd, currentInput.data(), currentInput.size()) < 0)
    return;
  ::close(fd);
  std::string text = "the input is left as '" + file + "'\n";
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0)
    return;
}

static void onTimeout(int) {
  static constexpr char text[] = "broken promise: takes too long\n";
  if (::write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
    ::_exit(1);
  ::abort();
}

/// Processor time, so that a busy machine changes nothing.
static void setLimit(unsigned seconds) {
  itimerval limit = {};
  limit.it_value.tv_sec = seconds;
  ::setitimer(ITIMER_PROF, &limit, nullptr);
}

//===----------------------------------------------------------------------===//
// Mutants
//===----------------------------------------------------------------------===//

namespace {

struct Options {
  std::vector<std::string> seeds;
  std::string corpus;
  uint64_t runs = 0, shard = 0, shards = 1, first = 0;
  bool replay = true;
};

class Runner {
public:
  Runner(const Options &options) : options(options) {
    for (const std::string &path : options.seeds)
      seeds.load(path);
    for (const ModelSeed &seed : seeds.models)
      if (!StringRef(seed.name).starts_with("slow_"))
        quick.push_back(&seed.bytes);
  }

  void replay();
  void mutate();
  void report() const;
  void writeCorpus() const;

private:
  bool isMine(uint64_t number) const {
    return number % options.shards == options.shard;
  }
  template <typename Run>
  void time(std::string name, const std::string &input, Run run);
  void runModelMutant(uint64_t number);
  void runTextMutant(uint64_t number);
  std::string makeStructured(Random &random);
  const std::string &pickModel(Random &random) { return *random.pick(quick); }

  const Options &options;
  Seeds seeds;
  /// The seeds from which thousands of mutants are made.
  std::vector<const std::string *> quick;
  Harness harness;
  uint64_t replayed = 0, structured = 0, bytes = 0, texts = 0, accepted = 0,
           tooBig = 0;
  double total = 0, slowest = 0;
  std::string slowestName;
};

} // namespace

template <typename Run>
void Runner::time(std::string name, const std::string &input, Run run) {
  currentName = name, currentInput = input;
  setLimit(maxSeconds);
  auto start = std::chrono::steady_clock::now();
  accepted += run();
  std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - start;
  setLimit(0);
  total += taken.count();
  if (taken.count() > slowest)
    slowest = taken.count(), slowestName = std::move(name);
}

void Runner::replay() {
  uint64_t number = 0;
  for (const ModelSeed &seed : seeds.models)
    for (unsigned mode = 0; mode < modeCount; ++mode)
      if (isMine(number++)) {
        ++replayed;
        time(seed.name, seed.bytes,
             [&] { return harness.runModel(seed.bytes, Mode(mode)); });
      }
  for (const TextSeed &seed : seeds.texts)
    if (isMine(number++)) {
      ++replayed;
      time(seed.name, seed.text,
           [&] { return harness.runText(seed.text, seed.reader); });
    }
}

std::string Runner::makeStructured(Random &random) {
  ::onnx::ModelProto model, other;
  model.ParsePartialFromString(pickModel(random));
  ModelMutator mutator(model, random);
  if (random.oneIn(6)) {
    other.ParsePartialFromString(pickModel(random));
    mutator.cross(other);
  } else {
    mutator.mutate();
  }
  std::string made;
  model.SerializePartialToString(&made);
  return made;
}

void Runner::runModelMutant(uint64_t number) {
  Random random(number);
  bool isStructured = number % 10 < 7;
  std::string input;
  if (isStructured) {
    input = makeStructured(random);
  } else {
    input = pickModel(random);
    for (uint64_t edits = 1 + random.below(6); edits; --edits)
      mutateBytes(input, random);
  }
  if (input.size() > maxBytes) {
    ++tooBig;
    return;
  }
  ++(isStructured ? structured : bytes);
  time("mutant-" + std::to_string(number) + ".onnx", input,
       [&] { return harness.runModel(input); });
}

void Runner::runTextMutant(uint64_t number) {
  Random random(~number);
  const TextSeed &seed = random.pick(seeds.texts);
  std::string input = seed.text;
  for (uint64_t edits = 1 + random.below(6); edits; --edits)
    mutateBytes(input, random);
  ++texts;
  time("mutant-" + std::to_string(number) + ".txt", input,
       [&] { return harness.runText(input, seed.reader); });
}

void Runner::mutate() {
  if (quick.empty() || seeds.texts.empty())
    return;
  for (uint64_t number = options.first; number < options.first + options.runs;
       ++number) {
    if (!isMine(number))
      continue;
    runModelMutant(number);
    if (number / options.shards % 20 == 0)
      runTextMutant(number);
  }
}

void Runner::report() const {
  llvm::outs() << "replayed seeds " << replayed << ", structured mutants "
               << structured << ", byte mutants " << bytes << ", text mutants "
               << texts << ", too big " << tooBig << ", converted or accepted "
               << accepted << ", seconds " << llvm::format("%.1f", total)
               << ", slowest " << llvm::format("%.2f", slowest) << " ("
               << slowestName << ")\n";
}

void Runner::writeCorpus() const {
  auto write = [&](StringRef kind, StringRef name, StringRef content) {
    std::string folder = (options.corpus + "/" + kind).str();
    llvm::sys::fs::create_directories(folder);
    std::error_code error;
    llvm::raw_fd_ostream os((folder + "/" + name).str(), error);
    if (error)
      fail("cannot write to " + folder + ": " + error.message());
    os << content;
  };
  for (const ModelSeed &seed : seeds.models)
    if (!StringRef(seed.name).starts_with("slow_"))
      write("models", seed.name, seed.bytes);
  for (const TextSeed &seed : seeds.texts)
    write("texts", seed.name, std::string(1, char(seed.reader)) + seed.text);
}

/// False if the arguments are wrong.
static bool parse(int argc, char **argv, Options &options) {
  for (int index = 1; index < argc; ++index) {
    StringRef argument(argv[index]);
    if (argument.consume_front("--runs=")) {
      if (argument.getAsInteger(10, options.runs))
        return false;
    } else if (argument.consume_front("--first=")) {
      if (argument.getAsInteger(10, options.first))
        return false;
    } else if (argument.consume_front("--shard=")) {
      auto [shard, shards] = argument.split('/');
      if (shard.getAsInteger(10, options.shard) ||
          shards.getAsInteger(10, options.shards) || !options.shards)
        return false;
    } else if (argument.consume_front("--corpus=")) {
      options.corpus = argument.str();
    } else if (argument == "--skip-replay") {
      options.replay = false;
    } else if (argument.starts_with("-")) {
      return false;
    } else {
      options.seeds.push_back(argument.str());
    }
  }
  return !options.seeds.empty();
}

int main(int argc, char **argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    llvm::errs() << "usage: fuzz-mutants SEEDS... [--runs=N] [--shard=I/K] "
                    "[--first=M] [--skip-replay] [--corpus=FOLDER]\n";
    return 2;
  }
  ::signal(SIGPROF, onTimeout);
  __asan_set_death_callback(keepInput);
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) {
    fail(llvm::Twine("LLVM gives up: ") + reason);
  });
  Runner runner(options);
  if (!options.corpus.empty()) {
    runner.writeCorpus();
    return 0;
  }
  if (options.replay)
    runner.replay();
  runner.mutate();
  runner.report();
  return 0;
}
