//===- Distribution.cpp - Data-parallel training steps --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// N ranks make one step of N batches. Gradients are reduced where they leave
// the backward pass, unscaled and in fp32, before accumulation, clipping and
// the optimizer, so that these see the same values as on a single rank with the
// whole batch. Each rank tests before the sum whether they are finite, as in
// steps that accumulate batches; the answer is combined over all ranks.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Training/Distribution.h"

#include "mp-opt/Autodiff/Autodiff.h"
#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Training/Losses.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {
class Distributor {
public:
  Distributor(GraphOp graph, NodeBuilder &nodes,
              const DistributionSettings &settings)
      : graph(graph), editor(graph), nodes(nodes), settings(settings),
        b(graph) {}

  LogicalResult run();

private:
  void advance(GradientOp gradient);
  void findWindow();
  Value getReduced(GradientOp gradient);
  AllReduceOp reduce(Value value, Value condition = {},
                     Operation *onlyUser = nullptr);
  void add(AllReduceOp op);
  void findOwn();
  LogicalResult reduceOutputs();
  void fillBuckets();

  GraphOp graph;
  GraphEditor editor;
  NodeBuilder &nodes;
  const DistributionSettings &settings;
  OpBuilder b;
  /// The reductions of each element type and condition, in the order of the
  /// graph.
  llvm::MapVector<std::pair<Type, Value>, SmallVector<AllReduceOp>> reductions;
  /// For steps that accumulate batches: the sums, and the flag that this step
  /// is the last one of a window; null for other steps.
  llvm::DenseSet<Value> sums;
  Value isLast;
  /// Values that differ between ranks.
  llvm::DenseSet<Value> own;
  int64_t numBuckets = 0;
};
} // namespace

static bool isFloat(Value value) {
  Type element = getTensorElementType(value.getType());
  return element && (element.isF32() || element.isF64());
}

/// The later of two definitions; inputs are defined at the beginning.
static Operation *findLast(Value first, Value second) {
  Operation *one = first.getDefiningOp(), *other = second.getDefiningOp();
  if (!one || !other)
    return one ? one : other;
  return one->isBeforeInBlock(other) ? other : one;
}

/// Moves a gradient to the place where it is computed: loss scaling unscales
/// all gradients after the backward pass.
void Distributor::advance(GradientOp gradient) {
  Operation *place = gradient.getGradient().getDefiningOp();
  if (auto unscale = dyn_cast_or_null<UnscaleOp>(place))
    if (Operation *last = findLast(unscale.getGradient(), unscale.getScale()))
      unscale->moveAfter(last);
  if (place)
    gradient->moveAfter(place);
}

/// Moves `op`, with the nodes that it depends on, before `place`.
static void hoist(Operation *op, Operation *place) {
  if (!op || op->isBeforeInBlock(place))
    return;
  for (Value operand : op->getOperands())
    hoist(operand.getDefiningOp(), place);
  op->moveBefore(place);
}

/// True if all elements are zero.
static bool isZero(Value value) {
  Operation *source = value.getDefiningOp();
  if (source && isStandardOp(source, "Expand"))
    return isZero(source->getOperand(0));
  if (std::optional<double> number = getConstantFloat(value))
    return *number == 0;
  auto elements =
      source ? source->getAttrOfType<DenseElementsAttr>("value") : nullptr;
  return elements && elements.isSplat() &&
         isa<FloatType>(elements.getElementType()) &&
         elements.getSplatValue<APFloat>().isZero();
}

/// Indices of the rows outside of which a gradient is zero. It must be a sum
/// that is scattered over a table of zeros, perhaps scaled or cast after that.
static Value findRows(Value gradient) {
  while (Operation *source = gradient.getDefiningOp()) {
    if (isa<GradientOp, UnscaleOp>(source) || isStandardOp(source, "Cast")) {
      gradient = source->getOperand(0);
      continue;
    }
    // Gradients of Gather, before and after onnx-decompose-gradients.
    bool isOfGather =
        isMicrosoftOp(source, "GatherGrad") && getInt(source, "axis", 0) == 0;
    bool isSum = isStandardOp(source, "ScatterND") &&
                 getString(source, "reduction", "none") == "add" &&
                 isZero(source->getOperand(0));
    if (!isOfGather && !isSum)
      return {};
    Value indices = source->getOperand(1);
    auto type = dyn_cast<RankedTensorType>(indices.getType());
    bool isOfRows =
        type &&
        (isOfGather || (type.getRank() > 0 && type.getShape().back() == 1));
    return isOfRows ? indices : Value();
  }
  return {};
}

