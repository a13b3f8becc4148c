//===- DeltaDebugging.cpp - Changes that keep a property ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Support/DeltaDebugging.h"

#include "llvm/ADT/SmallVector.h"

#include <algorithm>

using namespace llvm;

namespace mp {

Expected<size_t> applyChanges(size_t count, size_t chunk,
                              TryChangesFn tryChanges) {
  size_t applied = 0;
  // The ranges that are left to try; the next one is the last.
  SmallVector<std::pair<size_t, size_t>> ranges;
  for (size_t end = count; end > 0;) {
    size_t begin = end - std::min(end, (end - 1) % chunk + 1);
    ranges.push_back({begin, end});
    end = begin;
  }
  while (!ranges.empty()) {
    auto [begin, end] = ranges.pop_back_val();
    Expected<std::optional<bool>> kept = tryChanges(begin, end);
    if (!kept)
      return kept.takeError();
    if (!*kept)
      return applied;
    if (**kept) {
      applied += end - begin;
      continue;
    }
    if (end - begin < 2)
      continue;
    size_t middle = begin + (end - begin) / 2;
    ranges.push_back({middle, end});
    ranges.push_back({begin, middle});
  }
  return applied;
}

} // namespace mp
