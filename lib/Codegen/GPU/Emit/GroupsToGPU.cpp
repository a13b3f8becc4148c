//===- GroupsToGPU.cpp - Groups as functions for a GPU --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The strategies of groups say how many threads there are. Groups of equal
// layers become the same text, and one function.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/Emit/GroupsToGPU.h"

#include "../ArenaPlaces.h"
#include "../GroupForms.h"
#include "BlockCode.h"
#include "ContractCode.h"
#include "GenericCode.h"
#include "GroupWork.h"
#include "IndexedCode.h"
#include "KernelFunction.h"
#include "RowCode.h"
#include "mp-opt/Codegen/Common/MemoryAccesses.h"
#include "mp-opt/Codegen/GPU/Attention.h"
#include "mp-opt/Codegen/Target/GPULimits.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace mp {

using device::Kind;
using device::Sharing;

namespace {

/// Bytes of shared memory for the temporaries of a block, which asks for no
/// more than it may have.
constexpr int64_t maxSharedBytes = 32 * 1024;
static_assert(maxSharedBytes <= device::maxStaticShared);
/// Bytes of temporaries that a thread may have for itself.
constexpr int64_t maxPrivateBytes = 4 * 1024;

/// A function that has been emitted.
struct Kernel {
  std::string name;
  /// Dynamic shared memory in bytes.
  int32_t sharedBytes = 0;
  /// True if equal groups launch it as well.
  bool isShared = false;
  /// Bytes of temporaries in the arena.
  uint64_t temporaryBytes = 0;
};

class GroupConverter {
public:
  GroupConverter(ModuleOp module, func::FuncOp main);

  LogicalResult run();

private:
  LogicalResult convert(device::GroupOp group);
  LogicalResult emitKernel(device::GroupOp group, Kernel &made);
  LogicalResult emit(Kind kind);
  LogicalResult emitRows(scf::ForallOp forall);
  LogicalResult emitIndexed(scf::ForOp loop);
  LogicalResult emitBlock();
  void emitMap(linalg::GenericOp op);
  void takeStarts(linalg::GenericOp op, GenericCode &code);
  LogicalResult emitReduce(linalg::GenericOp op);
  LogicalResult emitContract(kernel::ContractOp op);
  LogicalResult emitAttention(Operation *op);
  LogicalResult emitParts();
  void nestParts(ArrayRef<std::pair<scf::IfOp, int64_t>> parts);
  Threads makeThreads();
  Threads getBlockThreads(Location loc);
  Value getOwnBlock(Location loc);
  LogicalResult expectBlocks(Operation *op, int64_t blocks, int64_t threads);
  void placeTemporaries(const Threads *owners);
  Value placeInArena(MemRefType type, const Threads *owners);
  Value getControl();
  void insertGuard();
  void convertFailures();
  void cleanUp();

  ModuleOp module;
  func::FuncOp main;
  Block &block;
  IRRewriter b;
  gpu::GPUModuleOp kernels;
  /// The state of the current group.
  std::optional<KernelFunction> kernel;
  device::StrategyAttr strategy;
  int32_t sharedBytes = 0;
  /// The block of its ops: the function's body, or a part's. Blocks of a part
  /// are counted from `firstBlock`.
  Block *body = nullptr;
  Value firstBlock;
  /// Kernels by the kind and text of groups; the number of each kind.
  llvm::StringMap<Kernel> kernelsOf;
  llvm::StringMap<unsigned> counts;
  /// True if a check may end the call.
  bool mayEnd = false;
  /// Maps the messages of `device.fail` to their numbers.
  llvm::MapVector<StringAttr, int64_t> errors;
};

} // namespace

