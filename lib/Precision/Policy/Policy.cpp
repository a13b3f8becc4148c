//===- Policy.cpp - Classes of operators ----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Policy/Policy.h"

#include "mp-opt/Dialect/ONNX/ONNX.h"
#include "mp-opt/Precision/Policy/TorchNames.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace mp {

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static bool isFlag(StringRef place) { return place.starts_with("--"); }

std::string describePlace(StringRef place) {
  return ((isFlag(place) ? "in " : "at ") + place).str();
}

/// For example "--deny", "the deny list at ops.txt:3".
static std::string describeList(OpClass opClass, StringRef place) {
  if (isFlag(place))
    return place.str();
  return ("the " + stringifyOpClass(opClass) + " list at " + place).str();
}

std::string NodeRule::describe() const {
  std::string quoted = "'" + text + "'";
  if (kind == Between)
    quoted = "the region from " + quoted + " to '" + other + "'";
  else if (kind == Where)
    quoted = "the condition on " + quoted;
  else if (kind == Metadata)
    quoted = "the metadata " + quoted + ": '" + other + "'";
  return quoted + " " + describePlace(place);
}

//===----------------------------------------------------------------------===//
// Tables of operators
//===----------------------------------------------------------------------===//

/// " (as 'addmm')" if the user has called the operator so.
static std::string describeAlias(StringRef alias) {
  return alias.empty() ? "" : (" (as '" + alias + "')").str();
}

LogicalResult OperatorTable::addName(const PolicyEntry &entry, OpClass opClass,
                                     StringRef name, EmitErrorFn emitError) {
  StringRef alias = name == entry.text ? StringRef() : StringRef(entry.text);
  auto [it, isNew] =
      claims.try_emplace(name, Claim{opClass, entry.place, alias});
  const Claim &other = it->second;
  if (isNew || other.opClass == opClass)
    return success();
  return emitError() << "operator '" << name << "' is in both "
                     << describeList(other.opClass, other.place)
                     << describeAlias(other.alias) << " and "
                     << describeList(opClass, entry.place)
                     << describeAlias(alias);
}

/// Adds a name that means several operators. If another list claims one of them
/// by a name for it alone, that list has it.
LogicalResult OperatorTable::addShared(const PolicyEntry &entry,
                                       OpClass opClass,
                                       ArrayRef<const char *> names,
                                       EmitErrorFn emitError) {
  const Claim *last = nullptr;
  bool hasOne = false;
  for (StringRef name : names) {
    auto [it, isNew] =
        claims.try_emplace(name, Claim{opClass, entry.place, entry.text});
    last = &it->second;
    hasOne |= isNew || last->opClass == opClass;
    bool isShared = !last->alias.empty() && getTorchOperators(last->alias) &&
                    getTorchOperators(last->alias)->size() > 1;
    if (last->opClass != opClass && isShared)
      return emitError() << "operator '" << name << "' is in both "
                         << describeList(last->opClass, last->place)
                         << describeAlias(last->alias) << " and "
                         << describeList(opClass, entry.place)
                         << describeAlias(entry.text);
  }
  if (hasOne)
    return success();
  return emitError() << "'" << entry.text << "' in "
                     << describeList(opClass, entry.place) << " stands for "
                     << llvm::join(SmallVector<StringRef>(names), " and ")
                     << ", which are all on other lists: '" << names.back()
                     << "' is in " << describeList(last->opClass, last->place);
}

/// The part before the line number: two entries of one source are on one list.
static StringRef getSource(StringRef place) {
  return isFlag(place) ? place : place.rsplit(':').first;
}

LogicalResult OperatorTable::add(const OperatorLists &lists,
                                 EmitErrorFn emitError) {
  llvm::StringMap<StringRef> seen;
  SmallVector<std::pair<const PolicyEntry *, OpClass>> shared;
  for (OpClass opClass : opClasses)
    for (const PolicyEntry &entry : lists[opClass]) {
      std::string list = describeList(opClass, getSource(entry.place));
      if (entry.text.empty())
        return emitError() << "empty operator name "
                           << describePlace(entry.place);
      auto [it, isNew] =
          seen.try_emplace(list + "\n" + entry.text, entry.place);
      if (!isNew)
        return emitError() << "operator '" << entry.text << "' is twice in "
                           << describeList(opClass, it->second)
                           << (isFlag(entry.place) ? std::string()
                                                   : " and " + entry.place);
      auto names = getTorchOperators(entry.text);
      if (names && names->size() > 1)
        shared.emplace_back(&entry, opClass);
      else if (names && names->empty())
        continue;
      else if (failed(addName(entry, opClass,
                              names ? StringRef(names->front())
                                    : StringRef(entry.text),
                              emitError)))
        return failure();
    }
  for (auto [entry, opClass] : shared)
    if (failed(addShared(*entry, opClass, *getTorchOperators(entry->text),
                         emitError)))
      return failure();
  return success();
}

