//===- Allocator.cpp - Settings of the memory allocator -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The IR of a big model is hundreds of megabytes of small objects: jemalloc
// packs them more densely than the allocator of the C library, and does not
// search freed memory. Huge pages are not requested: they help if address
// translation is expensive, and cost more if memory is fragmented and the
// kernel has to make them first.
//
//===----------------------------------------------------------------------===//

#include "llvm/Support/Compiler.h"

/// The options that jemalloc reads when the process starts. Freed memory is
/// returned to the system after a second. Shorter runs keep it, since the next
/// pass needs the memory that the last one has freed. The last option lets
/// small objects use the space that a big one has left; without it, the space
/// of a parsed model would stay unused.
extern "C" {
LLVM_ATTRIBUTE_VISIBILITY_DEFAULT const char *malloc_conf =
    "narenas:2,dirty_decay_ms:1000,muzzy_decay_ms:-1,"
    "lg_extent_max_active_fit:40";
}
