//===- GridSample.cpp - Gradients of sampling an image --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sample is a sum over the cells around its position: along each axis, the
// weight of a cell is a polynomial of the distance between the position and the
// cell before it. The image's gradient adds each sample's gradient, times the
// weights, to these cells. The grid's gradient uses the derivative of the
// polynomials along one axis at a time.
//
// Tensors of positions have the axes N x P (images by samples), then one axis
// of cells for each axis of the image. Outside of the image, gradients are
// those of torch: zero if padding repeats an edge, the edges included, and of
// the opposite sign if it reflects.
//
//===----------------------------------------------------------------------===//

#include "../Rules.h"
#include "../Sizes.h"
#include "mp-opt/Autodiff/NormGradients.h"
#include "mp-opt/Dialect/MP/Attributes.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

/// The cells that a sample reads along one axis of the image, N x P x cells.
struct AxisCells {
  Size extent;
  /// Indices of cells inside of the image.
  Value index;
  /// The weights of cells, null if all are one; their derivatives by the grid's
  /// coordinate, null if they are not needed.
  Value weight, slope;
};

/// A position along an axis, and its derivative by the grid's coordinate.
struct Place {
  Value value, factor;
};

class SampledGrid {
public:
  SampledGrid(NodeAdjoint &op, int64_t rank)
      : op(op), b(op.b), math(b), rank(rank),
        isAligned(op.getFlag("align_corners")), mode(op.getString("mode")),
        padding(op.getString("padding_mode")) {
    Type f64 = b.getBuilder().getF64Type();
    bool isWide = llvm::any_of(op.getNode()->getOperands(), [&](Value value) {
      return getTensorElementType(value.getType()) == f64;
    });
    element = isWide ? f64 : Type(b.getBuilder().getF32Type());
  }

  void run();

private:
  Value number(double value) { return b.scalar(value, element); }
  Value row(ArrayRef<double> numbers);
  Value evaluate(ArrayRef<SmallVector<double>> factors, Value part);
  /// Moves the cells of `value`, N x P x cells, to their axis among those of
  /// all.
  Value spread(Value value, int64_t axis);

  Place findPlace(Value grid, int64_t axis, Size extent);
  Place reflect(Place place, Size extent);
  AxisCells findCells(Value grid, int64_t axis);
  void findAllCells();
  Value flattenIndex();
  Value multiply(ArrayRef<Value> factors);
  void setImage(Value grad, Value index);
  void setGrid(Value grad, Value index);

  NodeAdjoint &op;
  NodeBuilder &b;
  SizeMath math;
  int64_t rank;
  bool isAligned;
  StringRef mode, padding;
  /// The type of positions, independent of the image's type.
  Type element;
  SmallVector<AxisCells> axes;
};

} // namespace

//===----------------------------------------------------------------------===//
// Polynomials
//===----------------------------------------------------------------------===//

/// Factors of the cells in order, for each power of the distance, from the
/// highest on. The single cell of the nearest mode has weight 1.
static SmallVector<SmallVector<double>> getWeightFactors(StringRef mode) {
  if (mode == "nearest")
    return {{1}};
  if (mode.ends_with("linear"))
    return {{-1, 1}, {1, 0}};
  constexpr double a = -0.75;
  return {{a, a + 2, -(a + 2), -a},
          {-2 * a, -(a + 3), 2 * a + 3, a},
          {a, 0, -a, 0},
          {0, 1, 0, 0}};
}

static SmallVector<SmallVector<double>>
differentiate(ArrayRef<SmallVector<double>> factors) {
  SmallVector<SmallVector<double>> result;
  int64_t power = factors.size() - 1;
  for (ArrayRef<double> list : factors.drop_back()) {
    result.push_back(llvm::map_to_vector(
        list, [&](double factor) { return factor * power; }));
    --power;
  }
  return result;
}

Value SampledGrid::row(ArrayRef<double> numbers) {
  SmallVector<Attribute> list;
  for (double number : numbers)
    list.push_back(b.getBuilder().getFloatAttr(element, number));
  return b.constant(DenseElementsAttr::get(
      RankedTensorType::get({int64_t(list.size())}, element), list));
}

