//===- AttentionBuilder.cpp - Parts of attention by blocks ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionBuilder.h"

#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mp::kernel {

/// The sizes of dimensions, which are known.
static SmallVector<int64_t> findSizes(ArrayRef<MappedMemory> operands) {
  SmallVector<int64_t> sizes(operands.front().map.getNumDims(), 1);
  for (const MappedMemory &operand : operands)
    for (auto [expr, size] :
         llvm::zip(operand.map.getResults(),
                   cast<MemRefType>(operand.memory.getType()).getShape()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        sizes[dim.getPosition()] = size;
  return sizes;
}

AttentionBuilder::AttentionBuilder(Operation *op)
    : e(op->getLoc(), op), body(op->getRegion(0).front()),
      mask(getCausalMask(op)) {
  bool isGradient = isa<AttentionGradientOp>(op);
  firstExtra =
      isGradient ? AttentionGradientOp::numFixed : AttentionOp::numFixed;
  numArguments = isGradient ? unsigned(AttentionGradientOp::NumArguments)
                            : unsigned(AttentionOp::NumArguments);
  auto maps = op->getAttrOfType<ArrayAttr>("indexing_maps")
                  .getAsValueRange<AffineMapAttr>();
  for (auto [value, map] : llvm::zip(op->getOperands(), maps))
    operands.push_back({value, map});
  constexpr unsigned numOutputs = 3;
  numExtras = operands.size() - firstExtra - numOutputs;
  sizes = findSizes(operands);
  numBatches = sizes.size() - 4;
  chooseBlocks();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Elements of a matrix of a block, which the second caches hold.
constexpr int64_t maxBlockElements = int64_t(1) << 19;
/// Queries of a block: fewer make products slow.
constexpr int64_t maxBlockRows = 128, minBlockRows = 32;

/// Blocks have about equal numbers of queries.
void AttentionBuilder::chooseBlocks() {
  int64_t queries = sizes[getQueryDim()], keys = sizes[getKeyDim()];
  rows = std::clamp(maxBlockElements / keys, minBlockRows, maxBlockRows);
  int64_t count = llvm::divideCeil(queries, rows);
  rows = std::min<int64_t>(llvm::alignTo(llvm::divideCeil(queries, count), 8),
                           queries);
  int64_t left = std::max<int64_t>(1, maxBlockElements / (rows * keys));
  chunk.assign(numBatches, 1);
  for (unsigned dim = numBatches; dim-- > 0;) {
    for (int64_t size = std::min(left, sizes[dim]); size > 1; --size)
      if (sizes[dim] % size == 0) {
        chunk[dim] = size;
        break;
      }
    left /= chunk[dim];
    if (chunk[dim] < sizes[dim])
      break;
  }
}

void AttentionBuilder::forBatches(
    llvm::function_ref<void(AttentionRange)> body) {
  AttentionRange range;
  range.sizes = chunk;
  range.keys = e.getIndexAttr(sizes[getKeyDim()]);
  OpBuilder::InsertionGuard guard(e);
  for (unsigned dim = 0; dim < numBatches; ++dim) {
    if (chunk[dim] == sizes[dim]) {
      range.begin.push_back(e.index(0));
      continue;
    }
    auto loop = scf::ForOp::create(e, e.index(0), e.index(sizes[dim]),
                                   e.index(chunk[dim]));
    e.setInsertionPointToStart(loop.getBody());
    range.begin.push_back(loop.getInductionVar());
  }
  body(range);
}

/// The keys up to the last that a query of a block has; all if a query has
/// none, since its results depend on all of them.
OpFoldResult AttentionBuilder::countKeys(Value firstQuery, int64_t rows) {
  // Lines of memory.
  constexpr int64_t multiple = 16;
  int64_t all = sizes[getKeyDim()];
  if (!mask)
    return e.getIndexAttr(all);
  Value last = e.add(firstQuery, rows - 1 + mask->last);
  Value count =
      e.mul(e.div(e.add(last, multiple), e.index(multiple)), multiple);
  count = e.min(count, e.index(all));
  Value isEmpty = e.less(e.add(firstQuery, mask->last), e.index(0));
  count = e.createOrFold<arith::SelectOp>(isEmpty, e.index(all), count);
  return getAsOpFoldResult(count);
}

void AttentionBuilder::forBlocks(
    const AttentionRange &batches,
    llvm::function_ref<void(AttentionRange)> body) {
  auto emit = [&](Value first, int64_t count) {
    AttentionRange range = batches;
    range.begin.push_back(first);
    range.sizes.push_back(count);
    range.keys = countKeys(first, count);
    body(range);
  };
  int64_t queries = sizes[getQueryDim()];
  int64_t whole = queries - queries % rows;
  if (whole == rows)
    emit(e.index(0), rows);
  else
    e.loop(e.index(0), e.index(whole), rows,
           [&](Value first) { emit(first, rows); });
  if (whole < queries)
    emit(e.index(whole), queries - whole);
}

void AttentionBuilder::forRows(const AttentionRange &block,
                               llvm::function_ref<void(AttentionRange)> body) {
  // Some microseconds.
  constexpr int64_t rangeElements = 16384;
  int64_t count = 1;
  for (int64_t size : block.sizes)
    count *= size;
  int64_t grain = std::max<int64_t>(1, rangeElements / sizes[getKeyDim()]);
  auto parallel =
      runtime::ParallelOp::create(e, e.index(count), e.index(grain));
  OpBuilder::InsertionGuard guard(e);
  Type index = e.getIndexType();
  Block *inner = e.createBlock(&parallel.getBody(), {}, {index, index},
                               {e.getLoc(), e.getLoc()});
  e.loop(inner->getArgument(0), inner->getArgument(1), 1, [&](Value i) {
    AttentionRange row = block;
    for (unsigned dim = row.sizes.size(); dim-- > 0;) {
      Value size = e.index(row.sizes[dim]);
      row.begin[dim] = e.add(row.begin[dim], dim == 0 ? i : e.rem(i, size));
      i = dim == 0 ? i : e.div(i, size);
      row.sizes[dim] = 1;
    }
    body(row);
  });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

SmallVector<unsigned> AttentionBuilder::getMatrixDims() const {
  return llvm::to_vector(llvm::seq<unsigned>(0, numBatches + 2));
}

static MappedMemory allocate(LoopBuilder &e, ArrayRef<int64_t> shape,
                             Type element, ArrayRef<unsigned> dims,
                             unsigned numDims) {
  SmallVector<AffineExpr> results;
  for (unsigned dim : dims)
    results.push_back(e.getAffineDimExpr(dim));
  Value memory = memref::AllocOp::create(e, MemRefType::get(shape, element));
  return {memory, AffineMap::get(numDims, 0, results, e.getContext())};
}

MappedMemory AttentionBuilder::makeMatrix(Type element) {
  SmallVector<int64_t> shape(chunk);
  shape.append({rows, sizes[getKeyDim()]});
  return allocate(e, shape, element, getMatrixDims(), sizes.size());
}

MappedMemory AttentionBuilder::makeSums(unsigned elementDim) {
  SmallVector<int64_t> shape(chunk);
  shape.append({sizes[getKeyDim()], sizes[elementDim]});
  auto dims = llvm::to_vector(llvm::seq<unsigned>(0, numBatches));
  dims.append({getKeyDim(), elementDim});
  return allocate(e, shape, e.getF32Type(), dims, sizes.size());
}

void AttentionBuilder::free(const MappedMemory &scratch) {
  memref::DeallocOp::create(e, scratch.memory);
}

Value AttentionBuilder::view(const MappedMemory &operand,
                             const AttentionRange &range,
                             const AttentionRange *base) {
  auto type = cast<MemRefType>(operand.memory.getType());
  SmallVector<OpFoldResult> offsets, extents,
      strides(type.getRank(), e.getIndexAttr(1));
  for (auto [expr, size] :
       llvm::zip(operand.map.getResults(), type.getShape())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    unsigned number = dim ? dim.getPosition() : unsigned(sizes.size());
    OpFoldResult offset = e.getIndexAttr(0), extent = e.getIndexAttr(size);
    if (number < range.begin.size()) {
      Value begin = range.begin[number];
      if (base && number < base->begin.size())
        begin = begin == base->begin[number]
                    ? e.index(0)
                    : e.sub(begin, base->begin[number]);
      offset = getAsOpFoldResult(begin);
      extent = e.getIndexAttr(range.sizes[number]);
    } else if (number == getKeyDim()) {
      extent = range.keys;
    } else if (!dim) {
      extent = e.getIndexAttr(1);
    }
    offsets.push_back(offset);
    extents.push_back(extent);
  }
  return memref::SubViewOp::create(e, operand.memory, offsets, extents,
                                   strides);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// A map of `dims`; others are 0.
AffineMap AttentionBuilder::narrow(AffineMap map, ArrayRef<unsigned> dims) {
  SmallVector<AffineExpr> exprs(sizes.size(), e.getAffineConstantExpr(0));
  for (auto [number, dim] : llvm::enumerate(dims))
    exprs[dim] = e.getAffineDimExpr(number);
  return map.replaceDimsAndSymbols(exprs, {}, dims.size(), 0);
}

void AttentionBuilder::multiply(unsigned element, MappedMemory a,
                                MappedMemory b, MappedMemory c,
                                ArrayRef<MappedMemory> extras,
                                Epilogue epilogue) {
  SmallVector<unsigned> dims = getMatrixDims();
  dims.push_back(getElementDim(element));
  SmallVector<Extra> others;
  for (const MappedMemory &extra : extras)
    others.push_back({extra.memory, narrow(extra.map, dims)});
  createContract(
      e, e.getLoc(), a.memory, b.memory, c.memory,
      {narrow(a.map, dims), narrow(b.map, dims), narrow(c.map, dims)}, others,
      [&](OpBuilder &inner, Location, Value sum, ValueRange elements) {
        return epilogue ? epilogue(inner, sum, elements) : sum;
      });
}

void AttentionBuilder::compute(ArrayRef<unsigned> dims,
                               ArrayRef<MappedMemory> inputs,
                               ArrayRef<MappedMemory> outputs, Elements body) {
  SmallVector<Value> ins, outs;
  SmallVector<AffineMap> maps;
  SmallVector<utils::IteratorType> iterators(dims.size(),
                                             utils::IteratorType::parallel);
  for (const MappedMemory &input : inputs) {
    ins.push_back(input.memory);
    maps.push_back(narrow(input.map, dims));
  }
  for (const MappedMemory &output : outputs) {
    outs.push_back(output.memory);
    maps.push_back(narrow(output.map, dims));
  }
  unsigned key = llvm::find(dims, getKeyDim()) - dims.begin();
  if (key < dims.size() && !maps.back().isFunctionOfDim(key))
    iterators[key] = utils::IteratorType::reduction;
  auto op = linalg::GenericOp::create(
      e, e.getLoc(), ins, outs, maps, iterators,
      [&](OpBuilder &b, Location loc, ValueRange elements) {
        SmallVector<Value> indices;
        for (unsigned i = 0; i < dims.size(); ++i)
          indices.push_back(linalg::IndexOp::create(b, loc, i));
        linalg::YieldOp::create(b, loc, body(b, elements, indices));
      });
  for (auto index :
       llvm::make_early_inc_range(op.getBody()->getOps<linalg::IndexOp>()))
    if (index->use_empty())
      index.erase();
}

llvm::SetVector<Operation *> AttentionBuilder::findOps(unsigned number) {
  llvm::SetVector<Operation *> found;
  SmallVector<Value> worklist{body.getTerminator()->getOperand(number)};
  while (!worklist.empty())
    if (Operation *source = worklist.pop_back_val().getDefiningOp();
        source && source->getBlock() == &body && found.insert(source))
      llvm::append_range(worklist, source->getOperands());
  return found;
}

bool AttentionBuilder::uses(unsigned number, unsigned first) {
  auto isArgument = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &body &&
           argument.getArgNumber() >= first;
  };
  return isArgument(body.getTerminator()->getOperand(number)) ||
         llvm::any_of(findOps(number), [&](Operation *inner) {
           return llvm::any_of(inner->getOperands(), isArgument);
         });
}

Value AttentionBuilder::emitFunction(OpBuilder &b, unsigned number,
                                     ValueRange arguments) {
  IRMapping mapping;
  for (auto [argument, value] : llvm::zip(body.getArguments(), arguments))
    if (value)
      mapping.map(argument, value);
  llvm::SetVector<Operation *> ops = findOps(number);
  for (Operation &inner : body.without_terminator())
    if (ops.contains(&inner))
      b.clone(inner, mapping);
  return mapping.lookupOrDefault(body.getTerminator()->getOperand(number));
}

} // namespace mp::kernel
