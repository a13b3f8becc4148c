//===- AttentionPlan.cpp - Blocks of attention's kernels ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionPlan.h"

#include "Problem.h"
#include "mp-opt/Codegen/GPU/Attention.h"
#include "mp-opt/Codegen/Target/KnownTargets.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mp::kernel {

using namespace tiling;

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

template <typename Op> static void addOperands(Op op, AttentionShape &shape) {
  shape.numBatches = op.getNumBatches();
  shape.numExtras = op.getExtras().size();
  shape.sizes.assign(shape.numBatches + 4, 1);
  for (auto [map, value] : llvm::zip(op.getMaps(), op->getOperands())) {
    AttentionOperand operand;
    operand.type = cast<MemRefType>(value.getType());
    Layout layout = *getLayout(operand.type);
    operand.offset = layout.offset;
    operand.strides.assign(shape.sizes.size(), 0);
    for (auto [expr, size, stride] :
         llvm::zip(map.getResults(), operand.type.getShape(), layout.strides))
      if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
        operand.strides[dim.getPosition()] += stride;
        shape.sizes[dim.getPosition()] = size;
      }
    shape.operands.push_back(operand);
  }
}

AttentionShape AttentionShape::get(Operation *op) {
  AttentionShape shape;
  shape.op = op;
  auto gradient = dyn_cast<AttentionGradientOp>(op);
  shape.isGradient = gradient != nullptr;
  if (gradient)
    addOperands(gradient, shape);
  else
    addOperands(cast<AttentionOp>(op), shape);
  return shape;
}

int64_t AttentionShape::countBatches() const {
  int64_t count = 1;
  for (int64_t size : ArrayRef(sizes).take_front(numBatches))
    count *= size;
  return count;
}

bool AttentionShape::isWide() const {
  return llvm::any_of(operands, [](const AttentionOperand &operand) {
    return operand.type.getNumElements() > INT32_MAX / 2;
  });
}

int64_t HeadFactor::getSliceWidth() const {
  int64_t padded = getPadded();
  return std::min<int64_t>(64, padded & -padded);
}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

/// The longest head whose gradients of keys and of values are both in
/// registers, with 64 rows in shared memory.
constexpr int64_t maxCommonHead = 128;

static AttentionPass makePass(const AttentionShape &shape, bool rowsAreKeys,
                              bool hasGradient) {
  unsigned d = shape.numBatches + 2, e = d + 1;
  auto factor = [&](unsigned operand, unsigned dim) {
    return HeadFactor{operand, dim, shape.sizes[dim]};
  };
  // The forward pass has no gradient, but values are its columns' factor.
  unsigned gradientOperand = shape.isGradient ? 3 : 0;
  AttentionPass pass;
  pass.rowsAreKeys = rowsAreKeys;
  pass.hasGradient = hasGradient;
  HeadFactor queries[] = {factor(0, d), factor(gradientOperand, e)};
  HeadFactor keys[] = {factor(1, d), factor(2, e)};
  for (unsigned i : {0, 1}) {
    pass.rows[i] = rowsAreKeys ? keys[i] : queries[i];
    pass.columns[i] = rowsAreKeys ? queries[i] : keys[i];
  }
  return pass;
}

static void addPasses(const AttentionShape &shape, AttentionPlan &plan,
                      int64_t head) {
  if (!shape.isGradient) {
    AttentionPass pass = makePass(shape, false, false);
    pass.outputs.push_back({false, 1, shape.getOutput(0), AttentionOp::Finish});
    plan.passes.push_back(pass);
    return;
  }
  using Op = AttentionGradientOp;
  AttentionPass queries = makePass(shape, false, true);
  queries.outputs.push_back({true, 0, shape.getOutput(0), Op::FinishQuery});
  plan.passes.push_back(queries);
  PassOutput key{true, 0, shape.getOutput(1), Op::FinishKey};
  PassOutput value{false, 1, shape.getOutput(2), Op::FinishValue};
  AttentionPass keys = makePass(shape, true, true);
  if (head <= maxCommonHead) {
    keys.outputs = {value, key};
    plan.passes.push_back(keys);
    return;
  }
  keys.outputs = {key};
  plan.passes.push_back(keys);
  keys.hasGradient = false;
  keys.outputs = {value};
  plan.passes.push_back(keys);
}

