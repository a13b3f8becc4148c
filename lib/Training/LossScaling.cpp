//===- LossScaling.cpp - Scaling a loss, and skipping bad steps -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Training/LossScaling.h"

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Training/Optimizers.h"

#include "llvm/ADT/BitVector.h"

#include <cmath>

using namespace mlir;
using namespace mp::onnxir;
using namespace mp;

namespace mp {

//===----------------------------------------------------------------------===//
// Training graphs in the form of runtimes
//===----------------------------------------------------------------------===//

/// The operand of `node` whose formal parameter has one of these names.
static OpOperand *findOperand(Operation *node, ArrayRef<StringRef> names) {
  const OpSchema *schema = getSchema(node);
  for (OpOperand &operand : node->getOpOperands()) {
    const FormalParameter *formal =
        schema ? schema->getInput(operand.getOperandNumber()) : nullptr;
    if (formal && llvm::is_contained(names, formal->name) &&
        !isa<NoneType>(operand.get().getType()))
      return &operand;
  }
  return nullptr;
}

/// Adds the operands of `node` that are accumulated as gradients in a buffer.
static void addAccumulator(Operation *node, TrainingGraph &training) {
  OpOperand *buffer = findOperand(node, {"accumulation_buffer", "old_sum"});
  OpOperand *value = findOperand(node, {"value"});
  if (!buffer || !value || !isa<TensorType>(value->get().getType()))
    return;
  training.gradients.push_back(value);
  training.accumulates = true;
  if (OpOperand *flag = findOperand(node, {"overwrite_flag", "update_signal"}))
    if (!training.startsWindow)
      training.startsWindow = flag->get();
}

/// True if the result of the use is a multiple of the value: the value is a
/// factor, or the gradient operand of a gradient operator.
static bool isLinearUse(OpOperand &use) {
  Operation *node = use.getOwner();
  const OpSchema *schema = getSchema(node);
  const FormalParameter *formal =
      schema ? schema->getInput(use.getOperandNumber()) : nullptr;
  if (!formal)
    return false;
  if (llvm::is_contained({"dY", "dy", "Y_grad"}, formal->name))
    return true;
  const OperatorTraits &traits = getOperatorTraits(node);
  return traits.has(Linear) &&
         (use.getOperandNumber() == 0 || traits.math == OperatorMath::Mul);
}

/// The values that `values` are computed from, including themselves.
static llvm::DenseSet<Value> findSources(ArrayRef<Value> values) {
  llvm::DenseSet<Value> found(values.begin(), values.end());
  std::vector<Value> queue(values.begin(), values.end());
  while (!queue.empty()) {
    Operation *op = queue.back().getDefiningOp();
    queue.pop_back();
    if (op)
      for (Value operand : op->getOperands())
        if (found.insert(operand).second)
          queue.push_back(operand);
  }
  return found;
}

/// A constant of one float that is not zero.
static bool isNumber(Operation &op) {
  auto initializer = dyn_cast<InitializerOp>(op);
  Attribute held =
      initializer ? Attribute(initializer.getValueAttr()) : op.getAttr("value");
  if (!initializer && !isStandardOp(&op, "Constant"))
    return false;
  if (auto tensor = dyn_cast_or_null<TensorAttr>(held))
    held = tensor.getValue();
  auto elements = dyn_cast_or_null<DenseFPElementsAttr>(held);
  return elements && elements.getNumElements() == 1 &&
         elements.getElementType().isF32() &&
         elements.getSplatValue<APFloat>().isFiniteNonZero();
}

/// Constants that may be the seed: they are numbers, all values computed from
/// them are multiples of them, the first gradient needs them, and no result
/// other than gradients does.
static SmallVector<Value> findFactors(GraphOp graph,
                                      const TrainingGraph &training) {
  llvm::SmallPtrSet<Operation *, 8> accumulators;
  for (OpOperand *gradient : training.gradients)
    accumulators.insert(gradient->getOwner());
  SmallVector<Value> results;
  for (Value value : onnxir::getYield(graph.getBody()).getValues())
    if (!accumulators.contains(value.getDefiningOp()))
      results.push_back(value);
  llvm::DenseSet<Value> forward = findSources(results);
  // The search stores a bit per factor for each value of the graph. This is
  // cheap because few constants come before the first gradient.
  llvm::DenseSet<Value> backward =
      findSources({training.gradients.front()->get()});
  SmallVector<Value> factors;
  for (Operation &op : graph.getBody().front()) {
    if (!isNumber(op))
      continue;
    Value value = op.getResult(0);
    if (!backward.contains(value) || forward.contains(value))
      continue;
    bool isFactor = llvm::all_of(value.getUses(), [](OpOperand &use) {
      return isLinearUse(use) || isStandardOp(use.getOwner(), "Shape") ||
             isStandardOp(use.getOwner(), "Size");
    });
    if (isFactor)
      factors.push_back(value);
  }
  return factors;
}

static void findSeed(GraphOp graph, TrainingGraph &training) {
  SmallVector<Value> factors = findFactors(graph, training);
  // One walk finds the factors that each value is computed from.
  llvm::DenseMap<Value, llvm::BitVector> sources;
  for (auto [index, factor] : llvm::enumerate(factors)) {
    sources[factor].resize(factors.size());
    sources[factor].set(index);
  }
  for (Operation &op : graph.getBody().front()) {
    llvm::BitVector found(factors.size());
    for (Value operand : op.getOperands())
      if (auto it = sources.find(operand); it != sources.end())
        found |= it->second;
    if (found.any())
      for (Value result : op.getResults())
        sources[result] = found;
  }
  llvm::BitVector common(factors.size(), true);
  for (OpOperand *gradient : training.gradients)
    if (auto it = sources.find(gradient->get()); it != sources.end())
      common &= it->second;
    else
      common.reset();
  // Further factors on the path come after the seed; if two are multiplied with
  // each other, either one can be the seed.
  llvm::DenseMap<unsigned, llvm::BitVector> laterFactors;
  for (unsigned index : common.set_bits()) {
    llvm::BitVector &others = laterFactors[index];
    others.resize(factors.size());
    for (OpOperand &use : factors[index].getUses())
      if (isLinearUse(use))
        if (auto it = sources.find(use.getOwner()->getResult(0));
            it != sources.end())
          others |= it->second;
    others &= common;
  }
  for (unsigned index : common.set_bits())
    if (llvm::all_of(laterFactors[index].set_bits(), [&](unsigned other) {
          return laterFactors[other].test(index) || other == index;
        })) {
      training.seeds.push_back(factors[index]);
      return;
    }
}

TrainingGraph findTraining(GraphOp graph) {
  TrainingGraph training;
  for (Operation &op : graph.getBody().front()) {
    if (auto seed = dyn_cast<LossSeedOp>(op))
      training.seeds.push_back(seed.getResult());
    else if (auto gradient = dyn_cast<GradientOp>(op))
      training.gradients.push_back(&gradient.getGradientMutable());
  }
  if (!training.gradients.empty())
    return training;
  for (Operation &op : graph.getBody().front())
    if (isNode(&op))
      addAccumulator(&op, training);
  if (!training.gradients.empty())
    findSeed(graph, training);
  return training;
}

//===----------------------------------------------------------------------===//
// Scaling
//===----------------------------------------------------------------------===//

namespace {

class LossScaler {
public:
  LossScaler(GraphOp graph, NodeBuilder &builder, const TrainingGraph &training,
             const LossScale &settings)
      : graph(graph), editor(graph), b(builder), training(training),
        settings(settings) {}

