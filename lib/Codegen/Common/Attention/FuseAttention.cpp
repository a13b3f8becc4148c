//===- FuseAttention.cpp - Attention out of its products ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Starts at the exponentials of a softmax. All ops that read the matrices of
// this attention are found from there; each is a product that becomes a result
// of attention, or a part of the expressions between products. If another op
// reads a matrix, it has to be in memory, and nothing is gained.
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"
#include "UnitAxes.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace mp {

namespace {
/// Replaces matched products by attention and its gradients.
class AttentionBuilder {
public:
  AttentionBuilder(OpBuilder &b, AttentionMatch &match)
      : b(b), match(match), axes(match.axes) {}

  void build();

private:
  AffineMap getMap(AffineMap map, unsigned element);
  Block &addBody(Region &region, unsigned numFloats, Location loc);
  SmallVector<Value> emitForward(Block &block, unsigned numFloats);
  Value emitFinish(Block &block, Value sum, kernel::ContractOp product);
  void addYield(Block &block, ValueRange values, Location loc);
  Value makeEmpty(kernel::ContractOp product);
  Value makeRows(Location loc);
  kernel::AttentionOp makeAttention();
  Value sumInner(kernel::AttentionOp attention);
  void makeGradient(kernel::AttentionOp attention);

  OpBuilder &b;
  AttentionMatch &match;
  const ScoreAxes &axes;
};
} // namespace

/// A map with the op's dimensions, where `element` is that of its elements.
AffineMap AttentionBuilder::getMap(AffineMap map, unsigned element) {
  unsigned count = axes.getCount();
  SmallVector<AffineExpr> dims;
  for (unsigned axis = 0; axis < count; ++axis)
    dims.push_back(b.getAffineDimExpr(axes.getPosition(axis)));
  dims.push_back(b.getAffineDimExpr(count + element));
  return map.replaceDimsAndSymbols(ArrayRef(dims).take_front(map.getNumDims()),
                                   {}, count + 2, 0);
}

/// The elements of head of queries and keys, and of values.
enum ElementDim : unsigned { OfQuery, OfValue };

/// Adds a block with the arguments of the region.
Block &AttentionBuilder::addBody(Region &region, unsigned numFloats,
                                 Location loc) {
  Block &block = region.emplaceBlock();
  for (unsigned i = 0; i < numFloats; ++i)
    block.addArgument(b.getF32Type(), loc);
  for (const ScoreExtra &extra : match.extras)
    block.addArgument(getElementTypeOrSelf(extra.value.getType()), loc);
  for (unsigned i = 0; i < axes.getCount(); ++i)
    block.addArgument(b.getIndexType(), loc);
  return block;
}

/// Writes the scores and the weights.
SmallVector<Value> AttentionBuilder::emitForward(Block &block,
                                                 unsigned numFloats) {
  ScoreExpression expression(axes, match.sources, match.extras);
  Value score = expression.emit(
      b, block, numFloats, {block.getArgument(0), {}, {}, {}}, match.scores);
  if (!score.getType().isF32()) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(&block);
    score = arith::ExtFOp::create(b, score.getLoc(), b.getF32Type(), score);
  }
  Value weight =
      expression.emit(b, block, numFloats, {{}, {}, block.getArgument(1), {}},
                      match.forward.matrix);
  return {score, weight};
}

/// Writes the epilogue of a product.
Value AttentionBuilder::emitFinish(Block &block, Value sum,
                                   kernel::ContractOp product) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&block);
  IRMapping mapping;
  Block &epilogue = product.getEpilogue().front();
  mapping.map(epilogue.getArgument(0), sum);
  for (auto [number, extra] : llvm::enumerate(product.getExtras()))
    mapping.map(epilogue.getArgument(number + 1), emitNumber(b, extra));
  for (Operation &op : epilogue.without_terminator())
    b.clone(op, mapping);
  return mapping.lookupOrDefault(epilogue.getTerminator()->getOperand(0));
}

void AttentionBuilder::addYield(Block &block, ValueRange values, Location loc) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&block);
  kernel::YieldOp::create(b, loc, values);
}

