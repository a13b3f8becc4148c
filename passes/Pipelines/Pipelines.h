//===- Pipelines.h - Passes in the order that does a job --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_PIPELINES_PIPELINES_H
#define MPOPT_PASSES_PIPELINES_PIPELINES_H

#include "OptionSet.h"
#include "mp-opt/Precision/Policy/MixedPrecisionRequest.h"
#include "mp-opt/Training/TrainingRequest.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mp {

struct MixedPrecisionOptions
    : public mlir::PassPipelineOptions<MixedPrecisionOptions> {
  /// The policy for 16 bit.
  OptionSet<PolicyRequest, Option, ListOption> policy{*this};
  OptionSet<MixedPrecisionRequest, Option, ListOption> request{*this};
  Option<std::string> lossScale{
      *this, "loss-scale",
      llvm::cl::desc("of graphs that train: none, a number, dynamic, or auto "
                     "for dynamic with fp16 and none with bf16"),
      llvm::cl::init("auto")};
  Option<bool> distribute{
      *this, "distribute",
      llvm::cl::desc("reduce the gradients of a step over all ranks"),
      llvm::cl::init(false)};
  Option<bool> keepMarks{
      *this, "keep-marks",
      llvm::cl::desc("leave the marks of the passes in the module"),
      llvm::cl::init(false)};
  Option<bool> keepQuantized{
      *this, "keep-quantized-f32",
      llvm::cl::desc("keep QuantizeLinear, DequantizeLinear and the products "
                     "between them fp32, for runtimes with integer kernels for "
                     "fp32 pairs only"),
      llvm::cl::init(false)};

  /// The request, with its policy.
  MixedPrecisionRequest getRequest() const;
  void setRequest(const MixedPrecisionRequest &from);
};

struct TrainingOptions : public mlir::PassPipelineOptions<TrainingOptions> {
  OptionSet<TrainingRequest, Option, ListOption> request{*this};
};

struct LoweringOptions : public mlir::PassPipelineOptions<LoweringOptions> {
  Option<bool> inPlace{
      *this, "in-place",
      llvm::cl::desc("write outputs that are states over their inputs"),
      llvm::cl::init(false)};
  Option<std::string> isa{
      *this, "isa",
      llvm::cl::desc("instruction set: avx2, avx512 or neon; where it is not "
                     "given, the module has a target, or it is avx2")};
  Option<std::string> kernels{
      *this, "kernels",
      llvm::cl::desc("16-bit products, with isa: auto, direct, widen, dot or "
                     "amx"),
      llvm::cl::init("auto")};
  Option<bool> timestamps{
      *this, "stamps",
      llvm::cl::desc("Keep the times at which kernels begin and end")};
  Option<bool> keepPanels{
      *this, "keep-panels",
      llvm::cl::desc("pack constants in the first call, for all that follow"),
      llvm::cl::init(true)};
};

struct GPULoweringOptions
    : public mlir::PassPipelineOptions<GPULoweringOptions> {
  Option<bool> inPlace{
      *this, "in-place",
      llvm::cl::desc("write outputs that are states over their inputs"),
      llvm::cl::init(false)};
  Option<bool> emulated{*this, "emulated",
                        llvm::cl::desc("kernels as code of the emulator"),
                        llvm::cl::init(false)};
};

struct ROCDLLoweringOptions
    : public mlir::PassPipelineOptions<ROCDLLoweringOptions> {
  Option<std::string> chip{
      *this, "chip", llvm::cl::desc("gfx942 (MI300) or gfx1100 (RX 7900)"),
      llvm::cl::init("gfx942")};
  Option<bool> inPlace{
      *this, "in-place",
      llvm::cl::desc("write outputs that are states over their inputs"),
      llvm::cl::init(false)};
};

using AddPassesFn = llvm::function_ref<void(mlir::OpPassManager &)>;

/// Passes that the caller adds at places of the pipeline; each may be absent.
struct MixedPrecisionHooks {
  /// After all other analyses: passes that mark ranges of values in data
  /// (mp-annotate-observed-ranges).
  AddPassesFn observe = {};
  /// Before and after the precision of every node is decided. With one of
  /// them, functions are inlined.
  AddPassesFn beforeAssign = {}, afterAssign = {};
  /// Passes that need marks: all else is done at that point, except that
  /// functions are still separate for each call.
  AddPassesFn addReports = {};
};

/// Decides precision and applies the decision: specialize functions, scale the
/// loss of a graph that trains, safety analyses, classify, raise the opset,
/// assign, check strictness, insert casts, simplify, convert weights, verify,
/// merge functions.
void buildMixedPrecisionPipeline(mlir::OpPassManager &pm,
                                 const MixedPrecisionOptions &options,
                                 const MixedPrecisionHooks &hooks = {});

/// Changes the types of inputs and outputs alone, by the rules of --io
/// (Precision/Policy/InterfaceTypes.h): for models whose precision is not
/// decided.
void buildIOPipeline(mlir::OpPassManager &pm, llvm::ArrayRef<std::string> io,
                     bool raiseOpset);

/// Adds mp-assign as the pipeline does.
void addAssign(mlir::OpPassManager &pm, const MixedPrecisionRequest &request,
               bool keepQuantized = false);

/// Makes a training step of a forward model: loss, backward pass, optimizer.
/// Without a loss, the model's training_info is used. Precision is decided
/// between this and `buildTrainingExport`, which writes the step in standard
/// operators; both are empty for other models.
void buildTrainingPipeline(mlir::OpPassManager &pm,
                           const TrainingRequest &request);
void buildTrainingExport(mlir::OpPassManager &pm, bool distribute = false);

/// Emulates 16-bit storage in fp32: mp-emulate, in functions, too.
void buildEmulationPipeline(mlir::OpPassManager &pm);

/// Lowers the result of `convert-onnx-to-linalg` to LLVM's dialect.
void buildLoweringPipeline(mlir::OpPassManager &pm,
                           const LoweringOptions &options);
/// Lowers the same to a plan of launches, with kernels in the dialects of LLVM
/// and NVVM in `gpu.module @kernels`. The first of its two halves ends with the
/// `gpu` dialect.
void buildGPULoweringPipeline(mlir::OpPassManager &pm,
                              const GPULoweringOptions &options);
void buildGPUFormation(mlir::OpPassManager &pm, bool inPlace);
/// The same for AMD's GPUs, with kernels in ROCDL's dialect.
void buildROCDLLoweringPipeline(mlir::OpPassManager &pm,
                                const ROCDLLoweringOptions &options);
/// Registers the dialects of the lowering, and how their ops are bufferized.
void registerLoweringDialects(mlir::DialectRegistry &registry);

/// Registers `mp-mixed-precision`, `mp-train`, `mp-lower-to-llvm`,
/// `mp-lower-to-gpu`, `mp-lower-to-nvvm` and `mp-lower-to-rocdl`.
void registerPipelines();

} // namespace mp

#endif // MPOPT_PASSES_PIPELINES_PIPELINES_H
