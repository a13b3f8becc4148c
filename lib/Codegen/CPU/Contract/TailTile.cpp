//===- TailTile.cpp - Products of a few columns ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last vector of 49 = 3 x 16 + 1 columns has one of its lanes filled. Here
// lanes are parts of K instead: a multiply-add is for several terms of one row
// and one column, and the sums of lanes are added up at the end of a step.
//
//===----------------------------------------------------------------------===//

#include "Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace mp::kernel {

PanelFormat getTailFormat(const TileShape &shape, int64_t columns) {
  PanelFormat format = shape.rhsFormat;
  format.width = columns;
  format.byLane = true;
  return format;
}

/// Sums all lanes, halves on halves.
static Value addLanes(LoopBuilder &e, Value vector) {
  int64_t lanes = cast<VectorType>(vector.getType()).getDimSize(0);
  for (int64_t half = lanes / 2; half > 0; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < half; ++i) {
      low.push_back(i);
      high.push_back(half + i);
    }
    Value upper = vector::ShuffleOp::create(e, vector, vector, high);
    vector = arith::AddFOp::create(
        e, vector::ShuffleOp::create(e, vector, vector, low), upper);
  }
  return vector::ExtractOp::create(e, vector, ArrayRef<int64_t>{0});
}

namespace {
struct TailLoops {
  LoopBuilder &e;
  const TileShape &shape;
  const PanelProduct &product;
  int64_t columns;

  Value load(Value memory, Value place) {
    VectorType type = e.vectorType(shape.element, shape.lanes);
    return vector::LoadOp::create(e, type, memory, ValueRange{place});
  }
  void emit(int64_t first, int64_t count);
};
} // namespace

/// Emits `count` columns from `first` on, whose sums are in registers.
void TailLoops::emit(int64_t first, int64_t count) {
  SmallVector<Value> zeros(shape.mr * count,
                           e.zeros(shape.element, shape.lanes));
  auto loop = scf::ForOp::create(
      e, e.index(0), e.ceilDiv(product.k, shape.lanes), e.index(1), zeros);
  {
    OpBuilder::InsertionGuard guard(e);
    e.setInsertionPointToStart(loop.getBody());
    Value chunk = loop.getInductionVar();
    Value row = e.add(product.lhsOffset, e.mul(chunk, shape.mr * shape.lanes));
    Value column =
        e.add(product.rhsOffset, e.mul(chunk, columns * shape.lanes));
    SmallVector<Value> factors, next;
    for (int64_t j = 0; j < count; ++j)
      factors.push_back(
          load(product.rhs, e.add(column, (first + j) * shape.lanes)));
    for (int64_t i = 0; i < shape.mr; ++i) {
      Value terms = load(product.lhs, e.add(row, i * shape.lanes));
      for (int64_t j = 0; j < count; ++j)
        next.push_back(vector::FMAOp::create(
            e, terms, factors[j], loop.getRegionIterArgs()[i * count + j]));
    }
    scf::YieldOp::create(e, next);
  }
  for (auto [number, sums] : llvm::enumerate(loop.getResults())) {
    int64_t i = number / count, j = number % count;
    Value place = e.add(product.sumOffset, i * shape.nr() + first + j);
    Value before = arith::SelectOp::create(
        e, product.accumulate, e.load(product.sums, place),
        arith::ConstantOp::create(e, e.getZeroAttr(shape.element)));
    Value sum = arith::AddFOp::create(e, addLanes(e, sums), before);
    memref::StoreOp::create(e, sum, product.sums, place);
  }
}

static func::FuncOp getTailFunction(ModuleOp module, const TileShape &shape,
                                    int64_t columns) {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << "kernel_tail_" << shape.element << "_" << shape.mr << "x" << shape.nr()
     << "_" << columns;
  if (auto found = module.lookupSymbol<func::FuncOp>(name))
    return found;
  LoopBuilder e(module.getLoc(), module.getContext());
  e.setInsertionPointToStart(module.getBody());
  Type line = MemRefType::get({ShapedType::kDynamic}, shape.element);
  Type index = e.getIndexType();
  SmallVector<Type> types = {line,  index, line,  index,
                             index, line,  index, e.getI1Type()};
  auto function = func::FuncOp::create(e, name, e.getFunctionType(types, {}));
  function.setPrivate();
  e.setInsertionPointToStart(function.addEntryBlock());
  PanelProduct product;
  product.lhs = function.getArgument(0);
  product.lhsOffset = function.getArgument(1);
  product.rhs = function.getArgument(2);
  product.rhsOffset = function.getArgument(3);
  product.k = function.getArgument(4);
  product.sums = function.getArgument(5);
  product.sumOffset = function.getArgument(6);
  product.accumulate = function.getArgument(7);
  // The number of sums is at most that of a tile.
  int64_t together = std::max(shape.vectors - 1, int64_t(1));
  for (int64_t first = 0; first < columns; first += together)
    TailLoops{e, shape, product, columns}.emit(
        first, std::min(together, columns - first));
  func::ReturnOp::create(e);
  return function;
}

void emitTailProduct(LoopBuilder &e, ModuleOp module, const TileShape &shape,
                     int64_t columns, const PanelProduct &product) {
  SmallVector<Value> arguments = {
      product.lhs, product.lhsOffset, product.rhs,       product.rhsOffset,
      product.k,   product.sums,      product.sumOffset, product.accumulate};
  func::CallOp::create(e, getTailFunction(module, shape, columns), arguments);
}

} // namespace mp::kernel
