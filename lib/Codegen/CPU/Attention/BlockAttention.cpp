//===- BlockAttention.cpp - Attention by blocks of queries ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block has all keys, so that the maximum of a row is known before its
// exponentials are computed. Each of its products is one kernel.contract for
// all threads, as products of whole matrices are, and each pass over its rows
// one parallel loop. Keys that a causal mask hides from all queries of a block
// are left out.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/CPU/Attention.h"

#include "AttentionBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace mp {

StringRef findProcessorMisfit(const AttentionFacts &facts,
                              const AttentionLimits &limits) {
  if (!llvm::all_of(facts.factors, [](Type type) {
        return type.isF32() || type.isBF16() || type.isF16();
      }))
    return "its factors are not floats of 16 or 32 bits";
  // Blocks of few rows make products slow, and their matrices are small.
  constexpr int64_t minQueries = 64;
  if (facts.queries < minQueries)
    return "it has fewer than 64 queries";
  if (facts.queries * facts.keys < limits.minHeadScores ||
      facts.batches * facts.queries * facts.keys < limits.minScores)
    return "its matrices fit the caches";
  return "";
}

namespace kernel {

namespace {
/// The parts that both ops have.
class AttentionBlocks {
protected:
  explicit AttentionBlocks(Operation *op) : a(op), e(a.e) {}

  void multiplyScores(unsigned function, const AttentionRange &block);
  SmallVector<Value> getArguments(ArrayRef<Value> floats, ValueRange extras,
                                  const AttentionRange &range,
                                  ValueRange indices);
  SmallVector<MappedMemory> viewExtras(const AttentionRange &range);
  MappedMemory viewOperand(unsigned number, const AttentionRange &range) {
    return {a.view(a.operands[number], range), a.operands[number].map};
  }
  MappedMemory viewOutput(unsigned number, const AttentionRange &range) {
    return viewOperand(a.firstExtra + a.numExtras + number, range);
  }
  MappedMemory viewScratch(const MappedMemory &scratch,
                           const AttentionRange &range,
                           const AttentionRange &base) {
    return {a.view(scratch, range, &base), scratch.map};
  }
  Type getElement(unsigned operand) {
    return getElementTypeOrSelf(a.operands[operand].memory.getType());
  }
  /// The function that a product's sum is finished by.
  auto finishBy(unsigned function, unsigned argument) {
    return [this, function, argument](OpBuilder &b, Value sum, ValueRange) {
      return finish(b, function, argument, sum);
    };
  }
  Value finish(OpBuilder &b, unsigned function, unsigned argument, Value sum) {
    SmallVector<Value> arguments(argument + 1);
    arguments[argument] = sum;
    return a.emitFunction(b, function, arguments);
  }
  /// True if the score is a part of the product that it begins with.
  bool isScoreOfProduct(unsigned function) {
    return !a.uses(function, a.numArguments + a.numExtras);
  }

  AttentionBuilder a;
  LoopBuilder &e;
  MappedMemory scores;
};

class Forward : AttentionBlocks {
public:
  explicit Forward(AttentionOp op) : AttentionBlocks(op), op(op) {}
  void emit();

private:
  using Op = AttentionOp;
  void emitBlock(const AttentionRange &block);
  void emitRow(const AttentionRange &row, const AttentionRange &block);
  void reduce(const MappedMemory &row, const MappedMemory &result, double start,
              llvm::function_ref<Value(OpBuilder &, Value, Value)> combine);

  AttentionOp op;
  MappedMemory weights;
  bool isScored, isWeighted;
};

class Gradient : AttentionBlocks {
public:
  explicit Gradient(AttentionGradientOp op) : AttentionBlocks(op), op(op) {}
  void emit();

private:
  using Op = AttentionGradientOp;
  enum Input : unsigned { Query, Key, Value_, Given, Maximum, RowSum, Inner };
  enum Output : unsigned { OfQuery, OfKey, OfValue };
  void emitBlock(const AttentionRange &block, const AttentionRange &batches);
  void emitSlopes(const AttentionRange &block);
  void finishSums(const AttentionRange &batches, unsigned output);

