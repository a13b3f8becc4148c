//===- ErrorReports.cpp - Errors of conversions in the C API --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Objects.h"

#include "mp-opt/API/Run/PrecisionTuning.h"

using namespace llvm;

namespace mp {

/// The number of nodes in the text; JSON has all.
static constexpr size_t numShownNodes = 10;

static Error attributeErrors(Model &model, ErrorOptions &options,
                             mp_opt_report &made) {
  Attributor attributor(options.getRequest(model.getName()));
  attributor.addTo(options.conversion);
  if (Error failed = model.convert(options.conversion, nullptr, options.dims))
    return failed;
  const AttributionReport &report = attributor.getReport();
  raw_string_ostream text(made.summary), json(made.json);
  report.print(text, numShownNodes);
  report.printJSON(json);
  return Error::success();
}

static Error tuneErrors(Model &model, ErrorOptions &options,
                        mp_opt_report &made) {
  auto report = options.tune(model);
  if (!report)
    return report.takeError();
  raw_string_ostream text(made.summary), json(made.json);
  report->print(text);
  report->printJSON(json);
  made.policy = std::move(report->policy);
  return Error::success();
}

using ErrorCall = Error (*)(Model &model, ErrorOptions &options,
                            mp_opt_report &made);

static mp_opt_status callOnErrors(mp_opt_model *model,
                                  const mp_opt_options *options,
                                  mp_opt_report **report, StringRef command,
                                  ErrorCall call) {
  if (report)
    *report = nullptr;
  if (!model || !report)
    return failUsage(command + ": no model, or no place for the report");
  return use(model, options, [&](Model &inner) {
    auto request = makeCall(options, command);
    if (!request)
      return fail(request.takeError(), model->sink.get());
    auto made = std::make_unique<mp_opt_report>();
    std::string name = inner.getName();
    Error failed = call(inner, (*request)->errors, *made);
    model->model.reset();
    if (failed)
      return fail(std::move(failed), model->sink.get(), name);
    *report = made.release();
    return succeed();
  });
}

} // namespace mp

mp_opt_status mp_opt_attribute(mp_opt_model *model,
                               const mp_opt_options *options,
                               mp_opt_report **report) {
  return mp::guard([&] {
    return mp::callOnErrors(model, options, report, "attribute",
                            mp::attributeErrors);
  });
}

mp_opt_status mp_opt_tune(mp_opt_model *model, const mp_opt_options *options,
                          mp_opt_report **report) {
  return mp::guard([&] {
    return mp::callOnErrors(model, options, report, "tune", mp::tuneErrors);
  });
}
