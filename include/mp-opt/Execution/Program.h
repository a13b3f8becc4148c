//===- Program.h - A model compiled for this machine ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model compiled to a function in this process, as used by mp-run and mp-opt
// --verify. Inputs with defaults (initializers of the same name) may be omitted
// from a call.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_PROGRAM_H
#define MPOPT_EXECUTION_PROGRAM_H

#include "mp-opt/Codegen/Target/Target.h"
#include "mp-opt/Execution/Backend.h"

#include "llvm/ADT/StringMap.h"

#include <memory>
#include <optional>
#include <string>

namespace mlir {
class TimingScope;
} // namespace mlir

namespace mp {

class CodeCache;
struct CompileWatch;

struct CompileOptions {
  /// Sizes for symbolic dimensions: names to sizes.
  llvm::StringMap<int64_t> dims;
  /// Sizes for whole inputs, which override `dims`. Code for known sizes is
  /// faster.
  llvm::StringMap<llvm::SmallVector<int64_t>> inputSizes;
  /// The target of the code; absent for this machine, in which case the caller
  /// (API/Model.h) determines it.
  std::optional<Target> target;
  /// The device that runs the model. All devices but the processor require
  /// known sizes.
  DeviceKind device = DeviceKind::CPU;
  /// The number of the device, modulo the number of devices.
  int deviceNumber = 0;
  PTXTarget ptx;
  /// Only for devices; the processor always uses IEEE.
  FP32Products fp32Products = FP32Products::IEEE;
  /// Drops roundings of 16-bit products that only fp32 nodes read
  /// (ExcessPrecision.h). Otherwise results are those of the graph.
  bool excessPrecision = false;
  /// The number of last outputs that were only added to look at values. They do
  /// not count as readers that need the rounded value.
  unsigned numWatched = 0;
  /// Only for devices: keeps reductions over ranks (mp_set_collectives).
  /// Otherwise they are removed, and the step is that of a single rank.
  bool keepReductions = false;
  /// Outputs that are states are written over their inputs.
  bool updateInPlace = false;
  /// The first call packs constants for later calls in additional memory. This
  /// has no benefit for a single call.
  bool keepPanels = true;

  /// Calls keep the times at which kernels end (Program::getKernels). Of the
  /// processor; such code is never kept.
  bool keepTimes = false;

  /// The cache for code; null for none. None of the options below influences
  /// the code.
  CodeCache *cache = nullptr;
  /// The title for CompileProgress, without the processor; empty to show
  /// nothing.
  std::string title;
  /// Receives a timer for each step; may be null.
  mlir::TimingScope *timing = nullptr;
};

/// Counts of one compilation.
struct CompileFigures {
  double seconds = 0;
  /// True if the code came from the cache and nothing was compiled.
  bool isFromCache = false;
  /// Planned memory for activations and temporaries, without those whose sizes
  /// are known only at run time.
  int64_t arenaBytes = 0;
  int64_t constantBytes = 0;
  /// The size of the object files, tables included, and the plan.
  int64_t codeBytes = 0;
  /// Floating-point operations; a multiply-add of products and convolutions
  /// counts as two. Absent if sizes are unknown.
  std::optional<double> flops;
  /// With `excessPrecision`: in the order of the nodes.
  std::vector<DroppedRounding> droppedRoundings;
};

class Program {
public:
  /// Compiles code for this process from a module that was lowered with or
  /// without `updateInPlace` (Pipelines/CompileProgram.h does all steps from a
  /// model). The context of the module must outlive the program.
  static llvm::Expected<std::unique_ptr<Program>>
  load(ProgramCode code, bool updateInPlace, int deviceNumber = 0);
  ~Program();

  llvm::ArrayRef<ProgramValue> getInputs() const;
  llvm::ArrayRef<ProgramValue> getOutputs() const;
  /// The default of an input; an empty tensor if it has none.
  Tensor getDefault(unsigned input) const;
  /// Moves the default of a state out of the program, into memory that calls
  /// may overwrite.
  llvm::Expected<Tensor> takeDefault(unsigned input);
  /// The figures, to which compilation adds its counts.
  CompileFigures &getFigures();

