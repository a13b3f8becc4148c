//===- EmitAttention.cpp - The body of attention's kernels ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementReader.h"
#include "HeadTiles.h"
#include "mp-opt/Codegen/GPU/Attention.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace mp::kernel {

using namespace tiling;

namespace {

/// Registers of sums: four of each product of 16 x 8.
using Sums = SmallVector<Value>;

/// Emits one pass: the steps of a block over the columns of its rows.
class PassCode {
public:
  PassCode(TileBuilder &e, const AttentionShape &shape,
           const AttentionPlan &plan, const AttentionPass &pass,
           ValueRange operands, const AttentionBlock &block);

  void emit();

private:
  void placeTiles(ValueRange operands);
  std::pair<Value, Value> getSteps();
  Sums emitSteps(Sums carried);
  Sums emitStep(Value stage, ValueRange carried);
  void loadRows();
  Sums multiplyRows(unsigned factor, Value stage);
  void addProducts(MutableArrayRef<Value> sums, ArrayRef<Value> weights,
                   unsigned factor, Value stage);
  Value pack(ArrayRef<Value> weights, int64_t tile, int64_t first);
  Sums emitSoftmax(const Sums &products, MutableArrayRef<Value> carried);
  void emitGradient(const Sums &scores, const Sums &gradients, Sums &weights,
                    Sums &slopes);
  Value reduceQuad(Value value,
                   llvm::function_ref<Value(Value, Value)> combine);
  void finish(ValueRange carried);
  void storeRows(const PassOutput &output, ValueRange sums, Value scale[2]);
  /// Elements of the matrix that a thread has in a step, and those of one of
  /// its products of 16 x 8: rows lane / 4 and lane / 4 + 8, two columns.
  int64_t countElements() const { return plan.tileColumns / 8 * 4; }
  int64_t countSums(const PassOutput &output) const {
    return pass.columns[output.factor].getPadded() / 8 * 4;
  }
  Value constant(double number) {
    return arith::ConstantOp::create(e, e.getF32FloatAttr(number));
  }
  Value exp(Value x);
  Value invert(Value x);

  TileBuilder &e;
  const AttentionShape &shape;
  const AttentionPlan &plan;
  const AttentionPass &pass;
  AttentionBlock block;
  Value lane, warpRow;
  ElementReader reader;
  std::unique_ptr<HeadTiles> rows[2], columns[2];
  SmallVector<HeadTiles *> async, direct;
  /// Registers of short heads' rows, for each 16 elements; else each step loads
  /// them.
  SmallVector<SmallVector<Value>> kept[2];
  Value token;
};

} // namespace

PassCode::PassCode(TileBuilder &e, const AttentionShape &shape,
                   const AttentionPlan &plan, const AttentionPass &pass,
                   ValueRange operands, const AttentionBlock &block)
    : e(e), shape(shape), plan(plan), pass(pass), block(block),
      lane(e.rem(block.thread, 32)),
      warpRow(e.mul(e.div(block.thread, 32), AttentionPlan::warpRows)),
      reader(e, shape, plan, pass, operands, block) {
  placeTiles(operands);
}

