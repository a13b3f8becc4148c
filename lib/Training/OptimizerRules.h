//===- OptimizerRules.h - Update rules of optimizers ------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TRAINING_OPTIMIZERRULES_H
#define MPOPT_LIB_TRAINING_OPTIMIZERRULES_H

#include "BiasCorrection.h"

#include "mp-opt/Training/Optimizers.h"

#include <map>

namespace mp {

/// Values of one step that all parameters of a type share.
struct StepScalars {
  /// The learning rate, and the number of this step (int64).
  mlir::Value learningRate, step;
  /// Values computed from them, by kind and numbers.
  std::map<std::tuple<llvm::StringRef, double, double>, mlir::Value> made;
};

/// One parameter in one step.
struct ParameterStep {
  NodeBuilder &b;
  /// The settings for this parameter.
  const OptimizerSettings &settings;
  mlir::Value weight, gradient;
  /// Scalars in the parameter's type.
  StepScalars &scalars;
  /// The states of the parameter, which are replaced by their new values.
  llvm::SmallVector<mlir::Value, 2> slots;

  double number(llvm::StringRef name) const {
    return settings.numbers.lookup(name);
  }

  /// A value that all parameters of the type share.
  mlir::Value share(llvm::StringRef name, double number,
                    llvm::function_ref<mlir::Value()> make, double other = 1) {
    mlir::Value &known = scalars.made[{name, number, other}];
    if (!known) {
      std::string base = b.getBase().str();
      b.setBase("optimizer");
      known = make();
      b.setBase(base);
    }
    return known;
  }

  /// The gradient with the decay added to it.
  mlir::Value decayed() {
    double decay = settings.weightDecay;
    return decay ? b.add(gradient, b.scale(weight, decay)) : gradient;
  }
  /// The learning rate of the parameter.
  mlir::Value rate() {
    double factor = settings.rateFactor;
    return factor == 1 ? scalars.learningRate : share("rate", factor, [&] {
      return b.scale(scalars.learningRate, factor);
    });
  }
  /// weight - rate * direction
  mlir::Value moveAlong(mlir::Value direction) {
    return b.sub(weight, b.mul(rate(), direction));
  }
  /// rate * old + (1 - rate) * next
  mlir::Value mean(mlir::Value old, mlir::Value next, double rate) {
    return b.add(b.scale(old, rate), b.scale(next, 1 - rate));
  }
  /// 1 - rate^step
  mlir::Value correction(double rate) {
    return share("correction", rate, [&] {
      return getBiasCorrection(b, scalars.step, rate,
                               onnxir::getTensorElementType(weight.getType()));
    });
  }
  /// Means of the gradient and its square, and the direction they give.
  mlir::Value adaptiveDirection(mlir::Value from);
};

struct OptimizerRule {
  llvm::StringLiteral name;
  /// The suffixes of its states' names, after the parameter's name.
  llvm::SmallVector<llvm::StringRef, 2> slots;
  std::vector<std::pair<llvm::StringRef, double>> numbers;
  /// The parameter's new value.
  mlir::Value (*update)(ParameterStep &);
  /// Rows of a look-up table whose gradient is zero keep their values and
  /// states.
  bool isLazy = false;
};

llvm::ArrayRef<OptimizerRule> getOptimizerRules();

} // namespace mp

#endif // MPOPT_LIB_TRAINING_OPTIMIZERRULES_H
