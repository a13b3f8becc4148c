//===- SchemaJSON.cpp - Operator schemas from JSON ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file maps each domain to a list of operators; each has name,
// since_version, inputs, outputs, attributes and type_constraints. Under
// "runtimes" it has rows of the tables of runtimes. Errors name the file and
// the path inside it.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Schema/RuntimeTable.h"

#include "mp-opt/Support/FlatJSON.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace llvm;

namespace mp {

/// True if the object `value` has a key that is not among `known`; reports the
/// error at `path`.
static bool hasOtherKey(const json::Value &value, ArrayRef<StringRef> known,
                        json::Path path) {
  for (const auto &[key, ignored] : *value.getAsObject())
    if (!is_contained(known, StringRef(key))) {
      path.field(key).report("unknown key");
      return true;
    }
  return false;
}

// Found by argument-dependent lookup from llvm::json.
static bool fromJSON(const json::Value &value, AttributeSchema &attribute,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  if (!map ||
      hasOtherKey(value, {"name", "type", "required", "default", "declared"},
                  path) ||
      !map.map("name", attribute.name) || !map.map("type", attribute.kind))
    return false;
  map.mapOptional("required", attribute.required);
  if (const json::Value *defaultValue = value.getAsObject()->get("default"))
    if (defaultValue->kind() != json::Value::Null) {
      std::string text;
      raw_string_ostream(text) << *defaultValue;
      attribute.defaultValue = text;
    }
  return true;
}

namespace {
/// A formal parameter with its type still by name.
struct NamedParameter {
  FormalParameter parameter;
  std::string type;
};

bool fromJSON(const json::Value &value, NamedParameter &result,
              json::Path path) {
  std::string option = "single";
  int64_t minArity = 1;
  json::ObjectMapper map(value, path);
  if (!map ||
      hasOtherKey(value, {"name", "type", "option", "min_arity", "homogeneous"},
                  path) ||
      !map.map("name", result.parameter.name) ||
      !map.map("type", result.type) || !map.mapOptional("option", option) ||
      !map.mapOptional("min_arity", minArity) ||
      !map.mapOptional("homogeneous", result.parameter.homogeneous))
    return false;
  auto kind = StringSwitch<std::optional<FormalParameter::Option>>(option)
                  .Case("single", FormalParameter::Single)
                  .Case("optional", FormalParameter::Optional)
                  .Case("variadic", FormalParameter::Variadic)
                  .Default(std::nullopt);
  if (!kind) {
    path.field("option").report("expected single, optional or variadic");
    return false;
  }
  result.parameter.option = *kind;
  result.parameter.minArity = unsigned(minArity);
  return true;
}

} // namespace

/// Reads the operator at `value`; types not named as constraints are concrete.
static bool parseOp(const json::Value &value, OpSchema &schema,
                    json::Path path) {
  std::vector<NamedParameter> inputs, outputs;
  std::map<std::string, std::vector<std::string>> constraints;
  int64_t since = 1;
  bool unchecked = false;
  json::ObjectMapper map(value, path);
  if (!map ||
      hasOtherKey(value,
                  {"name", "since_version", "inputs", "outputs", "attributes",
                   "type_constraints", "unchecked_attributes", "origin",
                   "variadic_groups"},
                  path) ||
      !map.map("name", schema.name) || !map.map("since_version", since) ||
      !map.map("inputs", inputs) || !map.map("outputs", outputs) ||
      !map.map("attributes", schema.attributes) ||
      !map.map("type_constraints", constraints) ||
      !map.mapOptional("unchecked_attributes", unchecked))
    return false;
  schema.since = int(since);
  schema.checkedAttributes = !unchecked;
  auto getVariable = [&](const std::string &name) {
    for (auto [index, variable] : enumerate(schema.typeVariables))
      if (variable.name == name)
        return unsigned(index);
    TypeVariable variable;
    variable.name = name;
    auto it = constraints.find(name);
    if (it == constraints.end())
      variable.types.insert(name);
    else
      for (const std::string &type : it->second)
        variable.types.insert(type);
    schema.typeVariables.push_back(std::move(variable));
    return unsigned(schema.typeVariables.size() - 1);
  };
  auto convert = [&](std::vector<NamedParameter> &from,
                     std::vector<FormalParameter> &to) {
    for (NamedParameter &named : from) {
      named.parameter.typeVariable = getVariable(named.type);
      to.push_back(std::move(named.parameter));
    }
  };
  convert(inputs, schema.inputs);
  convert(outputs, schema.outputs);
  return true;
}

const RuntimeTable *SchemaRegistry::getRuntimeRows(StringRef runtime) const {
  auto it = runtimes.find(runtime.str());
  return it == runtimes.end() ? nullptr : it->second.get();
}

/// Reads rows of runtimes: lists of lines, by names.
Error SchemaRegistry::addRuntimes(const json::Value &value, StringRef file) {
  const json::Object *lists = value.getAsObject();
  if (!lists)
    return createStringError(file +
                             ": 'runtimes': expected an object of runtimes");
  for (const auto &[name, rows] : *lists) {
    std::string place = (file + ": runtime '" + StringRef(name) + "'").str();
    const json::Array *lines = rows.getAsArray();
    if (!lines)
      return createStringError(place + ": expected an array of rows");
    std::shared_ptr<RuntimeTable> &table = runtimes[StringRef(name).str()];
    if (!table)
      table = std::make_shared<RuntimeTable>();
    for (const json::Value &line : *lines) {
      std::optional<StringRef> row = line.getAsString();
      if (!row)
        return createStringError(place + ": expected rows as strings");
      if (Error failed = table->addRow(*row, place))
        return failed;
    }
  }
  return Error::success();
}

Error SchemaRegistry::addJSON(StringRef text, StringRef file) {
  Expected<json::Value> document = parseFlatJSON(text, /*maxDepth=*/16);
  if (!document)
    return createStringError(file + ": " + toString(document.takeError()));
  json::Path::Root root(file);
  const json::Object *domains = document->getAsObject();
  if (!domains)
    return createStringError(file + ": expected an object of domains");
  for (const auto &[domain, list] : *domains) {
    if (StringRef(domain) == "runtimes") {
      if (Error failed = addRuntimes(list, file))
        return failed;
      continue;
    }
    const json::Array *ops = list.getAsArray();
    if (!ops)
      return createStringError(file + ": domain '" + StringRef(domain) +
                               "': expected an array of operators");
    if (ops->empty())
      return createStringError(file + ": domain '" + StringRef(domain) +
                               "' has no operators");
    for (auto [index, value] : enumerate(*ops)) {
      auto schema = std::make_unique<OpSchema>();
      schema->domain = normalizeDomain(domain).str();
      json::Path path(root);
      if (!parseOp(value, *schema, path.field(domain).index(index)))
        return root.getError();
      OpFamily &family = getOrCreate(schema->domain, schema->name);
      // ONNX's own description takes precedence over a file's copy of it.
      family.add(std::move(schema));
    }
  }
  finish();
  return Error::success();
}

} // namespace mp
