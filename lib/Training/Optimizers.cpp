//===- Optimizers.cpp - Optimizers that a training step may have ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Training/Optimizers.h"

#include "OptimizerRules.h"

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Support/Nearest.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

class OptimizerBuilder {
public:
  OptimizerBuilder(GraphOp graph, NodeBuilder &builder,
                   const OptimizerSettings &settings)
      : graph(graph), editor(graph), b(builder), settings(settings) {}

  LogicalResult run();

private:
  LogicalResult checkGroups();
  BlockArgument addState(const Twine &name, TypedAttr initial);
  SmallVector<Value> addZeros(ArrayRef<StringRef> slots);
  void addUpdate(Value state, Value next, bool always = false);
  void accumulate();
  void clipValue();
  void clipNorm();
  void keepRows(ParameterStep &step, Value &next, ArrayRef<Value> states);
  void update(Value parameter, Value gradient, ArrayRef<Value> states);
  void average();

  GraphOp graph;
  GraphEditor editor;
  NodeBuilder &b;
  const OptimizerSettings &settings;
  SmallVector<std::pair<Value, Value>> gradients;
  /// Parameters that are used only as look-up tables.
  llvm::DenseSet<Value> tables;
  /// The new value of each parameter.
  SmallVector<Value> nextValues;
  Value learningRate, step;
  llvm::DenseMap<Type, StepScalars> scalars;
  SmallVector<Value> outputs;
  /// True in the last step of an accumulation; null without accumulation.
  Value applies;
};

} // namespace

BlockArgument OptimizerBuilder::addState(const Twine &name, TypedAttr initial) {
  return editor.addInput(b.getNames().getValueName(name), initial);
}

/// Adds states for each parameter, one for each of `slots`, which are the
/// suffixes of their names.
SmallVector<Value> OptimizerBuilder::addZeros(ArrayRef<StringRef> slots) {
  SmallVector<std::pair<StringRef, TypedAttr>> states;
  for (auto [parameter, gradient] : gradients)
    for (StringRef slot : slots)
      states.emplace_back(
          b.getNames().getValueName(onnxir::getValueName(parameter) + "." +
                                    slot),
          cast<TypedAttr>(b.getBuilder().getZeroAttr(parameter.getType())));
  if (states.empty())
    return {};
  return llvm::to_vector_of<Value>(editor.addInputs(states));
}

void OptimizerBuilder::addUpdate(Value state, Value next, bool always) {
  auto update = UpdateOp::create(b.getBuilder(), state.getLoc(), state, next,
                                 always ? Value() : applies, always);
  b.rename(update.getResult(), onnxir::getValueName(state) + "_new");
  outputs.push_back(update.getResult());
}

/// Averages gradients over several steps; the sums restart after an update,
/// whatever they contain.
void OptimizerBuilder::accumulate() {
  b.setBase("accumulate");
  Builder &types = b.getBuilder();
  auto countType = RankedTensorType::get({}, types.getI64Type());
  Value count =
      addState(accumulatedSteps, DenseElementsAttr::get(countType, int64_t(0)));
  Value next = b.add(count, b.intScalar(1));
  applies = b.create("Equal", {next, b.intScalar(settings.accumulate)});
  addUpdate(count, b.where(applies, b.intScalar(0), next), /*always=*/true);
  SmallVector<Value> states = addZeros({accumulatedSum});
  for (auto [entry, sums] : llvm::zip(gradients, states)) {
    Value &gradient = entry.second;
    Value sum = b.add(sums, gradient);
    addUpdate(sums, b.where(applies, b.scalarLike(0, sum), sum),
              /*always=*/true);
    gradient = b.div(sum, b.scalarLike(double(settings.accumulate), sum));
  }
}

LogicalResult OptimizerBuilder::checkGroups() {
  llvm::BitVector used(settings.groups.size());
  std::vector<StringRef> names;
  for (auto [parameter, gradient] : gradients) {
    names.push_back(onnxir::getValueName(parameter));
    settings.forParameter(names.back(), used);
  }
  int unused = used.find_first_unset();
  if (unused < 0)
    return success();
  const ParameterGroup &group = settings.groups[unused];
  return graph.emitError() << "group '" << group.text << "': its pattern "
                           << "matches no parameter that is trained"
                           << suggestNearest(group.pattern, names);
}

void OptimizerBuilder::clipValue() {
  b.setBase("clip_value");
  for (auto &[parameter, gradient] : gradients)
    gradient =
        b.create("Clip", {gradient, b.scalarLike(-settings.clipValue, gradient),
                          b.scalarLike(settings.clipValue, gradient)});
}

