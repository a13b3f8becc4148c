//===- CompileProgram.cpp - From a model to a program ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pipelines/CompileProgram.h"

#include "Graph/Passes.h"
#include "Pipelines/Pipelines.h"
#include "mp-opt/Conversion/ONNXToLinalg.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"

#include <chrono>
#ifdef __GLIBC__
#include <malloc.h>
#endif

using namespace mlir;

namespace mp {

/// Outside of passes, dialects are not loaded by themselves.
static void loadDialects(MLIRContext &context) {
  DialectRegistry registry;
  registerLoweringDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<arith::ArithDialect, func::FuncDialect,
                      linalg::LinalgDialect, math::MathDialect, scf::SCFDialect,
                      tensor::TensorDialect, kernel::KernelDialect,
                      runtime::RuntimeDialect>();
}

/// Bodies in the place of calls of model-local functions.
static LogicalResult inlineFunctions(ModuleOp module) {
  if (module.getOps<onnxir::FunctionOp>().empty())
    return success();
  PassManager pm(module.getContext());
  pm.enableVerifier(false);
  pm.addPass(createInlineFunctions());
  return pm.run(module);
}

LogicalResult lowerProgram(ModuleOp module, const CompileOptions &options,
                           CompileFigures &figures) {
  loadDialects(*module.getContext());
  ONNXToLinalgOptions conversion;
  conversion.dims = options.dims;
  for (auto &entry : options.inputSizes)
    conversion.inputSizes[entry.getKey()] = entry.getValue();
  if (failed(inlineFunctions(module)) ||
      failed(convertONNXToLinalg(module, conversion)))
    return failure();
  figures.flops = kernel::countFlops(module);
  PassManager pm(module.getContext());
  // Passes are tested with it; here it would double their time.
  pm.enableVerifier(false);
  LoweringOptions lowering;
  lowering.inPlace = options.updateInPlace;
  lowering.kernels = options.kernels;
  lowering.isa = options.instructions;
  lowering.keepPanels = options.keepPanels;
  buildLoweringPipeline(pm, lowering);
  return pm.run(module);
}

std::unique_ptr<Program> compileProgram(ModuleOp module,
                                        const CompileOptions &options) {
  auto start = std::chrono::steady_clock::now();
  CompileFigures figures;
  if (failed(lowerProgram(module, options, figures)))
    return nullptr;
  std::unique_ptr<Program> program =
      Program::load(module, options.updateInPlace);
  if (!program)
    return nullptr;
#ifdef __GLIBC__
  // What compiling took is for the model to have.
  malloc_trim(0);
#endif
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  program->getFigures().flops = figures.flops;
  program->getFigures().seconds = elapsed.count();
  return program;
}

} // namespace mp
