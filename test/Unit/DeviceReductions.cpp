//===- DeviceReductions.cpp - Ranks with an emulated device ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reductions between ranks during a call: through the host, and on the device,
// where each call of the driver and of the other ranks fails once.
//
//===----------------------------------------------------------------------===//

#include "SessionExample.h"

namespace {
/// Ranks that multiply their input by ten and record the calls.
struct FakeRanks {
  FakeRanks() {
    collectives.context = this;
    collectives.start = [](void *context, int32_t bucket, int32_t members,
                           const mp_member *member) {
      return static_cast<FakeRanks *>(context)->start(bucket, members, *member);
    };
    collectives.wait = [](void *context, int32_t bucket) {
      auto *ranks = static_cast<FakeRanks *>(context);
      ranks->calls += "wait " + std::to_string(bucket) + "; ";
      return int32_t(ranks->failsToWait);
    };
    collectives.error = [](void *) { return "rank 1 has gone"; };
    mp_set_collectives(&collectives);
  }
  ~FakeRanks() { mp_set_collectives(nullptr); }

  int32_t start(int32_t bucket, int32_t members, const mp_member &member) {
    calls += "start " + std::to_string(bucket) + " of " +
             std::to_string(members) + ": " + std::to_string(member.count) +
             " by " + std::to_string(member.operation) + "; ";
    for (int64_t index = 0; index < member.count; ++index)
      static_cast<float *>(member.data)[index] *= 10;
    return 0;
  }

  mp_collectives collectives = {};
  std::string calls;
  bool failsToWait = false;
};
} // namespace

/// The example with two reductions before y = w + the number of the call: of
/// both halves of w, and of the memory that is copied to z. The second has a
/// condition: a byte of its first element is not 0.
static mp::DevicePlan makeReducingExample() {
  mp::DevicePlan plan = makeExample();
  using Plan = mp::DevicePlan;
  Plan::Record start, wait;
  start.kind = Plan::RecordKind::ReduceStart;
  wait.kind = Plan::RecordKind::ReduceWait;
  Plan::Reduction state, part;
  constexpr uint64_t half = 2 * numElements;
  state.bucket = 4;
  state.operation = MP_SUM;
  state.members = {{Plan::Space::Input, 1, 0, half},
                   {Plan::Space::Input, 1, half, half}};
  part.bucket = 5;
  part.members = {{Plan::Space::Arena, 0, 0, 40}};
  // The highest byte of 1.0f.
  part.condition = {Plan::Space::Arena, 0, 3, 1};
  plan.reductions = {state, part};
  Plan::Record other = start, otherWait = wait;
  other.kernel = otherWait.kernel = 1;
  std::vector<Plan::Record> records = plan.records;
  plan.records = {records[0], records[1], start,      other,
                  wait,       otherWait,  records[2], records[3]};
  return plan;
}

static void checkReductions() {
  mp::DevicePlan plan = makeReducingExample();
  Floats x(numElements, 3), w(numElements, 1), y(numElements), z(10);
  auto run = [&](mp::DevicePlan &given, const Twine &what) {
    Example example(given);
    expect(example.create() == MP_OK, mp_last_error());
    w.assign(numElements, 1);
    expect(example.setInputs(x, w) == MP_OK, mp_last_error());
    int32_t code = mp_session_run(example.session, 5);
    if (code)
      return code;
    mp_session_get_output(example.session, 0, y.data());
    mp_session_get_output(example.session, 2, z.data());
    expect(mp_session_wait(example.session) == MP_OK, what);
    return code;
  };
  expect(run(plan, "alone") == MP_OK && isAll(y, 12) && isAll(z, 1),
         "without ranks, something is reduced");
  FakeRanks ranks;
  expect(run(plan, "ranks") == MP_OK, mp_last_error());
  expect(isAll(y, 75) && isAll(z, 10), "what ranks make does not come back");
  expect(ranks.calls == "start 4 of 2: 50 by 1; start 4 of 2: 50 by 1; "
                        "start 5 of 1: 10 by 0; wait 4; wait 5; ",
         ranks.calls);
  ranks.calls.clear();
  plan.reductions[1].condition->offset = 0;
  expect(run(plan, "a condition") == MP_OK && isAll(y, 75) && isAll(z, 1),
         "a condition is not asked for");
  expect(ranks.calls ==
             "start 4 of 2: 50 by 1; start 4 of 2: 50 by 1; wait 4; ",
         ranks.calls);
  ranks.failsToWait = true;
  expectError(run(plan, "a lost rank"), MP_RANKS_FAILED, "rank 1 has gone",
              "a lost rank");
}

