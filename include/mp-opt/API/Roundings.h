//===- Roundings.h - Where a model rounds to 16 bit -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How far a result in 16 bit may be from float64 depends on what rounding does
// to the model that it was made of. That is measured as in Monte Carlo
// arithmetic (Parker, "Monte Carlo Arithmetic: exploiting randomness in
// floating-point arithmetic", 1997): the model is run with every value that the
// result rounds, rounded to a grid of the same fineness at a random place.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_API_ROUNDINGS_H
#define MPOPT_API_ROUNDINGS_H

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
  /// What the value may be called in the model before it was converted.
  std::vector<std::string> names;
  ElementKind kind;
  /// If it is rounded for some of its uses, these; else empty.
  std::vector<NamedUse> uses;
  /// The nodes of the main graph that are the reason: the one that computes the
  /// value in 16 bit, or those that read what was in fp32, as describe() has
  /// them.
  std::vector<std::string> nodes = {};
};

/// What is rounded in a model without calls of functions.
std::vector<Rounding> findRoundings(mlir::ModuleOp module);

/// For each output, the number of nodes that round to 16 bit on the longest
/// path to it; the sums inside of them are in fp32 and count for nothing. The
/// type is that of the coarsest one. No kind where nothing is rounded.
struct RoundingDepth {
  ElementKind kind = ElementKind::Undefined;
  unsigned depth = 0;

  /// The relative root mean square error that so many nodes in a row may cause
  /// where none amplifies errors. A node rounds at most three times: its two
  /// operands and its result. One rounding errs by at most the unit roundoff u,
  /// by u / sqrt(3) in the root mean square, and independent errors add in
  /// squares: u * sqrt(depth) in all.
  double getError() const;
};
llvm::StringMap<RoundingDepth> findRoundingDepths(mlir::ModuleOp module);

/// An input, the last one, that is a vector of so many float32 numbers.
struct ScaleInput {
  std::string name;
  unsigned count = 0;
};

/// Rounds values of `module`, the model before it was converted, to grids that
/// are those of 16 bit, scaled by the numbers of a new input, which are from
/// 0.5 to 1, or 0 where nothing is to be rounded; rounding i takes number i. If
/// the module has none of the values, there is no new input.
ScaleInput roundOnScaledGrids(mlir::ModuleOp module,
                              llvm::ArrayRef<Rounding> roundings);

} // namespace mp

#endif // MPOPT_API_ROUNDINGS_H
