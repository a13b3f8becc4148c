//===- RuntimeOps.h - The runtime dialect -----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_RUNTIME_RUNTIMEOPS_H
#define MPOPT_DIALECT_RUNTIME_RUNTIMEOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "mp-opt/Dialect/Runtime/RuntimeDialect.h.inc"

#define GET_OP_CLASSES
#include "mp-opt/Dialect/Runtime/RuntimeOps.h.inc"

namespace mp::runtime {

/// True if it is a memref whose type tells everything but its address.
bool isKnown(mlir::Type type);

/// The type in which a launched function gets a captured value of `type`.
mlir::Type getCapturedType(mlir::Type type);

} // namespace mp::runtime

#endif // MPOPT_DIALECT_RUNTIME_RUNTIMEOPS_H