GroupConverter::GroupConverter(ModuleOp module, func::FuncOp main)
    : module(module), main(main), block(main.getBody().front()),
      b(module.getContext()) {
  OpBuilder end = OpBuilder::atBlockEnd(module.getBody());
  kernels = gpu::GPUModuleOp::create(end, module.getLoc(), device::kernelsName);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// The number of the block among those of the kernel, or of the part.
Value GroupConverter::getOwnBlock(Location loc) {
  Value number = getBlock(b, loc);
  if (!firstBlock)
    return number;
  return arith::SubIOp::create(b, loc, number, firstBlock);
}

/// The threads of the grid.
Threads GroupConverter::makeThreads() {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(body);
  Location loc = kernel->get().getLoc();
  Value id = getThread(b, loc);
  int64_t blocks = strategy.getBlocks(), threads = strategy.getThreads();
  if (blocks > 1) {
    Value first = arith::MulIOp::create(b, loc, getOwnBlock(loc),
                                        makeIndex(b, loc, threads));
    id = arith::AddIOp::create(b, loc, first, id);
  }
  return {id, blocks * threads};
}

/// The threads of the block.
Threads GroupConverter::getBlockThreads(Location loc) {
  return {getThread(b, loc), strategy.getThreads()};
}

/// Fails if each block has its own work and the strategy does not fit it.
LogicalResult GroupConverter::expectBlocks(Operation *op, int64_t blocks,
                                           int64_t threads) {
  if (strategy.getBlocks() == blocks && strategy.getThreads() == threads)
    return success();
  return op->emitOpError("expected ") << blocks << " blocks of " << threads
                                      << " threads, found " << strategy;
}

void GroupConverter::emitMap(linalg::GenericOp op) {
  GenericCode code(b, op);
  code.analyze();
  code.emitMap(makeThreads());
  b.eraseOp(op);
}

/// The values of fills before `op` in the group become the start values of its
/// outputs, and are not stored.
void GroupConverter::takeStarts(linalg::GenericOp op, GenericCode &code) {
  for (auto fill : llvm::to_vector(body->getOps<linalg::GenericOp>())) {
    Value value = fill == op ? nullptr : getFilling(fill);
    if (!value)
      continue;
    Value memory = fill.getDpsInits().front();
    for (auto [number, output] : llvm::enumerate(op.getDpsInits()))
      if (output == memory)
        code.setStart(number, value);
    b.eraseOp(fill);
  }
}

LogicalResult GroupConverter::emitReduce(linalg::GenericOp op) {
  GenericCode code(b, op);
  code.analyze();
  takeStarts(op, code);
  Location loc = op.getLoc();
  if (strategy.getBy() == Sharing::Threads) {
    code.emitSerial(makeThreads());
    b.eraseOp(op);
    return success();
  }
  bool isTogether = strategy.getBy() == Sharing::Blocks;
  int64_t blocks = isTogether ? code.countOutputs() : code.countTiles();
  if (failed(expectBlocks(op, blocks, strategy.getThreads())))
    return failure();
  b.setInsertionPoint(op);
  Threads threads = getBlockThreads(loc);
  Value block = getOwnBlock(loc);
  if (isTogether)
    code.emitTogether(threads, kernel->getShared(), block);
  else
    code.emitColumns(threads, kernel->getShared(), block);
  b.eraseOp(op);
  return success();
}

LogicalResult GroupConverter::emitContract(kernel::ContractOp op) {
  if (strategy.getBy() == Sharing::Threads) {
    emitContractLoops(b, op, makeThreads());
    b.eraseOp(op);
    return success();
  }
  if (!op.getTileAttr())
    return op.emitOpError("expected a tile");
  auto identical = llvm::to_vector(body->getOps<kernel::ContractOp>());
  kernel::ContractLaunch tiles = kernel::getContractLaunch(op);
  int64_t blocks = tiles.grid[0] * int64_t(identical.size());
  if (failed(expectBlocks(op, blocks, tiles.block[0])))
    return failure();
  emitContractTiles(b, identical);
  sharedBytes = tiles.shared;
  return success();
}

LogicalResult GroupConverter::emitAttention(Operation *op) {
  if (failed(kernel::verifyGPUAttention(op)))
    return failure();
  kernel::ContractLaunch launch = kernel::getAttentionLaunch(op);
  if (failed(expectBlocks(op, launch.grid[0], launch.block[0])))
    return failure();
  b.setInsertionPoint(op);
  kernel::emitAttention(b, op, getOwnBlock(op->getLoc()));
  b.eraseOp(op);
  sharedBytes = launch.shared;
  return success();
}

LogicalResult GroupConverter::emitRows(scf::ForallOp forall) {
  Location loc = forall.getLoc();
  std::optional<RowRange> rows = RowRange::get(forall);
  if (!rows)
    return device::refuse(forall, "how many rows there are depends on data");
  if (rows->count == 0) {
    b.eraseOp(forall);
    return success();
  }
  if (strategy.getBy() == Sharing::Rows) {
    int64_t perBlock =
        findRowLoop(forall) ? 1 : strategy.getThreads() / strategy.getPerRow();
    if (failed(expectBlocks(forall, llvm::divideCeil(rows->count, perBlock),
                            strategy.getThreads())))
      return failure();
    b.setInsertionPoint(forall);
    return emitRowTeams(b, forall, *rows, kernel->getShared(),
                        getBlockThreads(loc), getOwnBlock(loc),
                        strategy.getPerRow());
  }
  if (strategy.getBy() == Sharing::Threads) {
    Threads threads = makeThreads();
    placeTemporaries(&threads);
    b.setInsertionPoint(forall);
    threads.forEach(b, loc, rows->count,
                    [&](Value number) { inlineRow(b, forall, *rows, number); });
    b.eraseOp(forall);
    return success();
  }
  if (failed(expectBlocks(forall, rows->count, strategy.getThreads())))
    return failure();
  placeTemporaries(nullptr);
  b.setInsertionPoint(forall);
  inlineRow(b, forall, *rows, getOwnBlock(loc));
  b.eraseOp(forall);
  b.setInsertionPointToStart(body);
  return BlockCode(b, kernel->getShared(), getBlockThreads(loc)).emit(*body);
}

LogicalResult GroupConverter::emitIndexed(scf::ForOp loop) {
  std::optional<IndexedLoop> indexed = IndexedLoop::get(loop);
  if (!indexed)
    return device::refuse(loop, "a loop of this form");
  IndexedCode code(b, *indexed, strategy.getThreads(), strategy.getBlocks());
  b.setInsertionPoint(loop);
  Location loc = loop.getLoc();
  code.emit(getThread(b, loc), getOwnBlock(loc), kernel->getShared());
  b.eraseOp(loop);
  return success();
}

LogicalResult GroupConverter::emitBlock() {
  placeTemporaries(nullptr);
  b.setInsertionPointToStart(body);
  Threads threads = getBlockThreads(kernel->get().getLoc());
  return BlockCode(b, kernel->getShared(), threads).emit(*body);
}

/// Each block finds its part by halves. Parts are the code of blocks from some
/// number on.
void GroupConverter::nestParts(ArrayRef<std::pair<scf::IfOp, int64_t>> parts) {
  if (parts.size() <= 2) {
    for (auto [branch, begin] : parts)
      branch->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
    return;
  }
  auto low = parts.take_front(parts.size() / 2);
  auto high = parts.drop_front(low.size());
  Location loc = kernel->get().getLoc();
  Value isLow =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, getBlock(b, loc),
                            makeIndex(b, loc, high.front().second));
  auto halves = scf::IfOp::create(b, loc, isLow, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(halves.thenBlock()->getTerminator());
  nestParts(low);
  b.setInsertionPoint(halves.elseBlock()->getTerminator());
  nestParts(high);
}

/// The blocks of the kernel are divided among the parts.
LogicalResult GroupConverter::emitParts() {
  Block &whole = kernel->getBody();
  Location loc = kernel->get().getLoc();
  int64_t total = 0;
  SmallVector<std::pair<scf::IfOp, int64_t>> parts;
  for (auto part : llvm::to_vector(whole.getOps<device::GroupOp>())) {
    b.setInsertionPoint(part);
    strategy = part.getStrategyAttr();
    firstBlock = makeIndex(b, loc, total);
    Value end = makeIndex(b, loc, strategy.getBlocks());
    Value own = getOwnBlock(loc);
    auto isOwn =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, own, end);
    auto branch = scf::IfOp::create(b, loc, isOwn);
    body = branch.thenBlock();
    Kind kind = part.getKind();
    b.inlineBlockBefore(&part.getBody().front(), body->getTerminator());
    b.eraseOp(part);
    kernel->getShared().beginPart();
    if (failed(emit(kind)))
      return failure();
    parts.emplace_back(branch, total);
    total += strategy.getBlocks();
  }
  b.setInsertionPoint(whole.getTerminator());
  nestParts(parts);
  return success();
}

