//===- FuzzCalls.cpp - Bytes as calls of the C API ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An input is a program: each byte says which function is called, those behind
// it with what. Handles are null, or alive: to use one that is destroyed is the
// caller's mistake. What must hold: each call ends with one of the statuses,
// never the one of a bug; what fails says why and gives nothing.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include "mp-opt-c/mp_opt.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <unistd.h>

using llvm::StringRef;
using llvm::Twine;

namespace mp::fuzz {

static constexpr unsigned slots = 3;
/// Code is made this often in an input: nothing else takes long.
static constexpr unsigned maxCompilations = 2;
static constexpr unsigned maxCalls = 64;

static constexpr const char *commands[] = {"convert", "compile", "train",
                                           "convrt",  "",        nullptr};
static constexpr const char *names[] = {
    "mixed-bf16",  "mixed-fp16",   "precision",
    "train",       "loss",         "optimizer",
    "lr",          "lr-schedule",  "warmup",
    "steps",       "dim",          "allow",
    "deny-node",   "explain",      "strict",
    "accumulate",  "clip-norm",    "threads",
    "kernels",     "in-place",     "emulate",
    "annotate",    "weight-decay", "model-check",
    "opset-limit", "freeze",       "group",
    "verify",      "rtol",         "assign",
    "device",      "no-such-one",  "",
    nullptr};
static constexpr const char *values[] = {"softmax-cross-entropy",
                                         "mse",
                                         "adamw",
                                         "sgd:momentum=0.9",
                                         "0.05",
                                         "-1",
                                         "1e400",
                                         "nan",
                                         "batch=8",
                                         "batch=0",
                                         "batch=-3",
                                         "batch=99999999999999999999",
                                         "=",
                                         "x",
                                         "cosine",
                                         "linear",
                                         "100",
                                         "18446744073709551616",
                                         "fp16",
                                         "Gemm",
                                         "head.*",
                                         "(",
                                         "strict",
                                         "avx2",
                                         "direct",
                                         "cpu",
                                         "",
                                         nullptr};
static constexpr StringRef models[] = {
    "<ir_version: 8, opset_import: [\"\" : 18]>\n"
    "g (float[batch, 4] x) => (float[batch, 3] y) <float[4, 3] w = {1, 2, 3, "
    "4, 5, 6, 7, 8, 9, 10, 11, 12}> { h = MatMul(x, w) y = Relu(h) }\n",
    "<ir_version: 8, opset_import: [\"\" : 18]>\n"
    "g (float[2] x, int64[2] i) => (float[2] y) { y = Gather(x, i) }\n",
    "<ir_version: 8, opset_import: [\"\" : 18, \"my\" : 1]>\n"
    "g (float[2] x) => (float[2] y) { y = my.Strange(x) }\n",
    "module {}", ""};
static constexpr const char *arrayNames[] = {"x", "i", "labels", "w",
                                             "y", "",  nullptr};
static constexpr const char *paths[] = {
    "m.onnx",   "m.onnxtxt",  "m.mlir", "states.npz", "states.safetensors",
    "a-folder", "no/such/it", "",       nullptr};

namespace {

/// Destroys what it has when it gets another.
template <typename T, void (*destroy)(T *)> class Handles {
public:
  ~Handles() {
    for (T *one : all)
      destroy(one);
  }
  void put(unsigned index, T *other) {
    destroy(all[index]);
    all[index] = other;
  }
  /// One slot more is always null.
  T *get(unsigned index) const { return index < slots ? all[index] : nullptr; }

private:
  std::array<T *, slots> all = {};
};

class Calls {
public:
  explicit Calls(StringRef bytes) : bytes(bytes) {}
  void run();

private:
  unsigned next(unsigned bound);
  std::string takeText();
  template <size_t count> const char *choose(const char *const (&table)[count]);
  void check(mp_opt_status status, bool gave, const char *what);

  void changeOptions();
  void useModel();
  void useProgram();
  void useStep();
  std::vector<mp_opt_array> makeArrays();
  void readBuffers(std::vector<mp_opt_buffer *> &buffers, mp_opt_status status,
                   const char *what);
  mp_opt_options *someOptions() { return options.get(next(slots + 1)); }
  mp_opt_model *someModel() { return handles.get(next(slots + 1)); }

