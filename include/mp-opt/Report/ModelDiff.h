//===- ModelDiff.h - Differences in precision -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares two models. Nodes are matched by their names, then by the names of
// their first outputs, then by operator and order, if both models have the same
// number of unmatched nodes of an operator. Element types of matched nodes are
// compared; unmatched casts between float types are casts added or removed. The
// modules may belong to different contexts.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_MODELDIFF_H
#define MPOPT_REPORT_MODELDIFF_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace mp {

struct ModelDiff {
  /// An item of both models, with its form in each.
  struct Change {
    std::string name, before, after;
  };
  /// A matched node with different element types.
  struct NodeChange {
    std::string name, op;
    std::string inputsBefore, inputsAfter, outputsBefore, outputsAfter;
  };
  /// A node of one model only; `from`, `to` and `value` are set for casts.
  struct Node {
    std::string name, op, value, from, to;
  };

  /// Opsets by domain, and "ir_version".
  std::vector<Change> versions;
  std::vector<Change> inputs, outputs, initializers;
  std::vector<NodeChange> nodes;
  std::vector<Node> castsAdded, castsRemoved, nodesAdded, nodesRemoved;
  size_t matched = 0;
  uint64_t weightsBefore = 0, weightsAfter = 0;

  static ModelDiff compute(mlir::ModuleOp before, mlir::ModuleOp after);

  bool isEmpty() const {
    return versions.empty() && inputs.empty() && outputs.empty() &&
           initializers.empty() && nodes.empty() && castsAdded.empty() &&
           castsRemoved.empty() && nodesAdded.empty() && nodesRemoved.empty();
  }
  void print(llvm::raw_ostream &os) const;
  void printJSON(llvm::StringRef before, llvm::StringRef after,
                 llvm::raw_ostream &os) const;
};

} // namespace mp

#endif // MPOPT_REPORT_MODELDIFF_H
