//===- AttentionChoice.cpp - Attention that kernels take ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/Attention.h"
#include "mp-opt/Codegen/Target/KnownTargets.h"

using namespace mlir;

namespace mp {

/// The fewest rows and columns of a matrix that fill a good part of a tile.
constexpr int64_t minTokens = 16;

StringRef findKernelMisfit(const AttentionFacts &facts) {
  Type element = facts.factors.front();
  if (!llvm::all_equal(facts.factors))
    return "its factors have different types";
  if (!element.isBF16() && !element.isF16())
    return "its factors are not 16-bit floats";
  if (GPUTarget::get(facts.product).multiplier != kernel::Multiplier::MMA)
    return "the device has no kernel for it";
  if (facts.longestHead > kernel::maxAttentionHead)
    return "its heads have more than 256 elements";
  if (facts.queries < minTokens || facts.keys < minTokens)
    return "it has fewer than 16 queries or keys";
  return "";
}

} // namespace mp
