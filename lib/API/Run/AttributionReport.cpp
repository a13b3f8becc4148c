//===- AttributionReport.cpp - The errors of a model by its nodes ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/AttributionReport.h"

#include "mp-opt/API/Model/TensorText.h"
#include "mp-opt/API/Run/ReferenceComparison.h"
#include "mp-opt/Dialect/MP/Attributes.h"
#include "mp-opt/Dialect/MP/ErrorMarks.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Operators/OperatorTraits.h"
#include "mp-opt/Training/LossScaling.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// Targets below this may be less than the error of fp32 itself.
static constexpr double smallTarget = 1e-4;

llvm::Expected<OwnError> measureOwnError(ModuleOp module, const DataSet &batch,
                                         const AttributionOptions &options,
                                         double target) {
  if (target >= smallTarget ||
      !findTraining(getMainGraph(module)).gradients.empty())
    return OwnError();
  auto load = [&] { return Model::copy(module, options.name); };
  ReferenceComparisonOptions comparing;
  comparing.compile = options.compile;
  comparing.relative = target;
  comparing.nodes = 0;
  ReferenceComparison comparison(comparing, {"the input", load}, batch);
  comparison.add({"the input", load, /*isReference=*/true});
  if (llvm::Error failed = comparison.run())
    return std::move(failed);
  OwnError own;
  for (const OutputDifference &output :
       comparison.getModels().front().differences)
    if (double error = output.numbers.getError(); error > own.error)
      own = {error, output.name};
  return own;
}

llvm::Error refuseTarget(double target, const OwnError &own) {
  return llvm::createStringError(
      "the target error of " + formatPercent(target) +
      " cannot be met: in fp32, output '" + own.output + "' is off by " +
      formatPercent(own.error) + " from float64");
}

llvm::Error Attributor::search(ModuleOp module,
                               const MixedPrecisionRequest &mixed) {
  ErrorSearch search(module, mixed, *errors);
  if (llvm::Error failed = search.start())
    return failed;
  auto result = search.find(*request.target);
  if (!result)
    return result.takeError();
  found = std::move(*result);
  return llvm::Error::success();
}

llvm::Error Attributor::prepare(ModuleOp module,
                                const MixedPrecisionRequest &mixed) {
  auto batches = request.readBatches(module);
  if (!batches)
    return batches.takeError();
  if (request.target) {
    auto own = measureOwnError(module, batches->front(), request.options,
                               *request.target);
    if (!own)
      return own.takeError();
    missed = own->error > *request.target;
    if (missed)
      return refuseTarget(*request.target, *own);
  }
  auto made =
      ErrorAttribution::create(module, getElementKind(getLowType(module)),
                               std::move(*batches), request.options);
  if (!made)
    return made.takeError();
  errors = std::move(*made);
  return request.target ? search(module, mixed) : llvm::Error::success();
}

void Attributor::addTo(ConversionOptions &conversion) {
  // Programs must not outlive a conversion that fails.
  auto check = [this](llvm::Error failed) {
    if (failed)
      release();
    return failed;
  };
  conversion.beforeAssign = [this, check, &conversion](ModuleOp module) {
    return check(prepare(module, *conversion.mixed));
  };
  conversion.afterAssign = [this, check](ModuleOp module) {
    return check(evaluate(module));
  };
}

/// Prints the result as a note.
void Attributor::announce(ModuleOp module) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "error of the " << (report.areGradients ? "gradients" : "outputs")
     << ": predicted " << formatPercent(report.predicted) << ", measured "
     << formatPercent(report.measured);
  if (found) {
    os << ", target " << formatPercent(found->target) << " (" << found->runs
       << (found->runs == 1 ? " run)" : " runs)");
    if (active.empty())
      os << "; everything stays fp32, as nothing else is within it and saves "
            "bytes";
  }
  for (const std::string &doubt : report.doubts)
    os << "; not reliable: " << doubt;
  emitRemark(module.getLoc(), text);
}

/// A prediction is not reliable if the measured error is further from it than
/// by this factor.
static constexpr double maxMisfit = 2;
/// Halving all residuals halves an error of first order; residuals of a quarter
/// leave more than this where masks or choices change.
static constexpr double minCurvature = 3;

