//===- ScoreExpression.cpp - Elements of the matrices of attention --------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreExpression.h"

#include "mp-opt/Dialect/Kernel/ContractShape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace mp {

unsigned ScoreAxes::getPosition(unsigned axis) const {
  if (axis == query)
    return getCount() - 2;
  if (axis == key)
    return getCount() - 1;
  return axis - (axis > query) - (axis > key);
}

AffineMap ScoreAxes::getRowMap(MLIRContext *context) const {
  SmallVector<AffineExpr> results;
  for (unsigned axis = 0; axis < getCount(); ++axis)
    if (axis != key)
      results.push_back(getAffineDimExpr(axis, context));
  return AffineMap::get(getCount(), 0, results, context);
}

std::optional<AxisOfDim> getAxes(AffineMap matrix) {
  AxisOfDim axes(matrix.getNumDims());
  for (auto [axis, expr] : llvm::enumerate(matrix.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || axes[dim.getPosition()])
      return std::nullopt;
    axes[dim.getPosition()] = axis;
  }
  return axes;
}

std::optional<AffineMap> mapToAxes(AffineMap map, const AxisOfDim &axes,
                                   unsigned numAxes) {
  SmallVector<AffineExpr> results;
  for (AffineExpr expr : map.getResults()) {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr);
        constant && constant.getValue() == 0) {
      results.push_back(expr);
      continue;
    }
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || !axes[dim.getPosition()])
      return std::nullopt;
    results.push_back(
        getAffineDimExpr(*axes[dim.getPosition()], map.getContext()));
  }
  return AffineMap::get(numAxes, 0, results, map.getContext());
}

SmallVector<AffineMap> getPlainMaps(kernel::ContractOp op, unsigned matrix) {
  SmallVector<int64_t> sizes = kernel::getStaticSizes(op);
  SmallVector<AffineMap> maps = op.getMaps();
  unsigned count = sizes.size();
  Builder b(op.getContext());
  SmallVector<AffineExpr> inSums, unnamed;
  auto isNamed = [&](unsigned dim) {
    return llvm::is_contained(maps[matrix].getResults(),
                              b.getAffineDimExpr(dim));
  };
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    AffineExpr expr = b.getAffineDimExpr(dim),
               zero = b.getAffineConstantExpr(0);
    inSums.push_back(size == 1 ? zero : expr);
    unnamed.push_back(size == 1 && !isNamed(dim) ? zero : expr);
  }
  for (AffineMap &map : maps) {
    SmallVector<AffineExpr> results;
    for (AffineExpr expr : map.getResults())
      results.push_back(
          isa<AffineDimExpr>(expr)
              ? expr
              : simplifyAffineExpr(expr.replaceDims(inSums), count, 0));
    map = AffineMap::get(count, 0, results, op.getContext());
  }
  for (AffineMap &map : maps)
    map = map.replaceDimsAndSymbols(unnamed, {}, count, 0);
  return maps;
}

bool isElementwise(linalg::GenericOp op, ArrayRef<int64_t> sizes) {
  return op.getNumParallelLoops() == op.getNumLoops() &&
         op.getNumResults() == 1 && op.hasPureTensorSemantics() &&
         op.getIndexingMapsArray().back().isIdentity() &&
         op.getStaticLoopRanges() == sizes &&
         !op.payloadUsesValueFromOperand(op.getDpsInitOperand(0));
}

/// The body of an op without operands whose elements do not depend on their
/// places.
static Block *getNumberBody(Value tensor) {
  auto op = tensor.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumDpsInputs() != 0 || op.getNumResults() != 1 ||
      op.hasIndexSemantics() || op.getNumReductionLoops() > 0 ||
      op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)) ||
      !llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
        return inner.getNumRegions() == 0 && isMemoryEffectFree(&inner);
      }))
    return nullptr;
  return op.getBody();
}

static TypedAttr getSplat(Value tensor) {
  DenseElementsAttr elements;
  if (!matchPattern(tensor, m_Constant(&elements)) || !elements.isSplat())
    return nullptr;
  return dyn_cast<TypedAttr>(elements.getSplatValue<Attribute>());
}

