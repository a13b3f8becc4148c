//===- Nearest.h - The name that a misspelt one is meant to be --*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_NEAREST_H
#define MPOPT_SUPPORT_NEAREST_H

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <string>
#include <utility>

namespace mp {

/// The nearest of `candidates`, or empty if none is near enough to be intended.
/// Case is ignored, unless several are equally near.
template <typename Range>
llvm::StringRef findNearest(llvm::StringRef name, const Range &candidates) {
  unsigned bound = std::max<unsigned>(2, name.size() / 3) + 1;
  std::pair<unsigned, unsigned> best(bound, 0);
  llvm::StringRef nearest;
  for (llvm::StringRef candidate : candidates) {
    unsigned distance = name.edit_distance_insensitive(candidate, true, bound);
    if (distance > best.first || distance >= bound)
      continue;
    std::pair<unsigned, unsigned> found(distance,
                                        name.edit_distance(candidate));
    if (nearest.empty() || found < best) {
      best = found;
      nearest = candidate;
    }
  }
  return nearest;
}

/// "; did you mean 'Softmax'?", or nothing.
template <typename Range>
std::string suggestNearest(llvm::StringRef name, const Range &candidates) {
  llvm::StringRef nearest = findNearest(name, candidates);
  return nearest.empty() ? "" : ("; did you mean '" + nearest + "'?").str();
}

} // namespace mp

#endif // MPOPT_SUPPORT_NEAREST_H
