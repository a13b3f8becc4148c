//===- Panels.cpp - Packing operands into panels --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three ways, by what is contiguous in memory: along the lanes, vectors are
// loaded and stored as they are; along the summed dimension, squares are
// loaded and transposed in registers; where neither is known, or a table tells
// at run time that it does not hold here, elements are gathered.
//
//===----------------------------------------------------------------------===//

#include "Panels.h"

using namespace mlir;

namespace mp::kernel {

Side::Side(Emitter &e, Contraction &contraction, unsigned operand,
           GroupKind kind, int64_t width, int64_t lanes)
    : contraction(contraction), view(contraction.views[operand]),
      operand(operand), width(width), lanes(lanes),
      accumulator(contraction.op.getAccumulatorType()),
      total(contraction.groups[kind].total) {
  laneOffsets = contraction.getOffsets(e, kind, operand);
  depthOffsets = contraction.getOffsets(e, Depth, operand);
  for (const Bound &bound : view.bounds)
    checks.push_back({contraction.getCoordinates(e, kind, bound),
                      contraction.getCoordinates(e, Depth, bound), &bound,
                      Value()});
  auto shortDims =
      contraction.op->getAttrOfType<DenseBoolArrayAttr>(shortDimsName);
  const Group &group = contraction.groups[kind];
  bool shortLanes =
      shortDims && !group.dims.empty() &&
      llvm::all_of(group.dims.back(), [&](unsigned i) { return shortDims[i]; });
  transposed = depthOffsets.unit && (!laneOffsets.unit || shortLanes);
}

void Side::enterBatch(Emitter &e, Value batch) {
  base = contraction.getBatchOffset(e, batch, operand);
  for (Checked &check : checks)
    check.base = contraction.getBatchCoordinate(e, batch, *check.bound);
}

Value isRun(Emitter &e, Value offsets, Value first, Value mask) {
  auto type = cast<VectorType>(offsets.getType());
  int64_t lanes = type.getDimSize(0);
  Value run =
      e.add(e.splat(first, lanes), e.iota(type.getElementType(), lanes));
  Value same = e.equal(offsets, run);
  Value unused = arith::XOrIOp::create(
      e, mask,
      arith::ConstantOp::create(
          e, DenseElementsAttr::get(cast<VectorType>(mask.getType()), true)));
  Value good = arith::OrIOp::create(e, same, unused);
  return vector::ReductionOp::create(e, vector::CombiningKind::AND, good);
}

Side::Part Side::getPart(Emitter &e, Value first, int64_t begin) {
  Part part;
  part.begin = begin;
  part.width = std::min(lanes, width - begin);
  part.first = e.add(first, begin);
  part.count = e.min(e.sub(total, part.first), e.index(part.width));
  part.mask = e.firstLanes(part.count, lanes);
  return part;
}

Value Side::checkBounds(Emitter &e, Value mask, ArrayRef<Value> coordinates,
                        ArrayRef<Value> others) {
  for (auto [check, coordinate, other] :
       llvm::zip_equal(checks, coordinates, others)) {
    Value place = e.add(coordinate, e.splat(other, lanes));
    // Unsigned, so that what is negative is too large.
    Value within = arith::CmpIOp::create(e, arith::CmpIPredicate::ult, place,
                                         e.splat(check.bound->size, lanes));
    mask = arith::AndIOp::create(e, mask, within);
  }
  return mask;
}

Value Side::loadLine(Emitter &e, Value place, Value mask) {
  Value zeros = e.zeros(view.element, lanes);
  Value line = vector::MaskedLoadOp::create(e, zeros.getType(), view.memory,
                                            ValueRange{place}, mask, zeros);
  return e.castFloat(line, accumulator);
}

Value Side::gather(Emitter &e, Value place, Value offsets, Value mask) {
  Value zeros = e.zeros(view.element, lanes);
  Value line = vector::GatherOp::create(e, e.vectorType(view.element, lanes),
                                        view.memory, ValueRange{place}, offsets,
                                        mask, zeros);
  return e.castFloat(line, accumulator);
}

void Side::store(Emitter &e, Value value, const Part &part, Value panel,
                 Value at) {
  if (part.width == lanes) {
    vector::StoreOp::create(e, value, panel, ValueRange{at});
    return;
  }
  Value mask = e.firstLanes(e.index(part.width), lanes);
  vector::MaskedStoreOp::create(e, panel, ValueRange{at}, mask, value);
}

void Side::pack(Emitter &e, Value first, Value depth, Value count, Value panel,
                Value at) {
  for (int64_t begin = 0; begin < width; begin += lanes) {
    Part part = getPart(e, first, begin);
    if (transposed)
      packTransposed(e, part, depth, count, panel, e.add(at, begin));
    else
      packAlongLanes(e, part, depth, count, panel, e.add(at, begin));
  }
}

void Side::packAlongLanes(Emitter &e, const Part &part, Value depth,
                          Value count, Value panel, Value at) {
  SmallVector<Value> coordinates;
  for (Checked &check : checks)
    coordinates.push_back(e.add(check.lane.vectorAt(e, part.first, lanes),
                                e.splat(check.base, lanes)));
  Value place = e.add(base, laneOffsets.at(e, part.first));
  auto rows = [&](function_ref<Value(Value, Value)> read) {
    e.loop(count, [&](Value i) {
      Value k = e.add(depth, i);
      SmallVector<Value> others;
      for (Checked &check : checks)
        others.push_back(check.depth.at(e, k));
      Value mask = checkBounds(e, part.mask, coordinates, others);
      Value line = read(e.add(place, depthOffsets.at(e, k)), mask);
      store(e, line, part, panel, e.add(at, e.mul(i, width)));
    });
  };
  auto contiguous = [&] {
    rows([&](Value from, Value mask) { return loadLine(e, from, mask); });
  };
  auto loose = [&] {
    Value offsets = laneOffsets.vectorAt(e, part.first, lanes);
    Value own = e.sub(offsets, e.splat(laneOffsets.at(e, part.first), lanes));
    rows([&](Value from, Value mask) { return gather(e, from, own, mask); });
  };
  if (!laneOffsets.unit)
    return loose();
  if (!laneOffsets.table)
    return contiguous();
  Value offsets = laneOffsets.vectorAt(e, part.first, lanes);
  Value run = isRun(e, offsets, laneOffsets.at(e, part.first), part.mask);
  e.ifElse(run, contiguous, loose);
}

SmallVector<Value> Side::transpose(Emitter &e, ArrayRef<Value> rows) {
  // Interleaving row i with row i + n / 2, log2(n) times over.
  SmallVector<Value> current(rows);
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < lanes; ++i) {
    low.push_back(i / 2 + (i % 2) * lanes);
    high.push_back(lanes / 2 + i / 2 + (i % 2) * lanes);
  }
  for (int64_t step = 1; step < lanes; step *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < lanes / 2; ++i)
      for (ArrayRef<int64_t> order : {low, high})
        next.push_back(vector::ShuffleOp::create(
            e, current[i], current[i + lanes / 2], order));
    current = next;
  }
  return current;
}

