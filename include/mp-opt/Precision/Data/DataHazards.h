//===- DataHazards.h - Nodes that do not fit into 16 bit --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PRECISION_DATA_DATAHAZARDS_H
#define MPOPT_PRECISION_DATA_DATAHAZARDS_H

#include "mp-opt/Precision/Analysis/HazardAnalysis.h"
#include "mp-opt/Precision/Data/RangeMarks.h"

namespace mp {

/// The factor by which values may exceed those of the data: 2 for inference,
/// and 4 for training, whose weights change.
constexpr double inferenceHeadRoom = 2, trainingHeadRoom = 4;

/// Decides which nodes 16 bit would break on the data that the marks describe.
class DataHazards {
public:
  /// `headRoom` 0 means one of the two factors above.
  DataHazards(mlir::ModuleOp module, ElementKind low, double headRoom);

  bool isEmpty() const { return marks.isEmpty(); }
  /// The reason why a node must stay fp32, "its result reaches 1.2e+05 in the
  /// data; with head-room 4 it does not fit fp16"; empty if there is none.
  std::string explain(mlir::Operation *node) const;
  /// True if all float operands and results of a node are known and fit.
  bool isProved(mlir::Operation *node) const;
  /// "its result reaches 12 in the data", for nodes that are proved.
  std::string describeProof(mlir::Operation *node) const;

private:
  std::string explainValue(const KnownRange &range,
                           const std::string &what) const;
  std::string explainOperand(mlir::OpOperand &use) const;
  std::string explainResult(mlir::OpResult result) const;

  RangeMarks marks;
  LowLimits limits;
  ElementKind low;
  double headRoom;
};

} // namespace mp

#endif // MPOPT_PRECISION_DATA_DATAHAZARDS_H
