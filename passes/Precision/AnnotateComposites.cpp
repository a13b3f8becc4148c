//===- AnnotateComposites.cpp - Mark nodes that stand for one op ----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Dialect/ONNX/NodeAttributes.h"
#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Precision/Patterns/Composites.h"

namespace mp {
#define GEN_PASS_DEF_ANNOTATECOMPOSITES
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct AnnotateComposites
    : public mp::impl::AnnotateCompositesBase<AnnotateComposites> {
  void runOnOperation() override;
};

} // namespace

void AnnotateComposites::runOnOperation() {
  Builder builder(&getContext());
  int64_t number = 0;
  for (Operation *scope : getScopes(getOperation()))
    for (const Composite &composite : findComposites(scope)) {
      auto name = builder.getStringAttr(
          getQualifiedName(composite.domain, composite.opType));
      auto held = CompositeAttr::get(&getContext(), name, number++);
      for (Operation *node : composite.nodes)
        node->setAttr(mark::composite, held);
    }
}
