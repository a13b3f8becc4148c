//===- PrecisionTuning.cpp - Error against bytes --------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/PrecisionTuning.h"

#include "mp-opt/API/Model/TensorText.h"
#include "mp-opt/Dialect/MP/Attributes.h"
#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Precision/Policy/PolicyFile.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

namespace {

class Tuner {
public:
  Tuner(const MixedPrecisionRequest &request, BatchSource readBatches,
        const TuningOptions &options)
      : request(request), readBatches(std::move(readBatches)),
        options(options) {}

  llvm::Error run(ModuleOp module);

  TuningReport report;

private:
  llvm::Error addCurve(ErrorSearch &search);
  llvm::Error addBaselines(ErrorSearch &search);
  std::string makePolicy(ArrayRef<RoundingSpot> spots) const;

  const MixedPrecisionRequest &request;
  BatchSource readBatches;
  const TuningOptions &options;
};

} // namespace

/// Limits of the curve, as shares of the error of everything in 16 bit.
static constexpr double curveShares[] = {0.7, 0.5,  0.35, 0.25,
                                         0.1, 0.05, 0.03, 0.01};

llvm::Error Tuner::addCurve(ErrorSearch &search) {
  auto add = [&](double share, AssignedPrecision assigned) -> llvm::Error {
    if (llvm::Error failed = search.measure(assigned))
      return failed;
    report.curve.push_back({share, assigned.predicted, *assigned.measured,
                            assigned.bytes, assigned.low.size()});
    return llvm::Error::success();
  };
  if (llvm::Error failed = add(1, search.getAll()))
    return failed;
  for (double share : curveShares) {
    auto assigned = search.assign(share * search.getAll().predicted);
    if (!assigned)
      return assigned.takeError();
    if (assigned->bytes == report.curve.back().bytes)
      continue;
    if (llvm::Error failed = add(share, std::move(*assigned)))
      return failed;
  }
  return llvm::Error::success();
}

llvm::Error Tuner::addBaselines(ErrorSearch &search) {
  auto add = [&](StringRef name,
                 llvm::Expected<FoundPrecision> found) -> llvm::Error {
    if (!found)
      return found.takeError();
    report.baselines.push_back({name, found->runs, found->best.bytes,
                                found->best.measured.value_or(0),
                                found->seconds});
    return llvm::Error::success();
  };
  if (llvm::Error failed = add("bisection", search.bisect(*options.target)))
    return failed;
  return add("list", search.takeByList(*options.target));
}

/// Rules for all nodes that may be 16 bit, except those that lists allow and
/// that are: the conversion with the policy decides the same.
std::string Tuner::makePolicy(ArrayRef<RoundingSpot> spots) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "# " << report.precision << " within an error of "
     << llvm::format("%.2g", *options.target) << " of the "
     << (report.areGradients ? "gradients" : "outputs") << ", measured on "
     << report.batches << " batches: "
     << llvm::format("%.2g", report.found->best.measured.value_or(0)) << "\n"
     << "version: 1\nprecision: " << report.precision << "\n";
  bool isFirst = true;
  llvm::SetVector<Operation *> nodes;
  for (const RoundingSpot &spot : spots)
    nodes.insert(spot.node);
  for (Operation *node : nodes) {
    bool isLow = isLowNode(node);
    StringRef name = getNodeName(node);
    if (name.empty() || (isLow && hasClass(node, OpClass::Allow)))
      continue;
    if (std::exchange(isFirst, false))
      os << "nodes:\n";
    PrecisionAttr held = getPrecision(node);
    os << "  - class: " << (isLow ? "allow" : "deny")
       << "\n    name: " << quoteYAML(name) << "  # "
       << describeReason(held.getReason(), held.getValues()) << "\n";
  }
  return text;
}

