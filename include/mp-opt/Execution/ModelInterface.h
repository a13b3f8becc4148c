//===- ModelInterface.h - Inputs and outputs of a model ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EXECUTION_MODELINTERFACE_H
#define MPOPT_EXECUTION_MODELINTERFACE_H

#include "mp-opt/Data/Tensor.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace mp {

/// The description of an input or output of a model.
struct ProgramValue {
  std::string name;
  ElementKind kind;
  /// -1 if the size is known only at run time.
  llvm::SmallVector<int64_t, 4> sizes;
  /// True for inputs with a default; unused for outputs.
  bool hasDefault = false;
  /// For outputs: the input whose memory may hold the output, or -1. `NAME_new`
  /// may use the memory of `NAME` if their types are the same.
  int state = -1;
};

/// The data that `mp-lower-to-llvm` attaches to the code.
struct ModelInterface {
  std::vector<ProgramValue> inputs, outputs;
  /// One tensor per input, empty if it has no default.
  std::vector<Tensor> defaults;
  /// The constants that the code calls `mp_constant_0` and so on.
  std::vector<Tensor> constants;
  int64_t arenaBytes = 0;
  /// The number of slots for values that calls keep.
  int64_t numSlots = 0;

  /// True if an output is the next value of the input.
  bool isState(unsigned input) const;
};

/// Reads the interface of a module in LLVM's dialect, whose context must
/// outlive it. Fails after a diagnostic.
mlir::FailureOr<ModelInterface> readInterface(mlir::ModuleOp module);

/// The attributes of the interface's constants, or of its inputs' defaults;
/// null for an input without a default. `module` must have an interface.
std::vector<mlir::TypedAttr> getConstantValues(mlir::ModuleOp module);
std::vector<mlir::TypedAttr> getDefaultValues(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_EXECUTION_MODELINTERFACE_H
