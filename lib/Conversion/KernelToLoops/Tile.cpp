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

TileShape::TileShape(const Contraction &contraction, const KernelTarget &target)
    : form(Form::Widen), rows(target.rows), vectors(target.columnVectors) {
  ContractOp op = contraction.op;
  element = op.getAccumulatorType();
  lanes = target.vectorBytes / (element.getIntOrFloatBitWidth() / 8);
  const View &columnsView = contraction.views[contraction.columnsOperand];
  if (contraction.readsColumnsInPlace()) {
    columnsInPlace = columnsView.memory.getType();
    columnElement = columnsView.element;
    columnRounding = columnsView.rounding;
  } else if (op.getFactorType(0).isBF16() && op.getFactorType(1).isBF16()) {
    form = target.form;
  }
  rowFormat.units = columnFormat.units = lanes;
  rowFormat.element = columnFormat.element = element;
  if (form == Form::Amx) {
    rows = 32;
    vectors = 2;
    rowFormat.byLane = true;
    columnFormat.wholeChunks = true;
  }
  if (form != Form::Widen) {
    rowFormat.perUnit = columnFormat.perUnit = 2;
    rowFormat.element = columnFormat.element = op.getFactorType(0);
  }
  // Rows need not be transposed: one element after the other is read.
  if (form != Form::Amx) {
    rowFormat.byLane =
        Side::isAlongDepth(contraction, contraction.rowsOperand, Rows);
    std::optional<int64_t> few = contraction.getShortSize(Rows);
    if (few && *few < rows) {
      vectors = std::min(rows * vectors / *few, int64_t(8));
      rows = *few;
    }
  }
  rowFormat.width = rows;
  columnFormat.width = columns();
}

namespace {
/// Writes the loops of a tile's function.
class TileFunction {
public:
  TileFunction(Emitter &e, const TileShape &shape, ValueRange arguments)
      : e(e), shape(shape), strip{arguments[0],
                                  arguments[1],
                                  arguments[2],
                                  arguments[3],
                                  arguments[4],
                                  arguments[5],
                                  arguments[6],
                                  arguments[7],
                                  arguments[8],
                                  arguments[9],
                                  arguments[10],
                                  {},
                                  {}} {
    if (!shape.columnsInPlace)
      return;
    strip.offsets.type = e.getIndexType();
    Value offsets = arguments[11];
    (offsets.getType().isIndex() ? strip.offsets.factor : strip.offsets.table) =
        offsets;
    strip.firstDepth = arguments[12];
  }

  void emit() {
    Value found =
        e.min(e.ceilDiv(strip.width, shape.lanes), e.index(shape.vectors));
    // The last panel may be narrower.
    for (int64_t i = 1; i <= shape.vectors; ++i)
      e.ifThen(e.equal(found, e.index(i)), [&] {
        // Nothing is read behind the last column.
        if (shape.columnsInPlace)
          lastLanes = e.firstLanes(
              e.sub(strip.width, e.index((i - 1) * shape.lanes)), shape.lanes);
        e.loop(strip.count, [&](Value tile) { emitTile(tile, i); });
      });
  }

private:
  scf::IfOp loadSums(Value place, int64_t vectors);
  Value multiply(Value factor, Value column, Value sum);
  Value getFactor(Value at);
  void emitTile(Value tile, int64_t vectors);
  ValueRange emitUnits(Value count, ValueRange sums, int64_t vectors,
                       function_ref<std::pair<Value, Value>(Value)> locate);
  SmallVector<Value> loadColumns(Value unit, int64_t vectors);
  Value where(Value place, int64_t i, int64_t vectors) {
    return e.add(place,
                 (i / vectors * shape.vectors + i % vectors) * shape.lanes);
  }
  VectorType getType() { return e.vectorType(shape.element, shape.lanes); }
  VectorType getPanelType() {
    return e.vectorType(shape.columnFormat.element, shape.columnFormat.chunk());
  }

  Emitter &e;
  const TileShape &shape;
  Strip strip;
  Value lastLanes;
};
} // namespace

/// What the sums start with: themselves, or zeros.
scf::IfOp TileFunction::loadSums(Value place, int64_t vectors) {
  int64_t count = shape.rows * vectors;
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
  SmallVector<Value> zeros(count, e.zeros(shape.element, shape.lanes));
  scf::YieldOp::create(e, zeros);
  return op;
}

/// One unit of a row in all lanes.
Value TileFunction::getFactor(Value at) {
  if (shape.form == Form::Widen)
    return e.splat(e.load(strip.rows, at), shape.lanes);
  Value pair = vector::LoadOp::create(
      e, e.vectorType(shape.rowFormat.element, 2), strip.rows, ValueRange{at});
  Value number =
      vector::BitCastOp::create(e, e.vectorType(e.getI32Type(), 1), pair);
  number = vector::ExtractOp::create(e, number, ArrayRef<int64_t>{0});
  return vector::BitCastOp::create(e, getPanelType(),
                                   e.splat(number, shape.lanes));
}