  void run();

private:
  struct States {
    Value scale, clean, tolerance, skipped;
  };

  /// A state and its next value.
  Value addState(StringRef name, TypedAttr initial);
  void addOutput(Value state, Value next, Value condition, bool always);
  void addStates();
  void addSkipped();
  States update(Value finite);
  void startWindow();
  void scaleSeeds();
  void unscale();
  Value testFinite(ArrayRef<Value> values);
  Value both(Value a, Value b);

  void reportScale();
  void skipUpdates();
  void finishWindow();
  void finishStep(Value due, Value finite);
  void countSkipped(Value due, Value finite);
  Value sumLosses(ArrayRef<Value> losses, Value due);

  GraphOp graph;
  GraphEditor editor;
  NodeBuilder &b;
  const TrainingGraph &training;
  const LossScale &settings;
  Location loc = graph.getLoc();

  States states;
  /// For windows of onnxruntime: whether all of its steps were finite, and the
  /// number of steps.
  Value windowFinite, windowSteps;
  /// The scale of this step.
  Value scale;
  /// The scaled and the unscaled value of each gradient.
  SmallVector<std::pair<Value, Value>> gradients;
};

} // namespace

Value LossScaler::addState(StringRef name, TypedAttr initial) {
  StringRef unique = b.getNames().getValueName("loss_scale" + name);
  // Sessions of onnxruntime-training do not feed inputs with defaults.
  return training.accumulates ? editor.addInput(unique, initial.getType())
                              : editor.addInput(unique, initial);
}

template <typename T> static TypedAttr getScalar(Type type, T value) {
  return DenseElementsAttr::get(RankedTensorType::get({}, type), value);
}

void LossScaler::addSkipped() {
  Type i64 = b.getBuilder().getI64Type();
  states.skipped = addState(".skipped_steps", getScalar(i64, int64_t(0)));
}

void LossScaler::addStates() {
  Builder &types = b.getBuilder();
  Type i32 = types.getI32Type(), i64 = types.getI64Type();
  states.scale =
      addState("", getScalar(types.getF32Type(), float(settings.initial)));
  states.clean = addState(".clean_steps", getScalar(i32, int32_t(0)));
  states.tolerance =
      addState(".tolerance", getScalar(i32, int32_t(settings.hysteresis)));
  addSkipped();
  if (!training.startsWindow)
    return;
  windowFinite = addState(".window_finite", getScalar(types.getI1Type(), true));
  windowSteps = addState(".window_steps", getScalar(i64, int64_t(0)));
}

LossScaler::States LossScaler::update(Value finite) {
  Builder &types = b.getBuilder();
  auto op = UpdateScaleOp::create(
      b.getBuilder(), loc,
      TypeRange{states.scale.getType(), states.clean.getType(),
                states.tolerance.getType(), states.skipped.getType()},
      states.scale, states.clean, states.tolerance, states.skipped, finite,
      types.getF64FloatAttr(settings.growthFactor),
      types.getF64FloatAttr(settings.backoffFactor),
      types.getI64IntegerAttr(settings.growthInterval),
      types.getI64IntegerAttr(settings.hysteresis),
      types.getF64FloatAttr(settings.floor),
      types.getF64FloatAttr(settings.cap));
  return {op.getNewScale(), op.getNewClean(), op.getNewTolerance(),
          op.getNewSkipped()};
}

void LossScaler::addOutput(Value state, Value next, Value condition,
                           bool always) {
  auto update =
      UpdateOp::create(b.getBuilder(), loc, state, next, condition, always);
  b.rename(update.getResult(), onnxir::getValueName(state) + "_new");
  editor.addOutput(update.getResult());
}

/// If windows of accumulation are given from outside, the scale changes at the
/// start of the next one: within a window it is constant.
void LossScaler::startWindow() {
  Operation *first = nullptr;
  for (Operation &op : editor.getBlock())
    if (!isa<InitializerOp>(op)) {
      first = &op;
      break;
    }
  b.setInsertionPoint(first);
  b.setBase("loss_scale");
  Value starts = b.reshape(training.startsWindow, ArrayRef<int64_t>());
  Value hadSteps = b.create("Greater", {windowSteps, b.intScalar(0)});
  Value counts = b.create("And", {starts, hadSteps});
  States next = update(windowFinite);
  auto choose = [&](Value after, Value before) {
    return b.where(counts, after, before);
  };
  states = {choose(next.scale, states.scale), choose(next.clean, states.clean),
            choose(next.tolerance, states.tolerance),
            choose(next.skipped, states.skipped)};
}

void LossScaler::scaleSeeds() {
  for (Value seed : training.seeds) {
    b.setInsertionPointAfter(seed.getDefiningOp());
    if (scale.getDefiningOp() && !isa<InitializerOp>(scale.getDefiningOp()))
      if (seed.getDefiningOp()->isBeforeInBlock(scale.getDefiningOp()))
        b.setInsertionPointAfter(scale.getDefiningOp());
    b.setBase(onnxir::getValueName(seed));
    auto scaled =
        ScaleLossOp::create(b.getBuilder(), loc, seed.getType(), seed, scale);
    b.rename(scaled.getResult(), onnxir::getValueName(seed) + "_scaled");
    seed.replaceUsesWithIf(scaled.getResult(), [&](OpOperand &use) {
      return use.getOwner() != scaled;
    });
  }
}

void LossScaler::unscale() {
  for (OpOperand *gradient : training.gradients) {
    b.setInsertionPoint(gradient->getOwner());
    Value scaled = gradient->get();
    auto unscaled =
        UnscaleOp::create(b.getBuilder(), loc, scaled.getType(), scaled, scale);
    b.rename(unscaled.getResult(), onnxir::getValueName(scaled) + "_unscaled");
    gradient->set(unscaled.getResult());
    gradients.emplace_back(scaled, unscaled.getResult());
    // Unmarked gradients are marked where they leave the backward pass.
    if (isa<GradientOp>(gradient->getOwner()))
      continue;
    OpOperand *buffer =
        findOperand(gradient->getOwner(), {"accumulation_buffer", "old_sum"});
    auto marker = GradientOp::create(b.getBuilder(), loc, scaled.getType(),
                                     unscaled.getResult(), buffer->get());
    b.rename(marker.getResult(), onnxir::getValueName(scaled) + "_out");
    gradient->set(marker.getResult());
  }
}

Value LossScaler::testFinite(ArrayRef<Value> values) {
  b.setInsertionPointToEnd(&editor.getBlock());
  auto test = AllFiniteOp::create(
      b.getBuilder(), loc,
      RankedTensorType::get({}, b.getBuilder().getI1Type()), values);
  b.rename(test.getResult(), "gradients_finite");
  return test.getResult();
}

/// Null means true.
Value LossScaler::both(Value first, Value second) {
  if (!first || !second || first == second)
    return first ? first : second;
  return b.create("And", {first, second});
}

/// A step whose gradients are not all finite changes no state that has an
/// update. Each optimizer is skipped as a whole, independently of the others.
void LossScaler::skipUpdates() {
  SmallVector<UpdateOp> updates(editor.getBlock().getOps<UpdateOp>());
  llvm::MapVector<int64_t, SmallVector<Value>> tested;
  for (UpdateOp update : updates)
    tested[update.getGroup().value_or(0)];
  for (auto &[group, values] : tested) {
    SmallVector<Value> updated;
    for (UpdateOp update : updates)
      if (int64_t(update.getGroup().value_or(0)) == group)
        updated.append(update->operand_begin(), update->operand_end());
    llvm::DenseSet<Value> sources = findSources(updated);
    for (auto [gradient, found] : llvm::zip(training.gradients, gradients))
      if (sources.contains(cast<GradientOp>(gradient->getOwner()).getResult()))
        values.append({found.first, found.second});
  }
  // The sums of earlier steps of a window are tested too.
  for (UpdateOp update : updates)
    if (update.getAlways() &&
        isa<FloatType>(getTensorElementType(update.getState().getType())))
      tested[update.getGroup().value_or(0)].push_back(update.getState());
  Value allFinite;
  llvm::DenseMap<int64_t, Value> finite;
  for (auto &[group, values] : tested) {
    finite[group] = testFinite(values);
    b.setBase("loss_scale");
    allFinite = both(allFinite, finite[group]);
  }
  llvm::SetVector<Value> windows;
  for (UpdateOp update : updates) {
    if (update.getAlways())
      continue;
    if (update.getCondition())
      windows.insert(update.getCondition());
    // Updates come after the test, which needs all gradients.
    update->moveBefore(editor.getYield());
    b.setInsertionPoint(update);
    b.setBase("loss_scale");
    update.getConditionMutable().assign(
        both(update.getCondition(), finite[update.getGroup().value_or(0)]));
  }
  b.setInsertionPointToEnd(&editor.getBlock());
  b.setBase("loss_scale");
  Value due;
  for (Value window : windows)
    due = due ? b.create("Or", {due, window}) : window;
  if (settings.mode == LossScale::Dynamic)
    finishStep(due, allFinite);
  else
    countSkipped(due, allFinite);
}

/// A constant scale never decreases: the count shows that it is too large.
void LossScaler::countSkipped(Value due, Value finite) {
  addSkipped();
  b.setInsertionPointToEnd(&editor.getBlock());
  b.setBase("loss_scale");
  Value one = b.castLike(b.intScalar(1), states.skipped);
  Value more = b.add(states.skipped, one);
  addOutput(states.skipped, b.where(finite, states.skipped, more), due, true);
}

/// The sum of losses of earlier steps of a window: not finite if one of them is
/// not. It has the name of an accumulation sum, since it is one.
Value LossScaler::sumLosses(ArrayRef<Value> losses, Value due) {
  Type f32 = b.getBuilder().getF32Type();
  Value sum = addState((".loss." + accumulatedSum).str(), getScalar(f32, 0.0F));
  Value next = sum;
  for (Value loss : losses) {
    Value wide = b.castTo(loss, f32);
    bool isScalar = NodeBuilder::getRank(wide) == 0;
    next = b.add(next, isScalar ? wide : b.reshape(wide, ArrayRef<int64_t>()));
  }
  addOutput(sum, b.where(due, b.scalarLike(0, next), next), Value(), true);
  return sum;
}

/// The scale changes when an update is due. If the loss itself is not finite,
/// no scale would help: the step counts as skipped, and the scale stays.
void LossScaler::finishStep(Value due, Value finite) {
  b.setInsertionPointToEnd(&editor.getBlock());
  b.setBase("loss_scale");
  SmallVector<Value> losses;
  for (Value seed : training.seeds)
    if (auto op = seed.getDefiningOp<LossSeedOp>())
      losses.push_back(op.getLoss());
  SmallVector<Value> tested = losses;
  if (due && !losses.empty())
    tested.push_back(sumLosses(losses, due));
  Value lossFinite = testFinite(tested);
  b.rename(lossFinite, "loss_finite");
  b.setBase("loss_scale");
  States next = update(finite);
  Value changes = both(due, lossFinite);
  addOutput(states.scale, next.scale, changes, true);
  addOutput(states.clean, next.clean, due, true);
  addOutput(states.tolerance, next.tolerance, changes, true);
  addOutput(states.skipped, next.skipped, due, true);
}

/// Stores facts about the window so far, for the step that starts the next one.
void LossScaler::finishWindow() {
  SmallVector<Value> values;
  for (auto [scaled, unscaled] : gradients)
    values.append({scaled, unscaled});
  Value finite = testFinite(values);
  b.setBase("loss_scale");
  Value starts = b.reshape(training.startsWindow, ArrayRef<int64_t>());
  Value soFar = b.create("Or", {starts, windowFinite});
  Value one = b.intScalar(1);
  Value steps = b.where(starts, one, b.add(windowSteps, one));
  SmallVector<std::pair<Value, Value>> results = {
      {windowFinite, b.create("And", {soFar, finite})}, {windowSteps, steps}};
  for (auto [state, next] : results)
    addOutput(state, next, Value(), true);
}

bool leavesGradients(GraphOp graph) {
  bool isAny = false;
  for (auto gradient : graph.getBody().getOps<GradientOp>()) {
    isAny = true;
    for (Operation *user : gradient.getResult().getUsers())
      if (!isa<YieldOp>(user))
        return false;
  }
  return isAny;
}

/// Adds the scale as an output: readers of gradients may want to know it.
void LossScaler::reportScale() {
  StringRef name = onnxir::getValueName(scale);
  emitWarning(loc)
      << "the backward pass has a loss scale of "
      << formatNumber(settings.initial)
      << ", and the gradients that are outputs are divided by it; the output '"
      << name << "' is that scale";
  editor.addOutput(scale);
}

void LossScaler::run() {
  Builder &types = b.getBuilder();
  if (settings.mode == LossScale::Static) {
    b.setInsertionPoint(&editor.getBlock().front());
    b.setBase("loss_scale");
    scale = b.scalar(settings.initial, types.getF32Type());
    b.rename(scale, "loss_scale");
  } else {
    addStates();
    States before = states;
    if (training.startsWindow) {
      startWindow();
      SmallVector<std::pair<Value, Value>> changes = {
          {before.scale, states.scale},
          {before.clean, states.clean},
          {before.tolerance, states.tolerance},
          {before.skipped, states.skipped}};
      b.setInsertionPointToEnd(&editor.getBlock());
      for (auto [state, next] : changes)
        addOutput(state, next, Value(), true);
    }
    scale = states.scale;
  }
  scaleSeeds();
  unscale();
  if (settings.mode == LossScale::Static && !training.accumulates &&
      leavesGradients(graph))
    reportScale();
  if (training.startsWindow && settings.mode == LossScale::Dynamic)
    finishWindow();
  else if (!editor.getBlock().getOps<UpdateOp>().empty())
    skipUpdates();
}

LogicalResult scaleLosses(GraphOp graph, NodeBuilder &builder,
                          const TrainingGraph &training,
                          const LossScale &settings) {
  if (settings.mode == LossScale::None)
    return success();
  if (training.seeds.empty())
    return graph.emitError() << "loss scaling: the graph accumulates "
                                "gradients, but "
                             << noSeed;
  int exponent;
  if (settings.mode == LossScale::Static &&
      std::frexp(settings.initial, &exponent) != 0.5)
    graph.emitWarning() << "loss scale " << settings.initial
                        << " is not a power of two: it changes gradients by "
                           "rounding";
  if (settings.initial < 1)
    graph.emitWarning() << "loss scale " << settings.initial
                        << " makes gradients smaller";
  for (OpOperand *gradient : training.gradients)
    if (auto type = getTensorElementType(gradient->get().getType());
        !type || !(type.isF32() || type.isF64()))
      return graph.emitError()
             << "loss scaling: expected gradients in fp32, got '"
             << onnxir::getValueName(gradient->get()) << "' of type "
             << gradient->get().getType();
  LossScaler(graph, builder, training, settings).run();
  return success();
}

} // namespace mp
