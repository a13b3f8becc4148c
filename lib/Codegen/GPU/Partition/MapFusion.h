//===- MapFusion.h - Maps that follow each other ----------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_PARTITION_MAPFUSION_H
#define MPOPT_LIB_CODEGEN_GPU_PARTITION_MAPFUSION_H

#include "mp-opt/Dialect/Device/DeviceOps.h"

namespace mp {

/// True if the maps of two groups, one after the other, can be fused: they have
/// the same points, and if one writes memory that the other touches, each
/// element is touched at the same single point of both.
bool canFuseMaps(device::GroupOp first, device::GroupOp second);

/// Makes one map of both, in `first`, and erases `second`. The second map gets
/// the results of the first without reading memory.
void fuseMaps(device::GroupOp first, device::GroupOp second);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_PARTITION_MAPFUSION_H
