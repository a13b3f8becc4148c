//===- Program.cpp - A run of mp-run --------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "Commands.h"
#include "Completion.h"
#include "Interrupt.h"
#include "Message.h"
#include "OutOfMemory.h"
#include "StandardStreams.h"

#include "mp-opt/API/Model/Model.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Signals.h"

#include <csignal>
#include <unistd.h>

using namespace mp;

static constexpr llvm::StringLiteral help = R"(mp-run: runs ONNX models

usage: mp-run COMMAND ...       mp-run COMMAND --help says more, and --help=json
                                lists its flags for other programs
       mp-run --print-completion=bash|zsh|fish    completion for a shell

  run MODEL [DATA]      computes a model's outputs
  bench MODEL [DATA]    measures how long that takes
  compare A [B] [DATA]  errors of two models, or two precisions of one, against
                        float64
  train STEP --data=FILE
                        trains with a step that mp-opt --train has made
  plan STEP             time of a step of mp-opt --distribute on many ranks
  show FILE             lists the tensors of a data file or a checkpoint

DATA is an .npz, .npy or .safetensors file or an ONNX test_data_set folder.

Exit codes: 0 done; 1 a file cannot be read or written, or does not fit the
model; 2 wrong usage; 3 numbers outside of their tolerance; 4 the model has ops
that cannot be compiled; 5 the training has diverged; 7 the device was lost or
has failed; 70 internal error or out of memory; 129, 130, 143 ended by a signal.
)";

/// Distinguishes bugs and exhausted memory from errors of the user.
static void installInternalErrorHandler() {
  llvm::sys::AddSignalHandler([](void *) { ::_exit(exitInternal); }, nullptr);
  installFatalErrorHandlers("mp-run");
}

/// A user who gives a model in place of a command most likely wants to run it.
static std::string suggestCommand(llvm::StringRef command,
                                  llvm::ArrayRef<llvm::StringRef> names) {
  if (getFormatOfName(command) != Format::Auto ||
      llvm::sys::fs::exists(command))
    return "; did you mean 'mp-run run " + command.str() + "'?";
  if (command == "convert")
    return ": mp-opt MODEL --bf16 -o OUTPUT converts";
  return suggestNearest(command, names);
}

static constexpr const char *helpFlag[] = {"--help"};

using Command = std::pair<llvm::StringRef, decltype(&runRun)>;

/// Describes the program for completion in shells.
static CompletedProgram describeProgram(llvm::ArrayRef<Command> commands,
                                        mlir::DialectRegistry &registry) {
  CompletedProgram program{"mp-run", /*takesFiles=*/false, {}};
  program.commands.push_back({"", [](Arguments rest) {
                                std::vector<std::string> none;
                                return *Flags("mp-run", help).parse(rest, none);
                              }});
  for (auto [name, run] : commands)
    program.commands.push_back({name, [run = run, &registry](Arguments rest) {
                                  return run(rest, registry);
                                }});
  return program;
}

static int runProgram(int argc, char **argv) {
  // Exceeding a file-size limit is an error of the write, like a full disk.
  ::signal(SIGXFSZ, SIG_IGN);
  installInternalErrorHandler();
  sayInterrupts("mp-run: stopped by a signal\n");
  setUpColors();
  mlir::DialectRegistry registry;
  registerModelDialects(registry);
  llvm::StringRef command = argc > 1 ? argv[1] : "--help";
  Arguments rest(argv + std::min(argc, 2), argv + argc);
  static const Command commands[] = {
      {"run", runRun},     {"bench", runBench}, {"compare", runCompare},
      {"train", runTrain}, {"plan", runPlan},   {"show", runShow},
  };
  if (auto code = printCompletion(describeProgram(commands, registry),
                                  {argv + std::min(argc, 1), argv + argc}))
    return *code;
  if (command == "help") {
    // "help run" means "run --help".
    command = rest.empty() ? "--help" : rest.front();
    rest = rest.empty() ? rest : Arguments(helpFlag);
  }
  for (auto [name, run] : commands)
    if (command == name)
      return run(rest, registry);
  if (command == "--version") {
    llvm::outs() << "mp-run " MPOPT_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
    return finishOutput(exitOk);
  }
  if (command == "--help" || command == "-h") {
    llvm::outs() << help;
    return argc > 1 ? finishOutput(exitOk) : exitUsage;
  }
  auto names = llvm::to_vector(llvm::make_first_range(commands));
  std::string meant = suggestCommand(command, names);
  printMessage(
      "mp-run", mlir::DiagnosticSeverity::Error,
      "unknown command '" + command + "'" +
          (meant.empty() ? "; see mp-run --help" : llvm::Twine(meant)));
  return exitUsage;
}

int mp::runRunProgram(int argc, char **argv) {
  reserveStandardStreams();
  llvm::InitLLVM init(argc, argv);
  return finishStandardStreams("mp-run", runProgram(argc, argv));
}
