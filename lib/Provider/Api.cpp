//===- Api.cpp - Calls of onnxruntime -------------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Api.h"

namespace mp::ort {

/// The major version of onnxruntime that the interface belongs to.
static constexpr const char *majorVersion = "1.";

/// The table for one version, or null. onnxruntime prints a line to stderr if
/// it does not know the version.
static void *const *getTable(const ApiBase &base, uint32_t version) {
  return static_cast<void *const *>(base.getApi(version));
}

template <typename Function>
static void take(void *const *table, unsigned slot, Function &function) {
  function = reinterpret_cast<Function>(table[slot]);
}

Api::Api(const ApiBase &base) {
  std::string version = base.getVersionString();
  void *const *table = version.rfind(majorVersion, 0) == 0
                           ? getTable(base, apiVersion)
                           : nullptr;
  if (!table)
    throw std::runtime_error(
        "mp-opt: the provider is built for onnxruntime 1." +
        std::to_string(apiVersion) +
        " and later versions 1.x, and this is "
        "onnxruntime " +
        version + ": install one of these versions");
#define MP_ORT_FUNCTION(SLOT, NAME, RESULT, PARAMETERS) take(table, SLOT, NAME);
#include "OrtFunctions.def"
  auto *ownTable = static_cast<void *const *>(GetEpApi());
#define MP_ORT_EP_FUNCTION(SLOT, NAME, RESULT, PARAMETERS)                     \
  take(ownTable, SLOT, NAME);
#include "OrtFunctions.def"
}

Status *Api::makeStatus(const ApiBase &base, const char *text) noexcept {
  for (uint32_t version = apiVersion; version > 0; --version)
    if (void *const *table = getTable(base, version)) {
      Status *(*create)(ErrorCode, const char *) = nullptr;
      take(table, /*slot of CreateStatus=*/0, create);
      return create(errorEP, text);
    }
  return nullptr;
}

void Api::check(Status *status) const {
  if (!status)
    return;
  std::string text = GetErrorMessage(status);
  ReleaseStatus(status);
  throw std::runtime_error("mp-opt: " + text);
}

std::string Api::getText(Status *(*function)(const Node *, const char **),
                         const Node *node) const {
  const char *text = get<const char *>(function, node);
  return text ? text : "";
}

TensorView::TensorView(const Api &api, const Value *value) {
  api.check(api.GetTensorElementTypeAndShapeDataReference(value, &element,
                                                          &sizes, &rank));
  // The function has no form for constants in 1.24.
  api.check(api.GetTensorMutableData(const_cast<Value *>(value), &data));
}

} // namespace mp::ort
