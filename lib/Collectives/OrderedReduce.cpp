//===- OrderedReduce.cpp - Reductions whose bits are known ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The volume is that of a ring: every rank sends n - 1 of n shards twice.
//
//===----------------------------------------------------------------------===//

#include "OrderedReduce.h"

#include "mp-opt/Runtime/Runtime.h"
#include "mp-opt/Support/Rounding.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

using namespace llvm;

namespace mp {

//===----------------------------------------------------------------------===//
// Elements of the type that is sent
//===----------------------------------------------------------------------===//

/// The bits of a bf16, which are the upper half of an f32.
using BFloat16 = uint16_t;

static void convert(ArrayRef<float> from, MutableArrayRef<BFloat16> to) {
  for (size_t i = 0; i < from.size(); ++i)
    to[i] = roundToBFloat16(from[i]);
}

static void convert(ArrayRef<BFloat16> from, MutableArrayRef<float> to) {
  for (size_t i = 0; i < from.size(); ++i)
    to[i] = widenBFloat16(from[i]);
}

template <typename T>
static void convert(ArrayRef<T> from, MutableArrayRef<T> to) {
  std::memcpy(to.data(), from.data(), from.size() * sizeof(T));
}

//===----------------------------------------------------------------------===//
// Shards
//===----------------------------------------------------------------------===//

namespace {
/// Elements of a bucket in several ranges of memory, viewed as one sequence:
/// those of one rank or of all.
template <typename T> class Shard {
public:
  void add(Member<T> member) {
    members.push_back(member);
    size += member.size();
  }

  /// Converts elements from `first` on to a buffer, or from there: no memory is
  /// in between, which would be as much work as a message.
  template <typename To> void read(size_t first, MutableArrayRef<To> to) {
    forSegments(first, to.size(), [&](T *segment, size_t at, size_t count) {
      convert(ArrayRef<T>(segment, count), to.slice(at, count));
    });
  }
  template <typename From> void write(size_t first, ArrayRef<From> from) {
    forSegments(first, from.size(), [&](T *segment, size_t at, size_t count) {
      convert(from.slice(at, count), MutableArrayRef<T>(segment, count));
    });
  }

  size_t size = 0;

private:
  template <typename Function>
  void forSegments(size_t first, size_t count, Function visit) {
    size_t begin = 0;
    for (Member<T> member : members) {
      size_t from = std::max(first, begin);
      size_t to = std::min(first + count, begin + member.size());
      if (from < to)
        visit(member.data() + (from - begin), from - first, to - from);
      begin += member.size();
    }
  }

  SmallVector<Member<T>> members;
};

/// The steps of an operation on the elements that each rank has of a bucket.
struct Operation {
  /// With `scatters`, ranks receive the elements of their own shard from all
  /// others. With `gathers`, all receive the results of all shards.
  bool scatters = true, gathers = true;
  bool divides = true;
};
} // namespace

/// Divides the bucket into one shard per rank.
template <typename T>
static SmallVector<Shard<T>> splitBucket(ArrayRef<Member<T>> bucket,
                                         size_t numRanks) {
  size_t total = 0;
  for (Member<T> member : bucket)
    total += member.size();
  size_t shardSize = (total + numRanks - 1) / numRanks;
  SmallVector<Shard<T>> shards(numRanks);
  size_t begin = 0;
  for (Member<T> member : bucket)
    while (!member.empty()) {
      size_t rank = begin / shardSize;
      size_t count = std::min(member.size(), (rank + 1) * shardSize - begin);
      shards[rank].add(member.take_front(count));
      member = member.drop_front(count);
      begin += count;
    }
  return shards;
}

/// Divides each member into one range per rank.
template <typename T>
static SmallVector<Shard<T>> splitMembers(ArrayRef<Member<T>> bucket,
                                          size_t numRanks) {
  SmallVector<Shard<T>> shards(numRanks);
  for (Member<T> member : bucket)
    for (size_t rank = 0; rank < numRanks; ++rank) {
      size_t first = rank * member.size() / numRanks;
      size_t last = (rank + 1) * member.size() / numRanks;
      shards[rank].add(member.slice(first, last - first));
    }
  return shards;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Adds one rank's elements.
template <typename T>
static void add(ArrayRef<T> chunk, MutableArrayRef<T> sums) {
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] += chunk[i];
}

static void add(ArrayRef<BFloat16> chunk, MutableArrayRef<float> sums) {
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] += widenBFloat16(chunk[i]);
}

