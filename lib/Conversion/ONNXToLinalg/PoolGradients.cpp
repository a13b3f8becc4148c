//===- PoolGradients.cpp - Gradients of maxima gather ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PoolGradients.h"

#include "mp-opt/Dialect/ONNX/Nodes.h"
#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/Endian.h"

using namespace mlir;

namespace mp {

namespace {
/// Loads of a window's cells, and of the windows around a cell, are unrolled.
constexpr int64_t maxGatheredCells = 64, maxWindowsOfCell = 16;
/// The number of a window without cells of the image.
constexpr int64_t noCell = -1;

/// A cell of a window, or a window around a cell, along all axes.
struct CellPlace {
  SmallVector<Value> indices;
  /// False if the place does not exist; indices are 0 then.
  Value exists;
  /// The place of the cell in the window, in row-major order.
  Value number;
};
} // namespace

bool canGather(const SlidingWindows &windows) {
  int64_t cells = 1, around = 1;
  for (const SlidingAxis &axis : windows) {
    auto kernel = Emitter::getConstant(axis.kernel);
    if (!kernel || !Emitter::getConstant(axis.image) ||
        !Emitter::getConstant(axis.count) ||
        !Emitter::getConstant(axis.begin) || axis.dilation != 1 ||
        *kernel > maxGatheredCells)
      return false;
    cells *= *kernel;
    around *= llvm::divideCeil(*kernel, axis.stride);
    if (cells > maxGatheredCells || around > maxWindowsOfCell)
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Maxima
//===----------------------------------------------------------------------===//

static Value both(Emitter &e, Value x, Value y) {
  return arith::AndIOp::create(e.b, e.loc, x, y);
}

/// Cell number `number` of window `i`.
static CellPlace findCell(Emitter &e, const SlidingWindows &windows,
                          ValueRange i, int64_t number) {
  CellPlace place{
      SmallVector<Value>(windows.size()), e.s.integer(e.b.getI1Type(), 1), {}};
  for (unsigned axis = windows.size(); axis-- > 0;) {
    const SlidingAxis &window = windows[axis];
    int64_t kernel = *Emitter::getConstant(window.kernel);
    Size cell = e.add(e.mul(i[2 + axis], e.size(window.stride)),
                      e.size(number % kernel));
    number /= kernel;
    Value index = e.index(e.sub(cell, window.begin));
    place.indices[axis] = index;
    if (window.isInside(e))
      continue;
    // Negative indices are large as unsigned ones.
    Value fits = e.s.compare(Scalars::LT, index, e.index(window.image), true);
    place.exists = both(e, place.exists, fits);
    place.indices[axis] = e.s.select(fits, index, e.s.index(0));
  }
  place.indices.insert(place.indices.begin(), {i[0], i[1]});
  return place;
}

static int64_t countCells(const SlidingWindows &windows) {
  int64_t cells = 1;
  for (const SlidingAxis &axis : windows)
    cells *= *Emitter::getConstant(axis.kernel);
  return cells;
}

static Sizes getCounts(Emitter &e, TensorValue image,
                       const SlidingWindows &windows) {
  Sizes counts(ArrayRef<Size>(e.sizes(image)).take_front(2));
  llvm::append_range(counts, collect(windows, &SlidingAxis::count));
  return counts;
}

/// True if `value` takes the place of `best`: it is greater, or the first NaN.
static Value isBetter(Emitter &e, TensorValue image, Value value, Value best) {
  Scalars &s = e.s;
  Value greater = s.compare(Scalars::GT, value, best, image.isUnsigned());
  if (!Scalars::isFloat(value))
    return greater;
  Value first = both(e, s.compare(Scalars::NE, value, value),
                     s.compare(Scalars::EQ, best, best));
  return arith::OrIOp::create(e.b, e.loc, greater, first);
}

TensorValue takeMaxima(Emitter &e, TensorValue image,
                       const SlidingWindows &windows, Value lowest) {
  return e.generate(
      getCounts(e, image, windows), image.element, [&](ValueRange i) {
        Value best = lowest;
        for (int64_t cell = 0; cell < countCells(windows); ++cell) {
          CellPlace place = findCell(e, windows, i, cell);
          Value value = e.load(image, place.indices);
          Value takes = both(e, place.exists, isBetter(e, image, value, best));
          best = e.s.select(takes, value, best);
        }
        return best;
      });
}

TensorValue numberMaxima(Emitter &e, TensorValue image,
                         const SlidingWindows &windows) {
  Scalars &s = e.s;
  Type word = e.b.getIntegerType(8);
  return e.generate(getCounts(e, image, windows), word, [&](ValueRange i) {
    Value best, number = s.integer(word, noCell);
    for (int64_t cell = 0; cell < countCells(windows); ++cell) {
      CellPlace place = findCell(e, windows, i, cell);
      Value value = e.load(image, place.indices);
      Value takes = place.exists;
      if (best) {
        Value isFirst = s.compare(Scalars::LT, number, s.integer(word, 0));
        takes = both(e, takes,
                     arith::OrIOp::create(e.b, e.loc, isFirst,
                                          isBetter(e, image, value, best)));
      }
      best = best ? s.select(takes, value, best) : value;
      number = s.select(takes, s.integer(word, cell), number);
    }
    return number;
  });
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

static Value skipReshape(Value value) {
  Operation *op = value.getDefiningOp();
  return op && NodeView(op).getOpType() == "Reshape" ? op->getOperand(0)
                                                     : value;
}

Value findPoolOfScatter(Operation *scatter) {
  NodeView node(scatter);
  if (node.getOpType() != "ScatterElements" || node.getInt("axis", 0) != 1 ||
      node.getString("reduction", "none") != "add")
    return {};
  Value zeros = scatter->getOperand(0);
  Operation *spread = zeros.getDefiningOp();
  if (spread && NodeView(spread).getOpType() == "Expand")
    zeros = spread->getOperand(0);
  Operation *places = scatter->getOperand(1).getDefiningOp();
  if (!isZeroConstant(zeros) || !places ||
      NodeView(places).getOpType() != "Sub")
    return {};
  Value positions = skipReshape(places->getOperand(0));
  auto result = dyn_cast<OpResult>(positions);
  bool isPool = result && result.getResultNumber() == 1 &&
                NodeView(result.getOwner()).getOpType() == "MaxPool";
  return isPool ? positions : Value();
}

bool isScatteredTo(Value positions) {
  auto isRead = [&](Value places) {
    return llvm::any_of(places.getUsers(), [&](Operation *sub) {
      return llvm::any_of(sub->getUsers(), [&](Operation *scatter) {
        return findPoolOfScatter(scatter) == positions;
      });
    });
  };
  return isRead(positions) ||
         llvm::any_of(positions.getUsers(), [&](Operation *user) {
           return NodeView(user).getOpType() == "Reshape" &&
                  isRead(user->getResult(0));
         });
}

/// The integers of a value that is known without loading it. Constants may have
/// an element for each plane.
static std::optional<SmallVector<int64_t>> findInts(NodeLowering &node,
                                                    Value value) {
  if (auto ints = getConstantInts(value))
    return ints;
  Operation *constant = value.getDefiningOp();
  Attribute held = constant ? constant->getAttr("value") : Attribute();
  if (auto tensor = dyn_cast_or_null<onnxir::TensorAttr>(held))
    held = tensor.getValue();
  auto stored = dyn_cast_or_null<DenseResourceElementsAttr>(held);
  AsmResourceBlob *blob = stored ? stored.getRawHandle().getBlob() : nullptr;
  if (blob && stored.getElementType().isInteger(64)) {
    ArrayRef<char> bytes = blob->getData();
    SmallVector<int64_t> ints(bytes.size() / sizeof(int64_t));
    for (auto [index, number] : llvm::enumerate(ints))
      number = llvm::support::endian::read64le(bytes.data() +
                                               index * sizeof(int64_t));
    return ints;
  }
  const ShapeValue *known = node.getKnownValue(value);
  if (!known)
    return std::nullopt;
  SmallVector<int64_t> ints;
  for (Size size : known->values) {
    auto constant = Emitter::getConstant(size);
    if (!constant)
      return std::nullopt;
    ints.push_back(*constant);
  }
  return ints;
}

/// True if `value` counts from 0 to `count` - 1 in steps of `step`.
static bool counts(NodeLowering &node, Value value, int64_t count,
                   int64_t step) {
  value = skipReshape(value);
  if (auto ints = findInts(node, value)) {
    for (auto [index, number] : llvm::enumerate(*ints))
      if (number != int64_t(index) * step)
        return false;
    return int64_t(ints->size()) == count;
  }
  Operation *op = value.getDefiningOp();
  StringRef name = op ? NodeView(op).getOpType() : StringRef();
  if (name == "Range") {
    auto isInt = [&](unsigned operand, int64_t wanted) {
      auto ints = findInts(node, op->getOperand(operand));
      return ints && ints->size() == 1 && ints->front() == wanted;
    };
    return isInt(0, 0) && isInt(1, count * step) && isInt(2, step);
  }
  if (name != "Mul" || step == 1)
    return false;
  for (unsigned factor : {0, 1}) {
    auto ints = findInts(node, op->getOperand(factor));
    if (ints && ints->size() == 1 && ints->front() == step)
      return counts(node, op->getOperand(1 - factor), count, 1);
  }
  return false;
}

/// The window that is `back` windows before the last one that begins at or
/// before cell `i` of an axis.
static void addWindow(Emitter &e, const SlidingAxis &axis, Value i,
                      int64_t back, CellPlace &place) {
  Scalars &s = e.s;
  Size shifted = e.add(i, axis.begin), stride = e.size(axis.stride);
  Value window = e.index(e.sub(e.floorDiv(shifted, stride), e.size(back)));
  Value number = e.index(e.sub(shifted, e.mul(window, stride)));
  Value fits =
      both(e, s.compare(Scalars::LT, window, e.index(axis.count), true),
           s.compare(Scalars::LT, number, e.index(axis.kernel)));
  place.exists = place.exists ? both(e, place.exists, fits) : fits;
  place.indices.push_back(s.select(fits, window, s.index(0)));
  place.number = place.number
                     ? e.index(e.add(e.mul(place.number, axis.kernel), number))
                     : number;
}

/// The sum, for cell `i`, of the gradients of the windows whose greatest cell
/// it is, in the order of the windows.
static Value gatherCell(Emitter &e, const WindowMaxima &maxima,
                        TensorValue gradients, ValueRange i) {
  Scalars &s = e.s;
  int64_t around = 1;
  for (const SlidingAxis &axis : maxima.windows)
    around *= llvm::divideCeil(*Emitter::getConstant(axis.kernel), axis.stride);
  Value zero = s.constant(getComputeType(gradients.element), 0), sum = zero;
  for (int64_t left = around; left-- > 0;) {
    CellPlace place;
    place.indices = {i[0], i[1]};
    int64_t parts = around, rest = left;
    for (auto [number, axis] : llvm::enumerate(maxima.windows)) {
      parts /=
          llvm::divideCeil(*Emitter::getConstant(axis.kernel), axis.stride);
      addWindow(e, axis, i[2 + number], rest / parts, place);
      rest %= parts;
    }
    Value found = s.toIndex(e.load(maxima.numbers, place.indices));
    Value isHit =
        both(e, place.exists, s.compare(Scalars::EQ, found, place.number));
    Value gradient = e.load(gradients, place.indices);
    sum = s.add(sum, s.select(isHit, gradient, zero));
  }
  return sum;
}

TensorValue gatherGradients(NodeLowering &node) {
  Emitter &e = node.e;
  Value positions = findPoolOfScatter(node.getNode());
  if (!positions || !e.maxima || !e.maxima->contains(positions))
    return {};
  const WindowMaxima &maxima = e.maxima->find(positions)->second;
  TensorValue gradients = node.in(2);
  Type element = node.inElement(0);
  if (!isa<FloatType>(element) || node.inElement(2) != element)
    return {};
  auto image = ArrayRef<Size>(maxima.image);
  auto planes = Emitter::getConstant(e.product(image.take_front(2)));
  auto cells = Emitter::getConstant(e.product(image.drop_front(2)));
  Sizes fromWindows(image.take_front(2));
  llvm::append_range(fromWindows, collect(maxima.windows, &SlidingAxis::count));
  Size windows = e.product(ArrayRef<Size>(fromWindows).drop_front(2));
  SmallVector<Sizes> shapes{e.sizes(node.in(0)), e.sizes(gradients)};
  Operation *places = node.getNode()->getOperand(1).getDefiningOp();
  if (!planes || !cells ||
      shapes[0] != Sizes{e.size(*planes), e.size(*cells)} ||
      shapes[1] != Sizes{e.size(*planes), windows} ||
      !counts(node, places->getOperand(1), *planes, *cells))
    return {};
  TensorValue from = e.reshape(gradients, fromWindows);
  TensorValue gathered = e.generate(image, element, [&](ValueRange i) {
    return gatherCell(e, maxima, from, i);
  });
  return e.reshape(gathered, shapes[0]);
}

} // namespace mp