//===----------------------------------------------------------------------===//
// Temporaries
//===----------------------------------------------------------------------===//

/// Places it in the arena, once for each block, or once for each of `owners`.
Value GroupConverter::placeInArena(MemRefType type, const Threads *owners) {
  int64_t bytes = llvm::alignTo(countBytes(type), placeBytes);
  int64_t copies = owners ? owners->count : strategy.getBlocks();
  auto line = MemRefType::get(bytes * copies, b.getI8Type());
  Value memory = kernel->addOperand(makePlace(main, line));
  Location loc = memory.getLoc();
  Value id = owners ? owners->id : getOwnBlock(loc);
  Value start = arith::MulIOp::create(b, loc, id, makeIndex(b, loc, bytes));
  return memref::ViewOp::create(b, loc, type, memory, start, ValueRange());
}

/// Places the memory that a kernel allocates: in shared memory of the block or,
/// with `owners`, in private memory of each of these threads; if that is too
/// small, in the arena.
void GroupConverter::placeTemporaries(const Threads *owners) {
  SmallVector<Operation *> allocs, deallocs;
  body->walk([&](Operation *op) {
    if (isa<memref::AllocOp, memref::AllocaOp>(op))
      allocs.push_back(op);
    if (isa<memref::DeallocOp>(op))
      deallocs.push_back(op);
  });
  for (Operation *op : deallocs)
    b.eraseOp(op);
  int64_t total = 0;
  for (Operation *op : allocs) {
    auto type = cast<MemRefType>(op->getResult(0).getType());
    int64_t bytes = llvm::alignTo(countBytes(type), 16);
    bool isSmall = total + bytes <= (owners ? maxPrivateBytes : maxSharedBytes);
    total += isSmall ? bytes : 0;
    if (owners)
      b.setInsertionPointAfterValue(owners->id);
    else
      b.setInsertionPointToStart(body);
    Value memory;
    if (!isSmall)
      memory = placeInArena(type, owners);
    else if (owners)
      memory = memref::AllocaOp::create(b, op->getLoc(), type,
                                        b.getI64IntegerAttr(16));
    else
      memory = kernel->getShared().make(b, op->getLoc(), type);
    b.replaceOp(op, memory);
  }
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Value GroupConverter::getControl() {
  for (auto control : block.getOps<device::ControlOp>())
    return control;
  b.setInsertionPointToStart(&block);
  auto words = MemRefType::get(device::controlWords, b.getI64Type());
  return device::ControlOp::create(b, main.getLoc(), words);
}

void GroupConverter::convertFailures() {
  SmallVector<runtime::FailOp> failures;
  kernel->get().walk([&](runtime::FailOp op) { failures.push_back(op); });
  if (failures.empty())
    return;
  Value control = kernel->bring(getControl());
  for (runtime::FailOp op : failures) {
    auto [entry, isNew] = errors.try_emplace(op.getTextAttr(), errors.size());
    b.setInsertionPoint(op);
    device::FailOp::create(b, op.getLoc(), control, entry->second,
                           op.getFirst(), op.getSecond(), !op.getParallel());
    b.eraseOp(op);
  }
}

LogicalResult GroupConverter::emit(Kind kind) {
  if (kind == Kind::Fused)
    return emitParts();
  if (kind == Kind::SingleBlock)
    return emitBlock();
  Operation *work = findWork(*body);
  if (!work)
    return kernel->get().emitOpError("expected an op of the group's kind");
  llvm::SaveAndRestore inside(body, work->getBlock());
  switch (kind) {
  case Kind::RowWise:
    return emitRows(cast<scf::ForallOp>(work));
  case Kind::Scatter:
    return emitIndexed(cast<scf::ForOp>(work));
  case Kind::Contract:
    return emitContract(cast<kernel::ContractOp>(work));
  case Kind::Attention:
    return emitAttention(work);
  case Kind::Reduce:
    return emitReduce(cast<linalg::GenericOp>(work));
  default:
    emitMap(cast<linalg::GenericOp>(work));
    return success();
  }
}

/// Once a bounds check has ended the call, computed indices must not be used.
/// All threads of a block see the same flag.
void GroupConverter::insertGuard() {
  auto isComputed = [](arith::IndexCastOp op) {
    return isa<IndexType>(op.getType()) ? WalkResult::interrupt()
                                        : WalkResult::advance();
  };
  if (!mayEnd || !kernel->get().walk(isComputed).wasInterrupted())
    return;
  Value control = kernel->bring(getControl());
  Location loc = kernel->get().getLoc();
  b.setInsertionPointToStart(&kernel->getBody());
  Value ended = memref::LoadOp::create(b, loc, control,
                                       makeIndex(b, loc, device::HasEnded));
  Value zero = arith::ConstantIntOp::create(b, loc, 0, 64);
  Value hasEnded =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, ended, zero);
  // The kernel may be about to end the call itself.
  gpu::BarrierOp::create(b, loc);
  auto branch = scf::IfOp::create(b, loc, hasEnded);
  b.setInsertionPointToStart(branch.thenBlock());
  Value none = makeIndex(b, loc, 0);
  device::FailOp::create(b, loc, control, 0, none, none, /*ends=*/true);
}

