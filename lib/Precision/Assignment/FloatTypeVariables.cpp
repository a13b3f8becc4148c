//===- FloatTypeVariables.cpp - Values that share a type ------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Precision/Assignment/FloatTypeVariables.h"

#include "mp-opt/Graph/Casts.h"
#include "mp-opt/Precision/Analysis/QuantizedPairs.h"

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

static bool isListOrOptional(Type type) {
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
// FloatTypeVariable
//===----------------------------------------------------------------------===//

bool FloatTypeVariable::admits(const OpSchema &schema, ElementKind low) const {
  return llvm::all_of(formals, [&](const Formal &formal) {
    const FormalParameter *parameter = formal.isInput
                                           ? schema.getInput(formal.index)
                                           : schema.getOutput(formal.index);
    return parameter && schema.typesOf(*parameter).contains(formal.shape, low);
  });
}

int FloatTypeVariable::getFirstOpset(const OpSchema &schema,
                                     const OpFamily &family,
                                     ElementKind low) const {
  for (const std::unique_ptr<OpSchema> &version : family.getVersions())
    if (version->since >= schema.since && !version->deprecated &&
        admits(*version, low))
      return version->since;
  return 0;
}

namespace {

/// Collects the members of one variable.
class VariableBuilder {
public:
  VariableBuilder(Operation *op, const OpSchema *schema)
      : op(op), schema(schema) {}

  void read(unsigned index) {
    if (index >= op->getNumOperands())
      return;
    OpOperand &operand = op->getOpOperand(index);
    if (!bind(operand.get().getType()))
      return;
    variable.reads.push_back(&operand);
    addFormal(true, index, operand.get().getType());
  }
  void write(Value value) {
    if (bind(value.getType()))
      variable.writes.push_back(value);
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
      variable.yields.push_back(&yield->getOpOperand(index));
  }

  FloatTypeVariable take() { return std::move(variable); }

private:
  /// True if the type takes part; records obstacles to a change.
  bool bind(Type type) {
    if (isa<NoneType>(type))
      return false;
    Type element = getFloatElement(type);
    ElementKind kind =
        element ? getElementKind(element) : ElementKind::Undefined;
    if (variable.kind == ElementKind::Undefined && isEmpty)
      variable.kind = kind;
    else if (variable.kind != kind)
      variable.obstacle = "the values that it joins have several types";
    isEmpty = false;
    return element != nullptr;
  }

  void addFormal(bool isInput, unsigned index, Type type) {
    if (!schema || !getFloatElement(type))
      return;
    std::optional<TypeShape> shape = getTypeShape(type);
    if (!shape) {
      variable.obstacle = "its type is nested";
      return;
    }
    auto &parameters = isInput ? schema->inputs : schema->outputs;
    if (parameters.empty())
      return;
    // Values of one variadic parameter need one answer.
    FloatTypeVariable::Formal formal = {
        isInput, std::min<unsigned>(index, parameters.size() - 1), *shape};
    if (!llvm::is_contained(variable.formals, formal))
      variable.formals.push_back(formal);
  }

  Operation *op;
  const OpSchema *schema;
  FloatTypeVariable variable;
  bool isEmpty = true;
};

} // namespace

//===----------------------------------------------------------------------===//
// Variables by kind of op
//===----------------------------------------------------------------------===//

/// From opset 23 on, an attribute gives the type that values are dequantized
/// to, and the scale has a type of its own.
static FloatTypeVariables getDequantizedVariables(Operation *op,
                                                  const OpSchema *schema) {
  VariableBuilder builder(op, schema);
  builder.writeResult(0);
  FloatTypeVariables variables;
  variables.push_back(builder.take());
  return variables;
}

static FloatTypeVariables getNodeVariables(Operation *op,
                                           const OpSchema *schema) {
  if (isDequantizer(op) && schema->getAttribute("output_dtype"))
    return getDequantizedVariables(op, schema);
  FloatSignature signature(op, schema);
  if (!signature)
    return {};
  FloatTypeVariable variable;
  variable.kind = signature.getKind();
  variable.obstacle = signature.getObstacle();
  variable.isIndependent = signature.hasIndependentTypes();
  for (unsigned index : signature.getOperands())
    variable.reads.push_back(&op->getOpOperand(index));
  for (OpResult result : op->getResults())
    if (signature.hasResult(result.getResultNumber()) &&
        getFloatElement(result.getType()))
      variable.writes.push_back(result);
  for (unsigned index : signature.getFormalInputs())
    variable.formals.push_back({true, index, TypeShape::Tensor});
  FloatTypeVariables variables;
  variables.push_back(std::move(variable));
  return variables;
}

/// Elements of a container all have one type.
static FloatTypeVariables getContainerVariables(Operation *op,
                                                const OpSchema *schema) {
  VariableBuilder builder(op, schema);
  for (unsigned index = 0; index < op->getNumOperands(); ++index)
    if (getFloatElement(op->getOperand(index).getType()))
      builder.read(index);
  for (OpResult result : op->getResults())
    if (getFloatElement(result.getType()))
      builder.writeResult(result.getResultNumber());
  FloatTypeVariables variables;
  variables.push_back(builder.take());
  return variables;
}

static FloatTypeVariables getIfVariables(Operation *op,
                                         const OpSchema *schema) {
  FloatTypeVariables variables;
  for (unsigned index = 0; index < op->getNumResults(); ++index) {
    VariableBuilder builder(op, schema);
    builder.writeResult(index);
    for (Region &region : op->getRegions())
      if (!region.empty())
        builder.yield(getYield(region), index);
    variables.push_back(builder.take());
  }
  return variables;
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

static FloatTypeVariables
getLoopVariables(Operation *op, const OpSchema *schema, LoopShape shape) {
  FloatTypeVariables variables;
  Region &region = op->getRegion(0);
  if (region.empty())
    return variables;
  Block &body = region.front();
  Operation *yield = getYield(region);
  auto writeArgument = [&](VariableBuilder &builder, unsigned index) {
    if (index < body.getNumArguments())
      builder.write(body.getArgument(index));
  };
  for (unsigned index = 0; index < op->getNumResults(); ++index) {
    VariableBuilder builder(op, schema);
    if (index < shape.states) {
      builder.read(shape.firstOperand + index);
      writeArgument(builder, shape.firstArgument + index);
    }
    builder.yield(yield, shape.firstYield + index);
    builder.writeResult(index);
    variables.push_back(builder.take());
  }
  for (unsigned index = 0; index < shape.scanInputs; ++index) {
    VariableBuilder builder(op, schema);
    builder.read(shape.firstOperand + shape.states + index);
    writeArgument(builder, shape.firstArgument + shape.states + index);
    variables.push_back(builder.take());
  }
  return variables;
}

static FloatTypeVariables getScanVariables(Operation *op,
                                           const OpSchema *schema) {
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
  return getLoopVariables(op, schema, shape);
}

/// One variable per operand, then one per result, shared with the function.
static FloatTypeVariables getCallVariables(CustomOp call, FunctionOp function) {
  FloatTypeVariables variables;
  Block &body = function.getBody().front();
  Operation *yield = getYield(function.getBody());
  for (unsigned index = 0; index < call->getNumOperands(); ++index) {
    VariableBuilder builder(call, nullptr);
    builder.read(index);
    if (index < body.getNumArguments())
      builder.write(body.getArgument(index));
    variables.push_back(builder.take());
  }
  for (unsigned index = 0; index < call->getNumResults(); ++index) {
    VariableBuilder builder(call, nullptr);
    builder.write(call->getResult(index));
    builder.yield(yield, index);
    variables.push_back(builder.take());
  }
  return variables;
}

static bool hasContainers(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), isListOrOptional) ||
         llvm::any_of(op->getResultTypes(), isListOrOptional);
}

