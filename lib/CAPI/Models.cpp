//===- Models.cpp - Models in the C API -----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Objects.h"

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/Report/ModelDiff.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace mp {

static ModelOptions getModelOptions(const Request &request,
                                    std::shared_ptr<MessageSink> sink) {
  MessageFn report = [sink = std::move(sink)](StringRef name,
                                              mlir::DiagnosticSeverity severity,
                                              const Twine &text) {
    sink->report(name, severity, text.str());
  };
  if (!request.convertFlags && !request.errorFlags)
    return request.model.getModelOptions(std::move(report));
  ModelOptions options;
  options.externalDataRoots = request.convertFlags
                                  ? request.convert.externalDataRoots
                                  : request.errors.externalDataRoots;
  options.check = request.convert.check;
  options.onMessage = std::move(report);
  return options;
}

using ReadFn = function_ref<Expected<std::unique_ptr<Model>>(
    const mlir::DialectRegistry &registry, ModelOptions options)>;

static mp_opt_status read(const mp_opt_options *options, StringRef name,
                          mp_opt_model **model, ReadFn read) {
  auto made = std::make_unique<mp_opt_model>();
  made->sink->begin(options);
  auto request = makeRequest(options, "convert");
  if (!request)
    return fail(request.takeError(), made->sink.get());
  auto registry = makeRegistry(**request);
  if (!registry)
    return fail(registry.takeError(), made->sink.get());
  auto found = read(*registry, getModelOptions(**request, made->sink));
  if (!found)
    return fail(found.takeError(), made->sink.get(), name);
  made->model = std::move(*found);
  made->before.emplace(made->model->getModule());
  *model = made.release();
  return succeed();
}

static mp_opt_status parse(StringRef function, const void *content, size_t size,
                           const char *name, const mp_opt_options *options,
                           mp_opt_model **model, bool isBorrowed) {
  if (!model)
    return failUsage(function + ": no place for the model");
  *model = nullptr;
  if (!content && size)
    return failUsage(function + ": no content");
  StringRef text(static_cast<const char *>(content), size);
  StringRef called = name ? name : "<model>";
  return read(
      options, called, model, [&](const auto &registry, auto modelOptions) {
        modelOptions.borrowsContent = isBorrowed;
        return Model::parse(text, called, registry, std::move(modelOptions));
      });
}

/// Runs a function on two models. They are locked in one order, whatever the
/// order of arguments.
template <typename Function>
static mp_opt_status useBoth(mp_opt_model *first, mp_opt_model *second,
                             const mp_opt_options *options, Function function) {
  std::scoped_lock lock(first->mutex, second->mutex);
  if (!first->model || !second->model)
    return failUsage("one of the models is used up: it has been compiled, or "
                     "its conversion has failed");
  first->sink->begin(options);
  second->sink->begin(options);
  return function(*first->model, *second->model);
}

static bool isUnchanged(const mp_opt_model &model) {
  return model.model->getInput().getFormat() == Format::ONNX && model.before &&
         *model.before == ModuleDigest(model.model->getModule());
}

static mp_opt_bytes *makeBytes(std::string text) {
  return new mp_opt_bytes{std::move(text)};
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static Error write(mp_opt_model &handle, StringRef path,
                   ConvertOptions options) {
  Model &model = *handle.model;
  options.input = model.getName();
  options.output = path.str();
  options.writesModel = true;
  options.isDryRun = options.verify = false;
  options.reports = {};
  Conversion conversion(options, model.getInput());
  if (Error failed = conversion.checkOutputName())
    return failed;
  if (Error failed = conversion.checkPaths())
    return failed;
  if (Error failed = conversion.start(model.getModule(), handle.before))
    return failed;
  conversion.finish(model.getModule());
  mlir::TimingScope timing;
  Error failed = conversion.write(model.getModule(), timing);
  if (isCode(conversion.getFormat()))
    handle.model.reset();
  return failed;
}

//===----------------------------------------------------------------------===//
// Converting
//===----------------------------------------------------------------------===//

static void chooseKinds(StringRef kinds, ReportOptions &reports) {
  for (StringRef kind : split(kinds, ',')) {
    reports.keepsReport |= kind == "html";
    reports.keepsOverlay |= kind == "overlay";
    if (kind == "json")
      reports.summary = SummaryForm::JSON;
  }
}

static Error checkKinds(StringRef kinds) {
  for (StringRef kind : split(kinds, ','))
    if (!is_contained({"", "html", "overlay", "json"}, kind))
      return makeError({ErrorKind::Usage, ("unknown kind of report '" + kind +
                                           "', expected html, json or overlay")
                                              .str()});
  return Error::success();
}

/// Messages without a file are about the model called `name`.
static MessageFn listen(MessageSink &sink, const std::string &name) {
  return [&sink, name](StringRef file, mlir::DiagnosticSeverity severity,
                       const Twine &text) {
    sink.report(file.empty() ? StringRef(name) : file, severity, text.str());
  };
}

/// The status of a verdict.
static mp_opt_status conclude(const Verdict &verdict, MessageSink &sink) {
  if (verdict.isVerified)
    return succeed();
  (void)fail(makeError({ErrorKind::BadInput, verdict.text}), &sink);
  return MP_OPT_STATUS_OUTSIDE;
}

/// Runs the requested conversion and fills `report`.
static mp_opt_status convert(mp_opt_model &handle, Request &request,
                             mp_opt_report &report) {
  Model &model = *handle.model;
  ConvertOptions &options = request.convert;
  MessageSink &sink = *handle.sink;
  // Nothing is written but reports.
  options.input = model.getName();
  options.output.clear();
  options.writesModel = false;
  auto conversion = std::make_unique<Conversion>(
      options, model.getInput(),
      ConversionObserver{listen(sink, model.getName()), nullptr});
  auto give = [&](Error failed) {
    bool isMissed = conversion->isMissed();
    // Modules must be freed before their context.
    conversion.reset();
    handle.model.reset();
    mp_opt_status status = fail(std::move(failed), &sink);
    return isMissed ? MP_OPT_STATUS_OUTSIDE : status;
  };
  if (Error failed = conversion->start(model.getModule(), handle.before))
    return give(std::move(failed));
  Reports &reports = conversion->getReports();
  if (Error failed = model.convert(options.conversion, &reports, options.dims))
    return give(std::move(failed));
  mlir::TimingScope timing;
  raw_string_ostream table(report.verify);
  auto verdict = conversion->verify(model.getModule(), timing, table);
  if (!verdict)
    return give(addContext("--verify", verdict.takeError()));
  if (*verdict)
    table << (*verdict)->text << "\n";
  if (Error failed = conversion->write(model.getModule(), timing))
    return give(std::move(failed));
  if (Error failed = reports.finish())
    return give(std::move(failed));
  report.summary = reports.getTable().str();
  report.json = reports.getJSON().str();
  report.explain = reports.getExplanation().str();
  report.html = reports.getReport().str();
  report.overlay = reports.getOverlay().str();
  return *verdict ? conclude(**verdict, sink) : succeed();
}

} // namespace mp

using namespace mp;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

const char *mp_opt_bytes_data(const mp_opt_bytes *bytes) {
  return bytes ? bytes->text.c_str() : "";
}
size_t mp_opt_bytes_size(const mp_opt_bytes *bytes) {
  return bytes ? bytes->text.size() : 0;
}
void mp_opt_bytes_destroy(mp_opt_bytes *bytes) { delete bytes; }

mp_opt_status mp_opt_model_read(const char *path, const mp_opt_options *options,
                                mp_opt_model **model) {
  return guard([&] {
    if (!model)
      return failUsage("model_read: no place for the model");
    *model = nullptr;
    if (!path || StringRef(path) == "-")
      return failUsage("model_read: expected a path");
    return read(options, path, model, [&](const auto &registry, auto options) {
      return Model::read(path, registry, std::move(options));
    });
  });
}

mp_opt_status mp_opt_model_parse(const void *content, size_t size,
                                 const char *name,
                                 const mp_opt_options *options,
                                 mp_opt_model **model) {
  return guard([&] {
    return parse("model_parse", content, size, name, options, model,
                 /*isBorrowed=*/false);
  });
}

mp_opt_status mp_opt_model_view(const void *content, size_t size,
                                const char *name, const mp_opt_options *options,
                                mp_opt_model **model) {
  return guard([&] {
    return parse("model_view", content, size, name, options, model,
                 /*isBorrowed=*/true);
  });
}

void mp_opt_model_destroy(mp_opt_model *model) { delete model; }

mp_opt_status mp_opt_model_bytes(mp_opt_model *model, mp_opt_bytes **bytes) {
  return guard([&] {
    if (!model || !bytes)
      return failUsage("model_bytes: no model, or no place for its bytes");
    *bytes = nullptr;
    return use(model, nullptr, [&](Model &inner) {
      if (isUnchanged(*model)) {
        *bytes = makeBytes(inner.getContent().str());
        return succeed();
      }
      auto written = inner.getONNX();
      if (!written)
        return fail(written.takeError(), model->sink.get(), inner.getName());
      *bytes = makeBytes(std::move(*written));
      return succeed();
    });
  });
}

mp_opt_status mp_opt_model_write(mp_opt_model *model, const char *path,
                                 const mp_opt_options *options) {
  return guard([&] {
    if (!model || !path || !*path)
      return failUsage("model_write: no model, or no path");
    return use(model, options, [&](Model &) {
      auto request = makeCall(options, "convert");
      if (!request)
        return fail(request.takeError(), model->sink.get());
      Error failed = write(*model, path, (*request)->convert);
      return failed ? fail(std::move(failed), model->sink.get()) : succeed();
    });
  });
}

const char *mp_opt_report_text(const mp_opt_report *report, const char *kind) {
  if (!report || !kind)
    return nullptr;
  const std::pair<StringRef, const std::string *> strings[] = {
      {"summary", &report->summary}, {"json", &report->json},
      {"explain", &report->explain}, {"html", &report->html},
      {"overlay", &report->overlay}, {"verify", &report->verify},
      {"policy", &report->policy},
  };
  for (auto [name, text] : strings)
    if (name == kind && !text->empty())
      return text->c_str();
  return nullptr;
}

void mp_opt_report_destroy(mp_opt_report *report) { delete report; }

mp_opt_status mp_opt_convert(mp_opt_model *model, const mp_opt_options *options,
                             const char *kinds, mp_opt_report **report) {
  return guard([&] {
    if (report)
      *report = nullptr;
    if (!model)
      return failUsage("convert: no model");
    return use(model, options, [&](Model &) {
      if (Error failed = checkKinds(kinds ? kinds : ""))
        return fail(std::move(failed));
      auto request = makeCall(options, "convert");
      if (!request)
        return fail(request.takeError(), model->sink.get());
      ReportOptions &reports = (*request)->convert.reports;
      reports.input = model->model->getName();
      chooseKinds(kinds ? kinds : "", reports);
      auto made = std::make_unique<mp_opt_report>();
      mp_opt_status status = convert(*model, **request, *made);
      bool isMade =
          status == MP_OPT_STATUS_OK || status == MP_OPT_STATUS_OUTSIDE;
      if (report && isMade)
        *report = made.release();
      return status;
    });
  });
}

mp_opt_status mp_opt_verify(mp_opt_model *model, mp_opt_model *result,
                            const mp_opt_options *options,
                            mp_opt_bytes **text) {
  return guard([&] {
    if (!model || !result || !text || model == result)
      return failUsage("verify: expected two models, and a place for a text");
    *text = nullptr;
    return useBoth(model, result, options, [&](Model &input, Model &output) {
      auto request = makeCall(options, "convert");
      if (!request)
        return fail(request.takeError(), model->sink.get());
      VerificationOptions &verification = (*request)->convert.verification;
      verification.onMessage = listen(*model->sink, input.getName());
      std::string table;
      raw_string_ostream os(table);
      mlir::TimingScope timing;
      auto verdict = verifyResult(input.getModule(), output.getModule(),
                                  verification, input.getName(), timing, os);
      if (!verdict)
        return fail(addContext("--verify", verdict.takeError()),
                    model->sink.get());
      os << verdict->text << "\n";
      *text = makeBytes(std::move(table));
      return conclude(*verdict, *model->sink);
    });
  });
}

mp_opt_status mp_opt_diff(mp_opt_model *before, mp_opt_model *after,
                          int as_json, mp_opt_bytes **text, int *differs) {
  return guard([&] {
    if (!before || !after || !text || before == after)
      return failUsage("diff: expected two models, and a place for a text");
    *text = nullptr;
    return useBoth(before, after, nullptr, [&](Model &one, Model &other) {
      ModelDiff diff = ModelDiff::compute(one.getModule(), other.getModule());
      std::string written;
      raw_string_ostream os(written);
      if (as_json)
        diff.printJSON(one.getName(), other.getName(), os);
      else
        diff.print(os);
      *text = makeBytes(std::move(written));
      if (differs)
        *differs = !diff.isEmpty();
      return succeed();
    });
  });
}

mp_opt_status mp_opt_policy_text(const mp_opt_options *options,
                                 mp_opt_bytes **text) {
  return guard([&] {
    if (!options || !text)
      return failUsage("policy_text: no options, or no place for the text");
    *text = nullptr;
    MessageSink sink;
    sink.begin(options);
    auto request = makeCall(options, "convert");
    if (!request)
      return fail(request.takeError(), &sink);
    const auto &mixed = (*request)->convert.conversion.mixed;
    if (!mixed)
      return failUsage("policy_text: the options ask for no mixed precision");
    auto registry = makeRegistry(**request);
    if (!registry)
      return fail(registry.takeError(), &sink);
    std::string written;
    raw_string_ostream os(written);
    if (Error failed = printPolicy(
            mixed->policy, *registry, os,
            [&](mlir::DiagnosticSeverity severity, const Twine &message) {
              sink.report("", severity, message.str());
            }))
      return fail(std::move(failed), &sink);
    *text = makeBytes(std::move(written));
    return succeed();
  });
}
