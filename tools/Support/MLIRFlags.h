//===- MLIRFlags.h - What MLIR's own flags ask for --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MlirOptMain does all of this for MLIR in and MLIR out; these are for tools
// that read and write other forms as well.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_SUPPORT_MLIRFLAGS_H
#define MPOPT_TOOLS_SUPPORT_MLIRFLAGS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/Error.h"

namespace mp {

/// To be called before flags are parsed. A plugin needs libMLIR.so, and nothing
/// of one MLIR means anything to another in the same process: where this tool
/// holds its own, none is even opened.
void keepPluginsOut();
/// Fails if there is a flag that would have loaded one.
llvm::Error refusePlugins();

/// --remarks-filter and its like.
mlir::LogicalResult setUpRemarks(const mlir::MlirOptMainConfig &config,
                                 mlir::MLIRContext &context);

/// --verify-roundtrip: text and bytecode must say all that the module says.
mlir::LogicalResult verifyRoundtrip(mlir::ModuleOp module,
                                    const mlir::DialectRegistry &registry);

} // namespace mp

#endif // MPOPT_TOOLS_SUPPORT_MLIRFLAGS_H
