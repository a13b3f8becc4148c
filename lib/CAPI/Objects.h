//===- Objects.h - What stands behind the handles of the C API --*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CAPI_OBJECTS_H
#define MPOPT_CAPI_OBJECTS_H

#include "mp-opt-c/mp_opt.h"

#include "mp-opt/API/Model.h"
#include "mp-opt/API/ModuleDigest.h"
#include "mp-opt/API/Reports.h"
#include "mp-opt/API/StepProgram.h"
#include "mp-opt/Options/ConvertOptions.h"
#include "mp-opt/Options/ModelFlags.h"
#include "mp-opt/Options/RateFlags.h"

#include <mutex>

namespace mp {

/// Where messages of a call go.
class MessageSink {
public:
  /// From here on `options` say who listens, if they are not null, and errors
  /// are those of a new call.
  void begin(const mp_opt_options *options);
  void say(llvm::StringRef file, mlir::DiagnosticSeverity severity,
           llvm::StringRef text);
  /// Of the errors that were said, the first: what follows only hides it.
  std::string takeError();

private:
  std::mutex mutex;
  mp_opt_message_fn callback = nullptr;
  void *user = nullptr;
  std::string first;
};

/// What the options of a command ask for. To be made anew for each call: to
/// complete what was given changes it.
struct Request {
  /// Fails, of kind Usage, where the command is none.
  static llvm::Expected<std::unique_ptr<Request>>
  create(llvm::StringRef command);

  /// Fails, of kind Usage, where options contradict each other.
  llvm::Error complete(mlir::DialectRegistry &registry);

  FlagTable table;
  ConvertOptions convert;
  std::optional<ConvertFlags> convertFlags;
  ModelFlags model;
  LearningRate rate;
  std::optional<RateFlags> rateFlags;
  /// Of a schedule that needs to know how many there will be.
  uint64_t steps = 0;

private:
  Request() = default;
};

/// What was made of options: as `create` and, if `isComplete`, `complete` fail.
/// Null options are those of `command`, none of which is given.
llvm::Expected<std::unique_ptr<Request>>
makeRequest(const mp_opt_options *options, llvm::StringRef command);

/// A registry that knows models, and the operators of --schemas.
llvm::Expected<mlir::DialectRegistry> makeRegistry(const Request &request);

/// An array of a caller's as a tensor; its bytes are used where they lie, but
/// where their address does not suit them. `what` begins errors.
llvm::Expected<Tensor> makeTensor(const mp_opt_array &array,
                                  const llvm::Twine &what);

/// What is said of an input or an output.
mp_opt_value describe(const ProgramValue &value);

/// Puts arrays where their names, or else their places, belong. Fails, naming
/// the array, for other names.
llvm::Error bindArrays(llvm::ArrayRef<mp_opt_array> arrays,
                       llvm::ArrayRef<ProgramValue> inputs,
                       llvm::ArrayRef<unsigned> places,
                       llvm::MutableArrayRef<Tensor> values);

/// Ends a call.
mp_opt_status succeed();
mp_opt_status fail(llvm::Error error, MessageSink *sink = nullptr,
                   llvm::StringRef file = "");
mp_opt_status failUsage(const llvm::Twine &text);
mp_opt_status failInternal(const char *what) noexcept;
/// What is broken in LLVM ends in an exception from here on, which calls catch.
void initialize();

/// Runs what a function of the API does: it returns a status, and may throw.
template <typename Function> mp_opt_status guard(Function function) noexcept {
  try {
    initialize();
    return function();
  } catch (const std::exception &thrown) {
    return failInternal(thrown.what());
  } catch (...) {
    return failInternal("an unknown exception");
  }
}

/// The same for what cannot fail, or tells so by what it returns.
template <typename Result, typename Function>
Result guardResult(Result otherwise, Function function) noexcept {
  try {
    return function();
  } catch (...) {
    return otherwise;
  }
}

} // namespace mp

struct mp_opt_options {
  std::string command;
  std::vector<std::pair<std::string, std::optional<std::string>>> given;
  /// Says what is wrong with what is given.
  std::unique_ptr<mp::Request> checked;
  mp_opt_message_fn callback = nullptr;
  void *user = nullptr;
  mutable std::string description;
  mutable std::mutex mutex;
};

struct mp_opt_bytes {
  std::string text;
};

struct mp_opt_report {
  std::string summary, json, explain, html, overlay, verify;
};

struct mp_opt_buffer {
  mp::NamedTensor tensor;
};

struct mp_opt_model {
  std::shared_ptr<mp::MessageSink> sink = std::make_shared<mp::MessageSink>();
  /// Null if it is used up.
  std::unique_ptr<mp::Model> model;
  /// As it was read.
  std::optional<mp::ModuleDigest> before;
  std::mutex mutex;
};

/// In this order: programs need the model's context, and it the sink.
struct mp_opt_program {
  std::shared_ptr<mp::MessageSink> sink;
  std::unique_ptr<mp::Model> model;
  std::unique_ptr<mp::Program> program;
  bool isInPlace = false;
  std::mutex mutex;
};

struct mp_opt_step {
  std::shared_ptr<mp::MessageSink> sink;
  std::unique_ptr<mp::Model> model;
  std::unique_ptr<mp::StepProgram> program;
  mp::LearningRate rate;
  uint64_t total = 0, count = 0;
  double last = 0;
  /// Of the model's file.
  std::string content;
  /// Indices of inputs that are no states; and of outputs that are none.
  std::vector<unsigned> inputs, outputs;
  mutable std::mutex mutex;
};

#endif // MPOPT_CAPI_OBJECTS_H
