//===- FoldConstants.cpp - Control flow that sizes decide -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk in order: what a branch or a shape has told is known to the nodes
// behind it. Only conditions, counts and shapes are asked for; arithmetic that
// nothing of this kind depends on stays as it is.
//
//===----------------------------------------------------------------------===//

#include "Graph/Passes.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Folding/KnownTensors.h"
#include "mp-opt/Graph/SubgraphInliner.h"

#include "llvm/ADT/SetVector.h"

namespace mp {
#define GEN_PASS_DEF_FOLDCONSTANTS
#include "Graph/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct FoldConstants : public mp::impl::FoldConstantsBase<FoldConstants> {
  using FoldConstantsBase::FoldConstantsBase;

  void runOnOperation() override;
};

/// Walks a graph.
class Folder {
public:
  Folder(ModuleOp module, int64_t unrollLimit)
      : builder(module), inliner(builder, module), unrollLimit(unrollLimit) {}

  void visit(GraphOp graph);
  /// Erases what computed conditions and shapes that are gone. Nothing may be
  /// visited afterwards.
  void eraseDead();

private:
  void visit(Block &block);
  Operation *visit(Operation *op);
  void inferTypes(Operation *node);
  void inferFromShape(Operation *node);
  void useKnownOperands(Operation *node);
  void inferFromOperands(Operation *node);
  Region *chooseBranch(Operation *node);
  std::optional<int64_t> countIterations(Operation *loop);
  void unroll(Operation *loop, int64_t iterations);
  void erase(Operation *node);

  NodeBuilder builder;
  SubgraphInliner inliner;
  KnownTensors known;
  int64_t unrollLimit;
  /// Values of which more is known than the model says.
  llvm::DenseSet<Value> sharpened;
  /// What may have lost its uses, and constants that may have none.
  llvm::SetVector<Operation *> candidates, made;
};

} // namespace

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// `type` with the sizes that `better` knows beside it.
static Type addSizes(Type type, Type better) {
  auto open = dyn_cast<RankedTensorType>(type);
  auto known = dyn_cast<RankedTensorType>(better);
  if (!open || !known || open.getRank() != known.getRank() ||
      open.getElementType() != known.getElementType())
    return NodeTypes::refine(type, better);
  SmallVector<int64_t> shape(open.getShape());
  for (auto [size, other] : llvm::zip(shape, known.getShape()))
    size = ShapedType::isDynamic(size) ? other : size;
  return open.clone(shape);
}

/// Puts constants in place of operands that are known.
void Folder::useKnownOperands(Operation *node) {
  builder.setInsertionPoint(node);
  builder.setBase(getNodeName(node));
  for (OpOperand &operand : node->getOpOperands()) {
    Operation *definer = operand.get().getDefiningOp();
    const KnownTensor *tensor = known.lookup(operand.get());
    if (!tensor || !tensor->isComplete() || !definer ||
        !definer->getNumOperands())
      continue;
    Value constant = builder.constant(
        tensor->toAttr(getTensorElementType(operand.get().getType())));
    made.insert(constant.getDefiningOp());
    candidates.insert(definer);
    operand.set(constant);
  }
}

/// Inference reads operands that are constants: for a while it gets such in
/// place of those that are known. They stay where the rank depends on them.
void Folder::inferFromOperands(Operation *node) {
  SmallVector<Value> before(node->getOperands());
  SmallVector<Type> types(node->getResultTypes());
  useKnownOperands(node);
  bool isSharper = llvm::any_of(
      before, [&](Value value) { return sharpened.contains(value); });
  if (!isSharper && SmallVector<Value>(node->getOperands()) == before)
    return;
  for (Value result : node->getResults())
    result.setType(withoutShape(result.getType()));
  builder.getTypes().inferResults(node, {});
  for (auto [result, type] : llvm::zip(node->getResults(), types))
    result.setType(addSizes(type, result.getType()));
  if (llvm::none_of(types, isVague) ||
      llvm::any_of(node->getResultTypes(), isVague))
    node->setOperands(before);
}