Value SampledGrid::evaluate(ArrayRef<SmallVector<double>> factors, Value part) {
  Value sum = row(factors.front());
  for (ArrayRef<double> list : factors.drop_front())
    sum = b.add(b.mul(sum, part), row(list));
  return sum;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// A coordinate is between -1 and 1, from the first cell to the last: from
/// center to center if they are aligned, else from edge to edge.
Place SampledGrid::findPlace(Value grid, int64_t axis, Size extent) {
  // Coordinates go from the last axis to the first.
  Value x = b.slice(grid, 2, rank - 1 - axis, rank - axis);
  Value shifted = b.addScalar(x, 1);
  Value length = math.scalar(isAligned ? math.sub(extent, 1) : extent, element);
  Value scaled = b.mul(shifted, length);
  if (!isAligned)
    scaled = b.addScalar(scaled, -1);
  Place place{b.scale(scaled, 0.5), {}};
  if (mode == "nearest")
    place.value = b.create("Round", {place.value});
  else if (op.wants(1))
    place.factor = b.scale(length, 0.5);
  if (padding == "reflection")
    return reflect(place, extent);
  if (padding != "border" || mode.ends_with("cubic"))
    return place;
  Value zero = number(0), last = math.scalar(math.sub(extent, 1), element);
  if (place.factor) {
    Value isInside = b.create("And", {b.create("Greater", {place.value, zero}),
                                      b.create("Less", {place.value, last})});
    place.factor = b.where(isInside, place.factor, zero);
  }
  place.value = b.create("Min", {b.create("Max", {place.value, zero}), last});
  return place;
}

/// Positions outside are reflected at the edges, or at the outer centers, as
/// often as necessary.
Place SampledGrid::reflect(Place place, Size extent) {
  double low = isAligned ? 0 : -0.5;
  Size length = math.max(math.sub(extent, isAligned ? 1 : 0), 1);
  Value range = math.scalar(length, element);
  Value moved = b.addScalar(place.value, -low);
  Value distance = b.create("Abs", {moved});
  Value turns = b.create("Floor", {b.div(distance, range)});
  Value rest = b.sub(distance, b.mul(turns, range));
  Value half = b.scale(turns, 0.5);
  Value isEven = b.create("Equal", {half, b.create("Floor", {half})});
  Value offset = b.where(isEven, rest, b.sub(range, rest));
  Value reflected = b.addScalar(offset, low);
  if (!place.factor)
    return {reflected, {}};
  Value isBelow = b.create("Less", {moved, number(0)});
  Value isOpposite = b.create("Equal", {isEven, isBelow});
  return {reflected, b.where(isOpposite, b.neg(place.factor), place.factor)};
}

AxisCells SampledGrid::findCells(Value grid, int64_t axis) {
  AxisCells cells{math.of(op.in(0), 2 + axis), {}, {}, {}};
  Place place = findPlace(grid, axis, cells.extent);
  auto factors = getWeightFactors(mode);
  bool isCubic = factors.size() == 4;
  Value first = place.value, part;
  if (mode != "nearest") {
    first = b.create("Floor", {place.value});
    part = b.sub(place.value, first);
  }
  SmallVector<double> steps;
  for (unsigned cell = 0; cell < factors.front().size(); ++cell)
    steps.push_back(double(cell) - isCubic);
  Value found = b.add(first, row(steps));
  // A cubic's outer cells may lie outside of the image.
  if (isCubic && padding == "reflection")
    found = reflect({found, {}}, cells.extent).value;
  Value whole = b.castTo(found, b.getBuilder().getI64Type());
  Type wide = b.getBuilder().getI64Type();
  Value last = math.scalar(math.sub(cells.extent, 1), wide);
  cells.index =
      b.create("Min", {b.create("Max", {whole, b.intScalar(0)}), last});
  if (part)
    cells.weight = evaluate(factors, part);
  if (place.factor)
    cells.slope = b.mul(evaluate(differentiate(factors), part), place.factor);
  if (padding != "zeros")
    return cells;
  Value isInside = b.create("Equal", {whole, cells.index});
  cells.weight = b.where(isInside, part ? cells.weight : number(1), number(0));
  if (cells.slope)
    cells.slope = b.where(isInside, cells.slope, number(0));
  return cells;
}

/// Positions are fp32 in mixed-precision steps, as in the node itself.
void SampledGrid::findAllCells() {
  Block *block = b.getBuilder().getInsertionBlock();
  auto next = b.getBuilder().getInsertionPoint();
  Operation *before = next == block->begin() ? nullptr : &*std::prev(next);
  Value grid = b.reshape(b.castTo(op.in(1), element), {0, -1, rank});
  for (int64_t axis = 0; axis < rank; ++axis)
    axes.push_back(findCells(grid, axis));
  for (auto it = before ? std::next(before->getIterator()) : block->begin();
       it != next; ++it)
    if (isDifferentiable(it->getResult(0)) && !isStandardOp(&*it, "Constant"))
      it->setAttr(mark::shapeArithmetic, b.getBuilder().getUnitAttr());
}

Value SampledGrid::spread(Value value, int64_t axis) {
  SmallVector<int64_t> others;
  for (int64_t other = 0; other < rank; ++other)
    if (other != axis)
      others.push_back(2 + other);
  return b.unsqueeze(value, others);
}

/// Indices among the cells of all images, N x P x cells.
Value SampledGrid::flattenIndex() {
  Value index;
  for (auto [axis, cells] : llvm::enumerate(axes)) {
    Value own = spread(cells.index, axis);
    Type type = getTensorElementType(own.getType());
    index =
        index ? b.add(b.mul(index, math.scalar(cells.extent, type)), own) : own;
  }
  Size count = 1;
  for (const AxisCells &cells : axes)
    count = math.mul(count, cells.extent);
  Value images = math.range(math.of(op.in(0), 0));
  Value begin =
      b.mul(images, math.scalar(count, getTensorElementType(images.getType())));
  return b.add(b.reshape(index, {0, 0, -1}), b.unsqueeze(begin, {1, 2}));
}

Value SampledGrid::multiply(ArrayRef<Value> factors) {
  Value product;
  for (auto [axis, factor] : llvm::enumerate(factors)) {
    if (!factor)
      continue;
    Value own = spread(factor, axis);
    product = product ? b.mul(product, own) : own;
  }
  return product;
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// `grad` is N x P x C.
void SampledGrid::setImage(Value grad, Value index) {
  Value image = op.in(0);
  auto weights = llvm::map_to_vector(
      axes, [](const AxisCells &cells) { return cells.weight; });
  Value parts = b.unsqueeze(grad, {2});
  if (Value weight = multiply(weights)) {
    weight = b.reshape(weight, {0, 0, -1, 1});
    parts = b.mul(parts, b.castLike(weight, grad));
  }
  Size images = math.of(image, 0), channels = math.of(image, 1);
  Size count = images;
  for (const AxisCells &cells : axes)
    count = math.mul(count, cells.extent);
  Value shape = math.vector({count, channels});
  Value rows = b.create("com.microsoft.GatherGrad", {shape, index, parts},
                        b.attr("axis", int64_t(0)));
  Value blocks = b.reshape(rows, math.vector({images, -1, channels}));
  Value flat = b.transpose(blocks, {0, 2, 1});
  op.set(0, b.castLike(b.reshapeLike(flat, image), image));
}

void SampledGrid::setGrid(Value grad, Value index) {
  Value grid = op.in(1);
  Value flat = b.reshape(widen(b, op.in(0)), {0, 0, -1});
  Size channels = math.of(op.in(0), 1);
  Value rows =
      b.reshape(b.transpose(flat, {0, 2, 1}), math.vector({-1, channels}));
  Value products = b.mul(b.gather(rows, index, 0), b.unsqueeze(grad, {2}));
  // The derivative of the loss by each cell's weight.
  Value sums = b.reduceSum(products, {3}, /*keepDims=*/false);
  SmallVector<int64_t> shape(2 + rank,
                             int64_t(getWeightFactors(mode).front().size()));
  shape[0] = shape[1] = 0;
  sums = b.reshape(b.castTo(sums, element), shape);
  auto cellAxes = llvm::to_vector(llvm::seq<int64_t>(2, 2 + rank));
  SmallVector<Value> coordinates;
  for (int64_t axis = rank - 1; axis >= 0; --axis) {
    SmallVector<Value> factors;
    for (auto [other, cells] : llvm::enumerate(axes))
      factors.push_back(int64_t(other) == axis ? cells.slope : cells.weight);
    Value parts = b.mul(sums, multiply(factors));
    coordinates.push_back(
        b.unsqueeze(b.reduceSum(parts, cellAxes, /*keepDims=*/false), {2}));
  }
  op.set(1, b.castLike(b.reshapeLike(b.concat(coordinates, 2), grid), grid));
}

void SampledGrid::run() {
  findAllCells();
  Value index = flattenIndex();
  Value grad =
      b.transpose(b.reshape(widen(b, op.grad()), {0, 0, -1}), {0, 2, 1});
  if (op.wants(0))
    setImage(grad, index);
  // Small changes of a position do not change the nearest cell.
  if (op.wants(1) && mode != "nearest")
    setGrid(grad, index);
}

static LogicalResult gridSampleRule(NodeAdjoint &op) {
  if (!op.wants(0) && (!op.wants(1) || op.getString("mode") == "nearest"))
    return success();
  auto rank = NodeBuilder::getRank(op.in(0));
  if (!rank || *rank < 3 || NodeBuilder::getRank(op.in(1)) != rank)
    return op.fail("expected an image and a grid of known rank, the same of "
                   "both and three or more");
  SampledGrid(op, *rank - 2).run();
  return success();
}

/// The grid is linear in `theta` (N x D x D + 1): each position is multiplied
/// by its rows. The identity's grid gives the positions.
static LogicalResult affineGridRule(NodeAdjoint &op) {
  Value theta = op.in(0);
  auto gridRank = NodeBuilder::getRank(op.grad());
  auto type = dyn_cast<RankedTensorType>(theta.getType());
  if (!type || !gridRank || *gridRank < 4)
    return op.fail("expected theta and a grid of known rank");
  NodeBuilder &b = op.b;
  int64_t rank = *gridRank - 2;
  SmallVector<float> identity;
  for (int64_t row = 0; row < rank; ++row)
    for (int64_t column = 0; column <= rank; ++column)
      identity.push_back(row == column);
  Type element = getTensorElementType(theta.getType());
  auto matrix =
      RankedTensorType::get({1, rank, rank + 1}, b.getBuilder().getF32Type());
  Value same = b.castTo(
      b.constant(DenseElementsAttr::get(matrix, ArrayRef(identity))), element);
  // One image of the same size.
  Value size = b.concat({b.ints({1}), b.slice(op.in(1), 0, 1, INT64_MAX)}, 0);
  Value grid = b.create("AffineGrid", {same, size},
                        b.attr("align_corners", op.getFlag("align_corners")));
  Value places = b.reshape(widen(b, grid), {-1, rank});
  Value ones = b.fullLike(1, b.slice(places, 1, 0, 1));
  Value parts = b.reshape(widen(b, op.grad()), {0, -1, rank});
  Value sums = b.create(
      "MatMul", {b.transpose(parts, {0, 2, 1}), b.concat({places, ones}, 1)},
      {}, type.clone(getTensorElementType(parts.getType())));
  op.set(0, b.castTo(sums, element));
  return success();
}

static constexpr GradientRule gridSampleGradients[] = {
    {"AffineGrid", affineGridRule}, {"GridSample", gridSampleRule}};

ArrayRef<GradientRule> getGridSampleGradients() { return gridSampleGradients; }

} // namespace mp
