//===- RunHealth.cpp - Judges the losses and states of a run --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunHealth.h"

#include "mp-opt/API/Model/TensorText.h"

#include <cmath>

using namespace llvm;

namespace mp {

/// Dynamic loss scaling skips steps until it has found its scale. After this
/// many skipped steps in a row with a non-finite loss it never will.
static constexpr unsigned tooManySkipped = 64;
/// This many give a warning.
static constexpr unsigned manySkipped = 10;

//===----------------------------------------------------------------------===//
// Divergence
//===----------------------------------------------------------------------===//

void RunHealth::countSkipped(std::optional<double> before) {
  // The update of an open window has not happened yet.
  if (program.isWindowOpen())
    return;
  bool wasSkipped = before && last.skipped && *last.skipped > *before;
  skippedInRow = wasSkipped ? skippedInRow + 1 : 0;
  if (skippedInRow == manySkipped && options.onWarning)
    options.onWarning("the last " + Twine(manySkipped) + " steps, up to step " +
                      Twine(last.step) +
                      ", were all skipped: their gradients are "
                      "not finite, and no parameter changes");
}

void RunHealth::warnOfVoid() {
  if (hasWarnedOfVoid || !options.onWarning)
    return;
  hasWarnedOfVoid = true;
  options.onWarning(
      "the loss of step " + Twine(last.step) +
      " is not a number, but all states are, as where no label of "
      "a batch counts: such losses are left out of the means");
}

/// A mean over labels none of which counts is NaN and has no gradient. If sums
/// of an open window are not finite, the last step of the window will skip the
/// update.
Error RunHealth::judgeLoss() {
  bool isOpen = program.isWindowOpen(), isNumber = std::isfinite(last.loss);
  hasInfiniteLoss = (wasWindowOpen && hasInfiniteLoss) || !isNumber;
  wasWindowOpen = isOpen;
  isVoid = isPending = false;
  if (isNumber) {
    voidInRow = 0;
    return Error::success();
  }
  if (skippedInRow && !isOpen)
    return Error::success();
  if (Error failed = shards.gather())
    return failed;
  Expected<std::string> infinite = states.findInfinite();
  if (!infinite)
    return infinite.takeError();
  if (infinite->empty() && isOpen) {
    Expected<bool> hasFiniteSums = program.hasFiniteSums();
    if (!hasFiniteSums)
      return hasFiniteSums.takeError();
    isPending = !*hasFiniteSums;
    if (isPending)
      return Error::success();
  }
  isVoid = infinite->empty() && ++voidInRow <= tooManySkipped;
  if (isVoid)
    warnOfVoid();
  return Error::success();
}

Error RunHealth::judge(std::optional<double> skippedBefore) {
  countSkipped(skippedBefore);
  return judgeLoss();
}

bool RunHealth::hasUsableLoss() const {
  return std::isfinite(last.loss) || isVoid;
}

/// Skipped updates are judged at the end of their windows, as with ranks.
bool RunHealth::hasDiverged() const {
  bool isNumber = std::isfinite(last.loss);
  if (isVoid || isPending)
    return false;
  if (!skippedInRow || program.isWindowOpen())
    return !isNumber;
  return skippedInRow > tooManySkipped
             ? hasInfiniteLoss
             : session.getCount() == session.getTotal() && !isNumber;
}

/// The loss of a step is computed from the states before it.
Expected<bool> RunHealth::hasFiniteStates() {
  Expected<std::string> infinite = states.findInfinite();
  if (!infinite)
    return infinite.takeError();
  if (!infinite->empty())
    infiniteState = std::move(*infinite);
  return infiniteState.empty();
}

std::string RunHealth::describeDivergence(StringRef origin) const {
  std::string step = std::to_string(last.step);
  std::string text =
      infiniteState.empty()
          ? "the loss of step " + step + " is " +
                (std::isnan(last.loss) ? "NaN" : "infinite")
          : "state '" + infiniteState + "' is not finite after step " + step;
  return origin.empty() ? text : text + "; " + origin.str();
}

//===----------------------------------------------------------------------===//
// Runs that change nothing
//===----------------------------------------------------------------------===//

void RunHealth::noteStart() {
  firstStep = session.getCount();
  skippedAtStart = program.getScalar(skippedName).value_or(0);
  hashesAtStart = {states.hashFloats(false), states.hashFloats(true)};
}

/// Unchanged parameters are expected if the learning rate is zero.
Expected<TrainingEnd> RunHealth::checkChanges() {
  Expected<bool> hasFiniteSums = program.hasFiniteSums();
  if (!hasFiniteSums)
    return hasFiniteSums.takeError();
  bool isOpen = program.isWindowOpen();
  // After an overflow, sums stay non-finite until the end of their window.
  if (isOpen && !*hasFiniteSums)
    return TrainingEnd::Finished;
  uint64_t made = session.getCount() - firstStep;
  double skipped = last.skipped.value_or(0) - skippedAtStart;
  bool hasSums = isOpen || skipped == 0;
  // Each rank has a part of the states that ranks share.
  bool isHeld = !shards.isEmpty() ||
                (program.hasRate() && session.getSchedule().base == 0.0);
  std::optional<uint64_t> hash = states.hashFloats(hasSums);
  bool isSame = hash && hash == hashesAtStart[hasSums];
  if (made == 0 || (skipped != double(made) && (isHeld || !isSame)))
    return TrainingEnd::Finished;
  return TrainingEnd::Unchanged;
}

std::string RunHealth::describeUnchanged() const {
  uint64_t made = session.getCount() - firstStep;
  std::string text = "no step of this run changed a parameter: ";
  if (last.skipped.value_or(0) == skippedAtStart) {
    text += "gradients are zero, or updates vanish in rounding";
    if (last.rate)
      text += " at the learning rate " + formatShort(*last.rate) +
              "; --lr=X sets another";
    return text;
  }
  text += "all " + std::to_string(made) +
          " were skipped, since their gradients are not finite; ";
  if (last.scale && *last.scale <= 1)
    return text + "the loss scale has fallen to " + formatShort(*last.scale) +
           ", and no smaller one helps: bf16 holds what fp16 does not";
  if (last.scale)
    return text + "the loss scale has fallen to " + formatShort(*last.scale) +
           ", and more steps (--steps) let it fall further";
  return text + "the step has a constant loss scale: a smaller one, or mp-opt "
                "--train --loss-scale=dynamic, makes a step that learns";
}

} // namespace mp