void Side::packTransposed(Emitter &e, const Part &part, Value depth,
                          Value count, Value panel, Value at) {
  SmallVector<Value> places, present;
  SmallVector<SmallVector<Value>> coordinates;
  for (int64_t i = 0; i < part.width; ++i) {
    // Lanes behind the end read the first line, under an empty mask.
    Value valid = e.less(e.index(i), part.count);
    Value lane =
        arith::SelectOp::create(e, valid, e.add(part.first, i), e.index(0));
    present.push_back(e.splat(valid, lanes));
    places.push_back(e.add(base, laneOffsets.at(e, lane)));
    coordinates.emplace_back();
    for (Checked &check : checks)
      coordinates.back().push_back(e.add(check.lane.at(e, lane), check.base));
  }
  e.loop(e.index(0), count, lanes, [&](Value i) {
    Value k = e.add(depth, i);
    Value mask = e.firstLanes(e.sub(count, i), lanes);
    Value offset = depthOffsets.at(e, k);
    SmallVector<Value> others;
    for (Checked &check : checks)
      others.push_back(check.depth.vectorAt(e, k, lanes));
    auto read = [&](int64_t row, Value offsets) {
      Value within = arith::AndIOp::create(e, mask, present[row]);
      within = checkBounds(e, within, others, coordinates[row]);
      Value place = e.add(places[row], offset);
      return offsets ? gather(e, place, offsets, within)
                     : loadLine(e, place, within);
    };
    auto square = [&](Value offsets) {
      SmallVector<Value> rows;
      for (int64_t row = 0; row < part.width; ++row)
        rows.push_back(read(row, offsets));
      rows.resize(lanes, e.zeros(accumulator, lanes));
      for (auto [j, column] : llvm::enumerate(transpose(e, rows)))
        store(e, column, part, panel, e.add(at, e.mul(e.add(i, j), width)));
    };
    if (!depthOffsets.table)
      return square(Value());
    Value offsets = depthOffsets.vectorAt(e, k, lanes);
    e.ifElse(
        isRun(e, offsets, offset, mask), [&] { square(Value()); },
        [&] { square(e.sub(offsets, e.splat(offset, lanes))); });
  });
}

} // namespace mp::kernel