  /// Runs one call. An input without data (`getData() == nullptr` and no sizes)
  /// takes its default. With `updateInPlace`, outputs that are states share the
  /// bytes of the inputs given for them (never those of defaults). Errors name
  /// the input, or the node in which it failed. Not thread-safe. Calls are
  /// numbered from 0, and random numbers are a function of the number: two
  /// programs of one model draw the same numbers, two calls do not. `meanwhile`
  /// is called once while a device works on the call, to set next inputs; not
  /// on the processor.
  llvm::Error run(llvm::ArrayRef<Tensor> inputs,
                  llvm::SmallVectorImpl<Tensor> &outputs,
                  MeanwhileFn meanwhile = nullptr);
  /// Runs one call whose outputs are in the caller's memory. `place` is called
  /// once for each output: before the call if its sizes are known, otherwise
  /// after it, and the elements are then copied. Several threads may call this
  /// at the same time on the processor, without `keepTimes` and
  /// `updateInPlace`.
  llvm::Error runInto(llvm::ArrayRef<Tensor> inputs, OutputMemoryFn place);
  /// The number of the next call.
  void setCallNumber(int64_t number);

  /// With `keepTimes`: the kernels of a call in order, and the times at which
  /// they ended in the last call, in nanoseconds. The first time is the start
  /// of the call. Work between kernels belongs to no kernel.
  llvm::ArrayRef<KernelWork> getKernels() const;
  llvm::ArrayRef<int64_t> getTimes() const;

  // Inputs are copied to a device in each call, except states that are updated
  // in place. These stay on the device between calls, while the tensors given
  // for them become outdated. They are copied if a call gets another tensor
  // than the previous one. On the processor, the following functions do
  // nothing.

  /// The driver and the driver's number of the device; null on the processor.
  const mp_driver *getDriver() const;
  int getDeviceNumber() const;
  /// Copies the states into the tensors of the last call.
  llvm::Error fetchStates();
  /// True if calls do not update the tensors of states before `fetchStates`.
  bool hasStatesApart() const;
  /// From now on each call also updates the tensor of this state, as for
  /// outputs.
  void watchState(unsigned input);
  /// From now on this input is also copied only if its tensor changes.
  void keepInput(unsigned input);
  /// The next call copies this input or state unconditionally.
  void changeInput(unsigned input);

  // Large inputs that are not states can be copied to a device during the call
  // before. Without `prepareNextInputs`, and on the processor, none are.

  /// Allocates buffers for that. Returns why there are none if memory is short,
  /// in which case inputs are copied at the beginning of calls; else nothing.
  llvm::Expected<std::string> prepareNextInputs();
  bool takesNextInput(unsigned input) const;
  /// Begins to copy an input that the program `takesNextInput`. The next call
  /// uses these data instead of the tensor that it is given. The tensor may
  /// change when the function returns.
  llvm::Error setNextInput(unsigned input, const Tensor &tensor);
  /// Undoes this for all inputs, so that the next call uses its tensors.
  llvm::Error dropNextInputs();

private:
  Program();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Makes code of a module in LLVM's dialect, as lowering for the options'
/// device leaves it: `mp-lower-to-llvm`, `mp-lower-to-gpu` or, for the emulated
/// device, `mp-emulate-kernels`. Fails after a diagnostic.
mlir::FailureOr<ProgramCode> generateCode(mlir::ModuleOp module,
                                          const CompileOptions &options,
                                          const CompileWatch &watch);

/// Succeeds if programs can run there: for CUDA, if there are a driver and a
/// device.
llvm::Error checkDevice(DeviceKind device);

/// Sets the number of threads for programs of this process; at least 1, and not
/// more than its processors (mp_set_threads).
void setNumThreads(unsigned count);
unsigned getNumThreads();

} // namespace mp

#endif // MPOPT_EXECUTION_PROGRAM_H
