//===- Allocator.cpp - Settings of the memory allocator -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The IR of a big model is hundreds of megabytes of small objects: jemalloc
// lays them out more densely than the allocator of the C library, and does not
// search through what was freed. Huge pages are not asked for: they gain where
// address translation is dear, and lose more where memory is fragmented and the
// kernel has to make them first.
//
//===----------------------------------------------------------------------===//

#include "llvm/Support/Compiler.h"

/// Read by jemalloc when the process starts. What is freed is given back after
/// a second: in shorter runs never, since what one pass frees the next one
/// needs. The last setting lets small objects take what a big one has left;
/// without it the space of a parsed model would stay empty.
extern "C" {
LLVM_ATTRIBUTE_VISIBILITY_DEFAULT const char *malloc_conf =
    "narenas:2,dirty_decay_ms:1000,muzzy_decay_ms:-1,"
    "lg_extent_max_active_fit:40";
}