bool joinsTypes(Operation *op) {
  if (isa<CustomOp>(op) || !isNode(op) || !getDomain(op).empty())
    return false;
  if (op->getNumRegions())
    return isStandardOp(op, "If") || isStandardOp(op, "Loop") ||
           isStandardOp(op, "Scan");
  return hasContainers(op);
}

FloatTypeVariables getFloatTypeVariables(Operation *op, const OpSchema *schema,
                                         const FunctionTable &functions) {
  if (auto call = dyn_cast<CustomOp>(op)) {
    FunctionOp function = functions.lookup(call);
    return function && isSpecialized(function) && !function.getBody().empty()
               ? getCallVariables(call, function)
               : FloatTypeVariables();
  }
  if (isa<InitializerOp>(op) || !isNode(op) || !schema)
    return {};
  if (op->getNumRegions()) {
    if (isStandardOp(op, "If"))
      return getIfVariables(op, schema);
    if (isStandardOp(op, "Loop"))
      return getLoopVariables(
          op, schema,
          {unsigned(std::max<int>(0, op->getNumOperands() - 2)),
           /*firstOperand=*/2, /*firstArgument=*/2,
           /*firstYield=*/1});
    return isStandardOp(op, "Scan") ? getScanVariables(op, schema)
                                    : FloatTypeVariables();
  }
  if (hasContainers(op))
    return schema->domain.empty() ? getContainerVariables(op, schema)
                                  : FloatTypeVariables();
  return getNodeVariables(op, schema);
}

Type getAssignedType(Operation *op, unsigned variable) {
  PrecisionAttr precision = getPrecision(op);
  if (!precision || precision.getVariables().empty())
    return precision ? precision.getType() : Type();
  Type type = variable < precision.getVariables().size()
                  ? precision.getVariables()[variable]
                  : Type();
  return type && !isa<NoneType>(type) ? type : Type();
}

} // namespace mp
