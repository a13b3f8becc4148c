//===- RuntimeDialect.cpp - The runtime dialect ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/IR/Builders.h"

#include "mp-opt/Dialect/Runtime/RuntimeDialect.cpp.inc"

#define GET_OP_CLASSES
#include "mp-opt/Dialect/Runtime/RuntimeOps.cpp.inc"

void mp::runtime::RuntimeDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "mp-opt/Dialect/Runtime/RuntimeOps.cpp.inc"
      >();
}
