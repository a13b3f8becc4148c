//===- Optimizers.cpp - Optimizers that a training step may have ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Training/Optimizers.h"

#include "mp-opt/Dialect/MP/MP.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

/// Values of one step that all parameters of a type share.
struct StepScalars {
  /// The learning rate, and the number of the step that this one is.
  Value learningRate, step;
  /// What has been made of them, by what it is and a number.
  std::map<std::pair<StringRef, double>, Value> made;
};

/// One parameter in one step.
struct ParameterStep {
  NodeBuilder &b;
  const OptimizerSettings &settings;
  Value weight, gradient;
  /// In the parameter's type.
  StepScalars &scalars;
  /// The states of the parameter, which become new ones.
  SmallVector<Value, 2> slots;

  double number(StringRef name) const { return settings.numbers.lookup(name); }

  /// One value for all parameters of the type.
  Value share(StringRef name, double number, llvm::function_ref<Value()> make) {
    Value &known = scalars.made[{name, number}];
    if (!known) {
      std::string base = b.getBase().str();
      b.setBase("optimizer");
      known = make();
      b.setBase(base);
    }
    return known;
  }

  /// The gradient with the decay added to it.
  Value decayed() {
    double decay = settings.weightDecay;
    return decay ? b.add(gradient, b.scale(weight, decay)) : gradient;
  }
  /// weight - learningRate * direction
  Value moveAlong(Value direction) {
    return b.sub(weight, b.mul(scalars.learningRate, direction));
  }
  /// rate * old + (1 - rate) * next
  Value mean(Value old, Value next, double rate) {
    return b.add(b.scale(old, rate), b.scale(next, 1 - rate));
  }
  /// 1 - rate^step
  Value correction(double rate) {
    return share("correction", rate, [&] {
      Value step = scalars.step;
      Value power = b.create("Pow", {b.scalarLike(rate, step), step});
      return b.sub(b.scalarLike(1, step), power);
    });
  }
  /// Means of the gradient and its square, and the direction they give.
  Value adaptiveDirection(Value from);
};

} // namespace

struct OptimizerRule {
  StringLiteral name;
  /// What its states are called, behind the parameter's name.
  SmallVector<StringRef, 2> slots;
  std::vector<std::pair<StringRef, double>> numbers;
  /// The parameter's new value.
  Value (*update)(ParameterStep &);
};

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static Value updateSGD(ParameterStep &p) { return p.moveAlong(p.decayed()); }

static Value updateMomentum(ParameterStep &p) {
  Value &velocity = p.slots[0];
  velocity = p.b.add(p.b.scale(velocity, p.number("momentum")), p.decayed());
  return p.moveAlong(velocity);
}

static Value updateNesterov(ParameterStep &p) {
  Value &velocity = p.slots[0];
  Value gradient = p.decayed();
  velocity = p.b.add(p.b.scale(velocity, p.number("momentum")), gradient);
  return p.moveAlong(
      p.b.add(gradient, p.b.scale(velocity, p.number("momentum"))));
}

Value ParameterStep::adaptiveDirection(Value from) {
  double beta1 = number("beta1"), beta2 = number("beta2");
  slots[0] = mean(slots[0], from, beta1);
  slots[1] = mean(slots[1], b.mul(from, from), beta2);
  Value first = b.div(slots[0], correction(beta1));
  if (number("mode") == 1) {
    // The same but for eps, which is added before the correction.
    Value root = share("root", beta2,
                       [&] { return b.create("Sqrt", {correction(beta2)}); });
    Value second = b.addScalar(b.create("Sqrt", {slots[1]}), number("eps"));
    return b.div(b.mul(first, root), second);
  }
  Value second = b.create("Sqrt", {b.div(slots[1], correction(beta2))});
  return b.div(first, b.addScalar(second, number("eps")));
}

static Value updateAdam(ParameterStep &p) {
  return p.moveAlong(p.adaptiveDirection(p.decayed()));
}

static Value updateAdamW(ParameterStep &p) {
  Value direction = p.adaptiveDirection(p.gradient);
  double decay = p.settings.weightDecay;
  auto shrink = [&](Value weight) {
    Value rate = p.share("decay", decay, [&] {
      return p.b.scale(p.scalars.learningRate, decay);
    });
    return p.b.sub(weight, p.b.mul(rate, weight));
  };
  bool decaysLast = p.number("mode") == 1;
  if (decay && !decaysLast)
    p.weight = shrink(p.weight);
  Value next = p.moveAlong(direction);
  return decay && decaysLast ? shrink(next) : next;
}

