//===- Options.cpp - Options of the C API ---------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Objects.h"

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/Options/InputFlags.h"
#include "mp-opt/Support/Nearest.h"

using namespace llvm;

namespace mp {

Expected<std::unique_ptr<Request>> Request::create(StringRef command) {
  static constexpr StringLiteral commands[] = {"convert", "attribute", "tune",
                                               "compile", "train"};
  std::unique_ptr<Request> request(new Request());
  FlagTable &table = request->table;
  if (command == "convert") {
    request->convertFlags.emplace(table, request->convert);
    return request;
  }
  if (command == "attribute" || command == "tune") {
    request->errorFlags.emplace(table, request->errors,
                                command == "tune" ? ErrorCommand::Tune
                                                  : ErrorCommand::Attribute);
    return request;
  }
  if (command != "compile" && command != "train")
    return makeError(
        {ErrorKind::Usage, ("unknown command '" + command +
                            "', expected convert, attribute, tune, compile or "
                            "train" +
                            suggestNearest(command, commands))
                               .str()});
  request->model.addTo(table);
  if (command == "train") {
    request->rateFlags.emplace(table, request->rate);
    table.add("steps", request->steps, "steps, in all, of a schedule", 1);
  }
  return request;
}

Error Request::complete(mlir::DialectRegistry &registry) {
  if (convertFlags) {
    if (Error failed = convertFlags->complete(MPOPT_VERSION))
      return failed;
    // The C API prints nothing.
    convert.verification.title.clear();
    return addSchemas(convert.schemas, registry);
  }
  if (errorFlags) {
    if (Error failed = errorFlags->complete())
      return failed;
    return addSchemas(errors.schemas, registry);
  }
  if (rateFlags)
    if (Error failed = rateFlags->check())
      return failed;
  if (rate.needsTotal() && !steps)
    return makeError({ErrorKind::Usage, "--lr-schedule=linear and cosine need "
                                        "--steps=N: how many there will be"});
  return model.apply(registry, /*program=*/"");
}

Expected<std::unique_ptr<Request>> makeRequest(const mp_opt_options *options,
                                               StringRef command) {
  auto request = Request::create(options ? options->command : command);
  if (!request || !options)
    return request;
  std::lock_guard<std::mutex> lock(options->mutex);
  for (const auto &[name, value] : options->given)
    if (Error failed = (*request)->table.give(
            name, value ? std::optional<StringRef>(*value) : std::nullopt))
      return makeError({ErrorKind::Usage, toString(std::move(failed))});
  return request;
}

Expected<std::unique_ptr<Request>> makeCall(const mp_opt_options *options,
                                            StringRef command) {
  if (options && options->command != command)
    return makeError(
        {ErrorKind::Usage, ("expected options of '" + command +
                            "', got those of '" + options->command + "'")
                               .str()});
  auto request = makeRequest(options, command);
  if (!request)
    return request;
  mlir::DialectRegistry registry;
  if (Error failed = (*request)->complete(registry))
    return failed;
  return request;
}

Expected<mlir::DialectRegistry> makeRegistry(const Request &request) {
  mlir::DialectRegistry registry;
  registerModelDialects(registry);
  StringRef schemas = request.convertFlags ? request.convert.schemas
                      : request.errorFlags ? request.errors.schemas
                                           : request.model.schemas;
  if (Error failed = addSchemas(schemas, registry))
    return failed;
  return registry;
}

} // namespace mp

using namespace mp;

mp_opt_status mp_opt_options_create(const char *command,
                                    mp_opt_options **options) {
  return guard([&] {
    if (!options)
      return failUsage("options_create: no place for the options");
    *options = nullptr;
    if (!command)
      return failUsage("options_create: no command");
    auto made = std::make_unique<mp_opt_options>();
    made->command = command;
    auto request = Request::create(command);
    if (!request)
      return fail(request.takeError());
    made->checked = std::move(*request);
    *options = made.release();
    return succeed();
  });
}

void mp_opt_options_destroy(mp_opt_options *options) { delete options; }

mp_opt_status mp_opt_options_set(mp_opt_options *options, const char *name,
                                 const char *value) {
  return guard([&] {
    if (!options || !name)
      return failUsage(options ? "options_set: no name"
                               : "options_set: no options");
    std::lock_guard<std::mutex> lock(options->mutex);
    std::optional<StringRef> text;
    if (value)
      text = value;
    if (Error failed = options->checked->table.give(name, text))
      return fail(makeError({ErrorKind::Usage, toString(std::move(failed))}));
    options->given.emplace_back(name, text ? std::optional(text->str())
                                           : std::nullopt);
    return succeed();
  });
}

mp_opt_status mp_opt_options_set_callback(mp_opt_options *options,
                                          mp_opt_message_fn callback,
                                          void *user) {
  return guard([&] {
    if (!options)
      return failUsage("options_set_callback: no options");
    std::lock_guard<std::mutex> lock(options->mutex);
    options->callback = callback;
    options->user = user;
    return succeed();
  });
}

mp_opt_status mp_opt_options_describe(const mp_opt_options *options,
                                      const char **json) {
  return guard([&] {
    if (!options || !json)
      return failUsage("options_describe: no options, or no place for them");
    std::lock_guard<std::mutex> lock(options->mutex);
    if (options->description.empty()) {
      raw_string_ostream os(options->description);
      options->checked->table.printJSON(os);
    }
    *json = options->description.c_str();
    return succeed();
  });
}
