//===- Calls.h - Calls of the C API -----------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
// Every call returns the data that mp_opt/_errors.py turns into exceptions and
// warnings: a status, a value, the error's text and the messages.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PYTHON_CALLS_H
#define MPOPT_PYTHON_CALLS_H

#include "mp-opt-c/mp_opt.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace nb = nanobind;

namespace mp::python {

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

struct Message {
  int severity;
  std::string file, node, op, attribute, text;
};

/// The result of a call, before it is converted for Python.
struct Outcome {
  int status = 0;
  std::string error;
  std::vector<Message> messages;
};

/// Gets the messages of a call; may be called by any thread.
struct Listener {
  std::mutex mutex;
  std::vector<Message> messages;

  static void receive(const mp_opt_diagnostic *diagnostic, void *user) {
    auto *self = static_cast<Listener *>(user);
    std::lock_guard<std::mutex> lock(self->mutex);
    self->messages.push_back({diagnostic->severity, diagnostic->file,
                              diagnostic->node, diagnostic->op,
                              diagnostic->attribute, diagnostic->message});
  }
  std::vector<Message> take() {
    std::lock_guard<std::mutex> lock(mutex);
    return std::exchange(messages, {});
  }
};

template <typename T, void (*destroy)(T *)> struct Destroy {
  void operator()(T *handle) const { destroy(handle); }
};
template <typename T, void (*destroy)(T *)>
using Handle = std::unique_ptr<T, Destroy<T, destroy>>;

using OptionsHandle = Handle<mp_opt_options, mp_opt_options_destroy>;
using BytesHandle = Handle<mp_opt_bytes, mp_opt_bytes_destroy>;
using ReportHandle = Handle<mp_opt_report, mp_opt_report_destroy>;
using ModelHandle = Handle<mp_opt_model, mp_opt_model_destroy>;
using ProgramHandle = Handle<mp_opt_program, mp_opt_program_destroy>;
using StepHandle = Handle<mp_opt_step, mp_opt_step_destroy>;
using BufferHandle = Handle<mp_opt_buffer, mp_opt_buffer_destroy>;

/// (status, value, text of the error, messages)
inline nb::tuple give(const Outcome &outcome, nb::object value = nb::none()) {
  nb::list messages;
  for (const Message &message : outcome.messages)
    messages.append(nb::make_tuple(message.severity, message.file, message.node,
                                   message.op, message.attribute,
                                   message.text));
  return nb::make_tuple(outcome.status, value, outcome.error, messages);
}

inline Outcome conclude(mp_opt_status status,
                        std::vector<Message> messages = {}) {
  Outcome outcome;
  outcome.status = status;
  if (status != MP_OPT_STATUS_OK)
    outcome.error = mp_opt_error_text();
  outcome.messages = std::move(messages);
  return outcome;
}

//===----------------------------------------------------------------------===//
// Calls without the GIL
//===----------------------------------------------------------------------===//

/// The running calls of all threads. A thread that returns to a finalized
/// interpreter is ended by an exception that must not pass C++ frames: the
/// interpreter therefore waits for all calls, and accepts no new ones.
struct Calls {
  std::mutex mutex;
  std::condition_variable changed;
  int count = 0;
  bool isClosed = false;

