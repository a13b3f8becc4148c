//===- FloatSignature.cpp - How a node's float types hang together --------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/FloatSignature.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Operands that keep their type
//===----------------------------------------------------------------------===//

namespace {

enum class OperandRole : uint8_t {
  /// The op writes into it.
  InPlace,
  /// Running or batch statistics, and what scales them.
  Statistics,
  /// Positions in another tensor: eight bits do not reach past 256.
  Coordinates,
  /// Sizes and indices.
  Shape,
};

struct FixedOperands {
  llvm::StringLiteral domain, opType;
  OperandRole role;
  /// Bit i stands for operand i.
  uint32_t operands;
};

} // namespace

static constexpr llvm::StringLiteral ms = "com.microsoft";
static constexpr FixedOperands fixedOperands[] = {
    {ms, "InPlaceAccumulator", OperandRole::InPlace, 0b1},
    {ms, "InPlaceAccumulatorV2", OperandRole::InPlace, 0b1},
    {ms, "BatchNormInternal", OperandRole::InPlace, 0b11000},
    {ms, "AdamOptimizer", OperandRole::InPlace, 0b110100},
    {ms, "AdamWOptimizer", OperandRole::InPlace, 0b110100},
    {ms, "SGDOptimizer", OperandRole::InPlace, 0b10},
    {ms, "SGDOptimizerV2", OperandRole::InPlace, 0b10},
    // Weights and moments of the last ones are variadic, as the whole op.
    {ms, "LambOptimizer", OperandRole::InPlace, ~0u},
    {ms, "InplaceClipGradNorm", OperandRole::InPlace, ~0u},
    {ms, "ZeroGradient", OperandRole::InPlace, 0b1},
    {ms, "BatchNormInternal", OperandRole::Statistics, 0b110},
    {"", "BatchNormalization", OperandRole::Statistics, 0b11110},
    {"", "RoiAlign", OperandRole::Coordinates, 0b10},
    {"", "MaxRoiPool", OperandRole::Coordinates, 0b10},
    {"", "DeformConv", OperandRole::Coordinates, 0b100},
    {"", "GridSample", OperandRole::Coordinates, 0b10},
    {ms, "GridSample", OperandRole::Coordinates, 0b10},
    {ms, "CropAndResize", OperandRole::Coordinates, 0b10},
    {"", "OneHot", OperandRole::Shape, 0b11},
    {"", "Range", OperandRole::Shape, 0b111},
    {ms, "Range", OperandRole::Shape, 0b111},
    {"", "Resize", OperandRole::Shape, 0b110},
    {ms, "ResizeGrad", OperandRole::Shape, 0b1100},
    {"", "Upsample", OperandRole::Shape, 0b10},
};

/// A bit per operand of the op that has one of `roles`.
template <typename Predicate>
static uint32_t getFixed(StringRef domain, StringRef opType,
                         Predicate hasRole) {
  uint32_t bits = 0;
  for (const FixedOperands &entry : fixedOperands)
    if (entry.opType == opType && entry.domain == domain && hasRole(entry.role))
      bits |= entry.operands;
  return bits;
}

static bool hasBit(uint32_t bits, unsigned index) {
  return bits >> std::min(index, 31u) & 1;
}

bool isFixedOperand(StringRef domain, StringRef opType, unsigned index) {
  return hasBit(getFixed(domain, opType, [](OperandRole) { return true; }),
                index);
}

bool isUpdatedInPlace(StringRef domain, StringRef opType, unsigned index) {
  return hasBit(
      getFixed(domain, opType,
               [](OperandRole role) { return role == OperandRole::InPlace; }),
      index);
}

bool isShapeOperand(StringRef domain, StringRef opType, unsigned index) {
  return hasBit(
      getFixed(domain, opType,
               [](OperandRole role) { return role == OperandRole::Shape; }),
      index);
}

bool updatesInPlace(StringRef domain, StringRef opType) {
  return getFixed(domain, opType, [](OperandRole role) {
    return role == OperandRole::InPlace;
  });
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool isFloatTensor(Type type) {
  Type element = getTensorElementType(type);
  return element && (element.isF32() || element.isF16() || element.isBF16() ||
                     element.isF64());
}

bool isF32Tensor(Type type) {
  Type element = getTensorElementType(type);
  return element && element.isF32();
}

bool is16BitTensor(Type type) {
  Type element = getTensorElementType(type);
  return element && (element.isF16() || element.isBF16());
}

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
    : schema(schema) {
  if (!schema)
    return;
  uint32_t fixed =
      getFixed(schema->domain, schema->name, [](OperandRole) { return true; });
  findPrimary(node, fixed);
  if (formal)
    collect(node, fixed);
}

/// Attention's values have a type variable apart from its queries and keys.
static const FormalParameter *getCompanion(const OpSchema &schema) {
  return schema.domain.empty() && schema.name == "Attention"
             ? schema.getInput(2)
             : nullptr;
}

void FloatSignature::findPrimary(Operation *node, uint32_t fixed) {
  for (auto [index, type] : llvm::enumerate(node->getOperandTypes())) {
    if (!isFloatTensor(type) || hasBit(fixed, index))
      continue;
    const FormalParameter *parameter = schema->getInput(index);
    if (!parameter)
      return;
    formal = parameter;
    companion = getCompanion(*schema);
    formalIndex = std::min<unsigned>(index, schema->inputs.size() - 1);
    kind = getElementKind(getTensorElementType(type));
    return;
  }
}

void FloatSignature::collect(Operation *node, uint32_t fixed) {
  if (hasIndependentTypes())
    obstacle = "its operands have independent types";
  for (auto [index, type] : llvm::enumerate(node->getOperandTypes())) {
    if (!isPrimary(schema->getInput(index)) || isa<NoneType>(type))
      continue;
    if (getElementKind(getTensorElementType(type)) != kind)
      obstacle = "an operand's type is unknown";
    else if (hasBit(fixed, index))
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
  return indices;
}

/// Nothing but the op's own rule tells the type of a float result: no operand
/// is bound to its variable, no attribute states it.
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

bool FloatSignature::admits(ElementKind low) const {
  return schema->typesOf(*formal).containsTensor(low) &&
         (!companion || schema->typesOf(*companion).containsTensor(low));
}

int FloatSignature::getFirstOpset(const OpFamily &family,
                                  ElementKind low) const {
  for (const std::unique_ptr<OpSchema> &version : family.getVersions()) {
    if (version->since < schema->since || version->deprecated)
      continue;
    const FormalParameter *parameter = version->getInput(formalIndex);
    if (parameter && version->typesOf(*parameter).containsTensor(low))
      return version->since;
  }
  return 0;
}

} // namespace mp