Value AttentionBuilder::makeEmpty(kernel::ContractOp product) {
  auto type = cast<RankedTensorType>(product.getC().getType());
  return tensor::EmptyOp::create(b, product.getLoc(), type.getShape(),
                                 type.getElementType());
}

/// An f32 for each row.
Value AttentionBuilder::makeRows(Location loc) {
  SmallVector<int64_t> sizes(axes.getCount() - 1);
  for (unsigned axis = 0; axis < axes.getCount(); ++axis)
    if (axis != axes.key)
      sizes[axes.getPosition(axis)] = axes.sizes[axis];
  return tensor::EmptyOp::create(b, loc, sizes, b.getF32Type());
}

kernel::AttentionOp AttentionBuilder::makeAttention() {
  kernel::ContractOp product = match.forward.op;
  Location loc = product.getLoc();
  b.setInsertionPoint(product);
  SmallVector<Value> inputs{match.query.value, match.key.value,
                            match.value.value};
  SmallVector<AffineMap> maps{getMap(match.query.map, OfQuery),
                              getMap(match.key.map, OfQuery),
                              getMap(match.value.map, OfValue)};
  for (const ScoreExtra &extra : match.extras) {
    inputs.push_back(extra.value);
    maps.push_back(getMap(extra.map, OfQuery));
  }
  SmallVector<Value> outputs{makeEmpty(product), makeRows(loc), makeRows(loc)};
  maps.push_back(getMap(match.forward.result, OfValue));
  unsigned count = axes.getCount();
  AffineMap row = AffineMap::getMultiDimIdentityMap(count - 1, b.getContext());
  row = AffineMap::get(count + 2, 0, row.getResults(), b.getContext());
  maps.append({row, row});
  auto op = kernel::AttentionOp::create(b, loc, ValueRange(outputs).getTypes(),
                                        inputs, outputs,
                                        b.getAffineMapArrayAttr(maps));
  using Op = kernel::AttentionOp;
  Block &body = addBody(op.getBody(), Op::NumArguments, loc);
  SmallVector<Value> values = emitForward(body, Op::NumArguments);
  values.push_back(emitFinish(body, body.getArgument(Op::Sum), product));
  addYield(body, values, loc);
  product->getResult(0).replaceAllUsesWith(op.getResult(0));
  return op;
}

/// The sums of result times gradient over the elements of a head.
Value AttentionBuilder::sumInner(kernel::AttentionOp attention) {
  Location loc = match.gradientProduct.getLoc();
  unsigned count = axes.getCount();
  // The dimensions are batches, queries, elements.
  SmallVector<AffineExpr> dims;
  for (unsigned i = 0; i < count - 1; ++i)
    dims.push_back(b.getAffineDimExpr(i));
  dims.append({b.getAffineConstantExpr(0), b.getAffineConstantExpr(0),
               b.getAffineDimExpr(count - 1)});
  auto narrow = [&](AffineMap map) {
    return map.replaceDimsAndSymbols(dims, {}, count, 0);
  };
  AffineMap result = narrow(getMap(match.forward.result, OfValue));
  AffineMap gradient = narrow(getMap(match.gradient.map, OfValue));
  AffineMap row = AffineMap::get(count, 0, ArrayRef(dims).take_front(count - 1),
                                 b.getContext());
  SmallVector<utils::IteratorType> iterators(count,
                                             utils::IteratorType::parallel);
  iterators.back() = utils::IteratorType::reduction;
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  Value start =
      linalg::FillOp::create(b, loc, zero, makeRows(loc)).getResult(0);
  auto op = linalg::GenericOp::create(
      b, loc, TypeRange{start.getType()},
      ValueRange{attention.getResult(0), match.gradient.value},
      ValueRange{start}, ArrayRef<AffineMap>{result, gradient, row}, iterators,
      [](OpBuilder &b, Location loc, ValueRange elements) {
        SmallVector<Value> wide;
        for (Value element : elements)
          wide.push_back(
              element.getType().isF32()
                  ? element
                  : arith::ExtFOp::create(b, loc, b.getF32Type(), element));
        Value product = arith::MulFOp::create(b, loc, wide[0], wide[1]);
        linalg::YieldOp::create(
            b, loc,
            ValueRange{arith::AddFOp::create(b, loc, wide[2], product)});
      });
  return op.getResult(0);
}

