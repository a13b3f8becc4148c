//===- ObservedValues.h - Values to measure in data -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_DATA_OBSERVEDVALUES_H
#define MPOPT_PRECISION_DATA_OBSERVEDVALUES_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include <vector>

namespace mp {

/// Elements at or below this number mask a softmax if they come from a
/// constant.
constexpr double maskElement = -1e4;

/// The sum that a node forms inside, and that it divides or returns.
enum class InnerSum : uint8_t {
  None,
  /// The result is the sum, or the mean, of terms of either sign.
  Sum,
  Mean,
  /// The result is the sum of magnitudes or squares, or the root of one.
  Magnitudes,
  Root,
};

struct ObservedValue {
  mlir::OpResult value;
  /// Elements that mask must not be measured.
  bool isMasked = false;
  /// Divides something, perhaps after a root; or a logarithm is taken of it.
  bool isDivisor = false;
  InnerSum sum = InnerSum::None;
};

/// The float values that nodes of a graph compute, in order. Constants, and
/// results of nodes that only move elements, are left out. The graph has no
/// calls of functions; values inside of subgraphs are not found.
std::vector<ObservedValue> findObservedValues(onnxir::GraphOp graph);

/// True if something is divided by the value, perhaps after additions or a
/// root, or if its logarithm is taken.
bool isDivisor(mlir::Value value);

/// The operand of a node that must not be rounded to zero.
bool dividesBy(mlir::OpOperand &use);

} // namespace mp

#endif // MPOPT_PRECISION_DATA_OBSERVEDVALUES_H
