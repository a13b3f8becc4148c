//===- FoldSequences.cpp - Elements of sequences without the sequence -----===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph/Passes.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Operators/NodeView.h"

namespace mp {
#define GEN_PASS_DEF_FOLDSEQUENCES
#include "Graph/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct FoldSequences : public mp::impl::FoldSequencesBase<FoldSequences> {
  using FoldSequencesBase::FoldSequencesBase;

  void runOnOperation() override;

private:
  ArrayRef<Value> getElements(NodeBuilder &builder, Value sequence);
  SmallVector<Value> split(NodeBuilder &builder, Operation *node);
  void foldElement(NodeBuilder &builder, Operation *node);

  /// Of each node that makes a sequence; empty if they are not known.
  llvm::DenseMap<Operation *, SmallVector<Value>> known;
};

} // namespace

/// The sizes of the parts that SplitToSequence makes along its axis; absent if
/// they are not known.
static std::optional<SmallVector<int64_t>> getParts(Operation *node,
                                                    int64_t axis) {
  auto type = dyn_cast<RankedTensorType>(node->getOperand(0).getType());
  int64_t size = type ? type.getDimSize(axis) : ShapedType::kDynamic;
  std::optional<SmallVector<int64_t>> given =
      hasOperand(node, 1) ? getConstantInts(node->getOperand(1))
                          : SmallVector<int64_t>{1};
  if (!given)
    return std::nullopt;
  auto parts = hasOperand(node, 1)
                   ? dyn_cast<RankedTensorType>(node->getOperand(1).getType())
                   : RankedTensorType();
  if (parts && parts.getRank() == 1)
    return given;
  // One size for all parts but the last.
  constexpr int64_t most = 1024;
  if (given->size() != 1 || given->front() < 1 || ShapedType::isDynamic(size) ||
      size / given->front() > most)
    return std::nullopt;
  SmallVector<int64_t> sizes;
  for (int64_t begin = 0; begin < size; begin += given->front())
    sizes.push_back(std::min(given->front(), size - begin));
  return sizes;
}

SmallVector<Value> FoldSequences::split(NodeBuilder &builder, Operation *node) {
  auto type = dyn_cast<RankedTensorType>(node->getOperand(0).getType());
  if (!type)
    return {};
  NodeView view(node);
  std::optional<int64_t> found = view.axisIn(type.getRank());
  if (!found)
    return {};
  int64_t axis = *found;
  std::optional<SmallVector<int64_t>> parts = getParts(node, axis);
  if (!parts || parts->empty())
    return {};
  builder.setInsertionPointAfter(node);
  StringRef name = getNodeName(node);
  builder.setBase(name.empty() ? onnxir::getValueName(node->getResult(0))
                               : name);
  bool isSingle = !view.has(1) && !view.keepDims();
  SmallVector<Value> elements;
  if (parts->size() == 1) {
    elements.push_back(node->getOperand(0));
  } else {
    SmallVector<Type> types;
    for (int64_t size : *parts) {
      SmallVector<int64_t> shape(type.getShape());
      shape[axis] = size;
      types.push_back(RankedTensorType::get(shape, type.getElementType()));
    }
    Operation *made =
        builder.createNode("Split", {node->getOperand(0), builder.ints(*parts)},
                           types, builder.attr("axis", axis));
    elements.assign(made->result_begin(), made->result_end());
  }
  for (Value &element : elements)
    if (isSingle)
      element = builder.squeeze(element, axis);
  return elements;
}

ArrayRef<Value> FoldSequences::getElements(NodeBuilder &builder,
                                           Value sequence) {
  Operation *node = sequence.getDefiningOp();
  if (!node || !isNode(node))
    return {};
  auto [place, isNew] = known.try_emplace(node);
  if (isNew && isStandardOp(node, "SequenceConstruct"))
    place->second.assign(node->operand_begin(), node->operand_end());
  else if (isNew && isStandardOp(node, "SplitToSequence"))
    place->second = split(builder, node);
  return place->second;
}

void FoldSequences::foldElement(NodeBuilder &builder, Operation *node) {
  ArrayRef<Value> elements = getElements(builder, node->getOperand(0));
  std::optional<SmallVector<int64_t>> index =
      getConstantInts(node->getOperand(1));
  if (elements.empty() || !index || index->size() != 1)
    return;
  int64_t place = index->front();
  place += place < 0 ? int64_t(elements.size()) : 0;
  if (place < 0 || place >= int64_t(elements.size()))
    return;
  // An output of a graph keeps its name.
  if (llvm::any_of(node->getUsers(),
                   [](Operation *user) { return isa<YieldOp>(user); }))
    return;
  node->getResult(0).replaceAllUsesWith(elements[place]);
  node->erase();
}

void FoldSequences::runOnOperation() {
  GraphOp graph = getMainGraph(getOperation());
  if (!graph || getOpset(getOperation(), "").value_or(1) < 13)
    return;
  SmallVector<Operation *> nodes;
  graph.walk([&](Operation *op) {
    if (isNode(op) && isStandardOp(op, "SequenceAt"))
      nodes.push_back(op);
  });
  if (nodes.empty())
    return;
  NodeBuilder builder(getOperation());
  known.clear();
  for (Operation *node : nodes)
    foldElement(builder, node);
  for (auto &[node, elements] : known)
    if (node->use_empty())
      node->erase();
}
