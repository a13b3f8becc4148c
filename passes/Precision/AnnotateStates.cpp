//===- AnnotateStates.cpp - Mark what iterations accumulate ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/ValueFlow.h"
#include "mp-opt/Precision/Analysis/StateCycles.h"

namespace mp {
#define GEN_PASS_DEF_ANNOTATESTATES
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct AnnotateStates : public mp::impl::AnnotateStatesBase<AnnotateStates> {
  void runOnOperation() override;
};

} // namespace

void AnnotateStates::runOnOperation() {
  ValueFlow flow(getOperation());
  StateCycles cycles(flow);
  for (Operation *node : cycles.getNodes())
    for (Value result : node->getResults())
      if (Value state = cycles.getState(result)) {
        addHazard(node, "iterations accumulate in '" +
                            getValueName(state).str() + "' through it");
        break;
      }
}
