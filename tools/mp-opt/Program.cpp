//===- Program.cpp - A run of mp-opt --------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "Completion.h"
#include "Diff.h"
#include "Driver.h"
#include "InternalErrors.h"
#include "Message.h"
#include "Options.h"

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "InitAllPasses.h"

#include "mlir/IR/DialectRegistry.h"
#include "llvm/Support/InitLLVM.h"

namespace mp {

using Arguments = llvm::ArrayRef<const char *>;

static int runDirectly(Arguments arguments, mlir::DialectRegistry &registry) {
  Options options;
  if (std::optional<int> exitCode = options.parse(arguments, registry))
    return *exitCode;
  return Driver(options, registry).run();
}

int runOptProgram(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  installInternalErrorHandler(argc, argv);
  setUpColors();
  mlir::DialectRegistry registry;
  registry.insert<onnxir::ONNXDialect, MPDialect>();
  registerLoweringDialects(registry);
  registerAllPasses();
  auto run = [&](Arguments rest) { return runDirectly(rest, registry); };
  auto diff = [&](Arguments rest) { return runDiff(rest, registry); };
  Arguments arguments(argv + 1, argv + argc);
  CompletedProgram program{
      "mp-opt", /*takesFiles=*/true, {{"", run}, {"diff", diff}}};
  if (std::optional<int> code = printCompletion(program, arguments))
    return *code;
  if (!arguments.empty() && llvm::StringRef(arguments.front()) == "diff")
    return diff(arguments.drop_front());
  return run(arguments);
}

} // namespace mp
