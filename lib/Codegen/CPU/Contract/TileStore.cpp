//===- TileStore.cpp - Results of tiles -----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile.h"

using namespace mlir;

namespace mp::kernel {

Value applyEpilogue(LoopBuilder &e, ContractOp op, ArrayRef<Value> arguments,
                    int64_t lanes) {
  Block &block = op.getEpilogue().front();
  IRMapping mapping;
  mapping.map(block.getArguments(), arguments);
  auto widen = [&](Type type) { return e.vectorType(type, lanes); };
  for (Operation &inner : block.without_terminator()) {
    for (Value operand : inner.getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand, e.splat(operand, lanes));
    Attribute constant;
    if (matchPattern(&inner, m_Constant(&constant))) {
      Type type = inner.getResult(0).getType();
      mapping.map(inner.getResult(0),
                  arith::ConstantOp::create(
                      e, DenseElementsAttr::get(
                             cast<ShapedType>(Type(widen(type))), constant))
                      .getResult());
      continue;
    }
    Operation *clone = inner.cloneWithoutRegions(mapping);
    for (Value result : clone->getResults())
      result.setType(widen(result.getType()));
    e.insert(clone);
    mapping.map(inner.getResults(), clone->getResults());
  }
  Value yielded = cast<YieldOp>(block.getTerminator()).getValue();
  if (!mapping.contains(yielded))
    return e.splat(yielded, lanes);
  return mapping.lookup(yielded);
}

TileStore::TileStore(LoopBuilder &e, Contraction &contraction,
                     const TileShape &shape)
    : contraction(contraction), shape(shape) {
  for (unsigned i = 2; i < contraction.views.size(); ++i)
    accesses.push_back({i, contraction.getOffsets(e, M, i),
                        contraction.getOffsets(e, N, i), Value()});
}

void TileStore::enterBatch(LoopBuilder &e, Value batch) {
  for (Access &access : accesses)
    access.base = contraction.getBatchOffset(e, batch, access.operand);
}

TileStore::Line TileStore::getLine(LoopBuilder &e, const Access &access,
                                   Value column) {
  Line line{&access, e.add(access.base, access.columns.at(e, column)), Value()};
  if (access.columns.isZero() ||
      (access.columns.step == 1 && !access.columns.table))
    return line;
  Value first = access.columns.at(e, column);
  line.offsets = e.sub(access.columns.vectorAt(e, column, shape.lanes),
                       e.splat(first, shape.lanes));
  return line;
}

Value TileStore::read(LoopBuilder &e, const Line &line, Value row, Value mask,
                      bool run) {
  const View &view = contraction.views[line.access->operand];
  Value place = e.add(line.place, line.access->rows.at(e, row));
  if (line.access->columns.isZero())
    return e.splat(e.load(view.memory, place), shape.lanes);
  VectorType type = e.vectorType(view.shape.element, shape.lanes);
  Value zeros = e.zeros(view.shape.element, shape.lanes);
  if (!line.offsets || (run && line.access->columns.step == 1))
    return vector::MaskedLoadOp::create(e, type, view.memory, ValueRange{place},
                                        mask, zeros);
  return e.gather(view.memory, place, line.offsets, mask);
}

void TileStore::write(LoopBuilder &e, const Line &line, Value value, Value row,
                      Value mask, bool run) {
  const View &view = contraction.views[line.access->operand];
  Value place = e.add(line.place, line.access->rows.at(e, row));
  if (!line.offsets || (run && line.access->columns.step == 1)) {
    vector::MaskedStoreOp::create(e, view.memory, ValueRange{place}, mask,
                                  value);
    return;
  }
  vector::ScatterOp::create(e, Type(), view.memory, ValueRange{place},
                            line.offsets, mask, value);
}

void TileStore::prefetch(LoopBuilder &e, Value firstRow, Value firstColumn,
                         Value count) {
  Value rows = e.min(count, e.sub(contraction.groups[M].total, firstRow));
  for (const Access &access : accesses) {
    bool isOutput = &access == &accesses.back();
    // Matrix instructions finish before lines arrive that are only written.
    if (isOutput && shape.products == Products::AMX)
      continue;
    // A single line for all rows is in the cache soon.
    if (access.columns.step != 1 || access.rows.isZero())
      continue;
    const View &view = contraction.views[access.operand];
    Value first = e.add(access.base, access.columns.at(e, firstColumn));
    int64_t line = 512 / view.shape.element.getIntOrFloatBitWidth();
    e.loop(rows, [&](Value i) {
      Value place = e.add(first, access.rows.at(e, e.add(firstRow, i)));
      for (int64_t j = 0; j < shape.nr(); j += line)
        e.prefetch(view.memory, e.add(place, j), isOutput);
    });
  }
}

SmallVector<TileStore::Vector> TileStore::getVectors(LoopBuilder &e,
                                                     Value firstColumn) {
  SmallVector<Vector> vectors;
  for (int64_t i = 0; i < shape.vectors; ++i)
    vectors.push_back(getVector(e, e.add(firstColumn, i * shape.lanes)));
  return vectors;
}

TileStore::Vector TileStore::getVector(LoopBuilder &e, Value column) {
  Vector vector;
  Value total = contraction.groups[N].total;
  vector.mask = e.firstLanes(e.sub(total, column), shape.lanes);
  for (const Access &access : accesses) {
    vector.lines.push_back(getLine(e, access, column));
    Value offsets = vector.lines.back().offsets;
    if (!offsets || access.columns.step != 1)
      continue;
    Value own = isRun(e, offsets, e.index(0), vector.mask);
    vector.isRun = vector.isRun
                       ? arith::AndIOp::create(e, vector.isRun, own).getResult()
                       : own;
  }
  return vector;
}

void TileStore::storeVector(LoopBuilder &e, const Vector &vector, Value sums,
                            Value row, Value mask, bool run) {
  SmallVector<Value> arguments{sums};
  for (const Line &line : ArrayRef(vector.lines).drop_back())
    arguments.push_back(read(e, line, row, mask, run));
  Value result = applyEpilogue(e, contraction.op, arguments, shape.lanes);
  write(e, vector.lines.back(), result, row, mask, run);
}

void TileStore::store(LoopBuilder &e, Value firstRow, Value firstColumn,
                      Value sums, Value at) {
  Value rows =
      e.min(e.index(shape.mr), e.sub(contraction.groups[M].total, firstRow));
  Value total = contraction.groups[N].total;
  for (int64_t begin = 0; begin < shape.nr(); begin += shape.lanes) {
    Value column = e.add(firstColumn, begin);
    e.ifThen(e.less(column, total), [&] {
      Vector vector = getVector(e, column);
      auto storeRows = [&](bool isRun) {
        e.loop(rows, [&](Value i) {
          Value from = e.add(at, e.add(e.mul(i, shape.nr()), begin));
          Value own = vector::LoadOp::create(
              e, e.vectorType(shape.element, shape.lanes), sums,
              ValueRange{from});
          storeVector(e, vector, own, e.add(firstRow, i), vector.mask, isRun);
        });
      };
      if (vector.isRun)
        e.ifElse(
            vector.isRun, [&] { storeRows(true); }, [&] { storeRows(false); });
      else
        storeRows(false);
    });
  }
}

void TileStore::store(LoopBuilder &e, Value firstRow, ArrayRef<Vector> vectors,
                      ValueRange sums) {
  Value total = contraction.groups[M].total;
  for (int64_t i = 0; i < shape.mr; ++i) {
    Value row = e.add(firstRow, i);
    Value isThere = e.less(row, total);
    // Loads must not read after the last row.
    row = arith::SelectOp::create(e, isThere, row, firstRow);
    for (auto [j, vector] : llvm::enumerate(vectors)) {
      Value mask =
          arith::AndIOp::create(e, vector.mask, e.splat(isThere, shape.lanes));
      storeVector(e, vector, sums[i * vectors.size() + j], row, mask, true);
    }
  }
}

} // namespace mp::kernel
