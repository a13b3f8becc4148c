//===- Tile.cpp - Register tiles: products and stores ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace mp::kernel {

TileShape::TileShape(const ContractShape &contract, ConfigAttr config)
    : products(config.getProducts()), element(contract.accumulator),
      rows(config.getMr()), vectors(config.getNr() / config.getLanes()),
      lanes(config.getLanes()) {
  bool isAMX = products == Products::AMX;
  rowFormat.units = columnFormat.units = lanes;
  rowFormat.element = columnFormat.element = element;
  if (products != Products::Widen) {
    rowFormat.perUnit = columnFormat.perUnit = 2;
    rowFormat.element = columnFormat.element = contract.factors[0];
  }
  rowFormat.width = rows;
  columnFormat.width = columns();
  // Rows need not be transposed: one element after the other is read.
  rowFormat.byLane = isAMX || config.getLhs() != Packing::MNMajor;
  columnFormat.wholeChunks = isAMX;
  if (config.getLhs() == Packing::InPlace)
    rowsInPlace = getLineType(contract.getLHS());
  if (config.getRhs() != Packing::InPlace)
    return;
  columnsInPlace = getLineType(contract.getRHS());
  columnElement = contract.getRHS().element;
  columnRounding = contract.getRHS().rounding;
}

namespace {
/// Writes the loops of a strip.
class StripLoops {
public:
  StripLoops(LoopBuilder &e, const TileShape &shape, const Strip &strip)
      : e(e), shape(shape), strip(strip) {}

  void emit(TakeSums take) {
    Value found =
        e.min(e.ceilDiv(strip.width, shape.lanes), e.index(shape.vectors));
    // The last panel may be narrower.
    for (int64_t i = 1; i <= shape.vectors; ++i)
      e.ifThen(e.equal(found, e.index(i)), [&] {
        // Nothing is read behind the last column.
        if (shape.columnsInPlace)
          lastLanes = e.firstLanes(
              e.sub(strip.width, e.index((i - 1) * shape.lanes)), shape.lanes);
        e.loop(strip.count,
               [&](Value tile) { take(tile, i, emitTile(tile, i)); });
      });
  }
  /// Stores the sums where the strip says.
  void emit() {
    emit([&](Value tile, int64_t vectors, ValueRange sums) {
      Value place = getSumPlace(tile);
      for (auto [i, sum] : llvm::enumerate(sums))
        vector::StoreOp::create(e, sum, strip.sums,
                                ValueRange{where(place, i, vectors)});
    });
  }

private:
  SmallVector<Value> loadSums(Value tile, int64_t vectors);
  Value multiply(Value factor, Value column, Value sum);
  Value getFactor(Value at);
  ValueRange emitTile(Value tile, int64_t vectors);
  ValueRange emitUnits(Value count, ValueRange sums, int64_t vectors,
                       function_ref<std::pair<Value, Value>(Value)> locate);
  ValueRange emitLines(Value tile, ValueRange sums, int64_t vectors);
  SmallVector<Value> loadColumns(Value unit, int64_t vectors);
  Value getSumPlace(Value tile) {
    return e.add(strip.sumPlace, e.mul(tile, shape.size()));
  }
  Value where(Value place, int64_t i, int64_t vectors) {
    return e.add(place,
                 (i / vectors * shape.vectors + i % vectors) * shape.lanes);
  }
  VectorType getType() { return e.vectorType(shape.element, shape.lanes); }
  VectorType getPanelType() {
    return e.vectorType(shape.columnFormat.element, shape.columnFormat.chunk());
  }

  LoopBuilder &e;
  const TileShape &shape;
  const Strip &strip;
  Value lastLanes;
  /// Where rows in place begin.
  SmallVector<Value> lines;
};
} // namespace

/// What the sums start with: themselves, or zeros.
SmallVector<Value> StripLoops::loadSums(Value tile, int64_t vectors) {
  int64_t count = shape.rows * vectors;
  SmallVector<Value> zeros(count, e.zeros(shape.element, shape.lanes));
  if (!strip.accumulate)
    return zeros;
  Value place = getSumPlace(tile);
  auto op = scf::IfOp::create(e, SmallVector<Type>(count, getType()),
                              strip.accumulate, true);
  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointToStart(op.thenBlock());
  SmallVector<Value> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(vector::LoadOp::create(
        e, getType(), strip.sums, ValueRange{where(place, i, vectors)}));
  scf::YieldOp::create(e, values);
  e.setInsertionPointToStart(op.elseBlock());
  scf::YieldOp::create(e, zeros);
  return op.getResults();
}

/// One unit of a row in all lanes.
Value StripLoops::getFactor(Value at) {
  if (shape.products == Products::Widen)
    return e.splat(e.load(strip.rows, at), shape.lanes);
  Value pair = vector::LoadOp::create(
      e, e.vectorType(shape.rowFormat.element, 2), strip.rows, ValueRange{at});
  Value number =
      vector::BitCastOp::create(e, e.vectorType(e.getI32Type(), 1), pair);
  number = vector::ExtractOp::create(e, number, ArrayRef<int64_t>{0});
  return vector::BitCastOp::create(e, getPanelType(),
                                   e.splat(number, shape.lanes));
}

