//===- NextInputs.cpp - Inputs copied during the call before --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests of copies on a second stream, which the emulated driver does as late
// and as early as events allow. Each wait is left out once, which must give
// wrong results. Memory may be short, and each call of the driver may fail.
//
//===----------------------------------------------------------------------===//

#include "SessionExample.h"

namespace {
/// Bytes of x before the elements that the kernels read: all of it is copied.
constexpr uint64_t skippedBytes = MP_MAX_DIRECT_BYTES;
constexpr size_t largeElements = skippedBytes / sizeof(float) + numElements;
constexpr uint64_t largeBytes = largeElements * sizeof(float);

enum class Order { Late, Early };

/// The wait that a driver ignores.
enum class Fault { None, ModelWaits, CopyWaits, HostWaits };
Fault fault = Fault::None;
/// The stream that was created first is the model's.
void *modelStream = nullptr;
} // namespace

/// The example with a large input x: w += 2 * x, y = w + the call's number.
static mp::DevicePlan makeLargeExample() {
  mp::DevicePlan plan = makeExample();
  plan.inputs[0].bytes = largeBytes;
  for (mp::DevicePlan::Record &record : plan.records)
    for (mp::DevicePlan::Place &place : record.places)
      if (place.space == mp::DevicePlan::Space::Input && place.index == 0)
        place.offset = skippedBytes;
  return plan;
}

static int32_t createStream(void **stream, uint32_t flags) {
  int32_t error = mp_emulated_driver()->cuStreamCreate(stream, flags);
  if (!modelStream)
    modelStream = *stream;
  return error;
}

static int32_t waitEvent(void *stream, void *event, uint32_t flags) {
  Fault ignored = stream == modelStream ? Fault::ModelWaits : Fault::CopyWaits;
  if (fault == ignored)
    return 0;
  return mp_emulated_driver()->cuStreamWaitEvent(stream, event, flags);
}

static int32_t synchronizeEvent(void *event) {
  if (fault == Fault::HostWaits)
    return 0;
  return mp_emulated_driver()->cuEventSynchronize(event);
}

namespace {
/// A session whose x is set during the call before, by a driver with a fault.
class Training {
public:
  explicit Training(Order order) : example(makeLargeExample()) {
    mp_emulated_set_early(order == Order::Early);
    modelStream = nullptr;
    faulty = *mp_emulated_driver();
    faulty.cuStreamCreate = createStream;
    faulty.cuStreamWaitEvent = waitEvent;
    faulty.cuEventSynchronize = synchronizeEvent;
    example.options.driver = &faulty;
    expect(example.create() == MP_OK, mp_last_error());
    expect(mp_session_prepare_next(example.session) == MP_OK, mp_last_error());
  }
  ~Training() {
    // A fault may leave work that refers to freed memory.
    mp_session_wait(example.session);
    mp_session_finish_next(example.session);
  }

  /// Makes calls with x = 1, 2, ..., and returns the last y. The host's data
  /// change as soon as they may.
  float run(unsigned calls, bool waits) {
    mp_session *session = example.session;
    Floats x(largeElements, 1), w(numElements, 0), y(numElements, -1);
    expect(example.setInputs(x, w) == MP_OK, mp_last_error());
    // `x` and `w` are read until then.
    expect(mp_session_run(session, 0) == MP_OK &&
               mp_session_wait(session) == MP_OK,
           mp_last_error());
    for (unsigned call = 1; call < calls; ++call) {
      x.assign(largeElements, static_cast<float>(call + 1));
      expect(mp_session_set_next(session, 0, x.data()) == MP_OK,
             mp_last_error());
      x.assign(largeElements, 1000);
      if (waits)
        expect(mp_session_wait(session) == MP_OK, mp_last_error());
      expect(mp_session_run(session, 0) == MP_OK, mp_last_error());
    }
    expect(mp_session_get_output(session, 0, y.data()) == MP_OK &&
               mp_session_wait(session) == MP_OK,
           mp_last_error());
    return isAll(y, y[0]) ? y[0] : -1;
  }

