//===- GroupWork.h - Bytes and arithmetic of groups -------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_CODEGEN_GPU_EMIT_GROUPWORK_H
#define MPOPT_LIB_CODEGEN_GPU_EMIT_GROUPWORK_H

#include "mp-opt/Dialect/Device/DeviceOps.h"

namespace mp {

/// The `work` of the launch that a group becomes. `temporaryBytes` is the
/// size of temporaries in the arena that it writes and reads in addition.
mlir::ArrayAttr countWork(device::GroupOp group, uint64_t temporaryBytes);

} // namespace mp

#endif // MPOPT_LIB_CODEGEN_GPU_EMIT_GROUPWORK_H