/// `T` is the type of sums, `WireType` the type that is sent.
template <typename T, typename WireType>
static Error reduceBy(Communicator &ranks, MutableArrayRef<Shard<T>> shards,
                      Operation operation, uint64_t &sent) {
  size_t numRanks = shards.size(), longest = 0;
  for (const Shard<T> &shard : shards)
    longest = std::max(longest, shard.size);
  Shard<T> &ownShard = shards[size_t(ranks.getRank())];
  // The chunks of all ranks and their packed copies stay in the cache.
  size_t chunkSize = std::min(longest, ranks.getChunkBytes() / sizeof(T));
  std::vector<T> elements(chunkSize);
  std::vector<WireType> own(chunkSize * numRanks),
      received(chunkSize * numRanks);
  for (size_t first = 0; first < longest; first += chunkSize) {
    size_t width = std::min(chunkSize, longest - first);
    size_t bytes = width * sizeof(WireType);
    // Shorter shards are padded with arbitrary elements.
    auto getCount = [&](const Shard<T> &shard) {
      return shard.size > first ? std::min(width, shard.size - first) : 0;
    };
    MutableArrayRef<T> means =
        MutableArrayRef<T>(elements).take_front(getCount(ownShard));
    if (operation.scatters) {
      for (size_t rank = 0; rank < numRanks; ++rank)
        shards[rank].read(first, MutableArrayRef<WireType>(own).slice(
                                     rank * width, getCount(shards[rank])));
      if (Error failed = ranks.allToAll(own.data(), received.data(), bytes))
        return failed;
      sent += bytes * (numRanks - 1);
      std::fill(means.begin(), means.end(), T(0));
      for (size_t rank = 0; rank < numRanks; ++rank)
        add(ArrayRef<WireType>(received).slice(rank * width, means.size()),
            means);
      if (operation.divides)
        for (T &element : means)
          element /= T(numRanks);
    } else {
      ownShard.read(first, means);
    }
    if (!operation.gathers) {
      ownShard.write(first, ArrayRef<T>(means));
      continue;
    }
    convert(ArrayRef<T>(means),
            MutableArrayRef<WireType>(own).take_front(means.size()));
    if (Error failed = ranks.allGather(own.data(), received.data(), bytes))
      return failed;
    sent += bytes * (numRanks - 1);
    for (size_t rank = 0; rank < numRanks; ++rank) {
      // Elements that were not reduced keep their exact value.
      if (!operation.scatters && rank == size_t(ranks.getRank()))
        continue;
      shards[rank].write(first, ArrayRef<WireType>(received).slice(
                                    rank * width, getCount(shards[rank])));
    }
  }
  return Error::success();
}

template <typename T>
static Error reduce(Communicator &ranks, SmallVector<Shard<T>> shards,
                    Operation operation, bool isWireBF16, uint64_t &sent) {
  if constexpr (std::is_same_v<T, float>)
    if (isWireBF16)
      return reduceBy<float, BFloat16>(ranks, shards, operation, sent);
  return reduceBy<T, T>(ranks, shards, operation, sent);
}

template <typename T>
Error orderedReduce(Communicator &ranks, ArrayRef<Member<T>> bucket,
                    int32_t operation, bool isWireBF16, uint64_t &sent) {
  auto numRanks = size_t(ranks.getSize());
  Operation steps;
  steps.scatters = operation != MP_GATHER && operation != MP_GATHER_BF16;
  steps.gathers = operation != MP_SCATTER;
  steps.divides = operation != MP_SUM;
  bool isGradient = operation == MP_MEAN || operation == MP_SCATTER;
  bool isRounded = operation == MP_GATHER_BF16 || (isGradient && isWireBF16);
  // Ranks own ranges of members, or an equal share of the bucket.
  bool hasRanges = !steps.scatters || !steps.gathers;
  return reduce(ranks,
                hasRanges ? splitMembers(bucket, numRanks)
                          : splitBucket(bucket, numRanks),
                steps, isRounded, sent);
}

template Error orderedReduce<float>(Communicator &, ArrayRef<Member<float>>,
                                    int32_t, bool, uint64_t &);
template Error orderedReduce<double>(Communicator &, ArrayRef<Member<double>>,
                                     int32_t, bool, uint64_t &);

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

namespace {
/// The rows of all ranks. Each rank sends as many rows as the rank with the
/// most rows; those after its own `counts` rows have no meaning.
template <typename WireType> struct RankRows {
  std::vector<int64_t> counts, indices;
  std::vector<WireType> elements;
  size_t most = 0;
};
} // namespace

