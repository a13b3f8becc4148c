//===- SharedTensors.cpp - Tensors that may be one buffer -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/SharedTensors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace mp {

SharedTensors::SharedTensors(func::FuncOp function) {
  function.walk([&](Operation *op) { visit(op); });
  for (Value value : handedOn)
    groups.insert(classes.getLeaderValue(value.getAsOpaquePointer()));
}

void SharedTensors::join(ValueRange left, ValueRange right) {
  for (auto [a, b] : llvm::zip_equal(left, right))
    if (isa<RankedTensorType>(a.getType())) {
      classes.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
      handedOn.push_back(a);
    }
}

void SharedTensors::visit(Operation *op) {
  if (isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
          tensor::ExtractSliceOp, tensor::ReshapeOp>(op)) {
    classes.unionSets(op->getOperand(0).getAsOpaquePointer(),
                      op->getResult(0).getAsOpaquePointer());
  } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
    join(select.getResult(), select.getTrueValue());
    join(select.getResult(), select.getFalseValue());
  } else if (auto branches = dyn_cast<scf::IfOp>(op)) {
    if (branches->getNumResults() == 0)
      return;
    join(branches.getResults(), branches.thenYield().getOperands());
    join(branches.getResults(), branches.elseYield().getOperands());
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    join(loop.getResults(), loop.getInitArgs());
    join(loop.getResults(), loop.getRegionIterArgs());
    join(loop.getResults(), loop.getYieldedValues());
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    join(loop.getBeforeArguments(), loop.getInits());
    join(loop.getBeforeArguments(), loop.getYieldedValues());
    join(loop.getResults(), loop.getConditionOp().getArgs());
    join(loop.getResults(), loop.getAfterArguments());
  }
}

const void *SharedTensors::getGroup(Value tensor) const {
  auto leader = classes.findLeader(tensor.getAsOpaquePointer());
  if (leader == classes.member_end() || !groups.contains(*leader))
    return nullptr;
  return *leader;
}

} // namespace mp
