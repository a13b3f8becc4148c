//===- WorkingCopies.cpp - 16-bit copies of parameters --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/Partition/WorkingCopies.h"

#include "../ArenaPlaces.h"
#include "PlaceWorkingCopies.h"
#include "mp-opt/Codegen/Common/MemoryRanges.h"
#include "mp-opt/Codegen/GPU/Contract.h"
#include "mp-opt/Dialect/Device/DeviceOps.h"
#include "mp-opt/Dialect/Runtime/RuntimeOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace mp {

using device::Kind;

namespace {

/// A state, and the ops that read and write it.
struct State {
  /// Operands of products that round it.
  SmallVector<OpOperand *> products;
  /// Outputs of elementwise ops.
  SmallVector<OpOperand *> updates;
  /// Others write it, too.
  bool isWrittenByOthers = false;
};

class WorkingCopyBuilder {
public:
  explicit WorkingCopyBuilder(func::FuncOp main)
      : main(main), b(main.getContext()) {}

  void run();

private:
  void collect(Operation *op);
  void addCopy(runtime::InputOp input, State &state);
  Value makeView(Value memory, Value state, Value copy,
                 SmallVectorImpl<Operation *> &views);
  void writeCopy(linalg::GenericOp op, Value state, Value copy);

  func::FuncOp main;
  IRRewriter b;
  llvm::MapVector<Value, State> states;
};

} // namespace

/// True if the views between an operand and its state can be made of another
/// memory as well.
static bool isPlainView(Value memory, Value state) {
  while (memory != state) {
    Operation *op = memory.getDefiningOp();
    if (!isa<memref::CollapseShapeOp, memref::ExpandShapeOp, memref::SubViewOp,
             memref::CastOp>(op))
      return false;
    memory = op->getOperand(0);
  }
  return true;
}

static bool roundsWeight(kernel::ContractOp op, OpOperand &operand) {
  unsigned number = operand.getOperandNumber();
  return number < 2 && op.getRounding(number) && kernel::isWorthTiles(op);
}

void WorkingCopyBuilder::collect(Operation *op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  bool isRegion = op->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()) ||
        isa<ViewLikeOpInterface>(op))
      continue;
    Value root = getRoot(operand.get());
    auto found = states.find(root);
    if (found == states.end())
      continue;
    State &state = found->second;
    if (auto contract = dyn_cast<kernel::ContractOp>(op);
        contract && roundsWeight(contract, operand) &&
        isPlainView(operand.get(), root)) {
      state.products.push_back(&operand);
      continue;
    }
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      if (!generic.isDpsInit(&operand))
        continue;
      bool isUpdate = generic.getNumReductionLoops() == 0 &&
                      generic.getMatchingIndexingMap(&operand).isPermutation();
      if (isUpdate && operand.get() == root)
        state.updates.push_back(&operand);
      else
        state.isWrittenByOthers = true;
      continue;
    }
    SmallVector<MemoryEffects::EffectInstance> list;
    if (effects)
      effects.getEffectsOnValue(operand.get(), list);
    else if (!isRegion)
      state.isWrittenByOthers = true;
    for (const MemoryEffects::EffectInstance &effect : list)
      state.isWrittenByOthers |= isa<MemoryEffects::Write>(effect.getEffect());
  }
}

/// The view of the working copy that corresponds to `memory`, a view of the
/// state.
Value WorkingCopyBuilder::makeView(Value memory, Value state, Value copy,
                                   SmallVectorImpl<Operation *> &views) {
  if (memory == state)
    return copy;
  Operation *op = memory.getDefiningOp();
  Value source = makeView(op->getOperand(0), state, copy, views);
  b.setInsertionPointAfter(op);
  Operation *view = b.clone(*op);
  views.push_back(view);
  view->setOperand(0, source);
  auto type = cast<MemRefType>(memory.getType());
  auto element = cast<MemRefType>(copy.getType()).getElementType();
  view->getResult(0).setType(MemRefType::Builder(type).setElementType(element));
  return view->getResult(0);
}

