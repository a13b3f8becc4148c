//===- SelectGPUStrategy.cpp - Choose how groups are computed -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/GPU/Strategy/GroupStrategy.h"
#include "mp-opt/Dialect/Kernel/Kernel.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace mp {
#define GEN_PASS_DEF_SELECTGPUSTRATEGY
#include "Lowering/Passes.h.inc"

namespace {
class SelectGPUStrategy
    : public impl::SelectGPUStrategyBase<SelectGPUStrategy> {
  using SelectGPUStrategyBase::SelectGPUStrategyBase;

  void runOnOperation() override {
    // Parts come before the group that they are in.
    WalkResult result = getOperation()->walk([](device::GroupOp group) {
      return failed(select(group)) ? WalkResult::interrupt()
                                   : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  static LogicalResult select(device::GroupOp group) {
    if (group.getKind() == device::Kind::Collective)
      return success();
    if (failed(selectTiles(group)))
      return failure();
    FailureOr<device::StrategyAttr> strategy = selectStrategy(group);
    if (failed(strategy))
      return failure();
    group.setStrategyAttr(*strategy);
    report(group);
    return success();
  }

  static void report(device::GroupOp group) {
    auto options = remark::RemarkOpts::name("strategy").category("mp-codegen");
    auto remark = remark::analysis(group.getLoc(), options);
    if (!remark)
      return;
    device::StrategyAttr strategy = group.getStrategyAttr();
    using Arg = remark::detail::Remark::Arg;
    remark << Arg("Kind", device::stringifyKind(group.getKind()))
           << Arg("Strategy", device::stringifySharing(strategy.getBy()))
           << Arg("Blocks", strategy.getBlocks())
           << Arg("Threads", strategy.getThreads());
    if (strategy.getBy() != device::Sharing::Tiles)
      return;
    group.walk([&](kernel::ContractOp op) {
      std::string text;
      llvm::raw_string_ostream(text) << op.getTileAttr();
      remark << Arg("Tile", text);
      return WalkResult::interrupt();
    });
  }
};
} // namespace
} // namespace mp
