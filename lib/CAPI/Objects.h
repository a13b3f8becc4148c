//===- Objects.h - The objects of the C API ---------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CAPI_OBJECTS_H
#define MPOPT_CAPI_OBJECTS_H

#include "mp-opt-c/mp_opt.h"

#include "mp-opt/API/Model/DataRules.h"
#include "mp-opt/API/Model/Model.h"
#include "mp-opt/API/Model/ModelValue.h"
#include "mp-opt/API/Model/ModuleDigest.h"
#include "mp-opt/API/Model/Reports.h"
#include "mp-opt/API/Train/StepSession.h"
#include "mp-opt/Options/ConvertOptions.h"
#include "mp-opt/Options/ErrorFlags.h"
#include "mp-opt/Options/ModelFlags.h"
#include "mp-opt/Options/RateFlags.h"

#include <mutex>

namespace mp {

/// The receiver of a call's messages.
class MessageSink {
public:
  /// Starts a new call with no recorded errors. If `options` are not null, they
  /// set the listener.
  void begin(const mp_opt_options *options);
  void report(llvm::StringRef file, mlir::DiagnosticSeverity severity,
              llvm::StringRef text);
  /// Returns the first recorded error, since later ones only hide it.
  std::string takeError();

private:
  std::mutex mutex;
  mp_opt_message_fn callback = nullptr;
  void *user = nullptr;
  std::string first;
};

/// The parsed options of a command. It must be made anew for each call, since
/// `complete` modifies it.
struct Request {
  /// Fails with kind Usage if the command is unknown.
  static llvm::Expected<std::unique_ptr<Request>>
  create(llvm::StringRef command);

  /// Fails with kind Usage if options contradict each other.
  llvm::Error complete(mlir::DialectRegistry &registry);

  FlagTable table;
  ConvertOptions convert;
  std::optional<ConvertFlags> convertFlags;
  ErrorOptions errors;
  std::optional<ErrorFlags> errorFlags;
  ModelFlags model;
  LearningRate rate;
  std::optional<RateFlags> rateFlags;
  /// The number of steps, for schedules that depend on it.
  uint64_t steps = 0;

private:
  Request() = default;
};

/// Makes a request from options. Fails as `create` and, if `isComplete`, as
/// `complete` do. Null options are the defaults of `command`.
llvm::Expected<std::unique_ptr<Request>>
makeRequest(const mp_opt_options *options, llvm::StringRef command);

/// Makes the request of a call; fails if the options belong to another command.
llvm::Expected<std::unique_ptr<Request>> makeCall(const mp_opt_options *options,
                                                  llvm::StringRef command);

/// Makes a registry with the dialects of models, and the operators of
/// --schemas.
llvm::Expected<mlir::DialectRegistry> makeRegistry(const Request &request);

/// Wraps a caller's array as a tensor. Its bytes are copied only if they are
/// not aligned. Errors begin with `what`.
llvm::Expected<Tensor> makeTensor(const mp_opt_array &array,
                                  const llvm::Twine &what);

/// Describes an input or an output.
mp_opt_value describe(const ProgramValue &value);

/// The inputs of calls, in order.
class CallInputs {
public:
  /// `form` has the names of dimensions; only inputs in `inputIndices` may be
  /// given.
  CallInputs(llvm::ArrayRef<ProgramValue> inputs,
             llvm::ArrayRef<ModelValue> form,
             llvm::SmallVector<unsigned> inputIndices);

  llvm::ArrayRef<unsigned> getInputIndices() const { return inputIndices; }

  /// Assigns arrays to inputs by name, or else by position, and converts them
  /// to the inputs' types. Fails without any effect, naming the array, if
  /// names, sizes or types do not match, or if one is missing. `sink` receives
  /// one note per converted input, in the first call that converts it.
  llvm::Error bind(llvm::ArrayRef<mp_opt_array> arrays,
                   llvm::MutableArrayRef<Tensor> values, MessageSink &sink,
                   llvm::StringRef file);

  /// Returns "batch is 16 in 'labels' and 5 in 'x'" if two of these tensors
  /// have different sizes for one dimension name; empty if none have.
  std::string findMisfit(llvm::ArrayRef<Tensor> values) const;

  /// The description of input `index`.
  const ModelValue &operator[](size_t index) const { return inputs[index]; }

private:
  llvm::Expected<size_t> findInput(const mp_opt_array &array, size_t index,
                                   size_t count) const;
  llvm::Error checkMissing(llvm::ArrayRef<Tensor> values) const;

  std::vector<ModelValue> inputs;
  llvm::SmallVector<unsigned> inputIndices;
  /// Indexed by input: true if a note on its conversion was given.
  std::vector<bool> isNoted;
};

/// Runs a function on a model that is not consumed.
template <typename Function>
mp_opt_status use(mp_opt_model *model, const mp_opt_options *options,
                  Function function);

/// Ends a call.
mp_opt_status succeed();
mp_opt_status fail(llvm::Error error, MessageSink *sink = nullptr,
                   llvm::StringRef file = "");
mp_opt_status failUsage(const llvm::Twine &text);
mp_opt_status failInternal(const char *what) noexcept;
/// Makes LLVM's fatal errors throw exceptions, which calls catch.
void initialize();

/// Runs a function of the API, which returns a status and may throw.
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

/// Runs a function that cannot fail, or reports failure by its result.
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
  /// The request that has checked the given options.
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
  std::string summary, json, explain, html, overlay, verify, policy;
};

struct mp_opt_buffer {
  mp::NamedTensor tensor;
};

struct mp_opt_model {
  std::shared_ptr<mp::MessageSink> sink = std::make_shared<mp::MessageSink>();
  /// Null if it is used up.
  std::unique_ptr<mp::Model> model;
  /// The digest of the model as it was read.
  std::optional<mp::ModuleDigest> before;
  std::mutex mutex;
};

/// The order matters: programs need the model's context, and that needs the
/// sink.
struct mp_opt_program {
  std::shared_ptr<mp::MessageSink> sink;
  std::unique_ptr<mp::Model> model;
  std::unique_ptr<mp::Program> program;
  std::optional<mp::CallInputs> takes;
  bool isInPlace = false;
  std::mutex mutex;
};

struct mp_opt_step {
  std::shared_ptr<mp::MessageSink> sink;
  std::unique_ptr<mp::Model> model;
  std::unique_ptr<mp::StepSession> session;
  /// The inputs that are not states.
  std::optional<mp::CallInputs> takes;
  std::vector<unsigned> outputs;
  /// Rules for the elements of inputs.
  llvm::StringMap<mp::DataRule> rules;
  mutable std::mutex mutex;

  mp::StepProgram &getProgram() const { return session->getProgram(); }
};

template <typename Function>
mp_opt_status mp::use(mp_opt_model *model, const mp_opt_options *options,
                      Function function) {
  std::lock_guard<std::mutex> lock(model->mutex);
  if (!model->model)
    return failUsage("the model is used up: it has been compiled, or its "
                     "conversion has failed");
  model->sink->begin(options);
  return function(*model->model);
}

#endif // MPOPT_CAPI_OBJECTS_H
