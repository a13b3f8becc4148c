//===- GroupsToGPU.cpp - Groups as functions for a GPU --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The number of threads follows from the ops of a group. Groups of equal layers
// become the same text, and one function.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/GroupsToGPU.h"

#include "ArenaPlaces.h"
#include "BlockCode.h"
#include "ContractCode.h"
#include "GenericCode.h"
#include "GroupForms.h"
#include "GroupWork.h"
#include "IndexedCode.h"
#include "KernelFunction.h"
#include "PlaceWorkingCopies.h"
#include "mp-opt/Codegen/Common/MemoryAccesses.h"
#include "mp-opt/Codegen/GPU/Contract.h"
#include "mp-opt/Codegen/GPU/FormKernels.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace mp {

namespace {

/// The default number of threads of a block.
constexpr int64_t commonThreads = 256;
/// Bytes of shared memory that a block may have without asking for more, and
/// those of them that are for temporaries.
constexpr int64_t maxSharedBytes = 32 * 1024;
/// Bytes of temporaries that a thread may have for itself.
constexpr int64_t maxPrivateBytes = 4 * 1024;

/// Points of a column that one thread reduces as soon as several do.
constexpr int64_t shortColumn = 64;

struct Launch {
  int64_t blocks = 1, threads = commonThreads;
  /// Dynamic shared memory in bytes.
  int32_t shared = 0;
};

/// A function that has been emitted.
struct Kernel {
  std::string name;
  Launch launch;
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
  LogicalResult emitKernel(StringRef kind, Kernel &made);
  LogicalResult emit(StringRef kind);
  LogicalResult emitRows(scf::ForallOp forall);
  LogicalResult emitIndexed(scf::ForOp loop);
  LogicalResult emitBlock();
  void emitMap(linalg::GenericOp op);
  void takeStarts(linalg::GenericOp op, GenericCode &code);
  void emitReduce(linalg::GenericOp op);
  LogicalResult emitContract(kernel::ContractOp op);
  LogicalResult emitParts();
  void nestParts(ArrayRef<std::pair<scf::IfOp, int64_t>> parts);
  Threads makeThreads(int64_t tasks, int64_t threads);
  Value getOwnBlock(Location loc);
  int64_t chooseThreads(int64_t tasks, int64_t most) const;
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
  Launch launch;
  /// The block of its ops: the function's body, or a part's. Blocks of a part
  /// are counted from `firstBlock`; all parts have the same number of threads.
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

/// The number of threads, a power of two, of whole warps.
int64_t GroupConverter::chooseThreads(int64_t tasks, int64_t most) const {
  if (firstBlock)
    return commonThreads;
  int64_t threads = llvm::PowerOf2Ceil(std::max<int64_t>(tasks, 1));
  return std::clamp<int64_t>(threads, warpSize, most);
}

/// The number of the block among those of the kernel, or of the part.
Value GroupConverter::getOwnBlock(Location loc) {
  Value number = getBlock(b, loc);
  if (!firstBlock)
    return number;
  return arith::SubIOp::create(b, loc, number, firstBlock);
}

/// Makes a thread of the grid for each task.
Threads GroupConverter::makeThreads(int64_t tasks, int64_t threads) {
  launch.threads = chooseThreads(tasks, threads);
  launch.blocks = std::max<int64_t>(1, llvm::divideCeil(tasks, launch.threads));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(body);
  Location loc = kernel->get().getLoc();
  Value id = getThread(b, loc);
  if (launch.blocks > 1) {
    Value first = arith::MulIOp::create(b, loc, getOwnBlock(loc),
                                        makeIndex(b, loc, launch.threads));
    id = arith::AddIOp::create(b, loc, first, id);
  }
  return {id, launch.blocks * launch.threads};
}

void GroupConverter::emitMap(linalg::GenericOp op) {
  GenericCode code(b, op);
  code.analyze();
  code.emitMap(makeThreads(code.countTasks(), commonThreads));
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

/// Emits a block for each output that has many points, if they are contiguous
/// or outputs are few; a block for some neighbours if each of them has many
/// points; else a thread for each output.
void GroupConverter::emitReduce(linalg::GenericOp op) {
  GenericCode code(b, op);
  code.analyze();
  takeStarts(op, code);
  int64_t points = code.countReduced();
  bool isTogether = code.canShare() && points >= 2 * warpSize &&
                    (!code.hasColumns() || code.countOutputs() < warpSize);
  if (!isTogether && code.canCombine() && points >= shortColumn) {
    launch.threads = commonThreads;
    launch.blocks = llvm::divideCeil(code.countOutputs(), warpSize);
    b.setInsertionPoint(op);
    Threads threads{getThread(b, op.getLoc()), launch.threads};
    code.emitColumns(threads, kernel->get(), getOwnBlock(op.getLoc()));
    b.eraseOp(op);
    return;
  }
  if (!isTogether) {
    code.emitSerial(makeThreads(code.countOutputs(), commonThreads / 2));
    b.eraseOp(op);
    return;
  }
  launch.threads = chooseThreads(points / 2, commonThreads);
  launch.blocks = code.countOutputs();
  b.setInsertionPoint(op);
  Threads threads{getThread(b, op.getLoc()), launch.threads};
  code.emitTogether(threads, kernel->get(), getOwnBlock(op.getLoc()));
  b.eraseOp(op);
}

/// Emits a tile for each block; if there are few products, a thread for each
/// element.
LogicalResult GroupConverter::emitContract(kernel::ContractOp op) {
  if (!kernel::isWorthTiles(op)) {
    emitContractLoops(b, op, makeThreads(countResults(op), commonThreads / 2));
    b.eraseOp(op);
    return success();
  }
  if (failed(kernel::verifyGPUContract(op)))
    return failure();
  auto identical = llvm::to_vector(body->getOps<kernel::ContractOp>());
  kernel::ContractLaunch tiles = emitContractTiles(b, identical);
  launch = {tiles.grid[0], tiles.block[0], tiles.shared};
  return success();
}

/// Emits a block for each iteration, or a thread if iterations are code of
/// single elements.
LogicalResult GroupConverter::emitRows(scf::ForallOp forall) {
  Location loc = forall.getLoc();
  SmallVector<int64_t> counts, steps, lowers;
  int64_t count = 1;
  for (auto [lower, upper, step] :
       llvm::zip(forall.getMixedLowerBound(), forall.getMixedUpperBound(),
                 forall.getMixedStep())) {
    auto first = getConstantIntValue(lower), end = getConstantIntValue(upper),
         by = getConstantIntValue(step);
    if (!first || !end || !by)
      return device::refuse(forall, "how many rows there are depends on data");
    lowers.push_back(*first);
    steps.push_back(*by);
    counts.push_back(
        std::max<int64_t>(0, llvm::divideCeil(*end - *first, *by)));
    count *= counts.back();
  }
  Block &row = *forall.getBody();
  bool isScalar = isScalarCode(row);
  auto inlineAt = [&](Value linear) {
    SmallVector<Value> indices = delinearize(b, loc, linear, counts);
    for (auto [index, lower, step] : llvm::zip(indices, lowers, steps)) {
      if (step != 1)
        index = arith::MulIOp::create(b, loc, index, makeIndex(b, loc, step));
      if (lower != 0)
        index = arith::AddIOp::create(b, loc, index, makeIndex(b, loc, lower));
    }
    b.eraseOp(row.getTerminator());
    b.inlineBlockBefore(&row, b.getInsertionBlock(), b.getInsertionPoint(),
                        indices);
  };
  if (count == 0) {
    b.eraseOp(forall);
    return success();
  }
  if (isScalar) {
    Threads threads = makeThreads(count, commonThreads / 4);
    placeTemporaries(&threads);
    b.setInsertionPoint(forall);
    threads.forEach(b, loc, count, inlineAt);
    b.eraseOp(forall);
    return success();
  }
  launch.threads = chooseThreads(getWidth(row) / 4, commonThreads);
  launch.blocks = count;
  placeTemporaries(nullptr);
  b.setInsertionPoint(forall);
  inlineAt(getOwnBlock(loc));
  b.eraseOp(forall);
  b.setInsertionPointToStart(body);
  Threads threads{getThread(b, loc), launch.threads};
  return BlockCode(b, kernel->get(), threads).emit(*body);
}

LogicalResult GroupConverter::emitIndexed(scf::ForOp loop) {
  std::optional<IndexedLoop> indexed = IndexedLoop::get(loop);
  if (!indexed)
    return device::refuse(loop, "a loop of this form");
  IndexedCode code(b, *indexed, commonThreads);
  launch.threads = commonThreads;
  launch.blocks = code.countBlocks();
  b.setInsertionPoint(loop);
  Location loc = loop.getLoc();
  code.emit(getThread(b, loc), getOwnBlock(loc), kernel->get());
  b.eraseOp(loop);
  return success();
}

LogicalResult GroupConverter::emitBlock() {
  launch.threads = chooseThreads(getWidth(*body), commonThreads);
  launch.blocks = 1;
  placeTemporaries(nullptr);
  b.setInsertionPointToStart(body);
  Threads threads{getThread(b, kernel->get().getLoc()), launch.threads};
  return BlockCode(b, kernel->get(), threads).emit(*body);
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
    firstBlock = makeIndex(b, loc, total);
    auto end = arith::ConstantIndexOp::create(b, loc, 0);
    Value own = getOwnBlock(loc);
    // The end of its blocks is set when their number is known.
    auto isOwn =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, own, end);
    auto branch = scf::IfOp::create(b, loc, isOwn);
    branch->setAttr(partName, b.getUnitAttr());
    body = branch.thenBlock();
    StringAttr kind = part.getKindAttr();
    b.inlineBlockBefore(&part.getBody().front(), body->getTerminator());
    b.eraseOp(part);
    if (failed(emit(kind)))
      return failure();
    end.setValueAttr(b.getIndexAttr(launch.blocks));
    parts.emplace_back(branch, total);
    total += launch.blocks;
  }
  b.setInsertionPoint(whole.getTerminator());
  nestParts(parts);
  launch.blocks = total;
  launch.threads = commonThreads;
  return success();
}

//===----------------------------------------------------------------------===//
// Temporaries
//===----------------------------------------------------------------------===//

/// Places it in the arena, once for each block, or once for each of `owners`.
Value GroupConverter::placeInArena(MemRefType type, const Threads *owners) {
  int64_t bytes = llvm::alignTo(countBytes(type), placeBytes);
  int64_t copies = owners ? owners->count : launch.blocks;
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
      memory = makeShared(b, op->getLoc(), kernel->get(), type);
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

LogicalResult GroupConverter::emit(StringRef kind) {
  if (scf::IfOp guard = findGuard(*body); guard && kind != group::block) {
    llvm::SaveAndRestore inside(body, guard.thenBlock());
    return emit(kind);
  }
  Operation *first = nullptr;
  for (Operation &op : body->without_terminator())
    if (isa<linalg::GenericOp, kernel::ContractOp, scf::ForallOp, scf::ForOp>(
            op))
      first = &op;
  if (kind == group::parts)
    return emitParts();
  if (kind == group::block)
    return emitBlock();
  if (kind == group::rows)
    return emitRows(cast<scf::ForallOp>(first));
  if (kind == group::indexed)
    return emitIndexed(cast<scf::ForOp>(first));
  if (kind == group::contract)
    return emitContract(cast<kernel::ContractOp>(first));
  if (kind == group::reduce)
    emitReduce(cast<linalg::GenericOp>(first));
  else
    emitMap(cast<linalg::GenericOp>(first));
  return success();
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

static std::string print(gpu::GPUFuncOp function) {
  std::string text;
  llvm::raw_string_ostream os(text);
  function.print(os, OpPrintingFlags().useLocalScope());
  return text;
}

/// Emits the code of a group that equals no other before it.
LogicalResult GroupConverter::emitKernel(StringRef kind, Kernel &made) {
  launch = Launch();
  body = &kernel->getBody();
  firstBlock = nullptr;
  size_t numOperands = kernel->getOperands().size();
  if (failed(emit(kind)))
    return failure();
  made = {(kind + "_" + Twine(counts[kind]++)).str(), launch};
  // A kernel with its own memory cannot be launched for another group.
  made.isShared = kernel->getOperands().size() == numOperands;
  for (Value own : kernel->getOperands().drop_front(numOperands))
    made.temporaryBytes += countBytes(cast<MemRefType>(own.getType()));
  gpu::GPUFuncOp function = kernel->get();
  function.setName(made.name);
  function.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({int32_t(launch.threads), 1, 1}));
  return success();
}

LogicalResult GroupConverter::convert(device::GroupOp group) {
  StringRef kind = group.getKind();
  kernel.emplace(group, kernels);
  insertGuard();
  convertFailures();
  Kernel &made = kernelsOf[(kind + print(kernel->get())).str()];
  if (made.isShared)
    kernel->get().erase();
  else if (failed(emitKernel(kind, made)))
    return failure();
  b.setInsertionPoint(group);
  auto symbol =
      SymbolRefAttr::get(b.getContext(), device::kernelsName,
                         {FlatSymbolRefAttr::get(b.getContext(), made.name)});
  auto sizes = [&](int64_t count) {
    return b.getDenseI32ArrayAttr({int32_t(count), 1, 1});
  };
  device::LaunchOp::create(b, group.getLoc(), symbol, sizes(made.launch.blocks),
                           sizes(made.launch.threads),
                           b.getI32IntegerAttr(made.launch.shared),
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
  placeWorkingCopies(main);
  main.walk([&](runtime::FailOp op) { mayEnd |= !op.getParallel(); });
  bool isFine = true;
  for (auto group : llvm::to_vector(block.getOps<device::GroupOp>())) {
    if (group.getKind() != group::ranks) {
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
