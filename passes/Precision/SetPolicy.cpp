//===- SetPolicy.cpp - Load the policy and leave it on the module ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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
  using SetPolicyBase::SetPolicyBase;

  void runOnOperation() override;

private:
  PolicyRequest getRequest() const;
  LogicalResult setPolicy();
};

} // namespace

template <typename List>
static std::vector<std::string> toVector(const List &list) {
  return std::vector<std::string>(list.begin(), list.end());
}

PolicyRequest SetPolicy::getRequest() const {
  PolicyRequest request;
  request.precision = precision;
  request.allow = toVector(allow);
  request.deny = toVector(deny);
  request.promote = toVector(promote);
  request.allowFiles = toVector(allowFiles);
  request.denyFiles = toVector(denyFiles);
  request.promoteFiles = toVector(promoteFiles);
  request.allowNodes = toVector(allowNodes);
  request.denyNodes = toVector(denyNodes);
  request.gaudiConfig = gaudiConfig;
  request.policy = policyFile;
  request.strict = strict;
  return request;
}

LogicalResult SetPolicy::setPolicy() {
  ModuleOp module = getOperation();
  PolicyRequest request = getRequest();
  llvm::Expected<PolicyOptions> options = loadPolicy(request);
  if (!options)
    return module.emitError() << toString(options.takeError());
  if (llvm::Error failed = addModelPolicy(module, *options))
    return module.emitError() << toString(std::move(failed));
  for (const std::string &warning : options->warnings)
    module.emitWarning() << warning;
  auto policy = PrecisionPolicy::create(std::move(*options),
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