template <typename WireType>
static Error gatherRows(Communicator &ranks, Member<float> table,
                        ArrayRef<int64_t> rows, size_t width,
                        RankRows<WireType> &all) {
  std::vector<int64_t> own(all.most);
  std::vector<WireType> elements(all.most * width);
  std::copy(rows.begin(), rows.end(), own.begin());
  for (size_t i = 0; i < rows.size(); ++i)
    convert(ArrayRef<float>(table.slice(size_t(rows[i]) * width, width)),
            MutableArrayRef<WireType>(elements).slice(i * width, width));
  size_t numRanks = size_t(ranks.getSize());
  all.indices.resize(own.size() * numRanks);
  all.elements.resize(elements.size() * numRanks);
  if (Error failed = ranks.allGather(own.data(), all.indices.data(),
                                     own.size() * sizeof(int64_t)))
    return failed;
  return ranks.allGather(elements.data(), all.elements.data(),
                         elements.size() * sizeof(WireType));
}

/// Adds up rows in the order of ranks, from +0 on.
template <typename WireType>
static void addRows(const RankRows<WireType> &all, Member<float> table,
                    size_t width) {
  std::vector<bool> isTouched(table.size() / width);
  std::vector<size_t> touched;
  for (size_t rank = 0; rank < all.counts.size(); ++rank)
    for (size_t i = 0; i < size_t(all.counts[rank]); ++i) {
      size_t place = rank * all.most + i, row = size_t(all.indices[place]);
      Member<float> sums = table.slice(row * width, width);
      if (!isTouched[row]) {
        isTouched[row] = true;
        touched.push_back(row);
        std::fill(sums.begin(), sums.end(), 0.0f);
      }
      add(ArrayRef<WireType>(all.elements).slice(place * width, width), sums);
    }
  for (size_t row : touched)
    for (float &element : table.slice(row * width, width))
      element /= float(all.counts.size());
}

template <typename WireType>
static Expected<bool>
allReduceRowMeanBy(Communicator &ranks, Member<float> table,
                   ArrayRef<int64_t> rows, int64_t size, uint64_t &sent) {
  size_t numRanks = size_t(ranks.getSize());
  constexpr int64_t unknown = -1;
  bool isUsual = size > 0 && !table.empty() &&
                 (rows.empty() || (rows.front() >= 0 && rows.back() < size));
  int64_t own = isUsual ? int64_t(rows.size()) : unknown;
  RankRows<WireType> all;
  all.counts.resize(numRanks);
  if (Error failed = ranks.allGather(&own, all.counts.data(), sizeof(own)))
    return std::move(failed);
  sent += sizeof(own) * (numRanks - 1);
  for (int64_t count : all.counts) {
    if (count == unknown)
      return false;
    all.most = std::max(all.most, size_t(count));
  }
  size_t width = table.size() / size_t(size);
  uint64_t bytes = all.most * (sizeof(int64_t) + width * sizeof(WireType));
  uint64_t whole = 2 * (table.size() / numRanks) * sizeof(WireType);
  if (bytes >= std::min<uint64_t>(whole, INT32_MAX))
    return false;
  if (all.most == 0)
    return true;
  if (Error failed = gatherRows(ranks, table, rows, width, all))
    return std::move(failed);
  sent += bytes * (numRanks - 1);
  addRows(all, table, width);
  return true;
}

Expected<bool> allReduceRowMean(Communicator &ranks, Member<float> table,
                                ArrayRef<int64_t> rows, int64_t size,
                                bool isWireBF16, uint64_t &sent) {
  return isWireBF16
             ? allReduceRowMeanBy<BFloat16>(ranks, table, rows, size, sent)
             : allReduceRowMeanBy<float>(ranks, table, rows, size, sent);
}

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

Error allReduceAnd(Communicator &ranks, ArrayRef<Member<char>> bucket,
                   uint64_t &sent) {
  Shard<char> flags;
  for (Member<char> member : bucket)
    flags.add(member);
  size_t numRanks = size_t(ranks.getSize());
  std::vector<char> own(flags.size), all(flags.size * numRanks);
  flags.read(0, MutableArrayRef<char>(own));
  if (Error failed = ranks.allGather(own.data(), all.data(), own.size()))
    return failed;
  for (size_t i = 0; i < own.size(); ++i) {
    own[i] = 1;
    for (size_t rank = 0; rank < numRanks; ++rank)
      if (all[rank * own.size() + i] == 0)
        own[i] = 0;
  }
  flags.write(0, ArrayRef<char>(own));
  sent += own.size() * (numRanks - 1);
  return Error::success();
}

} // namespace mp