/// The sizes of a Reshape's or ConstantOfShape's result, as far as they are
/// known: their number at least.
void Folder::inferFromShape(Operation *node) {
  bool isReshape = isStandardOp(node, "Reshape");
  if (!isReshape && !isStandardOp(node, "ConstantOfShape"))
    return;
  Value result = node->getResult(0);
  Type element = getTensorElementType(isReshape ? node->getOperand(0).getType()
                                                : result.getType());
  const KnownTensor *sizes = hasOperand(node, isReshape)
                                 ? known.lookup(node->getOperand(isReshape))
                                 : nullptr;
  if (!sizes || sizes->shape.size() != 1 || !element)
    return;
  SmallVector<int64_t> shape;
  for (const KnownTensor::Element &size : sizes->elements)
    shape.push_back(size && *size > 0 ? *size : ShapedType::kDynamic);
  result.setType(
      addSizes(result.getType(), RankedTensorType::get(shape, element)));
}

void Folder::inferTypes(Operation *node) {
  SmallVector<Type> types(node->getResultTypes());
  builder.getTypes().inferResults(node, {});
  bool isOpen = llvm::any_of(node->getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || !tensor.hasStaticShape();
  });
  if (isOpen && !node->getNumRegions())
    inferFromOperands(node);
  if (isOpen && node->getNumResults() == 1)
    inferFromShape(node);
  for (auto [result, type] : llvm::zip(node->getResults(), types))
    if (result.getType() != type)
      sharpened.insert(result);
}

//===----------------------------------------------------------------------===//
// If and Loop
//===----------------------------------------------------------------------===//

/// The branch that the condition takes; null if that is not known.
Region *Folder::chooseBranch(Operation *node) {
  if (!isStandardOp(node, "If") || !hasOperand(node, 0))
    return nullptr;
  const KnownTensor *condition = known.lookup(node->getOperand(0));
  auto single = condition ? condition->getSingle() : std::nullopt;
  auto names = node->getAttrOfType<ArrayAttr>(attr::regions);
  if (!single || !names)
    return nullptr;
  auto wanted = StringAttr::get(node->getContext(),
                                *single ? "then_branch" : "else_branch");
  for (auto [name, region] : llvm::zip(names, node->getRegions()))
    if (name == wanted)
      if (YieldOp yield = getYield(region);
          yield && yield.getNumOperands() == node->getNumResults() &&
          !region.getNumArguments())
        return &region;
  return nullptr;
}

/// True for a Loop whose parts fit each other, and whose body does the same in
/// each copy.
static bool canUnroll(Operation *loop) {
  if (!isStandardOp(loop, "Loop") || loop->getNumRegions() != 1 ||
      loop->getNumOperands() < 2)
    return false;
  Region &body = loop->getRegion(0);
  YieldOp yield = getYield(body);
  if (!yield || body.getNumArguments() != loop->getNumOperands() ||
      yield.getNumOperands() != loop->getNumResults() + 1 ||
      loop->getNumResults() + 2 < loop->getNumOperands())
    return false;
  for (BlockArgument argument : body.getArguments().take_front(2))
    if (auto type = dyn_cast<RankedTensorType>(argument.getType());
        type && type.getRank() != 0)
      return false;
  return !body.walk([](Operation *op) {
                const OpSchema *schema = isNode(op) ? getSchema(op) : nullptr;
                return schema && !schema->deterministic
                           ? WalkResult::interrupt()
                           : WalkResult::advance();
              })
              .wasInterrupted();
}

