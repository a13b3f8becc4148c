//===- Classify.cpp - Give every node a precision class -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Precision/Passes.h"
#include "mp-opt/Precision/PrecisionRemarks.h"

#include "mp-opt/Dialect/ONNX/NodeAttributes.h"
#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Precision/Casts.h"
#include "mp-opt/Precision/Classification.h"
#include "mp-opt/Precision/NodeOverrides.h"
#include "mp-opt/Precision/PolicyFile.h"

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
  PolicyRequest getRequest() const;
  FailureOr<PrecisionPolicy> createPolicy();
  void lookUpKeys();
  void annotate(const NodeClass &entry);
  void classifyMade(const PrecisionPolicy &policy,
                    const NodeOverrides &overrides, const ModuleNames &names);
  void denyCalls();
  void annotateModule(GraphOp graph, Type lowType);
  void annotateOptions(const PolicyOptions &options);

  /// Names of marks and of classes, looked up once.
  StringAttr classKey, reasonKey, builtinKey;
  StringAttr classes[std::size(opClasses)];
  /// Those of nodes so far, by the address of the text.
  llvm::DenseMap<std::pair<const char *, unsigned>, StringAttr> reasons;
};

} // namespace

template <typename List>
static std::vector<std::string> toVector(const List &list) {
  return std::vector<std::string>(list.begin(), list.end());
}

