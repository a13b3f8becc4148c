//===- HeadTiles.cpp - Factors of attention in shared memory --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeadTiles.h"

using namespace mlir;

namespace mp::kernel::tiling {

namespace {
/// The dimensions of a matrix's products: batches, rows, columns, elements.
struct MatrixDims {
  unsigned numBatches;
  SmallVector<int64_t> sizes;

  AffineMap getMap(Builder &b, unsigned first, unsigned second) const {
    SmallVector<AffineExpr> results;
    for (unsigned i = 0; i < numBatches; ++i)
      results.push_back(b.getAffineDimExpr(i));
    results.append({b.getAffineDimExpr(numBatches + first),
                    b.getAffineDimExpr(numBatches + second)});
    return AffineMap::get(numBatches + 3, 0, results, b.getContext());
  }
  SmallVector<int64_t> getShape(unsigned first, unsigned second) const {
    SmallVector<int64_t> shape(ArrayRef(sizes).take_front(numBatches));
    shape.append({sizes[numBatches + first], sizes[numBatches + second]});
    return shape;
  }
};
} // namespace

/// The factor's memory with all batches, its rows or columns, and its elements
/// as axes.
static MemRefType getType(const AttentionOperand &operand,
                          const MatrixDims &dims, unsigned along,
                          unsigned alongDim, unsigned elementDim) {
  SmallVector<int64_t> strides(
      ArrayRef(operand.strides).take_front(dims.numBatches));
  strides.append({operand.strides[alongDim], operand.strides[elementDim]});
  Type element = operand.type.getElementType();
  return MemRefType::get(
      dims.getShape(along, 2), element,
      StridedLayoutAttr::get(element.getContext(), operand.offset, strides));
}

HeadTiles::HeadTiles(TileBuilder &e, const AttentionShape &shape,
                     const AttentionPlan &plan, const AttentionPass &pass,
                     const HeadFactor &factor, bool ofRows, Value memory,
                     Value all, int64_t begin, const AttentionBlock &block)
    : factor(factor), ofRows(ofRows) {
  unsigned rowDim = pass.rowsAreKeys ? shape.getKeyDim() : shape.getQueryDim();
  unsigned columnDim =
      pass.rowsAreKeys ? shape.getQueryDim() : shape.getKeyDim();
  MatrixDims dims{
      shape.numBatches,
      SmallVector<int64_t>(ArrayRef(shape.sizes).take_front(shape.numBatches))};
  dims.sizes.append({shape.sizes[rowDim], shape.sizes[columnDim], factor.size});
  const AttentionOperand &operand = shape.operands[factor.operand];
  Type element = operand.type.getElementType();
  auto make = [&](MemRefType type) {
    made.push_back(memref::AllocaOp::create(e, type));
    return made.back()->getResult(0);
  };
  auto makeDense = [&](unsigned first, unsigned second) {
    return make(MemRefType::get(dims.getShape(first, second), element));
  };
  // Rows: S = factor * columns; columns: result = S * factor.
  Value a = ofRows ? make(getType(operand, dims, 0, rowDim, factor.dim))
                   : makeDense(0, 1);
  Value b = ofRows ? makeDense(1, 2)
                   : make(getType(operand, dims, 1, columnDim, factor.dim));
  Value c = ofRows ? makeDense(0, 1) : makeDense(0, 2);
  SmallVector<AffineMap> maps{dims.getMap(e, 0, ofRows ? 2 : 1),
                              dims.getMap(e, 1, 2),
                              dims.getMap(e, 0, ofRows ? 1 : 2)};
  ContractOp contract = createContract(e, e.getLoc(), a, b, c, maps);
  made.push_back(contract);
  int64_t width = factor.getSliceWidth();
  auto tile = TileAttr::get(
      e.getContext(), Multiplier::MMA, plan.tileRows, ofRows ? 16 : width,
      ofRows ? width : plan.tileColumns, AttentionPlan::warpRows,
      ofRows ? 16 : width, AttentionPlan::numStages, /*slices=*/1);
  problem.emplace(Problem::get(contract));
  tilePlan.emplace(TilePlan::get(*problem, tile));
  copy = ofRows ? &tilePlan->lhs : &tilePlan->rhs;
  places.emplace(e, *problem, ofRows ? problem->lhs : problem->rhs, memory);
  int64_t stages = ofRows ? 1 : AttentionPlan::numStages;
  auto type =
      MemRefType::get({copy->getStageSize() * factor.getNumSlices() * stages},
                      element, MemRefLayoutAttrInterface(),
                      cast<MemRefType>(all.getType()).getMemorySpace());
  Value at = arith::ConstantIndexOp::create(e, begin);
  shared = memref::ViewOp::create(e, type, all, at, ValueRange{});
  for (int64_t slice = 0; slice < (ofRows ? 1 : factor.getNumSlices()); ++slice)
    copies.push_back(std::make_unique<TileCopy>(
        e, *problem, *tilePlan, *copy, *places, shared, block.thread,
        BlockPlace{block.batch, ofRows ? block.firstRow : e.index(0),
                   e.index(slice * width)}));
}

HeadTiles::~HeadTiles() {
  for (Operation *op : llvm::reverse(made))
    op->erase();
}

Value HeadTiles::getNumber(TileBuilder &e, int64_t slice, Value stage) const {
  if (ofRows)
    return e.index(slice);
  return e.add(e.mul(stage, factor.getNumSlices()), slice);
}

void HeadTiles::start(TileBuilder &e, Value column, Value stage) const {
  for (int64_t slice = 0; slice < factor.getNumSlices(); ++slice)
    if (ofRows)
      copies.front()->start(e, e.index(slice * factor.getSliceWidth()),
                            getNumber(e, slice, stage));
    else
      copies[slice]->start(e, column, getNumber(e, slice, stage));
}

SmallVector<Type> HeadTiles::getReadTypes(TileBuilder &e) const {
  SmallVector<Type> types;
  for (int64_t slice = 0; slice < factor.getNumSlices(); ++slice)
    llvm::append_range(types, copies.front()->getReadTypes(e));
  return types;
}

SmallVector<Value> HeadTiles::read(TileBuilder &e, Value column) const {
  SmallVector<Value> elements;
  for (int64_t slice = 0; slice < factor.getNumSlices(); ++slice)
    llvm::append_range(elements,
                       ofRows ? copies.front()->read(
                                    e, e.index(slice * factor.getSliceWidth()))
                              : copies[slice]->read(e, column));
  return elements;
}

void HeadTiles::write(TileBuilder &e, ValueRange elements, Value stage) const {
  size_t each = copies.front()->getReadTypes(e).size();
  for (int64_t slice = 0; slice < factor.getNumSlices(); ++slice)
    copies[ofRows ? 0 : slice]->write(e, elements.slice(slice * each, each),
                                      getNumber(e, slice, stage));
}

SharedTile HeadTiles::getSlice(TileBuilder &e, int64_t slice, Value stage,
                               bool isTurned) const {
  return {shared, *copy, getNumber(e, slice, stage), isTurned};
}

} // namespace mp::kernel::tiling
