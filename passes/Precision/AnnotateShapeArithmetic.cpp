//===- AnnotateShapeArithmetic.cpp - Mark floats that are sizes -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Precision/Analysis/ShapeArithmetic.h"

namespace mp {
#define GEN_PASS_DEF_ANNOTATESHAPEARITHMETIC
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct AnnotateShapeArithmetic
    : public mp::impl::AnnotateShapeArithmeticBase<AnnotateShapeArithmetic> {
  void runOnOperation() override;
};

} // namespace

void AnnotateShapeArithmetic::runOnOperation() {
  auto unit = UnitAttr::get(&getContext());
  for (Operation *node : findShapeArithmetic(getOperation()))
    node->setAttr(mark::shapeArithmetic, unit);
}
