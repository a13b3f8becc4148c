//===- LossScaleSettings.cpp - Settings of loss scaling -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/Nearest.h"
#include "mp-opt/Training/LossScaling.h"

#include <cmath>

using namespace mlir;

namespace mp {

/// True for normal numbers of fp32.
static bool isScale(double number) {
  return number >= 0x1p-126 && number <= 0x1.fffffep127;
}

llvm::Error LossScale::parse(StringRef text) {
  auto error = [&](const Twine &message) {
    return llvm::createStringError("loss scale '" + text + "': " + message);
  };
  auto [kind, rest] = text.split(':');
  if (kind == "none" && rest.empty())
    return llvm::Error::success();
  if (kind != "dynamic") {
    if (kind != text || kind.getAsDouble(initial))
      return error("expected none, dynamic or a number");
    if (!isScale(initial))
      return error("expected a positive number that fp32 holds");
    mode = Static;
    return llvm::Error::success();
  }
  mode = Dynamic;
  double interval = growthInterval, tolerance = hysteresis;
  std::pair<StringRef, double *> known[] = {{"init", &initial},
                                            {"growth-factor", &growthFactor},
                                            {"backoff-factor", &backoffFactor},
                                            {"growth-interval", &interval},
                                            {"hysteresis", &tolerance},
                                            {"floor", &floor},
                                            {"cap", &cap}};
  SmallVector<StringRef> parts;
  rest.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    StringRef key = part.split('=').first, value = part.split('=').second;
    auto *entry =
        llvm::find_if(known, [&](const auto &one) { return one.first == key; });
    if (entry == std::end(known))
      return error("there is no setting '" + key + "'" +
                   suggestNearest(key, llvm::make_first_range(known)));
    if (value.getAsDouble(*entry->second))
      return error("'" + value + "' is not a number");
  }
  auto isCount = [](double number) {
    return number >= 1 && number <= 0x1p30 && number == std::floor(number);
  };
  if (!isCount(interval) || !isCount(tolerance))
    return error("growth-interval and hysteresis are counts from 1 on");
  growthInterval = int64_t(interval);
  hysteresis = int64_t(tolerance);
  if (!(growthFactor >= 1) || !std::isfinite(growthFactor))
    return error("expected a growth-factor of at least 1");
  if (!(backoffFactor > 0 && backoffFactor <= 1))
    return error("expected a backoff-factor above 0 and at most 1");
  if (!isScale(floor) || !isScale(cap) || floor > cap)
    return error("expected a floor and a cap above it, both positive numbers "
                 "that fp32 holds");
  if (!(initial >= floor && initial <= cap))
    return error("expected init between floor and cap");
  return llvm::Error::success();
}

} // namespace mp
