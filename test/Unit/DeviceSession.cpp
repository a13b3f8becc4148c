//===- DeviceSession.cpp - Models on the emulated device ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests of calls, states and errors; of allocations that fail for lack of
// memory; of driver calls that fail; and of devices that are too old. Nothing
// may be leaked, and the process continues.
//
//===----------------------------------------------------------------------===//

#include "SessionExample.h"

#include <functional>

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static void checkCalls() {
  Example example;
  expect(example.create() == MP_OK, mp_last_error());
  mp_session *session = example.session;
  Floats x(numElements, 3), w(numElements, 1), y(numElements), z(10);
  expectError(mp_session_run(session, 0), MP_BAD_INPUT, "input 'x': no data",
              "without inputs");
  expectError(mp_session_get(session, 1, w.data()), MP_BAD_INPUT,
              "input 'w': no data", "a state without data");
  expectError(mp_session_set(session, 2, w.data()), MP_BAD_INPUT,
              "found input 2, expected one of 2", "a wrong input");
  expectError(mp_session_get_output(session, 3, w.data()), MP_BAD_INPUT,
              "found output 3, expected one of 3", "a wrong output");
  expect(example.setInputs(x, w) == MP_OK, mp_last_error());
  // 6 is added twice, with no copy of the state in between.
  int64_t number = (int64_t(1) << 33) + 5;
  for (int64_t call : {int64_t(7), number})
    expect(mp_session_run(session, call) == MP_OK, mp_last_error());
  expect(mp_session_get_output(session, 0, y.data()) == MP_OK, "y");
  expect(mp_session_get_output(session, 1, w.data()) == MP_OK, "w_new");
  expect(mp_session_get_output(session, 2, z.data()) == MP_OK, "z");
  expect(isAll(y, 0) && isAll(w, 1), "a copy has come before it is waited for");
  expect(mp_session_wait(session) == MP_OK, mp_last_error());
  expect(isAll(w, 13) && isAll(z, 1), "w or z is wrong");
  expect(isAll(y, 13 + static_cast<float>(number)), "y is wrong");
  // A state that the host sets.
  w.assign(numElements, 100);
  expect(mp_session_set(session, 1, w.data()) == MP_OK, "w");
  expect(mp_session_run(session, 1) == MP_OK, "a third call");
  Floats state(numElements);
  expect(mp_session_get(session, 1, state.data()) == MP_OK, "the state");
  expect(mp_session_get_output(session, 0, y.data()) == MP_OK, "y");
  expect(mp_session_wait(session) == MP_OK, mp_last_error());
  expect(isAll(state, 106) && isAll(y, 107), "the third call is wrong");
  uint64_t bytes = 64 + 1024 + 4 * 400 + 40;
  expect(mp_session_bytes(session) == bytes,
         Twine(mp_session_bytes(session)) + " bytes");
}

/// A launch that is marked for new states runs once after they are set, and not
/// in later calls.
static void checkNewStates() {
  mp::DevicePlan plan = makeExample();
  // w += x * k.
  plan.records[1].whenSet = true;
  Example example(plan);
  expect(example.create() == MP_OK, mp_last_error());
  Floats x(numElements, 3), w(numElements, 1);
  expect(example.setInputs(x, w) == MP_OK, mp_last_error());
  auto expectState = [&](int expected, const Twine &what) {
    for (int64_t number = 0; number < 2; ++number)
      expect(mp_session_run(example.session, number) == MP_OK, mp_last_error());
    expect(mp_session_get(example.session, 1, w.data()) == MP_OK, what);
    expect(mp_session_wait(example.session) == MP_OK, mp_last_error());
    expect(isAll(w, static_cast<float>(expected)),
           what + ": found " + Twine(int(w[0])) + ", expected " +
               Twine(expected));
  };
  expectState(7, "a new state");
  expect(mp_session_set(example.session, 0, x.data()) == MP_OK, "x");
  expectState(7, "a new batch");
  w.assign(numElements, 100);
  expect(mp_session_set(example.session, 1, w.data()) == MP_OK, "w");
  expectState(106, "another state");
}

static void checkErrorWord() {
  Example example;
  expect(example.create() == MP_OK, mp_last_error());
  Floats x(numElements, 1), w(numElements, 0);
  x[42] = -17;
  expect(example.setInputs(x, w) == MP_OK, mp_last_error());
  // Two calls fail, which is reported once; a call without the fault succeeds.
  for (int64_t number = 0; number < 2; ++number)
    expect(mp_session_run(example.session, number) == MP_OK, mp_last_error());
  expectError(mp_session_wait(example.session), MP_BAD_VALUE,
              "node 'a' (Log-13): x[42] is -17, expected no negative number",
              "a value out of range");
  expect(mp_session_wait(example.session) == MP_OK, mp_last_error());
  x[42] = 1;
  expect(mp_session_set(example.session, 0, x.data()) == MP_OK, "x");
  expect(mp_session_run(example.session, 3) == MP_OK, mp_last_error());
  expect(mp_session_wait(example.session) == MP_OK, mp_last_error());
}

