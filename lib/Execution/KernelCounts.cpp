//===- KernelCounts.cpp - What a thread of a kernel executes --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Basic blocks are visited in topological order without back edges. One
// executes as often as its predecessors branch to it; a header of a loop as
// often as that, times its trip count. Within a loop only branches that stay in
// it share its executions, and its exits share those of the whole loop.
// Branches that depend on the numbers of block and thread alone, such as those
// to the parts of a kernel, are evaluated for a sample of threads.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Execution/KernelCounts.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/InferAddressSpaces.h"
#include "llvm/Transforms/Vectorize/LoadStoreVectorizer.h"

#include <map>
#include <numeric>

using namespace llvm;

namespace mp {

namespace {

/// Address spaces of NVPTX.
enum Space : unsigned { genericSpace = 0, globalSpace = 1, sharedSpace = 3 };

/// Trips of a loop whose count is not known.
constexpr double unknownTrips = 8;

/// Threads of a launch for which branches are evaluated.
constexpr unsigned numSamples = 256;
struct Sample {
  int64_t block = 0, thread = 0;
};
/// How often each sample executes a block, divided by the number of samples.
using Shares = std::vector<float>;

/// Counts the instructions of one kernel.
class KernelCounter {
public:
  KernelCounter(Function &kernel, LaunchShape shape,
                FunctionAnalysisManager &analyses)
      : kernel(kernel), shape(shape),
        loops(analyses.getResult<LoopAnalysis>(kernel)),
        evolution(analyses.getResult<ScalarEvolutionAnalysis>(kernel)),
        layout(kernel.getDataLayout()) {}

  KernelCounts count();

private:
  void setExecutions();
  void leave(BasicBlock *block);
  std::optional<int64_t> evaluate(const Value *value, const Sample &sample,
                                  unsigned depth = 16);
  double getTrips(Loop *loop);
  void countBlock(BasicBlock &block, double executions);
  void countAccess(const Instruction &access, double executions);
  void countCall(const CallInst &call, double executions);
  void countArithmetic(const Instruction &op, double executions);
  unsigned countRegisters();
  unsigned countBytes(Type *type) const {
    return unsigned(layout.getTypeStoreSize(type).getFixedValue());
  }

  Shares &getShares(BasicBlock *block) {
    Shares &shares = executed[block];
    shares.resize(numSamples);
    return shares;
  }

