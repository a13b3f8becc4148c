//===- FunctionComposites.cpp - Functions made of exp and log -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An exponential leaves the range of fp16 long before the function that
// contains it does: the nodes between it and the op that bounds it again are
// one composite. A logarithm of a softmax is a LogSoftmax, including its
// cancellation.
//
//===----------------------------------------------------------------------===//

#include "CompositeContext.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// Users beyond this number are not looked at.
static constexpr unsigned maxUsersOfOp = 8;

static SmallVector<Operation *> getUsers(Operation *op) {
  SmallVector<Operation *> users;
  for (Operation *user : op->getResult(0).getUsers()) {
    if (users.size() == maxUsersOfOp)
      break;
    if (!llvm::is_contained(users, user))
      users.push_back(user);
  }
  return users;
}

/// The Exp that makes `value`, perhaps before copies; null if there is none.
static Operation *getExp(CompositeContext &context, Value value) {
  for (unsigned step = 0; step < 3; ++step) {
    Operation *op = value.getDefiningOp();
    if (context.getMath(op) == OperatorMath::Exp)
      return op;
    if (!context.isCopy(op))
      break;
    value = op->getOperand(0);
  }
  return nullptr;
}

/// 1 / (1 + exp(x)) and log(1 + exp(x)); `sum` adds a constant to `exp`.
static void findSigmoid(CompositeContext &context, Operation *sum,
                        Operation *exp) {
  for (Operation *user : getUsers(sum)) {
    OperatorMath math = context.getMath(user);
    bool divides =
        math == OperatorMath::Div && user->getOperand(1) == sum->getResult(0);
    if (math == OperatorMath::Log)
      return context.add("Softplus", {exp, sum, user});
    if (divides || math == OperatorMath::Reciprocal)
      return context.add("Sigmoid", {exp, sum, user});
  }
}

/// exp(x) + exp(-x), exp(x) - exp(-x), and a quotient of these, which is
/// infinity over infinity if they overflow.
static void findHyperbolic(CompositeContext &context, Operation *sum,
                           Operation *a, Operation *b) {
  std::vector<Operation *> nodes = {a, b, sum};
  for (Operation *user : getUsers(sum)) {
    if (context.getMath(user) != OperatorMath::Div)
      continue;
    nodes.push_back(user);
    for (Value operand : user->getOperands())
      if (Operation *other = operand.getDefiningOp();
          context.getMath(other) == OperatorMath::Add ||
          context.getMath(other) == OperatorMath::Sub)
        nodes.push_back(other);
  }
  context.add("Sinh", std::move(nodes));
}

static void findLogOfSoftmax(CompositeContext &context, Operation *log) {
  std::vector<Operation *> nodes = {log};
  Value value = log->getOperand(0);
  // Copies, bounds or an epsilon may lie between them.
  for (unsigned step = 0; step < 4; ++step) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return;
    nodes.push_back(op);
    if (context.getMath(op) == OperatorMath::Softmax)
      return context.add("LogSoftmax", std::move(nodes));
    OperatorMath math = context.getMath(op);
    Value main = context.levels.getMainOperand(op);
    if (!main || (!context.isPlain(op) && math != OperatorMath::Add &&
                  math != OperatorMath::Sub))
      return;
    value = main;
  }
}

void findFunctionComposites(CompositeContext &context) {
  for (Operation *node : context.levels.getNodes()) {
    OperatorMath math = context.getMath(node);
    if (math == OperatorMath::Log && node->getNumOperands() == 1)
      findLogOfSoftmax(context, node);
    if ((math != OperatorMath::Add && math != OperatorMath::Sub) ||
        node->getNumOperands() != 2)
      continue;
    Value left = node->getOperand(0), right = node->getOperand(1);
    Operation *a = getExp(context, left), *b = getExp(context, right);
    if (a && b)
      findHyperbolic(context, node, a, b);
    else if (a && context.isDerivedFromConstants(right))
      findSigmoid(context, node, a);
    else if (b && context.isDerivedFromConstants(left))
      findSigmoid(context, node, b);
  }
}

} // namespace mp