static Value updateAdagrad(ParameterStep &p) {
  Value gradient = p.decayed();
  Value &sum = p.slots[0];
  sum = p.b.add(sum, p.b.mul(gradient, gradient));
  Value root = p.b.create("Sqrt", {sum});
  return p.moveAlong(p.b.div(gradient, p.b.addScalar(root, p.number("eps"))));
}

static Value getNorm(NodeBuilder &b, Value value) {
  return b.create("Sqrt", {b.reduceSum(b.mul(value, value), {}, false)});
}

static Value updateLAMB(ParameterStep &p) {
  NodeBuilder &b = p.b;
  Value direction = p.adaptiveDirection(p.gradient);
  if (p.settings.weightDecay)
    direction = b.add(direction, b.scale(p.weight, p.settings.weightDecay));
  Value weightNorm = getNorm(b, p.weight), norm = getNorm(b, direction);
  Value zero = b.scalarLike(0, norm), one = b.scalarLike(1, norm);
  Value hasBoth = b.create("And", {b.create("Greater", {weightNorm, zero}),
                                   b.create("Greater", {norm, zero})});
  // What is not taken must not divide by zero.
  Value divisor = b.where(hasBoth, norm, one);
  Value trust = b.where(hasBoth, b.div(weightNorm, divisor), one);
  return p.moveAlong(b.mul(trust, direction));
}

