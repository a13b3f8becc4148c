//===- StackSequences.cpp - Outputs of iterations for sequences -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A list to which each iteration of a Loop appends becomes a tensor along a new
// axis, an output of the iterations. Later nodes read the tensor instead of the
// list. Branches that both append to the list are handled first.
//
//===----------------------------------------------------------------------===//

#include "Graph/Passes.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Dialect/ONNX/NodeAttributes.h"
#include "mp-opt/Graph/GrowingSequences.h"
#include "mp-opt/Graph/IterationCounts.h"
#include "mp-opt/Graph/NodeBuilder.h"
#include "mp-opt/Operators/NodeView.h"

namespace mp {
#define GEN_PASS_DEF_STACKSEQUENCES
#include "Graph/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct StackSequences : public mp::impl::StackSequencesBase<StackSequences> {
  using StackSequencesBase::StackSequencesBase;

  void runOnOperation() override;
};

/// The end of a slice up to the last element.
constexpr int64_t end = std::numeric_limits<int64_t>::max();

class SequenceStacker {
public:
  explicit SequenceStacker(ModuleOp module) : builder(module) {}

  void visit(Operation *loop);
  void joinInserts(Operation *branches);

private:
  void replaceLengths(Operation *loop, const GrowingState &state);
  SmallVector<Type> rewriteBody(Operation *loop, ArrayRef<GrowingState> states);
  Operation *rebuild(Operation *loop, ArrayRef<GrowingState> states);
  Value stack(const GrowingState &state, ValueRange outputs);
  void replaceReads(Value sequence, Value stacked);
  Value read(Operation *node, Value stacked);
  void erase(Operation *node);
  void setOutput(Region &region, unsigned index, Value value);

  NodeBuilder builder;
};

} // namespace

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

void SequenceStacker::erase(Operation *node) {
  builder.getTypes().forget(node);
  node->erase();
}

/// Computes the length of the sequence: each iteration adds the same number of
/// elements.
void SequenceStacker::replaceLengths(Operation *loop,
                                     const GrowingState &state) {
  Value iteration = loop->getRegion(0).getArgument(0);
  auto replace = [&](Value sequence, int64_t added) {
    for (Operation *user : llvm::make_early_inc_range(sequence.getUsers())) {
      if (!isStandardOp(user, "SequenceLength"))
        continue;
      builder.setInsertionPoint(user);
      builder.setBase(getNodeName(user));
      Value count =
          builder.mul(iteration, builder.intScalar(state.inserts.size()));
      count = builder.add(
          count, builder.intScalar(int64_t(state.before.size()) + added));
      count.setType(user->getResult(0).getType());
      user->getResult(0).replaceAllUsesWith(count);
      erase(user);
    }
  };
  replace(loop->getRegion(0).getArgument(2 + state.index), 0);
  for (auto [place, insert] : llvm::enumerate(state.inserts))
    replace(insert->getResult(0), place + 1);
}

static ArrayAttr withoutEntries(Attribute list,
                                const llvm::BitVector &dropped) {
  SmallVector<Attribute> kept;
  for (auto [index, entry] : llvm::enumerate(cast<ArrayAttr>(list)))
    if (index >= dropped.size() || !dropped.test(index))
      kept.push_back(entry);
  return ArrayAttr::get(list.getContext(), kept);
}

/// Makes the body yield each appended element, without the states. Returns the
/// types of the new outputs.
SmallVector<Type> SequenceStacker::rewriteBody(Operation *loop,
                                               ArrayRef<GrowingState> states) {
  Region &body = loop->getRegion(0);
  YieldOp yield = getYield(body);
  llvm::BitVector dropped(yield.getNumOperands());
  SmallVector<Value> outputs;
  SmallVector<Type> types;
  for (const GrowingState &state : states) {
    replaceLengths(loop, state);
    dropped.set(1 + state.index);
    builder.setInsertionPoint(yield);
    builder.setBase(getNodeName(loop));
    for (Operation *insert : state.inserts) {
      // A graph must yield values that it computes, each only once.
      Value element = insert->getOperand(1);
      outputs.push_back(
          builder.create("Identity", {element}, {}, element.getType()));
      auto type = cast<RankedTensorType>(element.getType());
      SmallVector<int64_t> shape(type.getShape());
      shape.insert(shape.begin(), ShapedType::kDynamic);
      types.push_back(type.clone(shape));
    }
  }
  GraphEditor(body).addOutputs(outputs);
  dropped.resize(yield.getNumOperands());
  yield->setAttr(attr::outputs,
                 withoutEntries(yield->getAttr(attr::outputs), dropped));
  yield->eraseOperands(dropped);
  for (const GrowingState &state : llvm::reverse(states)) {
    for (Operation *insert : llvm::reverse(state.inserts))
      erase(insert);
    GraphEditor(body).eraseInput(2 + state.index);
  }
  return types;
}

