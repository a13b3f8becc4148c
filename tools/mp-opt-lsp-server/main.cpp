//===- main.cpp - mp-opt-lsp-server ---------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's language server for editors, with the dialects of mp-opt: it shows
// definitions, descriptions of operations and errors while typing.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "InitAllPasses.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  if (argc == 2 && llvm::StringRef(argv[1]) == "--version") {
    llvm::outs() << "mp-opt-lsp-server " MPOPT_VERSION
                    " (LLVM " LLVM_VERSION_STRING ")\n";
    return 0;
  }
  mlir::DialectRegistry registry;
  registry.insert<mp::onnxir::ONNXDialect, mp::MPDialect>();
  mp::registerLoweringDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
