//===- GroupStrategy.h - Tiles, blocks and threads of groups ----*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CODEGEN_GPU_STRATEGY_GROUPSTRATEGY_H
#define MPOPT_CODEGEN_GPU_STRATEGY_GROUPSTRATEGY_H

#include "mp-opt/Dialect/Device/DeviceOps.h"

namespace mp {

/// Sets the `tile` of contractions of a `contract` group that are worth tiles;
/// a tile that is given is kept. Fails, after an error, if it does not fit.
mlir::LogicalResult selectTiles(device::GroupOp group);

/// The strategy of a group that is not `collective`: its contractions have
/// their tiles, and the parts of a fused group their strategies. Fails, after
/// an error, if the number of rows depends on data.
mlir::FailureOr<device::StrategyAttr> selectStrategy(device::GroupOp group);

} // namespace mp

#endif // MPOPT_CODEGEN_GPU_STRATEGY_GROUPSTRATEGY_H
