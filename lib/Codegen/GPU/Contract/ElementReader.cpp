//===- ElementReader.cpp - Elements beside attention's matrices -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementReader.h"

using namespace mlir;

namespace mp::kernel::tiling {

unsigned ElementReader::getRowDim() const {
  return rowsAreKeys ? shape.getKeyDim() : shape.getQueryDim();
}
unsigned ElementReader::getColumnDim() const {
  return rowsAreKeys ? shape.getQueryDim() : shape.getKeyDim();
}

/// The most registers of elements that are read ahead, and the longest heads
/// that leave as many.
constexpr size_t maxAhead = 32;
constexpr int64_t maxAheadHead = 64;

ElementReader::ElementReader(TileBuilder &e, const AttentionShape &shape,
                             const AttentionPlan &plan,
                             const AttentionPass &pass, ValueRange operands,
                             const AttentionBlock &block)
    : e(e), shape(shape), rowsAreKeys(pass.rowsAreKeys), mask(plan.mask),
      columns(plan.tileColumns / 8) {
  int64_t inner = 1;
  for (int64_t size :
       llvm::reverse(ArrayRef(shape.sizes).take_front(shape.numBatches))) {
    batchIndices.push_back(e.rem(e.div(block.batch, inner), size));
    inner *= size;
  }
  std::reverse(batchIndices.begin(), batchIndices.end());
  for (auto [operand, value] : llvm::zip(shape.operands, operands)) {
    memory.push_back(makeLine(e, operand.type, value));
    Value offset = e.index(operand.offset);
    for (auto [index, stride] : llvm::zip(batchIndices, operand.strides))
      offset = e.add(offset, e.mul(index, stride));
    batchOffsets.push_back(offset);
  }
  Value lane = e.rem(block.thread, 32), warp = e.div(block.thread, 32);
  pairColumn = e.mul(e.rem(lane, 4), 2);
  int64_t count = shape.sizes[getRowDim()];
  for (int64_t row : {0, 1}) {
    Value inWarp = e.add(e.div(lane, 4), 8 * row);
    rows[row].index = e.add(
        block.firstRow, e.add(e.mul(warp, AttentionPlan::warpRows), inWarp));
    if (count % plan.tileRows != 0)
      rows[row].exists = e.isWithin(rows[row].index, count);
  }
  // Elements of rows are loaded once for all steps.
  for (unsigned operand = shape.isGradient ? 4 : 3;
       operand < shape.getOutput(0); ++operand) {
    const AttentionOperand &elements = shape.operands[operand];
    if (elements.strides[getColumnDim()] == 0)
      for (int64_t row : {0, 1})
        load(operand, 2 * row);
    else if (elements.strides[getRowDim()] == 0)
      aheadOperands.push_back(operand);
  }
  if (2 * columns.size() * aheadOperands.size() > maxAhead ||
      shape.getLongestHead() > maxAheadHead)
    aheadOperands.clear();
}

void ElementReader::forEachAhead(
    llvm::function_ref<void(unsigned, int64_t)> function) const {
  for (unsigned operand : aheadOperands)
    for (int64_t pair = 0; pair < int64_t(columns.size()); ++pair)
      for (int64_t i : {0, 1})
        function(operand, 4 * pair + i);
}

SmallVector<Value> ElementReader::readAhead(Value column, Value condition) {
  SmallVector<Value> values;
  if (aheadOperands.empty())
    return values;
  beginStep(column);
  canRead = condition;
  forEachAhead(
      [&](unsigned operand, int64_t i) { values.push_back(get(operand, i)); });
  canRead = Value();
  return values;
}

void ElementReader::beginStep(Value first, ValueRange ahead) {
  ofStep.clear();
  if (!ahead.empty())
    forEachAhead([&](unsigned operand, int64_t i) {
      // Both rows have the same element.
      ofStep[{operand, i}] = ofStep[{operand, i ^ 2}] = ahead.front();
      ahead = ahead.drop_front();
    });
  for (int64_t row : {0, 1})
    distances[row] = e.sub(rows[row].index, e.add(first, pairColumn));
  int64_t count = shape.sizes[getColumnDim()];
  for (auto [tile, pair] : llvm::enumerate(columns))
    for (int64_t i : {0, 1}) {
      pair.index[i] = e.add(e.add(first, 8 * tile + i), pairColumn);
      pair.exists[i] = Value();
      if (count % (8 * int64_t(columns.size())) != 0)
        pair.exists[i] = e.isWithin(pair.index[i], count);
    }
}

/// True if pairs of neighbours along a dimension can be accessed at a time.
bool ElementReader::hasPairs(const AttentionOperand &operand, unsigned dim,
                             int64_t size) const {
  uint64_t all = uint64_t(operand.offset) | uint64_t(size);
  for (auto [other, stride] : llvm::enumerate(operand.strides))
    if (other != dim)
      all |= uint64_t(stride);
  return operand.strides[dim] == 1 && all % 2 == 0;
}

/// Loads the element, and the other of its pair of columns.
void ElementReader::load(unsigned number, int64_t i) {
  const AttentionOperand &operand = shape.operands[number];
  int64_t row = i / 2 % 2;
  int64_t rowStride = operand.strides[getRowDim()];
  int64_t columnStride = operand.strides[getColumnDim()];
  Value offset = e.add(batchOffsets[number], e.mul(rows[row].index, rowStride));
  Value exists = rowStride ? rows[row].exists : Value();
  // Loads must not read behind the operand.
  auto guard = [&](Value at, Value condition) {
    return e.select(e.both(canRead, condition), at, e.index(0));
  };
  if (columnStride == 0) {
    ofRows[{number, row}] = e.load(memory[number], guard(offset, exists), 1);
    return;
  }
  Columns &pair = columns[i / 4];
  auto remember = [&](int64_t column, Value value) {
    int64_t first = i - i % 2 + column;
    ofStep[{number, first}] = value;
    // Both rows have the same element.
    if (rowStride == 0)
      ofStep[{number, first ^ 2}] = value;
  };
  int64_t size = shape.sizes[getColumnDim()];
  if (hasPairs(operand, getColumnDim(), size)) {
    Value at =
        guard(e.add(offset, pair.index[0]), e.both(exists, pair.exists[0]));
    SmallVector<Value> both = e.getElements(e.load(memory[number], at, 2));
    remember(0, both[0]);
    remember(1, both[1]);
    return;
  }
  for (int64_t column : {0, 1}) {
    Value at = guard(e.add(offset, e.mul(pair.index[column], columnStride)),
                     e.both(exists, pair.exists[column]));
    remember(column, e.load(memory[number], at, 1));
  }
}

Value ElementReader::get(unsigned operand, int64_t i) {
  if (shape.operands[operand].strides[getColumnDim()] == 0)
    return ofRows.lookup({operand, i / 2 % 2});
  if (!ofStep.contains({operand, i}))
    load(operand, i);
  return ofStep.lookup({operand, i});
}

/// The index of an element along a batch, or of its query or key.
Value ElementReader::getIndex(unsigned dim, int64_t i) {
  if (dim < shape.numBatches)
    return batchIndices[dim];
  return dim == getRowDim() ? rows[i / 2 % 2].index
                            : columns[i / 4].index[i % 2];
}

/// The condition of the causal mask, as the comparison of a thread's distance
/// from the diagonal with a number: it takes no registers for columns.
Value ElementReader::isAttended(int64_t i) {
  int64_t column = i / 4 * 8 + i % 2;
  Value distance = distances[i / 2 % 2];
  auto compare = [&](arith::CmpIPredicate predicate, int64_t bound) {
    return e.createOrFold<arith::CmpIOp>(predicate, distance, e.index(bound));
  };
  // For keys n and queries m, n - m is `distance` minus the column, or the
  // column minus `distance`.
  if (rowsAreKeys)
    return compare(mask->holdsBefore ? arith::CmpIPredicate::sle
                                     : arith::CmpIPredicate::sgt,
                   mask->last + column);
  return compare(mask->holdsBefore ? arith::CmpIPredicate::sge
                                   : arith::CmpIPredicate::slt,
                 column - mask->last);
}

Value ElementReader::apply(unsigned function, ArrayRef<Value> floats,
                           int64_t i) {
  unsigned firstExtra = floats.size();
  unsigned firstIndex = firstExtra + shape.numExtras;
  IRMapping known;
  if (mask)
    known.map(mask->condition, isAttended(i));
  return applyBody(
      e, shape.op->getRegion(0).front(), function,
      [&](unsigned number) -> Value {
        if (number < firstExtra)
          return floats[number];
        if (number < firstIndex)
          return get(shape.getFirstExtra() + number - firstExtra, i);
        return e.toIndex(getIndex(number - firstIndex, i));
      },
      known);
}

void ElementReader::storeRow(unsigned number, int64_t row, Value condition,
                             Value value) {
  const AttentionOperand &operand = shape.operands[number];
  Value at = e.add(batchOffsets[number],
                   e.mul(rows[row].index, operand.strides[getRowDim()]));
  e.ifThen(e.both(condition, rows[row].exists),
           [&] { e.store(value, memory[number], at); });
}

void ElementReader::storePair(unsigned number, int64_t row,
                              const HeadFactor &head, Value element,
                              ArrayRef<Value> values) {
  const AttentionOperand &operand = shape.operands[number];
  int64_t stride = operand.strides[head.dim];
  Value begin = e.add(batchOffsets[number],
                      e.mul(rows[row].index, operand.strides[getRowDim()]));
  bool isPadded = head.size != head.getPadded();
  if (hasPairs(operand, head.dim, head.size)) {
    Value exists = isPadded ? e.isWithin(element, head.size) : Value();
    e.ifThen(e.both(rows[row].exists, exists), [&] {
      e.store(e.fromElements(values), memory[number], e.add(begin, element));
    });
    return;
  }
  for (auto [i, value] : llvm::enumerate(values)) {
    Value at = e.add(element, i);
    Value exists = isPadded ? e.isWithin(at, head.size) : Value();
    e.ifThen(e.both(rows[row].exists, exists), [&, value = value] {
      e.store(value, memory[number], e.add(begin, e.mul(at, stride)));
    });
  }
}

} // namespace mp::kernel::tiling
