//===- Errors.cpp - Errors and messages of the C API ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Objects.h"

#include "mp-opt/Support/ShownText.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/ErrorHandling.h"

#include <stdexcept>

using namespace llvm;

namespace mp {

/// The error of the thread's last failed call.
static thread_local std::string errorText;

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

namespace {
/// The subject of a message, if it names one: messages begin with "node 'NAME'
/// (OP)", or name an attribute as "attribute 'NAME'".
struct Subject {
  explicit Subject(StringRef text);
  std::string node, op, attribute;
};
} // namespace

static StringRef getQuoted(StringRef text, StringRef before) {
  size_t begin = text.find(before);
  if (begin == StringRef::npos)
    return "";
  text = text.substr(begin + before.size());
  size_t end = text.find('\'');
  return end == StringRef::npos ? "" : text.take_front(end);
}

Subject::Subject(StringRef text) {
  attribute = getQuoted(text, "attribute '").str();
  size_t begin = text.find("node '");
  if (begin == StringRef::npos)
    return;
  // Names may have quotes in them.
  StringRef rest = text.substr(begin + StringRef("node '").size());
  size_t middle = rest.find("' (");
  if (middle == StringRef::npos) {
    node = rest.split('\'').first.str();
    return;
  }
  node = rest.take_front(middle).str();
  op = rest.substr(middle + StringRef("' (").size()).split(')').first.str();
}

static mp_opt_severity getSeverity(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Note:
    return MP_OPT_SEVERITY_NOTE;
  case mlir::DiagnosticSeverity::Warning:
    return MP_OPT_SEVERITY_WARNING;
  case mlir::DiagnosticSeverity::Error:
    return MP_OPT_SEVERITY_ERROR;
  case mlir::DiagnosticSeverity::Remark:
    return MP_OPT_SEVERITY_REMARK;
  }
  return MP_OPT_SEVERITY_NOTE;
}

void MessageSink::begin(const mp_opt_options *options) {
  std::lock_guard<std::mutex> lock(mutex);
  first.clear();
  if (!options)
    return;
  std::lock_guard<std::mutex> lockOptions(options->mutex);
  callback = options->callback;
  user = options->user;
}

void MessageSink::report(StringRef file, mlir::DiagnosticSeverity severity,
                         StringRef text) {
  text = text.rtrim('\n');
  std::lock_guard<std::mutex> lock(mutex);
  if (severity == mlir::DiagnosticSeverity::Error && first.empty())
    first = escapeText(file.empty() ? text : file + ": " + text);
  if (!callback)
    return;
  Subject subject(text);
  std::string name = file.str(), message = escapeText(text);
  mp_opt_diagnostic diagnostic = {getSeverity(severity),     name.c_str(),
                                  subject.node.c_str(),      subject.op.c_str(),
                                  subject.attribute.c_str(), message.c_str()};
  callback(&diagnostic, user);
}

std::string MessageSink::takeError() {
  std::lock_guard<std::mutex> lock(mutex);
  return std::exchange(first, "");
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

static mp_opt_status getStatus(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::Usage:
    return MP_OPT_STATUS_USAGE;
  case ErrorKind::BadInput:
    return MP_OPT_STATUS_BAD_INPUT;
  case ErrorKind::NotSupported:
    return MP_OPT_STATUS_NOT_SUPPORTED;
  case ErrorKind::DeviceFailed:
    return MP_OPT_STATUS_DEVICE_FAILED;
  }
  return MP_OPT_STATUS_INTERNAL;
}

mp_opt_status succeed() {
  errorText.clear();
  return MP_OPT_STATUS_OK;
}

mp_opt_status fail(Error error, MessageSink *sink, StringRef file) {
  ErrorDetails details = takeDetails(std::move(error));
  std::string message = sink ? sink->takeError() : "";
  if (message.empty() && sink) {
    // Messages of errors may begin with the file.
    StringRef text = details.text;
    if (!file.empty() && text.consume_front(file))
      text.consume_front(": ");
    sink->report(file, mlir::DiagnosticSeverity::Error, text);
    message = sink->takeError();
  }
  errorText = message.empty() ? escapeText(details.text) : message;
  return getStatus(details.kind);
}

mp_opt_status failUsage(const Twine &text) {
  return fail(makeError({ErrorKind::Usage, text.str()}));
}

mp_opt_status failInternal(const char *what) noexcept {
  try {
    errorText = std::string("internal error: ") + what;
  } catch (...) {
    errorText.clear();
  }
  return MP_OPT_STATUS_INTERNAL;
}

void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    // LLVM would end the process, which belongs to the caller. The state that
    // LLVM leaves is not usable after that.
    install_fatal_error_handler([](void *, const char *reason, bool) {
      throw std::runtime_error(reason);
    });
    install_bad_alloc_error_handler(
        [](void *, const char *, bool) { throw std::bad_alloc(); });
  });
}

} // namespace mp

using namespace mp;

uint32_t mp_opt_api_version(void) { return MP_OPT_API_VERSION; }

const char *mp_opt_version(void) {
  return MPOPT_VERSION " (LLVM " LLVM_VERSION_STRING ")";
}

const char *mp_opt_error_text(void) { return errorText.c_str(); }
