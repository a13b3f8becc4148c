//===- OrderedMean.cpp - Means whose bits are known -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As many bytes travel as in a ring: every rank sends n - 1 parts of n twice.
//
//===----------------------------------------------------------------------===//

#include "OrderedMean.h"

#include <algorithm>
#include <cstring>
#include <vector>

using namespace llvm;

namespace mp {

namespace {
/// Elements of a bucket that are exchanged at once: what is needed beside the
/// gradients themselves is three times as much.
constexpr size_t mostElements = 1 << 24;

/// A bucket as one line of elements.
template <typename T> class Line {
public:
  explicit Line(ArrayRef<Member<T>> members) : members(members) {
    for (Member<T> member : members)
      size += member.size();
  }

  /// Copies elements from `first` on to a buffer, or from there.
  void read(size_t first, MutableArrayRef<T> to) {
    forPieces(first, to.size(), [&](T *piece, size_t at, size_t count) {
      std::memcpy(to.data() + at, piece, count * sizeof(T));
    });
  }
  void write(size_t first, ArrayRef<T> from) {
    forPieces(first, from.size(), [&](T *piece, size_t at, size_t count) {
      std::memcpy(piece, from.data() + at, count * sizeof(T));
    });
  }

  size_t size = 0;

private:
  template <typename Function>
  void forPieces(size_t first, size_t count, Function visit) {
    size_t begin = 0;
    for (Member<T> member : members) {
      size_t from = std::max(first, begin);
      size_t to = std::min(first + count, begin + member.size());
      if (from < to)
        visit(member.data() + (from - begin), from - first, to - from);
      begin += member.size();
    }
  }

  ArrayRef<Member<T>> members;
};
} // namespace

//===----------------------------------------------------------------------===//
// What travels
//===----------------------------------------------------------------------===//

/// The upper half of an f32, as bf16 is.
using BFloat16 = uint16_t;

/// To nearest, ties to even; NaN stays NaN.
static void convert(ArrayRef<float> from, MutableArrayRef<BFloat16> to) {
  for (size_t i = 0; i < from.size(); ++i) {
    uint32_t bits;
    std::memcpy(&bits, &from[i], sizeof(bits));
    uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
    bool isNaN = (bits & 0x7fffffff) > 0x7f800000;
    to[i] = BFloat16((isNaN ? bits | 0x400000 : rounded) >> 16);
  }
}

static void convert(ArrayRef<BFloat16> from, MutableArrayRef<float> to) {
  for (size_t i = 0; i < from.size(); ++i) {
    uint32_t bits = uint32_t(from[i]) << 16;
    std::memcpy(&to[i], &bits, sizeof(bits));
  }
}

template <typename T>
static void convert(ArrayRef<T> from, MutableArrayRef<T> to) {
  std::memcpy(to.data(), from.data(), from.size() * sizeof(T));
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Adds one rank's elements.
template <typename T>
static void add(ArrayRef<T> part, MutableArrayRef<T> sums) {
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] += part[i];
}

static void add(ArrayRef<BFloat16> part, MutableArrayRef<float> sums) {
  for (size_t i = 0; i < sums.size(); ++i) {
    uint32_t bits = uint32_t(part[i]) << 16;
    float element;
    std::memcpy(&element, &bits, sizeof(bits));
    sums[i] += element;
  }
}

/// `T` is what is added, `Wire` what is sent.
template <typename T, typename Wire>
static Error makeMeansBy(Communicator &ranks, ArrayRef<Member<T>> bucket,
                         uint64_t &sent) {
  Line<T> line(bucket);
  size_t numRanks = size_t(ranks.getSize());
  size_t chunk = std::min(line.size, mostElements);
  size_t part = (chunk + numRanks - 1) / numRanks;
  // The last part of all is filled up with zeros.
  std::vector<T> elements(part * numRanks), means(part);
  std::vector<Wire> own(part * numRanks), parts(part * numRanks), mean(part);
  for (size_t first = 0; first < line.size; first += chunk) {
    size_t count = std::min(chunk, line.size - first);
    line.read(first, MutableArrayRef<T>(elements).take_front(count));
    convert(ArrayRef<T>(elements), MutableArrayRef<Wire>(own));
    size_t bytes = part * sizeof(Wire);
    if (Error failed = ranks.exchange(own.data(), parts.data(), bytes))
      return failed;
    std::fill(means.begin(), means.end(), T(0));
    for (size_t rank = 0; rank < numRanks; ++rank)
      add(ArrayRef<Wire>(parts).slice(rank * part, part),
          MutableArrayRef<T>(means));
    for (T &element : means)
      element /= T(numRanks);
    convert(ArrayRef<T>(means), MutableArrayRef<Wire>(mean));
    if (Error failed = ranks.gather(mean.data(), own.data(), bytes))
      return failed;
    convert(ArrayRef<Wire>(own), MutableArrayRef<T>(elements));
    line.write(first, ArrayRef<T>(elements).take_front(count));
    sent += 2 * bytes * (numRanks - 1);
  }
  return Error::success();
}

Error makeMeans(Communicator &ranks, ArrayRef<Member<float>> bucket,
                bool isWireBF16, uint64_t &sent) {
  return isWireBF16 ? makeMeansBy<float, BFloat16>(ranks, bucket, sent)
                    : makeMeansBy<float, float>(ranks, bucket, sent);
}

Error makeMeans(Communicator &ranks, ArrayRef<Member<double>> bucket,
                uint64_t &sent) {
  return makeMeansBy<double, double>(ranks, bucket, sent);
}

Error makeConjunctions(Communicator &ranks, ArrayRef<Member<char>> bucket,
                       uint64_t &sent) {
  Line<char> line(bucket);
  size_t numRanks = size_t(ranks.getSize());
  std::vector<char> own(line.size), all(line.size * numRanks);
  line.read(0, own);
  if (Error failed = ranks.gather(own.data(), all.data(), own.size()))
    return failed;
  for (size_t i = 0; i < own.size(); ++i) {
    own[i] = 1;
    for (size_t rank = 0; rank < numRanks; ++rank)
      if (all[rank * own.size() + i] == 0)
        own[i] = 0;
  }
  line.write(0, own);
  sent += own.size() * (numRanks - 1);
  return Error::success();
}

} // namespace mp
