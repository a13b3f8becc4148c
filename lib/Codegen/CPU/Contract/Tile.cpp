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
      mr(config.getMr()), vectors(config.getNr() / config.getLanes()),
      lanes(config.getLanes()) {
  bool isAMX = products == Products::AMX;
  lhsFormat.vectorKPacks = rhsFormat.vectorKPacks = lanes;
  lhsFormat.element = rhsFormat.element = element;
  if (products != Products::Widen) {
    lhsFormat.kPack = rhsFormat.kPack = 2;
    lhsFormat.element = rhsFormat.element = contract.factors[0];
  }
  lhsFormat.width = mr;
  rhsFormat.width = nr();
  // Rows need not be transposed: elements are read one by one.
  lhsFormat.byLane = isAMX || config.getLhs() != Packing::MNMajor;
  rhsFormat.wholeChunks = isAMX;
  if (config.getLhs() == Packing::InPlace) {
    lhsInPlace = getLineType(contract.getLHS());
    lhsIsLine = contract.isSingle(K) && contract.getStep(K, contract.lhs) == 1;
  }
  if (config.getRhs() != Packing::InPlace)
    return;
  rhsInPlace = getLineType(contract.getRHS());
  rhsElement = contract.getRHS().element;
  rhsRounding = contract.getRHS().rounding;
}

namespace {
/// Writes the loops of a panel product.
class PanelProductLoops {
public:
  PanelProductLoops(LoopBuilder &e, const TileShape &shape,
                    const PanelProduct &product)
      : e(e), shape(shape), product(product) {}

  void emit(TakeSums take) {
    Value found = e.min(e.ceilDiv(product.numColumns, shape.lanes),
                        e.index(shape.vectors));
    // The last panel may be narrower.
    for (int64_t i = 1; i <= shape.vectors; ++i)
      e.ifThen(e.equal(found, e.index(i)), [&] {
        // Loads must not read after the last column.
        if (shape.rhsInPlace)
          lastLanes = e.firstLanes(
              e.sub(product.numColumns, e.index((i - 1) * shape.lanes)),
              shape.lanes);
        e.loop(product.count,
               [&](Value tile) { take(tile, i, emitTile(tile, i)); });
      });
  }
  /// Stores the sums where the product says.
  void emit() {
    emit([&](Value tile, int64_t vectors, ValueRange sums) {
      Value place = getSumOffset(tile);
      for (auto [i, sum] : llvm::enumerate(sums))
        vector::StoreOp::create(e, sum, product.sums,
                                ValueRange{where(place, i, vectors)});
    });
  }

private:
  SmallVector<Value> loadSums(Value tile, int64_t vectors);
  Value multiply(Value factor, Value column, Value sum);
  Value getFactor(Value at);
  ValueRange emitTile(Value tile, int64_t vectors);
  void prefetchRows(Value chunk);
  void prefetchColumns(Value begin, int64_t length);
  ValueRange emitKPacks(Value count, ValueRange sums, int64_t vectors,
                        function_ref<std::pair<Value, Value>(Value)> locate);
  ValueRange emitLines(Value tile, ValueRange sums, int64_t vectors);
  SmallVector<Value> loadColumns(Value kPackIndex, int64_t vectors);
  Value getSumOffset(Value tile) {
    return e.add(product.sumOffset, e.mul(tile, shape.size()));
  }
  Value where(Value place, int64_t i, int64_t vectors) {
    return e.add(place,
                 (i / vectors * shape.vectors + i % vectors) * shape.lanes);
  }
  VectorType getType() { return e.vectorType(shape.element, shape.lanes); }
  VectorType getPanelType() {
    return e.vectorType(shape.rhsFormat.element, shape.rhsFormat.chunk());
  }

  LoopBuilder &e;
  const TileShape &shape;
  const PanelProduct &product;
  Value lastLanes;
  /// The begin of each row in place.
  SmallVector<Value> lines;
};
} // namespace

/// The initial values of the sums: the stored sums, or zeros.
SmallVector<Value> PanelProductLoops::loadSums(Value tile, int64_t vectors) {
  int64_t count = shape.mr * vectors;
  SmallVector<Value> zeros(count, e.zeros(shape.element, shape.lanes));
  if (!product.accumulate)
    return zeros;
  Value place = getSumOffset(tile);
  auto op = scf::IfOp::create(e, SmallVector<Type>(count, getType()),
                              product.accumulate, true);
  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointToStart(op.thenBlock());
  SmallVector<Value> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(vector::LoadOp::create(
        e, getType(), product.sums, ValueRange{where(place, i, vectors)}));
  scf::YieldOp::create(e, values);
  e.setInsertionPointToStart(op.elseBlock());
  scf::YieldOp::create(e, zeros);
  return op.getResults();
}