//===----------------------------------------------------------------------===//
// Reductions on devices
//===----------------------------------------------------------------------===//

namespace {
/// Two ranks, where the other one has the same data as this one. All elements
/// are in this rank's part.
struct TwinRanks {
  TwinRanks() {
    ranks.context = this;
    ranks.rank = 0;
    ranks.size = 2;
    ranks.exchange = [](void *context, mp_device_address parts,
                        mp_device_address from, uint64_t bytes, void *stream) {
      auto *twins = static_cast<TwinRanks *>(context);
      const mp_driver &driver = *mp_emulated_driver();
      twins->calls += "exchange " + std::to_string(bytes) + "; ";
      int32_t failed = twins->mayFail();
      for (int part = 0; part < 2 && !failed; ++part)
        failed = driver.cuMemcpyDtoDAsync_v2(from + part * bytes, parts, bytes,
                                             stream);
      return failed;
    };
    ranks.gather = [](void *context, mp_device_address own,
                      mp_device_address all, uint64_t bytes, void *) {
      auto *twins = static_cast<TwinRanks *>(context);
      twins->calls += "gather " + std::to_string(bytes) + "; ";
      expect(own == all, "another part than this rank's is gathered");
      return twins->mayFail();
    };
    ranks.watch = [](void *context, int32_t) {
      return static_cast<TwinRanks *>(context)->mayFail();
    };
    ranks.measured = [](void *context, const mp_reduction_time *times,
                        uint64_t count) {
      static_cast<TwinRanks *>(context)->times.assign(times, times + count);
    };
    ranks.error = [](void *) { return "rank 1 has gone"; };
    mp_set_device_ranks(&ranks);
  }
  ~TwinRanks() { mp_set_device_ranks(nullptr); }

  int32_t mayFail() { return failing-- == 0; }

  mp_device_ranks ranks = {};
  std::string calls;
  std::vector<mp_reduction_time> times;
  /// The number of calls that succeed before one fails; none fails if negative.
  int64_t failing = -1;
};

/// Runs the example with two calls, from creation to the end.
struct Call {
  int32_t run(const mp::DevicePlan &plan) {
    Example example(plan);
    int32_t code = example.create();
    code = code ? code : example.setInputs(x, w);
    for (int64_t number = 0; number < 2; ++number)
      code = code ? code : mp_session_run(example.session, 5);
    code = code ? code : mp_session_get_output(example.session, 0, y.data());
    code = code ? code : mp_session_get_output(example.session, 2, z.data());
    code = code ? code : mp_session_wait(example.session);
    text = mp_last_error();
    // Releasing resources must not fail.
    mp_emulated_fail(-1, 0);
    return code;
  }

  Floats x = Floats(numElements, 3), w = Floats(numElements, 1);
  Floats y = Floats(numElements), z = Floats(10);
  std::string text;
};
} // namespace

static mp::DevicePlan makeTwinExample() {
  mp::DevicePlan plan = makeReducingExample();
  for (const char *name : {"mp_copy_f32_f32", "mp_add_f32_f32"})
    plan.kernels.push_back({name, 0, MP_RANK_THREADS, 0, 1});
  return plan;
}

static void checkDeviceRanks() {
  mp::DevicePlan plan = makeTwinExample();
  TwinRanks twins;
  Call call;
  // w: (1 + 6) * 2 = 14, (14 + 6) * 2 = 40. The mean of z equals z.
  expect(call.run(plan) == MP_OK, call.text);
  expect(isAll(call.y, 45) && isAll(call.z, 1),
         "what devices make is " + Twine(int(call.y[0])) + " and " +
             Twine(int(call.z[0])));
  std::string once = "exchange 512; gather 512; exchange 512; gather 512; ";
  expect(twins.calls == once + once, twins.calls);
  // The emulated stream does it all while it is waited for.
  expect(twins.times.size() == 2, "two fused collectives have no times");
  for (const mp_reduction_time &time : twins.times)
    expect(time.bucket == (&time == twins.times.data() ? 4 : 5) &&
               time.type == MP_FLOAT &&
               time.bytes == (time.bucket == 4 ? 400 : 40) && 0 < time.ready &&
               time.ready <= time.begun && time.begun < time.done &&
               time.needed <= time.begun && time.done <= time.resumed &&
               time.resumed < 1,
           "a reduction is ready at " + std::to_string(time.ready) +
               ", needed at " + std::to_string(time.needed) + ", done at " +
               std::to_string(time.done));
  twins.calls.clear();
  plan.reductions[1].condition->offset = 0;
  expect(call.run(plan) == MP_OK && isAll(call.y, 45), "with a condition");
  once = "exchange 512; gather 512; ";
  expect(twins.calls == once + once, twins.calls);
  expectNothingLeft("devices of ranks");
  auto expectBad = [&](StringRef text,
                       llvm::function_ref<void(mp::DevicePlan &)> damage) {
    mp::DevicePlan other = plan;
    damage(other);
    int32_t code = call.run(other);
    expect(code == MP_BAD_PLAN && StringRef(call.text).contains(text),
           "found '" + call.text + "', expected '" + text + "'");
    expectNothingLeft(text);
  };
  expectBad("no kernel mp_add_f32_f32",
            [](mp::DevicePlan &other) { other.kernels.pop_back(); });
  expectBad("no kernel mp_add_f32_f32",
            [](mp::DevicePlan &other) { other.kernels.back().parameters = 2; });
  expectBad("a reduction starts twice", [](mp::DevicePlan &other) {
    other.records.push_back(other.records[2]);
  });
}

