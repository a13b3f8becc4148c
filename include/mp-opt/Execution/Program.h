//===- Program.h - A model compiled for this machine ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model as a function that can be called in this process: what mp-run and
// mp-opt --verify run. Inputs that have defaults (initializers of the same
// name) may be left out of a call.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_PROGRAM_H
#define MPOPT_EXECUTION_PROGRAM_H

#include "mp-opt/Codegen/Target/Target.h"
#include "mp-opt/Execution/ProgramCode.h"
#include "mp-opt/Runtime/Driver.h"

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
  /// Sizes for whole inputs; beats `dims`. Code for known sizes is faster.
  llvm::StringMap<llvm::SmallVector<int64_t>> inputSizes;
  /// What code is made for: this machine where it is absent, which those who
  /// compile (API/Model.h) find out.
  std::optional<Target> target;
  /// Where the model runs. On others than the processor, all sizes must be
  /// known.
  DeviceKind device = DeviceKind::CPU;
  /// Which of the devices there are, counted on and on where there are fewer.
  int deviceNumber = 0;
  PTXTarget ptx;
  /// Of devices; the processor's are always IEEE.
  FP32Products fp32Products = FP32Products::IEEE;
  /// On devices: reductions over ranks are made (mp_set_collectives). Else they
  /// are left out, and the step is that of one rank.
  bool keepReductions = false;
  /// Outputs that are states are written over their inputs.
  bool updateInPlace = false;
  /// The first call packs constants for those that follow, in memory beside
  /// them: where there is one call only, this is of no use.
  bool keepPanels = true;

  /// Calls keep the times at which kernels end (Program::getKernels). Of the
  /// processor; such code is never kept.
  bool keepTimes = false;

  /// Where code is looked for first, and kept; nowhere if null. The rest has no
  /// influence on code either.
  CodeCache *cache = nullptr;
  /// What CompileProgress says of the model, but for the processor; it says
  /// nothing if this is empty.
  std::string title;
  /// Gets a timer for each step; null if nobody asks.
  mlir::TimingScope *timing = nullptr;
};

/// Counts of one compilation.
struct CompileFigures {
  double seconds = 0;
  /// Code was there already: nothing was compiled in that time.
  bool isFromCache = false;
  /// Of activations and temporaries, as planned; without those whose size is
  /// known only at run time.
  int64_t arenaBytes = 0;
  int64_t constantBytes = 0;
  /// Of the object files, tables included, and the plan.
  int64_t codeBytes = 0;
  /// Multiply-adds of products and convolutions count twice; absent where
  /// sizes are unknown.
  std::optional<double> flops;
};

class Program {
public:
  /// Code for this process, of a module that was lowered with or without
  /// `updateInPlace` (Pipelines/CompileProgram.h goes all the way from a
  /// model). The context of the module must outlive the program.
  static llvm::Expected<std::unique_ptr<Program>>
  load(ProgramCode code, bool updateInPlace, int deviceNumber = 0);
  ~Program();

  llvm::ArrayRef<ProgramValue> getInputs() const;
  llvm::ArrayRef<ProgramValue> getOutputs() const;
  /// The default of an input; an empty tensor if it has none.
  Tensor getDefault(unsigned input) const;
  /// The default of a state, in memory that calls may write over. The program
  /// has it no more.
  llvm::Expected<Tensor> takeDefault(unsigned input);
  /// What compiles the program adds to them.
  CompileFigures &getFigures();

  /// One call. An input without data (`getData() == nullptr` and no sizes)
  /// takes its default. With `updateInPlace`, outputs that are states share
  /// the bytes of the inputs given for them (never those of defaults). Errors
  /// name the input, or the node in which it failed. Not thread-safe.
  /// Calls are numbered from 0, and random numbers are a function of that: two
  /// programs of one model have the same ones, two calls have not.
  llvm::Error run(llvm::ArrayRef<Tensor> inputs,
                  llvm::SmallVectorImpl<Tensor> &outputs);
  /// The number of the next call.
  void setCallNumber(int64_t number);

  /// With `keepTimes`: the kernels of a call in their order, and when each of
  /// them ended in the last call, in nanoseconds; the first time is that at
  /// which it began. What is done in between belongs to no kernel.
  llvm::ArrayRef<KernelWork> getKernels() const;
  llvm::ArrayRef<int64_t> getTimes() const;

  // Inputs are copied to a device in each call, but for states that are updated
  // in place: these are there between calls, and the bytes of the tensors given
  // for them are older then. They are copied where a call gets another tensor
  // than the one before. On the processor, the following do nothing.

  /// Of the device, and which it is, as its driver counts; null on the
  /// processor.
  const mp_driver *getDriver() const;
  int getDeviceNumber() const;
  /// Copies the states into the tensors of the last call.
  llvm::Error fetchStates();
  /// Whether calls leave the tensors of states as they are until then.
  bool hasStatesApart() const;
  /// Each call does so for this state from now on, as for outputs.
  void watchState(unsigned input);
  /// Calls copy this input, too, only where they get another tensor.
  void keepInput(unsigned input);
  /// The next call copies this input or state in any case.
  void changeInput(unsigned input);

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

/// Success if programs can run there: for CUDA, if there are a driver and a
/// device.
llvm::Error checkDevice(DeviceKind device);

/// Threads that programs of this process use; at least 1, and not more than
/// there are processors for it (mp_set_threads).
void setNumThreads(unsigned count);
unsigned getNumThreads();

} // namespace mp

#endif // MPOPT_EXECUTION_PROGRAM_H