  AttentionGradientOp op;
  /// The products of gradient and value, and what the slopes and weights of
  /// scores are written to.
  MappedMemory gradients, weights, slopes;
  /// Sums over blocks, of keys and of values.
  MappedMemory sums[2];
  bool isScored;
};
} // namespace

//===----------------------------------------------------------------------===//
// Both ops
//===----------------------------------------------------------------------===//

SmallVector<MappedMemory>
AttentionBlocks::viewExtras(const AttentionRange &range) {
  SmallVector<MappedMemory> extras;
  for (unsigned i = 0; i < a.numExtras; ++i)
    extras.push_back(viewOperand(a.firstExtra + i, range));
  return extras;
}

/// The arguments of the region. Indices are those in the range; none are
/// needed by functions that do not use them.
SmallVector<Value> AttentionBlocks::getArguments(ArrayRef<Value> floats,
                                                 ValueRange extras,
                                                 const AttentionRange &range,
                                                 ValueRange indices) {
  SmallVector<Value> arguments(floats);
  llvm::append_range(arguments, extras);
  for (auto [number, index] : llvm::enumerate(indices)) {
    Value begin = number < range.begin.size() ? range.begin[number] : Value();
    arguments.push_back(begin ? e.add(begin, index) : index);
  }
  return arguments;
}

/// Multiplies queries and keys. Scales and masks in memory are applied to sums
/// in registers.
void AttentionBlocks::multiplyScores(unsigned function,
                                     const AttentionRange &block) {
  bool isWhole = isScoreOfProduct(function);
  SmallVector<MappedMemory> extras;
  if (isWhole)
    extras = viewExtras(block);
  a.multiply(0, viewOperand(0, block), viewOperand(1, block),
             viewScratch(scores, block, block), extras,
             [&](OpBuilder &b, Value sum, ValueRange elements) {
               if (!isWhole)
                 return sum;
               SmallVector<Value> floats(a.numArguments);
               floats[0] = sum;
               return a.emitFunction(b, function,
                                     getArguments(floats, elements, block, {}));
             });
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

void Forward::reduce(
    const MappedMemory &row, const MappedMemory &result, double start,
    llvm::function_ref<Value(OpBuilder &, Value, Value)> combine) {
  Value first = arith::ConstantOp::create(e, e.getF32FloatAttr(start));
  linalg::FillOp::create(e, first, result.memory);
  a.compute(a.getMatrixDims(), row, result,
            [&](OpBuilder &b, ValueRange elements, ValueRange) {
              return SmallVector<Value>{combine(b, elements[1], elements[0])};
            });
}

/// Computes the exponentials of a row, and what they are multiplied with values
/// as.
void Forward::emitRow(const AttentionRange &row, const AttentionRange &block) {
  SmallVector<unsigned> dims = a.getMatrixDims();
  MappedMemory s = viewScratch(scores, row, block);
  MappedMemory maximum = viewOutput(1, row), sum = viewOutput(2, row);
  SmallVector<MappedMemory> inputs{s};
  llvm::append_range(inputs, viewExtras(row));
  Location loc = e.getLoc();
  auto apply = [&](unsigned function, unsigned argument,
                   const MappedMemory &result) {
    a.compute(dims, inputs, result,
              [&](OpBuilder &b, ValueRange elements, ValueRange indices) {
                SmallVector<Value> floats(Op::NumArguments);
                floats[argument] = elements[0];
                auto arguments = getArguments(
                    floats, elements.drop_front().drop_back(), row, indices);
                return SmallVector<Value>{
                    a.emitFunction(b, function, arguments)};
              });
  };
  if (!isScored)
    apply(Op::ScoreOf, Op::Score, s);
  reduce(s, maximum, -std::numeric_limits<double>::infinity(),
         [&](OpBuilder &b, Value x, Value y) -> Value {
           return arith::MaximumFOp::create(b, loc, x, y);
         });
  a.compute(dims, {s, maximum}, s,
            [&](OpBuilder &b, ValueRange elements, ValueRange) {
              Value difference =
                  arith::SubFOp::create(b, loc, elements[0], elements[1]);
              return SmallVector<Value>{
                  math::ExpOp::create(b, loc, difference)};
            });
  reduce(s, sum, 0, [&](OpBuilder &b, Value x, Value y) -> Value {
    return arith::AddFOp::create(b, loc, x, y);
  });
  if (isWeighted)
    apply(Op::Weight, Op::Probability, viewScratch(weights, row, block));
}

void Forward::emitBlock(const AttentionRange &block) {
  multiplyScores(Op::ScoreOf, block);
  a.forRows(block, [&](const AttentionRange &row) { emitRow(row, block); });
  // The sums of rows divide results, which are fewer than probabilities. A sum
  // that is NaN does not: the weights of its row may be known.
  a.multiply(1, viewScratch(weights, block, block), viewOperand(2, block),
             viewOutput(0, block), viewOutput(2, block),
             [&](OpBuilder &b, Value sum, ValueRange elements) {
               Location loc = e.getLoc();
               Value isNumber = arith::CmpFOp::create(
                   b, loc, arith::CmpFPredicate::ORD, elements[0], elements[0]);
               Value one =
                   arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1));
               Value divisor =
                   arith::SelectOp::create(b, loc, isNumber, elements[0], one);
               sum = arith::DivFOp::create(b, loc, sum, divisor);
               return finish(b, Op::Finish, Op::Sum, sum);
             });
}

