//===- MLIRPasses.cpp - Passes of MLIR that mp-opt has --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MLIRPasses.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

namespace mp {

void registerMLIRPasses() {
  mlir::registerTransformsPasses();
  mlir::registerSCFToControlFlowPass();
  mlir::registerLowerAffinePass();
  mlir::registerArithToLLVMConversionPass();
  mlir::registerConvertControlFlowToLLVMPass();
  mlir::registerConvertFuncToLLVMPass();
  mlir::registerConvertIndexToLLVMPass();
  mlir::registerConvertMathToLLVMPass();
  mlir::registerFinalizeMemRefToLLVMConversionPass();
  mlir::registerReconcileUnrealizedCastsPass();
  mlir::registerLinalgElementwiseOpFusionPass();
  mlir::registerConvertLinalgToLoopsPass();
  mlir::memref::registerExpandStridedMetadataPass();
  mlir::bufferization::registerOneShotBufferizePass();
  mlir::bufferization::registerEmptyTensorEliminationPass();
  mlir::bufferization::registerOwnershipBasedBufferDeallocationPass();
  mlir::bufferization::registerBufferDeallocationSimplificationPass();
  mlir::bufferization::registerLowerDeallocationsPass();
}

} // namespace mp
