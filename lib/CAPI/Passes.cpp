//===- Passes.cpp - Passes and pipelines for MLIR's C API -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt-c/Passes.h"

#include "Objects.h"

#include "InitAllPasses.h"

#include "mlir/CAPI/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace mp {

#define FOR_EACH_STAGE(MACRO)                                                  \
  MACRO(Autodiff)                                                              \
  MACRO(Distribution)                                                          \
  MACRO(Graph)                                                                 \
  MACRO(LossScaling)                                                           \
  MACRO(Lowering)                                                              \
  MACRO(Precision)

// Functions that TableGen's code calls, under the names that it uses.
#define DEFINE_REGISTRATION(stage)                                             \
  static void registerMPOpt##stage##Passes() { register##stage##Passes(); }
FOR_EACH_STAGE(DEFINE_REGISTRATION)
#undef DEFINE_REGISTRATION
#undef FOR_EACH_STAGE

static void registerOnce() {
  static std::once_flag once;
  std::call_once(once, [] { registerAllPasses(); });
}

static const PassRegistryEntry *find(StringRef name) {
  if (const PassPipelineInfo *pipeline = PassPipelineInfo::lookup(name))
    return pipeline;
  return PassInfo::lookup(name);
}

/// Adds nothing if it fails.
static llvm::Error add(OpPassManager &manager, StringRef name,
                       StringRef options) {
  const PassRegistryEntry *entry = find(name);
  auto fail = [&](const Twine &text) {
    return makeError({ErrorKind::Usage, text.str()});
  };
  if (!entry)
    return fail("there is no pass or pipeline '" + name + "'");
  OpPassManager before(manager);
  std::string found;
  auto note = [&](const Twine &text) {
    found += text.str();
    return failure();
  };
  bool isAdded = false;
  try {
    isAdded = succeeded(entry->addToPipeline(manager, options, note));
  } catch (const std::exception &thrown) {
    // The pass does not fit the manager's operation.
    found = thrown.what();
  }
  if (isAdded)
    return llvm::Error::success();
  manager = before;
  return fail("'" + name + "' does not take the options '" + options + "'" +
              (found.empty() ? "" : ": " + StringRef(found).trim()));
}

} // namespace mp

using namespace mp;

#include "mp-opt-c/AutodiffPasses.capi.cpp.inc"
#include "mp-opt-c/DistributionPasses.capi.cpp.inc"
#include "mp-opt-c/GraphPasses.capi.cpp.inc"
#include "mp-opt-c/LossScalingPasses.capi.cpp.inc"
#include "mp-opt-c/LoweringPasses.capi.cpp.inc"
#include "mp-opt-c/PrecisionPasses.capi.cpp.inc"

void mlirMPOptRegisterAllPasses(void) {
  guardResult(0, [] {
    registerOnce();
    return 0;
  });
}

mp_opt_status mlirMPOptAddPipeline(MlirOpPassManager manager, const char *name,
                                   const char *options) {
  return guard([&] {
    if (!manager.ptr || !name)
      return failUsage("add_pipeline: no pass manager, or no name");
    registerOnce();
    if (llvm::Error failed =
            add(*unwrap(manager), name, options ? options : ""))
      return fail(std::move(failed));
    return succeed();
  });
}
