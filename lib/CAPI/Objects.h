//===- Objects.h - What stands behind the handles of the C API --*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CAPI_OBJECTS_H
#define MPOPT_CAPI_OBJECTS_H

#include "mp-opt-c/mp_opt.h"

#include "mp-opt/API/DataRules.h"
#include "mp-opt/API/Model.h"
#include "mp-opt/API/ModelValue.h"
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

/// What calls take, in the order of their inputs.
class CallInputs {
public:
  /// `form` has the names of dimensions; those of `places` may be given.
  CallInputs(llvm::ArrayRef<ProgramValue> inputs,
             llvm::ArrayRef<ModelValue> form,
             llvm::SmallVector<unsigned> places);

  llvm::ArrayRef<unsigned> getPlaces() const { return places; }

  /// Puts arrays where their names, or else their places, belong, as tensors of
  /// the inputs' types. Fails, naming the array, where names, sizes or types
  /// are others, or one is missing; nothing has been done then. `sink` gets one
  /// note for each input that is converted, in the first call that does so.
  llvm::Error bind(llvm::ArrayRef<mp_opt_array> arrays,
                   llvm::MutableArrayRef<Tensor> values, MessageSink &sink,
                   llvm::StringRef file);

  /// "batch is 16 in 'labels' and 5 in 'x'", where two of these tensors have
  /// different sizes of one name; empty if none have.
  std::string findMisfit(llvm::ArrayRef<Tensor> values) const;

  /// Each of them.
  const ModelValue &operator[](size_t place) const { return inputs[place]; }

private:
  llvm::Expected<size_t> findPlace(const mp_opt_array &array, size_t index,
                                   size_t count) const;
  llvm::Error checkMissing(llvm::ArrayRef<Tensor> values) const;

  std::vector<ModelValue> inputs;
  llvm::SmallVector<unsigned> places;
  /// Inputs of which a note has been given.
  std::vector<bool> isNoted;
};

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
  std::optional<mp::CallInputs> takes;
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
  /// Those that are no states.
  std::optional<mp::CallInputs> takes;
  std::vector<unsigned> outputs;
  /// Rules for the elements of inputs.
  llvm::StringMap<mp::DataRule> rules;
  mutable std::mutex mutex;
};

#endif // MPOPT_CAPI_OBJECTS_H
