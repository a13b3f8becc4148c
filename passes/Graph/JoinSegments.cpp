//===- JoinSegments.cpp - Reductions of consecutive rows ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph/Passes.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/SegmentReductions.h"

#include "llvm/ADT/SetVector.h"

namespace mp {
#define GEN_PASS_DEF_JOINSEGMENTS
#include "Graph/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct JoinSegments : public mp::impl::JoinSegmentsBase<JoinSegments> {
  using JoinSegmentsBase::JoinSegmentsBase;

  void runOnOperation() override;
};

} // namespace

/// Erases `op`, and then ops that only it has used.
static void eraseUnused(NodeBuilder &builder, Operation *op) {
  llvm::SetVector<Operation *> worklist;
  worklist.insert(op);
  while (!worklist.empty()) {
    Operation *unused = worklist.pop_back_val();
    if (!isNode(unused) || !unused->use_empty() || unused->getNumRegions())
      continue;
    for (Value operand : unused->getOperands())
      if (Operation *definer = operand.getDefiningOp();
          definer && definer->getNumOperands())
        worklist.insert(definer);
    builder.getTypes().forget(unused);
    unused->erase();
  }
}

void JoinSegments::runOnOperation() {
  GraphOp graph = getMainGraph(getOperation());
  if (!graph || getOpset(getOperation(), "").value_or(1) < 13)
    return;
  SmallVector<Operation *> nodes;
  graph.walk([&](Operation *op) {
    if (isNode(op) && isStandardOp(op, "Concat") && op->getNumOperands() > 1)
      nodes.push_back(op);
  });
  if (nodes.empty())
    return;
  NodeBuilder builder(getOperation());
  for (Operation *node : nodes) {
    Value result = node->getResult(0);
    StringRef name = onnxir::getValueName(result);
    builder.setBase(name);
    builder.setInsertionPoint(node);
    Value value = joinSegments(builder, node);
    if (!value)
      continue;
    value.setType(NodeTypes::refine(value.getType(), result.getType()));
    std::string text = name.str();
    result.replaceAllUsesWith(value);
    setValueName(cast<OpResult>(result), "");
    setValueName(cast<OpResult>(value), text);
    eraseUnused(builder, node);
  }
}
