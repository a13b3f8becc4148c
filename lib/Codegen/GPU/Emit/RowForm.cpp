//===- RowForm.cpp - The ops of a row as a graph --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowForm.h"

#include "Combiners.h"
#include "Lanes.h"
#include "mp-opt/Codegen/Common/MemoryRanges.h"
#include "mp-opt/Codegen/Target/GPULimits.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mp {

using device::warpSize;

/// The most registers of a thread for values that are kept between passes.
constexpr int64_t maxKeptElements = 80;
/// The most threads of a row; more leave each thread too few registers.
constexpr int64_t maxRowThreads = 512;
/// The threads of a block that sums up columns.
constexpr int64_t maxColumnThreads = 256;
/// The most neighbouring points of a lane.
constexpr int64_t maxRowWidth = 8;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Finds which dimension of the points each axis follows. False if neighbouring
/// points are not neighbours in memory, or if an axis is accessed in another
/// way.
bool RowForm::findAxes(OpOperand &operand, RowOp &row, RowMemory &memory) {
  auto type = cast<MemRefType>(memory.memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  AffineMap map = row.op.getMatchingIndexingMap(&operand);
  SmallVector<int64_t> steps(extents.size(), 0);
  for (auto [axis, expr] : llvm::enumerate(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    if (!dim && !(constant && constant.getValue() == 0))
      return false;
    int point = dim ? row.dims[dim.getPosition()] : -1;
    memory.axes.push_back(point);
    if (point >= 0)
      steps[point] += strides[axis];
  }
  memory.isPoints =
      llvm::any_of(memory.axes, [](int axis) { return axis >= 0; });
  int64_t expected = 1;
  for (auto [step, extent] :
       llvm::zip(llvm::reverse(steps), llvm::reverse(extents))) {
    if (memory.isPoints && step != expected)
      return false;
    expected *= extent;
  }
  return true;
}

/// The number of the memory of an operand; -1 if it is accessed in different
/// ways.
int RowForm::findMemory(OpOperand &operand, RowOp &row) {
  RowMemory memory;
  memory.memref = operand.get();
  if (!findAxes(operand, row, memory))
    return -1;
  auto [entry, isNew] = numberOf.try_emplace(operand.get(), memories.size());
  if (!isNew) {
    const RowMemory &known = memories[entry->second];
    return known.isPoints == memory.isPoints ? int(entry->second) : -1;
  }
  Operation *source = operand.get().getDefiningOp();
  memory.isLocal = isa_and_nonnull<memref::AllocOp, memref::AllocaOp>(source) &&
                   source->getBlock() == row.op->getBlock();
  memories.push_back(memory);
  return memories.size() - 1;
}

int RowForm::getCurrent(unsigned memory) {
  RowMemory &own = memories[memory];
  if (own.current < 0) {
    own.first = own.current = values.size();
    values.push_back(
        {-1, memory, own.isPoints, getElementTypeOrSelf(own.memref.getType())});
  }
  return own.current;
}

/// True if memory that is written overlaps no other: neighbouring threads could
/// have its elements.
bool RowForm::areDistinct(scf::ForallOp forall) {
  SmallVector<std::pair<MemoryRange, Value>> all;
  for (const RowMemory &memory : memories)
    if (!memory.isLocal)
      all.emplace_back(MemoryRange::get(memory.memref), memory.memref);
  forall.walk([&](memref::LoadOp load) {
    all.emplace_back(MemoryRange::get(load.getMemRef()), Value());
  });
  for (const RowMemory &memory : memories) {
    if (memory.isLocal || memory.last < 0)
      continue;
    MemoryRange own = MemoryRange::get(memory.memref);
    for (auto &[range, memref] : all)
      if (memref != memory.memref && range.overlaps(own))
        return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Reads the loops of an op: those of more than one iteration are the
/// dimensions of the points.
bool RowForm::readDims(linalg::GenericOp op, RowOp &row) {
  SmallVector<int64_t> sizes;
  unsigned numReduced = 0;
  for (auto [extent, type] :
       llvm::zip(op.getStaticLoopRanges(), op.getIteratorTypesArray())) {
    if (extent < 1)
      return false;
    bool isPoint = extent != 1;
    row.dims.push_back(isPoint ? int(sizes.size()) : -1);
    if (!isPoint)
      continue;
    sizes.push_back(extent);
    numReduced += type == utils::IteratorType::reduction;
  }
  row.kind = sizes.empty() ? RowOpKind::Scalar
             : numReduced  ? RowOpKind::Reduction
                           : RowOpKind::Points;
  if (sizes.empty())
    return true;
  if (numReduced != 0 && numReduced != sizes.size())
    return false;
  if (extents.empty()) {
    extents = sizes;
    length = llvm::product_of(sizes);
  }
  return extents == sizes;
}

/// The value of an operand; -1 if it is not memory or not used, -2 if it cannot
/// be read.
int RowForm::readOperand(OpOperand &operand, RowOp &row) {
  if (!isa<MemRefType>(operand.get().getType()))
    return row.op.isDpsInit(&operand) ? -2 : -1;
  int memory = findMemory(operand, row);
  if (memory < 0)
    return -2;
  bool isPoints = memories[memory].isPoints;
  bool isColumns = row.kind == RowOpKind::Columns;
  if (!row.op.isDpsInit(&operand)) {
    if (isPoints && row.kind == RowOpKind::Scalar)
      return -2;
  } else {
    if (isPoints != (isColumns || row.kind == RowOpKind::Points))
      return -2;
    // The sums that a thread has are its own.
    if (isColumns)
      return -1;
  }
  return row.op.payloadUsesValueFromOperand(&operand) ? getCurrent(memory) : -1;
}

scf::ForOp findRowLoop(scf::ForallOp forall) {
  auto loops = forall.getBody()->getOps<scf::ForOp>();
  return llvm::hasSingleElement(loops) ? *loops.begin() : scf::ForOp();
}

/// True if an op adds points to memory of all rows, outside of their loop.
static bool addsToColumns(linalg::GenericOp op) {
  return isa<scf::ForOp>(op->getParentOp()) &&
         llvm::all_of(op.getDpsInits(), [&](Value output) {
           return !op->getParentRegion()->isAncestor(output.getParentRegion());
         });
}

/// Reads which memory an op writes: values of the row, or sums of columns.
bool RowForm::readResults(RowOp &row) {
  for (OpOperand &output : row.op.getDpsInitsMutable()) {
    unsigned memory = numberOf.lookup(output.get());
    RowMemory &own = memories[memory];
    if (row.kind == RowOpKind::Columns) {
      if (own.current >= 0)
        return false;
      row.columns.push_back(memory);
      ++numColumns;
      continue;
    }
    row.results.push_back(values.size());
    own.current = own.last = values.size();
    values.push_back({int(ops.size()), memory, own.isPoints,
                      getElementTypeOrSelf(own.memref.getType())});
  }
  return true;
}

bool RowForm::readOp(linalg::GenericOp op) {
  RowOp row;
  row.op = op;
  Block &block = op.getRegion().front();
  if (!op.hasPureBufferSemantics() || op.getNumDpsInits() == 0 ||
      !isLaneWise(block, /*takesIndices=*/true) || !readDims(op, row))
    return false;
  // The index along one of several dimensions is not that of the point.
  if (op.hasIndexSemantics() && extents.size() > 1)
    return false;
  if (row.kind == RowOpKind::Points && addsToColumns(op))
    row.kind = RowOpKind::Columns;
  if (row.kind == RowOpKind::Reduction || row.kind == RowOpKind::Columns) {
    row.combiners = findCombiners(op);
    if (row.combiners.empty())
      return false;
  }
  for (OpOperand &operand : op->getOpOperands()) {
    int value = readOperand(operand, row);
    if (value == -2)
      return false;
    row.operands.push_back(value);
  }
  if (!readResults(row))
    return false;
  ops.push_back(row);
  return true;
}

bool RowForm::read(Block &body) {
  for (Operation &op : body.without_terminator()) {
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      if (!readOp(generic))
        return false;
      continue;
    }
    bool isPlain = isa<memref::AllocOp, memref::AllocaOp, memref::DeallocOp,
                       memref::LoadOp>(op) ||
                   (op.getNumRegions() == 0 && isPure(&op));
    if (!isPlain)
      return false;
  }
  // Local memory is written before it is read, and no other op uses it.
  for (RowMemory &memory : memories) {
    if (!memory.isLocal)
      continue;
    bool isKnown = llvm::all_of(memory.memref.getUsers(), [](Operation *user) {
      return isa<linalg::GenericOp, memref::DeallocOp>(user);
    });
    if (memory.first >= 0 || !isKnown)
      return false;
    memory.last = -1;
  }
  return length > 1;
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

void RowForm::use(int value, int pass) {
  if (value < 0)
    return;
  values[value].firstPass = std::min(values[value].firstPass, pass);
  values[value].lastPass = std::max(values[value].lastPass, pass);
}

/// Reductions are done in the first pass in which they can be; points are
/// computed in the first that uses them.
void RowForm::choosePasses() {
  SmallVector<int> ready(values.size(), 0);
  for (RowOp &row : ops) {
    for (int value : row.operands)
      if (value >= 0)
        row.pass = std::max(row.pass, ready[value]);
    bool isReduction = row.kind == RowOpKind::Reduction;
    for (int value : row.results)
      ready[value] = row.pass + isReduction;
    numPasses = std::max(numPasses, row.pass + isReduction);
  }
  for (const RowMemory &memory : memories)
    use(memory.last, numPasses);
  for (RowOp &row : llvm::reverse(ops)) {
    if (row.kind == RowOpKind::Points) {
      row.pass = numPasses;
      for (int value : row.results)
        row.pass = std::min(row.pass, values[value].firstPass);
    }
    for (int value : row.operands)
      use(value, row.pass);
  }
  ++numPasses;
}

int64_t RowForm::countKept() const {
  int64_t most = 1;
  for (int pass = 0; pass < numPasses; ++pass)
    most = std::max<int64_t>(
        most, llvm::count_if(values, [&](const RowValue &v) {
          return v.isPoints && v.firstPass <= pass && v.lastPass > pass;
        }));
  return most + numColumns;
}

int64_t RowForm::getWidth() const {
  int64_t bytes = maxRowWidth;
  SmallVector<Value> lines;
  // Bits are accessed one by one.
  for (const RowMemory &memory : memories)
    if (Type element = getElementTypeOrSelf(memory.memref.getType());
        memory.isPoints && memory.isUsed() && !element.isInteger(1)) {
      lines.push_back(memory.memref);
      bytes = std::min(bytes, getElementBytes(element));
    }
  int64_t width = std::min(maxRowWidth, accessBytes / bytes);
  for (Value line : lines)
    width = getAlignedElements(line, width);
  while (width > length)
    width /= 2;
  return width;
}

std::optional<RowForm> RowForm::get(scf::ForallOp forall) {
  RowForm form;
  scf::ForOp loop = findRowLoop(forall);
  if (!form.read(loop ? *loop.getBody() : *forall.getBody()) ||
      !form.areDistinct(forall) || form.hasColumns() != bool(loop))
    return std::nullopt;
  form.choosePasses();
  return form;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// Elements in registers of a thread if rows keep `values`.
static int64_t countElements(const RowForm &form, int64_t values,
                             int64_t perRow) {
  int64_t width = form.getWidth();
  int64_t vectors = llvm::divideCeil(form.getLength(), width);
  return values * width * llvm::divideCeil(vectors, perRow);
}

bool RowThreads::keepsValues(const RowForm &form, int64_t perRow) {
  return countElements(form, form.countKept(), perRow) <= maxKeptElements;
}

bool RowThreads::fitsColumns(const RowForm &form, int64_t columns) {
  return countElements(form, form.countKept() + columns, maxColumnThreads) <=
         maxKeptElements;
}

RowThreads RowThreads::choose(const RowForm &form, int64_t rows,
                              int64_t manyBlocks) {
  int64_t vectors = llvm::divideCeil(form.getLength(), form.getWidth());
  RowThreads made;
  made.perRow = std::min<int64_t>(llvm::PowerOf2Ceil(vectors), warpSize);
  while (!keepsValues(form, made.perRow) && made.perRow < maxRowThreads)
    made.perRow *= 2;
  // Blocks that sum up columns have many rows.
  made.perBlock = std::max<int64_t>(made.perRow, 4 * warpSize);
  if (form.hasColumns()) {
    made.perBlock = std::max(made.perRow, maxColumnThreads);
    made.blocks = rows;
    return made;
  }
  // Several warps of a row wait for each other: a block has one row.
  if (made.perRow > warpSize)
    made.perBlock = made.perRow;
  // Few rows are spread over the device.
  while (made.perBlock > std::max<int64_t>(made.perRow, warpSize) &&
         int64_t(llvm::divideCeil(rows, made.getRowsPerBlock())) < manyBlocks)
    made.perBlock /= 2;
  made.blocks = llvm::divideCeil(rows, made.getRowsPerBlock());
  return made;
}

} // namespace mp
