//===- Schema.cpp - Operator schemas of ONNX and other domains ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Schema/Schema.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace mp {

static constexpr StringLiteral elementKindNames[] = {
    "undefined",      "float",      "uint8",
    "int8",           "uint16",     "int16",
    "int32",          "int64",      "string",
    "bool",           "float16",    "double",
    "uint32",         "uint64",     "complex64",
    "complex128",     "bfloat16",   "float8e4m3fn",
    "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
    "uint4",          "int4",       "float4e2m1",
    "float8e8m0",     "uint2",      "int2"};

StringRef getElementKindName(ElementKind kind) {
  auto index = unsigned(kind);
  return index < std::size(elementKindNames)
             ? StringRef(elementKindNames[index])
             : StringRef();
}

bool AttributeSchema::isSize() const {
  return (kind == "INT" || kind == "INTS") &&
         (StringRef(name).ends_with("num_heads") ||
          StringSwitch<bool>(name)
              .Cases({"blocksize", "dilations", "group", "hidden_size"}, true)
              .Cases({"kernel_shape", "num_groups", "num_outputs"}, true)
              .Cases({"output_height", "output_width", "pooled_shape"}, true)
              .Case("strides", true)
              .Default(false));
}

//===----------------------------------------------------------------------===//
// TypeSet
//===----------------------------------------------------------------------===//

bool TypeSet::includes(const TypeSet &rhs) const {
  for (auto [mine, theirs] : zip(bits, rhs.bits))
    if (theirs & ~mine)
      return false;
  return other || !rhs.other;
}

void TypeSet::insert(StringRef type) {
  auto unwrap = [&](StringRef constructor) {
    if (!type.starts_with(constructor) || !type.ends_with(")"))
      return false;
    type = type.drop_front(constructor.size()).drop_back();
    return true;
  };
  bool isOptional = unwrap("optional(");
  bool isSequence = unwrap("seq(");
  bool isSparse = !isSequence && !isOptional && unwrap("sparse_tensor(");
  if (isSparse || unwrap("tensor(")) {
    for (auto [index, name] : enumerate(elementKindNames)) {
      if (name != type)
        continue;
      TypeShape shape = isSparse                   ? TypeShape::SparseTensor
                        : isOptional && isSequence ? TypeShape::OptionalSequence
                        : isOptional               ? TypeShape::Optional
                        : isSequence               ? TypeShape::Sequence
                                                   : TypeShape::Tensor;
      bits[unsigned(shape)] |= 1u << index;
      return;
    }
  }
  other = true;
}

//===----------------------------------------------------------------------===//
// OpSchema and OpFamily
//===----------------------------------------------------------------------===//

static const FormalParameter *getParameter(ArrayRef<FormalParameter> parameters,
                                           unsigned index) {
  if (index < parameters.size())
    return &parameters[index];
  if (!parameters.empty() &&
      parameters.back().option == FormalParameter::Variadic)
    return &parameters.back();
  return nullptr;
}

const FormalParameter *OpSchema::getInput(unsigned index) const {
  return getParameter(inputs, index);
}

const FormalParameter *OpSchema::getOutput(unsigned index) const {
  return getParameter(outputs, index);
}

const AttributeSchema *OpSchema::getAttribute(StringRef wanted) const {
  auto *it = find_if(attributes, [&](const AttributeSchema &attribute) {
               return attribute.name == wanted;
             }).base();
  return it == attributes.data() + attributes.size() ? nullptr : it;
}

std::string OpSchema::getDisplayName() const {
  return getQualifiedName(domain, name) + "-" + std::to_string(since);
}

const OpSchema *OpFamily::at(int opset) const {
  const OpSchema *best = nullptr;
  for (const std::unique_ptr<OpSchema> &version : getVersions())
    if (version->since <= opset)
      best = version.get();
  return best;
}

const OpSchema *OpFamily::after(int since) const {
  for (const std::unique_ptr<OpSchema> &version : getVersions())
    if (version->since > since)
      return version.get();
  return nullptr;
}

static bool isPureVersion(const OpSchema &schema) {
  return schema.isONNX() && schema.deterministic &&
         none_of(schema.attributes, [](const AttributeSchema &attribute) {
           return attribute.kind == "GRAPH" || attribute.kind == "GRAPHS";
         });
}

void OpFamily::add(std::unique_ptr<OpSchema> version) {
  getVersions();
  auto place = partition_point(versions, [&](const auto &known) {
    return known->since < version->since;
  });
  if (place != versions.end() && (*place)->since == version->since)
    return;
  isPure &= isPureVersion(*version);
  versions.insert(place, std::move(version));
}

//===----------------------------------------------------------------------===//
// SchemaRegistry
//===----------------------------------------------------------------------===//

std::string getQualifiedName(StringRef domain, StringRef name) {
  domain = normalizeDomain(domain);
  return domain.empty() ? name.str() : (domain + "." + name).str();
}

/// The key is unique, since domains contain no newline.
static std::string makeKey(StringRef domain, StringRef name) {
  return (normalizeDomain(domain) + "\n" + name).str();
}

OpFamily &SchemaRegistry::getOrCreate(StringRef domain, StringRef name) {
  std::unique_ptr<OpFamily> &slot = families[makeKey(domain, name)];
  if (!slot) {
    slot = std::make_unique<OpFamily>();
    slot->domain = normalizeDomain(domain).str();
    slot->name = name.str();
  }
  return *slot;
}

const OpFamily *SchemaRegistry::lookup(StringRef domain, StringRef name) const {
  auto it = families.find(makeKey(domain, name));
  return it == families.end() ? nullptr : it->second.get();
}

int SchemaRegistry::getNewestOpset(StringRef domain) const {
  return newest.lookup(normalizeDomain(domain));
}

void SchemaRegistry::finish() {
  order.clear();
  for (auto &entry : families)
    order.push_back(entry.second.get());
  llvm::sort(order, [](const OpFamily *lhs, const OpFamily *rhs) {
    return std::tie(lhs->domain, lhs->name) < std::tie(rhs->domain, rhs->name);
  });
}

} // namespace mp
