//===- FoldConstants.cpp - Control flow that sizes decide -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A single walk in order: nodes after a folded branch or shape make use of the
// result. Only conditions, counts and shapes are folded; arithmetic that none
// of these depends on stays as it is.
//
//===----------------------------------------------------------------------===//

#include "Graph/Passes.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Folding/ControlFlow.h"
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
  explicit Folder(ModuleOp module)
      : builder(module), inliner(builder, module) {}

  void visit(GraphOp graph);
  /// Erases computations of conditions and shapes that are gone. Nothing may be
  /// visited afterwards.
  void eraseDead();

private:
  void visit(Block &block);
  Operation *visit(Operation *op);
  void inferTypes(Operation *node);
  void inferFromShape(Operation *node);
  void useKnownOperands(Operation *node);
  void inferFromOperands(Operation *node);
  void unroll(Operation *loop, int64_t iterations);
  void erase(Operation *node);

  NodeBuilder builder;
  SubgraphInliner inliner;
  KnownTensors known;
  /// Values whose types are known better than the model states.
  llvm::DenseSet<Value> sharpened;
  /// Ops that may have lost their uses, and constants that may have none.
  llvm::SetVector<Operation *> candidates, made;
  /// Nodes of copies of the body of a Loop.
  llvm::DenseSet<Operation *> copies;
};

} // namespace

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// `type` with the additional sizes that `better` has.
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

/// Replaces known operands by constants.
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
    known.set(constant, KnownTensor(*tensor));
    sharpened.insert(constant);
    made.insert(constant.getDefiningOp());
    candidates.insert(definer);
    operand.set(constant);
  }
}

/// Inference reads constant operands: known operands are replaced by constants
/// for a while. They stay if the rank depends on them.
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

/// Computes the one size that a Reshape leaves open, from the number of
/// elements.
static void completeShape(Type operand, const KnownTensor &sizes,
                          SmallVectorImpl<int64_t> &shape) {
  auto type = dyn_cast<RankedTensorType>(operand);
  int64_t *open = llvm::find(shape, ShapedType::kDynamic);
  if (!type || !type.hasStaticShape() || !sizes.isComplete() ||
      open == shape.end() || llvm::count(shape, ShapedType::kDynamic) != 1 ||
      sizes.elements[open - shape.begin()] != -1)
    return;
  int64_t others = 1;
  for (int64_t size : shape)
    others *= size == ShapedType::kDynamic ? 1 : size;
  if (type.getNumElements() % others == 0)
    *open = type.getNumElements() / others;
}

/// Infers the known sizes of the result of a Reshape or ConstantOfShape; its
/// rank at least.
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
  if (isReshape)
    completeShape(node->getOperand(0).getType(), *sizes, shape);
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

/// True if the body takes slices and reduces them, like a bag of embeddings.
static bool reducesSlices(Operation *loop) {
  bool hasSlice = false, hasReduction = false;
  loop->walk([&](Operation *op) {
    if (!isNode(op))
      return;
    hasSlice |= isStandardOp(op, "Slice");
    hasReduction |= isStandardOp(op, "ReduceSum") ||
                    isStandardOp(op, "ReduceMean") ||
                    isStandardOp(op, "ReduceMax");
  });
  return hasSlice && hasReduction;
}

/// The maximum number of nodes that a Loop of several iterations may turn into.
/// It is higher in two cases: without float states, iterations do not
/// depend on each other; and a Loop that collects tensors in a sequence has no
/// gradient, but its copies need no sequence.
static int64_t getUnrollLimit(Operation *loop) {
  constexpr int64_t usual = 64, ofSequences = 16 * usual,
                    ofSegments = 64 * usual;
  bool hasState = llvm::any_of(
      loop->getOperands().drop_front(std::min(2u, loop->getNumOperands())),
      [](Value state) {
        return isa_and_nonnull<FloatType>(
            getTensorElementType(state.getType()));
      });
  if (!hasState && reducesSlices(loop))
    return ofSegments;
  bool collects = llvm::any_of(loop->getResultTypes(), [](Type type) {
    return isa<SequenceType>(type);
  });
  return collects ? ofSequences : usual;
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
    copies.erase(op);
  });
  node->erase();
}

void Folder::eraseDead() {
  while (!candidates.empty()) {
    Operation *op = candidates.pop_back_val();
    // Constants are not erased here: the builder may return them again.
    if (isNode(op) && op->use_empty() && op->getNumOperands() &&
        !op->getNumRegions())
      erase(op);
  }
  for (Operation *constant : made)
    if (constant->use_empty())
      constant->erase();
}

/// Counters and conditions of the copies may become unused.
void Folder::unroll(Operation *loop, int64_t iterations) {
  Operation *before = loop->getPrevNode();
  inliner.unrollLoop(loop, iterations);
  for (Operation *op = loop->getPrevNode(); op && op != before;
       op = op->getPrevNode()) {
    candidates.insert(op);
    op->walk([&](Operation *inner) { copies.insert(inner); });
  }
}

/// Returns the operation to continue with.
Operation *Folder::visit(Operation *op) {
  if (!isNode(op)) {
    known.visit(op);
    return op->getNextNode();
  }
  // Integers of a Loop's body are known by their types.
  bool isLoop = isStandardOp(op, "Loop");
  if (isLoop)
    builder.getTypes().inferNested(op);
  // Every copy computes the same numbers again.
  if (copies.contains(op))
    useKnownOperands(op);
  inferTypes(op);
  Operation *before = op->getPrevNode();
  Block *block = op->getBlock();
  bool isReplaced = true;
  if (Region *branch = getTakenBranch(op, known))
    inliner.inlineBranch(op, *branch);
  else if (auto iterations =
               isLoop ? countIterations(op, known, getUnrollLimit(op))
                      : std::nullopt)
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
  Folder folder(getOperation());
  folder.visit(graph);
  folder.eraseDead();
}
