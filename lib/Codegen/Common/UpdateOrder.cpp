//===- UpdateOrder.cpp - When states are written --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A training step has its updates after all gradients. Done there, each keeps
// its operands until the end: the gradient, or activations if the update is the
// epilogue of the product that makes the gradient. Without loss scaling or
// clipping an update does not depend on later gradients, and can be done once
// the backward pass has read the parameter for the last time.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/UpdateOrder.h"

#include "mp-opt/Codegen/Common/ContractionFusion.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace mp {

namespace {

class UpdateOrder {
public:
  explicit UpdateOrder(func::FuncOp function);

  void run(bool contractionsOnly);

private:
  void findUpdates();
  bool isLate(Operation *op) const;
  Operation *findLatest(Operation *op);
  void findReaders(Value value, Operation *except, Operation *&latest) const;

  Block &block;
  /// Maps the operands of the return that are next states to the states.
  llvm::DenseMap<OpOperand *, Value> states;
  /// Ops that only these operands and other such ops read.
  llvm::SetVector<Operation *> updates;
  /// Updates that stay where they are.
  llvm::DenseSet<Operation *> late;
};

} // namespace

UpdateOrder::UpdateOrder(func::FuncOp function)
    : block(function.getBody().front()) {
  for (auto [state, next] : findNextStates(function))
    if (state.getParentBlock() == &block)
      states[next] = state;
}

void UpdateOrder::findUpdates() {
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (!op.use_empty() && isMemoryEffectFree(&op) &&
        llvm::all_of(op.getUses(), [&](OpOperand &use) {
          return states.contains(&use) || updates.contains(use.getOwner());
        }))
      updates.insert(&op);
}

/// True for constants and new memory, which can be anywhere.
static bool isFree(Operation &op) {
  return op.getNumOperands() == 0 && op.getNumRegions() == 0 &&
         isMemoryEffectFree(&op);
}

static void takeLater(Operation *&latest, Operation *op) {
  if (op && (!latest || latest->isBeforeInBlock(op)))
    latest = op;
}

/// The last op but `except` that reads `value`, or another shape of it.
void UpdateOrder::findReaders(Value value, Operation *except,
                              Operation *&latest) const {
  for (Operation *user : value.getUsers()) {
    Operation *reader = block.findAncestorOpInBlock(*user);
    if (reader == except || reader == block.getTerminator())
      continue;
    takeLater(latest, reader);
    if (isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
            tensor::ReshapeOp, tensor::ExtractSliceOp>(user))
      findReaders(user->getResult(0), except, latest);
  }
}

/// True if it depends on reductions over ranks: the earlier it came, the longer
/// it would wait.
bool UpdateOrder::isLate(Operation *op) const {
  return op
      ->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (Operation *source = operand.getDefiningOp())
            if (isa<runtime::AllReduceOp>(source) || late.contains(source))
              return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// The op after which `op` can be; null if that is the block's begin.
Operation *UpdateOrder::findLatest(Operation *op) {
  Operation *latest = nullptr;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (!source || source->getBlock() != &block)
        continue;
      if (isFree(*source))
        source->moveBefore(&block, block.begin());
      else
        takeLater(latest, source);
    }
  });
  for (OpOperand &use : op->getUses())
    if (Value state = states.lookup(&use))
      findReaders(state, op, latest);
  return latest;
}

void UpdateOrder::run(bool contractionsOnly) {
  findUpdates();
  // Keep the order of the block: sources of updates come first.
  for (Operation *op : llvm::reverse(updates)) {
    if (isLate(op)) {
      late.insert(op);
      continue;
    }
    bool isProduct = isa<kernel::ContractOp>(op) &&
                     llvm::any_of(op->getUses(), [&](OpOperand &use) {
                       return states.contains(&use);
                     });
    if (contractionsOnly && !isProduct)
      continue;
    Operation *latest = findLatest(op);
    Operation *next =
        latest ? latest->getNextNode() : &*llvm::find_if_not(block, isFree);
    if (next != op)
      op->moveBefore(next);
  }
}

void advanceUpdates(func::FuncOp function, bool contractionsOnly) {
  if (!function.isExternal())
    UpdateOrder(function).run(contractionsOnly);
}

} // namespace mp
