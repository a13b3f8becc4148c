//===- NodeEditor.cpp - Rewrites one node for a newer opset ---------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeEditor.h"

#include "mp-opt/Dialect/ONNX/NodeAttributes.h"
#include "mp-opt/Operators/OperatorTraits.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

bool isReadable(Operation *node, StringRef name) {
  return !isa_and_nonnull<ProtoAttr>(node->getAttr(name));
}

/// The attribute of Constant for the contents of a ProtoAttr.
static StringRef getValueAttribute(ProtoAttr attribute) {
  auto type = attribute.getFields().getAs<IntegerAttr>("type");
  // The numbers of AttributeProto.AttributeType.
  switch (type ? type.getInt() : 0) {
  case 1:
    return "value_float";
  case 2:
    return "value_int";
  case 6:
    return "value_floats";
  case 7:
    return "value_ints";
  default:
    return "";
  }
}

/// True if the function around `node` has a default for its attribute `name`.
static bool hasDefault(Operation *node, StringRef name) {
  auto function = node->getParentOfType<FunctionOp>();
  auto extra = function ? function->getAttrOfType<DictionaryAttr>(attr::extra)
                        : DictionaryAttr();
  auto defaults =
      extra ? extra.getAs<ArrayAttr>("attribute_proto") : ArrayAttr();
  return defaults && llvm::any_of(defaults, [&](Attribute entry) {
           auto fields = dyn_cast<DictionaryAttr>(entry);
           auto known =
               fields ? fields.getAs<StringAttr>("name") : StringAttr();
           return known && known.getValue() == name;
         });
}

std::string getConstantObstacle(Operation *node, StringRef name, int opset) {
  auto proto = dyn_cast_or_null<ProtoAttr>(node->getAttr(name));
  if (!proto)
    return "";
  std::string subject = "attribute '" + name.str() + "' ";
  // Constant supports plain numbers from opset 12 on.
  if (getValueAttribute(proto).empty() || opset < 12)
    return subject + "has a form that no constant has";
  auto reference = proto.getFields().getAs<StringAttr>("ref_attr_name");
  const OpSchema *schema = getSchema(node);
  const AttributeSchema *known = schema ? schema->getAttribute(name) : nullptr;
  if (reference && !(known && known->required) &&
      !hasDefault(node, reference.getValue()))
    return subject + "may be left out by the function's callers";
  return "";
}

std::string getTypeObstacle(Value like, int opset) {
  // CastLike exists from opset 15 on.
  return getTensorElementType(like.getType()) || opset >= 15
             ? ""
             : "the element type of its input is unknown";
}

//===----------------------------------------------------------------------===//
// The node
//===----------------------------------------------------------------------===//

NodeEditor::NodeEditor(Operation *node, int opset, UniqueNames &names)
    : node(node), opset(opset), names(names), builder(node) {}

void NodeEditor::setOperand(unsigned index, Value value) {
  SmallVector<Value> operands(node->getOperands());
  OpBuilder before(node);
  while (operands.size() <= index)
    operands.push_back(operands.size() == index
                           ? value
                           : Value(AbsentOp::create(before, node->getLoc(),
                                                    builder.getNoneType())));
  operands[index] = value;
  node->setOperands(operands);
}

void NodeEditor::eraseOperand(unsigned index) {
  auto absent = node->getOperand(index).getDefiningOp<AbsentOp>();
  node->eraseOperand(index);
  if (absent && absent->use_empty())
    absent->erase();
}

void NodeEditor::setString(StringRef name, StringRef value) {
  node->setAttr(name, builder.getStringAttr(value));
}

void NodeEditor::setInt(StringRef name, int64_t value) {
  node->setAttr(name, builder.getI64IntegerAttr(value));
}

std::string NodeEditor::getBase(StringRef suffix) const {
  StringRef owner = getNodeName(node);
  if (owner.empty() && node->getNumResults())
    owner = onnxir::getValueName(node->getResult(0));
  return (owner + "_" + suffix).str();
}

void NodeEditor::replaceResult(unsigned index, Value by, StringRef suffix) {
  OpResult old = node->getResult(index);
  std::string name = onnxir::getValueName(old).str();
  old.replaceAllUsesExcept(by, by.getDefiningOp());
  setValueName(old, names.getValueName(getBase(suffix)));
  setValueName(cast<OpResult>(by), name);
}

void NodeEditor::recreate(StringRef opType, unsigned results) {
  OpBuilder before(node);
  OperationState state = getState(opType);
  state.addOperands(node->getOperands());
  SmallVector<Type> types(node->getResultTypes());
  state.addTypes(ArrayRef(types).take_front(results));
  NamedAttrList attributes(node->getAttrDictionary());
  if (auto named = node->getAttrOfType<ArrayAttr>(attr::results);
      named && named.size() > results)
    attributes.set(attr::results,
                   builder.getArrayAttr(named.getValue().take_front(results)));
  state.addAttributes(attributes);
  for (Region &region : node->getRegions())
    state.addRegion()->takeBody(region);
  Operation *created = before.create(state);
  for (unsigned index = 0; index < results; ++index)
    node->getResult(index).replaceAllUsesWith(created->getResult(index));
  node->erase();
  node = created;
  builder.setInsertionPoint(node);
}

//===----------------------------------------------------------------------===//
// New nodes
//===----------------------------------------------------------------------===//

OperationState NodeEditor::getState(StringRef opType) {
  MLIRContext *context = builder.getContext();
  auto &dialect = *context->getLoadedDialect<ONNXDialect>();
  return OperationState(
      node->getLoc(),
      getOperationName(context, *dialect.getSchemas().lookup("", opType)));
}