/// One k-pack of a row in all lanes.
Value PanelProductLoops::getFactor(Value at) {
  if (shape.products == Products::Widen)
    return e.splat(e.load(product.lhs, at), shape.lanes);
  Value pair = vector::LoadOp::create(
      e, e.vectorType(shape.lhsFormat.element, 2), product.lhs, ValueRange{at});
  Value number =
      vector::BitCastOp::create(e, e.vectorType(e.getI32Type(), 1), pair);
  number = vector::ExtractOp::create(e, number, ArrayRef<int64_t>{0});
  return vector::BitCastOp::create(e, getPanelType(),
                                   e.splat(number, shape.lanes));
}

Value PanelProductLoops::multiply(Value factor, Value column, Value sum) {
  if (shape.products == Products::Widen)
    return vector::FMAOp::create(e, factor, column, sum);
  std::string name =
      "llvm.x86.avx512bf16.dpbf16ps." + std::to_string(shape.lanes * 32);
  return LLVM::CallIntrinsicOp::create(e, getType(), e.getStringAttr(name),
                                       ValueRange{sum, factor, column})
      .getResult(0);
}

/// The sums of a tile, kept in registers over the whole depth.
ValueRange PanelProductLoops::emitTile(Value tile, int64_t vectors) {
  const PanelFormat &format = shape.lhsFormat;
  SmallVector<Value> sums = loadSums(tile, vectors);
  if (shape.lhsInPlace)
    return emitLines(tile, sums, vectors);
  Value rowOffset = e.add(product.lhsOffset, e.mul(tile, product.lhsPitch));
  Value kPacks = e.ceilDiv(product.k, format.kPack);
  if (!format.byLane)
    return emitKPacks(kPacks, sums, vectors, [&](Value k) {
      return std::pair(k, e.add(rowOffset, e.mul(k, shape.mr * format.kPack)));
    });
  auto loop = scf::ForOp::create(e, e.index(0), kPacks,
                                 e.index(format.vectorKPacks), sums);
  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointToStart(loop.getBody());
  Value begin = loop.getInductionVar();
  Value chunk = e.add(rowOffset, e.mul(begin, shape.mr * format.kPack));
  Value count = e.min(e.sub(kPacks, begin), e.index(format.vectorKPacks));
  if (vectors == shape.vectors)
    prefetchRows(chunk);
  ValueRange next =
      emitKPacks(count, loop.getRegionIterArgs(), vectors, [&](Value k) {
        return std::pair(e.add(begin, k), e.add(chunk, e.mul(k, format.kPack)));
      });
  scf::YieldOp::create(e, next);
  return loop.getResults();
}

/// If a model has more weights than caches hold, they come from memory, and the
/// processor's prefetcher stops at the end of pages.
void PanelProductLoops::prefetchRows(Value chunk) {
  constexpr int64_t bytesAhead = 4096;
  int64_t elementBytes = shape.lhsFormat.element.getIntOrFloatBitWidth() / 8;
  Value ahead = e.add(chunk, bytesAhead / elementBytes);
  for (int64_t i = 0; i < shape.mr; ++i)
    e.prefetch(product.lhs, e.add(ahead, i * shape.lhsFormat.chunk()),
               /*write=*/false);
}

/// Prefetches a part of the next panel's columns at `length` indices of K.
void PanelProductLoops::prefetchColumns(Value begin, int64_t length) {
  int64_t lines = llvm::divideCeil(shape.nr(), prefetchParts);
  e.ifThen(e.less(e.index(-1), product.ahead), [&] {
    Value first = e.add(product.ahead, e.mul(begin, lines));
    for (int64_t i = 0; i < lines; ++i)
      e.prefetch(product.rhs, e.add(first, i * length), /*write=*/false);
  });
}