/// Makes the loop without these states, with an output for each element that an
/// iteration appends. The old loop keeps no body, only its dropped results.
Operation *SequenceStacker::rebuild(Operation *loop,
                                    ArrayRef<GrowingState> states) {
  llvm::SmallDenseSet<unsigned> gone;
  for (const GrowingState &state : states)
    gone.insert(state.index);
  SmallVector<Type> added = rewriteBody(loop, states);
  OperationState state(loop->getLoc(), loop->getName());
  SmallVector<Attribute> names;
  SmallVector<Value> kept;
  OpBuilder &b = builder.getBuilder();
  for (auto [index, operand] : llvm::enumerate(loop->getOperands()))
    if (index < 2 || !gone.contains(index - 2))
      state.operands.push_back(operand);
  for (OpResult result : loop->getResults())
    if (!gone.contains(result.getResultNumber())) {
      kept.push_back(result);
      state.types.push_back(result.getType());
      names.push_back(b.getStringAttr(onnxir::getValueName(result)));
    }
  std::string base =
      getNodeName(loop).empty() ? std::string("Loop") : getNodeName(loop).str();
  for (Type type : added) {
    state.types.push_back(type);
    names.push_back(
        b.getStringAttr(builder.getNames().getValueName(base + "/elements")));
  }
  state.addAttributes(loop->getAttrs());
  state.attributes.set(attr::results, b.getArrayAttr(names));
  state.addRegion()->takeBody(loop->getRegion(0));
  builder.setInsertionPoint(loop);
  Operation *made = b.create(state);
  for (auto [old, result] : llvm::zip(kept, made->getResults()))
    old.replaceAllUsesWith(result);
  return made;
}

//===----------------------------------------------------------------------===//
// Readers
//===----------------------------------------------------------------------===//

/// All elements along a new first axis. `outputs` has one tensor for each
/// element that an iteration appends.
Value SequenceStacker::stack(const GrowingState &state, ValueRange outputs) {
  Value stacked = outputs.front();
  SmallVector<Value> parts;
  if (outputs.size() > 1) {
    for (Value output : outputs)
      parts.push_back(builder.unsqueeze(output, 1));
    stacked = builder.concat(parts, 1);
  }
  Value sizes;
  parts.clear();
  for (Value element : state.before)
    parts.push_back(builder.unsqueeze(element, 0));
  if (!parts.empty())
    sizes = builder.shapeOf(state.before.front());
  else if (outputs.size() > 1)
    sizes = builder.slice(builder.shapeOf(stacked), 0, 2, end);
  // If there is no iteration, the output does not have the sizes of elements.
  if (sizes)
    stacked =
        builder.reshape(stacked, builder.concat({builder.ints(-1), sizes}, 0));
  if (parts.empty())
    return stacked;
  parts.push_back(stacked);
  return builder.concat(parts, 0);
}

/// The value that `node` takes from the sequence.
Value SequenceStacker::read(Operation *node, Value stacked) {
  if (isStandardOp(node, "SequenceLength"))
    return builder.squeeze(builder.dimOf(stacked, 0), 0);
  if (isStandardOp(node, "SequenceAt"))
    return builder.gather(stacked, node->getOperand(1), 0);
  NodeView view(node);
  bool isNew = view.getFlag("new_axis");
  int64_t rank = *NodeBuilder::getRank(stacked);
  int64_t axis = *view.axisIn(isNew ? rank : rank - 1);
  if (axis != 0) {
    SmallVector<int64_t> order;
    for (int64_t other = 1; other < rank; ++other)
      order.push_back(other);
    order.insert(order.begin() + axis, 0);
    stacked = builder.transpose(stacked, order);
  }
  if (isNew)
    return stacked;
  Value sizes = builder.shapeOf(stacked);
  SmallVector<Value> parts;
  if (axis > 0)
    parts.push_back(builder.slice(sizes, 0, 0, axis));
  parts.push_back(builder.ints(-1));
  if (axis + 2 < rank)
    parts.push_back(builder.slice(sizes, 0, axis + 2, end));
  Value shape = parts.size() == 1 ? parts.front() : builder.concat(parts, 0);
  return builder.reshape(stacked, shape);
}

void SequenceStacker::replaceReads(Value sequence, Value stacked) {
  for (Operation *user : llvm::make_early_inc_range(sequence.getUsers())) {
    builder.setInsertionPoint(user);
    builder.setBase(getNodeName(user));
    Value value = read(user, stacked);
    auto result = cast<OpResult>(user->getResult(0));
    bool isOutput = llvm::any_of(result.getUsers(), [](Operation *reader) {
      return isa<YieldOp>(reader);
    });
    std::string name = onnxir::getValueName(result).str();
    if (isOutput)
      value = builder.create("Identity", {value}, {}, value.getType());
    value.setType(NodeTypes::refine(value.getType(), result.getType()));
    result.replaceAllUsesWith(value);
    erase(user);
    // An output of a graph keeps its name.
    if (isOutput)
      setValueName(cast<OpResult>(value), name);
  }
}

