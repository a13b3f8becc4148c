//===- AttentionMatch.cpp - The products of an attention ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"

#include "LinearFactor.h"
#include "mp-opt/Dialect/Kernel/ContractShape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace mp {

bool AttentionMatch::fail(StringRef text) {
  reason = text;
  return false;
}

Location AttentionMatch::getLoc() const {
  return forward.op ? kernel::ContractOp(forward.op).getLoc()
                    : linalg::GenericOp(exponential).getLoc();
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

static Value skipWidening(Value value) {
  while (auto widening = value.getDefiningOp<arith::ExtFOp>())
    value = widening.getIn();
  return value;
}

/// The arguments of x and y in exp(x - y), if that is all of the body.
static std::pair<BlockArgument, BlockArgument>
getExponents(linalg::GenericOp op) {
  auto exp =
      op.getBody()->getTerminator()->getOperand(0).getDefiningOp<math::ExpOp>();
  auto difference =
      exp ? exp.getOperand().getDefiningOp<arith::SubFOp>() : arith::SubFOp();
  if (!difference || !exp.getType().isF32())
    return {};
  return {dyn_cast<BlockArgument>(skipWidening(difference.getLhs())),
          dyn_cast<BlockArgument>(difference.getRhs())};
}

bool AttentionMatch::isCandidate(linalg::GenericOp op) {
  if (op.getNumResults() != 1 || op.getNumDpsInputs() != 2 ||
      op.getNumLoops() < 2 ||
      ShapedType::isDynamicShape(op.getStaticLoopRanges()) ||
      !isElementwise(op, op.getStaticLoopRanges()))
    return false;
  auto [x, y] = getExponents(op);
  return x && y && x.getOwner() == op.getBody() && y.getOwner() == x.getOwner();
}

namespace {
/// A reduction of one axis of a matrix.
struct RowReduction {
  unsigned axis;
  /// The combination of the result so far and of an element.
  Operation *combiner;
  Value input, start;
};
} // namespace

static std::optional<RowReduction> getReduction(linalg::GenericOp op) {
  if (op.getNumReductionLoops() != 1 || op.getNumDpsInputs() != 1 ||
      op.getNumResults() != 1 || !op.hasPureTensorSemantics())
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  SmallVector<AffineExpr> row;
  for (AffineExpr expr : maps[0].getResults())
    if (cast<AffineDimExpr>(expr).getPosition() != reduced.front())
      row.push_back(expr);
  Block *body = op.getBody();
  Operation *combiner = body->getTerminator()->getOperand(0).getDefiningOp();
  if (!maps[0].isIdentity() || maps[1].getResults() != ArrayRef(row) ||
      !combiner || combiner->getNumOperands() != 2 ||
      combiner->getOperand(0) != body->getArgument(1) ||
      skipWidening(combiner->getOperand(1)) != body->getArgument(0))
    return std::nullopt;
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  if (!fill)
    return std::nullopt;
  return RowReduction{reduced.front(), combiner, op.getDpsInputs()[0],
                      fill.getInputs()[0]};
}

static bool hasValue(Value value, double number) {
  APFloat found(0.0);
  return matchPattern(value, m_ConstantFloat(&found)) &&
         found.convertToDouble() == number;
}

static bool isSumOf(linalg::GenericOp op, unsigned axis) {
  auto sum = getReduction(op);
  return sum && sum->axis == axis && isa<arith::AddFOp>(sum->combiner) &&
         hasValue(sum->start, 0);
}

bool AttentionMatch::findSoftmax() {
  auto [x, y] = getExponents(exponential);
  scores = exponential.getMatchingOpOperand(x)->get();
  OpOperand *subtracted = exponential.getMatchingOpOperand(y);
  maximum = subtracted->get();
  auto op = maximum.getDefiningOp<linalg::GenericOp>();
  auto reduction = op ? getReduction(op) : std::nullopt;
  if (!reduction || !isa<arith::MaximumFOp>(reduction->combiner) ||
      reduction->input != scores ||
      !hasValue(reduction->start, -std::numeric_limits<double>::infinity()))
    return fail("the maximum of a row is not subtracted");
  axes.sizes = exponential.getStaticLoopRanges();
  axes.key = reduction->axis;
  if (!exponential.getMatchingIndexingMap(exponential.getMatchingOpOperand(x))
           .isIdentity() ||
      exponential.getMatchingIndexingMap(subtracted) !=
          axes.getRowMap(exponential.getContext()))
    return fail("the maximum of a row is not subtracted");
  sources.exponentials = exponential.getResult(0);
  for (Operation *user : sources.exponentials.getUsers())
    if (auto sum = dyn_cast<linalg::GenericOp>(user))
      if (isSumOf(sum, axes.key))
        sources.sum = sum.getResult(0);
  return sources.sum || fail("the exponentials are not divided by their sum");
}

/// The products with a result of these sizes that `value` is computed from,
/// element by element.
static void findProductsOf(Value value, ArrayRef<int64_t> sizes,
                           llvm::SetVector<Operation *> &products,
                           llvm::DenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return;
  if (auto product = value.getDefiningOp<kernel::ContractOp>()) {
    if (cast<RankedTensorType>(value.getType()).getShape() == sizes)
      products.insert(product);
    return;
  }
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || !isElementwise(op, sizes))
    return;
  for (OpOperand *operand : op.getDpsInputOperands())
    if (op.getMatchingIndexingMap(operand).isIdentity())
      findProductsOf(operand->get(), sizes, products, seen);
}

