//===- ShapeArithmetic.h - Floats that are sizes or positions ---*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes, indices and positions are either exact or wrong: bf16 has no 257, fp16
// no 2049. Float arithmetic on them is found from both ends:
//
//  - from its sources: integers that come from Shape, Size, Range, CumSum,
//    NonZero, a loop's counter, argmax-like ops or integer inputs of more than
//    8 bits, as floats, as long as they are only combined with each other and
//    with constants. Sin, Cos and look-ups in tables end the arithmetic: their
//    results are bounded. A product of one column and one row is arithmetic
//    too; any other contraction makes data;
//  - from its destinations: values whose uses all end in an integer or in an
//    operand that holds sizes (Resize's scales, Range's ends), back to the
//    contraction that they may come from. Results of contractions are data if
//    they end in an integer of 8 bits, which is quantization, or in the angle
//    of a Sin or Cos.
//
// Both searches follow values through If, Loop, Scan, captures and calls of
// functions. A comparison does not turn data into sizes, even if it decides an
// If.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ANALYSIS_SHAPEARITHMETIC_H
#define MPOPT_PRECISION_ANALYSIS_SHAPEARITHMETIC_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/IR/BuiltinOps.h"

namespace mp {

/// The nodes of all scopes and their subgraphs that compute sizes, indices or
/// positions in float, in order.
std::vector<mlir::Operation *> findShapeArithmetic(mlir::ModuleOp module);

} // namespace mp

#endif // MPOPT_PRECISION_ANALYSIS_SHAPEARITHMETIC_H
