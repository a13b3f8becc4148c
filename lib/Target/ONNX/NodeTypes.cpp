//===- NodeTypes.cpp - Types that the IR does not state -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Target/ONNX/NodeTypes.h"

#include "Conversion.h"
#include "ProtoAttr.h"
#include "TypeInference.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// The values of constants up to this size are passed to inference.
static constexpr uint64_t maxConstantBytes = 4096;

namespace {

/// Keeps the data of small tensors; inference reads no others.
class SmallTensorSink : public TensorSink {
public:
  void place(const TensorData &data, bool,
             ::onnx::TensorProto &tensor) override {
    if (data.getSize() <= maxConstantBytes)
      tensor.set_raw_data(data.readAll());
  }
};

} // namespace

/// The small constants met so far; null for those that are not small.
struct NodeTypes::Constants {
  const ::onnx::TensorProto *lookup(Value value);
  void erase(Operation *op) { tensors.erase(op); }

private:
  std::unique_ptr<::onnx::TensorProto> convert(Operation *op);

  llvm::DenseMap<Operation *, std::unique_ptr<::onnx::TensorProto>> tensors;
};

NodeTypes::NodeTypes() : constants(std::make_unique<Constants>()) {}
NodeTypes::~NodeTypes() = default;

/// The integers that a Constant states as a list or a number.
static Attribute getStatedInts(Operation *op) {
  Builder builder(op->getContext());
  Type element = builder.getI64Type();
  if (auto list = op->getAttrOfType<DenseI64ArrayAttr>("value_ints"))
    return DenseElementsAttr::get(RankedTensorType::get({list.size()}, element),
                                  list.asArrayRef());
  if (auto number = op->getAttrOfType<IntegerAttr>("value_int"))
    return DenseElementsAttr::get(RankedTensorType::get({}, element),
                                  number.getInt());
  return {};
}

std::unique_ptr<::onnx::TensorProto>
NodeTypes::Constants::convert(Operation *op) {
  Attribute value;
  if (auto initializer = dyn_cast<InitializerOp>(op))
    value =
        initializer.getOverridable() ? TypedAttr() : initializer.getValueAttr();
  else if (isStandardOp(op, "Constant"))
    value = op->hasAttr("value") ? op->getAttr("value") : getStatedInts(op);
  if (auto tensor = dyn_cast_or_null<TensorAttr>(value))
    value = tensor.getValue();
  auto elements = dyn_cast_or_null<DenseElementsAttr>(value);
  if (!elements || uint64_t(elements.getRawData().size()) > maxConstantBytes)
    return nullptr;
  auto tensor = std::make_unique<::onnx::TensorProto>();
  SmallTensorSink sink;
  // Conversion errors are reported when the model is written.
  ScopedDiagnosticHandler silence(op->getContext(),
                                  [](Diagnostic &) { return success(); });
  if (failed(convertTensor(elements, elements.getType(), {}, sink, *tensor,
                           [&] { return op->emitError(); })))
    return nullptr;
  return tensor;
}

const ::onnx::TensorProto *NodeTypes::Constants::lookup(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() || op->getNumResults() != 1)
    return nullptr;
  auto [it, isNew] = tensors.try_emplace(op);
  if (isNew)
    it->second = convert(op);
  return it->second.get();
}

//===----------------------------------------------------------------------===//
// Attributes of functions
//===----------------------------------------------------------------------===//

Attribute NodeTypes::resolve(Attribute attribute,
                             const AttributeValues &attributes) {
  auto proto = dyn_cast_or_null<ProtoAttr>(attribute);
  auto reference = proto ? proto.getFields().getAs<StringAttr>("ref_attr_name")
                         : StringAttr();
  if (!reference || reference.empty())
    return attribute;
  return attributes.lookup(reference.getValue());
}

