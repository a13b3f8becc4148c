//===- DeviceProgram.h - A model on a device --------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EXECUTION_DEVICEPROGRAM_H
#define MPOPT_LIB_EXECUTION_DEVICEPROGRAM_H

#include "LinkedCode.h"
#include "mp-opt/Execution/ProgramCode.h"

#include "mp-opt/Emulation/EmulatedDriver.h"
#include "mp-opt/Runtime/Device.h"

namespace mp {

/// A session of a plan. States are on the device; the caller's tensors have the
/// values from when they were given or fetched.
class DeviceProgram {
public:
  DeviceProgram() = default;
  ~DeviceProgram();

  /// Takes the plan and objects of `code`. The device is `deviceNumber` modulo
  /// the number of devices.
  llvm::Error load(ProgramCode &code, int deviceNumber);

  /// Runs one call with data for all inputs. Outputs that are written over
  /// states return the tensors given for these states.
  llvm::Error run(llvm::ArrayRef<Tensor> given, int64_t number,
                  const ModelInterface &interface,
                  llvm::SmallVectorImpl<Tensor> &results);

  void watchState(unsigned input);
  void keepInput(unsigned input);
  void changeInput(unsigned input);
  llvm::Error fetchStates();

  uint64_t getArenaBytes() const { return arenaBytes; }
  const mp_driver *getDriver() const { return driver; }
  /// The driver's number of the device.
  int getNumber() const { return number; }

private:
  struct Input {
    /// True for a state, i.e. an output is written over it.
    bool isWritten = false;
    bool isWatched = false;
    /// True if it is copied only when the tensor changes.
    bool isKept = false;
    /// The tensor that was copied to the device. The elements of a state may be
    /// outdated.
    Tensor tensor;
  };

  llvm::Error loadKernels(ProgramCode &code);
  llvm::Error setInputs(llvm::ArrayRef<Tensor> given);
  llvm::Error getOutputs(const ModelInterface &interface,
                         llvm::SmallVectorImpl<Tensor> &results);
  llvm::Error getState(unsigned input);

  /// The packed plan, aligned to 8 bytes.
  std::vector<uint64_t> plan;
  uint64_t arenaBytes = 0;
  LinkedCode kernels;
  mp_emulated_image image = {};
  const mp_driver *driver = nullptr;
  int number = 0;
  mp_session *session = nullptr;
  std::vector<Input> inputs;
  /// Indexed by output: the state that it is written over, or -1.
  std::vector<int64_t> written;
  bool isFetched = true;
};

} // namespace mp

#endif // MPOPT_LIB_EXECUTION_DEVICEPROGRAM_H