/// Checks a condition that is read during another transfer: times are recorded
/// for the whole call.
static void checkConditionBehind() {
  mp::DevicePlan plan = makeTwinExample();
  std::vector<mp::DevicePlan::Record> records = plan.records;
  // The copy to z comes in between; no reduction here depends on z.
  plan.records = {records[0], records[1], records[2], records[7],
                  records[3], records[4], records[5], records[6]};
  TwinRanks twins;
  Call call;
  expect(call.run(plan) == MP_OK && isAll(call.y, 45) && isAll(call.z, 1),
         call.text);
  expect(twins.times.size() == 2 && twins.times[0].bucket == 4 &&
             twins.times[1].bucket == 5,
         "found times of " + Twine(twins.times.size()) + " buckets");
  for (const mp_reduction_time &time : twins.times)
    expect(0 < time.ready && time.ready <= time.begun &&
               time.begun < time.done && time.done <= time.resumed,
           "a time is wrong");
}

/// Memory that ranks need is released once there are no ranks.
static void checkBytes() {
  mp::DevicePlan plan = makeTwinExample();
  Example example(plan);
  expect(example.create() == MP_OK, mp_last_error());
  Floats x(numElements, 3), w(numElements, 1);
  expect(example.setInputs(x, w) == MP_OK, mp_last_error());
  uint64_t before = mp_session_bytes(example.session);
  auto run = [&] {
    expect(mp_session_run(example.session, 0) == MP_OK, mp_last_error());
    expect(mp_session_wait(example.session) == MP_OK, mp_last_error());
    return mp_session_bytes(example.session);
  };
  {
    TwinRanks twins;
    // Sent and received parts of 128 floats of both ranks, and tables.
    uint64_t bytes = run() - before, buffers = 2 * 2 * 512;
    expect(bytes > buffers && bytes < buffers + 1024,
           "ranks take " + Twine(bytes) + " bytes");
  }
  expect(run() == before, "what ranks took is not given back");
}

/// Each call of the driver, and of the other rank, fails once.
static void checkFailures() {
  mp::DevicePlan plan = makeTwinExample();
  TwinRanks twins;
  int64_t before = mp_emulated_calls();
  {
    Call call;
    expect(call.run(plan) == MP_OK, call.text);
  }
  int64_t all = mp_emulated_calls() - before, counted = 0;
  for (int64_t index = 0; index < all; ++index) {
    Call call;
    mp_emulated_fail(index, MP_CUDA_LAUNCH_FAILED);
    int32_t code = call.run(plan);
    counted += code != MP_OK;
    bool isExpected = code == MP_DEVICE_FAILED || code == MP_RANKS_FAILED;
    expect(code == MP_OK || isExpected, "call " + Twine(index) +
                                            " fails: " + Twine(code) + " '" +
                                            call.text + "'");
    expectNothingLeft("call " + Twine(index) + " has failed: " + call.text);
  }
  expect(counted > 60, "found " + Twine(counted) + " calls that fail");
  for (int64_t number = 0;; ++number) {
    Call call;
    twins.failing = number;
    int32_t code = call.run(plan);
    expectNothingLeft("call " + Twine(number) + " of other ranks");
    if (code == MP_OK) {
      expect(number > 8, "found " + Twine(number) + " calls of other ranks");
      return;
    }
    expect(code == MP_RANKS_FAILED && call.text == "rank 1 has gone",
           call.text);
  }
}

int main() {
  checkReductions();
  expectNothingLeft("through the host");
  checkDeviceRanks();
  checkConditionBehind();
  checkBytes();
  expectNothingLeft("other ranks");
  checkFailures();
  return isGood ? 0 : 1;
}