/// Emits the code of a group that equals no other before it.
LogicalResult GroupConverter::emitKernel(device::GroupOp group, Kernel &made) {
  strategy = group.getStrategyAttr();
  sharedBytes = 0;
  body = &kernel->getBody();
  firstBlock = nullptr;
  size_t numOperands = kernel->getOperands().size();
  if (failed(emit(group.getKind())))
    return failure();
  StringRef kind = getKernelName(group.getKind());
  made = {(kind + "_" + Twine(counts[kind]++)).str(), sharedBytes};
  // A kernel with its own memory cannot be launched for another group.
  made.isShared = kernel->getOperands().size() == numOperands;
  for (Value own : kernel->getOperands().drop_front(numOperands))
    made.temporaryBytes += countBytes(cast<MemRefType>(own.getType()));
  gpu::GPUFuncOp function = kernel->get();
  function.setName(made.name);
  int32_t threads = group.getStrategyAttr().getThreads();
  function.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({threads, 1, 1}));
  // With the number of blocks that must fit, ptxas does not spill registers for
  // more of them.
  int32_t resident = group.getKind() == Kind::Fused ? 1 : 0;
  if (group.getKind() == Kind::Attention)
    resident = kernel::getAttentionBlocks(findWork(group.getBody().front()));
  if (resident > 0)
    function->setDiscardableAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                                 b.getI32IntegerAttr(resident));
  return success();
}

