//===- ShardOptimizer.cpp - Share an optimizer among ranks ----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Distribution/Passes.h"

#include "mp-opt/Training/Sharding.h"

namespace mp {
#define GEN_PASS_DEF_SHARDOPTIMIZER
#include "Distribution/Passes.h.inc"

namespace {
struct ShardOptimizer : public impl::ShardOptimizerBase<ShardOptimizer> {
  using ShardOptimizerBase::ShardOptimizerBase;

  void runOnOperation() override {
    if (ranks < 1 || rank < 0 || rank >= ranks) {
      getOperation().emitError()
          << "mp-shard-optimizer: there is no rank " << rank.getValue()
          << " of " << ranks.getValue();
      return signalPassFailure();
    }
    (void)shardOptimizer(getOperation(),
                         {ranks, rank, minElements, bucketBytes});
  }
};
} // namespace
} // namespace mp
