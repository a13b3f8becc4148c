//===- SelectStrategy.cpp - Choose how to compute contractions ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/CPU/Strategy.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace mp {
#define GEN_PASS_DEF_SELECTSTRATEGY
#include "Lowering/Passes.h.inc"

namespace {
class SelectStrategy : public impl::SelectStrategyBase<SelectStrategy> {
  using SelectStrategyBase::SelectStrategyBase;

  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](kernel::ContractOp op) {
      return failed(select(op)) ? WalkResult::interrupt()
                                : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult select(kernel::ContractOp op) {
    if (!isa<MemRefType>(op.getC().getType()))
      return op.emitError() << "expected a contraction of memrefs, got "
                            << op.getC().getType();
    Target target = Target::get(op);
    kernel::ConfigAttr config =
        kernel::selectStrategy(op, target, getTargetNumbers(target));
    op.setConfigAttr(config);
    auto options = remark::RemarkOpts::name("strategy").category("mp-codegen");
    auto remark = remark::analysis(op.getLoc(), options);
    if (!remark)
      return success();
    std::string text;
    llvm::raw_string_ostream(text) << config;
    using Arg = remark::detail::Remark::Arg;
    remark << Arg("Strategy", kernel::stringifyStrategy(config.getStrategy()))
           << Arg("Config", text);
    return success();
  }

  /// Options take precedence over the target's numbers.
  TargetNumbers getTargetNumbers(const Target &target) const {
    TargetNumbers numbers = getNumbers(target);
    auto set = [](int64_t &value, int64_t wanted) {
      value = wanted > 0 ? wanted : value;
    };
    set(numbers.tileRows, rows);
    set(numbers.tileVectors, vectors);
    for (CacheBlocks *blocks : {&numbers.blocks, &numbers.deepBlocks}) {
      set(blocks->mc, mc);
      set(blocks->nc, nc);
      set(blocks->kc, kc);
    }
    return numbers;
  }
};
} // namespace
} // namespace mp
