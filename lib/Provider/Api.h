//===- Api.h - Calls of onnxruntime -----------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PROVIDER_API_H
#define MPOPT_LIB_PROVIDER_API_H

#include "OrtABI.h"

#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace mp::ort {

/// The functions of onnxruntime, under the names of its documentation. Inside
/// of this library, errors are exceptions of type std::runtime_error; `guard`
/// is the border.
class Api {
public:
  /// Fails if onnxruntime is older than version 1.24, or has another major
  /// version.
  explicit Api(const ApiBase &base);

  /// The status of a failure of the constructor, by the functions of the newest
  /// interface that onnxruntime has; null if it has none.
  static Status *makeStatus(const ApiBase &base, const char *text) noexcept;

#define MP_ORT_FUNCTION(SLOT, NAME, RESULT, PARAMETERS)                        \
  RESULT(*NAME) PARAMETERS = nullptr;
#define MP_ORT_EP_FUNCTION(SLOT, NAME, RESULT, PARAMETERS)                     \
  RESULT(*NAME) PARAMETERS = nullptr;
#include "OrtFunctions.def"

  /// Throws the error in a status; null is success.
  void check(Status *status) const;

  /// The result of a function that returns it through its last argument.
  template <typename Result, typename... Parameters, typename... Arguments>
  Result get(Status *(*function)(Parameters...), Arguments... arguments) const {
    Result result = {};
    check(function(arguments..., &result));
    return result;
  }

  /// The list that one function counts and another one fills.
  template <typename Object, typename Element>
  std::vector<Element> getList(Status *(*count)(const Object *, size_t *),
                               Status *(*fill)(const Object *, Element *,
                                               size_t),
                               const Object *object) const {
    std::vector<Element> list(get<size_t>(count, object));
    check(fill(object, list.data(), list.size()));
    return list;
  }

  std::string getText(Status *(*function)(const Node *, const char **),
                      const Node *node) const;

  /// Runs a function at the border to onnxruntime: exceptions become statuses.
  template <typename Function>
  Status *guard(ErrorCode code, Function function) const noexcept {
    try {
      function();
      return nullptr;
    } catch (const std::bad_alloc &) {
      return CreateStatus(code, "mp-opt: out of memory");
    } catch (const std::exception &thrown) {
      return CreateStatus(code, thrown.what());
    } catch (...) {
      return CreateStatus(code, "mp-opt: an unknown exception");
    }
  }
};

/// Elements of a tensor of onnxruntime, which owns them.
struct TensorView {
  TensorView(const Api &api, const Value *value);

  int32_t element = 0;
  const int64_t *sizes = nullptr;
  size_t rank = 0;
  void *data = nullptr;
};

} // namespace mp::ort

#endif // MPOPT_LIB_PROVIDER_API_H
