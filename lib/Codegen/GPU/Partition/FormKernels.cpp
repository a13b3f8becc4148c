//===- FormKernels.cpp - A model as groups of one kernel each -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After mp-plan-memory, `main` is a list: structured ops, each of which is a
// kernel; and small ops between them, mainly of scalars, which become kernels
// of one block, as many in each as follow each other.
//
// A scalar that one group computes and another reads is passed through its own
// slot at the end of the arena.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/Partition/FormKernels.h"

#include "../ArenaPlaces.h"
#include "../Emit/IndexedCode.h"
#include "../GroupForms.h"
#include "mp-opt/Codegen/Common/MemoryRanges.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Dialect/Kernel/ContractShape.h"
#include "mp-opt/Dialect/MP/AttributeNames.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

namespace mp {

using device::Kind;

namespace {

/// The points, or products, of a branch that one block computes faster than
/// kernels are launched.
constexpr int64_t fewPointsOfBranch = 1 << 17;

class KernelFormer {
public:
  KernelFormer(ModuleOp module, func::FuncOp main)
      : module(module), main(main), block(main.getBody().front()) {}

  LogicalResult run();

private:
  LogicalResult checkSizes();
  LogicalResult checkOps();
  void splitBranches();
  void resolveReshapes();
  void generalize();
  LogicalResult numberDraws();
  void placeTemporaries();
  void placeConditions();
  void makeGroups();
  Kind getKind(Operation &op);
  bool isBetweenGroups(Operation &op);
  bool isStable(memref::LoadOp load);
  bool isBoundToOpen(Operation &op);
  void addToGroup(Operation &op, Kind kind);
  void storeScalars(device::GroupOp group);

