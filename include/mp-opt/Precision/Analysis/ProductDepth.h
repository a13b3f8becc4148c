//===- ProductDepth.h - Products between inputs and a value -----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts the products (contractions) between the inputs of a model and a value.
// Values before the first product are the user's data: levels, coordinates and
// times. Their differences matter more than their magnitude, and no 16-bit
// product has rounded them yet.
//
// The analysis is one forward fixed point over the module
// (Graph/RisingLevels.h), through control flow and calls of specialized
// functions.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_ANALYSIS_PRODUCTDEPTH_H
#define MPOPT_PRECISION_ANALYSIS_PRODUCTDEPTH_H

#include "mp-opt/Graph/RisingLevels.h"
#include "mp-opt/Operators/OperatorTraits.h"

namespace mp {

/// The depth of a result is the greatest among its operands.
enum class ProductDepth : uint8_t {
  /// Constants, parameters, sizes, random numbers and truth values.
  Constant,
  /// Rows of tables of such values, chosen by inputs: embeddings.
  Row,
  /// Computed from inputs (floats, or integers as floats) without a product.
  Input,
  /// Computed by one product of such values.
  FirstProduct,
  /// Computed by products of products, or by unknown nodes.
  Deep,
};

class ProductDepths {
public:
  explicit ProductDepths(const ValueFlow &flow);

  ProductDepth lookup(mlir::Value value) const { return levels.lookup(value); }
  /// The greatest depth of the node's results.
  ProductDepth lookup(mlir::Operation *node) const;

private:
  ProductDepth getOperands(mlir::Operation *node) const;
  ProductDepth getResult(mlir::Operation *node, mlir::Value result);
  void raiseArguments(mlir::Operation *scope);

  OperatorTraitsCache kinds;
  RisingLevels<ProductDepth> levels;
};

/// True for a Cast from integers of more than 8 bits to floats: these are
/// counts, positions and identifiers, which 16 bit does not hold.
bool isCastOfIntegers(mlir::Operation *node);

} // namespace mp

#endif // MPOPT_PRECISION_ANALYSIS_PRODUCTDEPTH_H
