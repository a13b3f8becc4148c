//===- LearningRate.cpp - The learning rate from step to step -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LearningRate.h"

#include "mp-opt/Support/Nearest.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;

namespace mp {

void LearningRate::addTo(Flags &flags) {
  flags.add("lr", baseText, "a number");
  flags.add("lr-schedule", schedule, "constant, linear, cosine or step");
  flags.add("lr-min", least, 0.0);
  flags.add("lr-gamma", gamma, 0.0);
  flags.add("lr-step", interval, 1);
  flags.add("warmup", warmup);
}

std::optional<int> LearningRate::check(const Flags &flags) {
  static constexpr StringRef known[] = {"constant", "linear", "cosine", "step"};
  if (!llvm::is_contained(known, schedule))
    return flags.usageError("--lr-schedule: expected constant, linear, cosine "
                            "or step, got '" +
                            schedule + "'" + suggestNearest(schedule, known));
  if (schedule == "step" && !interval)
    return flags.usageError("--lr-schedule=step needs --lr-step=N");
  double value;
  if (baseText.empty())
    return std::nullopt;
  if (StringRef(baseText).getAsDouble(value) || !(value >= 0) ||
      std::isinf(value))
    return flags.usageError("--lr: expected a number of at least 0, got '" +
                            baseText + "'");
  base = value;
  return std::nullopt;
}

double LearningRate::at(uint64_t step, uint64_t total) const {
  double greatest = base.value_or(0);
  if (step < warmup)
    return greatest * double(step + 1) / double(warmup);
  if (schedule == "step")
    return greatest * std::pow(gamma, double((step - warmup) / interval));
  if (!needsTotal())
    return greatest;
  double length = std::max<double>(1, double(total) - double(warmup));
  double done = std::min(1.0, double(step - warmup) / length);
  constexpr double pi = 3.14159265358979323846;
  double left = schedule == "linear" ? 1 - done : (1 + std::cos(pi * done)) / 2;
  return least + (greatest - least) * left;
}

static std::string print(double number) {
  std::string text;
  raw_string_ostream os(text);
  os << format("%.17g", number);
  return text;
}

void LearningRate::describe(uint64_t total, DataAttributes &settings) const {
  settings["lr"] = print(base.value_or(0));
  settings["lr-schedule"] = schedule;
  settings["warmup"] = std::to_string(warmup);
  if (schedule == "step") {
    settings["lr-step"] = std::to_string(interval);
    settings["lr-gamma"] = print(gamma);
  }
  if (needsTotal()) {
    settings["lr-min"] = print(least);
    settings["steps"] = std::to_string(total);
  }
}

} // namespace mp
