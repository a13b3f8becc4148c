//===- MP.h - The mp dialect ------------------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_MP_MP_H
#define MPOPT_DIALECT_MP_MP_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "mp-opt/Dialect/MP/MPDialect.h.inc"
#include "mp-opt/Dialect/MP/MPEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "mp-opt/Dialect/MP/MPAttributes.h.inc"

#define GET_OP_CLASSES
#include "mp-opt/Dialect/MP/MPOps.h.inc"

#endif // MPOPT_DIALECT_MP_MP_H
