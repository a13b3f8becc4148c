//===- ValueSizes.h - How many elements values have -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes that decisions weigh. Static shapes are exact. An unknown dimension is
// what the user says for its name (`--dim batch=32`), else what the same
// dimension of an operand is taken for, else a default; a reshaped value keeps
// its operand's size. These are weights, never facts: nothing that must hold
// may rest on them.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_VALUESIZES_H
#define MPOPT_GRAPH_VALUESIZES_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace mp {

/// What an unknown dimension counts for.
inline constexpr int64_t defaultDimension = 32;
/// What a tensor of unknown rank counts for, in elements.
inline constexpr int64_t defaultElements = 1024;

class KnownTensors;

/// Sizes by the names of symbolic dimensions.
using DimensionSizes = llvm::StringMap<int64_t>;

/// Reads entries such as "batch=32", or several with commas between them;
/// fails, with a message, on any other.
llvm::Error parseDimensions(llvm::ArrayRef<std::string> entries,
                            DimensionSizes &sizes);

/// Fails on a name that no dimension has of an input, an output or a described
/// value of the module, with those that there are.
llvm::Error checkDimensionNames(mlir::ModuleOp module,
                                const DimensionSizes &sizes);

class ValueSizes {
public:
  ValueSizes() = default;
  explicit ValueSizes(DimensionSizes named) : named(std::move(named)) {}

  /// Takes note of all values of a graph or function. Operands come before
  /// their users.
  void add(mlir::Operation *scope);

  /// At least 1 and at most 2^40; of a sequence, the elements of one tensor.
  int64_t getElements(mlir::Value value) const;
  /// Each at least 1; absent for an unknown rank, for what is no tensor, and
  /// where nothing tells most of the dimensions.
  std::optional<llvm::SmallVector<int64_t>> getShape(mlir::Value value) const;

private:
  struct Size {
    int64_t elements = 1;
    llvm::SmallVector<int64_t, 4> dims;
    /// `dims` are no more than a guess.
    bool isGuess = false;
    bool operator==(const Size &other) const {
      return elements == other.elements && dims == other.dims &&
             isGuess == other.isGuess;
    }
  };

  void addNames(mlir::Operation *yield);
  void addValue(mlir::Value value, mlir::Operation *source,
                const KnownTensors *known);
  /// Fills in the dimensions that the type of a result of `source` leaves open;
  /// the number of those that nothing tells.
  unsigned addDims(mlir::Value value, mlir::Operation *source,
                   const KnownTensors *known, Size &size) const;
  void addShape(mlir::Operation *op, KnownTensors &known) const;
  void addRegionResult(mlir::OpResult result);
  void set(mlir::Value value, Size size);
  const Size *lookup(mlir::Value value) const;
  /// What dimension `index` of an operand of `rank` dimensions says of a
  /// result's; absent if nothing.
  std::optional<int64_t> getDim(mlir::Value operand, int64_t rank,
                                unsigned index) const;

  DimensionSizes named;
  /// By the name of a value: its dimensions as far as the user knows them.
  llvm::StringMap<llvm::SmallVector<int64_t, 4>> dimsByName;
  /// Each size once where values of it follow one another, and which of them
  /// values have whose type does not say it.
  std::vector<Size> sizes;
  llvm::DenseMap<mlir::Value, unsigned> indices;
};

} // namespace mp

#endif // MPOPT_GRAPH_VALUESIZES_H
