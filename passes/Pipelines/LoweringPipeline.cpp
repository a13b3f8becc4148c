//===- LoweringPipeline.cpp - From tensors to LLVM ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pipelines/Pipelines.h"

#include "Lowering/Passes.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/BufferViewFlowOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/ControlFlow/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/TilingInterfaceImpl.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/AllocationOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/BufferDeallocationOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/IR/TensorTilingInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace mp {

void registerLoweringDialects(DialectRegistry &registry) {
  registry.insert<affine::AffineDialect, arith::ArithDialect,
                  bufferization::BufferizationDialect, cf::ControlFlowDialect,
                  func::FuncDialect, gpu::GPUDialect, linalg::LinalgDialect,
                  LLVM::LLVMDialect, NVVM::NVVMDialect, math::MathDialect,
                  memref::MemRefDialect, scf::SCFDialect, tensor::TensorDialect,
                  vector::VectorDialect, kernel::KernelDialect, MPDialect,
                  runtime::RuntimeDialect, device::DeviceDialect>();
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  // A choice between two buffers keeps both alive.
  arith::registerBufferViewFlowOpInterfaceExternalModels(registry);
  bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(
      registry);
  cf::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  memref::registerAllocationOpInterfaceExternalModels(registry);
  scf::registerBufferDeallocationOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerTilingInterfaceExternalModels(registry);
  tensor::registerTilingInterfaceExternalModels(registry);
}

