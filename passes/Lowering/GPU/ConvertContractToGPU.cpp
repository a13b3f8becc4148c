//===- ConvertContractToGPU.cpp - Write contractions as kernels for GPUs --===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/GPU/Contract.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace mp {
#define GEN_PASS_DEF_CONVERTCONTRACTTOGPU
#include "Lowering/Passes.h.inc"

namespace {
class ConvertContractToGPU
    : public impl::ConvertContractToGPUBase<ConvertContractToGPU> {
  using ConvertContractToGPUBase::ConvertContractToGPUBase;

  void runOnOperation() override {
    SmallVector<kernel::ContractOp> ops;
    getOperation().walk([&](kernel::ContractOp op) { ops.push_back(op); });
    if (ops.empty())
      return;
    SymbolTable symbols(getOperation());
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto kernels = symbols.lookup<gpu::GPUModuleOp>(device::kernelsName);
    if (!kernels)
      kernels = gpu::GPUModuleOp::create(builder, getOperation().getLoc(),
                                         device::kernelsName);
    for (kernel::ContractOp op : ops)
      if (failed(convert(op, kernels)))
        return signalPassFailure();
  }

private:
  /// Kernels see the memory of their operands, and constants.
  static LogicalResult verifyEpilogue(kernel::ContractOp op) {
    Block &body = op.getEpilogue().front();
    for (Operation &inner : body)
      for (Value operand : inner.getOperands())
        if (operand.getParentBlock() != &body &&
            !matchPattern(operand, m_Constant()))
          return op.emitOpError() << "expected an epilogue of operands and "
                                     "constants, got a value from outside";
    return success();
  }

  static LogicalResult convert(kernel::ContractOp op,
                               gpu::GPUModuleOp kernels) {
    if (failed(kernel::verifyGPUContract(op)) || failed(verifyEpilogue(op)))
      return failure();
    SmallVector<Value> operands = op.getMappedOperands();
    SmallVector<Type> types = llvm::to_vector(ValueRange(operands).getTypes());
    auto builder = OpBuilder::atBlockEnd(kernels.getBody());
    auto function = gpu::GPUFuncOp::create(builder, op.getLoc(), "contract",
                                           builder.getFunctionType(types, {}));
    function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                      builder.getUnitAttr());
    SymbolTable(kernels).insert(function);
    kernel::ContractLaunch launch = kernel::getContractLaunch(op);
    function.setKnownBlockSize(launch.block);
    function.setKnownGridSize(launch.grid);
    builder.setInsertionPointToStart(&function.getBody().front());
    kernel::emitContract(builder, op, function.getArguments());
    gpu::ReturnOp::create(builder, op.getLoc());

    builder.setInsertionPoint(op);
    auto symbol = SymbolRefAttr::get(kernels.getSymNameAttr(),
                                     {SymbolRefAttr::get(function)});
    device::LaunchOp::create(builder, op.getLoc(), symbol, launch.grid,
                             launch.block, launch.shared, /*work=*/nullptr,
                             /*when_set=*/false, operands);
    op.erase();
    return success();
  }
};
} // namespace
} // namespace mp
