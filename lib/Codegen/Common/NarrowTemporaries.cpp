//===- NarrowTemporaries.cpp - Widening moved to readers ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fusion joins a widening cast with the op that computes its operand: f32 is
// stored where values have 16 bits of precision. This pass moves the cast into
// the loops that read the value: the same numbers in half of the memory, and
// half as much to save for a backward pass.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/NarrowTemporaries.h"

#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace mp {

/// The body that makes an element of the value that `op` yields, if all of it
/// is written.
static Block *findBody(Operation *op) {
  auto destination = dyn_cast<DestinationStyleOpInterface>(op);
  if (!destination || destination.getNumDpsInits() != 1 ||
      !destination.hasPureTensorSemantics() ||
      !destination.getDpsInitOperand(0)->get().getDefiningOp<tensor::EmptyOp>())
    return nullptr;
  if (auto contraction = dyn_cast<kernel::ContractOp>(op))
    return &contraction.getEpilogue().front();
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumParallelLoops() != generic.getNumLoops() ||
      generic.payloadUsesValueFromOperand(generic.getDpsInitOperand(0)))
    return nullptr;
  return generic.getBody();
}

/// The widening of 16 bit to f32 that `op` ends with.
static arith::ExtFOp findWidening(Operation *op) {
  Block *body = findBody(op);
  if (!body)
    return arith::ExtFOp();
  auto widening =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::ExtFOp>();
  bool isWidening = widening && widening->getBlock() == body &&
                    widening.getType().isF32() &&
                    widening.getIn().getType().getIntOrFloatBitWidth() == 16;
  return isWidening ? widening : arith::ExtFOp();
}

static bool isView(Operation *op) {
  return isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp,
             tensor::ExtractSliceOp, tensor::ReshapeOp>(op);
}

/// Finds the uses of `value`, also through views, which are added to `views`;
/// fails if a user cannot widen it.
static LogicalResult findReaders(Value value, SmallVectorImpl<OpOperand *> &out,
                                 SmallVectorImpl<Operation *> &views) {
  SmallVector<Value> worklist{value};
  while (!worklist.empty()) {
    for (OpOperand &use : worklist.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (isView(user) && use.getOperandNumber() == 0) {
        views.push_back(user);
        worklist.push_back(user->getResult(0));
        continue;
      }
      // An element that a loop reads at positions of its own, such as the logit
      // of a label.
      if (isa<tensor::ExtractOp>(user)) {
        out.push_back(&use);
        continue;
      }
      auto reader = dyn_cast<DestinationStyleOpInterface>(user);
      if (!isa<linalg::GenericOp, kernel::ContractOp>(user) ||
          !reader.isDpsInput(&use))
        return failure();
      auto contraction = dyn_cast<kernel::ContractOp>(user);
      if (contraction && use.getOperandNumber() < 2 &&
          contraction.getRounding(use.getOperandNumber()))
        return failure();
      out.push_back(&use);
    }
  }
  return success();
}

/// The element of `use`: in the body of its owner, or the result of an
/// extraction; null for factors, which contractions widen.
static Value findElement(OpOperand &use) {
  if (auto extraction = dyn_cast<tensor::ExtractOp>(use.getOwner()))
    return extraction.getResult();
  if (auto generic = dyn_cast<linalg::GenericOp>(use.getOwner()))
    return generic.getBody()->getArgument(use.getOperandNumber());
  auto contraction = cast<kernel::ContractOp>(use.getOwner());
  // The epilogue has one argument, the sum, for both factors.
  unsigned number = use.getOperandNumber();
  if (number < 2)
    return nullptr;
  return contraction.getEpilogue().getArgument(number - 1);
}

static Type narrow(Type type, Type element) {
  return cast<RankedTensorType>(type).clone(element);
}

/// Makes `op` store the value that it widens now.
static void storeNarrow(OpBuilder &b, Operation *op, arith::ExtFOp widening) {
  Type element = widening.getIn().getType();
  Block *body = widening->getBlock();
  OpOperand *init = cast<DestinationStyleOpInterface>(op).getDpsInitOperand(0);
  b.setInsertionPoint(op);
  auto empty = init->get().getDefiningOp<tensor::EmptyOp>();
  init->set(
      tensor::EmptyOp::create(b, op->getLoc(), empty.getMixedSizes(), element));
  op->getResult(0).setType(cast<RankedTensorType>(init->get().getType()));
  if (isa<linalg::GenericOp>(op))
    body->getArguments().back().setType(element);
  body->getTerminator()->setOperand(0, widening.getIn());
  if (widening->use_empty())
    widening.erase();
}

static void widenElement(OpBuilder &b, OpOperand &use, Type element) {
  Value read = findElement(use);
  if (!read)
    return;
  Type wide = read.getType();
  read.setType(element);
  b.setInsertionPointAfterValue(read);
  auto widened = arith::ExtFOp::create(b, use.getOwner()->getLoc(), wide, read);
  read.replaceAllUsesExcept(widened, widened);
}

/// Removes an op that only copies.
static void foldCopy(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic)
    return;
  auto argument = dyn_cast<BlockArgument>(
      generic.getBody()->getTerminator()->getOperand(0));
  if (!argument || argument.getOwner() != generic.getBody())
    return;
  OpOperand &source = op->getOpOperand(argument.getArgNumber());
  OpOperand *init = generic.getDpsInitOperand(0);
  if (source.get().getType() != op->getResult(0).getType() ||
      generic.getMatchingIndexingMap(&source) !=
          generic.getMatchingIndexingMap(init))
    return;
  op->getResult(0).replaceAllUsesWith(source.get());
  op->erase();
}

void narrowTemporaries(Operation *root) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (findWidening(op))
      ops.push_back(op);
  });
  OpBuilder b(root->getContext());
  for (Operation *op : ops) {
    arith::ExtFOp widening = findWidening(op);
    SmallVector<OpOperand *> readers;
    SmallVector<Operation *> views;
    if (!widening || op->use_empty() ||
        failed(findReaders(op->getResult(0), readers, views)))
      continue;
    Type element = widening.getIn().getType();
    storeNarrow(b, op, widening);
    for (Operation *view : views) {
      Value result = view->getResult(0);
      result.setType(cast<RankedTensorType>(narrow(result.getType(), element)));
    }
    for (OpOperand *use : readers)
      widenElement(b, *use, element);
    foldCopy(op);
  }
}

} // namespace mp
