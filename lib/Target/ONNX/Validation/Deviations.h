//===- Deviations.h - Harmless faults of models -----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Deviations from ONNX's rules in files of known producers that mp-opt
// nevertheless understands. Deviations.cpp lists all of them. A model gets one
// warning for each kind that it has, unless the kind is very common. With
// --check=strict each is an error.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TARGET_ONNX_VALIDATION_DEVIATIONS_H
#define MPOPT_LIB_TARGET_ONNX_VALIDATION_DEVIATIONS_H

#include "mp-opt/Target/ONNX/ONNXTarget.h"

#include "mlir/IR/Diagnostics.h"

#include <array>
#include <string>

namespace mp {

enum class Deviation : unsigned {
  UnsortedNodes,
  UnknownOperator,
  UnknownFunction,
  RuntimeDomain,
  RuntimeOperator,
  WithdrawnVersion,
  OpenOutput,
  OpenShape,
  StaleShape,
  MinusOne,
  HiddenName,
  NoInputForInitializer,
  UntypedAttribute,
  UnnamedGraph,
  IdleNode,
  Count
};

class Deviations {
public:
  Deviations(mlir::Location loc, CheckLevel check) : loc(loc), check(check) {}

  /// Records that `where` ("node 'a' (Relu)") deviates. Emits an error and
  /// fails if the check is strict.
  mlir::LogicalResult add(Deviation kind, const llvm::Twine &where);

  /// Emits one warning per recorded kind, with the first location and the
  /// count.
  void report();

private:
  struct Found {
    std::string first;
    unsigned count = 0;
  };

  mlir::Location loc;
  CheckLevel check;
  std::array<Found, unsigned(Deviation::Count)> found;
};

} // namespace mp

#endif // MPOPT_LIB_TARGET_ONNX_VALIDATION_DEVIATIONS_H