bool AttentionMatch::findScoreProduct() {
  llvm::SetVector<Operation *> products;
  llvm::DenseSet<Value> seen;
  findProductsOf(scores, axes.sizes, products, seen);
  isOfProduct = !products.empty();
  if (products.empty()) {
    Value source = scores;
    while (Operation *op = source.getDefiningOp()) {
      if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
        break;
      source = op->getOperand(0);
    }
    isOfProduct = isa_and_nonnull<kernel::ContractOp>(source.getDefiningOp());
    return fail("its scores have other axes than its softmax");
  }
  if (products.size() != 1)
    return fail("the scores are not one product");
  sources.score = cast<kernel::ContractOp>(products.front());
  return true;
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

/// The axes of an op's dimensions by the map of a matrix, and the one dimension
/// of elements that the maps depend on, which has the number after them.
static std::optional<AxisOfDim> addElementAxis(ArrayRef<AffineMap> maps,
                                               unsigned matrix) {
  auto axes = getAxes(maps[matrix]);
  if (!axes)
    return std::nullopt;
  unsigned count = 0;
  for (auto [dim, axis] : llvm::enumerate(*axes))
    if (!axis && llvm::any_of(maps, [dim = dim](AffineMap map) {
          return map.isFunctionOfDim(dim);
        })) {
      axis = maps[matrix].getNumResults();
      ++count;
    }
  if (count != 1)
    return std::nullopt;
  return axes;
}

/// The map of axes and elements that the map of an op's dimensions stands for.
/// Axes of one element are 0, as one product may name them and another not.
std::optional<AffineMap> AttentionMatch::getPlace(AffineMap map,
                                                  const AxisOfDim &of) const {
  unsigned count = axes.getCount();
  std::optional<AffineMap> place = mapToAxes(map, of, count + 1);
  if (!place)
    return std::nullopt;
  SmallVector<AffineExpr> exprs;
  for (unsigned axis = 0; axis <= count; ++axis)
    exprs.push_back(axis < count && axes.sizes[axis] == 1
                        ? getAffineConstantExpr(0, map.getContext())
                        : getAffineDimExpr(axis, map.getContext()));
  return place->replaceDimsAndSymbols(exprs, {}, count + 1, 0);
}

/// Operand a (0) or b (1) of the score product, or of that of the gradient.
std::optional<HeadOperand> AttentionMatch::getHead(kernel::ContractOp op,
                                                   unsigned operand) {
  unsigned result = op.getMaps().size() - 1;
  SmallVector<AffineMap> maps = getPlainMaps(op, result);
  auto of = addElementAxis(maps, result);
  if (!of || op.getRounding(operand))
    return std::nullopt;
  auto map = getPlace(maps[operand], *of);
  if (!map)
    return std::nullopt;
  return HeadOperand{op->getOperand(operand), *map};
}

bool AttentionMatch::findRoles() {
  auto a = getHead(sources.score, 0), b = getHead(sources.score, 1);
  if (!a || !b)
    return fail("query or key is rounded, or has no plain axes");
  if (a->map.isFunctionOfDim(axes.key))
    std::swap(a, b);
  if (a->map.isFunctionOfDim(axes.key) || !b->map.isFunctionOfDim(axes.key))
    return fail("the softmax is not over keys");
  std::optional<unsigned> found;
  for (unsigned axis = 0; axis < axes.getCount(); ++axis)
    if (a->map.isFunctionOfDim(axis) && !b->map.isFunctionOfDim(axis) &&
        (!found || axes.sizes[axis] >= axes.sizes[*found]))
      found = axis;
  if (!found)
    return fail("there is one query");
  axes.query = *found;
  query = *a;
  key = *b;
  return true;
}

//===----------------------------------------------------------------------===//
// Readers of matrices
//===----------------------------------------------------------------------===//

bool AttentionMatch::addReduction(linalg::GenericOp op) {
  Value result = op.getResult(0);
  if (result == maximum || result == sources.sum)
    return true;
  if (!isSumOf(op, axes.key) || innerSum)
    return fail("another op reduces its matrix");
  innerSum = op;
  sources.inner = result;
  return true;
}

bool AttentionMatch::addReader(OpOperand &use) {
  Operation *user = use.getOwner();
  if (user->getBlock() != exponential->getBlock())
    return fail("a loop or a branch reads its matrix");
  if (auto op = dyn_cast<kernel::ContractOp>(user)) {
    unsigned number = use.getOperandNumber();
    if (number < 2) {
      consumers.push_back(&use);
      return true;
    }
    if (op.getMaps()[number] != op.getMaps().back() ||
        (gradientProduct && gradientProduct != op))
      return fail("another product reads its matrix");
    gradientProduct = op;
    matrices.insert(op.getResult());
    return true;
  }
  auto op = dyn_cast<linalg::GenericOp>(user);
  if (op && op.isDpsInput(&use) && op.getNumResults() == 1) {
    if (op.getNumReductionLoops() > 0)
      return addReduction(op);
    if (isElementwise(op, axes.sizes) &&
        op.getMatchingIndexingMap(&use).isIdentity()) {
      matrices.insert(op.getResult(0));
      return true;
    }
  }
  return fail("its probabilities or their gradients are results, or are read "
              "by another op");
}

bool AttentionMatch::findReaders() {
  matrices.insert(sources.score.getResult());
  for (size_t next = 0; next < matrices.size(); ++next)
    for (OpOperand &use : matrices[next].getUses())
      if (!addReader(use))
        return false;
  if (!matrices.contains(scores))
    return fail("the scores are not one product");
  for (Value row : {maximum, sources.sum, sources.inner})
    if (row && !llvm::all_of(row.getUsers(), [&](Operation *user) {
          return user->getNumResults() == 1 &&
                 matrices.contains(user->getResult(0));
        }))
      return fail("another op reads its sums");
  return true;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Finds the extra operands of a matrix; it must not need another matrix in
/// memory.
bool AttentionMatch::collect(Value matrix, bool &usesGradient) {
  ScoreExpression expression(axes, sources, extras);
  if (!expression.collect(matrix) ||
      llvm::any_of(extras, [&](const ScoreExtra &extra) {
        return matrices.contains(extra.value) || extra.value == maximum ||
               extra.value == sources.sum || extra.value == sources.inner;
      }))
    return fail("its matrices are not computed element by element");
  usesGradient = expression.dependsOnGradient();
  return true;
}

bool AttentionMatch::addProduct(OpOperand &use) {
  auto op = cast<kernel::ContractOp>(use.getOwner());
  unsigned matrix = use.getOperandNumber(), other = 1 - matrix;
  SmallVector<AffineMap> maps = getPlainMaps(op, matrix);
  auto of = addElementAxis(maps, matrix);
  if (!of || op.getRounding(0) || op.getRounding(1) ||
      !llvm::all_of(op.getExtras(), isNumber))
    return fail("a product has factors that are rounded, or other operands");
  unsigned count = axes.getCount();
  MatrixProduct product;
  product.op = op;
  product.matrix = use.get();
  auto place = getPlace(maps[other], *of);
  auto result = getPlace(maps.back(), *of);
  if (!place || !result)
    return fail("a product has no plain axes");
  product.other = {op->getOperand(other), *place};
  product.result = *result;
  product.sumsKeys = !result->isFunctionOfDim(axes.key);
  if (product.sumsKeys == !result->isFunctionOfDim(axes.query) ||
      !result->isFunctionOfDim(count))
    return fail("a product is not over queries or over keys");
  for (unsigned axis = 0; axis < count; ++axis)
    if (axis != axes.query && axis != axes.key && axes.sizes[axis] != 1 &&
        !result->isFunctionOfDim(axis))
      return fail("a product is over batches");
  bool usesGradient;
  if (!collect(use.get(), usesGradient))
    return false;
  MatrixProduct &found = usesGradient ? (product.sumsKeys ? dquery : dkey)
                                      : (product.sumsKeys ? forward : dvalue);
  if (found.op)
    return fail("two products have the same factor");
  found = product;
  return true;
}

bool AttentionMatch::findProducts() {
  sources.gradient = gradientProduct;
  bool usesGradient;
  if (!collect(scores, usesGradient))
    return false;
  for (OpOperand *use : consumers)
    if (!addProduct(*use))
      return false;
  if (!forward.op)
    return fail("no product follows the softmax");
  value = forward.other;
  return true;
}

/// True if the sum of rows is that of the probabilities times their gradients,
/// and therefore that of results times their gradients.
bool AttentionMatch::isInnerOfGradient() {
  OpBuilder b(innerSum.getContext());
  Block block;
  Location loc = innerSum.getLoc();
  for (unsigned i = 0; i < 2; ++i)
    block.addArgument(b.getF32Type(), loc);
  Value matrix = innerSum.getDpsInputs()[0];
  ScoreExpression expression(axes, sources, extras);
  if (!expression.collect(matrix))
    return false;
  for (const ScoreExtra &extra : extras)
    block.addArgument(getElementTypeOrSelf(extra.value.getType()), loc);
  for (unsigned i = 0; i < axes.getCount(); ++i)
    block.addArgument(b.getIndexType(), loc);
  Value gradient = block.getArgument(0), probability = block.getArgument(1);
  ScoreExpression::Elements elements{{}, gradient, probability, {}};
  Value inner = expression.emit(b, block, 2, elements, matrix);
  Value weight = expression.emit(b, block, 2, elements, forward.matrix);
  auto product = skipRounding(inner).getDefiningOp<arith::MulFOp>();
  auto expected = LinearFactor::get(weight, probability);
  if (!product || !expected)
    return false;
  for (auto [one, other] : {std::pair(product.getLhs(), product.getRhs()),
                            std::pair(product.getRhs(), product.getLhs())}) {
    auto found = LinearFactor::get(other, gradient);
    if (skipRounding(one) == probability && found && *found == *expected)
      return true;
  }
  return false;
}

bool AttentionMatch::findGradient() {
  if (!gradientProduct) {
    if (dquery.op || dkey.op || dvalue.op || innerSum)
      return fail("parts of its gradient are missing");
    return true;
  }
  if (!dquery.op || !dkey.op || !dvalue.op || !innerSum)
    return fail("parts of its gradient are missing");
  auto a = getHead(gradientProduct, 0), b = getHead(gradientProduct, 1);
  if (!a || !b)
    return fail("the gradient is rounded, or has no plain axes");
  if (*a == value)
    std::swap(a, b);
  if (!(*b == value))
    return fail("its gradient does not read the same values");
  gradient = *a;
  if (dvalue.matrix != forward.matrix || !(dvalue.other == gradient) ||
      dquery.matrix != dkey.matrix || !(dquery.other == key) ||
      !(dkey.other == query))
    return fail("its gradient does not read the same queries and keys");
  return isInnerOfGradient() ||
         fail("the sum of its gradient is not that of a softmax");
}

AttentionFacts AttentionMatch::getFacts() const {
  AttentionFacts facts;
  facts.product = sources.score;
  facts.hasGradient = gradient.value != nullptr;
  for (const HeadOperand &head : {query, key, value, gradient})
    if (head.value)
      facts.factors.push_back(getElementTypeOrSelf(head.value.getType()));
  for (auto [axis, size] : llvm::enumerate(axes.sizes))
    if (axis != axes.query && axis != axes.key)
      facts.batches *= size;
  facts.queries = axes.sizes[axes.query];
  facts.keys = axes.sizes[axes.key];
  for (const HeadOperand &head : {query, value}) {
    auto type = cast<RankedTensorType>(head.value.getType());
    for (auto [expr, size] : llvm::zip(head.map.getResults(), type.getShape()))
      if (expr.isFunctionOfDim(axes.getCount()))
        facts.longestHead = std::max(facts.longestHead, size);
  }
  return facts;
}

bool AttentionMatch::find(AttentionChoice choose) {
  if (!findSoftmax() || !findScoreProduct() || !findRoles() || !findReaders() ||
      !findProducts() || !findGradient())
    return false;
  StringRef misfit = choose(getFacts());
  return misfit.empty() || fail(misfit);
}

} // namespace mp
