//===- PolicyAttribute.cpp - Policies in the IR ---------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Policy/PolicyAttribute.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace mp {

static constexpr llvm::StringLiteral kinds[] = {"name", "regex", "between",
                                                "where", "metadata"};
static constexpr llvm::StringLiteral comparisons[] = {"==", "!=", "<",
                                                      "<=", ">",  ">="};

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

namespace {

class PolicyWriter {
public:
  explicit PolicyWriter(MLIRContext *context) : builder(context) {}

  DictionaryAttr write(const PolicyOptions &options);

private:
  Attribute write(const PolicyEntry &entry) {
    return builder.getStrArrayAttr({entry.text, entry.place});
  }
  template <typename List> ArrayAttr writeAll(const List &list) {
    return builder.getArrayAttr(llvm::map_to_vector(
        list, [&](const auto &entry) -> Attribute { return write(entry); }));
  }
  Attribute write(const NodeCondition &condition);
  Attribute write(const NodeRule &rule);
  DictionaryAttr write(const OperatorLists &lists);

  Builder builder;
};

} // namespace

Attribute PolicyWriter::write(const NodeCondition &condition) {
  SmallVector<StringRef> values(condition.values.begin(),
                                condition.values.end());
  return builder.getDictionaryAttr({
      builder.getNamedAttr("subject", builder.getStringAttr(condition.subject)),
      builder.getNamedAttr(
          "comparison",
          builder.getStringAttr(comparisons[condition.comparison])),
      builder.getNamedAttr("values", builder.getStrArrayAttr(values)),
      builder.getNamedAttr("is_list", builder.getBoolAttr(condition.isList)),
      builder.getNamedAttr("place", builder.getStringAttr(condition.place)),
  });
}

Attribute PolicyWriter::write(const NodeRule &rule) {
  NamedAttrList fields;
  fields.set("kind", builder.getStringAttr(kinds[rule.kind]));
  fields.set("class", builder.getStringAttr(stringifyOpClass(rule.opClass)));
  fields.set("text", builder.getStringAttr(rule.text));
  fields.set("place", builder.getStringAttr(rule.place));
  if (!rule.other.empty())
    fields.set("other", builder.getStringAttr(rule.other));
  if (!rule.conditions.empty())
    fields.set("conditions", writeAll(rule.conditions));
  return fields.getDictionary(builder.getContext());
}

DictionaryAttr PolicyWriter::write(const OperatorLists &lists) {
  NamedAttrList fields;
  for (OpClass opClass : opClasses)
    if (!lists[opClass].empty())
      fields.set(stringifyOpClass(opClass), writeAll(lists[opClass]));
  return fields.getDictionary(builder.getContext());
}

DictionaryAttr PolicyWriter::write(const PolicyOptions &options) {
  NamedAttrList fields;
  auto setEntry = [&](StringRef name, const std::optional<PolicyEntry> &entry) {
    if (entry)
      fields.set(name, write(*entry));
  };
  setEntry("precision", options.precision);
  setEntry("node_metadata", options.nodeMetadata);
  setEntry("model_metadata", options.modelMetadata);
  setEntry("assign", options.assign);
  setEntry("min_saving", options.minSaving);
  if (DictionaryAttr operators = write(options.operators); !operators.empty())
    fields.set("operators", operators);
  if (options.defaults)
    fields.set("defaults", write(*options.defaults));
  if (!options.rules.empty())
    fields.set("rules", writeAll(options.rules));
  if (!options.dims.empty())
    fields.set("dims", writeAll(options.dims));
  if (!options.io.empty())
    fields.set("io", writeAll(options.io));
  if (options.raiseOpset)
    fields.set("raise_opset", builder.getBoolAttr(*options.raiseOpset));
  if (options.strict)
    fields.set("strict", builder.getBoolAttr(*options.strict));
  return fields.empty() ? DictionaryAttr()
                        : fields.getDictionary(builder.getContext());
}

