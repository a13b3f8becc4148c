//===- QuantizedPairs.h - QuantizeLinear, DequantizeLinear ------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Facts about pairs of QuantizeLinear and DequantizeLinear, and about their
// scales. Runtimes form integer kernels from DequantizeLinear, its product and
// QuantizeLinear if no Cast stands between them.
//
// From opset 19 to 22 the scale has the type of the floats, so it is rounded
// with them; from 23 on it has a type of its own. Rounding a normal scale
// changes every value by at most 2^-12 (fp16) or 2^-9 (bf16), as much as
// rounding the value itself. A scale that fp16 makes subnormal, zero or
// infinite loses more than that, and stays fp32.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ANALYSIS_QUANTIZEDPAIRS_H
#define MPOPT_PRECISION_ANALYSIS_QUANTIZEDPAIRS_H

#include "mp-opt/Dialect/ONNX/Nodes.h"
#include "mp-opt/Precision/Analysis/Constants.h"

#include <vector>

namespace mp {

/// True for QuantizeLinear; for DequantizeLinear, of the default domain or of
/// com.microsoft.
bool isQuantizer(mlir::Operation *op);
bool isDequantizer(mlir::Operation *op);

/// True for a node whose one result is its first operand, moved: it may move a
/// dequantized value in any type.
bool canMoveDequantized(mlir::Operation *op);
/// True if only such nodes stand between a DequantizeLinear and `value`.
bool isDequantized(mlir::Value value);

/// The scale of such a node; null if it has none.
mlir::Value getQuantizationScale(mlir::Operation *op);

/// True if the scale must have the type of the floats: up to opset 22.
bool sharesScaleType(mlir::Operation *op);

/// A constant whose value no caller can replace; null for all other values.
mlir::Operation *getFixedConstant(mlir::Value value);
/// The elements of such a constant of fp32; absent if they cannot be read.
std::optional<std::vector<float>> readFloats(mlir::Operation *constant);

/// True if `use` is the scale or the zero point of such a node.
bool isQuantizationParameter(mlir::OpOperand &use);

/// The QuantizeLinear whose result a DequantizeLinear reads, perhaps moved;
/// null if there is none.
mlir::Operation *findQuantizer(mlir::Operation *dequantizer);

/// True if a DequantizeLinear reads 32-bit integers, as those of biases do.
bool readsInt32(mlir::Operation *dequantizer);

/// The fp32 elements that a DequantizeLinear of an int32 constant, with a
/// constant scale and no zero point other than 0, yields in row-major order;
/// absent for every other node.
std::optional<std::vector<float>> dequantizeInt32(mlir::Operation *dequantizer);

/// Creates the constant of these elements next to the scale; null for every
/// other node.
mlir::Value createDequantized(mlir::Operation *dequantizer, UniqueNames &names);

/// Copies a node with one result, a DequantizeLinear or one that moves its
/// result, to directly after it, with a result of `elementType`. The caller
/// sets the operands, and `output_dtype`.
mlir::Operation *copyInType(mlir::Operation *node, mlir::Type elementType,
                            UniqueNames &names);

/// Decides whether a 16-bit type can hold scales.
class QuantizationScales {
public:
  explicit QuantizationScales(ElementKind low)
      : low(low), limits(low), range(low) {}

  /// The reason why the scale of a QuantizeLinear or DequantizeLinear must stay
  /// fp32 if it had to have the type of the floats; empty if there is none. {0}
  /// stands for the name of the scale.
  std::string getObstacle(mlir::Operation *op);
  /// The reason why the type cannot hold the results of a DequantizeLinear:
  /// the greatest quantized value times the scale is beyond its range. {0} is
  /// the same.
  std::string getRangeObstacle(mlir::Operation *dequantizer);

private:
  std::string getConstantObstacle(mlir::Operation *constant, bool isBlocked);
  std::string getNestedObstacle(mlir::Operation *dequantizer);

  ElementKind low;
  LowLimits limits;
  ConstantRange range;
};

} // namespace mp

#endif // MPOPT_PRECISION_ANALYSIS_QUANTIZEDPAIRS_H
