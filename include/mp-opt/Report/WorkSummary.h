//===- WorkSummary.h - How much of the work is 16 bit -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts of nodes say little: most nodes of a training step are the optimizer's
// and cheap. Work is counted in multiply-adds (MultiplyAdds.h), by phase where
// a graph trains; where little of it is 16 bit, reasons are weighed by it.
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
  /// Multiply-adds of nodes that read the 16-bit type, and of all.
  uint64_t low = 0, total = 0;
  /// Nodes by what was decided; inserted casts.
  int64_t nodesLow = 0, nodesF32 = 0, nodesOther = 0, casts = 0;

  bool isEmpty() const {
    return !total && !nodesLow && !nodesF32 && !nodesOther && !casts;
  }
  /// Of multiply-adds; 0 if there are none.
  double getShare() const { return total ? double(low) / double(total) : 0; }
};

/// Why nodes are not in 16 bit, and what may help.
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
  /// Nodes that add up products, nobody knows how many.
  int64_t unknownNodes = 0;
  /// Nodes that read or yield the 16-bit type in the source already.
  int64_t lowBefore = 0;
  /// Nodes that compute in the 16-bit type, whoever gave it to them.
  int64_t computing = 0;
  /// It has nodes that update weights in place, which are not part of every
  /// build of onnxruntime.
  bool hasOptimizerNodes = false;
  /// Operators that no schema and no function of the model describes, in the
  /// order of the graph.
  std::vector<std::string> customOps;
  /// What is not 16 bit, most work first: of nodes that add up products, or of
  /// all if there are none.
  std::vector<KeptWork> kept;

  /// `module` is marked; `low` is its 16-bit type, `sizes` are those of all
  /// its values.
  static WorkSummary measure(mlir::ModuleOp module, mlir::Type low,
                             const ValueSizes &sizes);

  /// Less than half of the work, or of nodes where there is no work, is 16 bit.
  bool isLittle() const;
};

} // namespace mp

#endif // MPOPT_REPORT_WORKSUMMARY_H