/// How often the body runs, if that is known and worth unrolling. What
/// decides is computed as the iterations would.
std::optional<int64_t> Folder::countIterations(Operation *loop) {
  if (!canUnroll(loop))
    return std::nullopt;
  Block &body = loop->getRegion(0).front();
  auto read = [&](unsigned index, int64_t absent) -> std::optional<int64_t> {
    if (!hasOperand(loop, index))
      return absent;
    const KnownTensor *tensor = known.lookup(loop->getOperand(index));
    return tensor ? tensor->getSingle() : std::nullopt;
  };
  auto most = read(0, std::numeric_limits<int64_t>::max());
  auto goesOn = read(1, 1);
  int64_t nodes = 0;
  body.walk([&](Operation *op) { nodes += isNode(op); });
  SmallVector<std::optional<KnownTensor>> states;
  for (Value value : loop->getOperands().drop_front(2)) {
    const KnownTensor *tensor = known.lookup(value);
    states.push_back(tensor ? std::optional(*tensor) : std::nullopt);
  }
  Operation *yield = body.getTerminator();
  for (int64_t count = 0;; ++count) {
    // A count of no iterations, or the last one, needs no condition.
    if ((most && count >= *most) || (goesOn && !*goesOn)) {
      bool hasScanned = loop->getNumResults() > states.size();
      return count || !hasScanned ? std::optional(count) : std::nullopt;
    }
    if (!most || !goesOn || (count > 0 && (count + 1) * nodes > unrollLimit))
      return std::nullopt;
    KnownTensors inside(&known);
    inside.set(body.getArgument(0), {{}, {count}});
    inside.set(body.getArgument(1), {{}, {int64_t(1)}});
    for (auto [place, state] : llvm::enumerate(states))
      if (state)
        inside.set(body.getArgument(place + 2), *state);
    for (Operation &op : body.without_terminator())
      inside.visit(&op);
    auto take = [&](unsigned place) -> std::optional<KnownTensor> {
      const KnownTensor *tensor = inside.lookup(yield->getOperand(place));
      return tensor ? std::optional(*tensor) : std::nullopt;
    };
    auto condition = take(0);
    goesOn = condition ? condition->getSingle() : std::nullopt;
    for (auto [place, state] : llvm::enumerate(states))
      state = take(place + 1);
  }
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

void Folder::erase(Operation *node) {
  for (Value operand : node->getOperands())
    if (Operation *definer = operand.getDefiningOp())
      candidates.insert(definer);
  candidates.remove(node);
  node->walk([&](Operation *op) {
    builder.getTypes().forget(op);
    known.forget(op);
    for (Value result : op->getResults())
      sharpened.erase(result);
    candidates.remove(op);
  });
  node->erase();
}

void Folder::eraseDead() {
  while (!candidates.empty()) {
    Operation *op = candidates.pop_back_val();
    // Constants may be among those that the builder gives again.
    if (isNode(op) && op->use_empty() && op->getNumOperands() &&
        !op->getNumRegions())
      erase(op);
  }
  for (Operation *constant : made)
    if (constant->use_empty())
      constant->erase();
}

/// Counters and conditions of the copies may have no use any more.
void Folder::unroll(Operation *loop, int64_t iterations) {
  Operation *before = loop->getPrevNode();
  inliner.unrollLoop(loop, iterations);
  for (Operation *op = loop->getPrevNode(); op && op != before;
       op = op->getPrevNode())
    candidates.insert(op);
}

/// Returns the operation to go on with.
Operation *Folder::visit(Operation *op) {
  if (!isNode(op)) {
    known.visit(op);
    return op->getNextNode();
  }
  inferTypes(op);
  Operation *before = op->getPrevNode();
  Block *block = op->getBlock();
  bool isReplaced = true;
  if (Region *branch = chooseBranch(op))
    inliner.inlineBranch(op, *branch);
  else if (auto iterations = countIterations(op))
    unroll(op, *iterations);
  else
    isReplaced = false;
  if (isReplaced) {
    erase(op);
    return before ? before->getNextNode() : &block->front();
  }
  if (op->getNumRegions()) {
    builder.getTypes().inferSubgraphInputs(op);
    for (Region &region : op->getRegions())
      if (!region.empty())
        visit(region.front());
    builder.getTypes().inferResults(op, {});
  }
  known.visit(op);
  return op->getNextNode();
}

void Folder::visit(Block &block) {
  for (Operation *op = &block.front(); op;)
    op = visit(op);
}

void Folder::visit(GraphOp graph) {
  // More may be known of these than when their users' types were inferred.
  for (Value input : graph.getBody().getArguments())
    sharpened.insert(input);
  visit(graph.getBody().front());
}

void FoldConstants::runOnOperation() {
  GraphOp graph = getMainGraph(getOperation());
  if (!graph)
    return;
  Folder folder(getOperation(), unroll);
  folder.visit(graph);
  folder.eraseDead();
}
