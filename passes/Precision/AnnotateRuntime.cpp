//===- AnnotateRuntime.cpp - Mark nodes that a runtime runs in fp32 -------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Precision/Analysis/Constants.h"
#include "mp-opt/Precision/Analysis/FloatSignature.h"
#include "mp-opt/Precision/Policy/RuntimeKernels.h"

namespace mp {
#define GEN_PASS_DEF_ANNOTATERUNTIME
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct AnnotateRuntime : public mp::impl::AnnotateRuntimeBase<AnnotateRuntime> {
  using AnnotateRuntimeBase::AnnotateRuntimeBase;

  void runOnOperation() override;

private:
  std::string getReason(Operation *node, const OpSchema &schema,
                        const RuntimeKernels &kernels, ElementKind low);
};

} // namespace

/// Why the runtime should not run a node in 16 bit; empty if it may.
std::string AnnotateRuntime::getReason(Operation *node, const OpSchema &schema,
                                       const RuntimeKernels &kernels,
                                       ElementKind low) {
  const RuntimeProfile &profile = kernels.getProfile();
  std::string reason = kernels.getObstacle(node, schema, low);
  if (!reason.empty())
    return reason;
  if (profile.has(RuntimeRule::Storage))
    return profile.str() + " only stores 16 bit, and computes in fp32";
  return {};
}

void AnnotateRuntime::runOnOperation() {
  ModuleOp module = getOperation();
  llvm::Expected<RuntimeKernels> kernels = RuntimeKernels::create(runtime);
  if (!kernels) {
    module.emitError() << "--runtime: " << toString(kernels.takeError());
    return signalPassFailure();
  }
  FailureOr<ElementKind> low = resolveLowPrecision(module, precision);
  if (failed(low))
    return signalPassFailure();
  const RuntimeProfile &profile = kernels->getProfile();
  if (profile.isOlderThanAsked())
    module.emitWarning() << "the table of " << profile.getTable().getName()
                         << " ends at " << profile.str()
                         << ", whose rows are used for " << runtime;
  bool wantsOneType = profile.has(RuntimeRule::OneType);
  for (Operation *scope : getScopes(module)) {
    SchemaCache schemas(scope);
    scope->walk([&](Operation *node) {
      const OpSchema *schema = isNode(node) && !mp::isConstant(node)
                                   ? schemas.lookup(node).schema
                                   : nullptr;
      if (!schema || node->getNumRegions())
        return;
      if (wantsOneType && hasOperandsOfOneType(node))
        node->setAttr(mark::oneType, UnitAttr::get(&getContext()));
      if (std::string reason = getReason(node, *schema, *kernels, *low);
          !reason.empty())
        node->setAttr(mark::noKernel, StringAttr::get(&getContext(), reason));
    });
  }
}
