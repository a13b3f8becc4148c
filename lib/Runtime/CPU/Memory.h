//===- Memory.h - Memory of compiled models ---------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RUNTIME_MEMORY_H
#define MPOPT_LIB_RUNTIME_MEMORY_H

#include "Internal.h"

namespace mp::runtime {

/// The header of an allocated block. The blocks of a call form a list, so that
/// a call that fails can free them.
struct alignas(64) Block {
  Block *next, *previous;
  /// The size that was last requested, and the size of the block.
  int64_t bytes, room;
};

/// Returns null if there is no memory.
Block *takeBlock(int64_t bytes);
void giveBlock(Block *block);
/// Frees a block that later calls do not need, unlike giveBlock.
void freeBlock(Block *block);

/// Allocates memory at a multiple of 64, to be freed by free(); null if there
/// is none.
void *allocateAligned(int64_t bytes);

} // namespace mp::runtime

#endif // MPOPT_LIB_RUNTIME_MEMORY_H