static ArrayRef<OptimizerRule> getRules() {
  static const OptimizerRule rules[] = {
      {"sgd", {}, {}, updateSGD},
      {"momentum", {"velocity"}, {{"momentum", 0.9}}, updateMomentum},
      {"nesterov", {"velocity"}, {{"momentum", 0.9}}, updateNesterov},
      {"adam",
       {"exp_avg", "exp_avg_sq"},
       {{"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}},
       updateAdam},
      {"adamw",
       {"exp_avg", "exp_avg_sq"},
       {{"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}, {"mode", 0}},
       updateAdamW},
      {"adagrad", {"sum"}, {{"eps", 1e-10}}, updateAdagrad},
      {"lamb",
       {"exp_avg", "exp_avg_sq"},
       {{"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-6}},
       updateLAMB},
  };
  return rules;
}

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

std::string getOptimizerNames() {
  return llvm::join(
      llvm::map_range(getRules(),
                      [](const OptimizerRule &rule) { return rule.name; }),
      ", ");
}

/// Decays are shares of one; what is added to a divisor is positive.
static bool isInRange(StringRef name, double number) {
  if (name == "mode")
    return number == 0 || number == 1;
  return name == "eps" ? number > 0 && std::isfinite(number)
                       : number >= 0 && number < 1;
}

llvm::Error OptimizerSettings::parse(StringRef text) {
  auto error = [&](const Twine &message) {
    return llvm::createStringError("optimizer '" + text + "': " + message);
  };
  StringRef name = text.split(':').first, rest = text.split(':').second;
  const auto *found =
      llvm::find_if(getRules(), [&](const OptimizerRule &known) {
        return known.name == name;
      });
  if (found == getRules().end())
    return error(
        "expected " + getOptimizerNames() +
        suggestNearest(name, llvm::map_range(getRules(), [](const auto &known) {
                         return StringRef(known.name);
                       })));
  rule = found;
  for (auto [key, value] : rule->numbers)
    numbers[key] = value;
  SmallVector<StringRef> parts;
  rest.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    auto [key, value] = part.split('=');
    auto it = numbers.find(key);
    if (it == numbers.end())
      return error("it has no number '" + key + "'" +
                   suggestNearest(key, numbers.keys()));
    if (value.getAsDouble(it->second) || !isInRange(key, it->second))
      return error("'" + value + "' is no value for '" + key + "'");
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {

class OptimizerBuilder {
public:
  OptimizerBuilder(GraphOp graph, NodeBuilder &builder,
                   const OptimizerSettings &settings)
      : editor(graph), b(builder), settings(settings) {}

  void run();

private:
  BlockArgument addState(const Twine &name, TypedAttr initial);
  SmallVector<Value> addZeros(ArrayRef<StringRef> slots);
  void addUpdate(Value state, Value next, bool always = false);
  void accumulate();
  void clip();
  void update(Value parameter, Value gradient, ArrayRef<Value> states);

  GraphEditor editor;
  NodeBuilder &b;
  const OptimizerSettings &settings;
  SmallVector<std::pair<Value, Value>> gradients;
  Value learningRate, step;
  llvm::DenseMap<Type, StepScalars> scalars;
  SmallVector<Value> outputs;
  /// True in the last of the steps that are accumulated; null without.
  Value applies;
};

} // namespace

BlockArgument OptimizerBuilder::addState(const Twine &name, TypedAttr initial) {
  return editor.addInput(b.getNames().getValueName(name), initial);
}

/// For each parameter as many states, each called after one of `slots`.
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
  auto update =
      training::UpdateOp::create(b.getBuilder(), state.getLoc(), state, next,
                                 always ? Value() : applies, always);
  b.rename(update.getResult(), onnxir::getValueName(state) + "_new");
  outputs.push_back(update.getResult());
}

/// Gradients become means over so many steps; the sums start again after an
/// update, whatever they hold.
void OptimizerBuilder::accumulate() {
  b.setBase("accumulate");
  Builder &types = b.getBuilder();
  auto countType = RankedTensorType::get({}, types.getI64Type());
  Value count = addState("accumulated_steps",
                         DenseElementsAttr::get(countType, int64_t(0)));
  Value next = b.add(count, b.intScalar(1));
  applies = b.create("Equal", {next, b.intScalar(settings.accumulate)});
  addUpdate(count, b.where(applies, b.intScalar(0), next), /*always=*/true);
  SmallVector<Value> states = addZeros({"accumulated"});
  for (auto [entry, sums] : llvm::zip(gradients, states)) {
    Value &gradient = entry.second;
    Value sum = b.add(sums, gradient);
    addUpdate(sums, b.where(applies, b.scalarLike(0, sum), sum),
              /*always=*/true);
    gradient = b.div(sum, b.scalarLike(double(settings.accumulate), sum));
  }
}

void OptimizerBuilder::clip() {
  b.setBase("clip_norm");
  Type f32 = b.getBuilder().getF32Type();
  SmallVector<Value> squares;
  for (auto [parameter, gradient] : gradients)
    squares.push_back(b.castTo(
        b.reduceSum(b.mul(gradient, gradient), {}, /*keepDims=*/false), f32));
  Value sum = squares.size() == 1 ? squares.front() : b.create("Sum", squares);
  Value norm = b.create("Sqrt", {sum});
  // As torch has it: a norm of zero divides nothing.
  Value factor =
      b.div(b.scalar(settings.clipNorm, f32), b.addScalar(norm, 1e-6));
  factor = b.create("Min", {factor, b.scalar(1, f32)});
  for (auto &[parameter, gradient] : gradients)
    gradient = b.mul(gradient, b.castLike(factor, gradient));
}

void OptimizerBuilder::update(Value parameter, Value gradient,
                              ArrayRef<Value> states) {
  std::string name = onnxir::getValueName(parameter).str();
  StepScalars &shared = scalars[getTensorElementType(parameter.getType())];
  if (!shared.step) {
    b.setBase("optimizer");
    shared.learningRate = b.castLike(learningRate, parameter);
    shared.step = b.castLike(step, parameter);
  }
  b.setBase(name + "_update");
  ParameterStep p{b,        settings, parameter,
                  gradient, shared,   SmallVector<Value, 2>(states)};
  Value next = settings.rule->update(p);
  addUpdate(parameter, next);
  for (auto [state, value] : llvm::zip(states, p.slots))
    addUpdate(state, value);
}

void OptimizerBuilder::run() {
  Builder &types = b.getBuilder();
  for (auto gradient : editor.getBlock().getOps<training::GradientOp>())
    gradients.emplace_back(gradient.getParameter(), gradient.getResult());
  b.setInsertionPointToEnd(&editor.getBlock());
  if (settings.accumulate > 1)
    accumulate();
  if (settings.clipNorm > 0)
    clip();
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
  editor.addOutputs(outputs);
}

void addOptimizer(GraphOp graph, NodeBuilder &builder,
                  const OptimizerSettings &settings) {
  OptimizerBuilder(graph, builder, settings).run();
}

} // namespace mp