bool isNumber(Value tensor) {
  return getNumberBody(tensor) || getSplat(tensor);
}

Value emitNumber(OpBuilder &b, Value tensor) {
  if (TypedAttr number = getSplat(tensor))
    return arith::ConstantOp::create(b, tensor.getLoc(), number);
  Block *body = getNumberBody(tensor);
  IRMapping mapping;
  for (Operation &op : body->without_terminator())
    b.clone(op, mapping);
  return mapping.lookupOrDefault(body->getTerminator()->getOperand(0));
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

bool ScoreExpression::collect(Value matrix) {
  OpBuilder b(matrix.getContext());
  Block scratch;
  isCollecting = true;
  usesGradient = false;
  Location loc = matrix.getLoc();
  auto element = [&] { return scratch.addArgument(b.getF32Type(), loc); };
  Value made =
      emit(b, scratch, 0, {element(), element(), element(), element()}, matrix);
  isCollecting = false;
  return made != nullptr;
}

Value ScoreExpression::emit(OpBuilder &b, Block &block, unsigned first,
                            const Elements &given, Value matrix) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&block);
  builder = &b;
  body = &block;
  firstExtra = first;
  elements = given;
  known.clear();
  return emitMatrix(matrix);
}

Value ScoreExpression::emitExtra(Value value, AffineMap map) {
  auto *found = llvm::find_if(extras, [&](const ScoreExtra &extra) {
    return extra.value == value && extra.map == map;
  });
  unsigned number = found - extras.begin();
  if (found == extras.end())
    extras.push_back({value, map});
  if (!isCollecting)
    return body->getArgument(firstExtra + number);
  return body->addArgument(getElementTypeOrSelf(value.getType()),
                           value.getLoc());
}

Value ScoreExpression::emitIndex(unsigned axis) {
  if (!isCollecting)
    return body->getArgument(firstExtra + extras.size() +
                             axes.getPosition(axis));
  return body->addArgument(builder->getIndexType(),
                           body->getArgument(0).getLoc());
}

/// Writes the ops of `from`. Inputs that are null must not be used, except in
/// the quotient.
Value ScoreExpression::emitBody(Block &from, ValueRange inputs,
                                const AxisOfDim &of, const Quotient &quotient) {
  IRMapping mapping;
  for (auto [argument, input] : llvm::zip(from.getArguments(), inputs))
    if (input)
      mapping.map(argument, input);
  auto find = [&](Value value) -> Value {
    Value mapped = mapping.lookupOrDefault(value);
    // An argument without an element.
    auto argument = dyn_cast<BlockArgument>(mapped);
    return argument && argument.getOwner() == &from ? Value() : mapped;
  };
  for (Operation &op : from.without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(op)) {
      // Dimensions without an axis have one element.
      std::optional<unsigned> axis = of[index.getDim()];
      mapping.map(index.getResult(), axis ? emitIndex(*axis)
                                          : arith::ConstantIndexOp::create(
                                                *builder, op.getLoc(), 0)
                                                .getResult());
      continue;
    }
    if (op.getNumRegions() > 0 || !isMemoryEffectFree(&op))
      return nullptr;
    if (auto division = dyn_cast<arith::DivFOp>(op);
        division && quotient.sum && division.getLhs() == quotient.exponential &&
        division.getRhs() == quotient.sum && elements.probability) {
      mapping.map(division.getResult(), elements.probability);
      continue;
    }
    if (!llvm::all_of(op.getOperands(), find))
      return nullptr;
    builder->clone(op, mapping);
  }
  return find(from.getTerminator()->getOperand(0));
}

/// The element of an operand: that of a matrix or of a row that is known, or of
/// an extra operand.
Value ScoreExpression::emitOperand(Value operand, AffineMap map,
                                   const AxisOfDim &of) {
  std::optional<AffineMap> place = mapToAxes(map, of, axes.getCount());
  if (!place)
    return nullptr;
  bool isMatrix = place->isIdentity();
  if (isMatrix)
    if (Value element = emitMatrix(operand))
      return element;
  if (Value element = emitComputed(operand, *place))
    return element;
  return emitExtra(operand, *place);
}

