//===- GroupStrategy.cpp - Tiles, blocks and threads of groups ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Strategies follow from the ops of a group. The parts of a fused kernel all
// have the default number of threads.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Codegen/GPU/Strategy/GroupStrategy.h"

#include "../Emit/BlockCode.h"
#include "../Emit/ContractCode.h"
#include "../Emit/GenericCode.h"
#include "../Emit/IndexedCode.h"
#include "../GroupForms.h"
#include "mp-opt/Codegen/GPU/Attention.h"
#include "mp-opt/Codegen/Target/KnownTargets.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace mp {

using device::Kind;
using device::Sharing;

/// The default number of threads of a block.
constexpr int64_t commonThreads = 256;
/// Columns of fewer points are reduced by one thread each.
constexpr int64_t minSharedColumn = 64;

namespace {
class StrategySelector {
public:
  explicit StrategySelector(device::GroupOp group)
      : group(group), isPart(isa<device::GroupOp>(group->getParentOp())) {}

  FailureOr<device::StrategyAttr> select();

private:
  device::StrategyAttr make(Sharing by, int64_t blocks, int64_t threads) {
    return device::StrategyAttr::get(group.getContext(), by, blocks, threads);
  }
  int64_t chooseThreads(int64_t tasks, int64_t most) const;
  device::StrategyAttr makeThreads(int64_t tasks, int64_t most);
  device::StrategyAttr selectReduce(linalg::GenericOp op);
  device::StrategyAttr selectContract(kernel::ContractOp op, int64_t count);
  FailureOr<device::StrategyAttr> selectRows(scf::ForallOp forall);
  device::StrategyAttr selectFused();

  device::GroupOp group;
  bool isPart;
};
} // namespace

/// The number of threads, a power of two, of whole warps.
int64_t StrategySelector::chooseThreads(int64_t tasks, int64_t most) const {
  if (isPart)
    return commonThreads;
  int64_t threads = llvm::PowerOf2Ceil(std::max<int64_t>(tasks, 1));
  return std::clamp<int64_t>(threads, warpSize, most);
}

/// A thread of the grid for each task.
device::StrategyAttr StrategySelector::makeThreads(int64_t tasks,
                                                   int64_t most) {
  int64_t threads = chooseThreads(tasks, most);
  int64_t blocks = std::max<int64_t>(1, llvm::divideCeil(tasks, threads));
  return make(Sharing::Threads, blocks, threads);
}

/// A block for each output that has many points, if they are contiguous or
/// outputs are few; a block for some neighbours if each of them has many
/// points; else a thread for each output.
device::StrategyAttr StrategySelector::selectReduce(linalg::GenericOp op) {
  IRRewriter rewriter(op.getContext());
  GenericCode code(rewriter, op);
  code.inspect();
  int64_t points = code.countReduced(), outputs = code.countOutputs();
  if (code.canShare() && points >= 2 * warpSize &&
      (!code.hasColumns() || outputs < warpSize))
    return make(Sharing::Blocks, outputs,
                chooseThreads(points / 2, commonThreads));
  if (code.canCombine() && points >= minSharedColumn)
    return make(Sharing::Columns, llvm::divideCeil(outputs, warpSize),
                commonThreads);
  return makeThreads(outputs, commonThreads / 2);
}

/// A tile for each block; a thread for each element if there are few products.
device::StrategyAttr StrategySelector::selectContract(kernel::ContractOp op,
                                                      int64_t count) {
  if (!op.getTileAttr())
    return makeThreads(countResults(op), commonThreads / 2);
  kernel::ContractLaunch launch = kernel::getContractLaunch(op);
  return make(Sharing::Tiles, launch.grid[0] * count, launch.block[0]);
}

/// A block for each iteration; a thread if iterations are code of single
/// elements.
FailureOr<device::StrategyAttr>
StrategySelector::selectRows(scf::ForallOp forall) {
  std::optional<RowRange> rows = RowRange::get(forall);
  if (!rows)
    return device::refuse(forall, "how many rows there are depends on data");
  if (rows->count == 0)
    return make(Sharing::Threads, 1, commonThreads);
  if (isScalarCode(*forall.getBody()))
    return makeThreads(rows->count, commonThreads / 4);
  int64_t tasks = getWidth(*forall.getBody()) / 4;
  return make(Sharing::Blocks, rows->count,
              chooseThreads(tasks, commonThreads));
}

device::StrategyAttr StrategySelector::selectFused() {
  int64_t blocks = 0;
  for (auto part : group.getBody().getOps<device::GroupOp>())
    blocks += part.getStrategyAttr().getBlocks();
  return make(Sharing::Blocks, blocks, commonThreads);
}

FailureOr<device::StrategyAttr> StrategySelector::select() {
  Block &body = group.getBody().front();
  Operation *work = findWork(body);
  if (!work && group.getKind() != Kind::SingleBlock &&
      group.getKind() != Kind::Fused)
    return group.emitOpError("expected an op of the kind '")
           << device::stringifyKind(group.getKind()) << "'";
  switch (group.getKind()) {
  case Kind::Elementwise: {
    IRRewriter rewriter(group.getContext());
    GenericCode code(rewriter, cast<linalg::GenericOp>(work));
    code.inspect();
    return makeThreads(code.countTasks(), commonThreads);
  }
  case Kind::Reduce:
    return selectReduce(cast<linalg::GenericOp>(work));
  case Kind::Contract: {
    auto ops = work->getBlock()->getOps<kernel::ContractOp>();
    return selectContract(*ops.begin(), llvm::range_size(ops));
  }
  case Kind::Attention: {
    if (failed(kernel::verifyGPUAttention(work)))
      return failure();
    kernel::ContractLaunch launch = kernel::getAttentionLaunch(work);
    return make(Sharing::Tiles, launch.grid[0], launch.block[0]);
  }
  case Kind::RowWise:
    return selectRows(cast<scf::ForallOp>(work));
  case Kind::Scatter: {
    std::optional<IndexedLoop> loop = IndexedLoop::get(cast<scf::ForOp>(work));
    if (!loop)
      return device::refuse(work, "a loop of this form");
    int64_t manyBlocks = GPUTarget::get(work).manyBlocks;
    return make(Sharing::Blocks, loop->countBlocks(commonThreads, manyBlocks),
                commonThreads);
  }
  case Kind::Fused:
    return selectFused();
  default:
    return make(Sharing::Blocks, 1,
                chooseThreads(getWidth(body), commonThreads));
  }
}

LogicalResult selectTiles(device::GroupOp group) {
  if (group.getKind() != Kind::Contract)
    return success();
  Operation *work = findWork(group.getBody().front());
  if (!work)
    return success();
  auto ops = work->getBlock()->getOps<kernel::ContractOp>();
  int64_t count = llvm::range_size(ops);
  for (kernel::ContractOp op : ops) {
    if (!op.getTileAttr() && kernel::isWorthTiles(op))
      op.setTileAttr(kernel::selectTile(op, count));
    if (failed(kernel::verifyGPUContract(op)))
      return failure();
  }
  return success();
}

FailureOr<device::StrategyAttr> selectStrategy(device::GroupOp group) {
  return StrategySelector(group).select();
}

} // namespace mp
