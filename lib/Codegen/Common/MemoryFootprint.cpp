//===- MemoryFootprint.cpp - Memory that code accesses --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accesses are boxes: a span of numbers in each dimension. Boxes of views
// become boxes of the viewed memory, as far as possible; elements there that
// several boxes share count once.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/Common/MemoryFootprint.h"

#include "mp-opt/Codegen/Common/MemoryRanges.h"
#include "mp-opt/Dialect/Kernel/ContractShape.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <numeric>

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Spans
//===----------------------------------------------------------------------===//

static int64_t multiply(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? INT64_MAX : product;
}

static int64_t add(int64_t a, int64_t b) {
  int64_t sum;
  return llvm::AddOverflow(a, b, sum) ? INT64_MAX : sum;
}

bool Span::contains(const Span &other) const {
  if (!isExact() || other.begin < begin || other.getLast() > getLast())
    return false;
  return (other.begin - begin) % step == 0 &&
         (other.count == 1 || other.step % step == 0);
}

Span Span::operator+(const Span &other) const {
  if (count == 1 || other.count == 1) {
    const Span &many = count == 1 ? other : *this;
    return {begin + other.begin, many.step, many.count, many.most};
  }
  const Span &fine = step <= other.step ? *this : other;
  const Span &coarse = step <= other.step ? other : *this;
  int64_t last = getLast() + other.getLast(), first = begin + other.begin;
  int64_t common = std::gcd(step, other.step);
  int64_t all = (last - first) / common + 1;
  bool isDense = fine.isExact() && coarse.isExact() && common == fine.step &&
                 coarse.step <= fine.step * fine.count;
  int64_t most =
      isDense ? all : std::min(all, multiply(this->most, other.most));
  return {first, common, all, most};
}

Span Span::operator*(int64_t factor) const {
  if (factor == 0)
    return {0, 1, 1, 1};
  int64_t first = (factor < 0 ? getLast() : begin) * factor;
  return {first, step * std::abs(factor), count, most};
}

Span Span::clamp(int64_t size) const {
  size = ShapedType::isDynamic(size) ? limit : size;
  int64_t low = begin < 0 ? llvm::divideCeil(-begin, step) : 0;
  int64_t high = getLast() >= size ? (getLast() - size) / step + 1 : 0;
  int64_t left = std::max<int64_t>(0, count - low - high);
  return {begin + low * step, step, left, std::min(most, left)};
}

