//===- RemoveCasts.cpp - Remove casts of the model that lose nothing ------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph/Passes.h"

#include "mp-opt/Graph/LosslessCasts.h"

namespace mp {
#define GEN_PASS_DEF_REMOVECASTS
#include "Graph/Passes.h.inc"
} // namespace mp

namespace {

struct RemoveCasts : public mp::impl::RemoveCastsBase<RemoveCasts> {
  void runOnOperation() override { mp::removeLosslessCasts(getOperation()); }
};

} // namespace