  StringRef bytes;
  unsigned compilations = 0;
  Handles<mp_opt_options, mp_opt_options_destroy> options;
  Handles<mp_opt_model, mp_opt_model_destroy> handles;
  Handles<mp_opt_program, mp_opt_program_destroy> programs;
  Handles<mp_opt_step, mp_opt_step_destroy> steps;
  std::vector<int64_t> sizes;
  std::vector<char> data;
  std::string text;
};

} // namespace

//===----------------------------------------------------------------------===//
// The meaning of bytes
//===----------------------------------------------------------------------===//

unsigned Calls::next(unsigned bound) {
  if (bytes.empty())
    return 0;
  unsigned byte = static_cast<unsigned char>(bytes.front());
  bytes = bytes.drop_front();
  return byte % bound;
}

std::string Calls::takeText() {
  size_t length = std::min<size_t>(next(256), bytes.size());
  std::string taken = bytes.take_front(length).str();
  bytes = bytes.drop_front(length);
  return taken;
}

template <size_t count>
const char *Calls::choose(const char *const (&table)[count]) {
  unsigned index = next(count + 1);
  if (index < count)
    return table[index];
  text = takeText();
  return text.c_str();
}

void Calls::check(mp_opt_status status, bool gave, const char *what) {
  switch (status) {
  case MP_OPT_STATUS_OK:
  case MP_OPT_STATUS_OUTSIDE:
    return;
  case MP_OPT_STATUS_BAD_INPUT:
  case MP_OPT_STATUS_USAGE:
  case MP_OPT_STATUS_NOT_SUPPORTED:
  case MP_OPT_STATUS_DEVICE_FAILED:
    if (gave)
      fail(Twine(what) + " failed, and gives something");
    if (!*mp_opt_error_text())
      fail(Twine(what) + " failed without a reason");
    return;
  case MP_OPT_STATUS_INTERNAL:
    break;
  }
  fail(Twine(what) + " ended with the status " + Twine(int(status)) + ": " +
       mp_opt_error_text());
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void Calls::changeOptions() {
  unsigned index = next(slots);
  if (next(3) == 0) {
    mp_opt_options *made = nullptr;
    check(mp_opt_options_create(choose(commands), &made), made, "create");
    options.put(index, made);
    return;
  }
  mp_opt_options *some = someOptions();
  const char *name = choose(names);
  // Neither a file of others' is read, nor a program started.
  std::string kept = name ? name : "";
  const char *value = choose(values);
  if (StringRef(kept).contains("plugin") || (value && value[0] == '@'))
    return;
  check(mp_opt_options_set(some, name ? kept.c_str() : nullptr, value), false,
        "options_set");
  const char *json = nullptr;
  if (next(8) == 0)
    check(mp_opt_options_describe(some, &json), false, "describe");
}

void Calls::useModel() {
  unsigned index = next(slots);
  mp_opt_model *made = nullptr;
  mp_opt_bytes *written = nullptr;
  mp_opt_report *report = nullptr;
  mp_opt_status status;
  int differs = 0;
  switch (next(7)) {
  case 0: {
    unsigned which = next(std::size(models) + 1);
    std::string content =
        which < std::size(models) ? models[which].str() : takeText();
    if (next(4) == 0 && !content.empty())
      content[next(256) % content.size()] ^= char(1 << next(8));
    status = mp_opt_model_parse(content.data(), content.size(),
                                next(4) ? nullptr : choose(paths),
                                someOptions(), &made);
    check(status, made, "model_parse");
    handles.put(index, made);
    break;
  }
  case 1: {
    mp_opt_model *model = someModel();
    const char *path = choose(paths);
    check(mp_opt_model_write(model, path, nullptr), false, "model_write");
    break;
  }
  case 2: {
    const char *path = choose(paths);
    check(mp_opt_model_read(path, nullptr, &made), made, "model_read");
    handles.put(index, made);
    break;
  }
  case 3:
    status = mp_opt_model_bytes(someModel(), &written);
    check(status, written, "model_bytes");
    break;
  case 4: {
    mp_opt_model *model = someModel();
    status = mp_opt_convert(model, someOptions(),
                            next(2) ? "html,json,overlay" : nullptr, &report);
    check(status, report, "convert");
    for (const char *kind : {"summary", "json", "explain", "html", "no"})
      mp_opt_report_text(report, kind);
    break;
  }
  case 5: {
    mp_opt_model *model = someModel();
    status = mp_opt_diff(model, someModel(), int(next(2)), &written, &differs);
    check(status, written, "diff");
    break;
  }
  default:
    status = mp_opt_policy_text(someOptions(), &written);
    check(status, written, "policy_text");
    break;
  }
  mp_opt_bytes_destroy(written);
  mp_opt_report_destroy(report);
}

/// Makes arrays of any type, rank and length; their memory is as long as they
/// say.
std::vector<mp_opt_array> Calls::makeArrays() {
  static constexpr int64_t some[] = {0, 1,  2,         4,
                                     8, -1, INT64_MAX, int64_t(1) << 32};
  static constexpr int32_t types[] = {1, 7, 10, 16, 9, 11, 8, 0, -1, 99};
  data.assign(4096, char(next(3)));
  sizes.assign(64, 0);
  for (unsigned index = 0; index < 4; ++index)
    sizes[index] = some[next(std::size(some))];
  std::vector<mp_opt_array> arrays(next(4));
  for (mp_opt_array &array : arrays) {
    // The common case is a good one.
    if (next(2)) {
      sizes[62] = 2, sizes[63] = 4;
      array = {nullptr, 1, 2, &sizes[62], data.data(), 32};
      continue;
    }
    array.name = arrayNames[next(std::size(arrayNames))];
    array.type = types[next(std::size(types))];
    array.rank = int32_t(next(8)) - 1;
    array.sizes = next(8) ? sizes.data() : nullptr;
    array.data = next(8) ? data.data() + next(2) : nullptr;
    array.bytes = next(2) ? 8 * next(256) : UINT64_MAX >> next(64);
    if (array.bytes > data.size() - 1)
      array.bytes = next(2) ? 0 : data.size() - 1;
  }
  return arrays;
}

void Calls::readBuffers(std::vector<mp_opt_buffer *> &buffers,
                        mp_opt_status status, const char *what) {
  for (mp_opt_buffer *buffer : buffers) {
    check(status, buffer, what);
    mp_opt_array array;
    if (buffer && mp_opt_buffer_array(buffer, &array))
      fail("a buffer gives no array");
    mp_opt_buffer_destroy(buffer);
  }
  check(status, false, what);
}

void Calls::useProgram() {
  unsigned index = next(slots);
  if (next(3) == 0 && compilations < maxCompilations) {
    ++compilations;
    mp_opt_program *made = nullptr;
    mp_opt_model *model = someModel();
    check(mp_opt_compile(model, someOptions(), &made), made, "compile");
    return programs.put(index, made);
  }
  mp_opt_program *program = programs.get(next(slots + 1));
  mp_opt_value value;
  check(mp_opt_program_input(program, next(4), &value), false, "input");
  check(mp_opt_program_output(program, next(4), next(8) ? &value : nullptr),
        false, "output");
  std::vector<mp_opt_array> arrays = makeArrays();
  std::vector<mp_opt_buffer *> outputs(mp_opt_program_num_outputs(program));
  mp_opt_status status =
      mp_opt_program_run(program, arrays.data(), arrays.size(), outputs.data());
  readBuffers(outputs, status, "program_run");
}

void Calls::useStep() {
  unsigned index = next(slots);
  if (next(3) == 0 && compilations < maxCompilations) {
    ++compilations;
    mp_opt_step *made = nullptr;
    mp_opt_model *model = someModel();
    check(mp_opt_step_create(model, someOptions(), &made), made, "step_create");
    return steps.put(index, made);
  }
  static constexpr double rates[] = {0.1, NAN, -1, INFINITY, 0, 1e300};
  mp_opt_step *step = steps.get(next(slots + 1));
  mp_opt_value value;
  check(mp_opt_step_input(step, next(4), &value), false, "step_input");
  check(mp_opt_step_state(step, next(8), &value), false, "step_state");
  mp_opt_step_output_name(step, next(8));
  std::vector<mp_opt_array> arrays = makeArrays();
  std::vector<mp_opt_buffer *> outputs(mp_opt_step_num_outputs(step));
  std::vector<mp_opt_buffer *> states(mp_opt_step_num_states(step));
  switch (next(5)) {
  case 0:
    return readBuffers(states, mp_opt_step_get_states(step, states.data()),
                       "step_get_states");
  case 1:
    return check(mp_opt_step_set_states(step, arrays.data(), arrays.size(),
                                        int(next(2)), next(256)),
                 false, "step_set_states");
  case 2:
    return check(mp_opt_step_save(step, choose(paths), next(3)), false,
                 "step_save");
  case 3:
    return check(mp_opt_step_load(step, choose(paths)), false, "step_load");
  default:
    mp_opt_status status =
        mp_opt_step_run(step, arrays.data(), arrays.size(),
                        rates[next(std::size(rates))], outputs.data());
    return readBuffers(outputs, status, "step_run");
  }
}

void Calls::run() {
  for (unsigned count = 0; count < maxCalls && !bytes.empty(); ++count) {
    switch (next(6)) {
    case 0:
    case 1:
      changeOptions();
      break;
    case 2:
    case 3:
      useModel();
      break;
    case 4:
      useProgram();
      break;
    default:
      useStep();
      break;
    }
  }
}

/// Files that calls write are left in a folder of this process.
static void enterFolder() {
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("mp-opt-calls", folder) ||
      ::chdir(folder.c_str()))
    fail("cannot make a folder");
  static std::string left = folder.str().str();
  std::atexit([] { llvm::sys::fs::remove_directories(left); });
}

} // namespace mp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const bool isReady = [] {
    mp::fuzz::enterFolder();
    return mp_opt_set_num_threads(1) == MP_OPT_STATUS_OK;
  }();
  if (isReady)
    mp::fuzz::Calls({reinterpret_cast<const char *>(data), size}).run();
  return 0;
}
