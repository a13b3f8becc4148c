//===- TypeSlots.cpp - Values that share a float type ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Assignment/TypeSlots.h"

#include "mp-opt/Graph/Casts.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type getFloatElement(Type type) {
  while (true) {
    if (auto sequence = dyn_cast_or_null<SequenceType>(type))
      type = sequence.getElementType();
    else if (auto optional = dyn_cast_or_null<OptionalType>(type))
      type = optional.getElementType();
    else
      return isFloatTensor(type) ? getTensorElementType(type) : Type();
  }
}

Type withFloatElement(Type type, Type elementType) {
  if (auto sequence = dyn_cast<SequenceType>(type))
    return SequenceType::get(
        type.getContext(),
        withFloatElement(sequence.getElementType(), elementType));
  if (auto optional = dyn_cast<OptionalType>(type))
    return OptionalType::get(
        type.getContext(),
        withFloatElement(optional.getElementType(), elementType));
  return withElementType(type, elementType);
}

bool holdsF32(Type type) {
  Type element = getFloatElement(type);
  return element && element.isF32();
}

static bool isContainer(Type type) {
  return isa<SequenceType, OptionalType>(type);
}

/// Absent for types that no schema spells out, such as nested sequences.
static std::optional<TypeShape> getTypeShape(Type type) {
  if (isa<TensorType>(type))
    return TypeShape::Tensor;
  if (auto sequence = dyn_cast<SequenceType>(type))
    return isa<TensorType>(sequence.getElementType())
               ? std::optional(TypeShape::Sequence)
               : std::nullopt;
  auto optional = dyn_cast<OptionalType>(type);
  if (!optional)
    return std::nullopt;
  if (isa<TensorType>(optional.getElementType()))
    return TypeShape::Optional;
  auto sequence = dyn_cast<SequenceType>(optional.getElementType());
  return sequence && isa<TensorType>(sequence.getElementType())
             ? std::optional(TypeShape::OptionalSequence)
             : std::nullopt;
}

//===----------------------------------------------------------------------===//
// TypeSlot
//===----------------------------------------------------------------------===//

bool TypeSlot::admits(const OpSchema &schema, ElementKind low) const {
  return llvm::all_of(formals, [&](const Formal &formal) {
    const FormalParameter *parameter = formal.isInput
                                           ? schema.getInput(formal.index)
                                           : schema.getOutput(formal.index);
    return parameter && schema.typesOf(*parameter).contains(formal.shape, low);
  });
}

int TypeSlot::getFirstOpset(const OpSchema &schema, const OpFamily &family,
                            ElementKind low) const {
  for (const std::unique_ptr<OpSchema> &version : family.getVersions())
    if (version->since >= schema.since && !version->deprecated &&
        admits(*version, low))
      return version->since;
  return 0;
}

namespace {

/// Collects the members of one slot.
class SlotBuilder {
public:
  SlotBuilder(Operation *op, const OpSchema *schema) : op(op), schema(schema) {}

  void read(unsigned index) {
    if (index >= op->getNumOperands())
      return;
    OpOperand &operand = op->getOpOperand(index);
    if (!bind(operand.get().getType()))
      return;
    slot.reads.push_back(&operand);
    addFormal(true, index, operand.get().getType());
  }
  void write(Value value) {
    if (bind(value.getType()))
      slot.writes.push_back(value);
  }
  void writeResult(unsigned index) {
    if (index >= op->getNumResults())
      return;
    write(op->getResult(index));
    addFormal(false, index, op->getResult(index).getType());
  }
  void yield(Operation *yield, unsigned index) {
    if (yield && index < yield->getNumOperands() &&
        bind(yield->getOperand(index).getType()))
      slot.yields.push_back(&yield->getOpOperand(index));
  }