  Function &kernel;
  const LaunchShape shape;
  LoopInfo &loops;
  ScalarEvolution &evolution;
  const DataLayout &layout;
  KernelCounts counts;
  SmallVector<Sample, 0> samples;
  std::map<BasicBlock *, Shares> executed;
  /// Executions of a loop's first block by edges from outside.
  std::map<Loop *, Shares> entered;
  /// True if loads have been counted that no barrier has followed yet.
  bool isWaiting = false;
};

} // namespace

//===----------------------------------------------------------------------===//
// Executions of blocks
//===----------------------------------------------------------------------===//

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

double KernelCounter::getTrips(Loop *loop) {
  unsigned trips = evolution.getSmallConstantTripCount(loop);
  if (!trips)
    trips = evolution.getSmallConstantMaxTripCount(loop);
  return trips ? double(trips) : unknownTrips;
}

/// The value of an expression of the block's and the thread's number; absent if
/// it depends on anything else.
std::optional<int64_t> KernelCounter::evaluate(const Value *value,
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
  if (isa<CastInst, FreezeInst>(op))
    return op->getOperand(0)->getType()->isIntegerTy()
               ? evaluate(op->getOperand(0), sample, depth - 1)
               : std::nullopt;
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
void KernelCounter::leave(BasicBlock *block) {
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

void KernelCounter::setExecutions() {
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
      for (float &share : getShares(block))
        share *= float(getTrips(loop));
    }
    getShares(block);
    leave(block);
  }
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

static unsigned getWidth(unsigned bytes) {
  unsigned width = Log2_32_Ceil(std::max(bytes, 1u));
  return std::min(width, KernelCounts::numWidths - 1);
}

/// The number of 32-bit instructions for a vector's elements.
static double countElements(Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  if (!vector)
    return 1;
  unsigned bits = type->getScalarSizeInBits();
  double count = vector->getNumElements();
  return bits == 16 ? (count + 1) / 2 : count;
}

void KernelCounter::countAccess(const Instruction &access, double executions) {
  const Value *pointer = getLoadStorePointerOperand(&access);
  Type *type = getLoadStoreType(&access);
  unsigned bytes = countBytes(type);
  unsigned space = pointer->getType()->getPointerAddressSpace();
  const Value *object = getUnderlyingObject(pointer, /*MaxLookup=*/12);
  if (isa<AllocaInst>(object))
    return;
  if (space == sharedSpace ||
      (space == genericSpace && !isa<Argument>(object) &&
       isa<GlobalVariable>(object))) {
    counts.shared += executions * double(divideCeil(bytes, 4));
    return;
  }
  bool isLoad = isa<LoadInst>(access);
  auto &widths = isLoad ? counts.loads : counts.stores;
  // Longer accesses are several of 16 bytes.
  widths[getWidth(bytes)] += executions * double(divideCeil(bytes, 16));
  if (isLoad && !isWaiting)
    counts.waits += executions;
  isWaiting |= isLoad;
}

/// Multiply-adds of a matrix instruction, from the sizes in its name:
/// "m16n8k8".
static double countProduct(StringRef name) {
  double product = 1;
  name = name.substr(name.find(".m") + 1);
  for (char axis : {'m', 'n', 'k'}) {
    unsigned size = 0;
    if (!name.consume_front(StringRef(&axis, 1)) ||
        name.consumeInteger(10, size))
      return 0;
    product *= size;
  }
  return product;
}

/// Special functions and all other instructions of a function, as ptxas expands
/// them.
static std::optional<std::pair<unsigned, unsigned>>
getFunction(StringRef name) {
  return StringSwitch<std::optional<std::pair<unsigned, unsigned>>>(name)
      .Cases({"sqrt", "rsqrt"}, std::pair(1u, 8u))
      .Cases({"exp2", "log2", "sin", "cos"}, std::pair(1u, 1u))
      .Cases({"exp", "log", "tanh"}, std::pair(1u, 6u))
      .Default(std::nullopt);
}

void KernelCounter::countCall(const CallInst &call, double executions) {
  const Function *callee = call.getCalledFunction();
  if (!callee) {
    counts.other += executions;
    return;
  }
  StringRef name = callee->getName();
  if (name.consume_front("llvm.nvvm.")) {
    if (name.starts_with("mma.") || name.starts_with("wgmma."))
      // A multiply-add of tf32 takes the time of two.
      counts.tensor += executions * countProduct(name) / 32 *
                       (name.contains("tf32") ? 2 : 1);
    else if (name.starts_with("cp.async.ca.") ||
             name.starts_with("cp.async.cg.")) {
      // "cp.async.cg.shared.global.16", with ".s" if some may be zeros.
      name.consume_back(".s");
      unsigned bytes = 0;
      name.rsplit('.').second.getAsInteger(10, bytes);
      counts.copies[getWidth(bytes)] += executions;
    } else if (name.starts_with("ldmatrix")) {
      unsigned matrices = name.contains("x4") ? 4 : name.contains("x2") ? 2 : 1;
      counts.shared += executions * matrices;
    } else if (name.starts_with("barrier")) {
      counts.barriers += executions;
      isWaiting = false;
    } else if (name.starts_with("ex2") || name.starts_with("rcp") ||
               name.starts_with("rsqrt") || name.starts_with("sqrt"))
      counts.special += executions;
    else if (!name.starts_with("read.ptx"))
      counts.other += executions;
    return;
  }
  if (isa<DbgInfoIntrinsic>(call) || call.isLifetimeStartOrEnd() ||
      name.starts_with("llvm.assume"))
    return;
  double elements = countElements(call.getType());
  if (name.consume_front("llvm."))
    if (auto function = getFunction(name.split('.').first)) {
      counts.special += executions * elements * function->first;
      counts.other += executions * elements * function->second;
      return;
    }
  bool isFloat = call.getType()->isFPOrFPVectorTy();
  (isFloat ? counts.floats : counts.other) += executions * elements;
}

void KernelCounter::countArithmetic(const Instruction &op, double executions) {
  double times = executions * countElements(op.getType());
  switch (op.getOpcode()) {
  case Instruction::FAdd:
  case Instruction::FSub:
  case Instruction::FMul:
  case Instruction::FNeg: {
    // A product whose only user is a sum is part of a multiply-add.
    bool isFused = op.getOpcode() == Instruction::FMul && op.hasOneUse() &&
                   (op.user_back()->getOpcode() == Instruction::FAdd ||
                    op.user_back()->getOpcode() == Instruction::FSub) &&
                   op.hasAllowContract();
    if (!isFused)
      (op.getType()->getScalarType()->isDoubleTy() ? counts.doubles
                                                   : counts.floats) += times;
    return;
  }
  case Instruction::FDiv:
  case Instruction::FRem:
    counts.special += times;
    counts.other += 8 * times;
    return;
  case Instruction::UDiv:
  case Instruction::SDiv:
  case Instruction::URem:
  case Instruction::SRem: {
    bool isConstant = isa<Constant>(op.getOperand(1));
    bool isWide = op.getType()->getScalarSizeInBits() > 32;
    counts.other += times * (isConstant ? 4 : 20) * (isWide ? 3 : 1);
    return;
  }
  case Instruction::PHI:
  case Instruction::BitCast:
  case Instruction::ExtractValue:
  case Instruction::InsertValue:
  case Instruction::ExtractElement:
  case Instruction::InsertElement:
  case Instruction::ShuffleVector:
  case Instruction::Trunc:
  case Instruction::AddrSpaceCast:
  case Instruction::Ret:
  case Instruction::Unreachable:
    return;
  case Instruction::GetElementPtr:
    // Constant offsets are part of accesses.
    counts.other +=
        cast<GetElementPtrInst>(op).hasAllConstantIndices() ? 0 : 2 * times;
    return;
  default:
    counts.other += times;
  }
}

void KernelCounter::countBlock(BasicBlock &block, double executions) {
  isWaiting = false;
  for (const Instruction &op : block) {
    if (isa<LoadInst, StoreInst>(op))
      countAccess(op, executions);
    else if (const auto *call = dyn_cast<CallInst>(&op))
      countCall(*call, executions);
    else if (isa<AtomicRMWInst, AtomicCmpXchgInst>(op))
      counts.atomics += executions;
    else
      countArithmetic(op, executions);
  }
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// An estimate: the largest number of values that are alive at the end of a
/// block or between its instructions, and those for addresses.
unsigned KernelCounter::countRegisters() {
  constexpr unsigned minRegisters = 16, maxRegisters = 255, reserve = 10;
  auto getSize = [&](const Value &value) -> unsigned {
    Type *type = value.getType();
    if (type->isVoidTy() || type->isLabelTy() || !type->isSized() ||
        value.getType()->isPointerTy())
      return type->isPointerTy() ? 2 : 0;
    return unsigned(divideCeil(countBytes(type), 4));
  };
  unsigned most = 0;
  for (BasicBlock &block : kernel) {
    DenseMap<const Value *, unsigned> last;
    unsigned number = 0;
    SmallVector<int> changes(block.size() + 2);
    for (Instruction &op : block) {
      ++number;
      for (Value *operand : op.operands())
        if (isa<Instruction>(operand))
          last[operand] = number;
    }
    number = 0;
    int alive = 0;
    for (Instruction &op : block) {
      ++number;
      bool isOutside = any_of(op.users(), [&](const User *user) {
        return cast<Instruction>(user)->getParent() != &block;
      });
      auto found = last.find(&op);
      unsigned end = isOutside             ? unsigned(block.size()) + 1
                     : found != last.end() ? found->second
                                           : number;
      changes[number] += int(getSize(op));
      changes[end] -= int(getSize(op));
    }
    for (const auto &[value, end] : last)
      if (cast<Instruction>(value)->getParent() != &block) {
        alive += int(getSize(*value));
        changes[end] -= int(getSize(*value));
      }
    for (int change : changes) {
      alive += change;
      most = std::max(most, unsigned(std::max(alive, 0)));
    }
  }
  return std::clamp(most + reserve, minRegisters, maxRegisters);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

KernelCounts KernelCounter::count() {
  setExecutions();
  for (BasicBlock &block : kernel)
    countBlock(block, std::accumulate(executed[&block].begin(),
                                      executed[&block].end(), 0.0));
  // The system's own share of a block's memory, which machine code counts too.
  counts.staticShared = 1024;
  SmallPtrSet<const GlobalVariable *, 8> variables;
  for (BasicBlock &block : kernel)
    for (Instruction &op : block)
      for (Value *operand : op.operands())
        if (auto *variable = dyn_cast<GlobalVariable>(
                operand->stripPointerCasts()->stripInBoundsOffsets()))
          if (variable->getAddressSpace() == sharedSpace &&
              variables.insert(variable).second)
            counts.staticShared += countBytes(variable->getValueType());
  counts.registers = countRegisters();
  return counts;
}

namespace {
/// The analyses of a module, for passes of LLVM.
struct Analyses {
  explicit Analyses(TargetMachine &machine) : builder(&machine) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(graphs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, graphs, modules);
  }

  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graphs;
  ModuleAnalysisManager modules;
  PassBuilder builder;
};
} // namespace

void prepareCounting(Module &module, TargetMachine &machine) {
  Analyses analyses(machine);
  FunctionPassManager passes;
  passes.addPass(InferAddressSpacesPass());
  passes.addPass(LoadStoreVectorizerPass());
  for (Function &function : module)
    if (!function.isDeclaration())
      passes.run(function, analyses.functions);
}

KernelCounts countKernel(Function &kernel, LaunchShape shape,
                         TargetMachine &machine) {
  Analyses analyses(machine);
  return KernelCounter(kernel, shape, analyses.functions).count();
}

} // namespace mp
