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

/// A session of a plan. States are there, and in the tensors of the caller as
/// they were when these were given or fetched.
class DeviceProgram {
public:
  DeviceProgram() = default;
  ~DeviceProgram();

  /// Takes plan and objects of `code`. Of devices, the one with the number, or
  /// what it leaves behind multiples of how many there are.
  llvm::Error load(ProgramCode &code, int deviceNumber);

  /// One call with data for all inputs. Of outputs that are written over
  /// states, the results are the tensors given for these.
  llvm::Error run(llvm::ArrayRef<Tensor> given, int64_t number,
                  const ModelInterface &interface,
                  llvm::SmallVectorImpl<Tensor> &results);

  void watchState(unsigned input);
  void keepInput(unsigned input);
  void changeInput(unsigned input);
  llvm::Error fetchStates();

  uint64_t getArenaBytes() const { return arenaBytes; }
  const mp_driver *getDriver() const { return driver; }
  /// As the driver counts devices.
  int getNumber() const { return number; }

private:
  struct Input {
    /// An output is written over it: it is a state.
    bool isWritten = false;
    bool isWatched = false;
    /// It is copied only where there is another tensor.
    bool isKept = false;
    /// What the device has it from; a state's elements may be older.
    Tensor tensor;
  };

  llvm::Error loadKernels(ProgramCode &code);
  llvm::Error setInputs(llvm::ArrayRef<Tensor> given);
  llvm::Error getOutputs(const ModelInterface &interface,
                         llvm::SmallVectorImpl<Tensor> &results);
  llvm::Error getState(unsigned input);

  /// At a multiple of 8.
  std::vector<uint64_t> plan;
  uint64_t arenaBytes = 0;
  LinkedCode kernels;
  mp_emulated_image image = {};
  const mp_driver *driver = nullptr;
  int number = 0;
  mp_session *session = nullptr;
  std::vector<Input> inputs;
  /// Of outputs: the state that each is written over, or -1.
  std::vector<int64_t> written;
  bool isFetched = true;
};

} // namespace mp

#endif // MPOPT_LIB_EXECUTION_DEVICEPROGRAM_H
