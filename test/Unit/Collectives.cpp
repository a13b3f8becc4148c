//===- Collectives.cpp - Ranks of one process -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks that are threads, and a communicator that copies: means to the bit of
// sums in the order of ranks, of sizes that do not divide, and failures in the
// middle. Also built with the thread sanitizer.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Collectives/ProcessGroup.h"

#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <thread>

using namespace mp;

namespace {

std::mutex reporting;
unsigned failures = 0;

void expect(bool holds, const std::string &what) {
  std::lock_guard<std::mutex> lock(reporting);
  if (holds)
    return;
  ++failures;
  std::fprintf(stderr, "failed: %s\n", what.c_str());
}

/// A rendezvous of ranks: each call by all of them is one round.
class Rendezvous {
public:
  explicit Rendezvous(int size) : size(size), own(size) {}

  /// Shows `data` to all ranks, calls `read` while the data of all are valid,
  /// and returns when all ranks have read.
  template <typename Read> void arrive(int rank, const void *data, Read read) {
    std::unique_lock<std::mutex> lock(mutex);
    own[rank] = static_cast<const char *>(data);
    wait(lock);
    lock.unlock();
    read(own);
    lock.lock();
    wait(lock);
  }

  const int size;

private:
  void wait(std::unique_lock<std::mutex> &lock) {
    uint64_t round = rounds;
    if (++count == size) {
      count = 0;
      ++rounds;
      changed.notify_all();
      return;
    }
    changed.wait(lock, [&] { return rounds != round; });
  }

  std::vector<const char *> own;
  std::mutex mutex;
  std::condition_variable changed;
  int count = 0;
  uint64_t rounds = 0;
};

class Copies : public Communicator {
public:
  Copies(Rendezvous &rendezvous, int number, int failsAt)
      : rendezvous(rendezvous), failsAt(failsAt) {
    rank = number;
    size = rendezvous.size;
    library = "copies";
  }

  llvm::Error allToAll(const void *chunks, void *from, size_t bytes) override {
    if (llvm::Error failed = count())
      return failed;
    rendezvous.arrive(rank, chunks, [&](const std::vector<const char *> &all) {
      for (int other = 0; other < size; ++other)
        std::memcpy(static_cast<char *>(from) + other * bytes,
                    all[other] + rank * bytes, bytes);
    });
    return llvm::Error::success();
  }
  llvm::Error allGather(const void *own, void *all, size_t bytes) override {
    if (llvm::Error failed = count())
      return failed;
    rendezvous.arrive(rank, own, [&](const std::vector<const char *> &each) {
      for (int other = 0; other < size; ++other)
        std::memcpy(static_cast<char *>(all) + other * bytes, each[other],
                    bytes);
    });
    return llvm::Error::success();
  }
  llvm::Error broadcast(void *data, size_t bytes) override {
    if (llvm::Error failed = count())
      return failed;
    rendezvous.arrive(rank, data, [&](const std::vector<const char *> &all) {
      if (rank > 0)
        std::memcpy(data, all[0], bytes);
    });
    return llvm::Error::success();
  }

private:
  llvm::Error count() {
    if (calls++ != failsAt)
      return llvm::Error::success();
    return llvm::createStringError("the cable is out");
  }