/// Makes the op write the values that it leaves in the state to the working
/// copy, too.
void WorkingCopyBuilder::writeCopy(linalg::GenericOp op, Value state,
                                   Value copy) {
  b.setInsertionPoint(op);
  SmallVector<Value> outputs(op.getDpsInits());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  int64_t number = llvm::find(outputs, state) - outputs.begin();
  maps.push_back(maps[op.getNumDpsInputs() + number]);
  outputs.push_back(copy);
  SmallVector<Value> inputs = op.getDpsInputs();
  auto made = linalg::GenericOp::create(b, op.getLoc(), inputs, outputs, maps,
                                        op.getIteratorTypesArray());
  made.getRegion().takeBody(op.getRegion());
  Block &body = made.getRegion().front();
  Type element = cast<MemRefType>(copy.getType()).getElementType();
  body.addArgument(element, op.getLoc());
  Operation *yield = body.getTerminator();
  b.setInsertionPoint(yield);
  Value rounded = arith::TruncFOp::create(b, op.getLoc(), element,
                                          yield->getOperand(number));
  yield->insertOperands(yield->getNumOperands(), rounded);
  b.eraseOp(op);
}

void WorkingCopyBuilder::addCopy(runtime::InputOp input, State &state) {
  auto type = cast<MemRefType>(input.getType());
  Type element;
  for (OpOperand *operand : state.products) {
    auto op = cast<kernel::ContractOp>(operand->getOwner());
    Type rounding = op.getRounding(operand->getOperandNumber());
    element = element ? element : rounding;
    if (rounding != element)
      return;
  }
  b.setInsertionPointAfter(input);
  auto copy = device::WorkingCopyOp::create(
      b, input.getLoc(), MemRefType::get(type.getShape(), element), input);
  SmallVector<Operation *> views;
  for (OpOperand *operand : state.products) {
    auto op = cast<kernel::ContractOp>(operand->getOwner());
    bool isA = operand->getOperandNumber() == 0;
    Value before = operand->get();
    operand->set(makeView(before, input, copy, views));
    isA ? op.removeRoundAAttr() : op.removeRoundBAttr();
    if (kernel::isCopiedAsync(op, operand->getOperandNumber()))
      continue;
    operand->set(before);
    isA ? op.setRoundA(element) : op.setRoundB(element);
  }
  for (Operation *view : llvm::reverse(views))
    if (view->use_empty())
      b.eraseOp(view);
  if (copy->use_empty())
    return b.eraseOp(copy);
  for (OpOperand *update : state.updates)
    writeCopy(cast<linalg::GenericOp>(update->getOwner()), input, copy);
}

void WorkingCopyBuilder::run() {
  for (auto input : main.getBody().front().getOps<runtime::InputOp>())
    if (auto type = cast<MemRefType>(input.getType());
        type.getElementType().isF32() && type.hasStaticShape() &&
        type.getLayout().isIdentity())
      states[input] = {};
  main.walk([&](Operation *op) { collect(op); });
  for (auto &[memory, state] : states) {
    auto input = memory.getDefiningOp<runtime::InputOp>();
    if (!state.products.empty() && !state.updates.empty() &&
        !state.isWrittenByOthers)
      addCopy(input, state);
  }
}

void addWorkingCopies(ModuleOp module) {
  if (auto main = module.lookupSymbol<func::FuncOp>("main"))
    WorkingCopyBuilder(main).run();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// A map that rounds all of a state.
static void makeRounding(OpBuilder &b, Location loc, Value state, Value copy) {
  auto group = device::GroupOp::create(b, loc, Kind::Elementwise);
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&group.getBody());
  auto type = cast<MemRefType>(copy.getType());
  AffineMap map = b.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  linalg::GenericOp::create(
      b, loc, state, copy, ArrayRef<AffineMap>{map, map}, iterators,
      [&](OpBuilder &inner, Location at, ValueRange elements) {
        Value rounded = arith::TruncFOp::create(
            inner, at, type.getElementType(), elements.front());
        linalg::YieldOp::create(inner, at, rounded);
      });
}

void placeWorkingCopies(func::FuncOp main) {
  // The most states of one kernel, which has room for 512 pointers.
  constexpr size_t maxStates = 200;
  Block &block = main.getBody().front();
  auto copies = llvm::to_vector(block.getOps<device::WorkingCopyOp>());
  auto groups = block.getOps<device::GroupOp>();
  if (copies.empty() || groups.empty())
    return;
  OpBuilder b(*groups.begin());
  for (ArrayRef<device::WorkingCopyOp> rest(copies); !rest.empty();) {
    ArrayRef<device::WorkingCopyOp> some = rest.take_front(maxStates);
    rest = rest.drop_front(some.size());
    auto whole = device::GroupOp::create(b, main.getLoc(), Kind::Fused);
    whole.setWhenSet(true);
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&whole.getBody());
    for (device::WorkingCopyOp copy : some) {
      Value place = makePlace(main, copy.getType());
      makeRounding(b, copy.getLoc(), copy.getState(), place);
      copy.getResult().replaceAllUsesWith(place);
      copy.erase();
    }
  }
}

} // namespace mp