const OperatorTable::Claim *OperatorTable::lookup(StringRef domain,
                                                  StringRef opType) const {
  if (claims.empty())
    return nullptr;
  auto find = [&](const Twine &name) -> const Claim * {
    SmallString<64> storage;
    auto it = claims.find(name.toStringRef(storage));
    return it == claims.end() ? nullptr : &it->second;
  };
  StringRef shown = domain.empty() ? StringRef("ai.onnx") : domain;
  const Claim *specific = find(shown + "." + opType);
  const Claim *general = find(opType);
  // The name with a domain is more specific, but allow and deny beat promote.
  bool useGeneral =
      general && (!specific || (specific->opClass == OpClass::Promote &&
                                general->opClass != OpClass::Promote));
  if (useGeneral || specific)
    return useGeneral ? general : specific;
  return find(shown + ".*");
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

LogicalResult PrecisionPolicy::setPrecision(EmitErrorFn emitError) {
  StringRef name = options->precision ? StringRef(options->precision->text)
                                      : StringRef("bf16");
  if (name == "fp16")
    lowKind = ElementKind::Float16;
  else if (name == "float32")
    isFloat32 = true;
  else if (name != "bf16")
    return emitError() << "unknown precision '" << name
                       << "', expected 'bf16' or 'fp16'";
  if (!isFloat32)
    return success();
  const std::string *place = nullptr;
  for (const PolicyEntry &entry : options->operators[OpClass::Allow])
    place = &entry.place;
  for (const NodeRule &rule : options->rules)
    if (rule.opClass == OpClass::Allow)
      place = &rule.place;
  if (place)
    return emitError() << "the precision is float32 ("
                       << options->precision->place
                       << "), which leaves nothing to allow "
                       << describePlace(*place);
  return success();
}

FailureOr<PrecisionPolicy> PrecisionPolicy::create(PolicyOptions options,
                                                   EmitErrorFn emitError) {
  PrecisionPolicy policy;
  policy.options = std::make_shared<const PolicyOptions>(std::move(options));
  const PolicyOptions &kept = *policy.options;
  if (failed(policy.setPrecision(emitError)) ||
      failed(policy.users.add(kept.operators, emitError)) ||
      (kept.defaults && failed(policy.defaults.add(*kept.defaults, emitError))))
    return failure();
  return policy;
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

PrecisionPolicy::Verdict PrecisionPolicy::classifyOp(StringRef domain,
                                                     StringRef opType) const {
  if (isFloat32)
    return {OpClass::Deny, "the policy is float32", false, {}};
  if (const OperatorTable::Claim *claim = users.lookup(domain, opType))
    return {claim->opClass, "user's list", /*isBuiltin=*/false, claim->place};
  if (options->defaults) {
    if (const OperatorTable::Claim *claim = defaults.lookup(domain, opType))
      return {claim->opClass, "default list", /*isBuiltin=*/true, {}};
  } else if (auto known = getProfileClass(lowKind, domain, opType)) {
    return {known->opClass, known->reason, /*isBuiltin=*/true, {}};
  }
  return {OpClass::Follow, "on no list", /*isBuiltin=*/true, {}};
}

namespace {
/// Names of operators that lists may contain.
class KnownOperators {
public:
  KnownOperators(const SchemaRegistry &schemas, const OperatorLists &profile) {
    for (const OpFamily *family : schemas.getFamilies())
      add(family->domain, family->name);
    // Old graphs have ops in domains where no schema looks for them.
    for (OpClass opClass : opClasses)
      for (const PolicyEntry &entry : profile[opClass])
        addName(entry.text);
    for (StringRef name : getTorchNames())
      addName(name.str());
  }
  void add(StringRef domain, StringRef opType) {
    std::string shown = domain.empty() ? "ai.onnx" : domain.str();
    addName(opType.str());
    addName(shown + "." + opType.str());
    addName(shown + ".*");
  }
  bool contains(StringRef name) const {
    return known.contains(name) || getTorchOperators(name);
  }
  std::string suggest(StringRef name) const {
    return suggestNearest(name, candidates);
  }

private:
  void addName(std::string name) {
    if (known.insert(name).second)
      candidates.push_back(std::move(name));
  }

  llvm::StringSet<> known;
  std::vector<std::string> candidates;
};
} // namespace

LogicalResult
PrecisionPolicy::checkOperators(ModuleOp module,
                                const SchemaRegistry &schemas) const {
  bool isEmpty = llvm::all_of(opClasses, [&](OpClass opClass) {
    return options->operators[opClass].empty();
  });
  if (isEmpty && !options->defaults)
    return success();
  SmallVector<std::pair<const PolicyEntry *, std::string>> unknown;
  KnownOperators known(schemas, getProfileLists(lowKind));
  auto collect = [&](const OperatorLists &lists) {
    for (OpClass opClass : opClasses)
      for (const PolicyEntry &entry : lists[opClass])
        if (!known.contains(entry.text))
          unknown.emplace_back(&entry, describeList(opClass, entry.place));
  };
  collect(options->operators);
  if (options->defaults)
    collect(*options->defaults);
  if (unknown.empty())
    return success();
  module.walk([&](onnxir::CustomOp op) {
    known.add(normalizeDomain(onnxir::getDomain(op)), onnxir::getOpType(op));
  });
  for (auto &[entry, list] : unknown)
    if (!known.contains(entry->text))
      return module.emitError()
             << "unknown operator '" << entry->text << "' in " << list
             << known.suggest(entry->text);
  return success();
}

} // namespace mp