  Example example;

private:
  mp_driver faulty;
};
} // namespace

/// 2 * (1 + 2 + ... + calls).
static float getExpected(unsigned calls) {
  return static_cast<float>(calls * (calls + 1));
}

static void checkCalls() {
  for (Order order : {Order::Late, Order::Early})
    for (bool waits : {false, true}) {
      Training training(order);
      expect(training.run(7, waits) == getExpected(7), "a sum is wrong");
    }
  expectNothingLeft("calls");
}

/// Counts the orders and ways of waiting in which results are wrong.
static unsigned countWrong(Fault planted) {
  unsigned wrong = 0;
  for (Order order : {Order::Late, Order::Early})
    for (bool waits : {false, true}) {
      Training training(order);
      fault = planted;
      wrong += training.run(7, waits) != getExpected(7);
      fault = Fault::None;
    }
  return wrong;
}

static void checkFaults() {
  expect(countWrong(Fault::None) == 0, "results are wrong without a fault");
  expect(countWrong(Fault::ModelWaits) > 0,
         "nobody notices that a call does not wait for its input");
  expect(countWrong(Fault::CopyWaits) > 0,
         "nobody notices that a copy does not wait for the call before");
  expect(countWrong(Fault::HostWaits) > 0,
         "nobody notices that the host does not wait for a slot");
  mp_emulated_set_early(0);
  expectNothingLeft("faults");
}

/// Inputs that were set, and then set in another way or dropped.
static void checkDropped() {
  Example example(makeLargeExample());
  expect(example.create() == MP_OK, mp_last_error());
  mp_session *session = example.session;
  Floats x(largeElements, 1), other(largeElements, 10), w(numElements, 0);
  expect(!mp_session_takes_next(session, 0), "x is taken");
  expectError(mp_session_set_next(session, 0, x.data()), MP_BAD_INPUT,
              "input 'x' cannot be set for the next call", "without buffers");
  uint64_t before = mp_session_bytes(session);
  for (int again = 0; again < 2; ++again)
    expect(mp_session_prepare_next(session) == MP_OK, mp_last_error());
  expect(mp_session_bytes(session) == before + largeBytes,
         "bytes of the buffer are not counted");
  expect(mp_session_takes_next(session, 0) &&
             !mp_session_takes_next(session, 1) &&
             !mp_session_takes_next(session, 2),
         "other inputs than x are taken");
  expectError(mp_session_set_next(session, 1, w.data()), MP_BAD_INPUT,
              "input 'w' cannot be set", "a state");
  expectError(mp_session_set_next(session, 2, w.data()), MP_BAD_INPUT,
              "found input 2, expected one of 2", "a wrong input");
  expect(mp_session_set(session, 1, w.data()) == MP_OK, mp_last_error());
  // Without data that were not dropped there is no call.
  expect(mp_session_set_next(session, 0, x.data()) == MP_OK, mp_last_error());
  expect(mp_session_finish_next(session) == MP_OK, mp_last_error());
  expectError(mp_session_run(session, 0), MP_BAD_INPUT, "input 'x': no data",
              "data that were dropped");
  auto expectSum = [&](float expected, const Twine &what) {
    expect(mp_session_run(session, 0) == MP_OK, mp_last_error());
    expect(mp_session_get(session, 1, w.data()) == MP_OK, mp_last_error());
    expect(mp_session_wait(session) == MP_OK, mp_last_error());
    expect(isAll(w, expected), what + ": found " + Twine(int(w[0])));
  };
  // The first data may come in this way, and the newest ones count.
  expect(mp_session_set_next(session, 0, other.data()) == MP_OK, "x");
  expect(mp_session_set_next(session, 0, x.data()) == MP_OK, "x");
  expectSum(2, "the newer of two");
  expectSum(4, "the same input again");
  expect(mp_session_set_next(session, 0, other.data()) == MP_OK, "x");
  expect(mp_session_set(session, 0, x.data()) == MP_OK, "x");
  expectSum(6, "an input that is set after that");
  expect(mp_session_set_next(session, 0, other.data()) == MP_OK, "x");
  expect(mp_session_finish_next(session) == MP_OK, mp_last_error());
  expectSum(8, "an input that is dropped");
}

