//===- RoundingSpots.h - Where 16 bit would round values --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A spot is a place where a value is rounded if a node runs in 16 bit: the
// node's result, or one of its operands. An operand is rounded only if the
// value is fp32 until then; a value that is 16 bit already is read exactly.
// Nodes that only select and move elements have no spot for their results.
//
// A marker is an Identity with `mp.spot`, a number, in a copy of the model: one
// for each value or use that is rounded on its own. Passes leave markers alone.
// Spots of the same value whose readers are the same share a marker. The model
// then runs with values rounded at markers (addRoundings), or with the effect
// of each rounding as output (addErrorTerms).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_ATTRIBUTION_ROUNDINGSPOTS_H
#define MPOPT_ATTRIBUTION_ROUNDINGSPOTS_H

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace mp {

struct RoundingSpot {
  /// The node that rounds: it computes the value, or reads it.
  mlir::Operation *node;
  /// The result or the operand.
  unsigned index;
  bool isOperand;
  unsigned marker;

  mlir::Value getValue() const {
    return isOperand ? node->getOperand(index)
                     : mlir::Value(node->getResult(index));
  }
};

class RoundingSpots {
public:
  /// Finds the spots of the main graph's nodes that may be 16 bit: all nodes
  /// but those with class deny and those with subgraphs. Functions must be
  /// inlined. The module must not change while this is used.
  static RoundingSpots find(mlir::ModuleOp module);

  llvm::ArrayRef<RoundingSpot> get() const { return spots; }
  unsigned getNumMarkers() const { return numMarkers; }

  /// The indices of the spots that round once mp-assign has decided: results of
  /// 16-bit nodes, and their operands that are fp32.
  std::vector<unsigned> findActive() const;

  /// A copy of the module with markers.
  mlir::OwningOpRef<mlir::ModuleOp> mark(mlir::ModuleOp module) const;

private:
  void addResults(mlir::Operation *node, llvm::ArrayRef<mlir::Value> written);
  void addOperands(mlir::Operation *node,
                   llvm::ArrayRef<mlir::OpOperand *> read);

  std::vector<RoundingSpot> spots;
  unsigned numMarkers = 0;
  /// The marker of a value's result spot.
  llvm::DenseMap<mlir::Value, unsigned> results;
};

/// True if mp-assign has made the node 16 bit; false for null.
bool isLowNode(mlir::Operation *node);

/// The markers of a module, by number; null for numbers without one.
std::vector<mlir::Operation *> findMarkers(mlir::ModuleOp module,
                                           unsigned count);
/// The value without markers between.
mlir::Value skipMarkers(mlir::Value value);

} // namespace mp

#endif // MPOPT_ATTRIBUTION_ROUNDINGSPOTS_H