  ModuleOp module;
  func::FuncOp main;
  Block &block;
  Value control;
  device::GroupOp open;
};

} // namespace

//===----------------------------------------------------------------------===//
// Unsupported models
//===----------------------------------------------------------------------===//

/// All other sizes follow from those of inputs.
LogicalResult KernelFormer::checkSizes() {
  bool isKnown = true;
  auto inputs = module->getAttrOfType<ArrayAttr>(mark::inputs);
  for (auto input : block.getOps<runtime::InputOp>()) {
    auto type = cast<MemRefType>(input.getType());
    if (type.hasStaticShape())
      continue;
    isKnown = false;
    StringRef name;
    if (inputs && input.getNumber() < inputs.size())
      if (auto entry = dyn_cast<DictionaryAttr>(inputs[input.getNumber()]))
        if (auto attr = entry.getAs<StringAttr>(mark::name))
          name = attr.getValue();
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      if (type.isDynamicDim(axis))
        main.emitError("input '")
            << name << "': the size of axis " << axis
            << " is not known, but code for a device needs all sizes: "
               "--dim=NAME=SIZE gives that of a named one, data give all";
  }
  return success(isKnown);
}

static bool hasUnknownSize(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref && !memref.hasStaticShape();
}

static bool isReduction(Operation &op) {
  return isa<runtime::CollectiveStartOp, runtime::CollectiveWaitOp>(op);
}

/// The reason why memory of an op has no place on a device; empty if it has
/// one.
static StringRef findFault(Operation *op) {
  if (isa<memref::AllocOp, memref::AllocaOp, runtime::OutputOp>(op) &&
      llvm::any_of(op->getResultTypes(), hasUnknownSize))
    return "a result's size depends on data";
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  auto contract = dyn_cast<kernel::ContractOp>(op);
  if ((structured &&
       ShapedType::isDynamicShape(structured.getStaticLoopRanges())) ||
      (contract &&
       ShapedType::isDynamicShape(kernel::getStaticSizes(contract))) ||
      (isa<memref::CopyOp>(op) &&
       llvm::any_of(op->getOperandTypes(), hasUnknownSize)))
    return "how much it computes depends on data";
  if (isa<runtime::CacheLookupOp, runtime::ScratchOp>(op))
    return "it needs memory of the host";
  if (isReduction(*op) && !isa<func::FuncOp>(op->getParentOp()))
    return "ranks reduce inside of a loop or a branch";
  return "";
}

/// Each node is reported once; errors of ops without a node follow from those.
LogicalResult KernelFormer::checkOps() {
  SmallVector<Operation *> named, others;
  llvm::DenseSet<Location> seen;
  block.walk([&](Operation *op) {
    if (findFault(op).empty() || !seen.insert(op->getLoc()).second)
      return;
    bool hasNode = !device::getNodeName(op->getLoc()).empty();
    (hasNode ? named : others).push_back(op);
  });
  for (Operation *op : named.empty() ? others : named)
    (void)device::refuse(op, findFault(op));
  return success(named.empty() && others.empty());
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

LogicalResult KernelFormer::numberDraws() {
  OpBuilder b(main.getContext());
  b.setInsertionPointToStart(&block);
  auto words = MemRefType::get(device::controlWords, b.getI64Type());
  control = device::ControlOp::create(b, main.getLoc(), words);
  llvm::DenseMap<int64_t, int64_t> counts;
  SmallVector<runtime::DrawOp> draws;
  block.walk([&](runtime::DrawOp draw) { draws.push_back(draw); });
  for (runtime::DrawOp draw : draws) {
    if (draw->getBlock() != &block)
      return device::refuse(draw,
                            "random numbers inside of a loop or a branch");
    b.setInsertionPoint(draw);
    int64_t seed = draw.getSeed();
    Value begin = device::DrawOp::create(b, draw.getLoc(), b.getI64Type(),
                                         control, b.getI64IntegerAttr(seed),
                                         b.getI64IntegerAttr(counts[seed]++));
    draw.replaceAllUsesWith(begin);
    draw.erase();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Replaces reshapes of static types by casts, which read no sizes from memory.
void KernelFormer::resolveReshapes() {
  IRRewriter rewriter(main.getContext());
  SmallVector<memref::ReshapeOp> ops;
  block.walk([&](memref::ReshapeOp op) { ops.push_back(op); });
  for (memref::ReshapeOp op : ops) {
    auto source = cast<MemRefType>(op.getSource().getType());
    auto type = cast<MemRefType>(op.getType());
    if (!source.hasStaticShape() || !source.getLayout().isIdentity() ||
        !type.hasStaticShape())
      continue;
    auto [strides, offset] = type.getStridesAndOffset();
    rewriter.setInsertionPoint(op);
    rewriter.replaceOpWithNewOp<memref::ReinterpretCastOp>(
        op, type, op.getSource(), offset, type.getShape(), strides);
  }
}

/// Turns named structured ops and copies into generic ones.
void KernelFormer::generalize() {
  IRRewriter rewriter(main.getContext());
  SmallVector<Operation *> ops;
  block.walk([&](Operation *op) {
    if (isa<memref::CopyOp>(op) ||
        (isa<linalg::LinalgOp>(op) && !isa<linalg::GenericOp>(op)))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    rewriter.setInsertionPoint(op);
    if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      linalg::makeMemRefCopyOp(rewriter, copy.getLoc(), copy.getSource(),
                               copy.getTarget());
      rewriter.eraseOp(copy);
      continue;
    }
    (void)linalg::generalizeNamedOp(rewriter, cast<linalg::LinalgOp>(op));
  }
}

static int64_t countPoints(Operation &op) {
  int64_t points = 1;
  auto multiply = [&](int64_t extent) {
    if (llvm::MulOverflow(points, extent, points))
      points = INT64_MAX;
  };
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    llvm::for_each(generic.getStaticLoopRanges(), multiply);
    return points;
  }
  if (auto contract = dyn_cast<kernel::ContractOp>(op)) {
    llvm::for_each(kernel::getStaticSizes(contract), multiply);
    return points;
  }
  if (auto loop = dyn_cast<scf::ForOp>(op))
    if (auto indexed = IndexedLoop::get(loop))
      return indexed->countPoints();
  op.walk([&](linalg::GenericOp inner) {
    points = std::max(points, countPoints(*inner.getOperation()));
  });
  if (auto forall = dyn_cast<scf::ForallOp>(op))
    for (OpFoldResult bound : forall.getMixedUpperBound())
      multiply(getConstantIntValue(bound).value_or(INT64_MAX));
  return points;
}

/// True if the op is done by a kernel when it is not in a branch.
static bool isWork(Operation &op) {
  return isa<linalg::LinalgOp, kernel::ContractOp, kernel::AttentionOp,
             kernel::AttentionGradientOp, memref::CopyOp, scf::ForallOp>(op);
}

/// The points of a side, if each op of it can be a branch of its own: it is
/// work, or it may be done whichever side is taken.
static std::optional<int64_t> countPointsOfSide(Block &side) {
  int64_t points = 0;
  for (Operation &op : side.without_terminator()) {
    if (isWork(op))
      points = llvm::SaturatingAdd<uint64_t>(points, countPoints(op));
    else if (!isa<memref::AllocOp, memref::DeallocOp>(op) &&
             (op.getNumRegions() > 0 || !isPure(&op)))
      return std::nullopt;
  }
  return points;
}

static void splitSide(Block &side, scf::IfOp branch, Value condition) {
  OpBuilder b(branch);
  for (Operation &op : llvm::make_early_inc_range(side.without_terminator())) {
    if (!isWork(op)) {
      op.moveBefore(branch);
      continue;
    }
    auto own = scf::IfOp::create(b, op.getLoc(), condition);
    op.moveBefore(own.thenBlock()->getTerminator());
  }
}

/// Splits branches of much work into branches of single ops, which become
/// kernels of many blocks that do nothing if the other side is taken.
void KernelFormer::splitBranches() {
  for (auto branch : llvm::to_vector(block.getOps<scf::IfOp>())) {
    auto yes = countPointsOfSide(*branch.thenBlock());
    auto no = branch.elseBlock() ? countPointsOfSide(*branch.elseBlock())
                                 : std::optional<int64_t>(0);
    if (branch.getNumResults() > 0 || !yes || !no ||
        llvm::SaturatingAdd<uint64_t>(*yes, *no) < fewPointsOfBranch)
      continue;
    Value condition = branch.getCondition();
    splitSide(*branch.thenBlock(), branch, condition);
    if (Block *side = branch.elseBlock()) {
      OpBuilder b(branch);
      Location loc = branch.getLoc();
      Value one = arith::ConstantIntOp::create(b, loc, 1, 1);
      splitSide(*side, branch, arith::XOrIOp::create(b, loc, condition, one));
    }
    branch.erase();
  }
}

/// The op inside of a branch, if it is the only one.
static Operation *findGuarded(Operation &op) {
  auto branch = dyn_cast<scf::IfOp>(op);
  bool isGuard = branch && branch.getNumResults() == 0 && !branch.elseBlock() &&
                 llvm::hasNItems(*branch.thenBlock(), 2);
  return isGuard ? &branch.thenBlock()->front() : nullptr;
}

Kind KernelFormer::getKind(Operation &op) {
  if (Operation *guarded = findGuarded(op))
    return getKind(*guarded);
  if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
    bool isMap = generic.getNumReductionLoops() == 0;
    return isMap ? Kind::Elementwise : Kind::Reduce;
  }
  if (isReduction(op))
    return Kind::Collective;
  if (isa<kernel::ContractOp>(op))
    return Kind::Contract;
  if (isa<kernel::AttentionOp, kernel::AttentionGradientOp>(op))
    return Kind::Attention;
  if (isa<scf::ForallOp>(op))
    return Kind::RowWise;
  if (auto loop = dyn_cast<scf::ForOp>(op); loop && IndexedLoop::get(loop))
    return Kind::Scatter;
  return Kind::SingleBlock;
}

/// True if no op writes the loaded memory until the last op that depends on it.
bool KernelFormer::isStable(memref::LoadOp load) {
  SmallVector<Operation *> worklist{load};
  llvm::SmallPtrSet<Operation *, 16> seen;
  Operation *last = load;
  while (!worklist.empty()) {
    Operation *next = worklist.pop_back_val();
    for (Operation *user : next->getUsers()) {
      Operation *own = block.findAncestorOpInBlock(*user);
      if (!own || !seen.insert(own).second)
        continue;
      if (last->isBeforeInBlock(own))
        last = own;
      if (own == user && isPure(own) && own->getNumRegions() == 0)
        worklist.push_back(own);
    }
  }
  MemoryRange range = MemoryRange::get(load.getMemRef());
  for (Operation *op = load; op != last; op = op->getNextNode())
    if (mayWrite(op, range))
      return false;
  // The last one may write it after it has read the dependent values, but other
  // threads do not wait for that.
  return !mayWrite(last, range);
}

/// True for places and scalars that each group can have for itself.
bool KernelFormer::isBetweenGroups(Operation &op) {
  if (isa<memref::DeallocOp, memref::AllocOp, runtime::OutputOp>(op))
    return true;
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return isStable(load);
  return op.getNumRegions() == 0 && isPure(&op);
}

/// True if a scalar or place is computed from results of the open group.
bool KernelFormer::isBoundToOpen(Operation &op) {
  if (!isBetweenGroups(op))
    return false;
  if (auto load = dyn_cast<memref::LoadOp>(op);
      load && mayWrite(open, MemoryRange::get(load.getMemRef())))
    return true;
  return llvm::any_of(op.getOperands(), [&](Value operand) {
    Operation *source = operand.getDefiningOp();
    return source && open->isProperAncestor(source);
  });
}

void KernelFormer::addToGroup(Operation &op, Kind kind) {
  Operation *guarded = findGuarded(op);
  bool isSmall = kind != Kind::Contract && kind != Kind::Attention &&
                 countPoints(guarded ? *guarded : op) <= maxBlockPoints;
  bool isOfHost = kind == Kind::Collective;
  bool joins = kind == Kind::SingleBlock || isOfHost || isSmall;
  if (!open || !joins || isOfHost != (open.getKind() == Kind::Collective)) {
    OpBuilder b(&op);
    open = device::GroupOp::create(b, op.getLoc(), kind);
    b.createBlock(&open.getBody());
  } else if (!isOfHost) {
    open.setKind(Kind::SingleBlock);
  }
  Block &body = open.getBody().front();
  op.moveBefore(&body, body.end());
  if (!joins)
    open = nullptr;
}

/// Temporaries that outlive one block, which memory planning has left, get
/// their own slot for the whole call.
void KernelFormer::placeTemporaries() {
  memref::AllocOp arena = findArena(main);
  SmallVector<Operation *> deallocs;
  block.walk([&](memref::DeallocOp op) {
    if (!arena || op.getMemref() != arena)
      deallocs.push_back(op);
  });
  for (Operation *op : deallocs)
    op->erase();
  for (auto alloc : llvm::make_early_inc_range(block.getOps<memref::AllocOp>()))
    if (alloc != arena) {
      alloc.replaceAllUsesWith(makePlace(main, alloc.getType()));
      alloc.erase();
    }
}

/// The host reads the operands of reductions from memory.
void KernelFormer::placeConditions() {
  llvm::DenseMap<Value, Value> places;
  OpBuilder b(main.getContext());
  block.walk([&](Operation *op) {
    if (!isReduction(*op))
      return;
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (isa<MemRefType>(value.getType()) ||
          isa_and_nonnull<memref::LoadOp>(value.getDefiningOp()))
        continue;
      Value &place = places[value];
      if (!place) {
        place = makePlace(main, MemRefType::get({}, value.getType()));
        b.setInsertionPointAfterValue(value);
        memref::StoreOp::create(b, op->getLoc(), value, place);
      }
      b.setInsertionPoint(op);
      operand.set(memref::LoadOp::create(b, op->getLoc(), place));
    }
  });
}

void KernelFormer::makeGroups() {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops) {
    if (isa<runtime::CheckInputsOp>(op)) {
      op->erase();
      continue;
    }
    if (open && isBoundToOpen(*op)) {
      if (isa<ViewLikeOpInterface>(op))
        open = nullptr;
      else
        addToGroup(*op, Kind::SingleBlock);
      continue;
    }
    if (!isBetweenGroups(*op))
      addToGroup(*op, getKind(*op));
    else if (open)
      op->moveBefore(open);
  }
}

