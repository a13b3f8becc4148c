//===- Program.cpp - A run of mp-opt --------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Program.h"

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

int runOptProgram(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  installInternalErrorHandler(argc, argv);
  setUpColors();
  mlir::DialectRegistry registry;
  registry.insert<onnxir::ONNXDialect, MPDialect>();
  registerLoweringDialects(registry);
  registerAllPasses();
  if (argc > 1 && llvm::StringRef(argv[1]) == "diff")
    return runDiff({argv + 2, argv + argc}, registry);
  Options options;
  if (std::optional<int> exitCode = options.parse(argc, argv, registry))
    return *exitCode;
  return Driver(options, registry).run();
}

} // namespace mp
