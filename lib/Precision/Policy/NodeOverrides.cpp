//===- NodeOverrides.cpp - Rules for single nodes -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Policy/NodeOverrides.h"

#include "mp-opt/Graph/Functions.h"
#include "mp-opt/Precision/Policy/TorchNames.h"
#include "mp-opt/Support/NameRegex.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

/// The name of a node in messages: its own, or its first output's.
static StringRef getShownName(Operation *node) {
  StringRef name = getNodeName(node);
  return name.empty() && node->getNumResults()
             ? getValueName(node->getResult(0))
             : name;
}

/// True for rules about a single node.
static bool isExact(const NodeRule &rule) {
  return rule.kind == NodeRule::Name;
}

class OverrideFinder {
public:
  OverrideFinder(ModuleOp module, const PolicyOptions &options,
                 NodeOverrides &result)
      : module(module), options(options), result(result) {}

  LogicalResult run();

private:
  LogicalResult select(const NodeRule &rule);
  LogicalResult selectIf(const NodeRule &rule,
                         llvm::function_ref<bool(Operation *)> matches);
  LogicalResult claim(Operation *node, const NodeRule &rule);
  LogicalResult addOwn(const PolicyEntry &key);
  LogicalResult reportDead();
  SmallVector<StringRef> getNames() const;
  void warnOfDeadAlternatives(const NodeRule &rule);
  bool isOperator(Operation *node, StringRef name);

  ModuleOp module;
  const PolicyOptions &options;
  NodeOverrides &result;
  std::vector<Operation *> nodes;
  std::vector<const NodeRule *> dead;
};

LogicalResult OverrideFinder::claim(Operation *node, const NodeRule &rule) {
  const NodeRule *&other = result.rules[node];
  if (!other || (isExact(rule) && !isExact(*other)))
    other = &rule;
  if (isExact(*other) != isExact(rule) || other->opClass == rule.opClass)
    return success();
  return node->emitError() << describe(node) << ": matches "
                           << other->describe() << " and " << rule.describe();
}

LogicalResult
OverrideFinder::selectIf(const NodeRule &rule,
                         llvm::function_ref<bool(Operation *)> matches) {
  bool any = false;
  for (Operation *node : nodes) {
    if (!matches(node))
      continue;
    any = true;
    if (failed(claim(node, rule)))
      return failure();
  }
  if (!any)
    dead.push_back(&rule);
  return success();
}

bool OverrideFinder::isOperator(Operation *node, StringRef name) {
  StringRef domain = normalizeDomain(getDomain(node));
  if (name == getOpType(node))
    return true;
  auto [head, tail] = name.rsplit('.');
  return tail == getOpType(node) &&
         head == (domain.empty() ? StringRef("ai.onnx") : domain);
}

LogicalResult OverrideFinder::select(const NodeRule &rule) {
  switch (rule.kind) {
  case NodeRule::Name:
    return selectIf(
        rule, [&](Operation *node) { return getShownName(node) == rule.text; });
  case NodeRule::Regex: {
    warnOfDeadAlternatives(rule);
    NameRegex regex = llvm::cantFail(NameRegex::compile(rule.text));
    return selectIf(rule, [&](Operation *node) {
      return regex.matches(getShownName(node));
    });
  }
  case NodeRule::Between: {
    auto region = findRegion(module, rule);
    if (failed(region))
      return failure();
    for (Operation *node : *region)
      if (failed(claim(node, rule)))
        return failure();
    return success();
  }
  case NodeRule::Where: {
    auto names = getTorchOperators(rule.text);
    return selectIf(rule, [&](Operation *node) {
      bool isMeant = names ? llvm::any_of(*names,
                                          [&](const char *name) {
                                            return isOperator(node, name);
                                          })
                           : isOperator(node, rule.text);
      return isMeant && holds(rule, node);
    });
  }
  case NodeRule::Metadata:
    return selectIf(rule, [&](Operation *node) {
      return getNodeMetadata(node, rule.text) == StringRef(rule.other);
    });
  }
  return success();
}

static std::optional<OpClass> getRequestedClass(StringRef request) {
  return llvm::StringSwitch<std::optional<OpClass>>(request)
      .Cases({"fp32", "float32", "deny"}, OpClass::Deny)
      .Cases({"bf16", "fp16", "bfloat16", "float16", "allow"}, OpClass::Allow)
      .Case("promote", OpClass::Promote)
      .Case("follow", OpClass::Follow)
      .Default(std::nullopt);
}