/// Constants, arena and outputs that have no bytes.
static void checkEmpty() {
  mp::DevicePlan plan;
  plan.inputs = {{"x", 0, -1}};
  plan.outputs = {{"y", 0, -1}};
  plan.constants = {{"", 0, -1}};
  Example example(plan);
  const void *none[1] = {nullptr};
  example.options.constants = none;
  expect(example.create() == MP_OK, mp_last_error());
  expect(mp_session_set(example.session, 0, nullptr) == MP_OK, "no bytes");
  expect(mp_session_run(example.session, 0) == MP_OK, mp_last_error());
  expect(mp_session_get_output(example.session, 0, nullptr) == MP_OK, "y");
  expect(mp_session_wait(example.session) == MP_OK, mp_last_error());
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

static void checkMemory() {
  mp_emulated_device device = mp_emulated_get_device(), small = device;
  uint64_t total = 64 + 1024 + 4 * 400 + 40;
  unsigned failures = 0;
  for (small.memory = 0; small.memory < total; small.memory += 8) {
    mp_emulated_set_device(&small);
    Example example;
    expectError(example.create(), MP_OUT_OF_MEMORY,
                "the model needs 2728 in all", "too little memory");
    expect(!example.session, "there is a session");
    expectNothingLeft("too little memory");
    ++failures;
  }
  expect(failures == total / 8, "memory is never short");
  small.memory = total;
  mp_emulated_set_device(&small);
  Example enough;
  expect(enough.create() == MP_OK, mp_last_error());
  mp_emulated_set_device(&device);
}

/// Each call of the driver fails once, until all is read.
static void checkFailures() {
  Floats x(numElements, 3), w(numElements, 1), y(numElements);
  auto use = [&](Example &example) -> int32_t {
    int32_t code = example.create();
    code = code ? code : example.setInputs(x, w);
    code = code ? code : mp_session_run(example.session, int64_t(1) << 40);
    code = code ? code : mp_session_get_output(example.session, 0, y.data());
    return code ? code : mp_session_wait(example.session);
  };
  int64_t before = mp_emulated_calls(), all = 0, counted = 0;
  {
    Example example;
    expect(use(example) == MP_OK, mp_last_error());
    all = mp_emulated_calls() - before;
  }
  for (int64_t call = 0; call < all; ++call) {
    Example example;
    mp_emulated_fail(call, MP_CUDA_LAUNCH_FAILED);
    int32_t code = use(example);
    std::string text = mp_last_error();
    mp_session_destroy(example.session);
    example.session = nullptr;
    mp_emulated_fail(-1, 0);
    // A failure to leave a context is not an error of the model.
    if (code == MP_OK) {
      expectNothingLeft("call " + Twine(call));
      continue;
    }
    ++counted;
    expect(code == MP_DEVICE_FAILED &&
               StringRef(text).contains("CUDA_ERROR_LAUNCH_FAILED") &&
               StringRef(text).contains("cu"),
           "call " + Twine(call) + " fails: " + Twine(code) + " '" + text +
               "'");
    expectNothingLeft("call " + Twine(call) + " has failed: " + text);
  }
  expect(counted > 30, "found " + Twine(counted) + " calls that fail");
}

static void checkDevice(const std::function<void(mp_emulated_device &)> &change,
                        const mp::DevicePlan &plan, StringRef text) {
  mp_emulated_device device = mp_emulated_get_device(), other = device;
  change(other);
  mp_emulated_set_device(&other);
  Example example(plan);
  expectError(example.create(), MP_NO_DEVICE, text, "a device");
  expectNothingLeft(text);
  mp_emulated_set_device(&device);
}

static void checkDevices() {
  auto nothing = [](mp_emulated_device &) {};
  mp::DevicePlan plan = makeExample();
  plan.images[0] = {mp::DevicePlan::ImageKind::PTX, 80, false, 82,
                    ".version 8.2"};
  checkDevice([](mp_emulated_device &device) { device.major = 7; }, plan,
              "device 'emulated' has compute capability 7.0, the kernels are "
              "made for sm_80 and later");
  checkDevice([](mp_emulated_device &device) { device.version = 12010; }, plan,
              "the driver is for CUDA 12.1, but PTX 8.2 needs one for CUDA "
              "12.2 or later");
  plan.images[0].isSpecific = true;
  checkDevice(nothing, plan, "the kernels are made for sm_80a alone");
  plan.images[0].kind = mp::DevicePlan::ImageKind::Cubin;
  plan.images[0].isSpecific = false;
  checkDevice(nothing, plan, "the kernels are made for sm_80 alone");
  plan.images.push_back(
      {mp::DevicePlan::ImageKind::PTX, 100, false, 86, ".version 8.6", 0});
  checkDevice(nothing, plan,
              "the kernels are made for sm_80 alone, sm_100 and later");
  plan = makeExample();
  plan.kernels[0].shared = 300000;
  checkDevice(nothing, plan,
              "a block has 232448 bytes of shared memory, kernel 'step' needs "
              "300000");
  Example example;
  example.options.device = 1;
  expectError(example.create(), MP_NO_DEVICE, "found 1 devices, expected",
              "a second device");
  mp_driver real = *mp_emulated_driver();
  real.is_emulated = 0;
  Example emulated;
  emulated.options.driver = &real;
  expectError(emulated.create(), MP_NO_DEVICE,
              "the kernels are made for emulation", "another driver");
  expectNothingLeft("devices");
}

static void checkPlans() {
  Example damaged;
  damaged.packed[1] = 7;
  expectError(damaged.create(), MP_BAD_PLAN,
              "the plan of the model: it is of another version", "a plan");
  mp::DevicePlan plan = makeExample();
  plan.kernels[1].name = "subtract";
  Example missing(plan);
  expectError(missing.create(), MP_DEVICE_FAILED,
              "the module has no kernel 'subtract'", "a missing kernel");
  plan = makeExample();
  plan.kernels[0].threads = plan.records[1].block[0] = 65;
  Example large(plan);
  expectError(large.create(), MP_DEVICE_FAILED,
              "recording kernel step of node 'a' (Log-13)", "a large block");
  Example none;
  none.options.emulated_image = nullptr;
  expectError(none.create(), MP_BAD_PLAN, "there are no emulated kernels",
              "no kernels");
  expectNothingLeft("plans");
}

/// A kernel that breaks the rules ends the session, not the process.
static void checkFault() {
  mp::DevicePlan plan = makeExample();
  plan.kernels[0] = {"leave", 0, 50, 0, 1};
  plan.records[1].places.resize(1);
  Example example(plan);
  expect(example.create() == MP_OK, mp_last_error());
  Floats x(numElements, 3), w(numElements, 1);
  expect(example.setInputs(x, w) == MP_OK, mp_last_error());
  expect(mp_session_run(example.session, 0) == MP_OK, mp_last_error());
  expectError(mp_session_wait(example.session), MP_DEVICE_FAILED,
              "leave has written past the end of memory", "a kernel");
  expectError(mp_session_set(example.session, 0, x.data()), MP_DEVICE_FAILED,
              "the device has failed before", "after that");
  mp_session_destroy(example.session);
  example.session = nullptr;
  expectNothingLeft("a kernel that failed");
  checkNewStates();
  checkErrorWord();
}

//===----------------------------------------------------------------------===//
// The emulated driver
//===----------------------------------------------------------------------===//

namespace {
/// A context, a stream and memory, without a session.
struct Raw {
  Raw() {
    driver.cuInit(0);
    driver.cuDevicePrimaryCtxRetain(&context, 0);
    driver.cuCtxPushCurrent_v2(context);
    driver.cuStreamCreate(&stream, MP_CUDA_STREAM_NON_BLOCKING);
    driver.cuMemAlloc_v2(&memory, 400);
    driver.cuModuleLoadDataEx(&module, &image, 0, nullptr, nullptr);
    driver.cuModuleGetFunction(&function, module, "leave");
  }
  ~Raw() {
    driver.cuStreamSynchronize(stream);
    driver.cuMemFree_v2(memory);
    driver.cuModuleUnload(module);
    driver.cuStreamDestroy_v2(stream);
    driver.cuCtxPopCurrent_v2(&context);
    driver.cuDevicePrimaryCtxRelease_v2(0);
  }
  int32_t launch(uint32_t grid, uint32_t block, uint32_t shared,
                 mp_device_address address) {
    void *parameters[] = {&address};
    return driver.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared,
                                 stream, parameters, nullptr);
  }
  /// Checks the driver's text of the last error.
  void expect(int32_t found, int32_t code, StringRef text) const {
    const char *said = "";
    driver.cuGetErrorString(found, &said);
    ::expect(found == code && StringRef(said).contains(text),
             "found " + Twine(found) + " '" + said + "', expected " +
                 Twine(code) + " '" + text + "'");
  }

  const mp_driver &driver = *mp_emulated_driver();
  void *context, *stream, *module, *function;
  mp_device_address memory;
};
} // namespace

