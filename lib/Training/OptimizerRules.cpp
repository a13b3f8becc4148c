//===- OptimizerRules.cpp - Update rules of optimizers --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptimizerRules.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

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
    // The same except for eps, which is added before the correction.
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
    Value rate = p.share(
        "decay", decay, [&] { return p.b.scale(p.rate(), decay); },
        p.settings.rateFactor);
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
  // The branch that is not chosen must not divide by zero.
  Value divisor = b.where(hasBoth, norm, one);
  Value trust = b.where(hasBoth, b.div(weightNorm, divisor), one);
  return p.moveAlong(b.mul(trust, direction));
}

ArrayRef<OptimizerRule> getOptimizerRules() {
  static const OptimizerRule rules[] = {
      {"sgd", {}, {}, updateSGD},
      {"momentum", {"velocity"}, {{"momentum", 0.9}}, updateMomentum},
      {"nesterov", {"velocity"}, {{"momentum", 0.9}}, updateNesterov},
      {"adam",
       {"exp_avg", "exp_avg_sq"},
       {{"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}},
       updateAdam},
      {"lazy-adam",
       {"exp_avg", "exp_avg_sq"},
       {{"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}},
       updateAdam,
       /*isLazy=*/true},
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

} // namespace mp
