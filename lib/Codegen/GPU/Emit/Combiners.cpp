//===- Combiners.cpp - Partial results of reductions
//---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Combiners.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace mp {

SmallVector<Operation *> findCombiners(linalg::GenericOp op) {
  Block &block = op.getRegion().front();
  SmallVector<BlockArgument> outputs(op.getRegionOutputArgs());
  SmallVector<Operation *> combiners;
  for (unsigned index = 0; index < outputs.size(); ++index) {
    SmallVector<Operation *> chain;
    bool isFound = bool(matchReduction(outputs, index, chain));
    if (!isFound || chain.size() != 1 || chain[0]->getBlock() != &block ||
        chain[0]->getNumOperands() != 2 || !arith::getNeutralElement(chain[0]))
      return {};
    combiners.push_back(chain[0]);
  }
  return combiners;
}

Value combine(OpBuilder &b, Operation *op, Value x, Value y) {
  IRMapping mapping;
  mapping.map(op->getOperand(0), x);
  mapping.map(op->getOperand(1), y);
  Value result = b.clone(*op, mapping)->getResult(0);
  result.setType(x.getType());
  return result;
}

Value combineVector(OpBuilder &b, Operation *op, Value vector) {
  auto type = dyn_cast<VectorType>(vector.getType());
  if (!type)
    return vector;
  SmallVector<Value> values;
  for (int64_t lane = 0; lane < type.getNumElements(); ++lane)
    values.push_back(vector::ExtractOp::create(b, op->getLoc(), vector, lane));
  for (; values.size() > 1; values.resize(values.size() / 2))
    for (size_t pair = 0; pair < values.size() / 2; ++pair)
      values[pair] = combine(b, op, values[2 * pair], values[2 * pair + 1]);
  return values.front();
}

} // namespace mp
