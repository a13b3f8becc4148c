//===- Distribute.cpp - Reduce gradients over all ranks -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Distribution/Passes.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Training/Distribution.h"

namespace mp {
#define GEN_PASS_DEF_DISTRIBUTE
#include "Distribution/Passes.h.inc"

namespace {
struct Distribute : public impl::DistributeBase<Distribute> {
  using DistributeBase::DistributeBase;

  void runOnOperation() override {
    onnxir::GraphOp graph = getMainGraph(getOperation());
    NodeBuilder nodes(getOperation());
    if (graph && failed(distribute(graph, nodes, {bucketBytes, firstBytes})))
      signalPassFailure();
  }
};
} // namespace
} // namespace mp