/// Adds the requests in the nodes' own metadata, under the policy's key.
LogicalResult OverrideFinder::addOwn(const PolicyEntry &key) {
  bool any = false;
  for (Operation *node : nodes) {
    std::optional<StringRef> request = getNodeMetadata(node, key.text);
    if (!request)
      continue;
    any = true;
    std::optional<OpClass> opClass = getRequestedClass(*request);
    if (!opClass)
      return node->emitError()
             << describe(node) << ": metadata '" << key.text << "' is '"
             << *request
             << "', expected 'fp32', 'bf16', 'fp16', or the name of a class";
    result.own.push_back(
        std::make_unique<NodeRule>(NodeRule{NodeRule::Name,
                                            *opClass,
                                            getShownName(node).str(),
                                            {},
                                            {},
                                            "metadata '" + key.text + "'"}));
    if (failed(claim(node, *result.own.back())))
      return failure();
  }
  if (any)
    return success();
  return module.emitError()
         << "no node has metadata '" << key.text << "' (" << key.place << ")";
}

SmallVector<StringRef> OverrideFinder::getNames() const {
  SmallVector<StringRef> names;
  for (Operation *node : nodes)
    if (StringRef name = getShownName(node); !name.empty())
      names.push_back(name);
  return names;
}

/// If one of several alternatives matches nothing, it is most likely
/// misspelled; if none matches, the rule as a whole selects nothing.
void OverrideFinder::warnOfDeadAlternatives(const NodeRule &rule) {
  std::vector<std::string> parts = splitAlternatives(rule.text);
  SmallVector<StringRef> names, unmatched;
  if (parts.size() > 1)
    names = getNames();
  for (StringRef part : parts) {
    if (parts.size() < 2 || part.empty())
      continue;
    llvm::Expected<NameRegex> regex = NameRegex::compile(part);
    if (!regex)
      llvm::consumeError(regex.takeError());
    else if (llvm::none_of(
                 names, [&](StringRef name) { return regex->matches(name); }))
      unmatched.push_back(part);
  }
  if (unmatched.size() == parts.size())
    return;
  for (StringRef part : unmatched)
    module.emitWarning() << "'" << part << "', an alternative of pattern "
                         << rule.describe() << ", matches no node"
                         << suggestNearest(part, names);
}

LogicalResult OverrideFinder::reportDead() {
  if (dead.empty())
    return success();
  SmallVector<StringRef> names = getNames();
  auto explain = [&](const NodeRule &rule) {
    bool isName = rule.kind == NodeRule::Name || rule.kind == NodeRule::Regex;
    StringRef what = rule.kind == NodeRule::Name    ? "name "
                     : rule.kind == NodeRule::Regex ? "pattern "
                                                    : "";
    return (what + rule.describe() + " matches no node").str() +
           (isName ? suggestNearest(rule.text, names) : std::string());
  };
  InFlightDiagnostic diag = module.emitError() << explain(*dead.front());
  for (const NodeRule *rule : llvm::drop_begin(dead))
    diag.attachNote() << explain(*rule);
  return diag;
}

LogicalResult OverrideFinder::run() {
  for (Operation *scope : getScopes(module))
    scope->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isNode(op))
        nodes.push_back(op);
    });
  auto &dialect = *module.getContext()->getLoadedDialect<ONNXDialect>();
  for (const NodeRule &rule : options.rules) {
    if (rule.kind == NodeRule::Regex)
      if (llvm::Error error = NameRegex::compile(rule.text).takeError())
        return module.emitError() << "pattern " << rule.describe()
                                  << " is not a regular expression: "
                                  << toString(std::move(error));
    if (rule.kind == NodeRule::Where &&
        failed(checkConditions(rule, module, dialect.getSchemas())))
      return failure();
  }
  for (const NodeRule &rule : options.rules)
    if (failed(select(rule)))
      return failure();
  if (options.nodeMetadata && failed(addOwn(*options.nodeMetadata)))
    return failure();
  return reportDead();
}

FailureOr<NodeOverrides> NodeOverrides::compute(ModuleOp module,
                                                const PolicyOptions &options) {
  NodeOverrides result;
  if (options.rules.empty() && !options.nodeMetadata)
    return result;
  if (failed(OverrideFinder(module, options, result).run()))
    return failure();
  return result;
}

} // namespace mp