/// Finds the sums of accumulation, which are reset at the end of a window.
void Distributor::findWindow() {
  for (auto update : editor.getBlock().getOps<UpdateOp>()) {
    Operation *source = update.getValue().getDefiningOp();
    if (!update.getAlways() || !isFloat(update.getState()) || !source ||
        !isStandardOp(source, "Where"))
      continue;
    sums.insert(update.getState());
    isLast = source->getOperand(0);
  }
  // The flag depends on a count of steps, and does not need the batch.
  if (isLast)
    hoist(isLast.getDefiningOp(), &editor.getBlock().front());
}

/// The value to reduce for a gradient: the sum, if batches are accumulated.
Value Distributor::getReduced(GradientOp gradient) {
  Value value = gradient.getResult();
  if (!isLast || !value.hasOneUse())
    return value;
  Operation *user = *value.user_begin();
  bool isSum = isStandardOp(user, "Add") &&
               llvm::any_of(user->getOperands(),
                            [&](Value other) { return sums.contains(other); });
  if (!isSum)
    return value;
  user->moveAfter(gradient);
  return user->getResult(0);
}

void Distributor::add(AllReduceOp op) {
  Type element = getTensorElementType(op.getResult().getType());
  reductions[{element, op.getCondition()}].push_back(op);
}

/// Reduces `value` for all of its users, or for one user alone; an output keeps
/// its name.
AllReduceOp Distributor::reduce(Value value, Value condition,
                                Operation *onlyUser) {
  b.setInsertionPointAfterValue(value);
  auto op = AllReduceOp::create(b, value.getLoc(), value.getType(), value,
                                condition, /*rows=*/Value(), 0, 1);
  value.replaceUsesWithIf(op.getResult(), [&](OpOperand &use) {
    return use.getOwner() != op && (!onlyUser || use.getOwner() == onlyUser);
  });
  if (isa_and_nonnull<YieldOp>(onlyUser)) {
    std::string name = onnxir::getValueName(value).str();
    nodes.rename(value, name + "_own");
    setValueName(cast<OpResult>(op.getResult()), name);
  }
  return op;
}

/// Finds values that differ between ranks: those computed from the batch
/// (inputs without default and next value), as long as they are not reduced.
void Distributor::findOwn() {
  Block &block = editor.getBlock();
  llvm::StringSet<> outputs;
  for (Value value : editor.getYield().getValues())
    outputs.insert(onnxir::getValueName(value));
  llvm::StringSet<> defaults;
  for (auto initializer : block.getOps<InitializerOp>())
    if (initializer.getOverridable())
      defaults.insert(initializer.getName());
  for (BlockArgument input : block.getArguments())
    if (!defaults.contains(onnxir::getValueName(input)) &&
        !outputs.contains((onnxir::getValueName(input) + "_new").str()))
      own.insert(input);
  for (Operation &op : block) {
    if (isa<AllReduceOp>(op))
      continue;
    auto sources = getCaptured(&op);
    sources.insert(op.operand_begin(), op.operand_end());
    if (llvm::any_of(sources, [&](Value value) { return own.contains(value); }))
      own.insert(op.result_begin(), op.result_end());
  }
}

