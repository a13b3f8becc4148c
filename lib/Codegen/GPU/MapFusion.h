//===- MapFusion.h - Maps that follow each other ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_MAPFUSION_H
#define MPOPT_LIB_CODEGEN_GPU_MAPFUSION_H

#include "mp-opt/Dialect/Device/DeviceOps.h"

namespace mp {

/// Whether the maps of two groups, one behind the other, can be one: over the
/// same points, where what one leaves at a point the other touches there alone.
bool canFuseMaps(device::GroupOp first, device::GroupOp second);

/// Makes one map of both, in `first`; `second` goes. What the first leaves for
/// the second need not be read from memory.
void fuseMaps(device::GroupOp first, device::GroupOp second);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_MAPFUSION_H
