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

/// Of the same element of all ranks.
template <typename T>
static void add(ArrayRef<T> parts, size_t numRanks, MutableArrayRef<T> means) {
  size_t count = means.size();
  std::fill(means.begin(), means.end(), T(0));
  for (size_t rank = 0; rank < numRanks; ++rank) {
    const T *part = parts.data() + rank * count;
    for (size_t i = 0; i < count; ++i)
      means[i] += part[i];
  }
  for (T &mean : means)
    mean /= T(numRanks);
}

template <typename T>
static Error makeMeansOf(Communicator &ranks, ArrayRef<Member<T>> bucket,
                         uint64_t &sent) {
  Line<T> line(bucket);
  size_t numRanks = size_t(ranks.getSize());
  size_t chunk = std::min(line.size, mostElements);
  size_t part = (chunk + numRanks - 1) / numRanks;
  // The last part of all is filled up with zeros.
  std::vector<T> own(part * numRanks), parts(part * numRanks), means(part);
  for (size_t first = 0; first < line.size; first += chunk) {
    size_t count = std::min(chunk, line.size - first);
    line.read(first, MutableArrayRef<T>(own).take_front(count));
    size_t bytes = part * sizeof(T);
    if (Error failed = ranks.exchange(own.data(), parts.data(), bytes))
      return failed;
    add<T>(parts, numRanks, means);
    if (Error failed = ranks.gather(means.data(), own.data(), bytes))
      return failed;
    line.write(first, ArrayRef<T>(own).take_front(count));
    sent += 2 * bytes * (numRanks - 1);
  }
  return Error::success();
}

Error makeMeans(Communicator &ranks, ArrayRef<Member<float>> bucket,
                uint64_t &sent) {
  return makeMeansOf(ranks, bucket, sent);
}

Error makeMeans(Communicator &ranks, ArrayRef<Member<double>> bucket,
                uint64_t &sent) {
  return makeMeansOf(ranks, bucket, sent);
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