/// Reduces losses, and states that depend on a rank's batch, such as running
/// statistics.
LogicalResult Distributor::reduceOutputs() {
  findOwn();
  llvm::StringSet<> inputs;
  for (BlockArgument input : editor.getBlock().getArguments())
    inputs.insert(onnxir::getValueName(input));
  SmallVector<Value> values(editor.getYield().getValues());
  for (Value value : values) {
    StringRef name = onnxir::getValueName(value);
    bool isLoss = name == lossName || name.starts_with(lossPartPrefix);
    StringRef state = name;
    bool isState = state.consume_back("_new") && inputs.contains(state);
    if ((!isLoss && !isState) || !own.contains(value))
      continue;
    auto update = value.getDefiningOp<UpdateOp>();
    Value reduced = update ? update.getValue() : value;
    if (!isFloat(reduced))
      return graph.emitError("state '")
             << state << "' depends on a rank's batch, and is of type "
             << reduced.getType()
             << ": only floats have a mean over ranks, expected f32 or f64";
    add(reduce(reduced, Value(),
               update ? update.getOperation() : editor.getYield()));
  }
  return success();
}

static int64_t countBytes(AllReduceOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getResult().getType());
  if (!type || !type.hasStaticShape())
    return 0;
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

/// Fills buckets in the order in which values are computed. No computation can
/// hide the last bucket, so buckets become smaller towards the end.
void Distributor::fillBuckets() {
  for (auto &[key, ops] : reductions) {
    llvm::sort(ops, [](AllReduceOp one, AllReduceOp other) {
      return one->isBeforeInBlock(other);
    });
    int64_t bytesLeft = 0;
    for (AllReduceOp op : ops)
      bytesLeft += countBytes(op);
    ArrayRef<AllReduceOp> left(ops);
    int64_t first = std::max<int64_t>(settings.firstBytes, 1);
    int64_t most = std::max(settings.bucketBytes, first), limit = first;
    while (!left.empty()) {
      size_t count = 0;
      int64_t bytes = 0;
      for (; count < left.size() && bytes < limit; ++count)
        bytes += countBytes(left[count]);
      for (AllReduceOp op : left.take_front(count)) {
        op.setBucket(numBuckets);
        op.setMembers(int64_t(count));
      }
      ++numBuckets;
      left = left.drop_front(count);
      bytesLeft -= bytes;
      limit = std::min(most, std::max(first, bytesLeft / 2));
    }
  }
}

LogicalResult Distributor::run() {
  Block &block = editor.getBlock();
  SmallVector<GradientOp> gradients(block.getOps<GradientOp>());
  if (gradients.empty() || block.getOps<UpdateOp>().empty())
    return graph.emitError("a distributed step updates parameters: expected "
                           "--train with an optimizer; gradients that leave a "
                           "step are reduced by those who apply them");
  for (auto op : block.getOps<AllReduceOp>())
    numBuckets = std::max(numBuckets, int64_t(op.getBucket()) + 1);
  for (GradientOp gradient : gradients)
    advance(gradient);
  findWindow();
  for (GradientOp gradient : gradients) {
    Value reduced = getReduced(gradient);
    bool isSum = reduced != gradient.getResult();
    AllReduceOp op = reduce(reduced, isSum ? isLast : Value());
    if (Value rows = isSum ? Value() : findRows(reduced)) {
      nodes.setInsertionPoint(op);
      nodes.setBase(onnxir::getValueName(rows));
      op.getRowsMutable().assign(nodes.castTo(rows, b.getI64Type()));
    }
    add(op);
  }
  SmallVector<AllReduceOp> flags;
  for (auto test : llvm::make_early_inc_range(block.getOps<AllFiniteOp>()))
    flags.push_back(reduce(test.getResult(), isLast));
  if (failed(reduceOutputs()))
    return failure();
  fillBuckets();
  // Each flag is needed at once.
  for (AllReduceOp flag : flags)
    flag.setBucket(numBuckets++);
  return success();
}

LogicalResult distribute(GraphOp graph, NodeBuilder &nodes,
                         const DistributionSettings &settings) {
  return Distributor(graph, nodes, settings).run();
}

bool hasReductions(ModuleOp module) {
  return module.walk([](AllReduceOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

void removeReductions(ModuleOp module) {
  module.walk([](AllReduceOp op) {
    op.getResult().replaceAllUsesWith(op.getValue());
    op.erase();
  });
}

} // namespace mp