llvm::Error Attributor::checkFirstOrder() {
  auto quarter = errors->measure(active, 0.25f);
  if (!quarter)
    return quarter.takeError();
  report.curvature = *quarter > 0 ? report.measured / *quarter : 0;
  if (!std::isfinite(report.measured)) {
    report.doubts.push_back("a result is not finite in " + report.precision);
    return llvm::Error::success();
  }
  double low = std::min(report.predicted, report.measured),
         high = std::max(report.predicted, report.measured);
  if (high <= maxMisfit * low)
    return llvm::Error::success();
  std::string text = "the measured error is " +
                     formatPercent(report.measured / report.predicted) +
                     " of the predicted one";
  if (report.curvature < minCurvature)
    text += "; a quarter of each rounding leaves " +
            formatPercent(1 / report.curvature) +
            " of the error: masks or choices change";
  report.doubts.push_back(std::move(text));
  return llvm::Error::success();
}

llvm::Error Attributor::addNodes() {
  llvm::MapVector<Operation *, std::vector<unsigned>> byNode;
  for (unsigned spot : active)
    byNode[errors->getSpots()[spot].node].push_back(spot);
  std::vector<std::vector<unsigned>> groups;
  for (auto &[node, spots] : byNode) {
    NodeEffect effect{node, describe(node), getNodeName(node).str(),
                      getOpType(node).str()};
    if (effect.name.empty())
      effect.name = getValueName(node->getResult(0)).str();
    if (report.predicted > 0)
      effect.share = errors->getContribution(spots) /
                     (report.predicted * report.predicted);
    // A node alone also rounds operands that are 16 bit here.
    spots.clear();
    for (auto [number, spot] : llvm::enumerate(errors->getSpots()))
      if (spot.node == node)
        spots.push_back(unsigned(number));
    effect.predicted = errors->predict(spots);
    report.nodes.push_back(std::move(effect));
    groups.push_back(spots);
  }
  std::vector<size_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return report.nodes[a].share > report.nodes[b].share;
  });
  std::vector<NodeEffect> sorted;
  for (auto [rank, index] : llvm::enumerate(order)) {
    NodeEffect &effect = report.nodes[index];
    if (rank < request.measured) {
      auto error = errors->measure(groups[index]);
      if (!error)
        return error.takeError();
      effect.measured = *error;
    }
    sorted.push_back(std::move(effect));
  }
  report.nodes = std::move(sorted);
  return llvm::Error::success();
}

/// True if no 16-bit node reads the value, also behind moves of its elements.
static bool isReadInF32(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    bool moves = getOperatorTraits(user).movesData() && isLowNode(user);
    return moves ? llvm::all_of(user->getResults(), isReadInF32)
                 : !isLowNode(user);
  });
}

void Attributor::addExcess() {
  std::vector<unsigned> dropped;
  for (unsigned number : active) {
    const RoundingSpot &spot = errors->getSpots()[number];
    if (!spot.isOperand && getOperatorTraits(spot.node).contracts() &&
        isReadInF32(spot.getValue()))
      dropped.push_back(number);
  }
  report.excess = errors->predictFirstOrder(dropped);
  report.excessRoundings = unsigned(dropped.size());
}

llvm::Error Attributor::evaluate(ModuleOp module) {
  report.precision = getPrecisionName(getLowType(module)).str();
  report.areGradients = errors->areGradients();
  report.batches = errors->getNumBatches();
  for (Operation &op : getMainGraph(module).getBody().getOps())
    report.nodesTotal += isNode(&op) && !isStandardOp(&op, "Constant");
  active = errors->findActive();
  if (!found)
    if (llvm::Error failed = errors->attribute(active))
      return failed;
  report.kinks = errors->getKinks();
  report.predicted = errors->predict(active);
  report.firstOrder = errors->predictFirstOrder(active);
  report.spread = errors->getSpread();
  auto error = errors->measure(active);
  if (!error)
    return error.takeError();
  report.measured = *error;
  if (llvm::Error failed = checkFirstOrder())
    return failed;
  if (llvm::Error failed = addNodes())
    return failed;
  addExcess();
  if (request.measuresTime)
    if (llvm::Error failed = errors->measureTime())
      return failed;
  report.figures = errors->getFigures();
  release();
  if (!request.announces)
    return llvm::Error::success();
  announce(module);
  report.mark(module, request.target);
  return llvm::Error::success();
}

