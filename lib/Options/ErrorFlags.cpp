//===- ErrorFlags.cpp - Flags to attribute and limit errors ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Options/ErrorFlags.h"

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Options/InputFlags.h"

using namespace llvm;

namespace mp {

BatchSource ErrorOptions::getBatches() const {
  return
      [this](mlir::ModuleOp module) { return readModelBatches(module, data); };
}

Attributor::Request ErrorOptions::getRequest(StringRef name) const {
  Attributor::Request request;
  request.readBatches = getBatches();
  request.options = attribution;
  request.options.name = name.str();
  request.measured = measured;
  request.measuresTime = measuresTime;
  return request;
}

Expected<TuningReport> ErrorOptions::tune(Model &model) const {
  TuningOptions search = tuning;
  search.attribution = attribution;
  return tunePrecision(model, conversion, dims, getBatches(),
                       std::move(search));
}

ErrorFlags::ErrorFlags(FlagTable &table, ErrorOptions &options,
                       ErrorCommand command)
    : table(table), options(options),
      precision(table, options.conversion.mixed.emplace(), options.dims,
                &options.calibration),
      training(table, options.conversion.training.emplace()) {
  table.beginGroup("Options");
  table.addCommas("data", options.data.data, "data to measure errors on",
                  "DATA");
  table.add("probes", probes, "random probes, at least one per batch", 1);
  table.add("metric", options.attribution.metric,
            "the output, a scalar, whose error counts", "OUTPUT");
  addDeviceFlag(table, "where the model runs", [&options](DeviceKind kind) {
    options.attribution.compile.device = kind;
  });
  table.add("schemas", options.schemas, "operators of further domains", "FILE");
  table.add("external-data-root", options.externalDataRoots,
            "folder that links of external data may lead to", "DIR");
  if (command == ErrorCommand::Attribute)
    addAttribution();
  else
    addTuning();
}

void ErrorFlags::addAttribution() {
  Flag &measure = table.addOptional(
      "measure", "how many nodes are measured alone", "N", [&](StringRef text) {
        options.measured = UINT64_MAX;
        return text.empty() || text == "all" ||
               !text.getAsInteger(10, options.measured);
      });
  measure.expected = "a number or all";
  measure.words = {"all"};
  table.add("cost", options.measuresTime, "measure the time of a plain run");
}

void ErrorFlags::addTuning() {
  table.add("target-error", target, "error to stay within", 0);
  table.add("no-curve", hidesCurve, "search only");
  table.add("baselines", options.tuning.hasBaselines,
            "search by bisection and by a list, too");
}

Error ErrorFlags::checkTarget() {
  options.tuning.hasCurve = !hidesCurve;
  if (!table.isGiven("target-error"))
    return hidesCurve || options.tuning.hasBaselines
               ? createStringError(
                     "--baselines and --no-curve need --target-error=X")
               : Error::success();
  if (!(target > 0 && target < 1))
    return createStringError("--target-error: expected a relative error "
                             "between 0 and 1, such as 1e-3");
  options.tuning.target = target;
  return Error::success();
}

Error ErrorFlags::check() {
  if (!precision.isMixed())
    return createStringError("expected --mixed-bf16, --mixed-fp16 or --policy");
  if (options.data.data.empty())
    options.data.data = options.calibration.data;
  if (options.data.data.empty())
    return createStringError("expected --data=DATA");
  MixedPrecisionRequest &mixed = *options.conversion.mixed;
  mixed.dims = options.dims;
  options.conversion.lossScale = training.lossScale;
  if (Error failed = precision.check(mixed, true))
    return failed;
  if (Error failed = precision.checkRanges(mixed, options.calibration))
    return failed;
  if (Error failed = training.check(true))
    return failed;
  options.calibration.dims = options.data.dims = options.dims;
  options.conversion.ranges = makeRangeObserver(options.calibration);
  if (!training.train)
    options.conversion.training.reset();
  options.attribution.probes = unsigned(probes);
  if (Error failed =
          parseDimensions(options.dims, options.attribution.compile.dims))
    return addContext("--dim", std::move(failed));
  if (Error failed = checkTarget())
    return failed;
  return checkRoots(options.externalDataRoots);
}

Error ErrorFlags::complete() {
  if (Error failed = check())
    return makeError({ErrorKind::Usage, toString(std::move(failed))});
  return Error::success();
}

} // namespace mp