Value StripLoops::multiply(Value factor, Value column, Value sum) {
  if (shape.products == Products::Widen)
    return vector::FMAOp::create(e, factor, column, sum);
  std::string name =
      "llvm.x86.avx512bf16.dpbf16ps." + std::to_string(shape.lanes * 32);
  return LLVM::CallIntrinsicOp::create(e, getType(), e.getStringAttr(name),
                                       ValueRange{sum, factor, column})
      .getResult(0);
}

/// The sums of a tile, kept in registers over the whole depth.
ValueRange StripLoops::emitTile(Value tile, int64_t vectors) {
  const PanelFormat &format = shape.rowFormat;
  SmallVector<Value> sums = loadSums(tile, vectors);
  if (shape.rowsInPlace)
    return emitLines(tile, sums, vectors);
  Value rowPlace = e.add(strip.rowPlace, e.mul(tile, strip.rowPitch));
  Value units = e.ceilDiv(strip.depth, format.perUnit);
  if (!format.byLane)
    return emitUnits(units, sums, vectors, [&](Value k) {
      return std::pair(k,
                       e.add(rowPlace, e.mul(k, shape.rows * format.perUnit)));
    });
  auto loop =
      scf::ForOp::create(e, e.index(0), units, e.index(format.units), sums);
  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointToStart(loop.getBody());
  Value begin = loop.getInductionVar();
  Value chunk = e.add(rowPlace, e.mul(begin, shape.rows * format.perUnit));
  Value count = e.min(e.sub(units, begin), e.index(format.units));
  ValueRange next =
      emitUnits(count, loop.getRegionIterArgs(), vectors, [&](Value k) {
        return std::pair(e.add(begin, k),
                         e.add(chunk, e.mul(k, format.perUnit)));
      });
  scf::YieldOp::create(e, next);
  return loop.getResults();
}

/// Of rows in place, lines of memory at a time, while those of the next tile
/// are asked for. Behind the last row, it comes again.
ValueRange StripLoops::emitLines(Value tile, ValueRange sums, int64_t vectors) {
  Value first = e.mul(tile, shape.rows);
  Value last = e.sub(strip.height, e.index(1));
  lines.clear();
  for (int64_t i = 0; i < shape.rows; ++i) {
    Value row = e.min(e.add(first, i), last);
    lines.push_back(e.add(strip.rowPlace, e.mul(row, strip.rowPitch)));
  }
  int64_t length = 512 / shape.element.getIntOrFloatBitWidth();
  auto loop =
      scf::ForOp::create(e, e.index(0), strip.depth, e.index(length), sums);
  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointToStart(loop.getBody());
  Value begin = loop.getInductionVar();
  Value ahead = e.add(begin, e.mul(strip.rowPitch, shape.rows));
  for (Value line : lines)
    e.prefetch(strip.rows, e.add(line, ahead), false);
  Value count = e.min(e.sub(strip.depth, begin), e.index(length));
  ValueRange next =
      emitUnits(count, loop.getRegionIterArgs(), vectors, [&](Value k) {
        Value unit = e.add(begin, k);
        return std::pair(unit, unit);
      });
  scf::YieldOp::create(e, next);
  return loop.getResults();
}

/// All columns of one unit.
SmallVector<Value> StripLoops::loadColumns(Value unit, int64_t vectors) {
  const PanelFormat &format = shape.rowFormat;
  SmallVector<Value> columns;
  if (!shape.columnsInPlace) {
    Value place =
        e.add(strip.columnPlace, e.mul(unit, shape.columns() * format.perUnit));
    for (int64_t j = 0; j < vectors; ++j)
      columns.push_back(
          vector::LoadOp::create(e, getPanelType(), strip.columns,
                                 ValueRange{e.add(place, j * format.chunk())}));
    return columns;
  }
  VectorType type = e.vectorType(shape.columnElement, shape.lanes);
  Value place = e.add(strip.columnPlace,
                      strip.offsets.at(e, e.add(strip.firstDepth, unit)));
  for (int64_t j = 0; j + 1 < vectors; ++j)
    columns.push_back(vector::LoadOp::create(
        e, type, strip.columns, ValueRange{e.add(place, j * shape.lanes)}));
  Value zeros = arith::ConstantOp::create(e, e.getZeroAttr(type));
  columns.push_back(vector::MaskedLoadOp::create(
      e, type, strip.columns,
      ValueRange{e.add(place, (vectors - 1) * shape.lanes)}, lastLanes, zeros));
  for (Value &column : columns)
    column = e.castFloat(column, shape.columnRounding, shape.element);
  return columns;
}