PolicyAttr writePolicy(Type lowType, const PolicyOptions &options) {
  MLIRContext *context = lowType.getContext();
  return PolicyAttr::get(context, lowType,
                         PolicyWriter(context).write(options));
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static PolicyEntry readEntry(Attribute attribute) {
  auto pair = cast<ArrayAttr>(attribute);
  return {cast<StringAttr>(pair[0]).str(), cast<StringAttr>(pair[1]).str()};
}

static std::vector<PolicyEntry> readEntries(ArrayAttr list) {
  std::vector<PolicyEntry> entries;
  for (Attribute entry : list ? list.getValue() : ArrayRef<Attribute>())
    entries.push_back(readEntry(entry));
  return entries;
}

static OperatorLists readLists(DictionaryAttr attribute) {
  OperatorLists lists;
  for (NamedAttribute list :
       attribute ? attribute.getValue() : ArrayRef<NamedAttribute>())
    lists[*symbolizeOpClass(list.getName().getValue())] =
        readEntries(cast<ArrayAttr>(list.getValue()));
  return lists;
}

static std::string readText(DictionaryAttr fields, StringRef name) {
  auto text = fields.getAs<StringAttr>(name);
  return text ? text.str() : std::string();
}

/// The index of a word; -1 if it is not among them.
static int indexOf(ArrayRef<llvm::StringLiteral> words, StringRef word) {
  const auto *it = llvm::find(words, word);
  return it == words.end() ? -1 : int(it - words.begin());
}

static std::optional<NodeCondition> readCondition(Attribute attribute) {
  auto fields = dyn_cast<DictionaryAttr>(attribute);
  auto values = fields ? fields.getAs<ArrayAttr>("values") : ArrayAttr();
  int comparison =
      fields ? indexOf(comparisons, readText(fields, "comparison")) : -1;
  if (!values || comparison < 0 ||
      !llvm::all_of(values, llvm::IsaPred<StringAttr>))
    return std::nullopt;
  NodeCondition condition;
  condition.subject = readText(fields, "subject");
  condition.comparison = NodeCondition::Comparison(comparison);
  for (auto value : values.getAsRange<StringAttr>())
    condition.values.push_back(value.str());
  auto isList = fields.getAs<BoolAttr>("is_list");
  condition.isList = isList && isList.getValue();
  condition.place = readText(fields, "place");
  return condition;
}

static std::optional<NodeRule> readRule(DictionaryAttr fields) {
  int kind = indexOf(kinds, readText(fields, "kind"));
  std::optional<OpClass> opClass = symbolizeOpClass(readText(fields, "class"));
  if (kind < 0 || !opClass)
    return std::nullopt;
  NodeRule rule = {
      NodeRule::Kind(kind),      *opClass, readText(fields, "text"),
      readText(fields, "other"), {},       readText(fields, "place")};
  auto conditions = fields.getAs<ArrayAttr>("conditions");
  for (Attribute attribute :
       conditions ? conditions.getValue() : ArrayRef<Attribute>()) {
    std::optional<NodeCondition> condition = readCondition(attribute);
    if (!condition)
      return std::nullopt;
    rule.conditions.push_back(std::move(*condition));
  }
  return rule;
}

FailureOr<PrecisionPolicy> readPolicy(ModuleOp module) {
  PolicyAttr policy = getPolicy(module);
  if (!policy)
    return module.emitError() << "the module has no policy, expected "
                                 "mp-set-policy to have run";
  PolicyOptions options;
  auto getEntry = [&](StringRef name) {
    auto entry = policy.getOption<ArrayAttr>(name);
    return entry ? std::optional(readEntry(entry)) : std::nullopt;
  };
  options.precision = getEntry("precision");
  options.nodeMetadata = getEntry("node_metadata");
  options.modelMetadata = getEntry("model_metadata");
  options.assign = getEntry("assign");
  options.minSaving = getEntry("min_saving");
  options.dims = readEntries(policy.getOption<ArrayAttr>("dims"));
  options.io = readEntries(policy.getOption<ArrayAttr>("io"));
  options.operators = readLists(policy.getOption<DictionaryAttr>("operators"));
  if (auto defaults = policy.getOption<DictionaryAttr>("defaults"))
    options.defaults = readLists(defaults);
  auto rules = policy.getOption<ArrayAttr>("rules");
  for (Attribute attribute : rules ? rules.getValue() : ArrayRef<Attribute>()) {
    std::optional<NodeRule> rule = readRule(cast<DictionaryAttr>(attribute));
    if (!rule)
      return module.emitError() << "the policy has the rule " << attribute
                                << ", expected what mp-set-policy writes";
    options.rules.push_back(std::move(*rule));
  }
  if (auto raises = policy.getOption<BoolAttr>("raise_opset"))
    options.raiseOpset = raises.getValue();
  if (auto strict = policy.getOption<BoolAttr>("strict"))
    options.strict = strict.getValue();
  return PrecisionPolicy::create(std::move(options),
                                 [&] { return module.emitError(); });
}

} // namespace mp
