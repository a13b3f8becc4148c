//===- Policy.cpp - What the user and the field want in 16 bit ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Policy.h"

#include "mp-opt/Dialect/ONNX/ONNX.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral classNames[] = {"allow", "deny", "promote",
                                                     "follow"};

StringRef stringifyOpClass(OpClass opClass) {
  return classNames[unsigned(opClass)];
}

std::optional<OpClass> symbolizeOpClass(StringRef name) {
  for (auto [index, text] : llvm::enumerate(classNames))
    if (name == text)
      return OpClass(index);
  return std::nullopt;
}

static std::string getFlag(OpClass opClass, StringRef suffix = "") {
  return ("--" + stringifyOpClass(opClass) + suffix).str();
}

/// The nearest of `candidates`, or empty if none is near enough to be meant.
template <typename Range>
static StringRef findNearest(StringRef name, const Range &candidates) {
  unsigned best = std::max<unsigned>(2, name.size() / 3) + 1;
  StringRef nearest;
  for (StringRef candidate : candidates) {
    unsigned distance = name.edit_distance(candidate, true, best);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

static InFlightDiagnostic &suggest(InFlightDiagnostic &diag,
                                   StringRef nearest) {
  if (!nearest.empty())
    diag << "; did you mean '" << nearest << "'?";
  return diag;
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

LogicalResult PrecisionPolicy::addOperators(ArrayRef<std::string> names,
                                            OpClass opClass,
                                            EmitErrorFn emitError) {
  for (const std::string &name : names) {
    if (name.empty())
      return emitError() << "empty operator name in " << getFlag(opClass);
    auto [it, isNew] = operators.try_emplace(name, opClass);
    if (isNew)
      operatorOrder.emplace_back(name, opClass);
    else if (it->second != opClass)
      return emitError() << "operator '" << name << "' is in both "
                         << getFlag(it->second) << " and " << getFlag(opClass);
  }
  return success();
}

LogicalResult PrecisionPolicy::addPatterns(ArrayRef<std::string> texts,
                                           OpClass opClass,
                                           EmitErrorFn emitError) {
  for (const std::string &text : texts) {
    std::string error;
    // Checked as written: "a)(b" would pass inside the parentheses.
    if (text.empty() || !llvm::Regex(text).isValid(error))
      return emitError() << "pattern '" << text << "' in "
                         << getFlag(opClass, "-node")
                         << " is no regular expression: "
                         << (text.empty() ? "it is empty" : error);
    patterns.push_back({text, opClass, llvm::Regex("^(" + text + ")$")});
  }
  return success();
}

FailureOr<PrecisionPolicy> PrecisionPolicy::create(const PolicyOptions &options,
                                                   EmitErrorFn emitError) {
  PrecisionPolicy policy;
  if (options.precision == "bf16")
    policy.lowKind = ElementKind::BFloat16;
  else if (options.precision == "fp16")
    policy.lowKind = ElementKind::Float16;
  else
    return emitError() << "unknown precision '" << options.precision
                       << "', expected 'bf16' or 'fp16'";
  if (failed(policy.addOperators(options.allow, OpClass::Allow, emitError)) ||
      failed(policy.addOperators(options.deny, OpClass::Deny, emitError)) ||
      failed(
          policy.addOperators(options.promote, OpClass::Promote, emitError)) ||
      failed(
          policy.addPatterns(options.allowNodes, OpClass::Allow, emitError)) ||
      failed(policy.addPatterns(options.denyNodes, OpClass::Deny, emitError)))
    return failure();
  return policy;
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

PrecisionPolicy::Verdict PrecisionPolicy::classifyOp(StringRef domain,
                                                     StringRef opType) const {
  if (!operators.empty()) {
    std::string qualified =
        ((domain.empty() ? StringRef("ai.onnx") : domain) + "." + opType).str();
    auto specific = operators.find(qualified);
    auto general = operators.find(opType);
    // The name with a domain says more, but allow and deny beat promote.
    bool useGeneral =
        general != operators.end() &&
        (specific == operators.end() || (specific->second == OpClass::Promote &&
                                         general->second != OpClass::Promote));
    if (useGeneral)
      return {general->second, "user's list", /*isBuiltin=*/false};
    if (specific != operators.end())
      return {specific->second, "user's list", /*isBuiltin=*/false};
  }
  if (std::optional<OpClass> known = getProfileClass(lowKind, domain, opType))
    return {*known, "built-in list", /*isBuiltin=*/true};
  return {OpClass::Follow, "on no list", /*isBuiltin=*/true};
}

FailureOr<std::optional<PrecisionPolicy::Verdict>>
PrecisionPolicy::classifyNode(StringRef nodeName, EmitErrorFn emitError) {
  const NodePattern *found = nullptr;
  for (NodePattern &pattern : patterns) {
    if (!pattern.regex.match(nodeName))
      continue;
    pattern.matched = true;
    if (found && found->opClass != pattern.opClass)
      return emitError() << "matches '" << found->text << "' in "
                         << getFlag(found->opClass, "-node") << " and '"
                         << pattern.text << "' in "
                         << getFlag(pattern.opClass, "-node");
    found = &pattern;
  }
  if (!found)
    return std::optional<Verdict>();
  return std::optional<Verdict>(
      Verdict{found->opClass, "node override", /*isBuiltin=*/false});
}

LogicalResult
PrecisionPolicy::checkOperators(ModuleOp module,
                                const SchemaRegistry &schemas) const {
  if (operatorOrder.empty())
    return success();
  llvm::StringSet<> known;
  std::vector<std::string> candidates;
  auto add = [&](StringRef domain, StringRef opType) {
    StringRef shown = domain.empty() ? StringRef("ai.onnx") : domain;
    for (std::string name : {opType.str(), (shown + "." + opType).str()})
      if (known.insert(name).second)
        candidates.push_back(std::move(name));
  };
  for (const OpFamily *family : schemas.getFamilies())
    add(family->domain, family->name);
  bool hasUnknown = llvm::any_of(operatorOrder, [&](const auto &entry) {
    return !known.contains(entry.first);
  });
  if (!hasUnknown)
    return success();
  module.walk([&](onnxir::CustomOp op) {
    add(normalizeDomain(onnxir::getDomain(op)), onnxir::getOpType(op));
  });
  for (const auto &[name, opClass] : operatorOrder) {
    if (known.contains(name))
      continue;
    InFlightDiagnostic diag = module.emitError() << "unknown operator '" << name
                                                 << "' in " << getFlag(opClass);
    return suggest(diag, findNearest(name, candidates));
  }
  return success();
}

LogicalResult PrecisionPolicy::checkPatterns(ModuleOp module) const {
  for (const NodePattern &pattern : patterns) {
    if (pattern.matched)
      continue;
    std::vector<StringRef> names;
    module.walk([&](Operation *op) {
      if (StringRef name = onnxir::getNodeName(op); !name.empty())
        names.push_back(name);
    });
    InFlightDiagnostic diag = module.emitError()
                              << "pattern '" << pattern.text << "' in "
                              << getFlag(pattern.opClass, "-node")
                              << " matches no node";
    return suggest(diag, findNearest(pattern.text, names));
  }
  return success();
}

} // namespace mp