void AttributionReport::mark(ModuleOp module,
                             std::optional<double> target) const {
  for (const NodeEffect &effect : nodes)
    NodeErrorMark{effect.predicted, effect.share, effect.measured}.write(
        effect.op);
  ErrorTotals totals;
  totals.areGradients = areGradients;
  totals.predicted = predicted;
  totals.measured = measured;
  totals.batches = batches;
  totals.target = target;
  totals.doubts = doubts;
  totals.write(module);
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

void AttributionReport::print(raw_ostream &os, size_t limit) const {
  os << "error of the " << (areGradients ? "gradients" : "outputs") << " in "
     << precision << ": predicted " << formatPercent(predicted) << ", measured "
     << formatPercent(measured) << "\n";
  if (kinks.counts())
    os << llvm::format("%.0f", kinks.flips)
       << " masks or choices are expected to flip: their part is "
       << formatPercent(std::sqrt(kinks.error)) << "\n";
  else if (kinks.error > 0)
    os << llvm::format("%.1f", kinks.flips)
       << " masks or choices are expected to flip: too few to predict their "
          "part, about "
       << formatPercent(std::sqrt(kinks.error)) << "\n";
  if (excessRoundings)
    os << "--excess-precision drops roundings of products that only fp32 nodes "
          "read, "
       << excessRoundings << " here: they cause " << formatPercent(excess)
       << "\n";
  for (const std::string &doubt : doubts)
    os << "not reliable: " << doubt << "\n";
  os << "\n   share   sum   predicted    measured  node\n";
  double sum = 0;
  for (auto [rank, node] : llvm::enumerate(nodes)) {
    if (rank == limit) {
      os << "  " << nodes.size() - rank << " more nodes\n";
      break;
    }
    sum += node.share;
    os << llvm::format("%7.1f%% %4.0f%%  %10.2e", 100 * node.share, 100 * sum,
                       node.predicted);
    if (node.measured)
      os << llvm::format("  %10.2e", *node.measured);
    else
      os << "           -";
    os << "  " << node.node << "\n";
  }
}

void printNumber(llvm::json::OStream &json, StringRef name, double value) {
  if (std::isfinite(value))
    json.attribute(name, value);
  else
    json.attribute(name, nullptr);
}

void AttributionReport::printJSON(raw_ostream &os) const {
  llvm::json::OStream json(os, 2);
  json.object([&] {
    json.attribute("precision", precision);
    json.attribute("of", areGradients ? "gradients" : "outputs");
    json.attribute("batches", int64_t(batches));
    json.attribute("nodes_total", int64_t(nodesTotal));
    printNumber(json, "predicted", predicted);
    printNumber(json, "predicted_first_order", firstOrder);
    printNumber(json, "measured", measured);
    printNumber(json, "spread", spread);
    printNumber(json, "flips", kinks.flips);
    printNumber(json, "flip_error", std::sqrt(kinks.error));
    printNumber(json, "curvature", curvature);
    json.attribute("excess_roundings", int64_t(excessRoundings));
    printNumber(json, "excess", excess);
    json.attribute("reliable", doubts.empty());
    json.attributeArray("doubts", [&] {
      for (const std::string &doubt : doubts)
        json.value(doubt);
    });
    json.attributeArray("nodes", [&] {
      for (const NodeEffect &node : nodes)
        json.object([&] {
          json.attribute("node", node.name);
          json.attribute("op", node.type);
          printNumber(json, "predicted", node.predicted);
          if (node.measured)
            printNumber(json, "measured", *node.measured);
          printNumber(json, "share", node.share);
        });
    });
    json.attribute("runs", int64_t(figures.runs));
    json.attribute("probes", int64_t(figures.probes));
    json.attributeObject("seconds", [&] {
      json.attribute("compile", figures.compileSeconds);
      json.attribute("attribution", figures.probeSeconds);
      json.attribute("runs", figures.runSeconds);
      if (figures.plainSeconds > 0)
        json.attribute("plain_run", figures.plainSeconds);
    });
  });
  os << "\n";
}

} // namespace mp
