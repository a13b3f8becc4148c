//===- Compiler.cpp - The compiler behind the provider --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compiler.h"

#include <algorithm>
#include <charconv>

namespace mp::ort {

const char *const providerName = "mp-opt";

void checkCompiler(mp_opt_status status, const std::string &what) {
  if (status != MP_OPT_STATUS_OK)
    throw std::runtime_error("mp-opt: " + what + mp_opt_error_text());
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// Flags of `mp-run run` that sessions may set. Other flags are about files or
/// devices.
static constexpr const char *flagNames[] = {"cache", "kernels", "precision",
                                            "threads"};
/// Flags without a value.
static constexpr const char *switchNames[] = {"excess-precision"};
static constexpr const char *maxSizesName = "max-sizes";

template <typename List>
static bool contains(const List &list, const std::string &name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

static std::string getOptionName(const std::string &name) {
  return std::string("ep.") + providerName + "." + name;
}

Settings::Settings(const Api &api, const SessionOptions *session) {
  mp_opt_options *made = nullptr;
  checkCompiler(mp_opt_options_create("compile", &made), "");
  options.reset(made);
  KeyValuePairs *entries =
      api.get<KeyValuePairs *>(api.GetSessionOptionsConfigEntries, session);
  const char *const *keys = nullptr, *const *values = nullptr;
  size_t count = 0;
  api.GetKeyValuePairs(entries, &keys, &values, &count);
  std::vector<std::pair<std::string, std::string>> given;
  const std::string prefix = getOptionName("");
  for (size_t index = 0; index < count; ++index) {
    std::string key = keys[index];
    if (key.rfind(prefix, 0) == 0)
      given.emplace_back(key.substr(prefix.size()), values[index]);
  }
  api.ReleaseKeyValuePairs(entries);
  for (const auto &[name, value] : given)
    set(name, value);
}

void Settings::set(const std::string &name, const std::string &value) {
  const std::string full = getOptionName(name);
  if (name == maxSizesName)
    return setMaxSizes(value);
  if (contains(flagNames, name))
    return checkCompiler(
        mp_opt_options_set(options.get(), name.c_str(), value.c_str()),
        full + ": ");
  if (!contains(switchNames, name))
    throw std::runtime_error(
        "mp-opt: unknown option '" + full +
        "': expected cache, excess-precision, kernels, max-sizes, precision or "
        "threads after '" +
        getOptionName("") + "'");
  if (value != "0" && value != "1")
    throw std::runtime_error("mp-opt: " + full + ": expected 0 or 1, got '" +
                             value + "'");
  if (value == "1")
    checkCompiler(mp_opt_options_set(options.get(), name.c_str(), nullptr),
                  full + ": ");
}

void Settings::setMaxSizes(const std::string &value) {
  const char *end = value.data() + value.size();
  auto [rest, error] = std::from_chars(value.data(), end, maxSizes);
  if (error != std::errc() || rest != end)
    throw std::runtime_error("mp-opt: " + getOptionName(maxSizesName) +
                             ": expected a number, got '" + value + "'");
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

/// The name of models that are only checked.
static constexpr const char *checkedName = "<part>.onnx";

std::string findObstacle(const std::string &model) {
  mp_opt_model *read = nullptr;
  mp_opt_status status = mp_opt_model_view(model.data(), model.size(),
                                           checkedName, nullptr, &read);
  ModelPtr owner(read);
  if (status == MP_OPT_STATUS_OK)
    status = mp_opt_check_compile(read);
  if (status == MP_OPT_STATUS_OK)
    return "";
  std::string text = mp_opt_error_text();
  if (size_t end = text.find(": "); text.rfind(checkedName, 0) == 0)
    text.erase(0, end + 2);
  return text.empty() ? "it cannot be compiled" : text;
}

ProgramPtr compileModel(const std::string &model, const std::string &name,
                        const Settings &settings) {
  mp_opt_model *read = nullptr;
  checkCompiler(mp_opt_model_view(model.data(), model.size(), name.c_str(),
                                  settings.getOptions(), &read),
                "");
  ModelPtr owner(read);
  mp_opt_program *program = nullptr;
  checkCompiler(mp_opt_compile(read, settings.getOptions(), &program), "");
  return ProgramPtr(program);
}

} // namespace mp::ort
