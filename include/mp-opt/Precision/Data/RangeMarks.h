//===- RangeMarks.h - Ranges in data as marks of a model --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A node carries `mp.observed`, four numbers for each of its results: the
// greatest magnitude, the share of the energy that fp16 loses, the smallest
// magnitude above zero, and the greatest partial sum; -1 stands for an unknown
// number. A graph carries the same for its inputs, `mp.observed_inputs`.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_DATA_RANGEMARKS_H
#define MPOPT_PRECISION_DATA_RANGEMARKS_H

#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Precision/Data/ObservedRanges.h"

#include "llvm/ADT/DenseMap.h"

namespace mp {

/// A digest of nodes, names and types, without the elements of weights: it
/// stays the same as a model is trained.
std::string getStructureDigest(mlir::ModuleOp module);

/// The key of a value of the main graph or of a function; empty for values of
/// subgraphs and for values without a name.
std::string getRangeKey(mlir::Value value);

/// Marks the nodes and the graph's inputs with their ranges. Returns the number
/// of entries of `ranges` that are values of the model.
unsigned markRanges(mlir::ModuleOp module, const ObservedRanges &ranges);

/// The mark of one value.
struct KnownRange {
  double max, lostShare;
  std::optional<double> smallest, partial;
};

/// The marks of values, through data movement and calls of functions.
class RangeMarks {
public:
  explicit RangeMarks(mlir::ModuleOp module);

  /// The range of a value; absent if it is unknown.
  std::optional<KnownRange> lookup(mlir::Value value) const;
  bool isEmpty() const { return !isMarked; }

private:
  mlir::Value getSource(mlir::Value value) const;

  FunctionTable functions;
  /// The call of each specialized function.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> calls;
  bool isMarked = false;
};

} // namespace mp

#endif // MPOPT_PRECISION_DATA_RANGEMARKS_H
