//===- MatrixTile.cpp - Tiles by matrix instructions ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of 32 x 32 sums is four tile registers; two of rows and two of columns
// are loaded for 32 elements of depth. The code is in the LLVM dialect: values
// of tile registers must stay in registers from one iteration to the next, and
// no other dialect's lowering carries them.
//
//===----------------------------------------------------------------------===//

#include "Tile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace mp::kernel {

namespace {
class MatrixTile {
public:
  MatrixTile(OpBuilder &builder, LLVM::LLVMFuncOp function);
  void emit();

private:
  static constexpr int64_t rowBytes = 64;
  /// The distance of a register's rows in a panel of rows, in one of columns,
  /// and in sums.
  static constexpr int64_t rowStride = 64, columnStride = 128, sumStride = 128;
  static constexpr int64_t chunkBytes = 2048, tileBytes = 4096;

  Value number(int64_t value);
  Value add(Value a, Value b);
  Value at(Value pointer, Value bytes);
  Value at(Value pointer, int64_t bytes) { return at(pointer, number(bytes)); }
  Value call(StringRef name, Type result, ValueRange arguments);
  Value load(Value pointer, int64_t stride);
  Value sumOffset(Value sums, unsigned i) {
    return at(sums, i / 2 * 16 * sumStride + i % 2 * rowBytes);
  }
  void branch(Block *to, ValueRange arguments) {
    LLVM::BrOp::create(builder, loc, arguments, to);
  }
  void branchIfLess(Value i, Value end, Block *yes, ValueRange yesArguments,
                    Block *no, ValueRange noArguments);
  Block *makeBlock(TypeRange types);
  void emitChunk(Block *header);

  OpBuilder &builder;
  Location loc;
  LLVM::LLVMFuncOp function;
  Type i64, i16, pointer, tile;
  Value rows, rowPitch, columns, chunks, sums, count, accumulate;
};
} // namespace

MatrixTile::MatrixTile(OpBuilder &builder, LLVM::LLVMFuncOp function)
    : builder(builder), loc(function.getLoc()), function(function),
      i64(builder.getI64Type()), i16(builder.getI16Type()),
      pointer(LLVM::LLVMPointerType::get(builder.getContext())),
      tile(LLVM::LLVMX86AMXType::get(builder.getContext())) {
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  rows = entry->getArgument(0);
  rowPitch = entry->getArgument(1);
  columns = entry->getArgument(2);
  chunks = entry->getArgument(3);
  sums = entry->getArgument(4);
  count = entry->getArgument(5);
  accumulate = entry->getArgument(6);
}

Value MatrixTile::number(int64_t value) {
  return LLVM::ConstantOp::create(builder, loc,
                                  builder.getI64IntegerAttr(value));
}
Value MatrixTile::add(Value a, Value b) {
  return LLVM::AddOp::create(builder, loc, a, b);
}
Value MatrixTile::at(Value base, Value bytes) {
  return LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), base,
                             ValueRange{bytes});
}
Value MatrixTile::call(StringRef name, Type result, ValueRange arguments) {
  SmallVector<Value> all;
  for (int64_t size : {int64_t(16), rowBytes})
    all.push_back(LLVM::ConstantOp::create(builder, loc,
                                           builder.getI16IntegerAttr(size)));
  llvm::append_range(all, arguments);
  auto intrinsic = builder.getStringAttr(name);
  if (!result) {
    LLVM::CallIntrinsicOp::create(builder, loc, intrinsic, all);
    return Value();
  }
  return LLVM::CallIntrinsicOp::create(builder, loc, result, intrinsic, all)
      .getResult(0);
}
Value MatrixTile::load(Value from, int64_t stride) {
  return call("llvm.x86.tileloadd64.internal", tile, {from, number(stride)});
}

void MatrixTile::branchIfLess(Value i, Value end, Block *yes,
                              ValueRange yesArguments, Block *no,
                              ValueRange noArguments) {
  Value less =
      LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt, i, end);
  LLVM::CondBrOp::create(builder, loc, less, yes, yesArguments, no,
                         noArguments);
}

Block *MatrixTile::makeBlock(TypeRange types) {
  OpBuilder::InsertionGuard guard(builder);
  return builder.createBlock(&function.getBody(), function.getBody().end(),
                             types, SmallVector<Location>(types.size(), loc));
}

