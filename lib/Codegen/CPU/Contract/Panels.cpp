//===- Panels.cpp - Packing operands into panels --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three ways, by what is contiguous in memory: along the lanes, vectors are
// loaded and stored as they are; along the summed dimension, squares are
// loaded and transposed in registers; where neither is known, elements are
// gathered. Where a vector goes beyond the end of a line (a row of an image),
// the pieces of lines are loaded one after the other, each under a mask.
//
//===----------------------------------------------------------------------===//

#include "Panels.h"
#include "Lanes.h"

using namespace mlir;

namespace mp::kernel {

Value PanelFormat::getSize(LoopBuilder &e, Value depth) const {
  return e.mul(e.ceilDiv(depth, chunk()), chunk() * width);
}

Side::Side(LoopBuilder &e, Contraction &contraction, unsigned operand,
           GroupKind kind, const PanelFormat &format, bool alongDepth)
    : contraction(contraction), view(contraction.views[operand]),
      operand(operand), kind(kind), format(format),
      total(contraction.groups[kind].total), alongDepth(alongDepth) {
  laneOffsets = contraction.getOffsets(e, kind, operand);
  depthOffsets = contraction.getOffsets(e, K, operand);
  for (auto [bound, size] : llvm::zip_equal(view.shape.bounds, view.boundSizes))
    checks.push_back({contraction.getCoordinates(e, kind, bound),
                      contraction.getCoordinates(e, K, bound), &bound, size,
                      Value()});
}

void Side::enterBatch(LoopBuilder &e, Value batch) {
  base = contraction.getBatchOffset(e, batch, operand);
  for (Checked &check : checks)
    check.base = contraction.getBatchCoordinate(e, batch, *check.bound);
}

Value isRun(LoopBuilder &e, Value offsets, Value first, Value mask,
            int64_t step) {
  auto type = cast<VectorType>(offsets.getType());
  int64_t lanes = type.getDimSize(0);
  Value iota = e.iota(type.getElementType(), lanes);
  if (step != 1)
    iota = e.mul(iota, e.splat(e.index(step), lanes));
  Value run = e.add(e.splat(first, lanes), iota);
  Value same = e.equal(offsets, run);
  Value unused = arith::XOrIOp::create(
      e, mask,
      arith::ConstantOp::create(
          e, DenseElementsAttr::get(cast<VectorType>(mask.getType()), true)));
  Value good = arith::OrIOp::create(e, same, unused);
  return vector::ReductionOp::create(e, vector::CombiningKind::AND, good);
}

Value Side::checkBounds(LoopBuilder &e, Value mask, ArrayRef<Value> coordinates,
                        ArrayRef<Value> others) {
  int64_t lanes = cast<VectorType>(mask.getType()).getDimSize(0);
  for (auto [check, coordinate, other] :
       llvm::zip_equal(checks, coordinates, others)) {
    Value place = e.add(coordinate, e.splat(other, lanes));
    // Unsigned, so that what is negative is too large.
    Value within = arith::CmpIOp::create(e, arith::CmpIPredicate::ult, place,
                                         e.splat(check.size, lanes));
    mask = arith::AndIOp::create(e, mask, within);
  }
  return mask;
}

/// A mask of elements that are `step`, 1 or 2, apart, for all there are.
static Value spread(LoopBuilder &e, Value mask, int64_t step) {
  if (step == 1)
    return mask;
  int64_t lanes = cast<VectorType>(mask.getType()).getDimSize(0);
  return vector::InterleaveOp::create(e, mask, e.zeros(e.getI1Type(), lanes));
}

/// How the lanes from `first` on are reached where they may be no single run.
Side::Reach Side::getReach(LoopBuilder &e, GroupKind group,
                           const IndexFunction &offsets, Value first,
                           int64_t lanes) {
  // As many masked loads take about as long as gathering.
  constexpr int64_t mostRuns = 6;
  Reach reach{offsets.step, Value(), {}};
  Value begin = offsets.at(e, first);
  int64_t least = contraction.shape.getLeastLength(group);
  int64_t runs = least > 0 ? getMostRuns(lanes, least) : mostRuns + 1;
  if (offsets.step == 0 || runs > mostRuns) {
    reach.offsets =
        e.sub(offsets.vectorAt(e, first, lanes), e.splat(begin, lanes));
    return reach;
  }
  Value length = contraction.groups[group].sizes.back();
  Value last = e.sub(contraction.groups[group].total, e.index(1));
  Value start = e.index(0), end = e.sub(length, e.rem(first, length));
  for (int64_t run = 0; run < runs; ++run) {
    Value shift = offsets.at(e, e.min(e.add(first, start), last));
    shift = e.sub(e.sub(shift, begin), e.mul(start, offsets.step));
    Value mask = e.lanesBetween(start, end, lanes);
    reach.runs.push_back({spread(e, mask, offsets.step), shift});
    start = end;
    end = e.add(end, length);
  }
  return reach;
}

Value Side::load(LoopBuilder &e, Value place, const Reach &reach, Value mask) {
  int64_t lanes = cast<VectorType>(mask.getType()).getDimSize(0);
  if (reach.offsets)
    return e.castFloat(e.gather(view.memory, place, reach.offsets, mask),
                       view.shape.rounding, format.element);
  VectorType type = e.vectorType(view.shape.element, lanes * reach.step);
  Value line = arith::ConstantOp::create(e, e.getZeroAttr(type));
  auto read = [&](Value from, Value present) {
    line = vector::MaskedLoadOp::create(e, type, view.memory, ValueRange{from},
                                        present, line);
  };
  mask = spread(e, mask, reach.step);
  if (reach.runs.empty())
    read(place, mask);
  for (const Run &run : reach.runs)
    read(e.add(place, run.shift), arith::AndIOp::create(e, mask, run.mask));
  if (reach.step == 2)
    line = vector::DeinterleaveOp::create(e, line).getRes1();
  return e.castFloat(line, view.shape.rounding, format.element);
}

/// A vector of units, of which the first `units` are stored.
void Side::storeVector(LoopBuilder &e, Value value, Value panel, Value at,
                       int64_t units) {
  int64_t lanes = cast<VectorType>(value.getType()).getDimSize(0);
  if (units == format.units) {
    vector::StoreOp::create(e, value, panel, ValueRange{at});
    return;
  }
  Value mask = e.firstLanes(e.index(units * format.perUnit), lanes);
  vector::MaskedStoreOp::create(e, panel, ValueRange{at}, mask, value);
}

/// The part from lane `begin` of the panel on, of `width` lanes.
Side::Part Side::getPart(LoopBuilder &e, const Panel &panel, Value begin,
                         int64_t width) {
  Part part;
  part.width = width;
  part.first = e.add(panel.first, begin);
  part.count = e.min(e.sub(total, part.first), e.index(width));
  part.mask = e.firstLanes(part.count, format.units);
  part.depth = panel.depth;
  part.end = panel.count;
  part.panel = panel.memory;
  part.at = e.add(
      panel.at, e.mul(begin, format.byLane ? format.chunk() : format.perUnit));
  if (alongDepth)
    return part;
  for (Checked &check : checks)
    part.coordinates.push_back(
        e.add(check.lane.vectorAt(e, part.first, format.units),
              e.splat(check.base, format.units)));
  part.place = e.add(base, laneOffsets.at(e, part.first));
  part.reach.step = laneOffsets.step;
  return part;
}

int64_t Side::getNumTogether() const {
  if (alongDepth || laneOffsets.step != 1)
    return 1;
  int64_t line = 512 / view.shape.element.getIntOrFloatBitWidth();
  return std::max(line / format.width, int64_t(1));
}

void Side::pack(LoopBuilder &e, ArrayRef<Place> places, Value depth,
                Value count, Value memory) {
  SmallVector<Panel> panels;
  SmallVector<Part> parts;
  for (const Place &place : places) {
    panels.push_back({place.first, depth, count, memory, place.at});
    for (int64_t begin = 0; begin < format.width; begin += format.units)
      parts.push_back(getPart(e, panels.back(), e.index(begin),
                              std::min(format.units, format.width - begin)));
  }
  if (!alongDepth)
    return packAlongLanes(e, panels, parts);
  for (const Part &part : parts)
    packAlongDepth(e, part);
}

/// `vectors` are lanes, each with the units of a chunk from `unit` on.
void Side::storeLanes(LoopBuilder &e, const Part &part, Value unit,
                      ArrayRef<Value> vectors) {
  if (!format.byLane)
    return storeUnits(e, part, unit, transpose(e, vectors));
  Value at = e.add(part.at, e.mul(unit, format.perUnit * format.width));
  for (auto [lane, vector] : llvm::enumerate(vectors.take_front(part.width)))
    storeVector(e, vector, part.panel, e.add(at, lane * format.chunk()),
                format.units);
}

/// `vectors` are units from `unit` on, each with all lanes of the part.
void Side::storeUnits(LoopBuilder &e, const Part &part, Value unit,
                      ArrayRef<Value> vectors) {
  if (format.byLane)
    return storeLanes(e, part, unit, transpose(e, vectors));
  for (auto [i, vector] : llvm::enumerate(vectors)) {
    Value at = e.mul(e.add(unit, i), format.perUnit * format.width);
    storeVector(e, vector, part.panel, e.add(part.at, at), part.width);
  }
}

/// The `i`-th elements of a part's depth; none behind the end.
Value Side::readElements(LoopBuilder &e, const Part &part, Value i,
                         bool mayExceed) {
  Value k = e.add(part.depth, i);
  Value mask = part.mask;
  if (mayExceed) {
    Value count =
        arith::SelectOp::create(e, e.less(i, part.end), part.count, e.index(0));
    mask = e.firstLanes(count, format.units);
  }
  SmallVector<Value> others;
  for (Checked &check : checks)
    others.push_back(check.depth.at(e, k));
  mask = checkBounds(e, mask, part.coordinates, others);
  Value from = e.add(part.place, depthOffsets.at(e, k));
  // What the next panels read of this line: too many lines are read in turn for
  // the processor to foresee it.
  if (!part.reach.offsets) {
    int64_t ahead = format.width * getNumTogether() * part.reach.step;
    e.prefetch(view.memory, e.add(from, ahead), false);
  }
  return load(e, from, part.reach, mask);
}

Value Side::readUnit(LoopBuilder &e, const Part &part, Value unit,
                     bool mayExceed) {
  if (format.perUnit == 1)
    return readElements(e, part, unit, mayExceed);
  Value i = e.mul(unit, 2);
  Value even = readElements(e, part, i, mayExceed);
  Value odd = readElements(e, part, e.add(i, 1), mayExceed);
  return vector::InterleaveOp::create(e, even, odd);
}

void Side::packLanes(LoopBuilder &e, ArrayRef<Part> parts) {
  int64_t together = format.byLane ? format.units : 1;
  auto units = [&](Value begin, Value end, bool mayExceed) {
    e.loop(begin, end, together, [&](Value unit) {
      for (const Part &part : parts) {
        SmallVector<Value> vectors;
        for (int64_t i = 0; i < together; ++i)
          vectors.push_back(readUnit(e, part, e.add(unit, i), mayExceed));
        storeUnits(e, part, unit, vectors);
      }
    });
  };
  Value end = parts.front().end;
  Value whole = e.mul(e.div(end, e.index(format.perUnit * together)), together);
  Value padded = e.ceilDiv(end, format.perUnit);
  if (format.wholeChunks || format.byLane)
    padded = e.mul(e.ceilDiv(end, format.chunk()), format.units);
  units(e.index(0), whole, false);
  if (format.perUnit > 1 || together > 1)
    units(whole, padded, true);
}

void Side::packAlongLanes(LoopBuilder &e, ArrayRef<Panel> panels,
                          ArrayRef<Part> parts) {
  if (laneOffsets.step != 0 && !laneOffsets.table)
    return packLanes(e, parts);
  auto packApart = [&] {
    auto pack = [&](Part part) {
      part.reach = getReach(e, kind, laneOffsets, part.first, format.units);
      packLanes(e, part);
    };
    // Panels of columns are whole vectors.
    if (format.width % format.units != 0) {
      llvm::for_each(parts, pack);
      return;
    }
    for (const Panel &panel : panels)
      e.loop(e.index(0), e.index(format.width), format.units, [&](Value begin) {
        pack(getPart(e, panel, begin, format.units));
      });
  };
  if (laneOffsets.step == 0)
    return packApart();
  Value areRuns;
  for (const Part &part : parts) {
    Value offsets = laneOffsets.vectorAt(e, part.first, format.units);
    Value isOne = isRun(e, offsets, laneOffsets.at(e, part.first), part.mask,
                        laneOffsets.step);
    areRuns = areRuns ? arith::AndIOp::create(e, areRuns, isOne) : isOne;
  }
  e.ifElse(areRuns, [&] { packLanes(e, parts); }, packApart);
}

SmallVector<Value> Side::transpose(LoopBuilder &e, ArrayRef<Value> rows) {
  // Pairs move as one number.
  int64_t count = format.units;
  SmallVector<Value> current(rows);
  VectorType type = cast<VectorType>(rows.front().getType());
  auto cast = [&](VectorType to) {
    if (format.perUnit > 1)
      for (Value &value : current)
        value = vector::BitCastOp::create(e, to, value);
  };
  current.resize(count, arith::ConstantOp::create(e, e.getZeroAttr(type)));
  cast(e.vectorType(e.getI32Type(), count));
  current = mp::kernel::transpose(e, current);
  cast(type);
  return current;
}

void Side::packAlongDepth(LoopBuilder &e, const Part &part) {
  int64_t lanes = format.chunk();
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
  Value ahead;
  if (laneOffsets.factor && !laneOffsets.table)
    ahead = laneOffsets.at(e, e.index(format.width));
  e.loop(e.index(0), part.end, lanes, [&](Value i) {
    Value k = e.add(part.depth, i);
    Value mask = e.firstLanes(e.sub(part.end, i), lanes);
    Value offset = depthOffsets.at(e, k);
    SmallVector<Value> others;
    for (Checked &check : checks)
      others.push_back(check.depth.vectorAt(e, k, lanes));
    auto square = [&](const Reach &reach) {
      SmallVector<Value> rows;
      for (int64_t row = 0; row < part.width; ++row) {
        // The same piece of the line that is packed next there.
        if (ahead)
          e.prefetch(view.memory, e.add(places[row], e.add(offset, ahead)),
                     false);
        Value within = arith::AndIOp::create(e, mask, present[row]);
        within = checkBounds(e, within, others, coordinates[row]);
        rows.push_back(load(e, e.add(places[row], offset), reach, within));
      }
      storeLanes(e, part, e.div(i, e.index(format.perUnit)), rows);
    };
    if (!depthOffsets.table)
      return square({depthOffsets.step, Value(), {}});
    Reach reach = getReach(e, K, depthOffsets, k, lanes);
    Value isOne = isRun(e, depthOffsets.vectorAt(e, k, lanes), offset, mask,
                        depthOffsets.step);
    e.ifElse(
        isOne, [&] { square({depthOffsets.step, Value(), {}}); },
        [&] { square(reach); });
  });
}

} // namespace mp::kernel
