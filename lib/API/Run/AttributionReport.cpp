//===- AttributionReport.cpp - The errors of a model by its nodes ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/AttributionReport.h"

#include "mp-opt/API/Model/TensorText.h"
#include "mp-opt/Dialect/MP/Attributes.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/Casts.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

class Attributor {
public:
  Attributor(std::vector<DataSet> batches, AttributionOptions options,
             uint64_t measured)
      : batches(std::move(batches)), options(std::move(options)),
        measured(measured) {}

  /// The two halves, before and after mp-assign.
  llvm::Error prepare(ModuleOp module);
  llvm::Error evaluate(ModuleOp module);

  AttributionReport report;

private:
  llvm::Error checkFirstOrder();
  llvm::Error addNodes();

  std::vector<DataSet> batches;
  AttributionOptions options;
  uint64_t measured;
  std::unique_ptr<ErrorAttribution> errors;
  std::vector<unsigned> active;
};

} // namespace

llvm::Error Attributor::prepare(ModuleOp module) {
  Type low = getLowType(module);
  auto made = ErrorAttribution::create(module, getElementKind(low),
                                       std::move(batches), options);
  if (!made)
    return made.takeError();
  errors = std::move(*made);
  return llvm::Error::success();
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
    NodeEffect effect{describe(node), getNodeName(node).str(),
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
    if (rank < measured) {
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

llvm::Error Attributor::evaluate(ModuleOp module) {
  report.precision = getPrecisionName(getLowType(module)).str();
  report.areGradients = errors->areGradients();
  report.batches = errors->getNumBatches();
  for (Operation &op : getMainGraph(module).getBody().getOps())
    report.nodesTotal += isNode(&op) && !isStandardOp(&op, "Constant");
  active = errors->findActive();
  if (llvm::Error failed = errors->attribute(active))
    return failed;
  report.kinks = errors->getKinks();
  report.predicted = errors->predict(active);
  report.spread = errors->getSpread();
  auto error = errors->measure(active);
  if (!error)
    return error.takeError();
  report.measured = *error;
  if (llvm::Error failed = checkFirstOrder())
    return failed;
  if (llvm::Error failed = addNodes())
    return failed;
  report.figures = errors->getFigures();
  return llvm::Error::success();
}

llvm::Expected<AttributionReport>
attributeErrors(Model &model, ConversionOptions conversion,
                ArrayRef<std::string> dims, std::vector<DataSet> batches,
                AttributionOptions options, uint64_t measured) {
  options.name = model.getName();
  Attributor attributor(std::move(batches), std::move(options), measured);
  conversion.beforeAssign = [&](ModuleOp module) {
    return attributor.prepare(module);
  };
  conversion.afterAssign = [&](ModuleOp module) {
    return attributor.evaluate(module);
  };
  if (llvm::Error failed = model.convert(conversion, nullptr, dims))
    return std::move(failed);
  return std::move(attributor.report);
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

void AttributionReport::print(raw_ostream &os, size_t limit) const {
  os << "error of the " << (areGradients ? "gradients" : "outputs") << " in "
     << precision << ": predicted " << formatPercent(predicted) << ", measured "
     << formatPercent(measured) << "\n";
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
    printNumber(json, "measured", measured);
    printNumber(json, "spread", spread);
    printNumber(json, "flips", kinks.flips);
    printNumber(json, "flip_error", std::sqrt(kinks.error));
    printNumber(json, "curvature", curvature);
    json.attribute("reliable", doubts.empty());
    json.attributeArray("doubts", [&] {
      for (const std::string &doubt : doubts)
        json.value(doubt);
    });
    json.attributeArray("nodes", [&] {
      for (const NodeEffect &node : nodes)
        json.object([&] {
          json.attribute("node", node.name);
          json.attribute("op", node.op);
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
    });
  });
  os << "\n";
}

} // namespace mp