  void begin() {
    std::lock_guard<std::mutex> lock(mutex);
    if (isClosed)
      throw std::runtime_error("the interpreter is shutting down");
    ++count;
  }
  void end() {
    std::lock_guard<std::mutex> lock(mutex);
    --count;
    changed.notify_all();
  }
  void close() {
    std::unique_lock<std::mutex> lock(mutex);
    isClosed = true;
    changed.wait(lock, [&] { return count == 0; });
  }
};
// The object is never destroyed: threads may outlive static destructors.
inline Calls &calls() {
  static auto *only = new Calls;
  return *only;
}

/// The interpreter waits for this call while the object lives.
struct Counted {
  Counted() { calls().begin(); }
  ~Counted() { calls().end(); }
  Counted(const Counted &) = delete;
};

/// Other Python threads run while the object lives. The order of members
/// matters: the call ends after the GIL is acquired again.
struct Unlocked {
  Counted counted;
  nb::gil_scoped_release release;
};

//===----------------------------------------------------------------------===//
// Long calls
//===----------------------------------------------------------------------===//

/// Calls that were abandoned after Ctrl-C; the process waits for them at its
/// end.
struct Abandoned {
  std::mutex mutex;
  std::condition_variable changed;
  int count = 0;
};
inline Abandoned &abandoned() {
  static auto *only = new Abandoned;
  return *only;
}

/// Runs `work` in its own thread, which makes signals visible meanwhile. `work`
/// owns everything it uses: if a signal raises an exception (e.g. Ctrl-C), the
/// work continues to its end, and its result is dropped.
template <typename Work> void runInterruptibly(std::shared_ptr<Work> work) {
  Counted counted;
  struct Wait {
    std::mutex mutex;
    std::condition_variable ended;
    bool isOver = false, isLeft = false;
  };
  auto wait = std::make_shared<Wait>();
  std::thread([work, wait]() mutable {
    work->run();
    std::unique_lock<std::mutex> lock(wait->mutex);
    wait->isOver = true;
    bool isLeft = wait->isLeft;
    wait->ended.notify_all();
    lock.unlock();
    work.reset();
    if (!isLeft)
      return;
    std::lock_guard<std::mutex> guard(abandoned().mutex);
    --abandoned().count;
    abandoned().changed.notify_all();
  }).detach();
  while (true) {
    {
      nb::gil_scoped_release release;
      std::unique_lock<std::mutex> lock(wait->mutex);
      wait->ended.wait_for(lock, std::chrono::milliseconds(20),
                           [&] { return wait->isOver; });
      if (wait->isOver)
        return;
    }
    if (PyErr_CheckSignals() == 0)
      continue;
    std::lock_guard<std::mutex> lock(wait->mutex);
    if (!wait->isOver) {
      wait->isLeft = true;
      std::lock_guard<std::mutex> guard(abandoned().mutex);
      ++abandoned().count;
    }
    throw nb::python_error();
  }
}

/// Runs at exit: no call can start or be running afterwards.
inline void closeCalls() {
  nb::gil_scoped_release release;
  calls().close();
  std::unique_lock<std::mutex> lock(abandoned().mutex);
  abandoned().changed.wait(lock, [] { return abandoned().count == 0; });
}

//===----------------------------------------------------------------------===//
// Options and models
//===----------------------------------------------------------------------===//

using Flag = std::pair<std::string, std::optional<std::string>>;

inline std::vector<Flag> readFlags(nb::list flags) {
  std::vector<Flag> read;
  for (nb::handle flag : flags) {
    auto pair = nb::cast<nb::tuple>(flag);
    read.emplace_back(nb::cast<std::string>(pair[0]),
                      nb::cast<std::optional<std::string>>(pair[1]));
  }
  return read;
}

/// The options of a command, and the listener for its messages.
struct Options {
  std::shared_ptr<Listener> listener = std::make_shared<Listener>();
  OptionsHandle handle;

  mp_opt_status make(const std::string &command,
                     const std::vector<Flag> &flags) {
    mp_opt_options *made = nullptr;
    mp_opt_status status = mp_opt_options_create(command.c_str(), &made);
    handle.reset(made);
    if (status != MP_OPT_STATUS_OK)
      return status;
    mp_opt_options_set_callback(made, Listener::receive, listener.get());
    for (const auto &[name, value] : flags) {
      status = mp_opt_options_set(made, name.c_str(),
                                  value ? value->c_str() : nullptr);
      if (status != MP_OPT_STATUS_OK)
        return status;
    }
    return MP_OPT_STATUS_OK;
  }
};

/// A model's content, or the path of its file.
struct Source {
  std::optional<std::string> path;
  std::string content, name;

  mp_opt_status read(const mp_opt_options *options, ModelHandle &model) const {
    mp_opt_model *made = nullptr;
    mp_opt_status status =
        path ? mp_opt_model_read(path->c_str(), options, &made)
             : mp_opt_model_parse(content.data(), content.size(), name.c_str(),
                                  options, &made);
    model.reset(made);
    return status;
  }
};

inline Source readSource(nb::object model, std::string name) {
  Source source;
  source.name = std::move(name);
  if (nb::isinstance<nb::bytes>(model)) {
    auto bytes = nb::cast<nb::bytes>(model);
    source.content.assign(bytes.c_str(), bytes.size());
  } else {
    source.path = nb::cast<std::string>(model);
  }
  return source;
}

/// The base of long calls, which own everything they use.
struct Work {
  Options options;
  std::string command;
  std::vector<Flag> flags;
  Source source;
  Outcome outcome;

  void run() {
    mp_opt_status status = options.make(command, flags);
    if (status == MP_OPT_STATUS_OK)
      status = doRun();
    outcome = conclude(status, options.listener->take());
  }
  virtual mp_opt_status doRun() = 0;
  virtual ~Work() = default;
};

inline std::string takeText(mp_opt_bytes *made) {
  BytesHandle bytes(made);
  return {mp_opt_bytes_data(made), mp_opt_bytes_size(made)};
}

} // namespace mp::python

#endif // MPOPT_PYTHON_CALLS_H
