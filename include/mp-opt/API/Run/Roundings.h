//===- Roundings.h - Roundings of a model to 16 bit -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The accuracy of a 16-bit result compared with float64 depends on the effect
// of rounding on the original model. The effect is measured with Monte Carlo
// arithmetic (Parker, "Monte Carlo Arithmetic: exploiting randomness in
// floating-point arithmetic", 1997): the model is run with every value that the
// result rounds, rounded to a grid of the same fineness at a random place.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_RUN_ROUNDINGS_H
#define MPOPT_API_RUN_ROUNDINGS_H

#include "mp-opt/Data/Tensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace mp {

/// An operand of a node, which is known by the name of its first result.
struct NamedUse {
  std::string node;
  unsigned operand;
};

/// A value that is rounded to 16 bit.
struct Rounding {
  /// Names that the value may have in the model before conversion.
  std::vector<std::string> names;
  ElementKind kind;
  /// The uses for which it is rounded; empty if it is rounded for all.
  std::vector<NamedUse> uses;
  /// The nodes of the main graph that cause the rounding, in the form of
  /// describe(): the one that computes the value in 16 bit, or those that read
  /// an fp32 value in 16 bit.
  std::vector<std::string> nodes = {};
};

/// Finds the roundings of a model without calls of functions.
std::vector<Rounding> findRoundings(mlir::ModuleOp module);

/// The number of nodes that round to 16 bit on the longest path to an output.
/// Sums inside nodes are in fp32 and do not count. The kind is that of the
/// coarsest type; Undefined if nothing is rounded.
struct RoundingDepth {
  ElementKind kind = ElementKind::Undefined;
  unsigned depth = 0;

  /// The relative root mean square error that `depth` nodes in a row may cause
  /// if none of them amplifies errors. A node rounds at most three times: its
  /// two operands and its result. One rounding errs by at most the unit
  /// roundoff u, by u / sqrt(3) in the root mean square, and independent errors
  /// add in squares: u * sqrt(depth) in all.
  double getError() const;
};
/// `before` is the model before conversion: an input that is 16 bit in `module`
/// alone is rounded, too, which counts for readers that are fp32.
llvm::StringMap<RoundingDepth> findRoundingDepths(mlir::ModuleOp module,
                                                  mlir::ModuleOp before);

/// The last input: a vector with one float32 number per rounding.
struct ScaleInput {
  std::string name;
  unsigned count = 0;
};

/// Rounds values of `module`, the model before conversion, to grids. These are
/// the 16-bit grids scaled by the numbers of a new input: from 0.5 to 1, or 0
/// to round nothing. Rounding i takes number i. If the module has none of the
/// values, no input is added.
ScaleInput roundOnScaledGrids(mlir::ModuleOp module,
                              llvm::ArrayRef<Rounding> roundings);

} // namespace mp

#endif // MPOPT_API_RUN_ROUNDINGS_H