void SequenceStacker::visit(Operation *loop) {
  Region &body = loop->getRegion(0);
  YieldOp yield = body.empty() ? YieldOp() : getYield(body);
  unsigned count = loop->getNumOperands() < 2 ? 0 : loop->getNumOperands() - 2;
  if (!yield || body.getNumArguments() != count + 2 ||
      yield.getNumOperands() != loop->getNumResults() + 1 ||
      loop->getNumResults() < count)
    return;
  auto iteration = dyn_cast<RankedTensorType>(body.getArgument(0).getType());
  if (!iteration || iteration.getRank() != 0 || hasConstantCount(loop))
    return;
  SmallVector<GrowingState> states = findGrowingStates(loop);
  if (states.empty())
    return;
  Operation *made = rebuild(loop, states);
  unsigned next = loop->getNumResults() - states.size();
  for (const GrowingState &state : states) {
    builder.setInsertionPointAfter(made);
    builder.setBase(getNodeName(loop));
    ValueRange outputs = made->getResults().slice(next, state.inserts.size());
    next += state.inserts.size();
    replaceReads(loop->getResult(state.index), stack(state, outputs));
  }
  SmallVector<Operation *> makers;
  for (const GrowingState &state : states)
    makers.push_back(loop->getOperand(2 + state.index).getDefiningOp());
  erase(loop);
  // Two states may have begun as one sequence.
  for (auto [index, maker] : llvm::enumerate(makers))
    if (!llvm::is_contained(ArrayRef(makers).drop_front(index + 1), maker))
      while (maker && isNode(maker) && maker->use_empty()) {
        Operation *before =
            isAppend(maker) ? maker->getOperand(0).getDefiningOp() : nullptr;
        erase(maker);
        maker = before;
      }
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

void SequenceStacker::setOutput(Region &region, unsigned index, Value value) {
  GraphEditor(region).addOutputs(value);
  YieldOp yield = getYield(region);
  SmallVector<Attribute> entries(
      yield->getAttrOfType<ArrayAttr>(attr::outputs).getValue());
  entries[index] = entries.pop_back_val();
  yield->setAttr(attr::outputs, ArrayAttr::get(builder.getContext(), entries));
  yield->setOperand(index, value);
  yield->eraseOperand(yield.getNumOperands() - 1);
}

/// Two branches that append to one sequence from outside yield the elements
/// instead.
void SequenceStacker::joinInserts(Operation *branches) {
  if (branches->getNumRegions() != 2)
    return;
  for (OpResult result : branches->getResults()) {
    unsigned index = result.getResultNumber();
    SmallVector<Operation *> inserts;
    for (Region &region : branches->getRegions()) {
      YieldOp yield = region.empty() ? YieldOp() : getYield(region);
      if (!yield || index >= yield.getNumOperands())
        return;
      Operation *insert = yield.getOperand(index).getDefiningOp();
      if (isAppend(insert) && insert->getParentRegion() == &region &&
          insert->hasOneUse())
        inserts.push_back(insert);
    }
    if (inserts.size() != 2 ||
        inserts[0]->getOperand(0) != inserts[1]->getOperand(0))
      continue;
    Value sequence = inserts[0]->getOperand(0);
    auto left = dyn_cast<RankedTensorType>(inserts[0]->getOperand(1).getType());
    if (!left || left != inserts[1]->getOperand(1).getType())
      continue;
    for (Operation *insert : inserts) {
      builder.setInsertionPoint(insert);
      builder.setBase(getNodeName(insert));
      Value element =
          builder.create("Identity", insert->getOperand(1), {}, left);
      setOutput(*insert->getParentRegion(), index, element);
      erase(insert);
    }
    Type type = result.getType();
    std::string name = onnxir::getValueName(result).str();
    result.setType(left);
    setValueName(result, builder.getNames().getValueName(name + "/element"));
    builder.setInsertionPointAfter(branches);
    Value joined =
        builder.create("SequenceInsert", {sequence, result}, {}, type);
    result.replaceAllUsesExcept(joined, joined.getDefiningOp());
    setValueName(cast<OpResult>(joined), name);
  }
}

void StackSequences::runOnOperation() {
  GraphOp graph = getMainGraph(getOperation());
  if (!graph || getOpset(getOperation(), "").value_or(1) < 13)
    return;
  SmallVector<Operation *> branches, loops;
  graph.walk([&](Operation *op) {
    bool hasSequence = llvm::any_of(op->getResultTypes(), [](Type type) {
      return isa<SequenceType>(type);
    });
    if (hasSequence && isNode(op) && isStandardOp(op, "If"))
      branches.push_back(op);
    else if (hasSequence && isNode(op) && isStandardOp(op, "Loop"))
      loops.push_back(op);
  });
  if (loops.empty())
    return;
  SequenceStacker stacker(getOperation());
  for (Operation *op : branches)
    stacker.joinInserts(op);
  for (Operation *op : loops)
    stacker.visit(op);
}