static void checkRules() {
  Raw raw;
  const mp_driver &driver = raw.driver;
  raw.expect(raw.launch(1, 1, 50000, raw.memory), MP_CUDA_INVALID_VALUE,
             "were not asked for by cuFuncSetAttribute");
  raw.expect(
      driver.cuFuncSetAttribute(raw.function, MP_CUDA_FUNCTION_SHARED, 300000),
      MP_CUDA_INVALID_VALUE, "are too many");
  raw.expect(raw.launch(0, 1, 0, raw.memory), MP_CUDA_INVALID_VALUE, "a grid");
  raw.expect(raw.launch(1, 65, 0, raw.memory), MP_CUDA_INVALID_VALUE,
             "which it is not made for");
  raw.expect(raw.launch(1, 1, 0, raw.memory + 400), MP_CUDA_INVALID_VALUE,
             "parameter 0 points to no memory of the device");
  Floats data(101, 1);
  raw.expect(
      driver.cuMemcpyHtoDAsync_v2(raw.memory, data.data(), 404, raw.stream),
      MP_CUDA_INVALID_VALUE, "leaves the memory");
  raw.expect(
      driver.cuMemcpyDtoDAsync_v2(raw.memory, raw.memory + 4, 8, raw.stream),
      MP_CUDA_INVALID_VALUE, "is over itself");
  raw.expect(driver.cuMemFree_v2(raw.memory + 4), MP_CUDA_INVALID_VALUE,
             "it was not allocated");
  raw.expect(driver.cuStreamSynchronize(&data), MP_CUDA_INVALID_HANDLE,
             "no such stream");
  raw.expect(driver.cuGraphLaunch(&data, raw.stream), MP_CUDA_INVALID_HANDLE,
             "no such graph");
  // New memory is not zero, and an asynchronous copy arrives later.
  driver.cuMemcpyDtoHAsync_v2(data.data(), raw.memory, 400, raw.stream);
  expect(data[0] == 1, "a copy is done at once");
  raw.expect(driver.cuMemFree_v2(raw.memory), MP_CUDA_INVALID_VALUE,
             "while work is in line");
  driver.cuStreamSynchronize(raw.stream);
  expect(data[0] != data[0], "new memory has numbers in it");
}

