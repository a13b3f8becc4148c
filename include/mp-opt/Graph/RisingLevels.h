//===- RisingLevels.h - A fixed point along the dataflow --------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each value has a level of an ordered type with few members, initially the
// least one. Levels of a node's results follow from its operands; control flow
// and calls pass levels on. Levels only rise, so each node is visited a few
// times.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRAPH_RISINGLEVELS_H
#define MPOPT_GRAPH_RISINGLEVELS_H

#include "mp-opt/Graph/ValueFlow.h"

namespace mp {

template <typename Level> class RisingLevels {
public:
  explicit RisingLevels(const ValueFlow &flow) : flow(flow) {}

  Level lookup(mlir::Value value) const { return levels.lookup(value); }

  void raise(mlir::Value value, Level level) {
    Level &current = levels[value];
    if (level <= current)
      return;
    current = level;
    for (mlir::Operation *user : value.getUsers())
      if (visited.contains(user))
        worklist.push_back(user);
  }

  /// `getResult(node, result)` returns the level of a result. Arguments of
  /// bodies that are not control flow get the level `unknown`.
  template <typename GetResult>
  void run(const GetResult &getResult, Level unknown) {
    for (mlir::Operation *op : flow.getOps()) {
      visit(op, getResult, unknown);
      visited.insert(op);
    }
    while (!worklist.empty()) {
      mlir::Operation *op = worklist.back();
      worklist.pop_back();
      visit(op, getResult, unknown);
    }
  }

private:
  template <typename GetResult>
  void visit(mlir::Operation *op, const GetResult &getResult, Level unknown) {
    bool flows = isControlFlow(op) || llvm::isa<onnxir::YieldOp>(op);
    for (mlir::OpOperand &operand : op->getOpOperands())
      flows |= flow.forEachTarget(operand, [&](mlir::Value target) {
        raise(target, lookup(operand.get()));
      });
    // Levels of control-flow results come from yields.
    if (flows)
      return;
    for (mlir::OpResult result : op->getResults())
      raise(result, getResult(op, result));
    for (mlir::Region &region : op->getRegions())
      for (mlir::BlockArgument argument : region.getArguments())
        raise(argument, unknown);
  }

  const ValueFlow &flow;
  llvm::DenseMap<mlir::Value, Level> levels;
  llvm::DenseSet<mlir::Operation *> visited;
  std::vector<mlir::Operation *> worklist;
};

} // namespace mp

#endif // MPOPT_GRAPH_RISINGLEVELS_H
