//===- DeltaDebugging.h - Changes that keep a property ----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Delta debugging (Zeller, Hildebrandt: Simplifying and isolating
// failure-inducing input): of a list of changes, applies as many as possible
// while the result keeps a property. All are tried at once, then halves of what
// was refused, down to single changes. If k of n changes must be refused, that
// takes at most 2 k (log2 n + 1) + 1 trials.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_DELTADEBUGGING_H
#define MPOPT_SUPPORT_DELTADEBUGGING_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <optional>

namespace mp {

/// Tries the changes [begin, end) on top of those that were applied before; if
/// they keep the property, they stay applied. Says whether they do. Absent to
/// end the trials.
using TryChangesFn = llvm::function_ref<llvm::Expected<std::optional<bool>>(
    size_t begin, size_t end)>;

/// Applies changes in their order. Returns the number that was applied; fails
/// if a trial does. Trials begin with chunks of at most `chunk` changes.
llvm::Expected<size_t> applyChanges(size_t count, size_t chunk,
                                    TryChangesFn tryChanges);

} // namespace mp

#endif // MPOPT_SUPPORT_DELTADEBUGGING_H
