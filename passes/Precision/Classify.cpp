//===- Classify.cpp - Give every node a precision class -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"
#include "mp-opt/Precision/PrecisionRemarks.h"

#include "mp-opt/Precision/Casts.h"
#include "mp-opt/Precision/Classification.h"
#include "mp-opt/Precision/Functions.h"

namespace mp {
#define GEN_PASS_DEF_CLASSIFY
#include "Precision/Passes.h.inc"
} // namespace mp

using namespace mlir;
using namespace mp;
using namespace mp::onnxir;

namespace {

struct Classify : public mp::impl::ClassifyBase<Classify> {
  using ClassifyBase::ClassifyBase;

  void runOnOperation() override;

private:
  PolicyOptions getOptions() const;
  void annotate(const Classification &classification);
  void annotateModule(GraphOp graph, Type lowType);
};

} // namespace

PolicyOptions Classify::getOptions() const {
  PolicyOptions options;
  options.precision = precision;
  options.allow.assign(allow.begin(), allow.end());
  options.deny.assign(deny.begin(), deny.end());
  options.promote.assign(promote.begin(), promote.end());
  options.allowNodes.assign(allowNodes.begin(), allowNodes.end());
  options.denyNodes.assign(denyNodes.begin(), denyNodes.end());
  return options;
}

void Classify::annotate(const Classification &classification) {
  Builder builder(&getContext());
  for (const NodeClass &entry : classification.getNodes()) {
    NamedAttrList attributes(entry.node->getAttrDictionary());
    attributes.set(mark::opClass,
                   builder.getStringAttr(stringifyOpClass(entry.opClass)));
    attributes.set(mark::reason, builder.getStringAttr(entry.reason));
    if (entry.isBuiltin)
      attributes.set(mark::builtin, builder.getUnitAttr());
    entry.node->setAttrs(attributes.getDictionary(&getContext()));
    if (entry.overruled)
      emitPrecisionRemark(entry.node, RemarkOutcome::Missed, "f32",
                          entry.reason);
  }
}

void Classify::annotateModule(GraphOp graph, Type lowType) {
  Builder builder(&getContext());
  YieldOp yield = getYield(graph.getBody());
  ModuleOp module = getOperation();
  module->setAttr(mark::low, TypeAttr::get(lowType));
  module->setAttr(mark::inputTypes,
                  builder.getTypeArrayAttr(SmallVector<Type>(
                      graph.getBody().front().getArgumentTypes())));
  module->setAttr(
      mark::outputTypes,
      builder.getTypeArrayAttr(SmallVector<Type>(
          yield ? TypeRange(yield->getOperandTypes()) : TypeRange())));
}

void Classify::runOnOperation() {
  ModuleOp module = getOperation();
  auto policy =
      PrecisionPolicy::create(getOptions(), [&] { return module.emitError(); });
  auto &dialect = *getContext().getLoadedDialect<ONNXDialect>();
  if (failed(policy) ||
      failed(policy->checkOperators(module, dialect.getSchemas())))
    return signalPassFailure();
  Type lowType = onnxir::getElementType(&getContext(), policy->getLowKind());
  for (Operation *scope : getScopes(module)) {
    auto classification = Classification::compute(scope, *policy);
    if (failed(classification))
      return signalPassFailure();
    annotate(*classification);
    if (auto graph = dyn_cast<GraphOp>(scope))
      annotateModule(graph, lowType);
  }
  if (failed(policy->checkPatterns(module)))
    return signalPassFailure();
}
