//===- QuantizedTypes.h - Types around quantized values ---------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runtimes form an integer kernel from DequantizeLinear, its product and
// QuantizeLinear if nothing stands between them, so no cast may. Therefore:
//
// - The result of DequantizeLinear has the type of its user, and is as cheap in
//   both types as a constant: two nodes yield it if users disagree. The same
//   holds for a result that is moved. Where it cannot be 16 bit, its users are
//   fp32.
// - The data of QuantizeLinear has the type in which its producer yields it:
//   both have one variable. Where QuantizeLinear cannot read 16 bit, the nodes
//   from the product on are fp32.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PRECISION_ASSIGNMENT_QUANTIZEDTYPES_H
#define MPOPT_LIB_PRECISION_ASSIGNMENT_QUANTIZEDTYPES_H

#include "PrecisionGraph.h"

#include "mp-opt/Precision/Analysis/QuantizedPairs.h"

namespace mp {

class QuantizedTypes {
public:
  explicit QuantizedTypes(PrecisionGraph &graph)
      : graph(graph), variables(graph.variables), scales(graph.low) {}

  /// Called after variables are made, and before values are.
  void run();
  /// Gives results of DequantizeLinear the type of their users, and reasons to
  /// both kinds of nodes; called when all other variables are decided.
  void settle();

private:
  using Variable = PrecisionGraph::Variable;

  DecisionReason getReason(llvm::StringRef text, mlir::Operation *op) const;
  DecisionReason getObstacle(mlir::Operation *op);
  DecisionReason getInt32Obstacle(mlir::Operation *dequantizer);
  void addDequantizer(unsigned index);
  void keepUsersF32(mlir::Value value, DecisionReason reason);
  void checkBias(mlir::Operation *product);
  void addQuantizer(unsigned index);
  bool joinProducers(mlir::Value data, int own);
  void joinProducer(int producer, int quantizer);
  void keepProducersF32(mlir::Value value, DecisionReason reason);
  void addMovement(unsigned index);
  void connect(unsigned index);
  /// The types in which a value is used.
  struct Wanted {
    bool low = false, f32 = false;
  };
  bool mustHoldScale(mlir::Operation *op) const;
  void addUse(mlir::OpOperand &use, Wanted &wanted) const;
  void settleDequantized(unsigned index);
  void explainQuantizer(unsigned index);

  PrecisionGraph &graph;
  std::vector<Variable> &variables;
  QuantizationScales scales;
  /// Nodes that keepProducersF32 has visited: each is visited once.
  llvm::DenseSet<mlir::Operation *> keptProducers;
  /// Variables of which both types are used.
  llvm::DenseSet<int> copied;
};

} // namespace mp

#endif // MPOPT_LIB_PRECISION_ASSIGNMENT_QUANTIZEDTYPES_H