void MatrixTile::emit() {
  Block *tiles = makeBlock({i64, pointer, pointer});
  Block *start = makeBlock({}), *reload = makeBlock({}), *clear = makeBlock({});
  SmallVector<Type> state{i64, pointer, pointer, tile, tile, tile, tile};
  Block *header = makeBlock(state), *body = makeBlock({}),
        *done = makeBlock({}), *end = makeBlock({});
  branch(tiles, {number(0), rows, sums});

  builder.setInsertionPointToStart(tiles);
  Value i = tiles->getArgument(0), row = tiles->getArgument(1),
        sum = tiles->getArgument(2);
  branchIfLess(i, count, start, {}, end, {});

  builder.setInsertionPointToStart(start);
  LLVM::CondBrOp::create(builder, loc, accumulate, reload, ValueRange{}, clear,
                         ValueRange{});
  for (Block *block : {reload, clear}) {
    builder.setInsertionPointToStart(block);
    SmallVector<Value> initial{number(0), row, columns};
    for (unsigned j = 0; j < 4; ++j)
      initial.push_back(block == reload
                            ? load(sumOffset(sum, j), sumStride)
                            : call("llvm.x86.tilezero.internal", tile, {}));
    branch(header, initial);
  }

  builder.setInsertionPointToStart(header);
  branchIfLess(header->getArgument(0), chunks, body, {}, done, {});
  builder.setInsertionPointToStart(body);
  emitChunk(header);

  builder.setInsertionPointToStart(done);
  for (unsigned j = 0; j < 4; ++j)
    call("llvm.x86.tilestored64.internal", Type(),
         {sumOffset(sum, j), number(sumStride), header->getArgument(3 + j)});
  branch(tiles, {add(i, number(1)), at(row, rowPitch), at(sum, tileBytes)});

  builder.setInsertionPointToStart(end);
  LLVM::ReturnOp::create(builder, loc, ValueRange{});
}

void MatrixTile::emitChunk(Block *header) {
  Value row = header->getArgument(1), column = header->getArgument(2);
  Value a[] = {load(row, rowStride), load(at(row, 16 * rowStride), rowStride)};
  Value b[] = {load(column, columnStride),
               load(at(column, rowBytes), columnStride)};
  SmallVector<Value> next{add(header->getArgument(0), number(1)),
                          at(row, chunkBytes), at(column, chunkBytes)};
  for (unsigned j = 0; j < 4; ++j) {
    Value bytes = LLVM::ConstantOp::create(builder, loc,
                                           builder.getI16IntegerAttr(rowBytes));
    next.push_back(
        call("llvm.x86.tdpbf16ps.internal", tile,
             {bytes, header->getArgument(3 + j), a[j / 2], b[j % 2]}));
  }
  branch(header, next);
}

static LLVM::LLVMFuncOp getMatrixFunction(ModuleOp module) {
  StringRef name = "kernel_tile_amx_bf16";
  if (auto found = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return found;
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(module.getContext());
  Type i64 = builder.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(module.getContext()),
      {pointer, i64, pointer, i64, pointer, i64, builder.getI1Type()});
  auto function = LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type,
                                           LLVM::Linkage::Internal);
  MatrixTile(builder, function).emit();
  return function;
}

/// The address of an element.
static Value getAddress(LoopBuilder &e, Value memory, Value place) {
  Value start = memref::ExtractAlignedPointerAsIndexOp::create(e, memory);
  unsigned bits = cast<MemRefType>(memory.getType()).getElementTypeBitWidth();
  Value address = e.add(start, e.mul(place, bits / 8));
  Value number = arith::IndexCastOp::create(e, e.getI64Type(), address);
  return LLVM::IntToPtrOp::create(e, LLVM::LLVMPointerType::get(e.getContext()),
                                  number);
}

void emitMatrixPanelProduct(LoopBuilder &e, ModuleOp module,
                            const TileShape &shape,
                            const PanelProduct &product) {
  auto toI64 = [&](Value value) -> Value {
    return arith::IndexCastOp::create(e, e.getI64Type(), value);
  };
  Value chunks = e.ceilDiv(product.k, shape.lhsFormat.chunk());
  LLVM::CallOp::create(
      e, getMatrixFunction(module),
      ValueRange{getAddress(e, product.lhs, product.lhsOffset),
                 toI64(e.mul(product.lhsPitch, 2)),
                 getAddress(e, product.rhs, product.rhsOffset), toI64(chunks),
                 getAddress(e, product.sums, product.sumOffset),
                 toI64(product.count), product.accumulate});
}

} // namespace mp::kernel
