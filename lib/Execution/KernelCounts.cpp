//===- KernelCounts.cpp - What a thread of a kernel executes --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//===----------------------------------------------------------------------===//

#include "KernelExecutions.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/InferAddressSpaces.h"
#include "llvm/Transforms/Vectorize/LoadStoreVectorizer.h"

using namespace llvm;

namespace mp {

namespace {

/// Address spaces of NVPTX.
enum Space : unsigned { genericSpace = 0, globalSpace = 1, sharedSpace = 3 };

/// Counts the instructions of one kernel.
class KernelCounter {
public:
  KernelCounter(Function &kernel, LaunchShape shape,
                FunctionAnalysisManager &analyses)
      : kernel(kernel), loops(analyses.getResult<LoopAnalysis>(kernel)),
        executions(kernel, shape, loops,
                   analyses.getResult<ScalarEvolutionAnalysis>(kernel)),
        layout(kernel.getDataLayout()) {}

  KernelCounts count();

private:
  void countBlock(BasicBlock &block, double executions);
  /// True if only the next iteration of a loop takes the value.
  bool isReadAhead(const Instruction &value) const;
  void countAccess(const Instruction &access, double executions);
  void countCall(const CallInst &call, double executions);
  void countArithmetic(const Instruction &op, double executions);
  unsigned countRegisters();
  unsigned countBytes(Type *type) const {
    return unsigned(layout.getTypeStoreSize(type).getFixedValue());
  }

  Function &kernel;
  LoopInfo &loops;
  KernelExecutions executions;
  const DataLayout &layout;
  KernelCounts counts;
  /// True if loads have been counted that no barrier has followed yet.
  bool isWaiting = false;
};

} // namespace

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

bool KernelCounter::isReadAhead(const Instruction &value) const {
  return all_of(value.users(), [&](const User *user) {
    const auto *inner = cast<Instruction>(user);
    if (isa<ExtractElementInst, ExtractValueInst, BitCastInst>(inner))
      return isReadAhead(*inner);
    const Loop *loop = loops.getLoopFor(inner->getParent());
    return isa<PHINode>(inner) && loop &&
           loop->getHeader() == inner->getParent() &&
           loop->contains(value.getParent());
  });
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
  if (!isLoad || isReadAhead(access))
    return;
  if (!isWaiting)
    counts.waits += executions;
  isWaiting = true;
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
  for (BasicBlock &block : kernel)
    countBlock(block, executions.get(&block));
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
