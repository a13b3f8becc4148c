//===- Backend.h - The machine that runs a program --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A backend takes the code of a program and runs its calls: on the processor,
// or on a device by its driver.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_BACKEND_H
#define MPOPT_EXECUTION_BACKEND_H

#include "mp-opt/Execution/ProgramCode.h"
#include "mp-opt/Runtime/Driver.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>

namespace mp {

/// Returns the memory for an output of these sizes, or null if there is none.
using OutputMemoryFn =
    llvm::function_ref<void *(unsigned output, llvm::ArrayRef<int64_t> sizes)>;

/// Work of the host while a device works on a call.
using MeanwhileFn = llvm::function_ref<llvm::Error()>;

/// One loaded program. The defaults of virtual functions are those of a machine
/// that computes in the caller's tensors.
class Backend {
public:
  /// The backend for `device`. `interface` must outlive it. With
  /// `updateInPlace`, outputs that are states share the bytes of their inputs.
  static std::unique_ptr<Backend> create(DeviceKind device,
                                         const ModelInterface &interface,
                                         bool updateInPlace);
  virtual ~Backend();

  /// Takes the plan and objects of `code`. A device is `deviceNumber` modulo
  /// the number of devices.
  virtual llvm::Error load(ProgramCode &code, int deviceNumber) = 0;
  /// Planned memory for activations and temporaries.
  virtual int64_t getArenaBytes() const = 0;

  /// Runs call `number` with data for all inputs, which fit the interface.
  /// Outputs that are written over states return the tensors of these.
  /// `meanwhile` is called once while a device works on the call; it may be
  /// null.
  virtual llvm::Error run(llvm::ArrayRef<Tensor> inputs, int64_t number,
                          llvm::SmallVectorImpl<Tensor> &results,
                          MeanwhileFn meanwhile) = 0;
  /// The same, for outputs in the caller's memory (Program::runInto). By
  /// default, the results of `run` are copied.
  virtual llvm::Error runInto(llvm::ArrayRef<Tensor> inputs, int64_t number,
                              OutputMemoryFn place);
  /// As in Program.h.
  virtual llvm::ArrayRef<int64_t> getTimes() const { return {}; }

  /// The driver and its number of the device; null on the processor.
  virtual const mp_driver *getDriver() const { return nullptr; }
  virtual int getDeviceNumber() const { return 0; }

  // As in Program.h.
  virtual bool hasStatesApart() const { return false; }
  virtual llvm::Error fetchStates() { return llvm::Error::success(); }
  virtual void watchState(unsigned input) {}
  virtual void keepInput(unsigned input) {}
  virtual void changeInput(unsigned input) {}
  virtual llvm::Expected<std::string> prepareNextInputs() {
    return std::string();
  }
  virtual bool takesNextInput(unsigned input) const { return false; }
  virtual llvm::Error setNextInput(unsigned input, const Tensor &tensor) {
    return llvm::Error::success();
  }
  virtual llvm::Error dropNextInputs() { return llvm::Error::success(); }
};

} // namespace mp

#endif // MPOPT_EXECUTION_BACKEND_H