AttentionPlan AttentionPlan::get(const AttentionShape &shape) {
  AttentionPlan plan;
  int64_t head = shape.getLongestHead();
  // Sums and the elements of a step fit 255 registers, and tiles 96 KiB.
  plan.tileRows = head <= maxCommonHead ? 64 : 32;
  plan.tileColumns = head > maxCommonHead            ? 16
                     : head > 64 || shape.isGradient ? 32
                                                     : 64;
  plan.mask = getCausalMask(shape.op);
  plan.numThreads = plan.tileRows / warpRows * 32;
  addPasses(shape, plan, head);
  plan.numBlocks = 0;
  plan.sharedBytes = 0;
  for (AttentionPass &pass : plan.passes) {
    int64_t rows =
        shape.sizes[pass.rowsAreKeys ? shape.getKeyDim() : shape.getQueryDim()];
    pass.numBlocks = shape.countBatches() * plan.countRowTiles(rows);
    plan.numBlocks += pass.numBlocks;
    int64_t elements = 0;
    for (unsigned i : {0, 1}) {
      if (i == 0 || pass.hasGradient)
        elements += plan.tileRows * pass.rows[i].getPadded();
      elements += numStages * plan.tileColumns * pass.columns[i].getPadded();
    }
    plan.sharedBytes = std::max(plan.sharedBytes, 2 * elements);
  }
  return plan;
}

LogicalResult verifyGPUAttention(Operation *op) {
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (!type || !getLayout(type) || type.getNumElements() == 0)
      return op->emitOpError() << "expected memory of known sizes, strides and "
                                  "offset, with elements, got "
                               << operand.getType();
  }
  AttentionShape shape = AttentionShape::get(op);
  Type element = shape.operands[1].type.getElementType();
  for (unsigned factor = 0; factor < (shape.isGradient ? 4u : 3u); ++factor) {
    Type other = shape.operands[factor].type.getElementType();
    if (other != element || !(element.isBF16() || element.isF16()))
      return op->emitOpError()
             << "expected factors of bf16 or of f16, of one type, got "
             << element << " and " << other;
  }
  int64_t head = shape.getLongestHead();
  if (head > maxAttentionHead)
    return op->emitOpError() << "expected heads of at most " << maxAttentionHead
                             << " elements, got " << head;
  const GPUTarget &target = GPUTarget::get(op);
  if (target.multiplier != Multiplier::MMA)
    return op->emitOpError()
           << "expected a device with mma, got " << target.chip;
  if (AttentionPlan::get(shape).numBlocks > INT32_MAX)
    return op->emitOpError()
           << "expected at most " << INT32_MAX << " blocks of threads";
  return success();
}

ContractLaunch getAttentionLaunch(Operation *op) {
  AttentionPlan plan = AttentionPlan::get(AttentionShape::get(op));
  return {{int32_t(plan.numBlocks), 1, 1},
          {int32_t(plan.numThreads), 1, 1},
          int32_t(plan.sharedBytes)};
}

int32_t getAttentionBlocks(Operation *op) {
  // Three blocks of 128 threads have 168 registers a thread, two have 255.
  AttentionShape shape = AttentionShape::get(op);
  return !shape.isGradient && shape.getLongestHead() <= 64 ? 3 : 2;
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// Operations on floats of a region, without casts.
static int64_t countFloatOperations(Region &region) {
  return llvm::count_if(region.front().without_terminator(), [](Operation &op) {
    return op.getNumOperands() > 1 &&
           isa<FloatType>(op.getOperand(1).getType());
  });
}

/// The elements of one batch's matrix that blocks compute.
static uint64_t countElements(const AttentionShape &shape,
                              const AttentionPlan &plan,
                              const AttentionPass &pass) {
  int64_t rows = shape.sizes[shape.getQueryDim()];
  int64_t columns = shape.sizes[shape.getKeyDim()];
  if (pass.rowsAreKeys)
    std::swap(rows, columns);
  uint64_t count = 0;
  for (int64_t first = 0; first < rows; first += plan.tileRows) {
    int64_t begin = 0, end = columns;
    if (plan.mask && pass.rowsAreKeys)
      begin = std::clamp<int64_t>(first - plan.mask->last, 0, columns) /
              plan.tileColumns * plan.tileColumns;
    else if (plan.mask)
      end = std::clamp<int64_t>(first + plan.tileRows + plan.mask->last, 0,
                                columns);
    count += (end - begin) * std::min(plan.tileRows, rows - first);
  }
  return count;
}

AttentionWork countAttentionWork(Operation *op) {
  AttentionShape shape = AttentionShape::get(op);
  AttentionPlan plan = AttentionPlan::get(shape);
  AttentionWork work;
  int64_t operations = countFloatOperations(op->getRegion(0));
  for (const AttentionPass &pass : plan.passes) {
    uint64_t elements = shape.countBatches() * countElements(shape, plan, pass);
    uint64_t length = pass.rows[0].size;
    if (pass.hasGradient)
      length += pass.rows[1].size;
    for (const PassOutput &output : pass.outputs)
      length += pass.columns[output.factor].size;
    work.products += elements * length;
    // The difference, the exponential and the quotient of the softmax.
    work.operations += elements * (operations + 3);
  }
  return work;
}

} // namespace mp::kernel
