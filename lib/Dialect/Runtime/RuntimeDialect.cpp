//===- RuntimeDialect.cpp - The runtime dialect ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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

mlir::LogicalResult
mp::runtime::LaunchOp::verifySymbolUses(mlir::SymbolTableCollection &symbols) {
  using namespace mlir;
  Operation *callee = symbols.lookupNearestSymbolFrom(*this, getCalleeAttr());
  if (isa_and_nonnull<LLVM::LLVMFuncOp>(callee))
    return success();
  auto function = dyn_cast_or_null<func::FuncOp>(callee);
  if (!function)
    return emitOpError("found no function '") << getCallee() << "'";
  SmallVector<Type> expected(getCaptures().getTypes());
  expected.append(2, IndexType::get(getContext()));
  if (function.getFunctionType() !=
      FunctionType::get(getContext(), expected, {}))
    return emitOpError("found a callee of type ")
           << function.getFunctionType() << ", expected "
           << FunctionType::get(getContext(), expected, {});
  return success();
}
