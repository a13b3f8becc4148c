//===- SetPolicy.cpp - Load the policy and leave it on the module ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptionSet.h"
#include "Precision/Passes.h"

#include "mp-opt/Precision/Policy/PolicyAttribute.h"
#include "mp-opt/Precision/Policy/PolicyFile.h"

namespace mp {
#define GEN_PASS_DEF_SETPOLICY
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct SetPolicy : public mp::impl::SetPolicyBase<SetPolicy> {
  SetPolicy() = default;
  explicit SetPolicy(const PolicyRequest &request) { options.set(request); }
  // A clone has its own options, into which MLIR copies the values.
  SetPolicy(const SetPolicy &other) : SetPolicyBase(other) {}

  void runOnOperation() override;

private:
  LogicalResult setPolicy();

  OptionSet<PolicyRequest, Option, ListOption> options{*this};
};

} // namespace

std::unique_ptr<Pass> mp::createSetPolicy(const PolicyRequest &request) {
  return std::make_unique<SetPolicy>(request);
}

LogicalResult SetPolicy::setPolicy() {
  ModuleOp module = getOperation();
  PolicyRequest request = options.get();
  llvm::Expected<PolicyOptions> said = loadPolicy(request);
  if (!said)
    return module.emitError() << toString(said.takeError());
  if (llvm::Error failed = addModelPolicy(module, *said))
    return module.emitError() << toString(std::move(failed));
  for (const std::string &warning : said->warnings)
    module.emitWarning() << warning;
  auto policy = PrecisionPolicy::create(std::move(*said),
                                        [&] { return module.emitError(); });
  auto &dialect = *getContext().getLoadedDialect<ONNXDialect>();
  if (failed(policy) ||
      failed(policy->checkOperators(module, dialect.getSchemas())))
    return failure();
  Type lowType = onnxir::getElementType(&getContext(), policy->getLowKind());
  module->setAttr(mark::policy, writePolicy(lowType, policy->getOptions()));
  return success();
}

void SetPolicy::runOnOperation() {
  if (failed(setPolicy()))
    signalPassFailure();
}
