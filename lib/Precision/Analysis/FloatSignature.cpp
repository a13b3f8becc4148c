//===- FloatSignature.cpp - Type variable of a node -----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Analysis/FloatSignature.h"

#include "mp-opt/Dialect/MP/AttributeNames.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// SchemaCache
//===----------------------------------------------------------------------===//

const SchemaCache::Entry &SchemaCache::lookup(Operation *node) {
  auto [it, isNew] =
      entries.try_emplace(node->getName().getAsOpaquePointer(), Entry());
  Entry &entry = it->second;
  if (!isNew)
    return entry;
  entry.schema = getSchema(node);
  if (!entry.schema)
    return entry;
  entry.family =
      cast<ONNXDialect>(node->getDialect())->getFamily(node->getName());
  std::optional<int64_t> opset = getOpset(scope, entry.schema->domain);
  entry.isExtension = !opset || *opset < entry.schema->since;
  return entry;
}

//===----------------------------------------------------------------------===//
// FloatSignature
//===----------------------------------------------------------------------===//

FloatSignature::FloatSignature(Operation *node, const OpSchema *schema)
    : schema(schema), isOneType(node->hasAttr(mark::oneType)) {
  if (!schema)
    return;
  const OperatorTraits &traits =
      getOperatorTraits(schema->domain, schema->name);
  findPrimary(node, traits);
  if (formal)
    collect(node, traits);
}

/// Attention's values have another type variable than its queries and keys, and
/// so have the caches of com.microsoft's GroupQueryAttention, unless they are
/// quantized.
static const FormalParameter *getCompanion(Operation *node,
                                           const OpSchema &schema) {
  if (schema.domain.empty() && schema.name == "Attention")
    return schema.getInput(2);
  constexpr unsigned pastKey = 3;
  if (!isMicrosoftOp(node, "GroupQueryAttention"))
    return nullptr;
  bool isQuantized = node->getNumOperands() > pastKey &&
                     !isa<NoneType>(node->getOperand(pastKey).getType()) &&
                     !isFloatTensor(node->getOperand(pastKey).getType());
  return isQuantized ? nullptr : schema.getInput(pastKey);
}

void FloatSignature::findPrimary(Operation *node,
                                 const OperatorTraits &traits) {
  for (auto [index, type] : llvm::enumerate(node->getOperandTypes())) {
    if (!isFloatTensor(type) || keepsType(traits, index))
      continue;
    const FormalParameter *parameter = schema->getInput(index);
    if (!parameter)
      return;
    formal = parameter;
    companion = getCompanion(node, *schema);
    if (isOneType)
      joinVariables(node, traits);
    formalIndex = std::min<unsigned>(index, schema->inputs.size() - 1);
    kind = getElementKind(getTensorElementType(type));
    return;
  }
}

/// Binds the variables of all other float operands that may be 16 bit, except
/// coordinates and sizes.
void FloatSignature::joinVariables(Operation *node,
                                   const OperatorTraits &traits) {
  for (auto [index, type] : llvm::enumerate(node->getOperandTypes())) {
    const FormalParameter *parameter = schema->getInput(index);
    if (!parameter || !isFloatTensor(type) || parameter->typeVariable >= 32 ||
        keepsType(traits, index))
      continue;
    const TypeSet &types = schema->typesOf(*parameter);
    if (types.containsTensor(ElementKind::Float) &&
        types.containsTensor(ElementKind::Float16))
      joinedVariables |= 1u << parameter->typeVariable;
  }
}

/// True if an operand keeps its type whatever the node's precision is.
bool FloatSignature::keepsType(const OperatorTraits &traits,
                               unsigned index) const {
  bool isJoined = isOneType && traits.hasRole(OperandRole::Statistics, index);
  return traits.keepsType(index) && !isJoined;
}

void FloatSignature::collect(Operation *node, const OperatorTraits &traits) {
  if (hasIndependentTypes())
    obstacle = "its operands have independent types";
  for (auto [index, type] : llvm::enumerate(node->getOperandTypes())) {
    if (!isPrimary(schema->getInput(index)) || isa<NoneType>(type))
      continue;
    if (getElementKind(getTensorElementType(type)) != kind)
      obstacle = "an operand's type is unknown";
    else if (keepsType(traits, index))
      obstacle = "the schema ties it to an operand that keeps its type";
    operands.push_back(index);
  }
  for (auto [index, type] : llvm::enumerate(node->getResultTypes()))
    if (isPrimary(schema->getOutput(index)) && !isa<NoneType>(type) &&
        getElementKind(getTensorElementType(type)) != kind)
      obstacle = "a result's type is unknown";
  for (unsigned index = 0; index < node->getNumResults(); ++index)
    if (isUnbound(node, index))
      obstacle = "no operand tells the type of a result";
}

SmallVector<unsigned, 2> FloatSignature::getFormalInputs() const {
  SmallVector<unsigned, 2> indices = {formalIndex};
  if (companion)
    indices.push_back(companion - schema->inputs.data());
  for (auto [index, input] : llvm::enumerate(schema->inputs))
    if (joinedVariables >> input.typeVariable & 1 &&
        !llvm::is_contained(indices, index))
      indices.push_back(index);
  return indices;
}

/// True if only the op's own rule determines the type of a float result: no
/// operand is bound to its variable, and no attribute gives it.
bool FloatSignature::isUnbound(Operation *node, unsigned result) const {
  const FormalParameter *parameter = schema->getOutput(result);
  if (!parameter || isPrimary(parameter) ||
      !isFloatTensor(node->getResult(result).getType()))
    return false;
  const TypeSet &types = schema->typesOf(*parameter);
  bool isFree = types.containsTensor(ElementKind::Float) &&
                (types.containsTensor(ElementKind::Float16) ||
                 types.containsTensor(ElementKind::BFloat16));
  bool isStated = llvm::any_of(
      ArrayRef<StringRef>{"dtype", "output_dtype", "stash_type", "to"},
      [&](StringRef name) { return schema->getAttribute(name) != nullptr; });
  if (!isFree || isStated)
    return false;
  for (auto [index, type] : llvm::enumerate(node->getOperandTypes())) {
    const FormalParameter *input = schema->getInput(index);
    if (input && input->typeVariable == parameter->typeVariable &&
        !isa<NoneType>(type))
      return false;
  }
  return true;
}

bool FloatSignature::hasOperand(unsigned index) const {
  return llvm::is_contained(operands, index);
}

bool FloatSignature::hasResult(unsigned index) const {
  // The results of Loop and Scan share a variable by name only.
  bool isTied = formal && (formal->option != FormalParameter::Variadic ||
                           formal->homogeneous);
  return isTied && isPrimary(schema->getOutput(index));
}

bool FloatSignature::admits(const OpSchema &version, ElementKind low) const {
  return llvm::all_of(getFormalInputs(), [&](unsigned index) {
    const FormalParameter *parameter = version.getInput(index);
    return parameter && version.typesOf(*parameter).containsTensor(low);
  });
}

int FloatSignature::getFirstOpset(const OpFamily &family,
                                  ElementKind low) const {
  for (const std::unique_ptr<OpSchema> &version : family.getVersions())
    if (version->since >= schema->since && !version->deprecated &&
        admits(*version, low))
      return version->since;
  return 0;
}

} // namespace mp