  Rendezvous &rendezvous;
  const int failsAt;
  int calls = 0;
};

/// Calls `body` for each of `size` ranks, each in its own thread.
template <typename Body>
void run(int size, Body body, ProcessGroupOptions options = {},
         int failsAt = -1) {
  Rendezvous rendezvous(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      auto ranks = ProcessGroup::join(
          [&]() -> llvm::Expected<std::unique_ptr<Communicator>> {
            return std::make_unique<Copies>(rendezvous, rank, failsAt);
          },
          "rank " + std::to_string(rank), options);
      if (!ranks)
        expect(false, llvm::toString(ranks.takeError()));
      else
        body(**ranks);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// The value of element `index` on rank `rank`.
float getElement(int rank, size_t index) {
  uint32_t bits = uint32_t(index * 2654435761u) ^ uint32_t(rank * 40503u + 1);
  bits ^= bits >> 13;
  bits *= 2246822519u;
  return std::ldexp(float(int32_t(bits)), int(bits % 29) - 45);
}

float getMean(int size, size_t index) {
  float sum = 0;
  for (int rank = 0; rank < size; ++rank)
    sum += getElement(rank, index);
  return sum / float(size);
}

constexpr int32_t floatType = 1, boolType = 9, doubleType = 11;

void start(const mp_collectives &calls, int32_t bucket, int32_t members,
           int32_t type, void *data, int64_t count,
           int32_t operation = MP_MEAN) {
  mp_member member = {operation, type, data, count, nullptr, 0, 0};
  expect(calls.start(calls.context, bucket, members, &member) == 0,
         "a member is taken");
}

/// Steps of a model of two buckets of floats and a flag.
void checkSteps(ProcessGroup &ranks, const std::vector<size_t> &sizes) {
  const mp_collectives &calls = ranks.getCollectives();
  void *context = calls.context;
  int size = ranks.getSize(), rank = ranks.getRank();
  for (int step = 0; step < 5; ++step) {
    std::vector<std::vector<float>> members;
    size_t index = 0;
    for (size_t count : sizes) {
      members.emplace_back(count);
      for (float &element : members.back())
        element = getElement(rank, index++ + step);
    }
    std::vector<double> wide = {double(rank), 1e300};
    // One rank has false in the second place.
    char flags[] = {1, char(rank != size - 1)};
    int32_t count = int32_t(members.size());
    for (std::vector<float> &member : members)
      start(calls, 0, count, floatType, member.data(), int64_t(member.size()));
    start(calls, 1, 1, doubleType, wide.data(), 2);
    start(calls, 2, 1, boolType, flags, 2);
    bool isGood = calls.wait(context, 99) == 0;
    for (int32_t bucket : {2, 0, 1})
      isGood &= calls.wait(context, bucket) == 0;
    expect(isGood, "waits succeed");
    index = 0;
    bool areMeans = true;
    for (const std::vector<float> &member : members)
      for (float element : member)
        areMeans &= element == getMean(size, index++ + step);
    expect(areMeans, "means have the bits of sums in the order of ranks");
    double mean = 0;
    for (int other = 0; other < size; ++other)
      mean += other;
    expect(wide[0] == mean / size && std::isfinite(wide[1]),
           "doubles are added as doubles");
    expect(flags[0] == 1 && flags[1] == 0, "flags are true where all are");
  }
}

void testSteps() {
  for (int size : {1, 2, 3, 4})
    for (const std::vector<size_t> &sizes :
         {std::vector<size_t>{1}, {5, 0, 3}, {1000, 1, 4096, 7}, {70001}})
      run(size, [&](ProcessGroup &ranks) { checkSteps(ranks, sizes); });
}

void testBF16() {
  ProcessGroupOptions options;
  options.isWireBF16 = true;
  run(
      4,
      [](ProcessGroup &ranks) {
        const mp_collectives &calls = ranks.getCollectives();
        std::vector<float> values(1001);
        for (size_t i = 0; i < values.size(); ++i)
          values[i] = getElement(ranks.getRank(), i);
        float special[] = {INFINITY, NAN, -0.0f, 1.00390625f, 3.4e38f};
        start(calls, 0, 2, floatType, values.data(), int64_t(values.size()));
        start(calls, 0, 2, floatType, special, 5);
        expect(calls.wait(calls.context, 0) == 0, "the wait succeeds");
        bool areNear = true;
        for (size_t i = 0; i < values.size(); ++i) {
          float scale = 0;
          for (int rank = 0; rank < ranks.getSize(); ++rank)
            scale += std::fabs(getElement(rank, i));
          areNear &= std::fabs(values[i] - getMean(ranks.getSize(), i)) <=
                     scale * 0x1p-8f;
        }
        expect(areNear, "two roundings to bf16");
        expect(std::isinf(special[0]) && std::isnan(special[1]) &&
                   special[2] == 0 && !std::signbit(special[2]) &&
                   special[3] == 1.0f,
               "infinite, NaN, zero, and ties to even");
        ProcessGroupFigures figures = ranks.getFigures();
        // 1006 elements of two bytes: three quarters of them are sent twice.
        expect(figures.bytes == 2 * 3 * 252 * 2, "bytes that are sent");
      },
      options);
}

/// Checks elements that ranks own, and buckets of all kinds.
void checkRanges(ProcessGroup &ranks, size_t count) {
  const mp_collectives &calls = ranks.getCollectives();
  size_t size = size_t(ranks.getSize()), rank = size_t(ranks.getRank());
  size_t first = rank * count / size, last = (rank + 1) * count / size;
  std::vector<float> means(count), scattered(count), gathered(count),
      rounded(count);
  for (size_t i = 0; i < count; ++i) {
    means[i] = scattered[i] = getElement(int(rank), i);
    gathered[i] = rounded[i] = 1.0f + 0x1p-20f * float(rank + 1);
  }
  float sums[] = {float(rank), 1};
  auto kind = [&](int32_t bucket, std::vector<float> &data, int32_t operation) {
    start(calls, bucket, 1, floatType, data.data(), int64_t(count), operation);
  };
  kind(4, scattered, MP_SCATTER);
  kind(5, means, MP_MEAN);
  start(calls, 6, 2, floatType, sums, 1, MP_SUM);
  start(calls, 6, 2, floatType, sums + 1, 1, MP_SUM);
  kind(7, gathered, MP_GATHER);
  kind(8, rounded, MP_GATHER_BF16);
  for (int32_t bucket : {4, 5, 6, 7, 8})
    expect(calls.wait(calls.context, bucket) == 0, "the wait succeeds");
  bool areMeans = true, areGathered = true, areRounded = true;
  for (size_t owner = 0; owner < size; ++owner)
    for (size_t i = owner * count / size; i < (owner + 1) * count / size; ++i) {
      float exact = 1.0f + 0x1p-20f * float(owner + 1);
      areMeans &= means[i] == getMean(int(size), i);
      areGathered &= gathered[i] == exact;
      areRounded &= rounded[i] == (owner == rank ? exact : 1.0f);
    }
  for (size_t i = first; i < last; ++i)
    areMeans &= scattered[i] == means[i];
  expect(areMeans, "means of a rank's own elements are those of all");
  expect(areGathered, "each element is that of its owner");
  expect(areRounded, "in bf16, but for a rank's own elements");
  expect(sums[0] == float(size * (size - 1)) / 2 && sums[1] == float(size),
         "sums are not divided");
}

/// Checks tables of which each rank has a few rows: the result has the bits of
/// all rows, and takes fewer bytes if there are few.
void checkRows(ProcessGroup &ranks, std::vector<int64_t> rows, bool areFew) {
  const mp_collectives &calls = ranks.getCollectives();
  constexpr int64_t size = 100, width = 7;
  std::vector<float> table(size * width), dense;
  for (int64_t row : rows)
    for (int64_t i = 0; i < width && row < size; ++i) {
      size_t place = size_t((row < 0 ? row + size : row) * width + i);
      table[place] = getElement(ranks.getRank(), place);
    }
  dense = table;
  uint64_t before = ranks.getFigures().bytes;
  start(calls, 0, 1, floatType, dense.data(), int64_t(dense.size()));
  expect(calls.wait(calls.context, 0) == 0, "the wait succeeds");
  uint64_t all = ranks.getFigures().bytes - before;
  mp_member member = {MP_MEAN,      floatType,
                      table.data(), int64_t(table.size()),
                      rows.data(),  int64_t(rows.size()),
                      size};
  expect(calls.start(calls.context, 1, 1, &member) == 0, "rows are taken");
  // The row numbers are not read after the start.
  rows.assign(rows.size(), -1);
  expect(calls.wait(calls.context, 1) == 0, "the wait for rows succeeds");
  uint64_t sent = ranks.getFigures().bytes - before - all;
  expect(std::memcmp(table.data(), dense.data(),
                     table.size() * sizeof(float)) == 0,
         "rows have the bits of the table");
  expect(areFew ? sent < all : sent == all + 8 * uint64_t(ranks.getSize() - 1),
         "rows are sent where they are fewer bytes");
}

void testRows() {
  for (int size : {2, 3}) {
    run(size, [&](ProcessGroup &ranks) { checkRows(ranks, {}, true); });
    run(size, [&](ProcessGroup &ranks) {
      checkRows(ranks, {3, 3, 99 - ranks.getRank(), -1, 0}, true);
    });
    // One rank has no rows.
    run(size, [&](ProcessGroup &ranks) {
      std::vector<int64_t> rows;
      if (ranks.getRank() > 0)
        rows = {8, 2};
      checkRows(ranks, rows, true);
    });
    run(size, [&](ProcessGroup &ranks) {
      std::vector<int64_t> rows(100);
      for (size_t i = 0; i < rows.size(); ++i)
        rows[i] = int64_t(i);
      checkRows(ranks, rows, false);
    });
    // An index that there is not.
    run(size, [&](ProcessGroup &ranks) {
      checkRows(ranks, {1, ranks.getRank() > 0 ? 100 : 2}, false);
    });
  }
}

void testRanges() {
  for (int size : {1, 2, 3, 4})
    for (size_t count : {size_t(1), size_t(2), size_t(1001)})
      run(size, [&](ProcessGroup &ranks) { checkRanges(ranks, count); });
}

void testBetweenSteps() {
  run(4, [](ProcessGroup &ranks) {
    int data[] = {ranks.getRank() + 5, ranks.getRank()};
    expect(!ranks.broadcast(data, sizeof data) && data[0] == 5 && data[1] == 0,
           "rank 0's bytes");
    auto all = ranks.allGatherNumbers(ranks.getRank() * 3);
    bool isGood = bool(all);
    expect(isGood, "a gather succeeds");
    if (!isGood)
      llvm::consumeError(all.takeError());
    else
      expect(*all == std::vector<int>({0, 3, 6, 9}), "in the order of ranks");
    expect(ranks.getFigures().bytes == 0, "that is not a step");
  });
}

/// Everything fails from there on, with the first reason.
void testFailures() {
  run(
      2,
      [](ProcessGroup &ranks) {
        const mp_collectives &calls = ranks.getCollectives();
        float value = 1;
        expect(!ranks.broadcast(&value, sizeof value), "before it fails");
        start(calls, 3, 1, floatType, &value, 1);
        expect(calls.wait(calls.context, 3) != 0, "the wait fails");
        std::string text = calls.error(calls.context);
        expect(text == "bucket 3 of gradients: the cable is out", text);
        auto all = ranks.allGatherNumbers(1);
        expect(!all, "the next one as well");
        if (!all)
          text = llvm::toString(all.takeError());
        expect(text.find("the cable is out") != std::string::npos, text);
        ranks.abandon();
      },
      ProcessGroupOptions(), /*failsAt=*/1);
  auto refused = ProcessGroup::join(
      []() -> llvm::Expected<std::unique_ptr<Communicator>> {
        return llvm::createStringError("no line");
      },
      "nobody", ProcessGroupOptions());
  expect(!refused, "no connection");
  if (!refused)
    expect(llvm::toString(refused.takeError()) == "no line", "its reason");
}

} // namespace

int main() {
  testSteps();
  testBF16();
  testRanges();
  testRows();
  testBetweenSteps();
  testFailures();
  return failures ? 1 : 0;
}
