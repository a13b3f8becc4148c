//===- Sharding.h - Sharded optimizers --------------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ZeRO, stage 1 (Rajbhandari et al., 2020): each rank keeps the optimizer's
// states of a range of each parameter, and updates that range. Gradients are
// reduced to the rank that owns them, and new parameters are gathered.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TRAINING_SHARDING_H
#define MPOPT_TRAINING_SHARDING_H

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mp {

struct ShardSettings {
  int64_t ranks = 1, rank = 0;
  /// Parameters with fewer elements are updated by every rank.
  int64_t minElements = 1024;
  /// Bytes of parameters that are gathered at once.
  int64_t bucketBytes = 25 << 20;
};

/// A state of which a rank owns a range.
struct ShardedState {
  std::string name;
  /// Sizes of the whole state, and the rank's range of its elements, in
  /// row-major order.
  llvm::SmallVector<int64_t> sizes;
  int64_t first = 0, count = 0;
  /// True if the state is only the range, a vector of `count` elements.
  /// Otherwise it is whole, and the elements of other ranks are rounded to
  /// bf16: a parameter that the model reads in bf16 only.
  bool isRange = true;
};

/// Shards the optimizer of a distributed step (`mp.all_reduce`) for one of its
/// ranks. A parameter takes part if all nodes between its gradient and new
/// states are elementwise, or sums over all elements, such as norms. States
/// that only this update reads, and whose initial elements are all equal,
/// become ranges. Returns them, and parameters that are gathered in bf16, in
/// the order of inputs.
std::vector<ShardedState> shardOptimizer(mlir::ModuleOp module,
                                         const ShardSettings &settings);

} // namespace mp

#endif // MPOPT_TRAINING_SHARDING_H
