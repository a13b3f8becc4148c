//===- ScratchToLLVM.cpp - Memory of threads from the run-time ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Conversion/KernelToLoops.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace mp::kernel {

/// `void *mp_scratch(int32_t slot, int64_t bytes)`.
static LLVM::LLVMFuncOp declareScratch(ModuleOp module) {
  if (auto found = module.lookupSymbol<LLVM::LLVMFuncOp>("mp_scratch"))
    return found;
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  return LLVM::LLVMFuncOp::create(
      builder, module.getLoc(), "mp_scratch",
      LLVM::LLVMFunctionType::get(
          pointer, {builder.getI32Type(), builder.getI64Type()}));
}

void convertScratch(ModuleOp module) {
  SmallVector<ScratchOp> found;
  module.walk([&](ScratchOp op) { found.push_back(op); });
  if (found.empty())
    return;
  LLVM::LLVMFuncOp function = declareScratch(module);
  for (ScratchOp op : found) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Type i64 = builder.getI64Type();
    Type pointer = LLVM::LLVMPointerType::get(module.getContext());
    Value slot = LLVM::ConstantOp::create(builder, loc, op.getSlotAttr());
    Value bytes = arith::IndexCastOp::create(builder, loc, i64, op.getBytes());
    Value memory =
        LLVM::CallOp::create(builder, loc, function, ValueRange{slot, bytes})
            .getResult();
    auto array = LLVM::LLVMArrayType::get(i64, 1);
    auto type = LLVM::LLVMStructType::getLiteral(
        module.getContext(), {pointer, pointer, i64, array, array});
    Value zero =
        LLVM::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(0));
    Value one =
        LLVM::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(1));
    Value descriptor = LLVM::PoisonOp::create(builder, loc, type);
    auto insert = [&](Value value, ArrayRef<int64_t> position) {
      descriptor = LLVM::InsertValueOp::create(builder, loc, descriptor, value,
                                               position);
    };
    insert(memory, {0});
    insert(memory, {1});
    insert(zero, {2});
    insert(bytes, {3, 0});
    insert(one, {4, 0});
    op.replaceAllUsesWith(UnrealizedConversionCastOp::create(
                              builder, loc, op.getType(), descriptor)
                              .getResult(0));
    op.erase();
  }
}

} // namespace mp::kernel