/// Multiplies rows in place, one line of memory at a time, and prefetches those
/// of the next tile. The last row replaces those after it.
ValueRange PanelProductLoops::emitLines(Value tile, ValueRange sums,
                                        int64_t vectors) {
  Value first = e.mul(tile, shape.mr);
  Value last = e.sub(product.numRows, e.index(1));
  auto locate = [&](Value row) {
    Value at = e.add(product.firstRow, e.min(row, last));
    return e.add(product.lhsOffset, product.rowOffsets.at(e, at));
  };
  lines.clear();
  for (int64_t i = 0; i < shape.mr; ++i)
    lines.push_back(locate(e.add(first, i)));
  Value next = e.sub(locate(e.add(first, shape.mr)), lines.front());
  int64_t length = 512 / shape.element.getIntOrFloatBitWidth();
  auto loop =
      scf::ForOp::create(e, e.index(0), product.k, e.index(length), sums);
  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointToStart(loop.getBody());
  Value begin = loop.getInductionVar();
  auto getOffset = [&](Value k) {
    return product.depthOffsets.at(e, e.add(product.firstDepth, k));
  };
  Value ahead = e.add(getOffset(begin), next);
  for (Value line : lines)
    e.prefetch(product.lhs, e.add(line, ahead), false);
  if (vectors == shape.vectors)
    prefetchColumns(begin, length);
  Value count = e.min(e.sub(product.k, begin), e.index(length));
  ValueRange after =
      emitKPacks(count, loop.getRegionIterArgs(), vectors, [&](Value k) {
        Value kPackIndex = e.add(begin, k);
        return std::pair(kPackIndex, getOffset(kPackIndex));
      });
  scf::YieldOp::create(e, after);
  return loop.getResults();
}

/// Loads all columns of one k-pack.
SmallVector<Value> PanelProductLoops::loadColumns(Value kPackIndex,
                                                  int64_t vectors) {
  const PanelFormat &format = shape.lhsFormat;
  SmallVector<Value> columns;
  if (!shape.rhsInPlace) {
    Value place =
        e.add(product.rhsOffset, e.mul(kPackIndex, shape.nr() * format.kPack));
    for (int64_t j = 0; j < vectors; ++j)
      columns.push_back(
          vector::LoadOp::create(e, getPanelType(), product.rhs,
                                 ValueRange{e.add(place, j * format.chunk())}));
    return columns;
  }
  VectorType type = e.vectorType(shape.rhsElement, shape.lanes);
  Value place =
      e.add(product.rhsOffset,
            product.kOffsets.at(e, e.add(product.firstK, kPackIndex)));
  for (int64_t j = 0; j + 1 < vectors; ++j)
    columns.push_back(vector::LoadOp::create(
        e, type, product.rhs, ValueRange{e.add(place, j * shape.lanes)}));
  Value zeros = arith::ConstantOp::create(e, e.getZeroAttr(type));
  columns.push_back(vector::MaskedLoadOp::create(
      e, type, product.rhs,
      ValueRange{e.add(place, (vectors - 1) * shape.lanes)}, lastLanes, zeros));
  for (Value &column : columns)
    column = e.castFloat(column, shape.rhsRounding, shape.element);
  return columns;
}

/// Emits a loop over k-packs; `locate` returns a k-pack's number in the panel
/// and the offset of its first row, or the offset in all lines.
ValueRange PanelProductLoops::emitKPacks(
    Value count, ValueRange sums, int64_t vectors,
    function_ref<std::pair<Value, Value>(Value)> locate) {
  const PanelFormat &format = shape.lhsFormat;
  auto loop = scf::ForOp::create(e, e.index(0), count, e.index(1), sums);
  // Rows in place have a pointer each: sums and pointers fill the registers,
  // and those of two unrolled bodies would not fit.
  if (shape.lhsInPlace)
    e.keepRolled(loop);
  OpBuilder::InsertionGuard guard(e);
  e.setInsertionPointToStart(loop.getBody());
  auto [k, row] = locate(loop.getInductionVar());
  int64_t rowStep = format.byLane ? format.chunk() : format.kPack;
  SmallVector<Value> columns = loadColumns(k, vectors), next;
  for (int64_t i = 0; i < shape.mr; ++i) {
    Value factor = getFactor(shape.lhsInPlace ? e.add(lines[i], row)
                                              : e.add(row, i * rowStep));
    for (int64_t j = 0; j < vectors; ++j)
      next.push_back(multiply(factor, columns[j],
                              loop.getRegionIterArgs()[i * vectors + j]));
  }
  scf::YieldOp::create(e, next);
  return loop.getResults();
}

/// The number of arguments that do not depend on where operands are.
constexpr unsigned numPanelArguments = 11;

/// The factor or the table of a function, as an argument.
static Value getArgument(LoopBuilder &e, const IndexFunction &function) {
  if (function.table)
    return function.table;
  return function.factor ? function.factor : e.index(0);
}

