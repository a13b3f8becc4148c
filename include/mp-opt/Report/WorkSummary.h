//===- WorkSummary.h - The share of work in 16 bit --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers of nodes are not informative: most nodes of a training step belong to
// the optimizer and are cheap. Work is measured in multiply-adds
// (MultiplyAdds.h), per phase if a graph trains. If little of it is 16 bit,
// each reason is weighed by its work.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_WORKSUMMARY_H
#define MPOPT_REPORT_WORKSUMMARY_H

#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Precision/Assignment/TrainingPhases.h"

#include "mlir/IR/BuiltinOps.h"

#include <array>
#include <string>
#include <vector>

namespace mp {

/// The work of a model, or of one phase of it. Bodies of loops count once.
struct Work {
  /// Multiply-adds of nodes that read the 16-bit type, and of all nodes.
  uint64_t low = 0, total = 0;
  /// Nodes by decision, and inserted casts.
  int64_t nodesLow = 0, nodesF32 = 0, nodesOther = 0, casts = 0;

  bool isEmpty() const {
    return !total && !nodesLow && !nodesF32 && !nodesOther && !casts;
  }
  /// The 16-bit share of multiply-adds; 0 if there are none.
  double getShare() const { return total ? double(low) / double(total) : 0; }
};

/// Nodes that are not in 16 bit for one reason, and what may help.
struct KeptWork {
  std::string reason;
  /// Flags of mp-opt; empty if none would help.
  std::string remedy;
  /// Operators, in the order of the graph.
  std::vector<std::string> ops;
  int64_t nodes = 0;
  uint64_t multiplyAdds = 0;
};

struct WorkSummary {
  Work all;
  std::array<Work, std::size(phaseNames)> phases;
  bool trains = false;
  /// Nodes that add up an unknown number of products.
  int64_t unknownNodes = 0;
  /// Nodes that already read or yield the 16-bit type in the source.
  int64_t lowBefore = 0;
  /// Nodes that compute in the 16-bit type for any reason.
  int64_t computing = 0;
  /// True if there are nodes that update weights in place, which not every
  /// build of onnxruntime supports.
  bool hasOptimizerNodes = false;
  /// Operators with neither a schema nor a function in the model, in the order
  /// of the graph.
  std::vector<std::string> customOps;
  /// Nodes that are not 16 bit, by reason, most work first. Only nodes that add
  /// up products count, or all if there are none.
  std::vector<KeptWork> kept;

  /// `module` has its marks; `low` is its 16-bit type, `sizes` are those of all
  /// its values.
  static WorkSummary measure(mlir::ModuleOp module, mlir::Type low,
                             const ValueSizes &sizes);

  /// True if less than half of the work is 16 bit, or of the nodes if there is
  /// no work.
  bool isLittle() const;
};

} // namespace mp

#endif // MPOPT_REPORT_WORKSUMMARY_H