  TypeSlot take() { return std::move(slot); }

private:
  /// True if the type takes part; records obstacles to a change.
  bool bind(Type type) {
    if (isa<NoneType>(type))
      return false;
    Type element = getFloatElement(type);
    ElementKind kind =
        element ? getElementKind(element) : ElementKind::Undefined;
    if (slot.kind == ElementKind::Undefined && isEmpty)
      slot.kind = kind;
    else if (slot.kind != kind)
      slot.obstacle = "the values that it joins have several types";
    isEmpty = false;
    return element != nullptr;
  }

  void addFormal(bool isInput, unsigned index, Type type) {
    if (!schema || !getFloatElement(type))
      return;
    std::optional<TypeShape> shape = getTypeShape(type);
    if (!shape) {
      slot.obstacle = "its type is nested";
      return;
    }
    auto &parameters = isInput ? schema->inputs : schema->outputs;
    if (parameters.empty())
      return;
    // Values of one variadic parameter need one answer.
    TypeSlot::Formal formal = {
        isInput, std::min<unsigned>(index, parameters.size() - 1), *shape};
    if (!llvm::is_contained(slot.formals, formal))
      slot.formals.push_back(formal);
  }

  Operation *op;
  const OpSchema *schema;
  TypeSlot slot;
  bool isEmpty = true;
};

} // namespace

//===----------------------------------------------------------------------===//
// Slots by kind of op
//===----------------------------------------------------------------------===//

static TypeSlots getNodeSlots(Operation *op, const OpSchema *schema) {
  FloatSignature signature(op, schema);
  if (!signature)
    return {};
  TypeSlot slot;
  slot.kind = signature.getKind();
  slot.obstacle = signature.getObstacle();
  slot.isIndependent = signature.hasIndependentTypes();
  for (unsigned index : signature.getOperands())
    slot.reads.push_back(&op->getOpOperand(index));
  for (OpResult result : op->getResults())
    if (signature.hasResult(result.getResultNumber()) &&
        getFloatElement(result.getType()))
      slot.writes.push_back(result);
  for (unsigned index : signature.getFormalInputs())
    slot.formals.push_back({true, index, TypeShape::Tensor});
  TypeSlots slots;
  slots.push_back(std::move(slot));
  return slots;
}

/// Elements of a container all have one type.
static TypeSlots getContainerSlots(Operation *op, const OpSchema *schema) {
  SlotBuilder builder(op, schema);
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    if (getFloatElement(op->getOperand(index).getType()))
      builder.read(index);
  for (OpResult result : op->getResults())
    if (getFloatElement(result.getType()))
      builder.writeResult(result.getResultNumber());
  TypeSlots slots;
  slots.push_back(builder.take());
  return slots;
}

static TypeSlots getIfSlots(Operation *op, const OpSchema *schema) {
  TypeSlots slots;
  for (unsigned index = 0; index < op->getNumResults(); ++index) {
    SlotBuilder builder(op, schema);
    builder.writeResult(index);
    for (Region &region : op->getRegions())
      if (!region.empty())
        builder.yield(getYield(region), index);
    slots.push_back(builder.take());
  }
  return slots;
}

/// The mapping from the operands of Loop and Scan to arguments of their body.
namespace {
struct LoopShape {
  unsigned states = 0;
  unsigned firstOperand = 0, firstArgument = 0, firstYield = 0;
  /// Scan only: the number of operands that are scanned.
  unsigned scanInputs = 0;
};
} // namespace

static TypeSlots getLoopSlots(Operation *op, const OpSchema *schema,
                              LoopShape shape) {
  TypeSlots slots;
  Region &region = op->getRegion(0);
  if (region.empty())
    return slots;
  Block &body = region.front();
  Operation *yield = getYield(region);
  auto writeArgument = [&](SlotBuilder &builder, unsigned index) {
    if (index < body.getNumArguments())
      builder.write(body.getArgument(index));
  };
  for (unsigned index = 0; index < op->getNumResults(); ++index) {
    SlotBuilder builder(op, schema);
    if (index < shape.states) {
      builder.read(shape.firstOperand + index);
      writeArgument(builder, shape.firstArgument + index);
    }
    builder.yield(yield, shape.firstYield + index);
    builder.writeResult(index);
    slots.push_back(builder.take());
  }
  for (unsigned index = 0; index < shape.scanInputs; ++index) {
    SlotBuilder builder(op, schema);
    builder.read(shape.firstOperand + shape.states + index);
    writeArgument(builder, shape.firstArgument + shape.states + index);
    slots.push_back(builder.take());
  }
  return slots;
}

