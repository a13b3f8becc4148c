//===- ValueSizes.h - Estimates of value sizes ------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Estimates sizes for cost decisions. Static shapes are exact. For an unknown
// dimension, the user's size for its name (`--dim batch=32`) is used, else the
// estimate of the same dimension of an operand, else a default; a reshaped
// value keeps its operand's number of elements. Sizes are estimates:
// correctness must not depend on them.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_VALUESIZES_H
#define MPOPT_GRAPH_VALUESIZES_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace mp {

/// The assumed size of an unknown dimension.
inline constexpr int64_t defaultDimension = 32;
/// The assumed number of elements of a tensor of unknown rank.
inline constexpr int64_t defaultElements = 1024;

class KnownTensors;

/// Sizes by the names of symbolic dimensions.
using DimensionSizes = llvm::StringMap<int64_t>;

/// Reads entries such as "batch=32", or several separated by commas; fails,
/// with a message, on any other text.
llvm::Error parseDimensions(llvm::ArrayRef<std::string> entries,
                            DimensionSizes &sizes);

/// Fails on a name that no dimension of an input, an output or a described
/// value of the module has; the message lists the names that exist.
llvm::Error checkDimensionNames(mlir::ModuleOp module,
                                const DimensionSizes &sizes);

class ValueSizes {
public:
  ValueSizes() = default;
  explicit ValueSizes(DimensionSizes named) : named(std::move(named)) {}

  /// Records the sizes of all values of a graph or function. Operands come
  /// before their users.
  void add(mlir::Operation *scope);

  /// At least 1 and at most 2^40; for a sequence, the elements of one tensor.
  int64_t getElements(mlir::Value value) const;
  /// The dimensions, each at least 1; absent for an unknown rank, for values
  /// that are not tensors, and if most dimensions are unknown.
  std::optional<llvm::SmallVector<int64_t>> getShape(mlir::Value value) const;

private:
  struct Size {
    int64_t elements = 1;
    llvm::SmallVector<int64_t, 4> dims;
    /// `dims` are only a guess.
    bool isGuess = false;
    bool operator==(const Size &other) const {
      return elements == other.elements && dims == other.dims &&
             isGuess == other.isGuess;
    }
  };

  void addNames(mlir::Operation *yield);
  void addValue(mlir::Value value, mlir::Operation *source,
                const KnownTensors *known);
  /// Fills in the unknown dimensions of the type of a result of `source`;
  /// returns the number of dimensions that remain guesses.
  unsigned addDims(mlir::Value value, mlir::Operation *source,
                   const KnownTensors *known, Size &size) const;
  void addShape(mlir::Operation *op, KnownTensors &known) const;
  void addRegionResult(mlir::OpResult result);
  void set(mlir::Value value, Size size);
  const Size *lookup(mlir::Value value) const;
  /// The dimension of a result that follows from dimension `index` of an
  /// operand of `rank` dimensions; absent if none does.
  std::optional<int64_t> getDim(mlir::Value operand, int64_t rank,
                                unsigned index) const;

  DimensionSizes named;
  /// Dimensions that the user has given, by the name of the value.
  llvm::StringMap<llvm::SmallVector<int64_t, 4>> dimsByName;
  /// Sizes in the order of values, equal neighbours merged; and the index of
  /// the size of each value whose type does not give it.
  std::vector<Size> sizes;
  llvm::DenseMap<mlir::Value, unsigned> indices;
};

} // namespace mp

#endif // MPOPT_GRAPH_VALUESIZES_H
