//===- Deviations.h - What is wrong with a model, but harmless --*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What known producers write against ONNX's rules, and what mp-opt understands
// all the same: one list, in Deviations.cpp. A model gets one warning for each
// kind that it has, unless the kind is everywhere; under --check=strict each is
// an error.
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

  /// Notes that `where` ("node 'a' (Relu)") deviates. An error, and failure,
  /// where the check is strict.
  mlir::LogicalResult add(Deviation kind, const llvm::Twine &where);

  /// One warning for each kind that was noted: where it was first, and how
  /// often.
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
