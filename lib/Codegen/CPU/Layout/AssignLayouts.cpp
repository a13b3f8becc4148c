//===- AssignLayouts.cpp - The layouts that cost least --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each op that can run with channels last is one vertex of a network. Its
// minimum cut selects the ops that do: those on the side of the sink. An op on
// one side pays the amount by which the other layout is cheaper, and a value
// that is used on both sides pays one transpose (p makes it, c are its users):
//
//   s -> o         the cost of o with channels last
//   o -> t         its cost as it is
//   p -> x -> c    transpose, inf    p is as it is and some c is not
//   c -> y -> p    inf, transpose    p has channels last and some c does not
//
// The source stands for ops that stay as they are, and for arguments and
// results of the function.
//
//===----------------------------------------------------------------------===//

#include "LayoutCosts.h"
#include "LayoutRewrite.h"
#include "mp-opt/Codegen/CPU/Layouts.h"

#include "mp-opt/Support/MaxFlow.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace mp {

namespace {
class LayoutCut {
public:
  LayoutCut(Block &block, const ChannelAxes &axes) : block(block), axes(axes) {}

  /// Returns the ops whose channels are to be last, in the block's order.
  SmallVector<Operation *> solve();

private:
  void addOps();
  void addValue(Value value);
  int getVertex(Operation *op) const {
    auto found = vertices.find(op);
    return found == vertices.end() ? MaxFlow::source : found->second;
  }

  Block &block;
  const ChannelAxes &axes;
  MaxFlow flow;
  llvm::MapVector<Operation *, int> vertices;
};
} // namespace

/// True if any value of an op has another order.
static bool hasChannels(Operation *op, const ChannelAxes &axes) {
  return llvm::any_of(op->getOpOperands(),
                      [&](OpOperand &use) {
                        return axes.getOrder(use.get()) && axes.isImage(use);
                      }) ||
         llvm::any_of(op->getResults(),
                      [&](Value value) { return axes.getOrder(value); });
}

void LayoutCut::addOps() {
  for (Operation &op : block) {
    if (!hasChannels(&op, axes) || !axes.isFlexible(&op))
      continue;
    int vertex = flow.addVertex();
    vertices.insert({&op, vertex});
    LayoutCost cost = getLayoutCost(&op, axes);
    int64_t common = std::min(cost.asIs, cost.channelsLast);
    flow.addEdge(MaxFlow::source, vertex, cost.channelsLast - common);
    flow.addEdge(vertex, MaxFlow::sink, cost.asIs - common);
  }
}

void LayoutCut::addValue(Value value) {
  const AxisOrder *order = axes.getOrder(value);
  // Empty tensors can have any order.
  if (!order || value.getDefiningOp<tensor::EmptyOp>())
    return;
  int64_t cost = getTransposeCost(value, *order);
  int producer = getVertex(value.getDefiningOp());
  llvm::SmallSetVector<int, 4> users;
  for (OpOperand &use : value.getUses())
    users.insert(ChannelAxes::isImage(use) ? getVertex(use.getOwner())
                                           : MaxFlow::source);
  int last = flow.addVertex(), asIs = flow.addVertex();
  flow.addEdge(producer, last, cost);
  flow.addEdge(asIs, producer, cost);
  for (int user : users) {
    flow.addEdge(last, user, MaxFlow::infinite);
    flow.addEdge(user, asIs, MaxFlow::infinite);
  }
}

SmallVector<Operation *> LayoutCut::solve() {
  addOps();
  for (Value argument : block.getArguments())
    addValue(argument);
  for (Operation &op : block)
    for (Value result : op.getResults())
      addValue(result);
  constexpr uint64_t budget = uint64_t(1) << 28;
  if (!flow.run(budget))
    return {};
  std::vector<bool> isAsIs = flow.getLargestSourceSide();
  SmallVector<Operation *> chosen;
  for (auto [op, vertex] : vertices)
    if (!isAsIs[vertex])
      chosen.push_back(op);
  return chosen;
}

/// Reports the contraction's layout, and the cost of both layouts.
static void explain(kernel::ContractOp op, const ChannelAxes &axes,
                    bool isLast) {
  auto options = remark::RemarkOpts::name("layout").category("mp-codegen");
  auto remark = remark::analysis(op.getLoc(), options);
  if (!remark)
    return;
  LayoutCost cost = getLayoutCost(op, axes);
  using Arg = remark::detail::Remark::Arg;
  auto getMicroseconds = [](int64_t picoseconds) {
    return llvm::formatv("{0:F1}", picoseconds * 1e-6).str();
  };
  remark << Arg("Layout", isLast ? "channels last" : "as it is")
         << Arg("AsItIs", getMicroseconds(cost.asIs))
         << Arg("ChannelsLast", getMicroseconds(cost.channelsLast));
}

void assignLayouts(func::FuncOp function, LayoutChoice choice) {
  if (function.isExternal())
    return;
  Block &block = function.getBody().front();
  ChannelAxes axes(block);
  SmallVector<Operation *> chosen;
  if (choice == LayoutChoice::Automatic) {
    chosen = LayoutCut(block, axes).solve();
  } else {
    for (Operation &op : block)
      if (hasChannels(&op, axes) && axes.isFlexible(&op))
        chosen.push_back(&op);
  }
  llvm::DenseSet<Operation *> isLast(chosen.begin(), chosen.end());
  for (auto op : block.getOps<kernel::ContractOp>())
    if (ConvolutionParts::find(op))
      explain(op, axes, isLast.contains(op));
  rewriteChannelsLast(chosen, axes);
}

} // namespace mp