static TypeSlots getScanSlots(Operation *op, const OpSchema *schema) {
  auto attribute = op->getAttrOfType<IntegerAttr>("num_scan_inputs");
  // Scan-8 has the lengths of the sequences before all others.
  unsigned first = schema && schema->since < 9 ? 1 : 0;
  int64_t operands = int64_t(op->getNumOperands()) - first;
  if (!attribute || attribute.getInt() < 0 || attribute.getInt() > operands)
    return {};
  LoopShape shape;
  shape.scanInputs = attribute.getInt();
  shape.states = operands - attribute.getInt();
  shape.firstOperand = first;
  return getLoopSlots(op, schema, shape);
}

/// One slot per operand, then one per result, shared with the function.
static TypeSlots getCallSlots(CustomOp call, FunctionOp function) {
  TypeSlots slots;
  Block &body = function.getBody().front();
  Operation *yield = getYield(function.getBody());
  for (unsigned index = 0; index < call->getNumOperands(); ++index) {
    SlotBuilder builder(call, nullptr);
    builder.read(index);
    if (index < body.getNumArguments())
      builder.write(body.getArgument(index));
    slots.push_back(builder.take());
  }
  for (unsigned index = 0; index < call->getNumResults(); ++index) {
    SlotBuilder builder(call, nullptr);
    builder.write(call->getResult(index));
    builder.yield(yield, index);
    slots.push_back(builder.take());
  }
  return slots;
}

static bool hasContainers(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), isContainer) ||
         llvm::any_of(op->getResultTypes(), isContainer);
}

bool joinsTypes(Operation *op) {
  if (isa<CustomOp>(op) || !isNode(op) || !getDomain(op).empty())
    return false;
  if (op->getNumRegions())
    return isStandardOp(op, "If") || isStandardOp(op, "Loop") ||
           isStandardOp(op, "Scan");
  return hasContainers(op);
}

TypeSlots getTypeSlots(Operation *op, const OpSchema *schema,
                       const FunctionTable &functions) {
  if (auto call = dyn_cast<CustomOp>(op)) {
    FunctionOp function = functions.lookup(call);
    return function && isSpecialized(function) && !function.getBody().empty()
               ? getCallSlots(call, function)
               : TypeSlots();
  }
  if (isa<InitializerOp>(op) || !isNode(op) || !schema)
    return {};
  if (op->getNumRegions()) {
    if (isStandardOp(op, "If"))
      return getIfSlots(op, schema);
    if (isStandardOp(op, "Loop"))
      return getLoopSlots(op, schema,
                          {unsigned(std::max<int>(0, op->getNumOperands() - 2)),
                           /*firstOperand=*/2, /*firstArgument=*/2,
                           /*firstYield=*/1});
    return isStandardOp(op, "Scan") ? getScanSlots(op, schema) : TypeSlots();
  }
  if (hasContainers(op))
    return schema->domain.empty() ? getContainerSlots(op, schema) : TypeSlots();
  return getNodeSlots(op, schema);
}

Type getAssignedType(Operation *op, unsigned slot) {
  PrecisionAttr precision = getPrecision(op);
  if (!precision || precision.getVariables().empty())
    return precision ? precision.getType() : Type();
  Type type = slot < precision.getVariables().size()
                  ? precision.getVariables()[slot]
                  : Type();
  return type && !isa<NoneType>(type) ? type : Type();
}

} // namespace mp
