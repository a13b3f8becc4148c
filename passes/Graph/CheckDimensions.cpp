//===- CheckDimensions.cpp - Sizes are for dimensions that there are ------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph/Passes.h"

#include "mp-opt/Graph/ValueSizes.h"

namespace mp {
#define GEN_PASS_DEF_CHECKDIMENSIONS
#include "Graph/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;

namespace {
struct CheckDimensions : public mp::impl::CheckDimensionsBase<CheckDimensions> {
  using CheckDimensionsBase::CheckDimensionsBase;

  void runOnOperation() override {
    DimensionSizes sizes;
    llvm::Error failed = parseDimensions(
        std::vector<std::string>(dims.begin(), dims.end()), sizes);
    if (!failed)
      failed = checkDimensionNames(getOperation(), sizes);
    if (failed) {
      getOperation().emitError() << toString(std::move(failed));
      return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
