//===- FreeOwned.cpp - Memory that nothing else owns is freed -------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs before MLIR's buffer-deallocation-simplification, which compares all
// memory that one op frees pairwise: a quadratic cost in long models. Memory of
// two different allocations needs no comparison.
//
//===----------------------------------------------------------------------===//

#include "Lowering/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mp {
#define GEN_PASS_DEF_FREEOWNED
#include "Lowering/Passes.h.inc"
} // namespace mp

using namespace mlir;

namespace {

struct FreeOwned : public mp::impl::FreeOwnedBase<FreeOwned> {
  using FreeOwnedBase::FreeOwnedBase;

  void runOnOperation() override;
};

} // namespace

/// True if the op frees allocations, each once and unconditionally, and retains
/// none.
static bool isOwned(bufferization::DeallocOp op) {
  llvm::SmallPtrSet<Operation *, 16> allocs;
  return op.getRetained().empty() &&
         llvm::all_of(op.getMemrefs(),
                      [&](Value memref) {
                        auto alloc = memref.getDefiningOp<memref::AllocOp>();
                        return alloc && allocs.insert(alloc).second;
                      }) &&
         llvm::all_of(op.getConditions(), [](Value condition) {
           return matchPattern(condition, m_One());
         });
}

void FreeOwned::runOnOperation() {
  getOperation().walk([](bufferization::DeallocOp op) {
    if (!isOwned(op))
      return;
    OpBuilder builder(op);
    for (Value memref : op.getMemrefs())
      memref::DeallocOp::create(builder, op.getLoc(), memref);
    op.erase();
  });
}
