//===- DataHazards.cpp - Nodes that do not fit into 16 bit ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients are not judged, since the loss scaler chooses their magnitude: they
// have no marks.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Data/DataHazards.h"

#include "mp-opt/Precision/Assignment/TrainingPhases.h"
#include "mp-opt/Precision/Data/ObservedValues.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// The share of the energy that may be lost: the square of half a unit roundoff
/// of fp16, of the order of the loss by rounding to normal numbers.
static constexpr double maxLostShare = 0x1p-22;

static bool trains(ModuleOp module) {
  return llvm::any_of(module.getOps<GraphOp>(), [](GraphOp graph) {
    return TrainingPhases::compute(graph).trains();
  });
}

DataHazards::DataHazards(ModuleOp module, ElementKind low, double given)
    : marks(module), limits(low), low(low),
      headRoom(given > 0 || marks.isEmpty() ? given
               : trains(module)             ? trainingHeadRoom
                                            : inferenceHeadRoom) {}

static std::string formatShort(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3g", number);
  return text;
}

std::string DataHazards::explainValue(const KnownRange &range,
                                      const std::string &what) const {
  std::string name = limits.name.str();
  if (!std::isfinite(range.max))
    return what + " has elements in the data that are not finite";
  if (range.max * headRoom > limits.max)
    return what + " reaches " + formatShort(range.max) +
           " in the data; with head-room " + formatShort(headRoom) +
           " it does not fit " + name;
  if (low == ElementKind::Float16 && range.lostShare > maxLostShare)
    return what + " would lose " + formatShort(100 * range.lostShare) +
           " % of its energy in the data to numbers below " +
           formatShort(limits.minNormal) + ", where " + name +
           " flushes or loses digits";
  return "";
}

std::string DataHazards::explainResult(OpResult result) const {
  std::optional<KnownRange> range = marks.lookup(result);
  if (!range)
    return "";
  std::string what = result.getOwner()->getNumResults() == 1
                         ? "its result"
                         : "its result '" + getValueName(result).str() + "'";
  std::string reason = explainValue(*range, what);
  if (reason.empty() && range->smallest && *range->smallest < limits.minNormal)
    reason = what + ", which divides, goes down to " +
             formatShort(*range->smallest) + " in the data; " +
             limits.name.str() + " is exact from " +
             formatShort(limits.minNormal) + " on";
  if (reason.empty() && range->partial &&
      *range->partial * headRoom > limits.max)
    reason = "partial sums of it can reach " + formatShort(*range->partial) +
             " in the data; with head-room " + formatShort(headRoom) +
             " they do not fit " + limits.name.str();
  return reason;
}

std::string DataHazards::explainOperand(OpOperand &use) const {
  Operation *source = use.get().getDefiningOp();
  std::optional<KnownRange> range =
      source && isConstant(source) ? std::nullopt : marks.lookup(use.get());
  if (!range)
    return "";
  std::string what = "its operand '" + getValueName(use.get()).str() + "'";
  std::string reason = explainValue(*range, what);
  if (reason.empty() && range->smallest &&
      *range->smallest < limits.minNormal && dividesBy(use))
    reason = "its divisor '" + getValueName(use.get()).str() +
             "' goes down to " + formatShort(*range->smallest) +
             " in the data; " + limits.name.str() + " is exact from " +
             formatShort(limits.minNormal) + " on";
  return reason;
}

std::string DataHazards::explain(Operation *node) const {
  for (OpResult result : node->getResults())
    if (std::string reason = explainResult(result); !reason.empty())
      return reason;
  for (OpOperand &use : node->getOpOperands())
    if (std::string reason = explainOperand(use); !reason.empty())
      return reason;
  return "";
}

bool DataHazards::isProved(Operation *node) const {
  auto isKnown = [&](Value value) {
    Operation *source = value.getDefiningOp();
    Type element = getTensorElementType(value.getType());
    return !element || !isa<FloatType>(element) ||
           (source && isConstant(source)) || marks.lookup(value);
  };
  return node->getNumRegions() == 0 &&
         llvm::all_of(node->getOperands(), isKnown) &&
         llvm::all_of(node->getResults(), isKnown) && explain(node).empty();
}

std::string DataHazards::describeProof(Operation *node) const {
  double max = 0;
  for (Value result : node->getResults())
    if (std::optional<KnownRange> range = marks.lookup(result))
      max = std::max(max, range->max);
  return "its result reaches only " + formatShort(max) + " in the data";
}

} // namespace mp
