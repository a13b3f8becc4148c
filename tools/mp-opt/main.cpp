//===- main.cpp - mp-opt --------------------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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

using Arguments = llvm::ArrayRef<const char *>;

static int runDirectly(Arguments arguments, mlir::DialectRegistry &registry) {
  mp::Options options;
  if (std::optional<int> exitCode = options.parse(arguments, registry))
    return *exitCode;
  return mp::Driver(options, registry).run();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mp::installInternalErrorHandler(argc, argv);
  mp::setUpColors();
  mlir::DialectRegistry registry;
  registry.insert<mp::onnxir::ONNXDialect, mp::MPDialect>();
  mp::registerLoweringDialects(registry);
  mp::registerAllPasses();
  auto run = [&](Arguments rest) { return runDirectly(rest, registry); };
  auto diff = [&](Arguments rest) { return mp::runDiff(rest, registry); };
  Arguments arguments(argv + 1, argv + argc);
  mp::CompletedProgram program{
      "mp-opt", /*takesFiles=*/true, {{"", run}, {"diff", diff}}};
  if (std::optional<int> code = mp::printCompletion(program, arguments))
    return *code;
  if (!arguments.empty() && llvm::StringRef(arguments.front()) == "diff")
    return diff(arguments.drop_front());
  return run(arguments);
}
