//===- LoopStructure.cpp - Dimensions of structured ops -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/LoopStructure.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace mp {

void LoopStructure::read() {
  for (utils::IteratorType type : op.getIteratorTypesArray())
    dims.push_back({OpFoldResult(), type == utils::IteratorType::reduction});
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    operands.push_back(
        {operand.get(), SmallVector<AffineExpr>(map.getResults())});
    // Operands that are not memrefs are single values.
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim)
        continue;
      OpFoldResult &extent = dims[dim.getPosition()].extent;
      if (!type.isDynamicDim(axis))
        extent = b.getIndexAttr(type.getDimSize(axis));
      else if (!extent)
        extent = memref::DimOp::create(b, loc, operand.get(), axis).getResult();
    }
  }
  usesIndex = op.hasIndexSemantics();
}

/// True if the memory of axes `axis` and `axis + 1` can be seen as one axis.
static bool isContiguous(MemRefType type, unsigned axis) {
  if (type.getLayout().isIdentity())
    return true;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  return memref::CollapseShapeOp::isGuaranteedCollapsible(
      type, ReassociationIndices{int64_t(axis), int64_t(axis + 1)});
}

/// True if `dim` and the next one can be one.
bool LoopStructure::canMerge(unsigned dim) {
  if (dims[dim].isReduction != dims[dim + 1].isReduction)
    return false;
  MLIRContext *context = op.getContext();
  AffineExpr first = getAffineDimExpr(dim, context);
  AffineExpr second = getAffineDimExpr(dim + 1, context);
  for (const LoopOperand &operand : operands) {
    auto type = dyn_cast<MemRefType>(operand.memref.getType());
    auto found = llvm::find(operand.exprs, first);
    auto next = llvm::find(operand.exprs, second);
    bool isAbsent = llvm::none_of(operand.exprs, [&](AffineExpr expr) {
      return expr.isFunctionOfDim(dim) || expr.isFunctionOfDim(dim + 1);
    });
    if (isAbsent)
      continue;
    if (found == operand.exprs.end() || next == operand.exprs.end() ||
        next != found + 1)
      return false;
    if (llvm::count_if(operand.exprs, [&](AffineExpr expr) {
          return expr.isFunctionOfDim(dim) || expr.isFunctionOfDim(dim + 1);
        }) != 2)
      return false;
    if (!isContiguous(type, found - operand.exprs.begin()))
      return false;
  }
  return true;
}

void LoopStructure::merge(unsigned dim) {
  MLIRContext *context = op.getContext();
  SmallVector<AffineExpr> renamed;
  for (unsigned old = 0; old < dims.size(); ++old)
    renamed.push_back(getAffineDimExpr(old > dim ? old - 1 : old, context));
  for (LoopOperand &operand : operands) {
    AffineExpr first = getAffineDimExpr(dim, context);
    auto found = llvm::find(operand.exprs, first);
    if (found != operand.exprs.end()) {
      unsigned axis = found - operand.exprs.begin();
      SmallVector<ReassociationIndices> groups;
      for (unsigned i = 0; i < operand.exprs.size(); ++i) {
        if (i == axis + 1)
          groups.back().push_back(i);
        else
          groups.push_back({int64_t(i)});
      }
      operand.memref =
          memref::CollapseShapeOp::create(b, loc, operand.memref, groups);
      operand.exprs.erase(operand.exprs.begin() + axis + 1);
    }
    for (AffineExpr &expr : operand.exprs)
      expr = expr.replaceDims(renamed);
  }
  dims[dim].extent = multiply(dims[dim].extent, dims[dim + 1].extent);
  dims.erase(dims.begin() + dim + 1);
}

void LoopStructure::mergeDims() {
  if (usesIndex)
    return;
  for (unsigned dim = 0; dim + 1 < dims.size();)
    if (canMerge(dim))
      merge(dim);
    else
      ++dim;
}

