//===- ModelInterface.h - What a compiled model takes and gives -*- C++ -*-===//
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

/// What a model says of one of its inputs or outputs.
struct ProgramValue {
  std::string name;
  ElementKind kind;
  /// -1 where the size is known only at run time.
  llvm::SmallVector<int64_t, 4> sizes;
  /// Of inputs: it has a default. Of outputs: unused.
  bool hasDefault = false;
  /// Of outputs: the input whose memory it may be written to, -1 if none:
  /// `NAME_new` of `NAME`, if their types are the same.
  int state = -1;
};

/// What `mp-lower-to-llvm` leaves beside the code.
struct ModelInterface {
  std::vector<ProgramValue> inputs, outputs;
  /// Of the inputs; an empty tensor where there is none.
  std::vector<Tensor> defaults;
  /// What the code refers to as `mp_constant_0` and so on.
  std::vector<Tensor> constants;
  int64_t arenaBytes = 0;
  /// Places for what calls keep for later ones.
  int64_t numSlots = 0;

  /// True if an output is the next value of the input.
  bool isState(unsigned input) const;
};

/// That of a module in LLVM's dialect, whose context must outlive it. Fails
/// after a diagnostic.
mlir::FailureOr<ModelInterface> readInterface(mlir::ModuleOp module);

/// The attributes that the interface's constants, or its inputs' defaults, are
/// made of; null where an input has none. `module` has an interface.
std::vector<mlir::TypedAttr> getConstantValues(mlir::ModuleOp module);
std::vector<mlir::TypedAttr> getDefaultValues(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_EXECUTION_MODELINTERFACE_H
