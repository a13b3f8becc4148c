//===- SelectTile.cpp - Choose how contractions are computed on a GPU -----===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mp-opt/Codegen/GPU/Contract.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace mp {
#define GEN_PASS_DEF_SELECTTILE
#include "Lowering/Passes.h.inc"

namespace {
class SelectTile : public impl::SelectTileBase<SelectTile> {
  using SelectTileBase::SelectTileBase;

  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](kernel::ContractOp op) {
      return failed(select(op)) ? WalkResult::interrupt()
                                : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  static LogicalResult select(kernel::ContractOp op) {
    if (failed(kernel::verifyGPUContract(op)))
      return failure();
    kernel::TileAttr tile = kernel::getTile(op);
    op->setAttr(kernel::tileName, tile);
    auto options = remark::RemarkOpts::name("strategy").category("mp-codegen");
    auto remark = remark::analysis(op.getLoc(), options);
    if (!remark)
      return success();
    std::string text;
    llvm::raw_string_ostream(text) << tile;
    kernel::ContractLaunch launch = kernel::getContractLaunch(op);
    using Arg = remark::detail::Remark::Arg;
    remark << Arg("Strategy", kernel::stringifyMultiplier(tile.getBy()))
           << Arg("Tile", text) << Arg("Blocks", launch.grid[0])
           << Arg("Shared", launch.shared);
    return success();
  }
};
} // namespace
} // namespace mp