static IndexFunction getFunction(LoopBuilder &e, Value argument) {
  IndexFunction function;
  function.type = e.getIndexType();
  (argument.getType().isIndex() ? function.factor : function.table) = argument;
  return function;
}

/// The arguments of the function of panel products.
static SmallVector<Value> getArguments(LoopBuilder &e, const TileShape &shape,
                                       const PanelProduct &product) {
  SmallVector<Value> arguments = {
      product.lhs,        product.lhsOffset, product.lhsPitch,
      product.rhs,        product.rhsOffset, product.k,
      product.sums,       product.sumOffset, product.count,
      product.accumulate, product.numColumns};
  assert(arguments.size() == numPanelArguments);
  if (shape.lhsInPlace) {
    arguments.push_back(getArgument(e, product.rowOffsets));
    if (!shape.lhsIsLine)
      arguments.push_back(getArgument(e, product.depthOffsets));
    arguments.append(
        {product.firstRow, product.firstDepth, product.numRows, product.ahead});
  }
  if (shape.rhsInPlace)
    arguments.append({getArgument(e, product.kOffsets), product.firstK});
  return arguments;
}

static PanelProduct getPanelProduct(const TileShape &shape, LoopBuilder &e,
                                    ValueRange arguments) {
  PanelProduct product;
  Value *fields[] = {&product.lhs,        &product.lhsOffset, &product.lhsPitch,
                     &product.rhs,        &product.rhsOffset, &product.k,
                     &product.sums,       &product.sumOffset, &product.count,
                     &product.accumulate, &product.numColumns};
  for (auto [field, argument] : llvm::zip(fields, arguments))
    *field = argument;
  unsigned next = std::size(fields);
  if (shape.lhsInPlace) {
    product.rowOffsets = getFunction(e, arguments[next++]);
    product.depthOffsets =
        getFunction(e, shape.lhsIsLine ? e.index(1) : arguments[next++]);
    for (Value *field : {&product.firstRow, &product.firstDepth,
                         &product.numRows, &product.ahead})
      *field = arguments[next++];
  }
  if (shape.rhsInPlace) {
    product.kOffsets = getFunction(e, arguments[next++]);
    product.firstK = arguments[next++];
  }
  return product;
}

static func::FuncOp getPanelProductFunction(ModuleOp module,
                                            const TileShape &shape,
                                            TypeRange arguments) {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << "kernel_tile_" << shape.lhsFormat.element << "_" << shape.mr << "x"
     << shape.nr();
  unsigned next = numPanelArguments;
  auto addOffsets = [&] {
    os << (arguments[next++].isIndex() ? "" : "_by_table");
  };
  if (shape.lhsInPlace) {
    os << "_rows_in_place";
    addOffsets();
    if (!shape.lhsIsLine) {
      os << "_depth";
      addOffsets();
    }
    next += 4;
  } else if (shape.lhsFormat.byLane) {
    os << "_by_row";
  }
  if (shape.rhsInPlace) {
    os << "_" << shape.rhsElement;
    if (shape.rhsRounding)
      os << "_to_" << shape.rhsRounding;
    os << "_in_place";
    addOffsets();
  }
  if (auto found = module.lookupSymbol<func::FuncOp>(name))
    return found;
  LoopBuilder e(module.getLoc(), module.getContext());
  e.setInsertionPointToStart(module.getBody());
  auto function =
      func::FuncOp::create(e, name, e.getFunctionType(arguments, {}));
  function.setPrivate();
  e.setInsertionPointToStart(function.addEntryBlock());
  PanelProduct product = getPanelProduct(shape, e, function.getArguments());
  PanelProductLoops(e, shape, product).emit();
  func::ReturnOp::create(e);
  return function;
}

void emitPanelProduct(LoopBuilder &e, ModuleOp module, const TileShape &shape,
                      const PanelProduct &product) {
  if (shape.products == Products::AMX)
    return emitMatrixPanelProduct(e, module, shape, product);
  SmallVector<Value> arguments = getArguments(e, shape, product);
  func::CallOp::create(
      e, getPanelProductFunction(module, shape, ValueRange(arguments)),
      arguments);
}

void emitPanelProduct(LoopBuilder &e, const TileShape &shape,
                      const PanelProduct &product, TakeSums take) {
  assert(shape.products != Products::AMX);
  PanelProductLoops(e, shape, product).emit(take);
}

} // namespace mp::kernel