void OptimizerBuilder::clipNorm() {
  b.setBase("clip_norm");
  Type f32 = b.getBuilder().getF32Type();
  SmallVector<Value> squares;
  for (auto [parameter, gradient] : gradients)
    squares.push_back(b.castTo(
        b.reduceSum(b.mul(gradient, gradient), {}, /*keepDims=*/false), f32));
  Value sum = squares.size() == 1 ? squares.front() : b.create("Sum", squares);
  Value norm = b.create("Sqrt", {sum});
  // As in torch, a norm of zero must not be a divisor.
  Value factor =
      b.div(b.scalar(settings.clipNorm, f32), b.addScalar(norm, 1e-6));
  factor = b.create("Min", {factor, b.scalar(1, f32)});
  for (auto &[parameter, gradient] : gradients)
    gradient = b.mul(gradient, b.castLike(factor, gradient));
}

/// Keeps the rows whose gradient is zero: all that were not looked up.
void OptimizerBuilder::keepRows(ParameterStep &step, Value &next,
                                ArrayRef<Value> states) {
  int64_t rank = *NodeBuilder::getRank(step.gradient);
  auto axes = llvm::to_vector(llvm::seq<int64_t>(1, rank));
  Value size = b.create("Abs", {step.gradient});
  if (!axes.empty())
    size = b.reduceSum(size, axes, /*keepDims=*/true);
  // NaN is not zero.
  Value isZero = b.create("Equal", {size, b.scalarLike(0, size)});
  next = b.where(isZero, step.weight, next);
  for (auto [slot, state] : llvm::zip(step.slots, states))
    slot = b.where(isZero, state, slot);
}

void OptimizerBuilder::update(Value parameter, Value gradient,
                              ArrayRef<Value> states) {
  std::string name = onnxir::getValueName(parameter).str();
  StepScalars &shared = scalars[getTensorElementType(parameter.getType())];
  if (!shared.step) {
    b.setBase("optimizer");
    shared.learningRate = b.castLike(learningRate, parameter);
    shared.step = step;
  }
  b.setBase(name + "_update");
  llvm::BitVector used;
  OptimizerSettings own = settings.forParameter(name, used);
  ParameterStep p{b,        own,    parameter,
                  gradient, shared, SmallVector<Value, 2>(states)};
  Value next = settings.rule->update(p);
  if (settings.rule->isLazy && tables.contains(parameter))
    keepRows(p, next, states);
  nextValues.push_back(next);
  addUpdate(parameter, next);
  for (auto [state, value] : llvm::zip(states, p.slots))
    addUpdate(state, value);
}

/// The first update copies: the average starts at the trained parameters.
void OptimizerBuilder::average() {
  SmallVector<Value> states = addZeros({"ema"});
  b.setBase("average");
  Value isFirst = b.create("Equal", {step, b.intScalar(1)});
  double share = 1 - *settings.averageDecay;
  for (auto [state, next] : llvm::zip(states, nextValues)) {
    b.setBase(onnxir::getValueName(state) + "_update");
    Value moved = b.add(state, b.scale(b.sub(next, state), share));
    addUpdate(state, b.where(isFirst, next, moved));
  }
}

LogicalResult OptimizerBuilder::run() {
  Builder &types = b.getBuilder();
  for (auto gradient : editor.getBlock().getOps<GradientOp>()) {
    gradients.emplace_back(gradient.getParameter(), gradient.getResult());
    Operation *source = gradient.getGradient().getDefiningOp();
    bool isTable = source && isMicrosoftOp(source, "GatherGrad") &&
                   getInt(source, "axis", 0) == 0 &&
                   NodeBuilder::getRank(gradient.getParameter());
    if (isTable)
      tables.insert(gradient.getParameter());
  }
  if (failed(checkGroups()))
    return failure();
  b.setInsertionPointToEnd(&editor.getBlock());
  if (settings.accumulate > 1)
    accumulate();
  if (settings.clipValue > 0)
    clipValue();
  if (settings.clipNorm > 0)
    clipNorm();
  b.setBase("optimizer");
  learningRate = addState(
      "learning_rate",
      DenseElementsAttr::get(RankedTensorType::get({}, types.getF32Type()),
                             float(settings.learningRate)));
  Value count = addState(
      "step", DenseElementsAttr::get(
                  RankedTensorType::get({}, types.getI64Type()), int64_t(0)));
  step = b.add(count, b.intScalar(1));
  addUpdate(count, step);
  SmallVector<Value> states = addZeros(settings.rule->slots);
  size_t slots = settings.rule->slots.size();
  for (auto [index, entry] : llvm::enumerate(gradients))
    update(entry.first, entry.second,
           ArrayRef(states).slice(index * slots, slots));
  if (settings.averageDecay)
    average();
  editor.addOutputs(outputs);
  return success();
}

LogicalResult addOptimizer(GraphOp graph, NodeBuilder &builder,
                           const OptimizerSettings &settings) {
  return OptimizerBuilder(graph, builder, settings).run();
}

} // namespace mp