static void checkRecording() {
  Raw raw;
  const mp_driver &driver = raw.driver;
  void *graph = nullptr;
  float number = 0;
  driver.cuStreamBeginCapture_v2(raw.stream, 0);
  raw.expect(driver.cuMemcpyHtoDAsync_v2(raw.memory, &number, 4, raw.stream),
             MP_CUDA_CAPTURE_UNSUPPORTED, "while a graph is recorded");
  raw.expect(raw.launch(1, 1, 0, raw.memory), MP_CUDA_CAPTURE_INVALIDATED,
             "the recording has failed");
  raw.expect(driver.cuStreamEndCapture(raw.stream, &graph),
             MP_CUDA_CAPTURE_INVALIDATED, "the recording has failed");
  expect(!graph, "a graph comes out of it");
  driver.cuStreamBeginCapture_v2(raw.stream, 0);
  raw.expect(driver.cuStreamSynchronize(raw.stream),
             MP_CUDA_CAPTURE_UNSUPPORTED, "cuStreamSynchronize while");
  driver.cuStreamEndCapture(raw.stream, &graph);
  // A graph runs as often as it is launched, also when it has gone.
  driver.cuStreamBeginCapture_v2(raw.stream, 0);
  raw.launch(1, 1, 0, raw.memory);
  expect(driver.cuStreamEndCapture(raw.stream, &graph) == 0, "a graph");
  void *executable = nullptr;
  driver.cuGraphInstantiateWithFlags(&executable, graph, 0);
  driver.cuGraphDestroy(graph);
  raw.expect(driver.cuGraphDestroy(graph), MP_CUDA_INVALID_HANDLE,
             "no such graph");
  driver.cuGraphLaunch(executable, raw.stream);
  driver.cuGraphExecDestroy(executable);
  driver.cuMemcpyDtoHAsync_v2(&number, raw.memory + 4, 4, raw.stream);
  driver.cuStreamSynchronize(raw.stream);
  expect(number == 1, "a graph does nothing");
}

int main() {
  checkCalls();
  checkErrorWord();
  checkEmpty();
  expectNothingLeft("calls");
  checkMemory();
  checkFailures();
  checkDevices();
  checkPlans();
  checkFault();
  checkRules();
  checkRecording();
  expectNothingLeft("the end");
  return isGood ? 0 : 1;
}
