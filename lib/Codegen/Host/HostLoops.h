//===- HostLoops.h - Loops that keep a processor busy -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What instructions do at most, without memory. Whoever calls a loop has made
// sure that the processor has its instructions, and for tiles, that the process
// may use them.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_HOST_HOSTLOOPS_H
#define MPOPT_LIB_CODEGEN_HOST_HOSTLOOPS_H

#include "mp-opt/Codegen/Target/Target.h"

namespace mp {

struct HostLoop {
  /// Takes some microseconds; null where this program has none.
  void (*function)() = nullptr;
  double multiplyAdds = 1;
};

/// Of f32, in the vectors of an instruction set.
HostLoop getFloatLoop(InstructionSet isa);
/// Of bf16 by dot products or tiles; none for those that are widened.
HostLoop getNarrowLoop(Products products);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_HOST_HOSTLOOPS_H
