//===- Panels.cpp - Packing operands into panels --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// There are three ways to pack, depending on the contiguous dimension. If the
// lanes are contiguous, vectors are loaded and stored as they are. If the
// summed dimension is, squares are loaded and transposed in registers. If
// neither is known to be, elements are gathered. If a vector extends beyond the
// end of a line (a row of an image), the pieces of lines are loaded one after
// the other, each under a mask.
//
//===----------------------------------------------------------------------===//

#include "Panels.h"
#include "Lanes.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace mp::kernel {

Value PanelFormat::getSize(LoopBuilder &e, Value depth) const {
  return e.mul(e.ceilDiv(depth, chunk()), chunk() * width);
}

PackedOperand::Line PackedOperand::getLine(LoopBuilder &e, GroupKind group,
                                           int64_t lanes) {
  const Group &dimensions = contraction.groups[group];
  Line line;
  line.offsets = contraction.getOffsets(e, group, operand);
  line.total = dimensions.total;
  if (!line.offsets.table)
    return line;
  line.length = dimensions.sizes.back();
  if (int64_t least = contraction.shape.getMinLength(group); least > 0)
    line.maxRuns = getMaxRuns(lanes, least);
  return line;
}

PackedOperand::PackedOperand(LoopBuilder &e, Contraction &contraction,
                             unsigned operand, GroupKind kind,
                             const PanelFormat &format, bool alongDepth)
    : contraction(contraction), operand(operand), format(format),
      alongDepth(alongDepth) {
  const View &view = contraction.views[operand];
  element = view.shape.element;
  rounding = view.shape.rounding;
  memory = view.memory;
  laneLine = getLine(e, kind, format.vectorKPacks);
  depthLine = getLine(e, K, format.chunk());
  for (auto [bound, size] : llvm::zip_equal(view.shape.bounds, view.boundSizes))
    checks.push_back({contraction.getCoordinates(e, kind, bound),
                      contraction.getCoordinates(e, K, bound), &bound, size,
                      Value()});
}