/// Divides shared memory among the factors.
void PassCode::placeTiles(ValueRange operands) {
  auto space = mlir::gpu::AddressSpaceAttr::get(
      e.getContext(), mlir::gpu::AddressSpace::Workgroup);
  Value all = mlir::gpu::DynamicSharedMemoryOp::create(
      e, MemRefType::get({ShapedType::kDynamic}, e.getI8Type(),
                         MemRefLayoutAttrInterface(), space));
  int64_t begin = 0;
  auto make = [&](const HeadFactor &factor, bool ofRows) {
    auto tiles = std::make_unique<HeadTiles>(e, shape, plan, pass, factor,
                                             ofRows, operands[factor.operand],
                                             all, begin, block);
    begin +=
        2 * factor.getPadded() *
        (ofRows ? plan.tileRows : plan.tileColumns * AttentionPlan::numStages);
    return tiles;
  };
  for (unsigned i : {0, 1}) {
    if (i == 0 || pass.hasGradient)
      rows[i] = make(pass.rows[i], true);
    columns[i] = make(pass.columns[i], false);
    (columns[i]->isAsync() ? async : direct).push_back(columns[i].get());
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Loads the warp's rows, which all steps use, where registers suffice.
void PassCode::loadRows() {
  constexpr int64_t maxKept = 64;
  for (unsigned factor : {0, 1}) {
    if (!rows[factor] || rows[factor]->getFactor().getPadded() > maxKept)
      continue;
    const HeadFactor &head = rows[factor]->getFactor();
    for (int64_t slice = 0; slice < head.getNumSlices(); ++slice)
      for (int64_t k = 0; k < head.getSliceWidth(); k += 16)
        kept[factor].push_back(loadLHSFragment(
            e, rows[factor]->getSlice(e, slice, e.index(0), false), lane,
            warpRow, e.index(k)));
  }
}

/// The warp's rows of a matrix: its factor times that of columns.
Sums PassCode::multiplyRows(unsigned factor, Value stage) {
  Sums sums(countElements(), constant(0));
  const HeadTiles &left = *rows[factor], &right = *columns[factor];
  const HeadFactor &head = left.getFactor();
  Type element = shape.operands[head.operand].type.getElementType();
  for (int64_t slice = 0; slice < head.getNumSlices(); ++slice)
    for (int64_t k = 0; k < head.getSliceWidth(); k += 16) {
      SmallVector<Value> a =
          kept[factor].empty()
              ? loadLHSFragment(e, left.getSlice(e, slice, stage, false), lane,
                                warpRow, e.index(k))
              : kept[factor][(slice * head.getSliceWidth() + k) / 16];
      for (int64_t column = 0; column < plan.tileColumns; column += 16) {
        SmallVector<Value> b =
            loadRHSFragments(e, right.getSlice(e, slice, stage, true), lane,
                             e.index(column), e.index(k));
        MutableArrayRef<Value> both =
            MutableArrayRef<Value>(sums).slice(column / 2, 8);
        emitMMA(e, element, a, {b[0], b[1]}, both.take_front(4));
        emitMMA(e, element, a, {b[2], b[3]}, both.drop_front(4));
      }
    }
  return sums;
}

/// A register of two neighbouring columns of a product of 16 x 8.
Value PassCode::pack(ArrayRef<Value> weights, int64_t tile, int64_t first) {
  return toRegister(e, e.fromElements(weights.slice(tile * 4 + first, 2)));
}

/// Adds weights times a factor of the columns.
void PassCode::addProducts(MutableArrayRef<Value> sums, ArrayRef<Value> weights,
                           unsigned factor, Value stage) {
  const HeadTiles &right = *columns[factor];
  const HeadFactor &head = right.getFactor();
  Type element = shape.operands[head.operand].type.getElementType();
  for (int64_t k = 0; k < plan.tileColumns; k += 16) {
    int64_t tile = k / 8;
    SmallVector<Value> a{pack(weights, tile, 0), pack(weights, tile, 2),
                         pack(weights, tile + 1, 0),
                         pack(weights, tile + 1, 2)};
    for (int64_t slice = 0; slice < head.getNumSlices(); ++slice)
      for (int64_t i = 0; i < head.getSliceWidth(); i += 16) {
        SmallVector<Value> b =
            loadRHSFragments(e, right.getSlice(e, slice, stage, false), lane,
                             e.index(i), e.index(k));
        int64_t first = (slice * head.getSliceWidth() + i) / 8 * 4;
        MutableArrayRef<Value> both = sums.slice(first, 8);
        emitMMA(e, element, a, {b[0], b[1]}, both.take_front(4));
        emitMMA(e, element, a, {b[2], b[3]}, both.drop_front(4));
      }
  }
}

/// The exponential by the hardware's power of two, whose error of 2^-22 is far
/// below the rounding of weights to 16 bit.
Value PassCode::exp(Value x) {
  constexpr double log2e = 1.4426950408889634;
  x = arith::MulFOp::create(e, x, constant(log2e));
  return LLVM::Exp2Op::create(e, x.getType(), x, LLVM::FastmathFlags::afn);
}

/// The hardware's reciprocal, with an error of one unit in the last place.
Value PassCode::invert(Value x) {
  auto name = e.getStringAttr("llvm.nvvm.rcp.approx.ftz.f");
  return LLVM::CallIntrinsicOp::create(e, x.getType(), name, ValueRange{x})
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Elements of the matrices
//===----------------------------------------------------------------------===//

/// Combines the values of the four lanes that have a row.
Value PassCode::reduceQuad(Value value,
                           llvm::function_ref<Value(Value, Value)> combine) {
  for (int32_t distance : {1, 2}) {
    auto other = mlir::gpu::ShuffleOp::create(e, e.getLoc(), value, distance,
                                              32, mlir::gpu::ShuffleMode::XOR);
    value = combine(value, other.getShuffleResult());
  }
  return value;
}

/// Updates maxima and sums of rows, and returns the weights of this step.
/// Earlier sums, which are relative to the maxima so far, are scaled.
Sums PassCode::emitSoftmax(const Sums &products,
                           MutableArrayRef<Value> carried) {
  using Op = AttentionOp;
  Sums scores, weights;
  Value least = constant(-std::numeric_limits<double>::infinity());
  for (int64_t i = 0; i < countElements(); ++i)
    scores.push_back(
        e.select(reader.getColumnExists(i),
                 reader.apply(Op::ScoreOf, {products[i], {}, {}}, i), least));
  MutableArrayRef<Value> maxima = carried.take_back(4).take_front(2);
  MutableArrayRef<Value> sums = carried.take_back(2);
  auto getMaximum = [&](Value a, Value b) -> Value {
    return arith::MaximumFOp::create(e, a, b);
  };
  Value shift[2], scale[2];
  for (int64_t row : {0, 1}) {
    Value maximum = scores[2 * row];
    for (int64_t i = 0; i < countElements(); ++i)
      if (i / 2 % 2 == row && i != 2 * row)
        maximum = getMaximum(maximum, scores[i]);
    maximum = getMaximum(maxima[row], reduceQuad(maximum, getMaximum));
    // Nothing is subtracted from rows that are all minus infinity so far.
    Value isMasked =
        arith::CmpFOp::create(e, arith::CmpFPredicate::OEQ, maximum, least);
    shift[row] = e.select(isMasked, constant(0), maximum);
    scale[row] =
        exp(arith::SubFOp::create(e, maxima[row], shift[row]).getResult());
    maxima[row] = maximum;
    sums[row] = arith::MulFOp::create(e, sums[row], scale[row]);
  }
  for (int64_t i = 0; i < countElements(); ++i) {
    int64_t row = i / 2 % 2;
    Value p = exp(arith::SubFOp::create(e, scores[i], shift[row]).getResult());
    sums[row] = arith::AddFOp::create(e, sums[row], p);
    weights.push_back(reader.apply(Op::Weight, {{}, p, {}}, i));
  }
  for (auto [i, sum] : llvm::enumerate(carried.drop_back(4)))
    sum = arith::MulFOp::create(e, sum, scale[i / 2 % 2]);
  return weights;
}

/// Computes probabilities again, and what their gradient needs.
void PassCode::emitGradient(const Sums &scores, const Sums &gradients,
                            Sums &weights, Sums &slopes) {
  using Op = AttentionGradientOp;
  enum : unsigned { Maximum = 4, Sum, Inner };
  auto wants = [&](bool isSlope) {
    return llvm::any_of(pass.outputs, [&](const PassOutput &output) {
      return output.isSlope == isSlope;
    });
  };
  auto keep = [&](Value weight, int64_t i) {
    return e.select(reader.getColumnExists(i), weight,
                    e.zero(weight.getType()));
  };
  // Elements of a row or of a column share the reciprocal of their sum.
  DenseMap<Value, Value> reciprocals;
  auto getReciprocal = [&](int64_t i) {
    Value sum = reader.get(Sum, i);
    Value &reciprocal = reciprocals[sum];
    if (!reciprocal)
      reciprocal = invert(sum);
    return reciprocal;
  };
  for (int64_t i = 0; i < countElements(); ++i) {
    Value s = reader.apply(Op::ScoreOf, {scores[i], {}, {}, {}, {}}, i);
    Value p =
        exp(arith::SubFOp::create(e, s, reader.get(Maximum, i)).getResult());
    p = arith::MulFOp::create(e, p, getReciprocal(i));
    if (wants(false))
      weights.push_back(
          keep(reader.apply(Op::Weight, {{}, p, {}, {}, {}}, i), i));
    if (wants(true))
      slopes.push_back(
          keep(reader.apply(Op::Slope,
                            {{}, p, gradients[i], reader.get(Inner, i), {}}, i),
               i));
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Sums PassCode::emitStep(Value stage, ValueRange carried) {
  Sums next = llvm::to_vector(carried);
  Sums scores = multiplyRows(0, stage), weights, slopes;
  if (shape.isGradient) {
    Sums gradients = pass.hasGradient ? multiplyRows(1, stage) : Sums();
    emitGradient(scores, gradients, weights, slopes);
  } else {
    weights = emitSoftmax(scores, next);
  }
  size_t begin = 0;
  for (const PassOutput &output : pass.outputs) {
    addProducts(MutableArrayRef<Value>(next).slice(begin, countSums(output)),
                output.isSlope ? slopes : weights, output.factor, stage);
    begin += countSums(output);
  }
  return next;
}

/// The first step that a causal mask leaves, and the one after the last.
std::pair<Value, Value> PassCode::getSteps() {
  unsigned dim = pass.rowsAreKeys ? shape.getQueryDim() : shape.getKeyDim();
  int64_t columns = shape.sizes[dim];
  Value begin = e.index(0);
  Value end = e.index(llvm::divideCeil(columns, plan.tileColumns));
  if (!plan.mask)
    return {begin, end};
  auto min = [&](Value a, Value b) {
    return e.createOrFold<arith::MinSIOp>(a, b);
  };
  auto max = [&](Value a, Value b) {
    return e.createOrFold<arith::MaxSIOp>(a, b);
  };
  auto clamp = [&](Value column) {
    return min(max(column, e.index(0)), e.index(columns));
  };
  if (pass.rowsAreKeys) {
    Value first = e.sub(block.firstRow, e.index(plan.mask->last));
    // The columns of the first step are copied even if no query is left.
    begin = min(e.div(clamp(first), plan.tileColumns), e.sub(end, e.index(1)));
  } else {
    Value behind = e.add(block.firstRow, plan.tileRows + plan.mask->last);
    end = e.div(e.add(clamp(behind), plan.tileColumns - 1), plan.tileColumns);
  }
  return {begin, end};
}

/// Copies the next columns while those of a step are multiplied.
Sums PassCode::emitSteps(Sums carried) {
  auto [begin, end] = getSteps();
  Value zero = e.index(0), first = e.mul(begin, plan.tileColumns);
  Value firstStage = e.rem(begin, AttentionPlan::numStages);
  auto commit = [&] {
    token = nvgpu::DeviceAsyncCreateGroupOp::create(
        e, nvgpu::DeviceAsyncTokenType::get(e.getContext()), ValueRange{});
  };
  for (HeadTiles *tiles :
       {rows[0].get(), rows[1].get(), columns[0].get(), columns[1].get()}) {
    if (!tiles)
      continue;
    bool isRow = tiles == rows[0].get() || tiles == rows[1].get();
    Value column = isRow ? zero : first, stage = isRow ? zero : firstStage;
    if (tiles->isAsync())
      tiles->start(e, column, stage);
    else
      tiles->write(e, tiles->read(e, column), stage);
  }
  commit();
  // Rows that go through registers are visible behind the same barrier.
  nvgpu::DeviceAsyncWaitOp::create(e, token, e.getI32IntegerAttr(0));
  mlir::gpu::BarrierOp::create(e);
  loadRows();
  // The loop carries sums, and elements that were read for its next step.
  size_t numSums = carried.size();
  llvm::append_range(carried, reader.readAhead(first, Value()));
  SmallVector<Value> results = e.loop(
      begin, end, 1, carried, [&, end = end](Value step, ValueRange values) {
        nvgpu::DeviceAsyncWaitOp::create(e, token, e.getI32IntegerAttr(0));
        mlir::gpu::BarrierOp::create(e);
        Value next = e.add(step, 1);
        Value isLeft = e.isWithin(next, end);
        Value column = e.mul(next, plan.tileColumns);
        Value stage = e.rem(next, AttentionPlan::numStages);
        if (!async.empty())
          e.ifThen(isLeft, [&] {
            for (HeadTiles *tiles : async)
              tiles->start(e, column, stage);
          });
        // LLVM would move these loads to the next step, but not across a
        // commit.
        SmallVector<Value> ahead = reader.readAhead(column, isLeft);
        commit();
        SmallVector<SmallVector<Value>> read;
        for (HeadTiles *tiles : direct)
          read.push_back(e.ifElseZero(isLeft, tiles->getReadTypes(e),
                                      [&] { return tiles->read(e, column); }));
        reader.beginStep(e.mul(step, plan.tileColumns),
                         values.drop_front(numSums));
        Sums sums = emitStep(e.rem(step, AttentionPlan::numStages),
                             values.take_front(numSums));
        if (!direct.empty())
          e.ifThen(isLeft, [&] {
            for (auto [tiles, elements] : llvm::zip_equal(direct, read))
              tiles->write(e, elements, stage);
          });
        llvm::append_range(sums, ahead);
        return sums;
      });
  results.truncate(numSums);
  return results;
}

/// Stores the sums of an output's rows, times `scale` if there is one.
void PassCode::storeRows(const PassOutput &output, ValueRange sums,
                         Value scale[2]) {
  const HeadFactor &head = pass.columns[output.factor];
  // The sum is the last of the arguments before extra operands.
  Block &body = shape.op->getRegion(0).front();
  for (int64_t first = 0; first < head.getPadded(); first += 8) {
    Value element = e.add(e.mul(e.rem(lane, 4), 2), first);
    for (int64_t row : {0, 1}) {
      SmallVector<Value> results;
      for (int64_t i : {0, 1}) {
        Value sum = sums[first / 8 * 4 + 2 * row + i];
        if (scale[row])
          sum = arith::MulFOp::create(e, sum, scale[row]);
        results.push_back(
            applyBody(e, body, output.finish, [&](unsigned) { return sum; }));
      }
      reader.storePair(output.operand, row, head, element, results);
    }
  }
}

void PassCode::finish(ValueRange carried) {
  Value scale[2] = {};
  if (!shape.isGradient) {
    ValueRange maxima = carried.take_back(4).take_front(2);
    ValueRange sums = carried.take_back(2);
    reader.beginStep(e.index(0));
    for (int64_t row : {0, 1}) {
      Value sum = reduceQuad(sums[row], [&](Value a, Value b) -> Value {
        return arith::AddFOp::create(e, a, b);
      });
      // Probabilities of a row that is all masked are NaN, which its weights
      // may replace by zeros. Its sums are zero.
      Value weight = reader.apply(
          AttentionOp::Weight,
          {{}, constant(std::numeric_limits<double>::quiet_NaN()), {}},
          2 * row);
      Value isEmpty =
          arith::CmpFOp::create(e, arith::CmpFPredicate::OEQ, sum, constant(0));
      scale[row] = e.select(isEmpty, e.castFloat(weight, e.getF32Type()),
                            arith::DivFOp::create(e, constant(1), sum));
      Value isFirst = e.isWithin(e.rem(lane, 4), 1);
      reader.storeRow(shape.getOutput(1), row, isFirst, maxima[row]);
      reader.storeRow(shape.getOutput(2), row, isFirst, sum);
    }
  }
  size_t begin = 0;
  for (const PassOutput &output : pass.outputs) {
    storeRows(output, carried.slice(begin, countSums(output)), scale);
    begin += countSums(output);
  }
}

void PassCode::emit() {
  Sums carried;
  for (const PassOutput &output : pass.outputs)
    carried.append(countSums(output), constant(0));
  if (!shape.isGradient) {
    carried.append(2, constant(-std::numeric_limits<double>::infinity()));
    carried.append(2, constant(0));
  }
  finish(emitSteps(carried));
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

void emitAttention(OpBuilder &builder, Operation *op, Value number) {
  AttentionShape shape = AttentionShape::get(op);
  AttentionPlan plan = AttentionPlan::get(shape);
  TileBuilder e(op->getLoc(), builder, shape.isWide());
  Value thread = e.fromIndex(
      mlir::gpu::ThreadIdOp::create(e, mlir::gpu::Dimension::x).getResult());
  Value block = e.fromIndex(number);
  for (auto [i, pass] : llvm::enumerate(plan.passes)) {
    int64_t rows =
        shape.sizes[pass.rowsAreKeys ? shape.getKeyDim() : shape.getQueryDim()];
    int64_t tiles = plan.countRowTiles(rows);
    auto emitPass = [&, &pass = pass] {
      AttentionBlock at{thread, e.div(block, tiles),
                        e.mul(e.rem(block, tiles), plan.tileRows)};
      PassCode(e, shape, plan, pass, op->getOperands(), at).emit();
    };
    if (i + 1 == plan.passes.size()) {
      emitPass();
      break;
    }
    auto branch = scf::IfOp::create(e, e.isWithin(block, pass.numBlocks),
                                    /*withElseRegion=*/true);
    e.setInsertionPointToStart(branch.thenBlock());
    emitPass();
    e.setInsertionPointToStart(branch.elseBlock());
    block = e.sub(block, e.index(pass.numBlocks));
  }
}

} // namespace mp::kernel