/// Simplifies code that branches between blocks.
static void simplify(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

/// Simplifies code whose loops and conditions are ops: there are no blocks to
/// merge, and unused ops are found without a search through the whole model.
static void canonicalizeOps(OpPassManager &pm) {
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  pm.addPass(createCanonicalizerPass(config));
}

static void simplifyOps(OpPassManager &pm) {
  canonicalizeOps(pm);
  pm.addPass(createCSEPass());
}

/// Chains of elementwise ops become one loop nest each, casts among them.
static void buildFusion(OpPassManager &pm, bool isDevice) {
  simplifyOps(pm);
  // Kernels of devices have no use for other layouts yet.
  if (!isDevice) {
    pm.addNestedPass<func::FuncOp>(createAssignLayouts());
    pm.addNestedPass<func::FuncOp>(createFoldUnitReshapes());
    pm.addNestedPass<func::FuncOp>(createFuseElementwise());
    simplifyOps(pm);
    pm.addNestedPass<func::FuncOp>(createRecomputeElementwise());
    pm.addNestedPass<func::FuncOp>(createFuseElementwise());
  } else {
    pm.addNestedPass<func::FuncOp>(
        createFoldUnitReshapes({/*vectorsOnly=*/true}));
    pm.addNestedPass<func::FuncOp>(createLinalgElementwiseOpFusionPass());
    simplifyOps(pm);
    pm.addNestedPass<func::FuncOp>(
        createRecomputeElementwise({/*linesOnly=*/true}));
    pm.addNestedPass<func::FuncOp>(createLinalgElementwiseOpFusionPass());
  }
  simplifyOps(pm);
  pm.addNestedPass<func::FuncOp>(createFuseContractions(
      {/*keepUpdates=*/isDevice, /*splitParts=*/isDevice}));
  pm.addNestedPass<func::FuncOp>(
      createFuseAttention({/*onProcessor=*/!isDevice}));
  if (isDevice)
    simplifyOps(pm);
  else
    pm.addNestedPass<func::FuncOp>(createSplitFilters());
  pm.addNestedPass<func::FuncOp>(createNarrowTemporaries());
  pm.addNestedPass<func::FuncOp>(createFuseRows({/*singleRows=*/isDevice}));
  if (isDevice)
    pm.addNestedPass<func::FuncOp>(createJoinReductions());
  else
    pm.addNestedPass<func::FuncOp>(createSplitSums());
  pm.addNestedPass<func::FuncOp>(createFuseUpdates());
  pm.addNestedPass<func::FuncOp>(
      createAdvanceUpdates({/*contractionsOnly=*/isDevice}));
  simplifyOps(pm);
}

/// `alignment` is given for devices: buffers are placed at multiples of it.
static void buildBufferization(OpPassManager &pm, bool inPlace,
                               int64_t alignment = 0) {
  pm.addPass(createBindArguments({inPlace}));
  pm.addNestedPass<func::FuncOp>(createSeparateTemporaries());
  pm.addNestedPass<func::FuncOp>(createPlaceParts());
  pm.addPass(bufferization::createEmptyTensorEliminationPass());
  bufferization::OneShotBufferizePassOptions options;
  options.bufferizeFunctionBoundaries = true;
  options.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  // States of loops whose sizes change are new memory in each iteration.
  options.allowReturnAllocsFromLoops = true;
  pm.addPass(bufferization::createOneShotBufferizePass(options));
  simplifyOps(pm);
  pm.addNestedPass<func::FuncOp>(
      createDelayWaits({/*together=*/alignment != 0}));
  if (alignment)
    pm.addPass(createSettleMemory());
  // The passes of MLIR's deallocation pipeline, without those before and after
  // it.
  pm.addPass(bufferization::createOwnershipBasedBufferDeallocationPass());
  canonicalizeOps(pm);
  pm.addNestedPass<func::FuncOp>(createFreeOwned());
  pm.addPass(bufferization::createBufferDeallocationSimplificationPass());
  pm.addPass(bufferization::createLowerDeallocationsPass());
  pm.addPass(createCSEPass());
  simplifyOps(pm);
  pm.addNestedPass<func::FuncOp>(createFreeEarly());
  if (alignment)
    pm.addPass(createPadRows());
  else
    pm.addNestedPass<func::FuncOp>(createBlockAttention());
  pm.addPass(createPlanMemory({alignment}));
}

void buildLoweringPipeline(OpPassManager &pm, const LoweringOptions &options) {
  if (!options.isa.empty())
    pm.addPass(createSetTarget({options.isa, options.kernels}));
  buildFusion(pm, /*isDevice=*/false);
  buildBufferization(pm, options.inPlace);
  if (options.timestamps)
    pm.addPass(createInsertStamps());
  if (options.keepPanels)
    pm.addNestedPass<func::FuncOp>(createMarkConstants());
  pm.addNestedPass<func::FuncOp>(createSelectStrategy());
  pm.addPass(createOutlineContracts());
  pm.addPass(createKernelToCPU());
  pm.addPass(createLowerLinalg());
  // A place that a loop both reads and writes becomes one pointer for its body.
  pm.addPass(createCSEPass());
  pm.addPass(createOutlineParallel());
  simplifyOps(pm.nest<func::FuncOp>());
  pm.addPass(createSplitMain());
  // Functions are lowered in parallel.
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(memref::createExpandStridedMetadataPass());
  functions.addPass(createLowerAffinePass());
  functions.addPass(createSCFToControlFlowPass());
  simplify(functions);
  pm.addPass(createConvertToLLVM());
  simplify(pm.nest<LLVM::LLVMFuncOp>());
}

void buildGPUFormation(OpPassManager &pm, bool inPlace) {
  // Devices transfer memory fastest if it is aligned to this.
  constexpr int64_t arenaAlignment = 256;
  buildFusion(pm, /*isDevice=*/true);
  buildBufferization(pm, inPlace, arenaAlignment);
  pm.addPass(createUnrollLoops());
  simplifyOps(pm);
  pm.addPass(createKeepWorkingCopies());
  pm.addPass(createFormKernels());
  pm.addPass(createSplitReductions());
  pm.addPass(createMergeGroups());
  pm.addNestedPass<func::FuncOp>(createSelectGPUStrategy());
  pm.addPass(createConvertGroupsToGPU());
  pm.addPass(createAddRankKernels());
}

/// Lowers kernels as `buildGPUFormation` leaves them; `convert` turns them into
/// functions of one of LLVM's dialects.
static void buildKernelLowering(OpPassManager &pm,
                                std::unique_ptr<Pass> convert) {
  OpPassManager &kernels = pm.nest<gpu::GPUModuleOp>();
  // Passes that only see one kernel run in parallel.
  OpPassManager &formed = kernels.nest<gpu::GPUFuncOp>();
  simplifyOps(formed);
  formed.addPass(math::createMathExtendToSupportedTypes());
  kernels.addPass(createExpandKernels());
  OpPassManager &expanded = kernels.nest<gpu::GPUFuncOp>();
  expanded.addPass(memref::createExpandStridedMetadataPass());
  expanded.addPass(createLowerAffinePass());
  expanded.addPass(createSCFToControlFlowPass());
  kernels.addPass(createLowerFailures());
  simplify(kernels.nest<gpu::GPUFuncOp>());
  kernels.addPass(std::move(convert));
  OpPassManager &functions = kernels.nest<LLVM::LLVMFuncOp>();
  functions.addPass(createReconcileUnrealizedCastsPass());
  simplify(functions);
}

void buildROCDLLoweringPipeline(OpPassManager &pm,
                                const ROCDLLoweringOptions &options) {
  pm.addPass(createSetGPU({options.chip}));
  buildGPUFormation(pm, options.inPlace);
  buildKernelLowering(pm, createConvertKernelsToROCDL({options.chip}));
}

void buildGPULoweringPipeline(OpPassManager &pm,
                              const GPULoweringOptions &options) {
  buildGPUFormation(pm, options.inPlace);
  buildKernelLowering(pm, createConvertKernelsToNVVM());
  if (options.emulated)
    pm.addPass(createEmulateKernels({/*checkRaces=*/true}));
}

} // namespace mp
