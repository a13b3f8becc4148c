//===- SyncBatchNorm.cpp - Normalize by statistics of all ranks -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Distribution/Passes.h"

#include "mp-opt/Dialect/ONNX/GraphEditor.h"
#include "mp-opt/Training/Distribution.h"

namespace mp {
#define GEN_PASS_DEF_SYNCBATCHNORM
#include "Distribution/Passes.h.inc"

namespace {
struct SyncBatchNorm : public impl::SyncBatchNormBase<SyncBatchNorm> {
  using SyncBatchNormBase::SyncBatchNormBase;

  void runOnOperation() override {
    onnxir::GraphOp graph = getMainGraph(getOperation());
    NodeBuilder nodes(getOperation());
    if (graph && failed(syncBatchNorm(graph, nodes)))
      signalPassFailure();
  }
};
} // namespace
} // namespace mp