/// Groups of equal keys are one kernel.
static std::string makeKey(device::GroupOp group, gpu::GPUFuncOp function) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << group.getKindAttr() << group.getStrategyAttr();
  function.print(os, OpPrintingFlags().useLocalScope());
  return text;
}

LogicalResult GroupConverter::convert(device::GroupOp group) {
  if (!group.getStrategyAttr())
    return group.emitOpError("expected a strategy");
  kernel.emplace(group, kernels);
  insertGuard();
  convertFailures();
  Kernel &made = kernelsOf[makeKey(group, kernel->get())];
  if (made.isShared)
    kernel->get().erase();
  else if (failed(emitKernel(group, made)))
    return failure();
  b.setInsertionPoint(group);
  auto symbol =
      SymbolRefAttr::get(b.getContext(), device::kernelsName,
                         {FlatSymbolRefAttr::get(b.getContext(), made.name)});
  auto sizes = [&](int64_t count) {
    return b.getDenseI32ArrayAttr({int32_t(count), 1, 1});
  };
  device::StrategyAttr launch = group.getStrategyAttr();
  device::LaunchOp::create(b, group.getLoc(), symbol, sizes(launch.getBlocks()),
                           sizes(launch.getThreads()),
                           b.getI32IntegerAttr(made.sharedBytes),
                           countWork(group, made.temporaryBytes),
                           group.getWhenSetAttr(), kernel->getOperands());
  b.eraseOp(group);
  return success();
}

/// Removes places that no kernel is called with, and ops computed for them.
void GroupConverter::cleanUp() {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::drop_begin(llvm::reverse(block))))
    if (op.use_empty() && (isPure(&op) || isa<memref::LoadOp>(op)))
      op.erase();
  SmallVector<Attribute> texts;
  for (auto &[text, number] : errors)
    texts.push_back(text);
  if (!texts.empty())
    module->setAttr(device::errorsName, b.getArrayAttr(texts));
  llvm::DenseSet<StringAttr> used;
  main.walk(
      [&](memref::GetGlobalOp op) { used.insert(op.getNameAttr().getAttr()); });
  for (auto global :
       llvm::make_early_inc_range(module.getOps<memref::GlobalOp>()))
    if (!used.contains(global.getSymNameAttr()))
      global.erase();
}

LogicalResult GroupConverter::run() {
  main.walk([&](runtime::FailOp op) { mayEnd |= !op.getParallel(); });
  bool isFine = true;
  for (auto group : llvm::to_vector(block.getOps<device::GroupOp>())) {
    if (group.getKind() != Kind::Collective) {
      isFine &= succeeded(convert(group));
      continue;
    }
    for (Operation &op : llvm::make_early_inc_range(group.getBody().front()))
      op.moveBefore(group);
    group.erase();
  }
  if (!isFine)
    return failure();
  cleanUp();
  return success();
}

LogicalResult convertGroupsToGPU(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return success();
  return GroupConverter(module, main).run();
}

} // namespace mp