/// The element of a tensor that is computed from indices and numbers, such as a
/// causal mask; null for others.
Value ScoreExpression::emitComputed(Value operand, AffineMap place) {
  if (isNumber(operand))
    return emitNumber(*builder, operand);
  auto op = operand.getDefiningOp<linalg::GenericOp>();
  if (!op || !isElementwise(op, op.getStaticLoopRanges()))
    return nullptr;
  AxisOfDim of;
  for (AffineExpr expr : place.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    of.push_back(dim ? std::optional<unsigned>(dim.getPosition())
                     : std::nullopt);
  }
  SmallVector<Value> inputs;
  for (auto [input, map] :
       llvm::zip(op.getDpsInputs(), op.getIndexingMapsArray())) {
    inputs.push_back(emitComputed(input, map.compose(place)));
    if (!inputs.back())
      return nullptr;
  }
  return emitBody(*op.getBody(), inputs, of);
}

/// Adds the element of an operand that `argument` of a body stands for. Inputs
/// are null for exponentials and their sum, which occur in the quotient.
void ScoreExpression::addInput(Value operand, AffineMap map,
                               const AxisOfDim &of, Value argument,
                               SmallVectorImpl<Value> &inputs,
                               Quotient &quotient) {
  std::optional<AffineMap> place = mapToAxes(map, of, axes.getCount());
  AffineMap row = axes.getRowMap(operand.getContext());
  if (operand == sources.exponentials) {
    quotient.exponential = place && place->isIdentity() ? argument : Value();
    inputs.push_back(nullptr);
  } else if (operand == sources.sum) {
    quotient.sum = place == row ? argument : Value();
    inputs.push_back(nullptr);
  } else if (operand == sources.inner) {
    inputs.push_back(place == row ? elements.inner : Value());
  } else {
    inputs.push_back(emitOperand(operand, map, of));
  }
}

Value ScoreExpression::emitContract(kernel::ContractOp op) {
  bool isScore = op == sources.score;
  usesGradient |= !isScore;
  SmallVector<AffineMap> maps = getPlainMaps(op, op.getMaps().size() - 1);
  auto axesOf = getAxes(maps.back());
  if (!axesOf)
    return nullptr;
  Quotient quotient;
  Block &epilogue = op.getEpilogue().front();
  SmallVector<Value> inputs{isScore ? elements.score : elements.gradient};
  for (auto [extra, map] :
       llvm::zip(op.getExtras(), ArrayRef(maps).drop_front(2)))
    addInput(extra, map, *axesOf, epilogue.getArgument(inputs.size()), inputs,
             quotient);
  return emitBody(epilogue, inputs, *axesOf, quotient);
}

Value ScoreExpression::emitMatrix(Value matrix) {
  auto [entry, isNew] = known.try_emplace(matrix);
  if (!isNew)
    return entry->second;
  Value made;
  Operation *op = matrix.getDefiningOp();
  if (auto contract = dyn_cast_or_null<kernel::ContractOp>(op)) {
    if (contract == sources.score || contract == sources.gradient)
      made = emitContract(contract);
  } else if (auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
             generic && isElementwise(generic, axes.sizes)) {
    made = emitGeneric(generic);
  }
  known[matrix] = made;
  return made;
}

Value ScoreExpression::emitGeneric(linalg::GenericOp op) {
  AxisOfDim identity;
  for (unsigned axis = 0; axis < axes.getCount(); ++axis)
    identity.push_back(axis);
  Quotient quotient;
  SmallVector<Value> inputs;
  for (auto [operand, map] :
       llvm::zip(op.getDpsInputs(), op.getIndexingMapsArray()))
    addInput(operand, map, identity, op.getBody()->getArgument(inputs.size()),
             inputs, quotient);
  return emitBody(*op.getBody(), inputs, identity, quotient);
}

} // namespace mp