void PackedOperand::enterBatch(LoopBuilder &e, Value batch) {
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

Value PackedOperand::checkBounds(LoopBuilder &e, Value mask,
                                 ArrayRef<Value> coordinates,
                                 ArrayRef<Value> others) {
  int64_t lanes = cast<VectorType>(mask.getType()).getDimSize(0);
  for (auto [check, coordinate, other] :
       llvm::zip_equal(checks, coordinates, others)) {
    Value place = e.add(coordinate, e.splat(other, lanes));
    // The comparison is unsigned: negative values are too large.
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

/// The access to the lanes from `first` on, which may not be a single run.
PackedOperand::VectorAccess PackedOperand::getAccess(LoopBuilder &e,
                                                     const Line &line,
                                                     Value first,
                                                     int64_t lanes) {
  // A gather takes about as long as so many masked loads.
  constexpr int64_t worthRuns = 6;
  const IndexFunction &offsets = line.offsets;
  VectorAccess access{offsets.step, Value(), {}};
  Value begin = offsets.at(e, first);
  if (offsets.step == 0 || line.maxRuns == 0 || line.maxRuns > worthRuns) {
    access.offsets =
        e.sub(offsets.vectorAt(e, first, lanes), e.splat(begin, lanes));
    return access;
  }
  Value last = e.sub(line.total, e.index(1));
  Value start = e.index(0), end = e.sub(line.length, e.rem(first, line.length));
  for (int64_t run = 0; run < line.maxRuns; ++run) {
    Value shift = offsets.at(e, e.min(e.add(first, start), last));
    shift = e.sub(e.sub(shift, begin), e.mul(start, offsets.step));
    Value mask = e.lanesBetween(start, end, lanes);
    access.runs.push_back({spread(e, mask, offsets.step), shift});
    start = end;
    end = e.add(end, line.length);
  }
  return access;
}

Value PackedOperand::load(LoopBuilder &e, Value place,
                          const VectorAccess &access, Value mask) {
  int64_t lanes = cast<VectorType>(mask.getType()).getDimSize(0);
  if (access.offsets)
    return e.castFloat(e.gather(memory, place, access.offsets, mask), rounding,
                       format.element);
  VectorType type = e.vectorType(element, lanes * access.step);
  Value line = arith::ConstantOp::create(e, e.getZeroAttr(type));
  auto read = [&](Value from, Value present) {
    line = vector::MaskedLoadOp::create(e, type, memory, ValueRange{from},
                                        present, line);
  };
  mask = spread(e, mask, access.step);
  if (access.runs.empty())
    read(place, mask);
  for (const Segment &run : access.runs)
    read(e.add(place, run.shift), arith::AndIOp::create(e, mask, run.mask));
  if (access.step == 2)
    line = vector::DeinterleaveOp::create(e, line).getRes1();
  return e.castFloat(line, rounding, format.element);
}

/// Stores the first `kPacks` of a vector of k-packs.
void PackedOperand::storeVector(LoopBuilder &e, Value value, Value panel,
                                Value at, int64_t kPacks) {
  int64_t lanes = cast<VectorType>(value.getType()).getDimSize(0);
  if (kPacks == format.vectorKPacks) {
    vector::StoreOp::create(e, value, panel, ValueRange{at});
    return;
  }
  Value mask = e.firstLanes(e.index(kPacks * format.kPack), lanes);
  vector::MaskedStoreOp::create(e, panel, ValueRange{at}, mask, value);
}

/// The lanes from `begin` of the panel on, as many as `width`.
PackedOperand::LaneGroup PackedOperand::getLaneGroup(LoopBuilder &e,
                                                     const Panel &panel,
                                                     Value begin,
                                                     int64_t width) {
  LaneGroup laneGroup;
  laneGroup.width = width;
  laneGroup.first = e.add(panel.first, begin);
  laneGroup.count =
      e.min(e.sub(laneLine.total, laneGroup.first), e.index(width));
  laneGroup.mask = e.firstLanes(laneGroup.count, format.vectorKPacks);
  laneGroup.depth = panel.depth;
  laneGroup.end = panel.count;
  laneGroup.panel = panel.memory;
  laneGroup.at = e.add(
      panel.at, e.mul(begin, format.byLane ? format.chunk() : format.kPack));
  if (alongDepth)
    return laneGroup;
  for (Checked &check : checks)
    laneGroup.coordinates.push_back(
        e.add(check.lane.vectorAt(e, laneGroup.first, format.vectorKPacks),
              e.splat(check.base, format.vectorKPacks)));
  laneGroup.place = e.add(base, laneLine.offsets.at(e, laneGroup.first));
  laneGroup.access.step = laneLine.offsets.step;
  return laneGroup;
}

int64_t PackedOperand::getNumTogether() const {
  if (alongDepth || laneLine.offsets.step != 1)
    return 1;
  int64_t line = 512 / element.getIntOrFloatBitWidth();
  return std::max(line / format.width, int64_t(1));
}

void PackedOperand::emitPack(LoopBuilder &e, ArrayRef<Panel> panels) {
  if (alongDepth) {
    for (const Panel &panel : panels)
      packAlongDepth(e, panel);
    return;
  }
  SmallVector<LaneGroup> laneGroups;
  for (const Panel &panel : panels)
    for (int64_t begin = 0; begin < format.width; begin += format.vectorKPacks)
      laneGroups.push_back(
          getLaneGroup(e, panel, e.index(begin),
                       std::min(format.vectorKPacks, format.width - begin)));
  packAlongLanes(e, panels, laneGroups);
}

void PackedOperand::forEachValue(function_ref<void(Value &)> visit) {
  visit(memory);
  visit(base);
  for (Line *line : {&laneLine, &depthLine}) {
    visit(line->offsets.factor);
    visit(line->offsets.table);
    visit(line->total);
    visit(line->length);
  }
  for (Checked &check : checks) {
    for (IndexFunction *function : {&check.lane, &check.depth}) {
      visit(function->factor);
      visit(function->table);
    }
    visit(check.size);
    visit(check.base);
  }
}

/// The constant that a value is, or null.
static TypedAttr getConstant(Value value) {
  TypedAttr constant;
  if (value)
    matchPattern(value, m_Constant(&constant));
  return constant;
}

std::string PackedOperand::getFunctionName(ArrayRef<Panel> panels) {
  std::string form;
  llvm::raw_string_ostream os(form);
  os << element << " " << rounding << " " << format.element << " "
     << format.width << " " << format.vectorKPacks << " " << format.kPack << " "
     << format.byLane << format.wholeChunks << alongDepth << " "
     << panels.size() << " " << panels.front().memory.getType();
  for (const Line *line : {&laneLine, &depthLine})
    os << " " << line->offsets.step << " " << line->maxRuns;
  forEachValue([&](Value &value) {
    os << " ";
    if (Attribute constant = getConstant(value))
      os << constant;
    else if (value)
      os << value.getType();
  });
  std::string name;
  llvm::raw_string_ostream(name)
      << "kernel_pack_" << element << "_" << format.width << "_"
      << (alongDepth ? "depth" : "lanes") << "_"
      << llvm::utohexstr(llvm::xxh3_64bits(form));
  return name;
}

func::FuncOp PackedOperand::getFunction(ModuleOp module, StringRef name,
                                        ArrayRef<Panel> panels,
                                        ArrayRef<Value> arguments) {
  if (auto found = module.lookupSymbol<func::FuncOp>(name))
    return found;
  LoopBuilder e(module.getLoc(), module.getContext());
  e.setInsertionPointToStart(module.getBody());
  auto function = func::FuncOp::create(
      e, name, e.getFunctionType(ValueRange(arguments).getTypes(), {}));
  function.setPrivate();
  e.setInsertionPointToStart(function.addEntryBlock());
  unsigned next = 0;
  auto replace = [&](Value &value) {
    if (TypedAttr constant = getConstant(value))
      value = arith::ConstantOp::create(e, constant);
    else if (value)
      value = function.getArgument(next++);
  };
  PackedOperand own(*this);
  own.forEachValue(replace);
  SmallVector<Panel> ownPanels(panels);
  for (Panel &panel : ownPanels)
    for (Value *value :
         {&panel.first, &panel.depth, &panel.count, &panel.memory, &panel.at})
      *value = function.getArgument(next++);
  own.emitPack(e, ownPanels);
  func::ReturnOp::create(e);
  return function;
}

void PackedOperand::pack(LoopBuilder &e, ArrayRef<PanelStart> starts,
                         Value depth, Value count, Value memory) {
  SmallVector<Panel> panels;
  for (const PanelStart &start : starts)
    panels.push_back({start.first, depth, count, memory, start.at});
  SmallVector<Value> arguments;
  forEachValue([&](Value &value) {
    if (value && !getConstant(value))
      arguments.push_back(value);
  });
  for (const Panel &panel : panels)
    arguments.append(
        {panel.first, panel.depth, panel.count, panel.memory, panel.at});
  auto module = contraction.op->getParentOfType<ModuleOp>();
  func::CallOp::create(
      e, getFunction(module, getFunctionName(panels), panels, arguments),
      arguments);
}

/// `vectors` are lanes, each with the k-packs of a chunk from `kPackIndex` on.
void PackedOperand::storeLanes(LoopBuilder &e, const LaneGroup &laneGroup,
                               Value kPackIndex, ArrayRef<Value> vectors) {
  if (!format.byLane)
    return storeKPacks(e, laneGroup, kPackIndex, transpose(e, vectors));
  Value at =
      e.add(laneGroup.at, e.mul(kPackIndex, format.kPack * format.width));
  for (auto [lane, vector] :
       llvm::enumerate(vectors.take_front(laneGroup.width)))
    storeVector(e, vector, laneGroup.panel, e.add(at, lane * format.chunk()),
                format.vectorKPacks);
}

/// `vectors` are k-packs from `kPackIndex` on, each with all lanes of the
/// group.
void PackedOperand::storeKPacks(LoopBuilder &e, const LaneGroup &laneGroup,
                                Value kPackIndex, ArrayRef<Value> vectors) {
  if (format.byLane)
    return storeLanes(e, laneGroup, kPackIndex, transpose(e, vectors));
  for (auto [i, vector] : llvm::enumerate(vectors)) {
    Value at = e.mul(e.add(kPackIndex, i), format.kPack * format.width);
    storeVector(e, vector, laneGroup.panel, e.add(laneGroup.at, at),
                laneGroup.width);
  }
}

/// The `i`-th elements of K in a lane group; empty after the end of K.
Value PackedOperand::readElements(LoopBuilder &e, const LaneGroup &laneGroup,
                                  Value i, bool mayExceed) {
  Value k = e.add(laneGroup.depth, i);
  Value mask = laneGroup.mask;
  if (mayExceed) {
    Value count = arith::SelectOp::create(e, e.less(i, laneGroup.end),
                                          laneGroup.count, e.index(0));
    mask = e.firstLanes(count, format.vectorKPacks);
  }
  SmallVector<Value> others;
  for (Checked &check : checks)
    others.push_back(check.depth.at(e, k));
  mask = checkBounds(e, mask, laneGroup.coordinates, others);
  Value from = e.add(laneGroup.place, depthLine.offsets.at(e, k));
  // Prefetch what the next panels read of this line: too many lines are read in
  // turn for the processor's prefetcher.
  if (!laneGroup.access.offsets) {
    int64_t ahead = format.width * getNumTogether() * laneGroup.access.step;
    e.prefetch(memory, e.add(from, ahead), false);
  }
  return load(e, from, laneGroup.access, mask);
}

Value PackedOperand::readKPack(LoopBuilder &e, const LaneGroup &laneGroup,
                               Value kPackIndex, bool mayExceed) {
  if (format.kPack == 1)
    return readElements(e, laneGroup, kPackIndex, mayExceed);
  Value i = e.mul(kPackIndex, 2);
  Value even = readElements(e, laneGroup, i, mayExceed);
  Value odd = readElements(e, laneGroup, e.add(i, 1), mayExceed);
  return vector::InterleaveOp::create(e, even, odd);
}

void PackedOperand::packLanes(LoopBuilder &e, ArrayRef<LaneGroup> laneGroups) {
  int64_t together = format.byLane ? format.vectorKPacks : 1;
  auto kPacks = [&](Value begin, Value end, bool mayExceed) {
    e.loop(begin, end, together, [&](Value kPackIndex) {
      for (const LaneGroup &laneGroup : laneGroups) {
        SmallVector<Value> vectors;
        for (int64_t i = 0; i < together; ++i)
          vectors.push_back(
              readKPack(e, laneGroup, e.add(kPackIndex, i), mayExceed));
        storeKPacks(e, laneGroup, kPackIndex, vectors);
      }
    });
  };
  Value end = laneGroups.front().end;
  Value whole = e.mul(e.div(end, e.index(format.kPack * together)), together);
  Value padded = e.ceilDiv(end, format.kPack);
  if (format.wholeChunks || format.byLane)
    padded = e.mul(e.ceilDiv(end, format.chunk()), format.vectorKPacks);
  kPacks(e.index(0), whole, false);
  if (format.kPack > 1 || together > 1)
    kPacks(whole, padded, true);
}

void PackedOperand::packAlongLanes(LoopBuilder &e, ArrayRef<Panel> panels,
                                   ArrayRef<LaneGroup> laneGroups) {
  if (laneLine.offsets.step != 0 && !laneLine.offsets.table)
    return packLanes(e, laneGroups);
  auto packApart = [&] {
    auto pack = [&](LaneGroup laneGroup) {
      laneGroup.access =
          getAccess(e, laneLine, laneGroup.first, format.vectorKPacks);
      packLanes(e, laneGroup);
    };
    // Panels of columns consist of whole vectors.
    if (format.width % format.vectorKPacks != 0) {
      llvm::for_each(laneGroups, pack);
      return;
    }
    for (const Panel &panel : panels)
      e.loop(e.index(0), e.index(format.width), format.vectorKPacks,
             [&](Value begin) {
               pack(getLaneGroup(e, panel, begin, format.vectorKPacks));
             });
  };
  if (laneLine.offsets.step == 0)
    return packApart();
  Value areRuns;
  for (const LaneGroup &laneGroup : laneGroups) {
    Value offsets =
        laneLine.offsets.vectorAt(e, laneGroup.first, format.vectorKPacks);
    Value isOne = isRun(e, offsets, laneLine.offsets.at(e, laneGroup.first),
                        laneGroup.mask, laneLine.offsets.step);
    areRuns = areRuns ? arith::AndIOp::create(e, areRuns, isOne) : isOne;
  }
  e.ifElse(areRuns, [&] { packLanes(e, laneGroups); }, packApart);
}

SmallVector<Value> PackedOperand::transpose(LoopBuilder &e,
                                            ArrayRef<Value> rows) {
  // Pairs move as one number.
  int64_t count = format.vectorKPacks;
  SmallVector<Value> current(rows);
  VectorType type = cast<VectorType>(rows.front().getType());
  auto cast = [&](VectorType to) {
    if (format.kPack > 1)
      for (Value &value : current)
        value = vector::BitCastOp::create(e, to, value);
  };
  current.resize(count, arith::ConstantOp::create(e, e.getZeroAttr(type)));
  cast(e.vectorType(e.getI32Type(), count));
  current = mp::kernel::transpose(e, current);
  cast(type);
  return current;
}

void PackedOperand::packAlongDepth(LoopBuilder &e, const Panel &panel) {
  int64_t width = format.vectorKPacks, rest = format.width % width;
  auto pack = [&](Value begin, int64_t count) {
    packSquares(e, getLaneGroup(e, panel, begin, count));
  };
  // All groups of lanes share one body, which has hundreds of instructions.
  e.loop(e.index(0), e.index(format.width - rest), width,
         [&](Value begin) { pack(begin, width); });
  if (rest)
    pack(e.index(format.width - rest), rest);
}

void PackedOperand::packSquares(LoopBuilder &e, const LaneGroup &laneGroup) {
  int64_t lanes = format.chunk();
  SmallVector<Value> places, present;
  SmallVector<SmallVector<Value>> coordinates;
  for (int64_t i = 0; i < laneGroup.width; ++i) {
    // Lanes after the end read the first line, under an empty mask.
    Value valid = e.less(e.index(i), laneGroup.count);
    Value lane = arith::SelectOp::create(e, valid, e.add(laneGroup.first, i),
                                         e.index(0));
    present.push_back(e.splat(valid, lanes));
    places.push_back(e.add(base, laneLine.offsets.at(e, lane)));
    coordinates.emplace_back();
    for (Checked &check : checks)
      coordinates.back().push_back(e.add(check.lane.at(e, lane), check.base));
  }
  Value ahead;
  if (laneLine.offsets.factor && !laneLine.offsets.table)
    ahead = laneLine.offsets.at(e, e.index(format.width));
  e.loop(e.index(0), laneGroup.end, lanes, [&](Value i) {
    Value k = e.add(laneGroup.depth, i);
    Value mask = e.firstLanes(e.sub(laneGroup.end, i), lanes);
    Value offset = depthLine.offsets.at(e, k);
    SmallVector<Value> others;
    for (Checked &check : checks)
      others.push_back(check.depth.vectorAt(e, k, lanes));
    auto square = [&](const VectorAccess &access) {
      SmallVector<Value> rows;
      for (int64_t row = 0; row < laneGroup.width; ++row) {
        // The same piece of the line that is packed next there.
        if (ahead)
          e.prefetch(memory, e.add(places[row], e.add(offset, ahead)), false);
        Value within = arith::AndIOp::create(e, mask, present[row]);
        within = checkBounds(e, within, others, coordinates[row]);
        rows.push_back(load(e, e.add(places[row], offset), access, within));
      }
      storeLanes(e, laneGroup, e.div(i, e.index(format.kPack)), rows);
    };
    if (!depthLine.offsets.table)
      return square({depthLine.offsets.step, Value(), {}});
    VectorAccess access = getAccess(e, depthLine, k, lanes);
    Value isOne = isRun(e, depthLine.offsets.vectorAt(e, k, lanes), offset,
                        mask, depthLine.offsets.step);
    e.ifElse(
        isOne, [&] { square({depthLine.offsets.step, Value(), {}}); },
        [&] { square(access); });
  });
}

} // namespace mp::kernel
