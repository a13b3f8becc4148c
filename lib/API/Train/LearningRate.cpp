//===- LearningRate.cpp - The learning rate from step to step -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/LearningRate.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;

namespace mp {

ArrayRef<StringRef> getRateScheduleNames() {
  // Ordered as RateSchedule.
  static constexpr StringRef names[] = {"constant", "linear", "cosine", "step"};
  return names;
}

std::optional<RateSchedule> parseRateSchedule(StringRef name) {
  ArrayRef<StringRef> names = getRateScheduleNames();
  size_t place = llvm::find(names, name) - names.begin();
  if (place == names.size())
    return std::nullopt;
  return RateSchedule(place);
}

double LearningRate::at(uint64_t step, uint64_t total) const {
  double greatest = base.value_or(0);
  if (step < warmup)
    return greatest * double(step + 1) / double(warmup);
  if (schedule == RateSchedule::Step)
    return greatest * std::pow(gamma, double((step - warmup) / interval));
  if (!needsTotal())
    return greatest;
  double length = std::max<double>(1, double(total) - double(warmup));
  double done = std::min(1.0, double(step - warmup) / length);
  constexpr double pi = 3.14159265358979323846;
  double left = schedule == RateSchedule::Linear
                    ? 1 - done
                    : (1 + std::cos(pi * done)) / 2;
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
  settings["lr-schedule"] = getRateScheduleNames()[size_t(schedule)].str();
  settings["warmup"] = std::to_string(warmup);
  if (schedule == RateSchedule::Step) {
    settings["lr-step"] = std::to_string(interval);
    settings["lr-gamma"] = print(gamma);
  }
  if (needsTotal()) {
    settings["lr-min"] = print(least);
    settings["steps"] = std::to_string(total);
  }
}

} // namespace mp
