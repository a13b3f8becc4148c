//===- InitAllPasses.h - Registers every pass -------------------*- C++ -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_INITALLPASSES_H
#define MPOPT_PASSES_INITALLPASSES_H

#include "Autodiff/Passes.h"
#include "Distribution/Passes.h"
#include "Graph/Passes.h"
#include "LossScaling/Passes.h"
#include "Lowering/Passes.h"
#include "Pipelines/Pipelines.h"
#include "Precision/Passes.h"

namespace mp {

/// Registers the passes and pipelines of mp-opt.
inline void registerAllPasses() {
  registerAutodiffPasses();
  registerDistributionPasses();
  registerGraphPasses();
  registerLossScalingPasses();
  registerLoweringPasses();
  registerPrecisionPasses();
  registerPipelines();
}

} // namespace mp

#endif // MPOPT_PASSES_INITALLPASSES_H
