//===- Program.cpp - A run of mp-opt --------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "Bisect.h"
#include "Completion.h"
#include "DataCommands.h"
#include "Diff.h"
#include "Driver.h"
#include "InternalErrors.h"
#include "Message.h"
#include "Options.h"
#include "Reduce.h"
#include "StandardStreams.h"

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "InitAllPasses.h"

#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"

namespace mp {

using Arguments = llvm::ArrayRef<const char *>;

static int runDirectly(Arguments arguments, mlir::DialectRegistry &registry) {
  Options options;
  if (std::optional<int> exitCode = options.parse(arguments, registry))
    return *exitCode;
  return Driver(options, registry).run();
}

/// "help" and "help TOPIC" mean --help and --help=TOPIC, unless they name a
/// file.
static std::string getHelpFlag(Arguments arguments) {
  if (arguments.empty() || llvm::StringRef(arguments.front()) != "help" ||
      llvm::sys::fs::exists("help"))
    return "";
  return arguments.size() > 1 ? std::string("--help=") + arguments[1]
                              : "--help";
}

/// A command, which comes before its arguments.
struct Command {
  llvm::StringLiteral name;
  int (*run)(Arguments arguments, mlir::DialectRegistry &registry);
};
static constexpr Command commands[] = {{"attribute", runAttribute},
                                       {"bisect", runBisect},
                                       {"diff", runDiff},
                                       {"reduce", runReduce},
                                       {"tune", runTune}};

static int runProgram(int argc, char **argv) {
  installInternalErrorHandler(argc, argv);
  setUpColors();
  mlir::DialectRegistry registry;
  registry.insert<onnxir::ONNXDialect, MPDialect>();
  registerLoweringDialects(registry);
  registerAllPasses();
  auto run = [&](Arguments rest) { return runDirectly(rest, registry); };
  CompletedProgram program{"mp-opt", /*takesFiles=*/true, {{"", run}}};
  for (const Command &command : commands)
    program.commands.push_back({command.name, [&](Arguments rest) {
                                  return command.run(rest, registry);
                                }});
  Arguments arguments(argv + 1, argv + argc);
  if (std::optional<int> code = printCompletion(program, arguments))
    return *code;
  for (const Command &command : commands)
    if (!arguments.empty() && command.name == arguments.front())
      return command.run(arguments.drop_front(), registry);
  if (std::string help = getHelpFlag(arguments); !help.empty())
    return run(help.c_str());
  return run(arguments);
}

int runOptProgram(int argc, char **argv) {
  reserveStandardStreams();
  llvm::InitLLVM init(argc, argv);
  return finishStandardStreams("mp-opt", runProgram(argc, argv));
}

} // namespace mp