/// The dimension that most operands hold contiguously; outputs count more.
unsigned LoopStructure::chooseInner() {
  SmallVector<int64_t> scores(dims.size(), 0);
  unsigned firstOutput = operands.size() - op.getNumDpsInits();
  for (auto [number, operand] : llvm::enumerate(operands)) {
    ArrayRef<AffineExpr> exprs = operand.exprs;
    auto isUnit = [&](AffineExpr expr) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      return dim && this->isUnit(dim.getPosition());
    };
    while (!exprs.empty() && isUnit(exprs.back()))
      exprs = exprs.drop_back();
    if (exprs.empty())
      continue;
    auto dim = dyn_cast<AffineDimExpr>(exprs.back());
    auto type = cast<MemRefType>(operand.memref.getType());
    SmallVector<int64_t> strides;
    int64_t offset;
    if (!dim || failed(type.getStridesAndOffset(strides, offset)) ||
        strides[exprs.size() - 1] != 1)
      continue;
    // An operand that has an element for each point outweighs all others.
    bool isOutput = number >= firstOutput;
    bool isFull = operand.exprs.size() == dims.size();
    scores[dim.getPosition()] +=
        isFull ? (isOutput ? 192 : 128) : (isOutput ? 3 : 1);
  }
  unsigned best = dims.size() - 1;
  for (unsigned dim = dims.size(); dim-- > 0;)
    if (!isUnit(dim) && (isUnit(best) || scores[dim] > scores[best]))
      best = dim;
  return best;
}

SmallVector<Value> LoopStructure::getIndices(const LoopOperand &operand) {
  SmallVector<Value> result;
  for (AffineExpr expr : operand.exprs)
    result.push_back(affine::expandAffineExpr(b, loc, expr, indices, {}));
  return result;
}

SmallVector<Value> LoopStructure::emitBody(ArrayRef<Value> sums) {
  Block &block = op.getRegion().front();
  IRMapping mapping;
  unsigned firstOutput = operands.size() - op.getNumDpsInits();
  for (auto [number, operand] : llvm::enumerate(operands)) {
    BlockArgument argument = block.getArgument(number);
    if (number >= firstOutput && !sums.empty())
      mapping.map(argument, sums[number - firstOutput]);
    else if (!isa<MemRefType>(operand.memref.getType()))
      mapping.map(argument, operand.memref);
    else if (!argument.use_empty())
      mapping.map(argument, memref::LoadOp::create(b, loc, operand.memref,
                                                   getIndices(operand)));
  }
  for (Operation &inner : block.without_terminator()) {
    if (auto position = dyn_cast<linalg::IndexOp>(inner)) {
      mapping.map(position.getResult(), indices[position.getDim()]);
      continue;
    }
    Operation *copy = b.clone(inner, mapping);
    // Sums may have any order, which is fixed at compile time.
    bool isSum = llvm::any_of(inner.getOperands(), [&](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      return argument && argument.getOwner() == &block &&
             argument.getArgNumber() >= firstOutput;
    });
    if (isSum && !keepsOrder && isa<arith::AddFOp, arith::MulFOp>(inner))
      copy->setAttr("fastmath",
                    arith::FastMathFlagsAttr::get(
                        b.getContext(), arith::FastMathFlags::reassoc));
    // Indices deeper inside.
    copy->walk([&](linalg::IndexOp position) {
      b.replaceOp(position, indices[position.getDim()]);
    });
  }
  SmallVector<Value> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(mapping.lookupOrDefault(value));
  return results;
}

void LoopStructure::store(unsigned output, Value value) {
  unsigned firstOutput = operands.size() - op.getNumDpsInits();
  const LoopOperand &operand = operands[firstOutput + output];
  memref::StoreOp::create(b, loc, value, operand.memref, getIndices(operand));
}

OpFoldResult LoopStructure::multiply(OpFoldResult x, OpFoldResult y) {
  auto left = getConstantIntValue(x), right = getConstantIntValue(y);
  if (left && right)
    return b.getIndexAttr(*left * *right);
  return arith::MulIOp::create(b, loc, index(x), index(y)).getResult();
}

} // namespace mp