std::optional<Span> getSpan(AffineExpr expr, ArrayRef<Span> dims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Span{constant.getValue()};
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dim.getPosition() < dims.size()
               ? std::optional<Span>(dims[dim.getPosition()])
               : std::nullopt;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  auto lhs = getSpan(binary.getLHS(), dims);
  auto rhs = lhs ? getSpan(binary.getRHS(), dims) : std::nullopt;
  if (!rhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return *lhs + *rhs;
  if (expr.getKind() == AffineExprKind::Mul && rhs->count == 1)
    return *lhs * rhs->begin;
  return std::nullopt;
}

/// The span of a loop's counter.
static std::optional<Span> getSpan(OpFoldResult lower, OpFoldResult upper,
                                   OpFoldResult step) {
  auto first = getConstantIntValue(lower), end = getConstantIntValue(upper),
       by = getConstantIntValue(step);
  if (!first || !end || !by || *by <= 0)
    return std::nullopt;
  int64_t count =
      std::max<int64_t>(0, llvm::divideCeilSigned(*end - *first, *by));
  return Span{*first, *by, count, count};
}

/// The spans of a loop's counters, in order.
static std::optional<SmallVector<Span>> getCounters(LoopLikeOpInterface loop) {
  auto lowers = loop.getLoopLowerBounds(), uppers = loop.getLoopUpperBounds(),
       steps = loop.getLoopSteps();
  if (!lowers || !uppers || !steps)
    return std::nullopt;
  SmallVector<Span> spans;
  for (auto [lower, upper, step] : llvm::zip(*lowers, *uppers, *steps)) {
    auto span = getSpan(lower, upper, step);
    if (!span)
      return std::nullopt;
    spans.push_back(*span);
  }
  return spans;
}

static std::optional<Span> getArgumentSpan(BlockArgument argument) {
  auto loop = dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
  auto counters = loop ? loop.getLoopInductionVars() : std::nullopt;
  auto spans = counters ? getCounters(loop) : std::nullopt;
  if (!spans)
    return std::nullopt;
  for (auto [counter, span] : llvm::zip(*counters, *spans))
    if (counter == argument)
      return span;
  return std::nullopt;
}

static std::optional<Span> getApplySpan(affine::AffineApplyOp op) {
  AffineMap map = op.getAffineMap();
  SmallVector<Span> dims;
  for (Value operand : op.getMapOperands()) {
    auto span = getSpan(OpFoldResult(operand));
    if (!span)
      return std::nullopt;
    dims.push_back(*span);
  }
  // Symbols are numbered after the dimensions.
  SmallVector<AffineExpr> symbols;
  for (unsigned i = 0; i < map.getNumSymbols(); ++i)
    symbols.push_back(getAffineDimExpr(map.getNumDims() + i, op.getContext()));
  return getSpan(map.getResult(0).replaceSymbols(symbols), dims);
}

std::optional<Span> getSpan(OpFoldResult index) {
  if (auto constant = getConstantIntValue(index))
    return Span{*constant};
  auto value = dyn_cast<Value>(index);
  if (!value)
    return std::nullopt;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return getArgumentSpan(argument);
  Operation *op = value.getDefiningOp();
  if (auto dim = dyn_cast<linalg::IndexOp>(op)) {
    auto around = op->getParentOfType<linalg::LinalgOp>();
    int64_t size = around ? around.getStaticLoopRanges()[dim.getDim()]
                          : ShapedType::kDynamic;
    if (ShapedType::isDynamic(size))
      return std::nullopt;
    return Span::getRange(size);
  }
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return getApplySpan(apply);
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return std::nullopt;
  auto lhs = getSpan(OpFoldResult(op->getOperand(0)));
  auto rhs = lhs ? getSpan(OpFoldResult(op->getOperand(1))) : std::nullopt;
  if (!rhs)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return *lhs + *rhs;
  if (isa<arith::SubIOp>(op))
    return *lhs + *rhs * -1;
  if (lhs->count == 1)
    return *rhs * lhs->begin;
  return rhs->count == 1 ? std::optional<Span>(*lhs * rhs->begin)
                         : std::nullopt;
}

/// The number of times that an op's direct contents run in one run of it.
static std::optional<int64_t> countInner(Operation *op) {
  SmallVector<int64_t> sizes;
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    sizes = structured.getStaticLoopRanges();
  if (auto contract = dyn_cast<kernel::ContractOp>(op)) {
    SmallVector<int64_t> all = kernel::getStaticSizes(contract);
    AffineMap results = contract.getMaps().back();
    for (auto [dim, size] : llvm::enumerate(all))
      if (results.isFunctionOfDim(dim))
        sizes.push_back(size);
  }
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    auto counters = getCounters(loop);
    if (!counters)
      return std::nullopt;
    for (const Span &counter : *counters)
      sizes.push_back(counter.count);
  }
  int64_t count = 1;
  for (int64_t size : sizes) {
    if (ShapedType::isDynamic(size))
      return std::nullopt;
    count = multiply(count, size);
  }
  return count;
}

std::optional<int64_t> countRuns(Operation *op, Operation *root) {
  int64_t count = 1;
  while (op != root) {
    op = op->getParentOp();
    auto inner = countInner(op);
    if (!inner)
      return std::nullopt;
    count = multiply(count, *inner);
  }
  return count;
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

static int64_t countMax(ArrayRef<Span> box) {
  int64_t count = 1;
  for (const Span &span : box)
    count = multiply(count, span.most);
  return count;
}

static bool contains(ArrayRef<Span> box, ArrayRef<Span> other) {
  return box.size() == other.size() &&
         llvm::all_of(llvm::zip(box, other), [](auto pair) {
           return std::get<0>(pair).contains(std::get<1>(pair));
         });
}

static bool isWhole(ArrayRef<Span> box, ArrayRef<int64_t> sizes) {
  return llvm::all_of(llvm::zip(box, sizes), [](auto pair) {
    return std::get<0>(pair).isWhole(std::get<1>(pair));
  });
}

static SmallVector<Span, 4> getWhole(MemRefType type) {
  SmallVector<Span, 4> box;
  for (int64_t size : type.getShape())
    box.push_back(Span::getRange(size));
  return box;
}

/// The box in the source of a subview; all of it where the offset is not known.
static SmallVector<Span, 4> moveBox(memref::SubViewOp view,
                                    ArrayRef<Span> box) {
  llvm::SmallBitVector dropped = view.getDroppedDims();
  ArrayRef<int64_t> sizes = view.getSourceType().getShape();
  SmallVector<Span, 4> moved;
  size_t next = 0;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    Span inner = dropped[dim] ? Span() : box[next++];
    auto offset = getSpan(view.getMixedOffsets()[dim]);
    auto stride = getConstantIntValue(view.getMixedStrides()[dim]);
    if (offset && stride)
      moved.push_back((inner * *stride + *offset).clamp(size));
    else
      moved.push_back(Span::getRange(size));
  }
  return moved;
}

