//===- FreedMemory.h - Memory of a finished phase ---------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_FREEDMEMORY_H
#define MPOPT_SUPPORT_FREEDMEMORY_H

namespace mp {

/// Returns memory that was freed to the system, after a phase that needed much
/// more than the next one. It does nothing if the allocator of the process is
/// neither the C library's nor jemalloc.
void returnFreedMemory();

} // namespace mp

#endif // MPOPT_SUPPORT_FREEDMEMORY_H
