//===- Allocator.cpp - Settings of the memory allocator -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The IR of a big model is hundreds of megabytes of small objects that are
// visited in no order. Huge pages save a third of the time, which is what
// misses of the address translation cost; the allocator of the C library
// takes them only when the environment says so.
//
//===----------------------------------------------------------------------===//

#include <llvm/Support/Compiler.h>

/// Read by jemalloc when the process starts. Memory is given back at its end:
/// what one pass frees the next one needs.
extern "C" {
LLVM_ATTRIBUTE_VISIBILITY_DEFAULT const char *malloc_conf =
    "thp:always,metadata_thp:always,narenas:2,dirty_decay_ms:-1,"
    "muzzy_decay_ms:-1";
}
