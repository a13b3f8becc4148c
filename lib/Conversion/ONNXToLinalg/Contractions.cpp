//===- Contractions.cpp - Sums of products --------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Contractions.h"

#include "mp-opt/Dialect/Kernel/Kernel.h"

using namespace mlir;

namespace mp {

/// Integers are summed by plain loops in the type of the result.
static Value contractIntegers(Emitter &e, TensorValue a, TensorValue b,
                              Value init, Type element,
                              ArrayRef<AffineMap> maps) {
  Scalars &s = e.s;
  Value zero = s.constant(getStorageType(element), 0);
  init = linalg::FillOp::create(e.b, e.loc, zero, init).getResult(0);
  SmallVector<utils::IteratorType> iterators(maps[0].getNumDims(),
                                             utils::IteratorType::reduction);
  for (AffineExpr expr : maps[2].getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      iterators[dim.getPosition()] = utils::IteratorType::parallel;
  auto op = linalg::GenericOp::create(
      e.b, e.loc, init.getType(), ValueRange{a.value, b.value}, init, maps,
      iterators, [&](OpBuilder &nested, Location, ValueRange arguments) {
        OpBuilder::InsertionGuard guard(e.b);
        e.b.setInsertionPoint(nested.getInsertionBlock(),
                              nested.getInsertionPoint());
        Value x = s.convert(arguments[0], a.element, element);
        Value y = s.convert(arguments[1], b.element, element);
        linalg::YieldOp::create(e.b, e.loc, s.add(arguments[2], s.mul(x, y)));
      });
  return op.getResult(0);
}

TensorValue contract(Emitter &e, TensorValue a, TensorValue b,
                     ArrayRef<Size> sizes, Type element,
                     ArrayRef<AffineMap> maps, ArrayRef<Size> loopSizes,
                     const ContractionEnd &end) {
  Value init = end.init ? end.init : e.empty(sizes, element);
  Value result;
  if (isa<FloatType>(element)) {
    SmallVector<Value> loops;
    for (Size extent : loopSizes)
      loops.push_back(e.index(extent));
    SmallVector<kernel::Extra> extras;
    for (auto [extra, map] : llvm::zip_equal(end.extras, end.maps))
      extras.push_back({extra.value, map});
    auto epilogue = [&](OpBuilder &nested, Location, Value sum,
                        ValueRange elements) {
      if (!end.finish)
        return sum;
      OpBuilder::InsertionGuard guard(e.b);
      e.b.setInsertionPoint(nested.getInsertionBlock(),
                            nested.getInsertionPoint());
      SmallVector<Value> values = {sum};
      for (auto [extra, value] : llvm::zip_equal(end.extras, elements))
        values.push_back(e.s.widen(value, extra.element));
      Value value = end.finish(values);
      nested.setInsertionPoint(e.b.getInsertionBlock(),
                               e.b.getInsertionPoint());
      return value;
    };
    result = kernel::createContract(e.b, e.loc, a.value, b.value, init, maps,
                                    extras, epilogue, loops)
                 .getResult();
  } else {
    result = contractIntegers(e, a, b, init, element, maps);
  }
  e.noteSizes(result, sizes);
  return {result, element};
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

/// Makes a vector operand a row or a column; other operands stay as they are.
static TensorValue asMatrix(Emitter &e, TensorValue operand, bool isLeft) {
  if (operand.getRank() != 1)
    return operand;
  Size count = e.dim(operand, 0);
  return e.reshape(operand,
                   isLeft ? Sizes{e.size(1), count} : Sizes{count, e.size(1)});
}

/// The summed size is the same on both sides.
static LogicalResult checkInner(NodeLowering &node, Size left, Size right) {
  if (left == right)
    return success();
  auto have = Emitter::getConstant(left), want = Emitter::getConstant(right);
  if (have && want)
    return node.fail("inner sizes " + Twine(*have) + " and " + Twine(*want) +
                     " differ");
  Emitter &e = node.e;
  e.check(node.s.compare(Scalars::EQ, e.index(left), e.index(right)),
          "inner sizes %0 and %1 differ", left, right);
  return success();
}

/// Batches of unknown size may have to be repeated.
static TensorValue repeat(Emitter &e, TensorValue operand,
                          ArrayRef<Size> batch) {
  Sizes own = e.sizes(operand);
  for (auto [mine, all] :
       llvm::zip(llvm::reverse(ArrayRef<Size>(own).drop_back(2)),
                 llvm::reverse(batch)))
    if (mine != all && !Emitter::isConstant(mine, 1)) {
      Sizes full(batch);
      full.append(own.end() - 2, own.end());
      return e.broadcastTo(operand, full);
    }
  return operand;
}

FailureOr<TensorValue> MatrixProduct::emit(NodeLowering &node) {
  Emitter &e = node.e;
  if (a.getRank() == 0 || b.getRank() == 0) {
    (void)node.fail("operands of a matrix product are no scalars");
    return failure();
  }
  bool dropsRow = a.getRank() == 1, dropsColumn = b.getRank() == 1;
  TensorValue left = asMatrix(e, a, true), right = asMatrix(e, b, false);
  Sizes x = e.sizes(left), y = e.sizes(right);
  if (transposeA)
    std::swap(x.end()[-1], x.end()[-2]);
  if (transposeB)
    std::swap(y.end()[-1], y.end()[-2]);
  if (failed(checkInner(node, x.back(), y.end()[-2])))
    return failure();
  Sizes batch = e.broadcast({Sizes(ArrayRef<Size>(x).drop_back(2)),
                             Sizes(ArrayRef<Size>(y).drop_back(2))});
  left = repeat(e, left, batch);
  right = repeat(e, right, batch);
  Sizes sizes(batch);
  sizes.push_back(x.end()[-2]);
  sizes.push_back(y.back());
  auto maps = kernel::getMatmulMaps(left.getType(), right.getType(),
                                    e.getTensorType(sizes, element), transposeA,
                                    transposeB);
  Scalars &s = node.s;
  auto scale = [&](ValueRange values) {
    return s.mul(values[0], s.like(values[0], alpha));
  };
  ContractionEnd end;
  if (alpha != 1)
    end.finish = scale;
  // With a bias, the sum is rounded once, after the addition.
  Type inner =
      bias && isa<FloatType>(element) ? getComputeType(element) : element;
  TensorValue product = contract(e, left, right, sizes, inner, maps, {}, end);
  if (bias)
    product = e.map(element, {product, bias}, [&](ValueRange values) {
      Value summand = values[1];
      if (beta != 1)
        summand = s.mul(summand, s.like(summand, beta));
      return s.add(values[0], summand);
    });
  if (dropsColumn)
    sizes.pop_back();
  if (dropsRow)
    sizes.erase(sizes.begin() + batch.size());
  return e.reshape(product, sizes);
}

} // namespace mp
