//===- Options.cpp - The command line of mp-opt ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"

#include "Help.h"
#include "MLIRFlags.h"
#include "MLIRPasses.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace llvm;

namespace mp {

/// Describes the error of several inputs.
static std::string describeInputs(ArrayRef<std::string> inputs) {
  std::string text =
      "expected one input, got '" + inputs[0] + "' and '" + inputs[1] + "'; ";
  StringRef second = inputs[1];
  if (second.ends_with(".npz") || second.ends_with(".npy") ||
      second.ends_with(".safetensors"))
    return (text + "data are given by --verify=" + second).str();
  return text + "an output is given by -o";
}

/// Describes a word in the place of the model that is a command of other
/// programs: it names the command of mp-run, or the flags, for it. Empty for
/// other words.
static std::string describeCommand(ArrayRef<const char *> arguments) {
  StringRef word = arguments.front();
  if (word == "convert")
    return "there is no command 'convert': mp-opt MODEL --bf16 -o OUTPUT "
           "converts";
  if (word == "train")
    return "there is no command 'train': mp-opt MODEL --train --loss=LOSS -o "
           "STEP makes a training step, mp-run train STEP --data=FILE trains";
  static constexpr StringRef commands[] = {"run", "bench", "compare", "plan",
                                           "show"};
  if (is_contained(commands, word))
    return "there is no command '" + word.str() + "'; did you mean 'mp-run " +
           join(arguments, " ") + "'?";
  return "";
}

/// The first lines of the help: the usage of the program.
static void printUsage() {
  StringRef text = help::options;
  errs() << text.take_front(text.find("\nPrecision:"))
         << "\nmp-opt --help lists the flags.\n";
}

std::optional<int> Options::parseWord(const Flags &flags,
                                      ArrayRef<const char *> arguments) const {
  if (arguments.empty()) {
    printUsage();
    return exitUsage;
  }
  if (sys::fs::exists(arguments.front()))
    return std::nullopt;
  std::string command = describeCommand(arguments);
  return command.empty() ? std::nullopt
                         : std::optional(flags.usageError(command));
}

/// Sets the values of all flags, including MLIR's.
std::optional<int> Options::parseArguments(Flags &flags,
                                           ArrayRef<const char *> arguments,
                                           mlir::DialectRegistry &registry) {
  // Most runs name no pass, and registering all passes would slow their start.
  if (!flags.knowsAll(arguments))
    registerMLIRPasses();
  MLIRFlags others(registry);
  flags.addTopic("all", [&] {
    outs() << "mp-opt: mixed precision for ONNX models\n";
    flags.printRows(outs());
    outs() << "\nMLIR's:\n\n";
    others.printHelp();
  });
  std::vector<std::string> inputs;
  if (auto code = flags.parse(arguments, inputs, &others))
    return code;
  if (inputs.size() > 1)
    return flags.usageError(describeInputs(inputs));
  if (!inputs.empty())
    input = inputs.front();
  Error failed = others.parse();
  return failed ? std::optional(flags.usageError(toString(std::move(failed))))
                : std::nullopt;
}

Error Options::checkInput() const {
  if (!printConfig && input == "-" && isatty(0))
    return createStringError("expected an input file; see --help");
  return Error::success();
}

std::optional<int> Options::parse(ArrayRef<const char *> arguments,
                                  mlir::DialectRegistry &registry) {
  Flags flags("mp-opt", help::options);
  ConvertFlags convert(flags, *this);
  std::string crashIn, writeStep;
  // Flags for the tests of internal errors and for their handler: crash at
  // PLACE[:KIND], write the state at STEP:DESCRIPTOR.
  flags.add("debug-crash-in", crashIn, "", "PLACE").isHidden = true;
  flags.add("debug-write-step", writeStep, "", "STEP").isHidden = true;
  flags.addTopic("train", [] { outs() << help::training; });
  flags.addTopic("code", [] { outs() << help::code; });
  flags.addTopic("data", [] { outs() << help::data; });
  if (auto code = parseWord(flags, arguments))
    return code;
  if (auto code = parseArguments(flags, arguments, registry))
    return code;
  Error failed = convert.complete(MPOPT_VERSION);
  if (!failed)
    failed = checkInput();
  if (!failed)
    failed = watch.parse(crashIn, writeStep);
  if (failed)
    return flags.usageError(toString(std::move(failed)));
  return std::nullopt;
}

} // namespace mp