Value TileFunction::multiply(Value factor, Value column, Value sum) {
  if (shape.form == Form::Widen)
    return vector::FMAOp::create(e, factor, column, sum);
  std::string name =
      "llvm.x86.avx512bf16.dpbf16ps." + std::to_string(shape.lanes * 32);
  return LLVM::CallIntrinsicOp::create(e, getType(), e.getStringAttr(name),
                                       ValueRange{sum, factor, column})
      .getResult(0);
}

/// The sums of a tile, kept in registers over the whole depth.
void TileFunction::emitTile(Value tile, int64_t vectors) {
  const PanelFormat &format = shape.rowFormat;
  Value place = e.add(strip.sumPlace, e.mul(tile, shape.size()));
  Value rowPlace = e.add(strip.rowPlace, e.mul(tile, strip.rowPitch));
  Value units = e.ceilDiv(strip.depth, format.perUnit);
  ValueRange sums = loadSums(place, vectors).getResults();
  if (!format.byLane) {
    sums = emitUnits(units, sums, vectors, [&](Value k) {
      return std::pair(k,
                       e.add(rowPlace, e.mul(k, shape.rows * format.perUnit)));
    });
  } else {
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
    sums = loop.getResults();
  }
  for (int64_t i = 0; i < shape.rows * vectors; ++i)
    vector::StoreOp::create(e, sums[i], strip.sums,
                            ValueRange{where(place, i, vectors)});
}

