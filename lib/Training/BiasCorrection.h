//===- BiasCorrection.h - Bias correction of means --------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_TRAINING_BIASCORRECTION_H
#define MPOPT_LIB_TRAINING_BIASCORRECTION_H

#include "mp-opt/Graph/NodeBuilder.h"

namespace mp {

/// 1 - rate^step, rounded once to `type`; `step` holds integers from 0 on, and
/// `rate` is in [0, 1).
mlir::Value getBiasCorrection(NodeBuilder &b, mlir::Value step, double rate,
                              mlir::Type type);

} // namespace mp

#endif // MPOPT_LIB_TRAINING_BIASCORRECTION_H