llvm::Error Tuner::run(ModuleOp module) {
  Type low = getLowType(module);
  report.precision = getPrecisionName(low).str();
  for (Operation &op : getMainGraph(module).getBody().getOps())
    report.nodesTotal += isNode(&op) && !isStandardOp(&op, "Constant");
  auto batches = readBatches(module);
  if (!batches)
    return batches.takeError();
  report.batches = batches->size();
  if (options.target) {
    auto own = measureOwnError(module, batches->front(), options.attribution,
                               *options.target);
    if (!own)
      return own.takeError();
    if (own->error > *options.target)
      report.ownError = std::move(*own);
  }
  auto errors = ErrorAttribution::create(
      module, getElementKind(low), std::move(*batches), options.attribution);
  if (!errors)
    return errors.takeError();
  report.areGradients = (*errors)->areGradients();
  ErrorSearch search(module, request, **errors);
  if (llvm::Error failed = search.start())
    return failed;
  report.f32Bytes = search.getF32().bytes;
  if (options.hasCurve)
    if (llvm::Error failed = addCurve(search))
      return failed;
  if (options.target) {
    if (options.hasBaselines)
      if (llvm::Error failed = addBaselines(search))
        return failed;
    auto found = search.find(*options.target);
    if (!found)
      return found.takeError();
    report.lowNodes = found->best.low.size();
    report.found = std::move(*found);
    report.policy = makePolicy((*errors)->getSpots());
  }
  report.figures = (*errors)->getFigures();
  return llvm::Error::success();
}

llvm::Expected<TuningReport> tunePrecision(Model &model,
                                           ConversionOptions conversion,
                                           ArrayRef<std::string> dims,
                                           BatchSource readBatches,
                                           TuningOptions options) {
  options.attribution.name = model.getName();
  Tuner tuner(*conversion.mixed, std::move(readBatches), options);
  conversion.beforeAssign = [&](ModuleOp module) { return tuner.run(module); };
  if (llvm::Error failed = model.convert(conversion, nullptr, dims))
    return std::move(failed);
  return std::move(tuner.report);
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static double getPercent(int64_t bytes, int64_t of) {
  return of ? 100 * double(bytes) / double(of) : 0;
}

void TuningReport::print(raw_ostream &os) const {
  if (!curve.empty())
    os << "     error   predicted    bytes  nodes in " << precision << "\n";
  for (const Point &point : curve)
    os << llvm::format("%10.2e  %10.2e  %6.1f%%  %zu\n", point.measured,
                       point.predicted, getPercent(point.bytes, f32Bytes),
                       point.lowNodes);
  if (!found)
    return;
  os << "target " << llvm::format("%.3g", found->target) << ": "
     << (lowNodes ? "" : "everything is fp32, as nothing else is within it; ")
     << "error " << llvm::format("%.3g", found->best.measured.value_or(0))
     << ", " << llvm::format("%.1f %%", getPercent(found->best.bytes, f32Bytes))
     << " of fp32's bytes, " << lowNodes << " of " << nodesTotal << " nodes in "
     << precision << ", " << found->runs
     << (found->runs == 1 ? " run\n" : " runs\n");
  for (const Baseline &other : baselines)
    os << "  " << other.name << ": error " << llvm::format("%.3g", other.error)
       << ", " << llvm::format("%.1f %%", getPercent(other.bytes, f32Bytes))
       << " of fp32's bytes, " << other.runs << " runs\n";
}

void TuningReport::printJSON(raw_ostream &os) const {
  llvm::json::OStream json(os, 2);
  json.object([&] {
    json.attribute("precision", precision);
    json.attribute("of", areGradients ? "gradients" : "outputs");
    json.attribute("nodes_total", int64_t(nodesTotal));
    json.attribute("bytes_fp32", f32Bytes);
    json.attributeArray("curve", [&] {
      for (const Point &point : curve)
        json.object([&] {
          json.attribute("share", point.share);
          printNumber(json, "error", point.measured);
          printNumber(json, "predicted", point.predicted);
          json.attribute("bytes", point.bytes);
          json.attribute("nodes_16bit", int64_t(point.lowNodes));
        });
    });
    if (found) {
      json.attribute("target", found->target);
      json.attribute("met", ownError.error == 0);
      if (ownError.error > 0)
        json.attribute("error_of_fp32", ownError.error);
      json.attribute("error", found->best.measured.value_or(0));
      json.attribute("predicted", found->best.predicted);
      json.attribute("bytes", found->best.bytes);
      json.attribute("runs", int64_t(found->runs));
      json.attribute("nodes_16bit", int64_t(lowNodes));
    }
    json.attributeObject("baselines", [&] {
      for (const Baseline &other : baselines)
        json.attributeObject(other.name, [&] {
          json.attribute("runs", int64_t(other.runs));
          json.attribute("bytes", other.bytes);
          printNumber(json, "error", other.error);
          json.attribute("seconds", other.seconds);
        });
    });
    json.attributeObject("seconds", [&] {
      json.attribute("compile", figures.compileSeconds);
      json.attribute("attribution", figures.probeSeconds);
      json.attribute("runs", figures.runSeconds);
      if (found)
        json.attribute("search", found->seconds);
    });
  });
  os << "\n";
}

} // namespace mp
