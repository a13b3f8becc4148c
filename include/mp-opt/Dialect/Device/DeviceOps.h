//===- DeviceOps.h - The device dialect -------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_DEVICE_DEVICEOPS_H
#define MPOPT_DIALECT_DEVICE_DEVICEOPS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "mp-opt/Dialect/Device/DeviceDialect.h.inc"
#include "mp-opt/Dialect/Device/DeviceEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "mp-opt/Dialect/Device/DeviceAttributes.h.inc"

#define GET_OP_CLASSES
#include "mp-opt/Dialect/Device/DeviceOps.h.inc"

namespace mp::device {

/// Attribute of the module: the messages that `device.fail` refers to by
/// number.
constexpr llvm::StringLiteral errorsName = "device.errors";
/// Attribute of the module (#device.target): the GPU that its kernels are for.
constexpr llvm::StringLiteral targetName = "device.target";
/// The `gpu.module` that has the kernels.
constexpr llvm::StringLiteral kernelsName = "kernels";
/// Dynamic shared memory of kernels: a global in address space 3 without size.
constexpr llvm::StringLiteral sharedName = "mp_shared";
/// The words of `device.control`, and their contents.
constexpr int64_t controlWords = 8;
enum ControlWord {
  CallNumber,
  HasFailed,
  ErrorText,
  ErrorFirst,
  ErrorSecond,
  HasEnded
};

/// The name of the model's node at a location; empty if it has none.
std::string getNodeName(mlir::Location location);

/// Emits the error that `op` has no code for devices, with its node and a way
/// out.
mlir::LogicalResult refuse(mlir::Operation *op, const llvm::Twine &why);

} // namespace mp::device

#endif // MPOPT_DIALECT_DEVICE_DEVICEOPS_H
