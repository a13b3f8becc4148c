//===- ErrorMarks.cpp - Attributed errors of nodes and models -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Dialect/MP/ErrorMarks.h"

#include "mp-opt/Dialect/MP/AttributeNames.h"

#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Stands for an error that was not measured.
static constexpr double notMeasured = -1;

std::optional<NodeErrorMark> NodeErrorMark::read(Operation *node) {
  auto held = node->getAttrOfType<DenseF64ArrayAttr>(mark::nodeError);
  if (!held || held.size() != 3)
    return std::nullopt;
  NodeErrorMark error{held[0], held[1]};
  if (held[2] >= 0)
    error.measured = held[2];
  return error;
}

void NodeErrorMark::write(Operation *node) const {
  double known = std::isfinite(share) ? share : 0;
  node->setAttr(mark::nodeError,
                DenseF64ArrayAttr::get(
                    node->getContext(),
                    {predicted, known, measured.value_or(notMeasured)}));
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

// Keys of the dictionary.
static constexpr StringLiteral ofKey = "of", predictedKey = "predicted",
                               measuredKey = "measured", targetKey = "target",
                               batchesKey = "batches", doubtsKey = "doubts";
static constexpr StringLiteral gradientsName = "gradients",
                               outputsName = "outputs";

std::optional<ErrorTotals> ErrorTotals::read(ModuleOp module) {
  auto held = module->getAttrOfType<DictionaryAttr>(mark::errorTotals);
  if (!held)
    return std::nullopt;
  ErrorTotals totals;
  auto getNumber = [&](StringRef key) -> std::optional<double> {
    auto number = held.getAs<FloatAttr>(key);
    return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
  };
  auto of = held.getAs<StringAttr>(ofKey);
  totals.areGradients = of && of.getValue() == gradientsName;
  totals.predicted = getNumber(predictedKey).value_or(0);
  totals.measured = getNumber(measuredKey).value_or(0);
  totals.target = getNumber(targetKey);
  if (auto batches = held.getAs<IntegerAttr>(batchesKey))
    totals.batches = batches.getValue().getZExtValue();
  if (auto doubts = held.getAs<ArrayAttr>(doubtsKey))
    for (auto doubt : doubts.getAsRange<StringAttr>())
      totals.doubts.push_back(doubt.str());
  return totals;
}

void ErrorTotals::write(ModuleOp module) const {
  Builder b(module.getContext());
  std::vector<StringRef> texts(doubts.begin(), doubts.end());
  SmallVector<NamedAttribute> entries = {
      b.getNamedAttr(
          ofKey, b.getStringAttr(areGradients ? gradientsName : outputsName)),
      b.getNamedAttr(predictedKey, b.getF64FloatAttr(predicted)),
      b.getNamedAttr(measuredKey, b.getF64FloatAttr(measured)),
      b.getNamedAttr(batchesKey, b.getI64IntegerAttr(int64_t(batches))),
      b.getNamedAttr(doubtsKey, b.getStrArrayAttr(texts))};
  if (target)
    entries.push_back(b.getNamedAttr(targetKey, b.getF64FloatAttr(*target)));
  module->setAttr(mark::errorTotals, b.getDictionaryAttr(entries));
}

} // namespace mp