/// Finds the memref in whose coordinates the box can be expressed.
std::pair<Value, MemoryFootprint::Box>
MemoryFootprint::findFrame(Value memref, ArrayRef<Span> given) {
  Box box(given);
  while (Operation *op = memref.getDefiningOp()) {
    if (auto view = dyn_cast<memref::SubViewOp>(op)) {
      box = moveBox(view, box);
      memref = view.getSource();
      continue;
    }
    if (!isa<memref::CastOp, memref::CollapseShapeOp, memref::ExpandShapeOp,
             memref::ReinterpretCastOp>(op))
      break;
    Value source = op->getOperand(0);
    auto from = cast<MemRefType>(source.getType()),
         to = cast<MemRefType>(memref.getType());
    if (!from.hasStaticShape() || !to.hasStaticShape() ||
        from.getNumElements() != to.getNumElements() ||
        !isWhole(box, to.getShape()))
      break;
    box = getWhole(from);
    memref = source;
  }
  return {memref, box};
}

void MemoryFootprint::add(Value memref, ArrayRef<Span> given, int64_t most) {
  std::pair<Value, Box> found = findFrame(memref, given);
  const Box &box = found.second;
  Frame &frame = frames[found.first];
  bool isExact =
      llvm::all_of(box, [](const Span &span) { return span.isExact(); });
  if (!isExact || countMax(box) > most) {
    frame.others = mp::add(frame.others, std::min(countMax(box), most));
    return;
  }
  for (const Box &other : frame.boxes)
    if (mp::contains(other, box))
      return;
  llvm::erase_if(frame.boxes,
                 [&](const Box &other) { return mp::contains(box, other); });
  frame.boxes.push_back(box);
}

bool MemoryFootprint::contains(Value memref, ArrayRef<Span> given) const {
  std::pair<Value, Box> place = findFrame(memref, given);
  auto found = frames.find(place.first);
  return found != frames.end() &&
         llvm::any_of(found->second.boxes, [&](const Box &other) {
           return mp::contains(other, place.second);
         });
}

/// The size of a union of boxes without gaps: counts the cells between all
/// begins and ends that are in a box.
static int64_t countUnion(ArrayRef<SmallVector<Span, 4>> boxes) {
  size_t rank = boxes.front().size();
  SmallVector<SmallVector<int64_t>> cuts(rank);
  int64_t cells = 1;
  for (size_t dim = 0; dim < rank; ++dim) {
    for (const auto &box : boxes) {
      cuts[dim].push_back(box[dim].begin);
      cuts[dim].push_back(box[dim].getLast() + 1);
    }
    llvm::sort(cuts[dim]);
    cuts[dim].erase(llvm::unique(cuts[dim]), cuts[dim].end());
    cells *= cuts[dim].size() - 1;
  }
  int64_t total = 0;
  for (int64_t cell = 0; cell < cells; ++cell) {
    SmallVector<Span, 4> place;
    int64_t rest = cell, count = 1;
    for (size_t dim = 0; dim < rank; ++dim) {
      size_t at = rest % (cuts[dim].size() - 1);
      rest /= cuts[dim].size() - 1;
      int64_t size = cuts[dim][at + 1] - cuts[dim][at];
      place.push_back({cuts[dim][at], 1, size, size});
      count *= size;
    }
    if (llvm::any_of(boxes,
                     [&](ArrayRef<Span> box) { return contains(box, place); }))
      total += count;
  }
  return total;
}

int64_t MemoryFootprint::countElements(const Frame &frame) {
  // More boxes would take long, and do not occur.
  constexpr size_t maxBoxes = 8;
  std::vector<Box> dense;
  int64_t sum = frame.others;
  for (const Box &box : frame.boxes) {
    bool isDense = llvm::all_of(box, [](const Span &span) {
      return span.step == 1 || span.count == 1;
    });
    if (isDense && countMax(box) > 0 && dense.size() < maxBoxes)
      dense.push_back(box);
    else
      sum = mp::add(sum, countMax(box));
  }
  if (!dense.empty())
    sum = mp::add(sum, countUnion(dense));
  return sum;
}

/// Memrefs of one root have at most its bytes together.
uint64_t MemoryFootprint::countBytes() const {
  llvm::MapVector<Value, uint64_t> roots;
  for (const auto &[value, frame] : frames) {
    auto type = cast<MemRefType>(value.getType());
    int64_t elements = countElements(frame);
    if (!type.hasStaticShape())
      continue;
    auto all = uint64_t(mp::countBytes(type));
    int64_t size = type.getNumElements();
    uint64_t bytes = size ? all / size * std::min(elements, size) : 0;
    roots[getRoot(value)] += bytes;
  }
  uint64_t total = 0;
  for (auto [root, bytes] : roots) {
    auto type = cast<MemRefType>(root.getType());
    total += type.hasStaticShape()
                 ? std::min<uint64_t>(bytes, mp::countBytes(type))
                 : bytes;
  }
  return total;
}

} // namespace mp
