//===- Models.cpp - Models, converted and compared ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Module.h"

namespace mp::python {

namespace {
/// Reads and converts a model, and writes or returns its bytes.
struct Conversion : Work {
  std::string kinds;
  std::optional<std::string> output;
  bool wantsBytes = false;
  std::string bytes;
  ReportHandle report;

  mp_opt_status doRun() override {
    ModelHandle model;
    mp_opt_options *handle = options.handle.get();
    mp_opt_status status = source.read(handle, model);
    if (status != MP_OPT_STATUS_OK)
      return status;
    mp_opt_report *made = nullptr;
    status = mp_opt_convert(model.get(), handle, kinds.c_str(), &made);
    report.reset(made);
    if (status != MP_OPT_STATUS_OK)
      return status;
    if (output)
      return mp_opt_model_write(model.get(), output->c_str(), handle);
    if (!wantsBytes)
      return status;
    mp_opt_bytes *written = nullptr;
    status = mp_opt_model_bytes(model.get(), &written);
    if (status == MP_OPT_STATUS_OK)
      bytes = takeText(written);
    return status;
  }
};

} // namespace

static nb::tuple convert(nb::object model, std::string name, nb::list flags,
                         std::string kinds, std::optional<std::string> output,
                         bool wantsBytes) {
  auto work = std::make_shared<Conversion>();
  work->command = "convert";
  work->flags = readFlags(flags);
  work->source = readSource(model, std::move(name));
  work->kinds = std::move(kinds);
  work->output = std::move(output);
  work->wantsBytes = wantsBytes;
  runInterruptibly(work);
  nb::dict strings;
  for (const char *kind :
       {"summary", "json", "explain", "html", "overlay", "verify"})
    if (const char *text = mp_opt_report_text(work->report.get(), kind))
      strings[kind] = text;
  nb::object bytes = nb::none();
  if (wantsBytes && work->outcome.status == MP_OPT_STATUS_OK)
    bytes = nb::bytes(work->bytes.data(), work->bytes.size());
  return give(work->outcome, nb::make_tuple(bytes, strings));
}

namespace {
/// Attributes or limits the errors of a conversion.
struct ErrorWork : Work {
  ReportHandle report;

  mp_opt_status doRun() override {
    ModelHandle model;
    mp_opt_options *handle = options.handle.get();
    mp_opt_status status = source.read(handle, model);
    if (status != MP_OPT_STATUS_OK)
      return status;
    mp_opt_report *made = nullptr;
    status = command == "tune" ? mp_opt_tune(model.get(), handle, &made)
                               : mp_opt_attribute(model.get(), handle, &made);
    report.reset(made);
    return status;
  }
};
} // namespace

/// `command` is "attribute" or "tune".
static nb::tuple reportErrors(std::string command, nb::object model,
                              std::string name, nb::list flags) {
  auto work = std::make_shared<ErrorWork>();
  work->command = std::move(command);
  work->flags = readFlags(flags);
  work->source = readSource(model, std::move(name));
  runInterruptibly(work);
  nb::dict strings;
  for (const char *kind : {"summary", "json", "policy"})
    if (const char *text = mp_opt_report_text(work->report.get(), kind))
      strings[kind] = text;
  return give(work->outcome, strings);
}

namespace {
/// Compares two models.
struct Comparison : Work {
  Source other;
  bool isDiff = false, asJSON = false;
  std::string text;
  int differs = 0;

  mp_opt_status doRun() override {
    ModelHandle first, second;
    mp_opt_options *handle = options.handle.get();
    mp_opt_status status = source.read(handle, first);
    if (status == MP_OPT_STATUS_OK)
      status = other.read(handle, second);
    if (status != MP_OPT_STATUS_OK)
      return status;
    mp_opt_bytes *made = nullptr;
    status =
        isDiff ? mp_opt_diff(first.get(), second.get(), asJSON, &made, &differs)
               : mp_opt_verify(first.get(), second.get(), handle, &made);
    text = takeText(made);
    return status;
  }
};
} // namespace

static nb::tuple compareModels(nb::object model, std::string name,
                               nb::object other, std::string otherName,
                               nb::list flags, bool isDiff, bool asJSON) {
  auto work = std::make_shared<Comparison>();
  work->command = "convert";
  work->flags = readFlags(flags);
  work->source = readSource(model, std::move(name));
  work->other = readSource(other, std::move(otherName));
  work->isDiff = isDiff;
  work->asJSON = asJSON;
  runInterruptibly(work);
  return give(work->outcome, nb::make_tuple(work->text, work->differs != 0));
}

static nb::tuple policy(nb::list flags) {
  Options options;
  std::string text;
  mp_opt_status status = options.make("convert", readFlags(flags));
  if (status == MP_OPT_STATUS_OK) {
    mp_opt_bytes *made = nullptr;
    status = mp_opt_policy_text(options.handle.get(), &made);
    text = takeText(made);
  }
  return give(conclude(status, options.listener->take()), nb::cast(text));
}

static nb::tuple describeOptions(std::string command) {
  Options options;
  const char *json = "";
  mp_opt_status status = options.make(command, {});
  if (status == MP_OPT_STATUS_OK)
    status = mp_opt_options_describe(options.handle.get(), &json);
  return give(conclude(status), nb::cast(std::string(json)));
}

void addModels(nb::module_ &module) {
  module.def("convert", &convert);
  module.def("report_errors", &reportErrors);
  module.def("compare_models", &compareModels);
  module.def("policy", &policy);
  module.def("describe_options", &describeOptions);
}

} // namespace mp::python
