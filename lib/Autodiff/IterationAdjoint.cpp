//===- IterationAdjoint.cpp - Gradients of Scan and Loop ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IterationAdjoint.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// The forward node
//===----------------------------------------------------------------------===//

void IterationAdjoint::inferBody() {
  // States have the same shape in all iterations.
  for (unsigned state = 0; state < layout.states; ++state) {
    BlockArgument input = getInput(state);
    input.setType(
        NodeTypes::refine(input.getType(), getInitial(state).getType()));
  }
  for (Operation &inner : getBody().getOps())
    if (isNode(&inner))
      b.getTypes().inferNested(&inner);
  for (unsigned state = 0; state < layout.states; ++state) {
    OpResult result = node->getResult(state);
    result.setType(
        NodeTypes::refine(result.getType(), getInitial(state).getType()));
  }
}

LogicalResult IterationAdjoint::findActive(ArrayRef<Value> inputs) {
  WantedCaptures wanted(op);
  captured = wanted.tensors;
  containers = wanted.containers;
  SmallVector<Value> from(inputs);
  llvm::append_range(from, captured);
  llvm::append_range(from, containers);
  llvm::SmallBitVector isActive(layout.states);
  auto add = [&](unsigned state) {
    isActive.set(state);
    from.push_back(getInput(state));
  };
  for (unsigned state = 0; state < layout.states; ++state)
    if (op.wants(layout.firstOperand + state))
      add(state);
  for (size_t known = ~size_t(0); known != from.size();) {
    known = from.size();
    auto dependents = findDependents(getBody().front(), from);
    for (unsigned state = 0; state < layout.states; ++state)
      if (!isActive[state] &&
          dependents.contains(getYield().getOperand(layout.firstYield + state)))
        add(state);
  }
  active.assign(isActive.set_bits_begin(), isActive.set_bits_end());
  for (unsigned state : active)
    if (!isDifferentiable(getInput(state)))
      return op.fail("gradients flow through state #" + Twine(state) +
                     ", which is not a tensor of floats");
  return success();
}

/// True if both shapes are known and some size differs.
static bool areDifferent(Type lhs, Type rhs) {
  auto left = dyn_cast<RankedTensorType>(lhs);
  auto right = dyn_cast<RankedTensorType>(rhs);
  return left && right &&
         failed(verifyCompatibleShape(left.getShape(), right.getShape()));
}

LogicalResult IterationAdjoint::checkStates() {
  for (unsigned state = 0; state < layout.states; ++state) {
    Type type = getInput(state).getType();
    Type next = getYield().getOperand(layout.firstYield + state).getType();
    if (areDifferent(type, next) ||
        areDifferent(getInitial(state).getType(), next))
      return op.fail("state #" + Twine(state) +
                     " changes its shape from one iteration to the next");
  }
  return success();
}

Value IterationAdjoint::save(Value value) {
  Type type = UnknownType::get(b.getContext());
  Type element = getTensorElementType(value.getType());
  if (auto ranked = dyn_cast<RankedTensorType>(value.getType())) {
    SmallVector<int64_t> sizes{ShapedType::kDynamic};
    llvm::append_range(sizes, ranked.getShape());
    type = RankedTensorType::get(sizes, element);
  } else if (element) {
    type = UnrankedTensorType::get(element);
  }
  OpBuilder before(node);
  Value placeholder =
      OuterOp::create(before, node->getLoc(), type,
                      b.getNames().getValueName(b.getBase() + "/saved"));
  saved.push_back({value, placeholder});
  return placeholder;
}

void IterationAdjoint::extendForward() {
  SmallVector<Saved> used;
  for (Saved &entry : saved)
    if (!entry.placeholder.use_empty())
      used.push_back(entry);
  if (!used.empty()) {
    SmallVector<Type> types;
    for (Saved &entry : used)
      types.push_back(entry.placeholder.getType());
    unsigned first = node->getNumResults();
    Operation *made = op.extendNode(types);
    OpBuilder::InsertionGuard guard(b.getBuilder());
    b.setInsertionPointToEnd(&getBody().front());
    for (auto [index, entry] : llvm::enumerate(used)) {
      Value copy =
          b.create("Identity", {entry.value}, {}, entry.value.getType());
      GraphEditor(getBody()).addOutput(copy);
      entry.placeholder.replaceAllUsesWith(made->getResult(first + index));
    }
    node = made;
  }
  for (Saved &entry : saved) {
    b.getTypes().forget(entry.placeholder.getDefiningOp());
    entry.placeholder.getDefiningOp()->erase();
  }
  saved.clear();
}

//===----------------------------------------------------------------------===//
// Carried values of the backward node
//===----------------------------------------------------------------------===//

void IterationAdjoint::addCarried(SmallVectorImpl<Value> &operands,
                                  SmallVectorImpl<Type> &types) {
  for (unsigned state : active) {
    operands.push_back(op.gradOrZeros(state));
    types.push_back(getInitial(state).getType());
  }
  for (Value value : captured) {
    operands.push_back(b.zerosLike(value));
    types.push_back(value.getType());
  }
}

void IterationAdjoint::addCarriedInputs(BodyAdjoint &body) {
  for (unsigned state : active) {
    carried.push_back(body.addInput("grad", getInput(state).getType()));
    body.addSeed(layout.firstYield + state, carried.back());
    body.want(getInput(state));
  }
  for (Value value : captured) {
    carried.push_back(body.addInput("sum", value.getType()));
    body.want(value);
  }
  for (Value value : containers)
    body.want(value);
}

void IterationAdjoint::addCarriedOutputs(BodyAdjoint &body) {
  ArrayRef<BlockArgument> inputs = carried;
  for (unsigned state : active) {
    Value gradient = body.getGradient(getInput(state));
    body.addOutput(gradient ? gradient : b.zerosLike(inputs.front()));
    inputs = inputs.drop_front();
  }
  for (Value value : captured) {
    Value gradient = body.getGradient(value);
    body.addOutput(gradient ? b.add(inputs.front(), gradient)
                            : Value(inputs.front()));
    inputs = inputs.drop_front();
  }
}

void IterationAdjoint::setCarried(Operation *made) {
  ResultRange results = made->getResults();
  for (unsigned state : active) {
    op.set(layout.firstOperand + state, results.front());
    results = results.drop_front();
  }
  for (Value value : captured) {
    op.set(value, results.front());
    results = results.drop_front();
  }
}

} // namespace mp
