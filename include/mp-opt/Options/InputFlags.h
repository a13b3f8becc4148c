//===- InputFlags.h - Flags that say how a model is read --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_OPTIONS_INPUTFLAGS_H
#define MPOPT_OPTIONS_INPUTFLAGS_H

#include "mp-opt/Options/FlagTable.h"
#include "mp-opt/Target/ONNX/ONNXTarget.h"

#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mp {

/// Makes every context of `registry` know the operators in the file of
/// --schemas; nothing to do without one.
llvm::Error addSchemas(llvm::StringRef file, mlir::DialectRegistry &registry);

/// Fails unless all of the folders of --external-data-root are there.
llvm::Error checkRoots(llvm::ArrayRef<std::string> roots);

/// Adds a flag that sets the handling of models with harmless faults.
void addCheck(FlagTable &flags, llvm::StringRef name, CheckLevel &to);

} // namespace mp

#endif // MPOPT_OPTIONS_INPUTFLAGS_H