PolicyRequest Classify::getRequest() const {
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

FailureOr<PrecisionPolicy> Classify::createPolicy() {
  ModuleOp module = getOperation();
  PolicyRequest request = getRequest();
  if (auto read = module->getAttrOfType<DictionaryAttr>(mark::texts))
    for (NamedAttribute entry : read)
      request.texts[entry.getName().str()] =
          cast<StringAttr>(entry.getValue()).getValue().str();
  llvm::Expected<PolicyOptions> options = loadPolicy(request);
  if (!options)
    return module.emitError() << toString(options.takeError());
  if (llvm::Error failed = addModelPolicy(module, *options))
    return module.emitError() << toString(std::move(failed));
  if (!typeOnly && !madeOnly)
    for (const std::string &warning : options->warnings)
      module.emitWarning() << warning;
  NamedAttrList texts;
  for (const auto &[name, text] : request.texts)
    texts.set(name, StringAttr::get(&getContext(), text));
  if (!texts.empty())
    module->setAttr(mark::texts, texts.getDictionary(&getContext()));
  auto policy = PrecisionPolicy::create(std::move(*options),
                                        [&] { return module.emitError(); });
  auto &dialect = *getContext().getLoadedDialect<ONNXDialect>();
  if (failed(policy) ||
      failed(policy->checkOperators(module, dialect.getSchemas())))
    return failure();
  return policy;
}

void Classify::lookUpKeys() {
  Builder builder(&getContext());
  classKey = builder.getStringAttr(mark::opClass);
  reasonKey = builder.getStringAttr(mark::reason);
  builtinKey = builder.getStringAttr(mark::builtin);
  for (OpClass opClass : opClasses)
    classes[size_t(opClass)] = builder.getStringAttr(stringifyOpClass(opClass));
  reasons.clear();
}

void Classify::annotate(const NodeClass &entry) {
  Builder builder(&getContext());
  // Texts stay where they are, one for many nodes.
  StringAttr &reason =
      reasons[{entry.reason.data(), unsigned(entry.reason.size())}];
  if (!reason)
    reason = builder.getStringAttr(entry.reason);
  SmallVector<NamedAttribute, 3> marks = {
      {classKey, classes[size_t(entry.opClass)]}, {reasonKey, reason}};
  if (entry.isBuiltin)
    marks.emplace_back(builtinKey, builder.getUnitAttr());
  if (entry.isOverride && !entry.overruled)
    marks.push_back(
        builder.getNamedAttr(mark::isOverride, builder.getUnitAttr()));
  if (!entry.place.empty())
    marks.push_back(
        builder.getNamedAttr(mark::asked, builder.getStringAttr(entry.place)));
  if (!entry.place.empty() && entry.overruled)
    marks.push_back(builder.getNamedAttr(mark::refused, reason));
  setAttributes(entry.node, marks);
  if (entry.overruled)
    emitPrecisionRemark(entry.node, RemarkOutcome::Missed, "f32", entry.reason);
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

void Classify::annotateOptions(const PolicyOptions &options) {
  Builder builder(&getContext());
  NamedAttrList said;
  if (options.assign)
    said.set("assign", builder.getStringAttr(options.assign->text));
  if (options.minSaving)
    said.set("min_saving", builder.getStringAttr(options.minSaving->text));
  SmallVector<StringRef> dims;
  for (const PolicyEntry &dim : options.dims)
    dims.push_back(dim.text);
  if (!dims.empty())
    said.set("dims", builder.getStrArrayAttr(dims));
  if (options.raiseOpset)
    said.set("raise_opset", builder.getBoolAttr(*options.raiseOpset));
  if (options.strict)
    said.set("strict", builder.getBoolAttr(*options.strict));
  if (!said.empty())
    getOperation()->setAttr(mark::options, said.getDictionary(&getContext()));
}

/// Gives nodes that raising the opset has made the classes that a user's list
/// gives them, so that they have the same in the next run.
void Classify::classifyMade(const PrecisionPolicy &policy,
                            const NodeOverrides &overrides,
                            const ModuleNames &names) {
  for (Operation *scope : getScopes(getOperation())) {
    auto classes = Classification::compute(scope, policy, overrides, names);
    for (const NodeClass &entry : classes.getNodes())
      if (entry.node->hasAttr(mark::made) && !entry.isBuiltin)
        annotate(entry);
  }
}

/// What the user says of a call holds for the function's body: a clone whose
/// call is denied is denied too.
void Classify::denyCalls() {
  FunctionTable functions(getOperation());
  Builder builder(&getContext());
  SmallVector<Operation *> calls;
  auto isDenied = [](Operation *op) {
    auto opClass = op->getAttrOfType<StringAttr>(mark::opClass);
    return opClass && symbolizeOpClass(opClass.getValue()) == OpClass::Deny;
  };
  for (Operation *scope : getScopes(getOperation()))
    scope->walk([&](CustomOp call) {
      if (isDenied(call))
        calls.push_back(call);
    });
  llvm::DenseSet<Operation *> seen;
  while (!calls.empty()) {
    FunctionOp function = functions.lookup(calls.pop_back_val());
    if (!function || !isSpecialized(function) || !seen.insert(function).second)
      continue;
    function->walk([&](Operation *op) {
      if (!isNode(op) || isDenied(op))
        return;
      op->setAttr(mark::opClass,
                  builder.getStringAttr(stringifyOpClass(OpClass::Deny)));
      op->setAttr(mark::reason,
                  builder.getStringAttr("in a function whose call is denied"));
      op->removeAttr(mark::builtin);
      if (isa<CustomOp>(op))
        calls.push_back(op);
    });
  }
}

void Classify::runOnOperation() {
  ModuleOp module = getOperation();
  if (madeOnly && !module->hasAttr(mark::made))
    return;
  FailureOr<PrecisionPolicy> policy = createPolicy();
  if (failed(policy))
    return signalPassFailure();
  Type lowType = onnxir::getElementType(&getContext(), policy->getLowKind());
  if (typeOnly) {
    module->setAttr(mark::low, TypeAttr::get(lowType));
    return;
  }
  auto overrides = NodeOverrides::compute(module, policy->getOptions());
  if (failed(overrides))
    return signalPassFailure();
  ModuleNames names(module);
  lookUpKeys();
  if (madeOnly)
    return classifyMade(*policy, *overrides, names);
  for (Operation *scope : getScopes(module)) {
    auto classes = Classification::compute(scope, *policy, *overrides, names);
    for (const NodeClass &entry : classes.getNodes())
      annotate(entry);
    if (auto graph = dyn_cast<GraphOp>(scope))
      annotateModule(graph, lowType);
  }
  denyCalls();
  annotateOptions(policy->getOptions());
}
