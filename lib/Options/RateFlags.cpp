//===- RateFlags.cpp - The learning rate of a run -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Options/RateFlags.h"

#include "mp-opt/API/Model/Error.h"

#include <cmath>

using namespace llvm;

namespace mp {

RateFlags::RateFlags(FlagTable &flags, LearningRate &rate) : to(rate) {
  flags.beginGroup("Learning rate");
  flags.add("lr", base, "peak learning rate", "X").foreignNames = {
      "learning-rate"};
  flags
      .addChoice("lr-schedule", schedule, "how the rate falls",
                 getRateScheduleNames())
      .foreignNames = {"lr-scheduler", "lr-scheduler-type", "scheduler"};
  flags.add("lr-min", to.least, "final rate of linear and cosine", 0.0);
  flags.add("lr-gamma", to.gamma, "factor of schedule 'step'", 0.0);
  flags.add("lr-step", to.interval, "steps between its multiplications", 1);
  flags
      .add("warmup", to.warmup, "number of first steps in which the rate rises")
      .foreignNames = {"warmup-steps"};
}

Error RateFlags::check() {
  auto refuse = [](const Twine &text) {
    return makeError({ErrorKind::Usage, text.str()});
  };
  if (!schedule.empty())
    to.schedule = *parseRateSchedule(schedule);
  if (to.schedule == RateSchedule::Step && !to.interval)
    return refuse("--lr-schedule=step needs --lr-step=N");
  double value = 0;
  if (!base.empty() && (StringRef(base).getAsDouble(value) || !(value >= 0) ||
                        std::isinf(value)))
    return refuse("--lr: expected a number of at least 0, got '" + base + "'");
  if (!base.empty())
    to.base = value;
  return Error::success();
}

} // namespace mp