/// True if an op uses results of ops behind it: operands may be computed after
/// the first of the products that it replaces.
static bool needsLaterOps(Operation *op) {
  return op
      ->walk([&](Operation *inner) {
        bool needs = llvm::any_of(inner->getOperands(), [&](Value operand) {
          Operation *source = operand.getDefiningOp();
          return source && source->getBlock() == op->getBlock() &&
                 op->isBeforeInBlock(source);
        });
        return needs ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

void AttentionBuilder::makeGradient(kernel::AttentionOp attention) {
  Location loc = match.gradientProduct.getLoc();
  SmallVector<kernel::ContractOp> products{match.dquery.op, match.dkey.op,
                                           match.dvalue.op};
  Operation *first = products.front();
  for (kernel::ContractOp product : products)
    if (product->isBeforeInBlock(first))
      first = product;
  b.setInsertionPoint(first);
  SmallVector<Value> inputs = llvm::to_vector(attention.getInputs());
  SmallVector<AffineMap> maps = attention.getMaps();
  AffineMap row = maps.back();
  maps.resize(inputs.size());
  unsigned fixed = kernel::AttentionOp::numFixed;
  inputs.insert(inputs.begin() + fixed,
                {match.gradient.value, attention.getResult(1),
                 attention.getResult(2), sumInner(attention)});
  maps.insert(maps.begin() + fixed,
              {getMap(match.gradient.map, OfValue), row, row, row});
  SmallVector<Value> outputs;
  for (kernel::ContractOp product : products)
    outputs.push_back(makeEmpty(product));
  maps.append({getMap(match.dquery.result, OfQuery),
               getMap(match.dkey.result, OfQuery),
               getMap(match.dvalue.result, OfValue)});
  auto op = kernel::AttentionGradientOp::create(
      b, loc, ValueRange(outputs).getTypes(), inputs, outputs,
      b.getAffineMapArrayAttr(maps));
  using Op = kernel::AttentionGradientOp;
  Block &body = addBody(op.getBody(), Op::NumArguments, loc);
  SmallVector<Value> values = emitForward(body, Op::NumArguments);
  ScoreExpression expression(axes, match.sources, match.extras);
  values.push_back(expression.emit(b, body, Op::NumArguments,
                                   {{},
                                    body.getArgument(Op::Gradient),
                                    body.getArgument(Op::Probability),
                                    body.getArgument(Op::Inner)},
                                   match.dquery.matrix));
  for (kernel::ContractOp product : products)
    values.push_back(emitFinish(body, body.getArgument(Op::Sum), product));
  addYield(body, values, loc);
  for (auto [product, result] : llvm::zip(products, op.getResults()))
    product->getResult(0).replaceAllUsesWith(result);
  if (needsLaterOps(op))
    sortTopologically(op->getBlock());
}

void AttentionBuilder::build() {
  kernel::AttentionOp attention = makeAttention();
  if (match.gradientProduct)
    makeGradient(attention);
}

void fuseAttention(func::FuncOp main, AttentionChoice choose) {
  SmallVector<linalg::GenericOp> candidates;
  std::set<SizesOfMatrix> sizes;
  main.walk([&](linalg::GenericOp op) {
    if (!AttentionMatch::isCandidate(op))
      return;
    candidates.push_back(op);
    sizes.insert(ArrayRef<int64_t>(op.getStaticLoopRanges()).vec());
  });
  foldUnitAxes(main, sizes);
  OpBuilder b(main.getContext());
  for (linalg::GenericOp op : candidates) {
    AttentionMatch match(op);
    if (match.find(choose)) {
      AttentionBuilder(b, match).build();
      continue;
    }
    if (!match.isAttention())
      continue;
    auto options =
        remark::RemarkOpts::name("attention-in-memory").category("mp-codegen");
    if (auto remark = remark::missed(match.getLoc(), options))
      remark << remark::detail::Remark::Arg("Reason", match.getReason());
  }
}

} // namespace mp