AttributeValues NodeTypes::getValues(FunctionOp function, Operation *call,
                                     const AttributeValues &attributes) {
  AttributeValues values;
  auto extra = function->getAttrOfType<DictionaryAttr>(attr::extra);
  auto defaults =
      extra ? extra.getAs<ArrayAttr>("attribute_proto") : ArrayAttr();
  if (defaults)
    for (auto fields : defaults.getAsRange<DictionaryAttr>()) {
      NamedAttrList rest(fields);
      if (auto name = dyn_cast_or_null<StringAttr>(rest.erase("name")))
        values[name.getValue()] = ProtoAttr::get(
            call->getContext(), rest.getDictionary(call->getContext()));
    }
  for (NamedAttribute entry : call->getDiscardableAttrs())
    if (!entry.getName().strref().contains('.'))
      if (Attribute value = resolve(entry.getValue(), attributes))
        values[entry.getName()] = value;
  return values;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

Type NodeTypes::refine(Type type, Type better) {
  bool isBetter = isa<UnknownType>(type)
                      ? !isa<NoneType>(better)
                      : isVague(type) && type == withoutShape(better);
  return isBetter ? better : type;
}

void NodeTypes::inferSubgraphInputs(Operation *node) {
  for (Region &region : node->getRegions()) {
    if (region.empty())
      continue;
    SmallVector<Type> types = getSubgraphInputTypes(
        node->getContext(), getOpType(node), node->getOperandTypes(),
        region.getNumArguments());
    for (auto [argument, type] : llvm::zip(region.getArguments(), types))
      argument.setType(refine(argument.getType(), type));
  }
}

void NodeTypes::inferNested(Operation *node) {
  inferSubgraphInputs(node);
  for (Region &region : node->getRegions())
    for (Operation &inner : region.getOps())
      if (isNode(&inner))
        inferNested(&inner);
  inferResults(node, {});
}

void NodeTypes::forget(Operation *node) { constants->erase(node); }

/// The types that subgraphs yield, as far as they agree.
static SmallVector<Type> inferFromSubgraphs(Operation *node) {
  Type unknown = UnknownType::get(node->getContext());
  SmallVector<Type> types(node->getNumResults(), unknown);
  llvm::SmallBitVector conflicting(types.size());
  for (Region &region : node->getRegions()) {
    YieldOp yield = getYield(region);
    if (!yield)
      return SmallVector<Type>(types.size(), unknown);
    SmallVector<Type> yielded =
        getSubgraphResultTypes(node->getContext(), getOpType(node),
                               yield.getOperandTypes(), types.size());
    for (auto [index, type] : llvm::enumerate(yielded)) {
      if (isa<UnknownType>(types[index]))
        types[index] = type;
      else if (isa<UnknownType>(type) || type == types[index])
        continue;
      else if (withoutShape(type) == withoutShape(types[index]))
        types[index] = withoutShape(type);
      else
        conflicting.set(index);
    }
  }
  for (unsigned index : conflicting.set_bits())
    types[index] = unknown;
  return types;
}

/// Runs ONNX's inference on one node.
SmallVector<Type> NodeTypes::infer(Operation *node,
                                   const AttributeValues &attributes,
                                   ArrayRef<ArrayRef<unsigned>> operandSymbols,
                                   Symbols *symbols) {
  ::onnx::NodeProto proto;
  proto.set_op_type(getOpType(node).str());
  proto.set_domain(getDomain(node).str());
  for (OpResult result : node->getResults())
    proto.add_output(onnxir::getValueName(result).str());
  SmallTensorSink sink;
  ScopedDiagnosticHandler silence(node->getContext(),
                                  [](Diagnostic &) { return success(); });
  for (NamedAttribute entry : node->getDiscardableAttrs()) {
    StringRef name = entry.getName();
    Attribute value = name.contains('.')
                          ? Attribute()
                          : resolve(entry.getValue(), attributes);
    if (value &&
        failed(convertAttribute(value, name, sink, *proto.add_attribute(),
                                [&] { return node->emitError(); })))
      proto.mutable_attribute()->RemoveLast();
  }
  SmallVector<InferenceOperand> operands;
  for (auto [index, operand] : llvm::enumerate(node->getOperands())) {
    proto.add_input(onnxir::getValueName(operand).str());
    operands.push_back({operand.getType(), constants->lookup(operand),
                        index < operandSymbols.size() ? operandSymbols[index]
                                                      : ArrayRef<unsigned>()});
  }
  return inferResultTypes(node->getContext(), proto, *getSchema(node), operands,
                          symbols)
      .types;
}

static bool isOpen(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !tensor.hasStaticShape();
}

NodeTypes::Symbols
NodeTypes::inferSymbols(Operation *node,
                        ArrayRef<ArrayRef<unsigned>> operandSymbols) {
  Symbols symbols;
  bool hasNames = llvm::any_of(
      operandSymbols, [](ArrayRef<unsigned> names) { return !names.empty(); });
  if (!hasNames || node->getNumRegions() || !getSchema(node) ||
      llvm::none_of(node->getResultTypes(),
                    [](Type type) { return isOpen(type) || isVague(type); })) {
    inferResults(node, {});
  } else {
    SmallVector<Type> types = infer(node, {}, operandSymbols, &symbols);
    for (auto [result, type] : llvm::zip(node->getResults(), types))
      result.setType(refine(result.getType(), type));
  }
  symbols.resize(node->getNumResults());
  return symbols;
}

void NodeTypes::inferResults(Operation *node,
                             const AttributeValues &attributes) {
  const OpSchema *schema = getSchema(node);
  if (!schema || llvm::none_of(node->getResultTypes(), isVague))
    return;
  SmallVector<Type> types = node->getNumRegions()
                                ? inferFromSubgraphs(node)
                                : infer(node, attributes, {}, nullptr);
  for (auto [result, type] : llvm::zip(node->getResults(), types))
    result.setType(refine(result.getType(), type));
}

Attribute NodeTypes::getPlainForm(Attribute attribute, StringRef name) {
  auto kept = dyn_cast<ProtoAttr>(attribute);
  if (!kept)
    return attribute;
  MLIRContext *context = attribute.getContext();
  ScopedDiagnosticHandler silence(context,
                                  [](Diagnostic &) { return success(); });
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(context)); };
  ::onnx::AttributeProto proto;
  proto.set_name(name.str());
  TensorSource source(nullptr, ExternalData("", {}));
  if (failed(attrToProto(kept.getFields(), proto, emitError)))
    return attribute;
  FailureOr<Attribute> plain =
      convertAttribute(context, proto, source, emitError);
  return succeeded(plain) ? *plain : attribute;
}

} // namespace mp
