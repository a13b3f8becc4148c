//===- TrainerEnds.cpp - Ends of a training run ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/Trainer.h"

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/API/Model/TensorText.h"
#include "mp-opt/Data/Convert.h"
#include "mp-opt/Training/Optimizers.h"

#include "llvm/Support/xxhash.h"

#include <cmath>

using namespace llvm;

namespace mp {

/// Dynamic loss scaling skips steps until it has found its scale. After this
/// many skipped steps in a row with a non-finite loss it never will.
static constexpr unsigned tooManySkipped = 64;

//===----------------------------------------------------------------------===//
// Divergence
//===----------------------------------------------------------------------===//

/// A mean over labels none of which counts is NaN and has no gradient. If sums
/// of an open window are not finite, the last step of the window will skip the
/// update.
Error Trainer::judgeLoss() {
  bool isOpen = compiled->isWindowOpen(), isNumber = std::isfinite(last.loss);
  hasInfiniteLoss = (wasWindowOpen && hasInfiniteLoss) || !isNumber;
  wasWindowOpen = isOpen;
  isVoid = isPending = false;
  if (isNumber) {
    voidInRow = 0;
    return Error::success();
  }
  if (skippedInRow && !isOpen)
    return Error::success();
  if (Error failed = gatherShards())
    return failed;
  Expected<bool> areFinite = hasFiniteStates();
  if (!areFinite)
    return areFinite.takeError();
  infiniteState.clear();
  if (*areFinite && isOpen) {
    Expected<bool> hasFiniteSums = compiled->hasFiniteSums();
    if (!hasFiniteSums)
      return hasFiniteSums.takeError();
    isPending = !*hasFiniteSums;
    if (isPending)
      return Error::success();
  }
  isVoid = *areFinite && ++voidInRow <= tooManySkipped;
  if (!isVoid || hasWarnedOfVoid || !options.onWarning)
    return Error::success();
  hasWarnedOfVoid = true;
  options.onWarning(
      "the loss of step " + Twine(step) +
      " is not a number, but all states are, as where no label of "
      "a batch counts: such losses are left out of the means");
  return Error::success();
}

/// Skipped updates are judged at the end of their windows, as with ranks.
bool Trainer::hasDiverged() const {
  bool isNumber = std::isfinite(last.loss);
  if (isVoid || isPending)
    return false;
  if (!skippedInRow || compiled->isWindowOpen())
    return !isNumber;
  return skippedInRow > tooManySkipped ? hasInfiniteLoss
                                       : step == total && !isNumber;
}

/// The loss of a step is computed from the states before it.
Expected<bool> Trainer::hasFiniteStates() {
  writer.wait();
  Expected<const ProgramValue *> infinite = compiled->findInfinite();
  if (!infinite)
    return addContext("the states after step " + Twine(step),
                      infinite.takeError());
  if (*infinite)
    infiniteState = (*infinite)->name;
  for (const auto &[index, whole] : wholes)
    if (infiniteState.empty() && !isFinite(whole))
      infiniteState = compiled->getInputs()[index].name;
  return infiniteState.empty();
}

std::string Trainer::describeDivergence() const {
  std::string text = infiniteState.empty()
                         ? "the loss of step " + std::to_string(step) + " is " +
                               (std::isnan(last.loss) ? "NaN" : "infinite")
                         : "state '" + infiniteState +
                               "' is not finite after step " +
                               std::to_string(step);
  if (!origin.empty())
    text += "; " + origin;
  if (auto written = writer.getStep())
    text += "; the last checkpoint is that of step " + std::to_string(*written);
  return text;
}

//===----------------------------------------------------------------------===//
// The last step
//===----------------------------------------------------------------------===//

/// The end that the run has reached with its last step, if any. A checkpoint
/// does not replace a good one while the loss is not a finite number.
Expected<std::optional<TrainingEnd>> Trainer::endStep(bool isStopped) {
  if (hasDiverged())
    return TrainingEnd::Diverged;
  bool isLast = isStopped || step == total;
  bool isKept = isLast || (step % every == 0 && !options.checkpoints.empty() &&
                           (std::isfinite(last.loss) || isVoid || isPending));
  if (!isKept)
    return std::nullopt;
  Expected<bool> areFinite = hasFiniteStates();
  if (!areFinite)
    return areFinite.takeError();
  if (!*areFinite)
    return TrainingEnd::Diverged;
  if (Error failed = writeCheckpoint())
    return failed;
  if (!isLast)
    return std::nullopt;
  return step == total ? TrainingEnd::Finished : TrainingEnd::Stopped;
}

//===----------------------------------------------------------------------===//
// Runs that change nothing
//===----------------------------------------------------------------------===//

/// A hash of all float states except those of loss scaling and, if `hasSums` is
/// false, sums of accumulated gradients; absent if there are none.
std::optional<uint64_t> Trainer::hashFloats(bool hasSums) const {
  std::vector<uint64_t> hashes;
  for (unsigned index : compiled->getFiniteStates()) {
    StringRef name = compiled->getInputs()[index].name;
    const Tensor &state = compiled->getValues()[index];
    if (name.starts_with(scaleName) || (isAccumulatedSum(name) && !hasSums) ||
        isInteger(state.getKind()))
      continue;
    hashes.push_back(xxh3_64bits(ArrayRef<uint8_t>(
        static_cast<const uint8_t *>(state.getData()), state.getNumBytes())));
  }
  if (hashes.empty())
    return std::nullopt;
  return xxh3_64bits(
      ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(hashes.data()),
                        hashes.size() * sizeof(uint64_t)));
}

void Trainer::noteStart() {
  firstStep = step;
  skippedBefore = compiled->getScalar(skippedName).value_or(0);
  hashesBefore = {hashFloats(false), hashFloats(true)};
}

/// Called after the last step, when the states have been fetched. Unchanged
/// parameters are expected if the learning rate is zero.
Expected<TrainingEnd> Trainer::checkChanges() {
  Expected<bool> hasFiniteSums = compiled->hasFiniteSums();
  if (!hasFiniteSums)
    return hasFiniteSums.takeError();
  bool isOpen = compiled->isWindowOpen();
  // After an overflow, sums stay non-finite until the end of their window.
  if (isOpen && !*hasFiniteSums)
    return TrainingEnd::Finished;
  uint64_t made = step - firstStep;
  double skipped = last.skipped.value_or(0) - skippedBefore;
  bool hasSums = isOpen || skipped == 0;
  // Each rank has a part of the states that ranks share.
  bool isHeld =
      !shards.empty() || (compiled->hasRate() && options.rate.base == 0.0);
  std::optional<uint64_t> hash = hashFloats(hasSums);
  bool isSame = hash && hash == hashesBefore[hasSums];
  if (made == 0 || (skipped != double(made) && (isHeld || !isSame)))
    return TrainingEnd::Finished;
  return TrainingEnd::Unchanged;
}

std::string Trainer::describeUnchanged() const {
  uint64_t made = step - firstStep;
  std::string text = "no step of this run changed a parameter: ";
  if (last.skipped.value_or(0) == skippedBefore) {
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
