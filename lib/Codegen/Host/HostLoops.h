//===- HostLoops.h - Loops that keep a processor busy -----------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The peak rates of instructions, without memory. Callers of a loop must make
// sure that the processor has its instructions, and for tiles, that the process
// may use them.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_HOST_HOSTLOOPS_H
#define MPOPT_LIB_CODEGEN_HOST_HOSTLOOPS_H

#include "mp-opt/Codegen/Target/Target.h"

namespace mp {

struct HostLoop {
  /// Takes some microseconds; null if this program has no such loop.
  void (*function)() = nullptr;
  double multiplyAdds = 1;
};

/// The loop of f32 in the vectors of an instruction set.
HostLoop getFloatLoop(InstructionSet isa);
/// The loop of bf16 by dot products or tiles; none for products that are
/// widened.
HostLoop getNarrowLoop(Products products);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_HOST_HOSTLOOPS_H
