//===- KernelExecutions.cpp - How often blocks of a kernel run ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelExecutions.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

#include <cmath>
#include <numeric>

using namespace llvm;

namespace mp {

/// Trips of a loop whose count is not known; no known count is larger than
/// `maxTrips`, which stands for bounds of a type.
static constexpr double unknownTrips = 8, maxTrips = 1 << 24;

/// A value of another width. Values are kept sign-extended.
static std::optional<int64_t> convert(int64_t value, Type *from, Type *to,
                                      bool isUnsigned) {
  unsigned width = from->isIntegerTy() ? from->getIntegerBitWidth() : 64;
  unsigned newWidth = to->isIntegerTy() ? to->getIntegerBitWidth() : 64;
  if (width > 64 || newWidth > 64)
    return std::nullopt;
  if (isUnsigned && width < 64)
    return int64_t(uint64_t(value) & maskTrailingOnes<uint64_t>(width));
  return SignExtend64(uint64_t(value), newWidth);
}

/// The result of an operation on integers; absent for all others.
static std::optional<int64_t> fold(unsigned opcode, uint64_t left,
                                   uint64_t right) {
  switch (opcode) {
  case Instruction::Add:
    return int64_t(left + right);
  case Instruction::Sub:
    return int64_t(left - right);
  case Instruction::Mul:
    return int64_t(left * right);
  case Instruction::And:
    return int64_t(left & right);
  case Instruction::Or:
    return int64_t(left | right);
  case Instruction::Xor:
    return int64_t(left ^ right);
  case Instruction::Shl:
    return right < 64 ? std::optional(int64_t(left << right)) : std::nullopt;
  case Instruction::LShr:
    return right < 64 ? std::optional(int64_t(left >> right)) : std::nullopt;
  case Instruction::UDiv:
    return right ? std::optional(int64_t(left / right)) : std::nullopt;
  case Instruction::URem:
    return right ? std::optional(int64_t(left % right)) : std::nullopt;
  default:
    return std::nullopt;
  }
}

/// The trips of a loop for one sample; absent if they depend on data.
std::optional<double> KernelExecutions::findTrips(Loop *loop,
                                                  const Sample &sample) {
  if (unsigned trips = evolution.getSmallConstantTripCount(loop))
    return trips;
  const SCEV *count = evolution.getBackedgeTakenCount(loop);
  std::optional<int64_t> known = evaluate(count, sample);
  if (known && *known >= 0 && *known < maxTrips)
    return double(*known) + 1;
  unsigned bound = evolution.getSmallConstantMaxTripCount(loop);
  return bound && bound < maxTrips ? std::optional<double>(bound)
                                   : std::nullopt;
}

/// The value of a symbolic expression; a value that an outer loop counts is the
/// mean over that loop.
std::optional<int64_t> KernelExecutions::evaluate(const SCEV *expression,
                                                  const Sample &sample,
                                                  unsigned depth) {
  if (!depth)
    return std::nullopt;
  if (const auto *constant = dyn_cast<SCEVConstant>(expression))
    return constant->getAPInt().getSignificantBits() <= 64
               ? std::optional(constant->getAPInt().getSExtValue())
               : std::nullopt;
  if (const auto *unknown = dyn_cast<SCEVUnknown>(expression))
    return evaluate(unknown->getValue(), sample);
  if (isa<SCEVCouldNotCompute, SCEVVScale>(expression))
    return std::nullopt;
  SmallVector<int64_t, 4> values;
  for (const SCEV *operand : expression->operands()) {
    std::optional<int64_t> value = evaluate(operand, sample, depth - 1);
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  }
  if (const auto *counted = dyn_cast<SCEVAddRecExpr>(expression)) {
    const Loop *loop = counted->getLoop();
    auto trips = findTrips(const_cast<Loop *>(loop), sample);
    double mean = trips ? double(values[1]) * (*trips - 1) / 2 : 0;
    bool isKnown = counted->isAffine() && trips && std::abs(mean) < 1LL << 53;
    return isKnown ? std::optional(values[0] + int64_t(mean)) : std::nullopt;
  }
  switch (expression->getSCEVType()) {
  case scTruncate:
  case scZeroExtend:
  case scSignExtend:
    return convert(values[0], expression->operands()[0]->getType(),
                   expression->getType(),
                   expression->getSCEVType() == scZeroExtend);
  case scAddExpr:
    return int64_t(std::accumulate(values.begin(), values.end(), uint64_t(0)));
  case scMulExpr:
    return int64_t(std::accumulate(values.begin(), values.end(), uint64_t(1),
                                   std::multiplies<uint64_t>()));
  case scUDivExpr:
    return values[1] ? std::optional(values[0] / values[1]) : std::nullopt;
  case scUMaxExpr:
  case scSMaxExpr:
    return *llvm::max_element(values);
  case scUMinExpr:
  case scSMinExpr:
    return *llvm::min_element(values);
  default:
    return std::nullopt;
  }
}

/// The value of an expression of the block's and the thread's number; absent if
/// it depends on anything else.
std::optional<int64_t> KernelExecutions::evaluate(const Value *value,
                                                  const Sample &sample,
                                                  unsigned depth) {
  if (const auto *constant = dyn_cast<ConstantInt>(value))
    return constant->getBitWidth() <= 64
               ? std::optional<int64_t>(constant->getSExtValue())
               : std::nullopt;
  if (const auto *call = dyn_cast<IntrinsicInst>(value)) {
    switch (call->getIntrinsicID()) {
    case Intrinsic::nvvm_read_ptx_sreg_ctaid_x:
      return sample.block;
    case Intrinsic::nvvm_read_ptx_sreg_tid_x:
      return sample.thread;
    case Intrinsic::nvvm_read_ptx_sreg_ntid_x:
      return shape.threads;
    default:
      return std::nullopt;
    }
  }
  const auto *op = dyn_cast<Instruction>(value);
  if (!op || !depth || op->getType()->isVectorTy() ||
      !op->getType()->isIntegerTy())
    return std::nullopt;
  if (isa<FreezeInst>(op))
    return evaluate(op->getOperand(0), sample, depth - 1);
  if (isa<TruncInst, ZExtInst, SExtInst>(op)) {
    auto from = evaluate(op->getOperand(0), sample, depth - 1);
    return from ? convert(*from, op->getOperand(0)->getType(), op->getType(),
                          isa<ZExtInst>(op))
                : from;
  }
  if (!isa<BinaryOperator, ICmpInst>(op))
    return std::nullopt;
  auto left = evaluate(op->getOperand(0), sample, depth - 1);
  auto right = left ? evaluate(op->getOperand(1), sample, depth - 1) : left;
  if (!right)
    return std::nullopt;
  if (const auto *compared = dyn_cast<ICmpInst>(op))
    return ICmpInst::compare(APInt(64, uint64_t(*left)),
                             APInt(64, uint64_t(*right)),
                             compared->getPredicate());
  return fold(op->getOpcode(), uint64_t(*left), uint64_t(*right));
}

/// Divides the executions of a block among the blocks after it.
void KernelExecutions::leave(BasicBlock *block) {
  Loop *loop = loops.getLoopFor(block);
  const Shares shares = executed[block];
  SmallVector<BasicBlock *, 4> inner, outer;
  for (BasicBlock *next : successors(block))
    (loop && !loop->contains(next) ? outer : inner).push_back(next);
  auto *branch = dyn_cast<BranchInst>(block->getTerminator());
  bool isDecided = branch && branch->isConditional() && inner.size() == 2;
  for (unsigned number = 0; number < numSamples; ++number) {
    std::optional<int64_t> condition;
    if (isDecided && shares[number] > 0)
      condition = evaluate(branch->getCondition(), samples[number]);
    for (auto [index, next] : enumerate(inner)) {
      if (loop && next == loop->getHeader())
        continue;
      double part = condition ? (*condition ? index == 0 : index == 1)
                              : 1 / double(inner.size());
      getShares(next)[number] += float(part) * shares[number];
    }
  }
  for (BasicBlock *next : outer) {
    // The outermost loop that the edge leaves is left once for each entry.
    Loop *left = loop;
    while (left->getParentLoop() && !left->getParentLoop()->contains(next))
      left = left->getParentLoop();
    SmallVector<std::pair<BasicBlock *, BasicBlock *>, 4> exits;
    left->getExitEdges(exits);
    Shares &target = getShares(next);
    for (unsigned number = 0; number < numSamples; ++number)
      target[number] += entered[left][number] / float(exits.size());
  }
}

KernelExecutions::KernelExecutions(Function &kernel, LaunchShape shape,
                                   LoopInfo &loops, ScalarEvolution &evolution)
    : shape(shape), loops(loops), evolution(evolution) {
  for (unsigned number = 0; number < numSamples; ++number) {
    // Blocks are spread evenly; the factor is prime to the number of threads.
    double place = (number + 0.5) / numSamples;
    samples.push_back({int64_t(place * shape.blocks),
                       int64_t(number * 97 % std::max(shape.threads, 1u))});
  }
  getShares(&kernel.getEntryBlock()).assign(numSamples, 1.0f / numSamples);
  for (BasicBlock *block : ReversePostOrderTraversal<Function *>(&kernel)) {
    Loop *loop = loops.getLoopFor(block);
    if (loop && loop->getHeader() == block) {
      entered[loop] = getShares(block);
      Shares &shares = getShares(block);
      for (unsigned number = 0; number < numSamples; ++number)
        shares[number] *=
            float(findTrips(loop, samples[number]).value_or(unknownTrips));
    }
    getShares(block);
    leave(block);
  }
}

double KernelExecutions::get(BasicBlock *block) const {
  auto found = executed.find(block);
  return found == executed.end()
             ? 0
             : std::accumulate(found->second.begin(), found->second.end(), 0.0);
}

} // namespace mp
