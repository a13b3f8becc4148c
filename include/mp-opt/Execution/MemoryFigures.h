//===- MemoryFigures.h - Memory of a model ----------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_MEMORYFIGURES_H
#define MPOPT_EXECUTION_MEMORYFIGURES_H

#include "mp-opt/Execution/DeviceKind.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace mp {

/// Bytes of the memory that calls of a program take, as planned.
struct MemoryFigures {
  /// Memory for activations and temporaries.
  int64_t arena = 0;
  int64_t constants = 0;
  /// States that are inputs count as such.
  int64_t inputs = 0;
  /// Without outputs that are written over states.
  int64_t outputs = 0;
  /// Buffers for inputs that are copied during the call before.
  int64_t nextInputs = 0;

  int64_t getTotal() const;
  /// The memory that calls cannot do without: no buffers for next inputs.
  int64_t getNeeded() const { return getTotal() - nextInputs; }
};

/// Plans the memory of a module that was lowered for `device`, which need not
/// be present, with or without `updateInPlace`. Values with unknown sizes are
/// not counted. Fails after a diagnostic.
mlir::FailureOr<MemoryFigures>
getMemoryFigures(mlir::ModuleOp module, DeviceKind device, bool updateInPlace);

/// The total memory of this machine or of a device. Fails if there is no
/// device.
llvm::Expected<int64_t> getMemoryBytes(DeviceKind device);

} // namespace mp

#endif // MPOPT_EXECUTION_MEMORYFIGURES_H
