//===- AddLoss.cpp - Add a loss to a forward graph ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Autodiff/Passes.h"

#include "mp-opt/Training/Losses.h"
#include "mp-opt/Training/Parameters.h"

namespace mp {
#define GEN_PASS_DEF_ADDLOSS
#include "Autodiff/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct AddLoss : public mp::impl::AddLossBase<AddLoss> {
  using AddLossBase::AddLossBase;

  void runOnOperation() override;
};

} // namespace

void AddLoss::runOnOperation() {
  ModuleOp module = getOperation();
  GraphOp graph = getMainGraph(module);
  if (!graph)
    return;
  NodeBuilder builder(module);
  FailureOr<Value> found = addLosses(graph, builder, losses, classAxis);
  if (failed(found))
    return signalPassFailure();
  graph->setAttr(mark::loss,
                 StringAttr::get(&getContext(), onnxir::getValueName(*found)));
}
