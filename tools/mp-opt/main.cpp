//===- main.cpp - mp-opt --------------------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mp::installInternalErrorHandler(argc, argv);
  mp::setUpColors();
  mlir::DialectRegistry registry;
  registry.insert<mp::onnxir::ONNXDialect, mp::MPDialect>();
  mp::registerLoweringDialects(registry);
  mp::registerAllPasses();
  if (argc > 1 && llvm::StringRef(argv[1]) == "diff")
    return mp::runDiff({argv + 2, argv + argc}, registry);
  mp::Options options;
  if (std::optional<int> exitCode = options.parse(argc, argv, registry))
    return *exitCode;
  return mp::Driver(options, registry).run();
}
