//===- Tile.cpp - Register tiles: products and stores ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile.h"
#include "Panels.h"

using namespace mlir;

namespace mp::kernel {

/// The sums of a tile, kept in registers over the whole depth.
static void emitTile(Emitter &e, const TileShape &shape, ValueRange arguments) {
  Value a = arguments[0], aPlace = arguments[1], b = arguments[2],
        bPlace = arguments[3], depth = arguments[4], sums = arguments[5],
        place = arguments[6], add = arguments[7];
  VectorType type = e.vectorType(shape.element, shape.lanes);
  int64_t count = shape.rows * shape.vectors;
  auto where = [&](int64_t i) { return e.add(place, i * shape.lanes); };
  auto init = scf::IfOp::create(e, SmallVector<Type>(count, type), add, true);
  {
    OpBuilder::InsertionGuard guard(e);
    e.setInsertionPointToStart(init.thenBlock());
    SmallVector<Value> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(
          vector::LoadOp::create(e, type, sums, ValueRange{where(i)}));
    scf::YieldOp::create(e, values);
    e.setInsertionPointToStart(init.elseBlock());
    SmallVector<Value> zeros(count, e.zeros(shape.element, shape.lanes));
    scf::YieldOp::create(e, zeros);
  }
  auto loop =
      scf::ForOp::create(e, e.index(0), depth, e.index(1), init.getResults());
  {
    OpBuilder::InsertionGuard guard(e);
    e.setInsertionPointToStart(loop.getBody());
    Value k = loop.getInductionVar();
    Value aRow = e.add(aPlace, e.mul(k, shape.rows));
    Value bRow = e.add(bPlace, e.mul(k, shape.columns()));
    SmallVector<Value> columns, next;
    for (int64_t j = 0; j < shape.vectors; ++j)
      columns.push_back(vector::LoadOp::create(
          e, type, b, ValueRange{e.add(bRow, j * shape.lanes)}));
    for (int64_t i = 0; i < shape.rows; ++i) {
      Value factor = e.splat(e.load(a, e.add(aRow, i)), shape.lanes);
      for (int64_t j = 0; j < shape.vectors; ++j)
        next.push_back(vector::FMAOp::create(
            e, factor, columns[j],
            loop.getRegionIterArgs()[i * shape.vectors + j]));
    }
    scf::YieldOp::create(e, next);
  }
  for (int64_t i = 0; i < count; ++i)
    vector::StoreOp::create(e, loop.getResult(i), sums, ValueRange{where(i)});
}

func::FuncOp getTileFunction(ModuleOp module, const TileShape &shape) {
  std::string name;
  llvm::raw_string_ostream(name) << "kernel_tile_" << shape.element << "_"
                                 << shape.rows << "x" << shape.columns();
  if (auto found = module.lookupSymbol<func::FuncOp>(name))
    return found;
  Emitter e(module.getLoc(), module.getContext());
  e.setInsertionPointToStart(module.getBody());
  Type memory = MemRefType::get({ShapedType::kDynamic}, shape.element);
  Type index = e.getIndexType();
  auto function = func::FuncOp::create(
      e, name,
      e.getFunctionType(
          {memory, index, memory, index, index, memory, index, e.getI1Type()},
          {}));
  function.setPrivate();
  e.setInsertionPointToStart(function.addEntryBlock());
  emitTile(e, shape, function.getArguments());
  func::ReturnOp::create(e);
  return function;
}

TileStore::TileStore(Emitter &e, Contraction &contraction,
                     const TileShape &shape)
    : contraction(contraction), shape(shape) {
  for (unsigned i = 2; i < contraction.views.size(); ++i)
    accesses.push_back({i, contraction.getOffsets(e, Rows, i),
                        contraction.getOffsets(e, Columns, i), Value()});
}

void TileStore::enterBatch(Emitter &e, Value batch) {
  for (Access &access : accesses)
    access.base = contraction.getBatchOffset(e, batch, access.operand);
}

Value TileStore::read(Emitter &e, const Access &access, Value row, Value column,
                      Value mask) {
  const View &view = contraction.views[access.operand];
  Value place = e.add(access.base, access.rows.at(e, row));
  if (access.columns.isZero())
    return e.splat(e.load(view.memory, place), shape.lanes);
  VectorType type = e.vectorType(view.element, shape.lanes);
  Value zeros = arith::ConstantOp::create(e, e.getZeroAttr(type));
  Value first = access.columns.at(e, column);
  place = e.add(place, first);
  auto line = [&]() -> Value {
    return vector::MaskedLoadOp::create(e, type, view.memory, ValueRange{place},
                                        mask, zeros);
  };
  if (access.columns.unit && !access.columns.table)
    return line();
  Value offsets = access.columns.vectorAt(e, column, shape.lanes);
  auto loose = [&]() -> Value {
    Value own = e.sub(offsets, e.splat(first, shape.lanes));
    return vector::GatherOp::create(e, type, view.memory, ValueRange{place},
                                    own, mask, zeros);
  };
  if (!access.columns.unit)
    return loose();
  return e.choose(isRun(e, offsets, first, mask), type, line, loose);
}

void TileStore::write(Emitter &e, Value value, Value row, Value column,
                      Value mask) {
  const Access &access = accesses.back();
  const View &view = contraction.views[access.operand];
  Value first = access.columns.at(e, column);
  Value place = e.add(e.add(access.base, access.rows.at(e, row)), first);
  auto line = [&] {
    vector::MaskedStoreOp::create(e, view.memory, ValueRange{place}, mask,
                                  value);
  };
  if (access.columns.unit && !access.columns.table)
    return line();
  Value offsets = access.columns.vectorAt(e, column, shape.lanes);
  auto loose = [&] {
    Value own = e.sub(offsets, e.splat(first, shape.lanes));
    vector::ScatterOp::create(e, Type(), view.memory, ValueRange{place}, own,
                              mask, value);
  };
  if (!access.columns.unit)
    return loose();
  e.ifElse(isRun(e, offsets, first, mask), line, loose);
}

/// The epilogue on vectors.
Value TileStore::apply(Emitter &e, ArrayRef<Value> arguments) {
  Block &block = contraction.op.getEpilogue().front();
  IRMapping mapping;
  mapping.map(block.getArguments(), arguments);
  auto widen = [&](Type type) { return e.vectorType(type, shape.lanes); };
  for (Operation &op : block.without_terminator()) {
    for (Value operand : op.getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand, e.splat(operand, shape.lanes));
    Attribute constant;
    if (matchPattern(&op, m_Constant(&constant))) {
      Type type = op.getResult(0).getType();
      mapping.map(op.getResult(0),
                  arith::ConstantOp::create(
                      e, DenseElementsAttr::get(
                             cast<ShapedType>(Type(widen(type))), constant))
                      .getResult());
      continue;
    }
    Operation *clone = op.cloneWithoutRegions(mapping);
    for (Value result : clone->getResults())
      result.setType(widen(result.getType()));
    e.insert(clone);
    mapping.map(op.getResults(), clone->getResults());
  }
  Value yielded = cast<YieldOp>(block.getTerminator()).getValue();
  if (!mapping.contains(yielded))
    return e.splat(yielded, shape.lanes);
  return mapping.lookup(yielded);
}

void TileStore::store(Emitter &e, Value firstRow, Value firstColumn, Value sums,
                      Value at) {
  Value rows = e.min(e.index(shape.rows),
                     e.sub(contraction.groups[Rows].total, firstRow));
  Value columns = contraction.groups[Columns].total;
  e.loop(rows, [&](Value i) {
    Value row = e.add(firstRow, i);
    Value from = e.add(at, e.mul(i, shape.columns()));
    for (int64_t begin = 0; begin < shape.columns(); begin += shape.lanes) {
      Value column = e.add(firstColumn, begin);
      e.ifThen(e.less(column, columns), [&] {
        Value mask = e.firstLanes(e.sub(columns, column), shape.lanes);
        SmallVector<Value> arguments{
            vector::LoadOp::create(e, e.vectorType(shape.element, shape.lanes),
                                   sums, ValueRange{e.add(from, begin)})};
        for (const Access &access : ArrayRef(accesses).drop_back())
          arguments.push_back(read(e, access, row, column, mask));
        write(e, apply(e, arguments), row, column, mask);
      });
    }
  });
}

} // namespace mp::kernel