void Forward::emit() {
  isScored = isScoreOfProduct(Op::ScoreOf);
  Block &body = op.getBody().front();
  isWeighted = body.getTerminator()->getOperand(Op::Weight) !=
               body.getArgument(Op::Probability);
  scores = weights = a.makeMatrix(e.getF32Type());
  if (isWeighted && !getElement(2).isF32())
    weights = a.makeMatrix(getElement(2));
  a.forBatches([&](const AttentionRange &batches) {
    a.forBlocks(batches,
                [&](const AttentionRange &block) { emitBlock(block); });
  });
  a.free(scores);
  if (weights.memory != scores.memory)
    a.free(weights);
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

/// Computes the weights and the gradients of scores.
void Gradient::emitSlopes(const AttentionRange &block) {
  SmallVector<MappedMemory> inputs{viewScratch(scores, block, block),
                                   viewScratch(gradients, block, block)};
  for (unsigned input : {Maximum, RowSum, Inner})
    inputs.push_back(viewOperand(input, block));
  llvm::append_range(inputs, viewExtras(block));
  SmallVector<MappedMemory> outputs{viewScratch(weights, block, block),
                                    viewScratch(slopes, block, block)};
  Location loc = e.getLoc();
  a.compute(a.getMatrixDims(), inputs, outputs,
            [&](OpBuilder &b, ValueRange elements, ValueRange indices) {
              constexpr unsigned first = 5;
              ValueRange extras = elements.slice(first, a.numExtras);
              SmallVector<Value> floats(Op::NumArguments);
              floats[Op::Score] = elements[0];
              floats[Op::Gradient] = elements[1];
              floats[Op::Inner] = elements[4];
              auto emit = [&](unsigned function) {
                return a.emitFunction(
                    b, function, getArguments(floats, extras, block, indices));
              };
              Value score = isScored ? elements[0] : emit(Op::ScoreOf);
              score = arith::SubFOp::create(b, loc, score, elements[2]);
              score = math::ExpOp::create(b, loc, score);
              floats[Op::Probability] =
                  arith::DivFOp::create(b, loc, score, elements[3]);
              return SmallVector<Value>{emit(Op::Weight), emit(Op::Slope)};
            });
}

void Gradient::emitBlock(const AttentionRange &block,
                         const AttentionRange &batches) {
  multiplyScores(Op::ScoreOf, block);
  a.multiply(1, viewOperand(Given, block), viewOperand(Value_, block),
             viewScratch(gradients, block, block), {}, nullptr);
  emitSlopes(block);
  MappedMemory slope = viewScratch(slopes, block, block);
  auto addTo = [&](unsigned element, const MappedMemory &matrix,
                   unsigned factor) {
    MappedMemory sum = viewScratch(sums[element], block, batches);
    a.multiply(element, matrix, viewOperand(factor, block), sum, sum,
               [&](OpBuilder &b, Value value, ValueRange elements) -> Value {
                 return arith::AddFOp::create(b, e.getLoc(), elements[0],
                                              value);
               });
  };
  addTo(1, viewScratch(weights, block, block), Given);
  addTo(0, slope, Query);
  a.multiply(0, slope, viewOperand(Key, block), viewOutput(OfQuery, block), {},
             finishBy(Op::FinishQuery, Op::Sum));
}

/// Writes sums over all blocks as the gradient of keys or of values.
void Gradient::finishSums(const AttentionRange &batches, unsigned output) {
  unsigned element = output == OfKey ? 0 : 1;
  auto dims = llvm::to_vector(llvm::seq<unsigned>(0, a.numBatches));
  dims.append({a.getKeyDim(), a.getElementDim(element)});
  a.compute(
      dims, viewScratch(sums[element], batches, batches),
      viewOutput(output, batches),
      [&](OpBuilder &b, ValueRange elements, ValueRange) {
        unsigned function = output == OfKey ? Op::FinishKey : Op::FinishValue;
        return SmallVector<Value>{finish(b, function, Op::Sum, elements[0])};
      });
}

void Gradient::emit() {
  isScored = isScoreOfProduct(Op::ScoreOf);
  SmallVector<MappedMemory> made;
  auto make = [&](const MappedMemory &scratch) {
    made.push_back(scratch);
    return scratch;
  };
  scores = weights = make(a.makeMatrix(e.getF32Type()));
  gradients = slopes = make(a.makeMatrix(e.getF32Type()));
  if (!getElement(Value_).isF32())
    weights = make(a.makeMatrix(getElement(Value_)));
  if (!getElement(Query).isF32())
    slopes = make(a.makeMatrix(getElement(Query)));
  for (unsigned element : {0, 1})
    sums[element] = make(a.makeSums(a.getElementDim(element)));
  a.forBatches([&](const AttentionRange &batches) {
    for (const MappedMemory &sum : sums) {
      Value zero = arith::ConstantOp::create(e, e.getF32FloatAttr(0));
      linalg::FillOp::create(e, zero, sum.memory);
    }
    a.forBlocks(batches, [&](const AttentionRange &block) {
      emitBlock(block, batches);
    });
    for (unsigned output : {OfKey, OfValue})
      finishSums(batches, output);
  });
  for (const MappedMemory &scratch : made)
    a.free(scratch);
}

void blockAttention(func::FuncOp main) {
  SmallVector<Operation *> ops;
  main.walk([&](Operation *op) {
    if (isa<AttentionOp, AttentionGradientOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (auto forward = dyn_cast<AttentionOp>(op))
      Forward(forward).emit();
    else
      Gradient(cast<AttentionGradientOp>(op)).emit();
    op->erase();
  }
}

} // namespace kernel
} // namespace mp