//===----------------------------------------------------------------------===//
// Scalars between groups
//===----------------------------------------------------------------------===//

/// Stores scalars that other groups read, each in its own slot of the arena.
void KernelFormer::storeScalars(device::GroupOp group) {
  SmallVector<Value> values;
  for (Operation &op : group.getBody().front())
    for (Value result : op.getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !group->isProperAncestor(user);
          }))
        values.push_back(result);
  OpBuilder b(main.getContext());
  for (Value value : values) {
    Type type = value.getType();
    Type stored = isa<IndexType>(type) ? b.getI64Type() : type;
    Value place = makePlace(main, MemRefType::get({}, stored));
    b.setInsertionPointAfterValue(value);
    Location loc = value.getLoc();
    Value given = value;
    if (stored != type)
      given = arith::IndexCastOp::create(b, loc, stored, value);
    memref::StoreOp::create(b, loc, given, place);
    b.setInsertionPointAfter(group);
    Value loaded = memref::LoadOp::create(b, loc, place);
    if (stored != type)
      loaded = arith::IndexCastOp::create(b, loc, type, loaded);
    value.replaceUsesWithIf(loaded, [&](OpOperand &use) {
      return !group->isProperAncestor(use.getOwner());
    });
  }
}

/// Reports loops that keep one block busy and leave the others idle.
static void reportLoops(device::GroupOp group) {
  if (group.getKind() != Kind::SingleBlock)
    return;
  for (Operation &op : group.getBody().front()) {
    if (!isa<scf::ForOp, scf::WhileOp>(op) || countPoints(op) <= 1)
      continue;
    auto options = remark::RemarkOpts::name("one-block").category("mp-codegen");
    if (auto remark = remark::analysis(op.getLoc(), options))
      remark << remark::detail::Remark::Arg("Loop",
                                            op.getName().getStringRef());
  }
}

LogicalResult KernelFormer::run() {
  if (failed(checkSizes()) || failed(checkOps()))
    return failure();
  if (failed(numberDraws()))
    return failure();
  generalize();
  splitBranches();
  placeTemporaries();
  resolveReshapes();
  placeConditions();
  makeGroups();
  for (auto group : block.getOps<device::GroupOp>())
    reportLoops(group);
  for (auto group : llvm::to_vector(block.getOps<device::GroupOp>())) {
    for (Operation &op : group.getBody().front())
      for (Value result : op.getResults())
        if (isa<MemRefType>(result.getType()) &&
            llvm::any_of(result.getUsers(), [&](Operation *user) {
              return !group->isProperAncestor(user);
            }))
          return device::refuse(&op, "a result's size depends on data");
    storeScalars(group);
  }
  return success();
}

LogicalResult formKernels(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return success();
  return KernelFormer(module, main).run();
}

} // namespace mp