void NodeEditor::mark(OperationState &state, StringRef opType) {
  if (!getClass(node))
    return;
  addAttribute(state, mark::adapter, builder.getUnitAttr());
  if (auto module = node->getParentOfType<ModuleOp>())
    module->setAttr(mark::adapter, builder.getUnitAttr());
  // Nodes that only move data get the class of their neighbours; the others
  // compute sizes, indices and constants.
  bool movesData = getOperatorTraits("", opType).kind == OperatorKind::Movement;
  OpClass opClass = movesData ? OpClass::Follow : OpClass::Deny;
  StringAttr reason = builder.getStringAttr(
      opType == "Constant" ? "constant" : "made by raising the opset");
  addAttribute(state, mark::opClass,
               ClassAttr::get(builder.getContext(), opClass, reason));
}

Value NodeEditor::create(StringRef opType, ValueRange operands, Type type,
                         StringRef suffix,
                         ArrayRef<NamedAttribute> attributes) {
  OperationState state = getState(opType);
  std::string base = getBase(suffix);
  state.addOperands(operands);
  state.addTypes(type);
  state.addAttributes(attributes);
  addAttribute(state, attr::name,
               builder.getStringAttr(names.getNodeName(base)));
  addAttribute(state, attr::results,
               builder.getStrArrayAttr({names.getValueName(base)}));
  mark(state, opType);
  return builder.create(state)->getResult(0);
}

Value NodeEditor::createConstant(ElementsAttr value, StringRef suffix) {
  return create("Constant", {}, value.getType(), suffix,
                builder.getNamedAttr("value", value));
}

Value NodeEditor::createInts(ArrayRef<int64_t> values, StringRef suffix) {
  auto type =
      RankedTensorType::get({int64_t(values.size())}, builder.getI64Type());
  return createConstant(DenseElementsAttr::get(type, values), suffix);
}

Value NodeEditor::createScalar(int64_t value, StringRef suffix) {
  auto type = RankedTensorType::get({}, builder.getI64Type());
  return createConstant(DenseElementsAttr::get(type, value), suffix);
}

Value NodeEditor::createScalarLike(double value, Value like, StringRef suffix) {
  Type element = getTensorElementType(like.getType());
  auto floatType = dyn_cast_or_null<FloatType>(element);
  // Numbers of other types are cast.
  Type held = floatType ? floatType : builder.getF32Type();
  APFloat number(value);
  bool losesInfo;
  number.convert(cast<FloatType>(held).getFloatSemantics(),
                 APFloat::rmNearestTiesToEven, &losesInfo);
  Value scalar = createConstant(
      DenseElementsAttr::get(RankedTensorType::get({}, held), number), suffix);
  if (floatType)
    return scalar;
  if (element)
    return createCast(scalar, element, suffix);
  return create("CastLike", {scalar, like},
                UnknownType::get(node->getContext()), suffix);
}

Value NodeEditor::takeConstant(StringRef name) {
  Attribute attribute = node->removeAttr(name);
  MLIRContext *context = builder.getContext();
  auto vector = [&](int64_t size, Type element) {
    return RankedTensorType::get({size}, element);
  };
  if (auto ints = dyn_cast<DenseI64ArrayAttr>(attribute))
    return createInts(ints.asArrayRef(), name);
  if (auto floats = dyn_cast<DenseF32ArrayAttr>(attribute))
    return createConstant(
        DenseElementsAttr::get(vector(floats.size(), builder.getF32Type()),
                               floats.asArrayRef()),
        name);
  if (auto number = dyn_cast<IntegerAttr>(attribute))
    return createScalar(number.getInt(), name);
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return createConstant(
        DenseElementsAttr::get(RankedTensorType::get({}, number.getType()),
                               number.getValue()),
        name);
  auto proto = cast<ProtoAttr>(attribute);
  StringRef holder = getValueAttribute(proto);
  Type element = holder.contains("float") ? Type(builder.getF32Type())
                                          : Type(builder.getI64Type());
  Type type = holder.ends_with("s") ? vector(ShapedType::kDynamic, element)
                                    : RankedTensorType::get({}, element);
  return create("Constant", {}, type, name,
                NamedAttribute(StringAttr::get(context, holder), proto));
}

Value NodeEditor::takeConstantLike(StringRef name, Value like) {
  Attribute attribute = node->getAttr(name);
  if (auto number = dyn_cast<FloatAttr>(attribute)) {
    node->removeAttr(name);
    return createScalarLike(number.getValueAsDouble(), like, name);
  }
  Value scalar = takeConstant(name);
  Type element = getTensorElementType(like.getType());
  if (element && element == getTensorElementType(scalar.getType()))
    return scalar;
  if (element)
    return createCast(scalar, element, name);
  return create("CastLike", {scalar, like},
                UnknownType::get(node->getContext()), name);
}

Value NodeEditor::createCast(Value value, Type elementType, StringRef suffix) {
  auto to = builder.getI64IntegerAttr(int64_t(getElementKind(elementType)));
  return create("Cast", value, withElementType(value.getType(), elementType),
                suffix, builder.getNamedAttr("to", to));
}

Value NodeEditor::createShape(Value value, StringRef suffix) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  int64_t rank = tensor ? tensor.getRank() : ShapedType::kDynamic;
  return create("Shape", value,
                RankedTensorType::get({rank}, builder.getI64Type()), suffix);
}

} // namespace mp
