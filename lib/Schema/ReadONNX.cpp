//===- ReadONNX.cpp - The standard domains from ONNX's registry -----------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Schema/Schema.h"

#include "onnx/defs/schema.h"

#include "llvm/ADT/STLExtras.h"

#include <charconv>

using namespace llvm;

namespace mp {

static std::optional<std::string>
printDefault(const ::onnx::AttributeProto &value) {
  using Proto = ::onnx::AttributeProto;
  auto join = [](const auto &items, auto toText) {
    std::string text = "[";
    for (const auto &item : items)
      text += (text.size() == 1 ? "" : ", ") + toText(item);
    return text + "]";
  };
  // Floats are printed in the shortest form that reads back as the same number.
  auto number = [](auto item) {
    char text[64];
    return std::string(text, std::to_chars(text, std::end(text), item).ptr);
  };
  auto quoted = [](const std::string &item) { return "\"" + item + "\""; };
  switch (value.type()) {
  case Proto::INT:
    return number(value.i());
  case Proto::FLOAT:
    return number(value.f());
  case Proto::STRING:
    // GRU-1 has a misspelled default.
    return quoted(value.s() == "foward" ? "forward" : value.s());
  case Proto::INTS:
    return join(value.ints(), number);
  case Proto::FLOATS:
    return join(value.floats(), number);
  case Proto::STRINGS:
    return join(value.strings(), quoted);
  default:
    return std::nullopt;
  }
}

static std::vector<FormalParameter>
convertParameters(const std::vector<::onnx::OpSchema::FormalParameter> &formals,
                  OpSchema &schema) {
  std::vector<FormalParameter> result;
  for (const auto &formal : formals) {
    FormalParameter parameter;
    parameter.name = formal.GetName();
    parameter.option = FormalParameter::Option(formal.GetOption());
    parameter.homogeneous = formal.GetIsHomogeneous();
    parameter.minArity = unsigned(formal.GetMinArity());
    const std::string &type = formal.GetTypeStr();
    auto *it = find_if(schema.typeVariables, [&](const TypeVariable &variable) {
                 return variable.name == type;
               }).base();
    parameter.typeVariable = unsigned(it - schema.typeVariables.data());
    if (parameter.typeVariable == schema.typeVariables.size()) {
      TypeVariable variable;
      variable.name = type;
      for (const std::string *admitted : formal.GetTypes())
        variable.types.insert(*admitted);
      schema.typeVariables.push_back(std::move(variable));
    }
    result.push_back(std::move(parameter));
  }
  return result;
}

static std::unique_ptr<OpSchema> convert(const ::onnx::OpSchema &from,
                                         unsigned number) {
  auto schema = std::make_unique<OpSchema>();
  schema->domain = normalizeDomain(from.domain()).str();
  schema->name = from.Name();
  schema->since = from.SinceVersion();
  schema->deprecated = from.Deprecated();
  schema->deterministic = from.GetNodeDeterminism() !=
                          ::onnx::OpSchema::NodeDeterminism::NonDeterministic;
  schema->inputs = convertParameters(from.inputs(), *schema);
  schema->outputs = convertParameters(from.outputs(), *schema);
  for (const auto &[name, attribute] : from.attributes())
    schema->attributes.push_back(
        {name, ::onnx::AttributeProto::AttributeType_Name(attribute.type),
         attribute.required, printDefault(attribute.default_value)});
  schema->onnxNumber = number;
  return schema;
}

void SchemaRegistry::addONNX() {
  using Registry = ::onnx::OpSchemaRegistry;
  std::vector<::onnx::OpSchema> all = Registry::get_all_schemas_with_history();
  // ONNX keeps them in a hash table, whose order is arbitrary.
  llvm::sort(all, [](const ::onnx::OpSchema &lhs, const ::onnx::OpSchema &rhs) {
    return std::make_tuple(lhs.domain(), lhs.Name(), lhs.SinceVersion()) <
           std::make_tuple(rhs.domain(), rhs.Name(), rhs.SinceVersion());
  });
  unsigned number = 0;
  for (const ::onnx::OpSchema &schema : all)
    getOrCreate(schema.domain(), schema.Name()).add(convert(schema, ++number));
  for (const auto &[domain, range] :
       Registry::DomainToVersionRange::Instance().Map())
    newest[normalizeDomain(domain)] = range.second;
  finish();
}

Expected<std::unique_ptr<SchemaRegistry>>
SchemaRegistry::createFromSources(StringRef json, StringRef file) {
  std::unique_ptr<SchemaRegistry> registry(new SchemaRegistry());
  registry->addONNX();
  if (Error failed = registry->addJSON(json, file))
    return failed;
  return registry;
}

} // namespace mp