/// Without memory for buffers, a session works as before.
static void checkShortage() {
  Floats x(largeElements, 3), w(numElements, 1);
  unsigned failures = 0;
  for (int64_t call = 0;; ++call) {
    Example example(makeLargeExample());
    expect(example.create() == MP_OK, mp_last_error());
    uint64_t before = mp_session_bytes(example.session);
    mp_emulated_fail(call, MP_CUDA_OUT_OF_MEMORY);
    int32_t code = mp_session_prepare_next(example.session);
    std::string text = mp_last_error();
    mp_emulated_fail(-1, 0);
    if (code == MP_OK)
      break;
    ++failures;
    expect(code == MP_OUT_OF_MEMORY &&
               StringRef(text).contains("CUDA_ERROR_OUT_OF_MEMORY"),
           "call " + Twine(call) + ": " + text);
    expect(!mp_session_takes_next(example.session, 0), "x is taken");
    expect(mp_session_bytes(example.session) == before, "bytes are counted");
    expect(example.setInputs(x, w) == MP_OK &&
               mp_session_run(example.session, 0) == MP_OK &&
               mp_session_wait(example.session) == MP_OK,
           mp_last_error());
    mp_session_destroy(example.session);
    example.session = nullptr;
    expectNothingLeft("call " + Twine(call));
  }
  // The context, a stream, a buffer, three events and two slots.
  expect(failures == 8, "found " + Twine(failures) + " calls that fail");
}

/// Each call of the driver fails once.
static void checkFailures() {
  Floats x(largeElements, 3), w(numElements, 1);
  auto use = [&](mp_session *session) -> int32_t {
    int32_t code = mp_session_prepare_next(session);
    for (int64_t number = 1; number < 5 && !code; ++number) {
      code = mp_session_set_next(session, 0, x.data());
      code = code ? code : mp_session_run(session, number);
    }
    code = code ? code : mp_session_finish_next(session);
    return code ? code : mp_session_wait(session);
  };
  unsigned failures = 0;
  bool isDone = false;
  for (int64_t call = 0; !isDone; ++call) {
    Example example(makeLargeExample());
    expect(example.create() == MP_OK && example.setInputs(x, w) == MP_OK &&
               mp_session_wait(example.session) == MP_OK,
           mp_last_error());
    int64_t before = mp_emulated_calls();
    mp_emulated_fail(call, MP_CUDA_LAUNCH_FAILED);
    int32_t code = use(example.session);
    std::string text = mp_last_error();
    isDone = mp_emulated_calls() - before <= call;
    mp_emulated_fail(-1, 0);
    mp_session_destroy(example.session);
    example.session = nullptr;
    expectNothingLeft("call " + Twine(call) + ": " + text);
    // A failure to leave a context is not an error of the model.
    if (code == MP_OK)
      continue;
    ++failures;
    expect(code == MP_DEVICE_FAILED &&
               StringRef(text).contains("CUDA_ERROR_LAUNCH_FAILED"),
           "call " + Twine(call) + " fails: " + Twine(code) + " '" + text +
               "'");
  }
  expect(failures > 40, "found " + Twine(failures) + " calls that fail");
}

int main() {
  checkCalls();
  checkFaults();
  checkDropped();
  expectNothingLeft("inputs that are dropped");
  checkShortage();
  checkFailures();
  expectNothingLeft("the end");
  return isGood ? 0 : 1;
}