/// All columns of one unit.
SmallVector<Value> TileFunction::loadColumns(Value unit, int64_t vectors) {
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
/// of its first row.
ValueRange
TileFunction::emitUnits(Value count, ValueRange sums, int64_t vectors,
                        function_ref<std::pair<Value, Value>(Value)> locate) {
  const PanelFormat &format = shape.rowFormat;
  auto loop = scf::ForOp::create(e, e.index(0), count, e.index(1), sums);
  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointToStart(loop.getBody());
  auto [k, row] = locate(loop.getInductionVar());
  int64_t rowStep = format.byLane ? format.chunk() : format.perUnit;
  SmallVector<Value> columns = loadColumns(k, vectors), next;
  for (int64_t i = 0; i < shape.rows; ++i) {
    Value factor = getFactor(e.add(row, i * rowStep));
    for (int64_t j = 0; j < vectors; ++j)
      next.push_back(multiply(factor, columns[j],
                              loop.getRegionIterArgs()[i * vectors + j]));
  }
  scf::YieldOp::create(e, next);
  return loop.getResults();
}

/// What is added to a place for each place in the summed dimension.
static Value getOffsets(Emitter &e, const Strip &strip) {
  if (strip.offsets.table)
    return strip.offsets.table;
  return strip.offsets.factor ? strip.offsets.factor : e.index(0);
}

static func::FuncOp getTileFunction(ModuleOp module, const TileShape &shape,
                                    Type offsets) {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << "kernel_tile_" << shape.rowFormat.element << "_" << shape.rows << "x"
     << shape.columns() << (shape.rowFormat.byLane ? "_by_row" : "");
  if (shape.columnsInPlace) {
    os << "_" << shape.columnElement;
    if (shape.columnRounding)
      os << "_to_" << shape.columnRounding;
    os << "_in_place" << (offsets.isIndex() ? "" : "_by_table");
  }
  if (auto found = module.lookupSymbol<func::FuncOp>(name))
    return found;
  Emitter e(module.getLoc(), module.getContext());
  e.setInsertionPointToStart(module.getBody());
  Type sums = MemRefType::get({ShapedType::kDynamic}, shape.element);
  Type panel = MemRefType::get({ShapedType::kDynamic}, shape.rowFormat.element);
  Type index = e.getIndexType();
  Type columns = shape.columnsInPlace ? shape.columnsInPlace : panel;
  SmallVector<Type> types = {panel, index, index, columns,       index, index,
                             sums,  index, index, e.getI1Type(), index};
  if (shape.columnsInPlace)
    types.append({offsets, index});
  auto function = func::FuncOp::create(e, name, e.getFunctionType(types, {}));
  function.setPrivate();
  e.setInsertionPointToStart(function.addEntryBlock());
  TileFunction(e, shape, function.getArguments()).emit();
  func::ReturnOp::create(e);
  return function;
}

void emitStrip(Emitter &e, ModuleOp module, const TileShape &shape,
               const Strip &strip) {
  if (shape.form == Form::Amx)
    return emitMatrixStrip(e, module, shape, strip);
  SmallVector<Value> arguments = {
      strip.rows,        strip.rowPlace,   strip.rowPitch, strip.columns,
      strip.columnPlace, strip.depth,      strip.sums,     strip.sumPlace,
      strip.count,       strip.accumulate, strip.width};
  Type offsets;
  if (shape.columnsInPlace) {
    arguments.append({getOffsets(e, strip), strip.firstDepth});
    offsets = arguments[11].getType();
  }
  func::CallOp::create(e, getTileFunction(module, shape, offsets), arguments);
}

Value applyEpilogue(Emitter &e, ContractOp op, ArrayRef<Value> arguments,
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

TileStore::Line TileStore::getLine(Emitter &e, const Access &access,
                                   Value column) {
  Line line{access, e.add(access.base, access.columns.at(e, column)), Value()};
  if (access.columns.isZero() ||
      (access.columns.step == 1 && !access.columns.table))
    return line;
  Value first = access.columns.at(e, column);
  line.offsets = e.sub(access.columns.vectorAt(e, column, shape.lanes),
                       e.splat(first, shape.lanes));
  return line;
}

Value TileStore::read(Emitter &e, const Line &line, Value row, Value mask,
                      bool run) {
  const View &view = contraction.views[line.access.operand];
  Value place = e.add(line.place, line.access.rows.at(e, row));
  if (line.access.columns.isZero())
    return e.splat(e.load(view.memory, place), shape.lanes);
  VectorType type = e.vectorType(view.element, shape.lanes);
  Value zeros = e.zeros(view.element, shape.lanes);
  if (!line.offsets || (run && line.access.columns.step == 1))
    return vector::MaskedLoadOp::create(e, type, view.memory, ValueRange{place},
                                        mask, zeros);
  return e.gather(view.memory, place, line.offsets, mask);
}

void TileStore::write(Emitter &e, const Line &line, Value value, Value row,
                      Value mask, bool run) {
  const View &view = contraction.views[line.access.operand];
  Value place = e.add(line.place, line.access.rows.at(e, row));
  if (!line.offsets || (run && line.access.columns.step == 1)) {
    vector::MaskedStoreOp::create(e, view.memory, ValueRange{place}, mask,
                                  value);
    return;
  }
  vector::ScatterOp::create(e, Type(), view.memory, ValueRange{place},
                            line.offsets, mask, value);
}

void TileStore::prefetch(Emitter &e, Value firstRow, Value firstColumn,
                         Value count) {
  const Access &access = accesses.back();
  if (access.columns.step != 1)
    return;
  const View &view = contraction.views[access.operand];
  Value rows = e.min(count, e.sub(contraction.groups[Rows].total, firstRow));
  Value first = e.add(access.base, access.columns.at(e, firstColumn));
  int64_t line = 512 / view.element.getIntOrFloatBitWidth();
  e.loop(rows, [&](Value i) {
    Value place = e.add(first, access.rows.at(e, e.add(firstRow, i)));
    for (int64_t j = 0; j < shape.columns(); j += line)
      e.prefetch(view.memory, e.add(place, j), true);
  });
}

void TileStore::store(Emitter &e, Value firstRow, Value firstColumn, Value sums,
                      Value at) {
  Value rows = e.min(e.index(shape.rows),
                     e.sub(contraction.groups[Rows].total, firstRow));
  Value columns = contraction.groups[Columns].total;
  for (int64_t begin = 0; begin < shape.columns(); begin += shape.lanes) {
    Value column = e.add(firstColumn, begin);
    e.ifThen(e.less(column, columns), [&] {
      Value mask = e.firstLanes(e.sub(columns, column), shape.lanes);
      SmallVector<Line> lines;
      Value run;
      for (const Access &access : accesses) {
        lines.push_back(getLine(e, access, column));
        if (!lines.back().offsets || access.columns.step != 1)
          continue;
        Value own = isRun(e, lines.back().offsets, e.index(0), mask);
        run = run ? arith::AndIOp::create(e, run, own).getResult() : own;
      }
      auto storeRows = [&](bool isRun) {
        e.loop(rows, [&](Value i) {
          Value row = e.add(firstRow, i);
          Value from = e.add(at, e.add(e.mul(i, shape.columns()), begin));
          SmallVector<Value> arguments{vector::LoadOp::create(
              e, e.vectorType(shape.element, shape.lanes), sums,
              ValueRange{from})};
          for (const Line &line : ArrayRef(lines).drop_back())
            arguments.push_back(read(e, line, row, mask, isRun));
          Value result =
              applyEpilogue(e, contraction.op, arguments, shape.lanes);
          write(e, lines.back(), result, row, mask, isRun);
        });
      };
      if (run)
        e.ifElse(run, [&] { storeRows(true); }, [&] { storeRows(false); });
      else
        storeRows(false);
    });
  }
}

} // namespace mp::kernel