/// A loop over units; `locate` tells a unit's number in the panel and the place
/// of its first row, or the place in all lines.
ValueRange
StripLoops::emitUnits(Value count, ValueRange sums, int64_t vectors,
                      function_ref<std::pair<Value, Value>(Value)> locate) {
  const PanelFormat &format = shape.rowFormat;
  auto loop = scf::ForOp::create(e, e.index(0), count, e.index(1), sums);
  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointToStart(loop.getBody());
  auto [k, row] = locate(loop.getInductionVar());
  int64_t rowStep = format.byLane ? format.chunk() : format.perUnit;
  SmallVector<Value> columns = loadColumns(k, vectors), next;
  for (int64_t i = 0; i < shape.rows; ++i) {
    Value factor = getFactor(shape.rowsInPlace ? e.add(lines[i], row)
                                               : e.add(row, i * rowStep));
    for (int64_t j = 0; j < vectors; ++j)
      next.push_back(multiply(factor, columns[j],
                              loop.getRegionIterArgs()[i * vectors + j]));
  }
  scf::YieldOp::create(e, next);
  return loop.getResults();
}

/// From what the function of strips is called with.
static Strip getStrip(const TileShape &shape, LoopBuilder &e,
                      ValueRange arguments) {
  Strip strip;
  strip.rows = arguments[0];
  strip.rowPlace = arguments[1];
  strip.rowPitch = arguments[2];
  strip.columns = arguments[3];
  strip.columnPlace = arguments[4];
  strip.depth = arguments[5];
  strip.sums = arguments[6];
  strip.sumPlace = arguments[7];
  strip.count = arguments[8];
  strip.accumulate = arguments[9];
  strip.width = arguments[10];
  unsigned next = 11;
  if (shape.rowsInPlace)
    strip.height = arguments[next++];
  if (!shape.columnsInPlace)
    return strip;
  strip.offsets.type = e.getIndexType();
  Value offsets = arguments[next++];
  (offsets.getType().isIndex() ? strip.offsets.factor : strip.offsets.table) =
      offsets;
  strip.firstDepth = arguments[next];
  return strip;
}

/// What is added to a place for each place in the summed dimension.
static Value getOffsets(LoopBuilder &e, const Strip &strip) {
  if (strip.offsets.table)
    return strip.offsets.table;
  return strip.offsets.factor ? strip.offsets.factor : e.index(0);
}

static func::FuncOp getStripLoops(ModuleOp module, const TileShape &shape,
                                  Type offsets) {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << "kernel_tile_" << shape.rowFormat.element << "_" << shape.rows << "x"
     << shape.columns();
  if (shape.rowsInPlace)
    os << "_rows_in_place";
  else if (shape.rowFormat.byLane)
    os << "_by_row";
  if (shape.columnsInPlace) {
    os << "_" << shape.columnElement;
    if (shape.columnRounding)
      os << "_to_" << shape.columnRounding;
    os << "_in_place" << (offsets.isIndex() ? "" : "_by_table");
  }
  if (auto found = module.lookupSymbol<func::FuncOp>(name))
    return found;
  LoopBuilder e(module.getLoc(), module.getContext());
  e.setInsertionPointToStart(module.getBody());
  Type sums = MemRefType::get({ShapedType::kDynamic}, shape.element);
  Type panel = MemRefType::get({ShapedType::kDynamic}, shape.rowFormat.element);
  Type index = e.getIndexType();
  Type rows = shape.rowsInPlace ? shape.rowsInPlace : panel;
  Type columns = shape.columnsInPlace ? shape.columnsInPlace : panel;
  SmallVector<Type> types = {rows, index, index, columns,       index, index,
                             sums, index, index, e.getI1Type(), index};
  if (shape.rowsInPlace)
    types.push_back(index);
  if (shape.columnsInPlace)
    types.append({offsets, index});
  auto function = func::FuncOp::create(e, name, e.getFunctionType(types, {}));
  function.setPrivate();
  e.setInsertionPointToStart(function.addEntryBlock());
  Strip strip = getStrip(shape, e, function.getArguments());
  StripLoops(e, shape, strip).emit();
  func::ReturnOp::create(e);
  return function;
}

void emitStrip(LoopBuilder &e, ModuleOp module, const TileShape &shape,
               const Strip &strip) {
  if (shape.products == Products::AMX)
    return emitMatrixStrip(e, module, shape, strip);
  SmallVector<Value> arguments = {
      strip.rows,        strip.rowPlace,   strip.rowPitch, strip.columns,
      strip.columnPlace, strip.depth,      strip.sums,     strip.sumPlace,
      strip.count,       strip.accumulate, strip.width};
  if (shape.rowsInPlace)
    arguments.push_back(strip.height);
  Type offsets;
  if (shape.columnsInPlace) {
    arguments.append({getOffsets(e, strip), strip.firstDepth});
    offsets = arguments.end()[-2].getType();
  }
  func::CallOp::create(e, getStripLoops(module, shape, offsets), arguments);
}

void emitStrip(LoopBuilder &e, const TileShape &shape, const Strip &strip,
               TakeSums take) {
  assert(shape.products != Products::AMX);
  StripLoops(e, shape, strip).emit(take);
}

} // namespace mp::kernel
