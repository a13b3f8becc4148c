//===- Module.cpp - The extension module of Python ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//
//===----------------------------------------------------------------------===//
//
// A thin layer over the C API: handles, arrays without copies, and calls
// without Python's lock. Every call gives back what mp_opt/_calls.py makes
// exceptions and warnings of: a status, a value, the error's text and the
// messages.
//
//===----------------------------------------------------------------------===//

#include "mp-opt-c/mp_opt.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace nb = nanobind;

namespace {

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

struct Message {
  int severity;
  std::string file, node, op, attribute, text;
};

/// What a call has come to, before Python sees it.
struct Outcome {
  int status = 0;
  std::string error;
  std::vector<Message> messages;
};

/// Gets the messages of a call; may be called by any thread.
struct Listener {
  std::mutex mutex;
  std::vector<Message> messages;

  static void hear(const mp_opt_diagnostic *told, void *user) {
    auto *self = static_cast<Listener *>(user);
    std::lock_guard<std::mutex> lock(self->mutex);
    self->messages.push_back({told->severity, told->file, told->node, told->op,
                              told->attribute, told->message});
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
nb::tuple give(const Outcome &outcome, nb::object value = nb::none()) {
  nb::list messages;
  for (const Message &told : outcome.messages)
    messages.append(nb::make_tuple(told.severity, told.file, told.node, told.op,
                                   told.attribute, told.text));
  return nb::make_tuple(outcome.status, value, outcome.error, messages);
}

Outcome conclude(mp_opt_status status, std::vector<Message> messages = {}) {
  Outcome outcome;
  outcome.status = status;
  if (status != MP_OPT_STATUS_OK)
    outcome.error = mp_opt_error_text();
  outcome.messages = std::move(messages);
  return outcome;
}

//===----------------------------------------------------------------------===//
// Calls without Python's lock
//===----------------------------------------------------------------------===//

/// Calls of all threads that are on their way. A thread that comes back to an
/// interpreter that is gone is ended by an exception that no frame of C++ may
/// see: so the interpreter waits, and takes no more calls.
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
// Never destroyed: threads may outlive what static destructors take away.
Calls &calls() {
  static auto *only = new Calls;
  return *only;
}

/// While it lives, the interpreter waits for this call.
struct Counted {
  Counted() { calls().begin(); }
  ~Counted() { calls().end(); }
  Counted(const Counted &) = delete;
};

/// While it lives, other threads of Python run. In this order: the call ends
/// when it has the lock again.
struct Unlocked {
  Counted counted;
  nb::gil_scoped_release release;
};

//===----------------------------------------------------------------------===//
// Long calls
//===----------------------------------------------------------------------===//

/// Calls that Ctrl-C has left alone; the process waits for them at its end.
struct Abandoned {
  std::mutex mutex;
  std::condition_variable changed;
  int count = 0;
};
Abandoned &abandoned() {
  static auto *only = new Abandoned;
  return *only;
}

/// Runs `work`, which owns all that it uses, in a thread of its own, so that
/// signals are seen meanwhile: where one raises an exception (Ctrl-C does), the
/// work goes on to its end, and what it makes is dropped.
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

/// At exit: no call is on its way from then on.
void close() {
  nb::gil_scoped_release release;
  calls().close();
  std::unique_lock<std::mutex> lock(abandoned().mutex);
  abandoned().changed.wait(lock, [] { return abandoned().count == 0; });
}

//===----------------------------------------------------------------------===//
// Options and models
//===----------------------------------------------------------------------===//

using Flag = std::pair<std::string, std::optional<std::string>>;

std::vector<Flag> readFlags(nb::list flags) {
  std::vector<Flag> read;
  for (nb::handle flag : flags) {
    auto pair = nb::cast<nb::tuple>(flag);
    read.emplace_back(nb::cast<std::string>(pair[0]),
                      nb::cast<std::optional<std::string>>(pair[1]));
  }
  return read;
}

/// Options of a command, and who hears what is said.
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
    mp_opt_options_set_callback(made, Listener::hear, listener.get());
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

Source readSource(nb::object model, std::string name) {
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

/// The base of long calls: what they use is theirs.
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

std::string takeText(mp_opt_bytes *made) {
  BytesHandle bytes(made);
  return {mp_opt_bytes_data(made), mp_opt_bytes_size(made)};
}

/// Reads, converts, and writes or gives the bytes.
struct Conversion : Work {
  std::string kinds;
  std::optional<std::string> output;
  bool wantsBytes = false;
  std::string bytes;
  ReportHandle report;

  mp_opt_status doRun() override {
    ModelHandle model;
    mp_opt_options *handle = options.handle.get();
    mp_opt_status status = source.read(handle, model);
    if (status != MP_OPT_STATUS_OK)
      return status;
    mp_opt_report *made = nullptr;
    status = mp_opt_convert(model.get(), handle, kinds.c_str(), &made);
    report.reset(made);
    if (status != MP_OPT_STATUS_OK)
      return status;
    if (output)
      return mp_opt_model_write(model.get(), output->c_str(), handle);
    if (!wantsBytes)
      return status;
    mp_opt_bytes *written = nullptr;
    status = mp_opt_model_bytes(model.get(), &written);
    if (status == MP_OPT_STATUS_OK)
      bytes = takeText(written);
    return status;
  }
};

nb::tuple convert(nb::object model, std::string name, nb::list flags,
                  std::string kinds, std::optional<std::string> output,
                  bool wantsBytes) {
  auto work = std::make_shared<Conversion>();
  work->command = "convert";
  work->flags = readFlags(flags);
  work->source = readSource(model, std::move(name));
  work->kinds = std::move(kinds);
  work->output = std::move(output);
  work->wantsBytes = wantsBytes;
  runInterruptibly(work);
  nb::dict texts;
  for (const char *kind :
       {"summary", "json", "explain", "html", "overlay", "verify"})
    if (const char *text = mp_opt_report_text(work->report.get(), kind))
      texts[kind] = text;
  nb::object bytes = nb::none();
  if (wantsBytes && work->outcome.status == MP_OPT_STATUS_OK)
    bytes = nb::bytes(work->bytes.data(), work->bytes.size());
  return give(work->outcome, nb::make_tuple(bytes, texts));
}

/// Two models side by side.
struct Comparison : Work {
  Source other;
  bool isDiff = false, asJSON = false;
  std::string text;
  int differs = 0;

  mp_opt_status doRun() override {
    ModelHandle first, second;
    mp_opt_options *handle = options.handle.get();
    mp_opt_status status = source.read(handle, first);
    if (status == MP_OPT_STATUS_OK)
      status = other.read(handle, second);
    if (status != MP_OPT_STATUS_OK)
      return status;
    mp_opt_bytes *made = nullptr;
    status =
        isDiff ? mp_opt_diff(first.get(), second.get(), asJSON, &made, &differs)
               : mp_opt_verify(first.get(), second.get(), handle, &made);
    text = takeText(made);
    return status;
  }
};

nb::tuple compareModels(nb::object model, std::string name, nb::object other,
                        std::string otherName, nb::list flags, bool isDiff,
                        bool asJSON) {
  auto work = std::make_shared<Comparison>();
  work->command = "convert";
  work->flags = readFlags(flags);
  work->source = readSource(model, std::move(name));
  work->other = readSource(other, std::move(otherName));
  work->isDiff = isDiff;
  work->asJSON = asJSON;
  runInterruptibly(work);
  return give(work->outcome, nb::make_tuple(work->text, work->differs != 0));
}

nb::tuple policy(nb::list flags) {
  Options options;
  std::string text;
  mp_opt_status status = options.make("convert", readFlags(flags));
  if (status == MP_OPT_STATUS_OK) {
    mp_opt_bytes *made = nullptr;
    status = mp_opt_policy_text(options.handle.get(), &made);
    text = takeText(made);
  }
  return give(conclude(status, options.listener->take()), nb::cast(text));
}

nb::tuple describeOptions(std::string command) {
  Options options;
  const char *json = "";
  mp_opt_status status = options.make(command, {});
  if (status == MP_OPT_STATUS_OK)
    status = mp_opt_options_describe(options.handle.get(), &json);
  return give(conclude(status), nb::cast(std::string(json)));
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

using Input = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

/// The number of an element type in ONNX; 0 if it has none.
int32_t getType(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  if (type.lanes != 1)
    return 0;
  switch (Code(type.code)) {
  case Code::Float:
    return type.bits == 32   ? 1
           : type.bits == 64 ? 11
           : type.bits == 16 ? 10
                             : 0;
  case Code::Bfloat:
    return type.bits == 16 ? 16 : 0;
  case Code::Int:
    return type.bits == 64   ? 7
           : type.bits == 32 ? 6
           : type.bits == 8  ? 3
           : type.bits == 16 ? 5
                             : 0;
  case Code::UInt:
    return type.bits == 8    ? 2
           : type.bits == 64 ? 13
           : type.bits == 32 ? 12
           : type.bits == 16 ? 4
                             : 0;
  case Code::Bool:
    return 9;
  case Code::Complex:
    return type.bits == 64 ? 14 : type.bits == 128 ? 15 : 0;
  default:
    return 0;
  }
}

/// Type, and bytes, of elements that numpy sees as others: bfloat16 as uint16.
nb::dlpack::dtype getDType(int32_t type, bool isNumpy) {
  auto make = [](nb::dlpack::dtype_code code, uint8_t bits) {
    return nb::dlpack::dtype{uint8_t(code), bits, 1};
  };
  using Code = nb::dlpack::dtype_code;
  switch (type) {
  case 1:
    return make(Code::Float, 32);
  case 2:
    return make(Code::UInt, 8);
  case 3:
    return make(Code::Int, 8);
  case 4:
    return make(Code::UInt, 16);
  case 5:
    return make(Code::Int, 16);
  case 6:
    return make(Code::Int, 32);
  case 7:
    return make(Code::Int, 64);
  case 9:
    return make(Code::Bool, 8);
  case 10:
    return make(Code::Float, 16);
  case 11:
    return make(Code::Float, 64);
  case 12:
    return make(Code::UInt, 32);
  case 13:
    return make(Code::UInt, 64);
  case 14:
    return make(Code::Complex, 64);
  case 15:
    return make(Code::Complex, 128);
  case 16:
    return isNumpy ? make(Code::UInt, 16) : make(Code::Bfloat, 16);
  default:
    return make(Code::UInt, 8);
  }
}

/// The arrays of a call. What they are made of lives as long as this.
class Arrays {
public:
  /// `prepare` makes an array, and the number of its type or 0, of what is none
  /// that can be read where it lies.
  Arrays(nb::object names, nb::sequence values, nb::object prepare) {
    size_t count = nb::len(values);
    inputs.reserve(count);
    texts.reserve(count);
    shapes.reserve(count);
    for (size_t index = 0; index < count; ++index) {
      const char *name = nullptr;
      if (!names.is_none()) {
        texts.push_back(nb::cast<std::string>(names[index]));
        name = texts.back().c_str();
      }
      add(name, values[index], prepare);
    }
  }

  const mp_opt_array *data() const { return arrays.data(); }
  size_t size() const { return arrays.size(); }

private:
  void add(const char *name, nb::object value, nb::object prepare) {
    Input input;
    int32_t type = 0;
    if (!nb::try_cast(value, input, /*convert=*/false)) {
      auto made = nb::cast<nb::tuple>(prepare(value, name ? name : ""));
      kept.append(made[0]);
      type = nb::cast<int32_t>(made[1]);
      input = nb::cast<Input>(made[0]);
    }
    if (!type)
      type = getType(input.dtype());
    std::vector<int64_t> sizes;
    for (size_t axis = 0; axis < input.ndim(); ++axis)
      sizes.push_back(int64_t(input.shape(axis)));
    shapes.push_back(std::move(sizes));
    arrays.push_back({name, type, int32_t(input.ndim()), shapes.back().data(),
                      const_cast<void *>(input.data()), input.nbytes()});
    inputs.push_back(std::move(input));
  }

  std::vector<mp_opt_array> arrays;
  std::vector<Input> inputs;
  std::vector<std::string> texts;
  std::vector<std::vector<int64_t>> shapes;
  nb::list kept;
};

/// A tensor of the library's as (array, number of its type); it lives as long
/// as the array does. `form` is "numpy" or "torch".
nb::object makeArray(BufferHandle buffer, bool isTorch) {
  mp_opt_array array;
  if (mp_opt_buffer_array(buffer.get(), &array) != MP_OPT_STATUS_OK)
    throw std::runtime_error(mp_opt_error_text());
  nb::capsule owner(buffer.release(), [](void *handle) noexcept {
    mp_opt_buffer_destroy(static_cast<mp_opt_buffer *>(handle));
  });
  std::vector<size_t> sizes(array.sizes, array.sizes + array.rank);
  nb::dlpack::dtype type = getDType(array.type, !isTorch);
  if (isTorch)
    return nb::cast(nb::ndarray<nb::pytorch>(
        array.data, sizes.size(), sizes.data(), owner, nullptr, type));
  return nb::cast(nb::ndarray<nb::numpy>(array.data, sizes.size(), sizes.data(),
                                         owner, nullptr, type));
}

/// [(name, type, array)]
nb::list makeArrays(std::vector<BufferHandle> buffers, bool isTorch) {
  nb::list made;
  for (BufferHandle &buffer : buffers) {
    mp_opt_array array;
    mp_opt_buffer_array(buffer.get(), &array);
    std::string name = array.name;
    int32_t type = array.type;
    made.append(
        nb::make_tuple(name, type, makeArray(std::move(buffer), isTorch)));
  }
  return made;
}

nb::tuple describeValue(const mp_opt_value &value) {
  nb::list sizes;
  for (int32_t axis = 0; axis < value.rank; ++axis)
    sizes.append(value.sizes[axis]);
  return nb::make_tuple(std::string(value.name), value.type, nb::tuple(sizes),
                        value.has_default != 0);
}

//===----------------------------------------------------------------------===//
// Programs and steps
//===----------------------------------------------------------------------===//

/// Objects outlive their options: the listener goes with them.
struct Program {
  std::shared_ptr<Listener> listener;
  ProgramHandle handle;

  nb::list describe(bool isInput) const {
    nb::list values;
    size_t count = isInput ? mp_opt_program_num_inputs(handle.get())
                           : mp_opt_program_num_outputs(handle.get());
    for (size_t index = 0; index < count; ++index) {
      mp_opt_value value;
      auto get = isInput ? mp_opt_program_input : mp_opt_program_output;
      if (get(handle.get(), index, &value) == MP_OPT_STATUS_OK)
        values.append(describeValue(value));
    }
    return values;
  }

  nb::tuple run(nb::object names, nb::sequence values, nb::object prepare,
                bool isTorch) {
    Arrays arrays(names, values, prepare);
    std::vector<mp_opt_buffer *> made(mp_opt_program_num_outputs(handle.get()) +
                                      1);
    Outcome outcome;
    {
      Unlocked unlocked;
      outcome = conclude(mp_opt_program_run(handle.get(), arrays.data(),
                                            arrays.size(), made.data()),
                         listener->take());
    }
    std::vector<BufferHandle> buffers;
    for (size_t index = 0; index + 1 < made.size(); ++index)
      if (made[index])
        buffers.emplace_back(made[index]);
    if (PyErr_CheckSignals() != 0)
      throw nb::python_error();
    return give(outcome, makeArrays(std::move(buffers), isTorch));
  }
};

struct Compilation : Work {
  ProgramHandle program;

  mp_opt_status doRun() override {
    ModelHandle model;
    mp_opt_status status = source.read(options.handle.get(), model);
    if (status != MP_OPT_STATUS_OK)
      return status;
    mp_opt_program *made = nullptr;
    status = mp_opt_compile(model.get(), options.handle.get(), &made);
    program.reset(made);
    return status;
  }
};

nb::tuple compile(nb::object model, std::string name, nb::list flags) {
  auto work = std::make_shared<Compilation>();
  work->command = "compile";
  work->flags = readFlags(flags);
  work->source = readSource(model, std::move(name));
  runInterruptibly(work);
  nb::object program = nb::none();
  if (work->program)
    program =
        nb::cast(new Program{work->options.listener, std::move(work->program)},
                 nb::rv_policy::take_ownership);
  return give(work->outcome, program);
}

struct Step {
  std::shared_ptr<Listener> listener;
  StepHandle handle;

  nb::list describe(bool isInput) const {
    nb::list values;
    size_t count = isInput ? mp_opt_step_num_inputs(handle.get())
                           : mp_opt_step_num_states(handle.get());
    for (size_t index = 0; index < count; ++index) {
      mp_opt_value value;
      auto get = isInput ? mp_opt_step_input : mp_opt_step_state;
      if (get(handle.get(), index, &value) == MP_OPT_STATUS_OK)
        values.append(describeValue(value));
    }
    return values;
  }

  nb::tuple run(nb::object names, nb::sequence values, double rate,
                nb::object prepare, bool isTorch) {
    Arrays arrays(names, values, prepare);
    std::vector<mp_opt_buffer *> made(mp_opt_step_num_outputs(handle.get()) +
                                      1);
    Outcome outcome;
    {
      Unlocked unlocked;
      outcome = conclude(mp_opt_step_run(handle.get(), arrays.data(),
                                         arrays.size(), rate, made.data()),
                         listener->take());
    }
    return finish(outcome, made, isTorch);
  }

  nb::tuple getStates(bool isTorch) {
    std::vector<mp_opt_buffer *> made(mp_opt_step_num_states(handle.get()) + 1);
    Outcome outcome;
    {
      Unlocked unlocked;
      outcome = conclude(mp_opt_step_get_states(handle.get(), made.data()),
                         listener->take());
    }
    return finish(outcome, made, isTorch);
  }

  nb::tuple setStates(nb::object names, nb::sequence values, bool needsAll,
                      uint64_t count, nb::object prepare) {
    Arrays arrays(names, values, prepare);
    Outcome outcome;
    {
      Unlocked unlocked;
      outcome = conclude(mp_opt_step_set_states(handle.get(), arrays.data(),
                                                arrays.size(), needsAll, count),
                         listener->take());
    }
    return give(outcome);
  }

  nb::tuple save(std::string path, uint32_t keep) {
    Outcome outcome;
    {
      Unlocked unlocked;
      outcome = conclude(mp_opt_step_save(handle.get(), path.c_str(), keep),
                         listener->take());
    }
    return give(outcome);
  }

  nb::tuple load(std::string path) {
    Outcome outcome;
    {
      Unlocked unlocked;
      outcome = conclude(mp_opt_step_load(handle.get(), path.c_str()),
                         listener->take());
    }
    return give(outcome);
  }

private:
  static nb::tuple finish(const Outcome &outcome,
                          const std::vector<mp_opt_buffer *> &made,
                          bool isTorch) {
    std::vector<BufferHandle> buffers;
    for (size_t index = 0; index + 1 < made.size(); ++index)
      if (made[index])
        buffers.emplace_back(made[index]);
    if (PyErr_CheckSignals() != 0)
      throw nb::python_error();
    return give(outcome, makeArrays(std::move(buffers), isTorch));
  }
};

struct StepCompilation : Work {
  StepHandle step;

  mp_opt_status doRun() override {
    ModelHandle model;
    mp_opt_status status = source.read(options.handle.get(), model);
    if (status != MP_OPT_STATUS_OK)
      return status;
    mp_opt_step *made = nullptr;
    status = mp_opt_step_create(model.get(), options.handle.get(), &made);
    step.reset(made);
    return status;
  }
};

nb::tuple createStep(nb::object model, std::string name, nb::list flags) {
  auto work = std::make_shared<StepCompilation>();
  work->command = "train";
  work->flags = readFlags(flags);
  work->source = readSource(model, std::move(name));
  runInterruptibly(work);
  nb::object step = nb::none();
  if (work->step)
    step = nb::cast(new Step{work->options.listener, std::move(work->step)},
                    nb::rv_policy::take_ownership);
  return give(work->outcome, step);
}

nb::tuple setThreads(uint32_t count) {
  return give(conclude(mp_opt_set_num_threads(count)));
}

} // namespace

NB_MODULE(_mp_opt, module) {
  // Objects may still be used while the interpreter ends.
  nb::set_leak_warnings(false);
  module.def("version", &mp_opt_version);
  module.def("api_version", &mp_opt_api_version);
  module.def("convert", &convert);
  module.def("compare_models", &compareModels);
  module.def("policy", &policy);
  module.def("describe_options", &describeOptions);
  module.def("compile", &compile);
  module.def("create_step", &createStep);
  module.def("set_num_threads", &setThreads);
  module.def("num_threads", &mp_opt_num_threads);
  module.def("close", &close);
  nb::class_<Program>(module, "Program")
      .def("describe", &Program::describe)
      .def("run", &Program::run, nb::arg("names").none(), nb::arg("values"),
           nb::arg("prepare"), nb::arg("is_torch"));
  nb::class_<Step>(module, "Step")
      .def("describe", &Step::describe)
      .def("run", &Step::run, nb::arg("names").none(), nb::arg("values"),
           nb::arg("rate"), nb::arg("prepare"), nb::arg("is_torch"))
      .def("get_states", &Step::getStates)
      .def("set_states", &Step::setStates)
      .def("save", &Step::save)
      .def("load", &Step::load)
      .def(
          "count",
          [](const Step &step) { return mp_opt_step_count(step.handle.get()); })
      .def("rate", [](const Step &step) {
        return mp_opt_step_rate(step.handle.get());
      });
}
