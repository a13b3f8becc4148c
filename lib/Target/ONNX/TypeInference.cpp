//===- TypeInference.cpp - Types that a model does not state --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TypeInference.h"
#include "Conversion.h"
#include "InferenceGuard.h"
#include "Validation/ValueChecks.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

#include "onnx/defs/schema.h"
#include "onnx/shape_inference/implementation.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// Gives names to unknown sizes, which inference propagates.
static void nameDimensions(ArrayRef<unsigned> symbols,
                           ::onnx::TypeProto &type) {
  if (symbols.empty() || !type.tensor_type().has_shape())
    return;
  auto &dims = *type.mutable_tensor_type()->mutable_shape()->mutable_dim();
  for (auto [symbol, dim] : llvm::zip(symbols, dims))
    if (symbol && !dim.has_dim_value())
      dim.set_dim_param(std::to_string(symbol));
}

/// The names that sizes of a result have got.
static SmallVector<unsigned> getSymbols(const ::onnx::TypeProto &type) {
  SmallVector<unsigned> symbols;
  for (const auto &dim : type.tensor_type().shape().dim()) {
    unsigned symbol = 0;
    if (dim.has_dim_param() &&
        StringRef(dim.dim_param()).getAsInteger(10, symbol))
      symbol = 0;
    symbols.push_back(symbol);
  }
  return symbols;
}

namespace {

/// The information about one node for ONNX's inference functions.
class NodeInference : public ::onnx::InferenceContext {
public:
  NodeInference(const ::onnx::NodeProto &node, const OpSchema &schema,
                ArrayRef<InferenceOperand> operands)
      : node(node), types(operands.size()), values(operands.size()),
        results(std::max(size_t(node.output_size()), schema.outputs.size())) {
    for (auto [operand, type] : llvm::zip(operands, types)) {
      convertType(operand.type, type);
      hideHugeDimensions(type);
      nameDimensions(operand.symbols, type);
      // Absent operands have no type; that present ones have one is taken for
      // granted by some functions. A tensor of undefined type makes them throw.
      if (isa<UnknownType>(operand.type))
        type.mutable_tensor_type();
    }
    for (auto [index, operand] : llvm::enumerate(operands))
      if (const FormalParameter *parameter = schema.getInput(index);
          parameter && operand.value && isSafeValue(*operand.value, *parameter))
        values[index] = operand.value;
  }

  ArrayRef<::onnx::TypeProto> getResults() const {
    return ArrayRef(results).take_front(node.output_size());
  }

  /// Infers through the function that defines the operator, sizes included.
  void inferFromBody(const ::onnx::OpSchema &schema);

  const ::onnx::AttributeProto *
  getAttribute(const std::string &name) const override {
    for (const ::onnx::AttributeProto &attribute : node.attribute())
      if (attribute.name() == name)
        return &attribute;
    return nullptr;
  }
  size_t getNumInputs() const override { return types.size(); }
  const ::onnx::TypeProto *getInputType(size_t index) const override {
    return index < types.size() &&
                   types[index].value_case() != ::onnx::TypeProto::VALUE_NOT_SET
               ? &types[index]
               : nullptr;
  }
  const ::onnx::TensorProto *getInputData(size_t index) const override {
    return index < values.size() ? values[index] : nullptr;
  }
  size_t getNumOutputs() const override { return node.output_size(); }
  ::onnx::TypeProto *getOutputType(size_t index) override {
    return index < results.size() ? &results[index] : nullptr;
  }
  ::onnx::GraphInferencer *
  getGraphAttributeInferencer(const std::string &) override {
    return nullptr;
  }
  const ::onnx::SparseTensorProto *getInputSparseData(size_t) const override {
    return nullptr;
  }
  const ::onnx::TensorShapeProto *getSymbolicInput(size_t) const override {
    return nullptr;
  }

private:
  const ::onnx::NodeProto &node;
  std::vector<::onnx::TypeProto> types;
  /// Constants that are safe to read; null for other operands.
  std::vector<const ::onnx::TensorProto *> values;
  /// Includes results that the node omits, since some functions set all.
  std::vector<::onnx::TypeProto> results;
};

/// Loads ONNX's schemas one by one, since its own registry makes all of them at
/// once.
class SingleSchemas : public ::onnx::ISchemaRegistry {
public:
  const ::onnx::OpSchema *GetSchema(const std::string &name, int opset,
                                    const std::string &domain) const override {
    const OpFamily *family = SchemaRegistry::builtin().lookup(domain, name);
    const OpSchema *schema = family ? family->at(opset) : nullptr;
    return schema
               ? static_cast<const ::onnx::OpSchema *>(schema->getONNXSchema())
               : nullptr;
  }
};
} // namespace

void NodeInference::inferFromBody(const ::onnx::OpSchema &schema) {
  ::onnx::FunctionProto body;
  if (schema.HasFunction()) {
    body = *schema.GetFunction();
  } else {
    ::onnx::FunctionBodyBuildContextImpl context(node, types);
    if (!schema.HasContextDependentFunction() ||
        !schema.BuildContextDependentFunction(context, body))
      return;
  }
  ::onnx::ShapeInferenceOptions options;
  options.enable_data_propagation = true;
  ::onnx::shape_inference::DataValueMap sizes;
  const SingleSchemas registry;
  ::onnx::shape_inference::InferShapeForFunctionNode(
      body, &registry, *this, options, {},
      /*symbol_table=*/nullptr, &sizes);
}

/// The type of result `index` from an operand of the same type variable, or
/// from a variable that admits one tensor type only.
static Type inferFromVariable(MLIRContext *context, const OpSchema &schema,
                              unsigned index,
                              ArrayRef<InferenceOperand> operands) {
  Type unknown = UnknownType::get(context);
  const FormalParameter *output = schema.getOutput(index);
  if (!output ||
      (output->option == FormalParameter::Variadic && !output->homogeneous))
    return unknown;
  for (auto [position, operand] : llvm::enumerate(operands)) {
    const FormalParameter *input = schema.getInput(position);
    if (input && input->typeVariable == output->typeVariable &&
        !isa<NoneType, UnknownType>(operand.type))
      return withoutShape(operand.type);
  }
  Type only;
  for (unsigned kind = 1; kind <= unsigned(ElementKind::Int2); ++kind) {
    if (!schema.typesOf(*output).containsTensor(ElementKind(kind)))
      continue;
    if (only)
      return unknown;
    only = UnrankedTensorType::get(getElementType(context, ElementKind(kind)));
  }
  return only ? only : unknown;
}

/// True for types that inference does not support, and for empty tensors, which
/// it does not expect. Its errors about these are ignored.
static bool isBeyondInference(Type type) {
  if (auto sequence = dyn_cast<SequenceType>(type))
    return isBeyondInference(sequence.getElementType());
  if (auto optional = dyn_cast<OptionalType>(type))
    return isBeyondInference(optional.getElementType());
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return llvm::is_contained(tensor.getShape(), 0);
  return isa<UnknownType>(type);
}

/// The error of ONNX's inference, in the form of our messages.
static std::string getReason(const std::exception &exception) {
  StringRef text = exception.what();
  for (StringRef prefix : {"[ShapeInferenceError]", "[TypeInferenceError]"})
    if (text.consume_front(prefix))
      text = text.ltrim();
  // The node is already named by the message.
  text = text.split('\n').first.rtrim(". ");
  std::string reason = text.str();
  bool isWord = reason.size() > 1 && llvm::isLower(reason[1]);
  if (isWord)
    reason[0] = llvm::toLower(reason[0]);
  return reason.empty() ? "contradicts its operator" : reason;
}

InferredTypes inferResultTypes(MLIRContext *context,
                               const ::onnx::NodeProto &node,
                               const OpSchema &schema,
                               ArrayRef<InferenceOperand> operands,
                               InferredSymbols *symbols) {
  InferredTypes result;
  SmallVector<Type> &types = result.types;
  types.assign(size_t(node.output_size()), UnknownType::get(context));
  NodeInference inference(node, schema, operands);
  const auto *onnxSchema =
      static_cast<const ::onnx::OpSchema *>(schema.getONNXSchema());
  if (onnxSchema && whyRefused(node, schema, operands).empty()) {
    try {
      if (onnxSchema->has_type_and_shape_inference_function())
        onnxSchema->GetTypeAndShapeInferenceFunction()(inference);
      else
        inference.inferFromBody(*onnxSchema);
      for (auto [type, proto] : llvm::zip(types, inference.getResults())) {
        type = convertType(context, proto);
        if (result.sizeError.empty())
          result.sizeError = whySizesRefused(proto);
      }
      if (symbols)
        for (const ::onnx::TypeProto &proto : inference.getResults())
          symbols->push_back(getSymbols(proto));
    } catch (const std::exception &exception) {
      // The type variables below are less precise, but never throw.
      if (llvm::none_of(operands, [](const InferenceOperand &operand) {
            return isBeyondInference(operand.type);
          }))
        result.error = getReason(exception);
    }
  }
  for (auto [index, type] : llvm::enumerate(types)) {
    bool missing = isa<UnknownType>(type);
    if (auto sequence = dyn_cast<SequenceType>(type))
      missing = isa<UnknownType>(sequence.getElementType());
    if (auto optional = dyn_cast<OptionalType>(type))
      missing = isa<UnknownType>(optional.getElementType());
    if (missing)
      type = inferFromVariable(context, schema, index, operands);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// InferenceCache
//===----------------------------------------------------------------------===//

/// A byte string of everything that inference may read of a node. Of names,
/// only their presence matters.
static std::string getKey(const ::onnx::NodeProto &node, const OpSchema &schema,
                          ArrayRef<InferenceOperand> operands) {
  std::string key;
  auto add = [&](auto word) {
    static_assert(sizeof(word) == sizeof(uint64_t));
    key.append(reinterpret_cast<const char *>(&word), sizeof(word));
  };
  add(&schema);
  add(uint64_t(node.input_size()));
  add(uint64_t(node.output_size()));
  for (auto [name, operand] : llvm::zip(node.input(), operands)) {
    key += name.empty() ? '-' : '+';
    add(operand.type.getAsOpaquePointer());
    add(operand.value);
  }
  for (const std::string &name : node.output())
    key += name.empty() ? '-' : '+';
  for (const ::onnx::AttributeProto &attribute : node.attribute()) {
    add(uint64_t(attribute.ByteSizeLong()));
    attribute.AppendToString(&key);
  }
  return key;
}

/// Returns the error of the operator's rules, if any, else the result of
/// inference.
static InferredTypes checkAndInfer(MLIRContext *context,
                                   const ::onnx::NodeProto &node,
                                   const OpSchema &schema,
                                   ArrayRef<InferenceOperand> operands) {
  std::string refused = whyValuesRefused(node, schema, operands);
  if (!refused.empty())
    return {{}, refused};
  return inferResultTypes(context, node, schema, operands);
}

const InferredTypes &
InferenceCache::infer(MLIRContext *context, const ::onnx::NodeProto &node,
                      const OpSchema &schema,
                      ArrayRef<InferenceOperand> operands) {
  std::string key = getKey(node, schema, operands);
  // Nodes with data in attributes are rarely equal, so they are not cached.
  constexpr size_t longest = 1024;
  if (key.size() > longest)
    return last = checkAndInfer(context, node, schema, operands);
  auto [it, isNew] = known.try_emplace(key);
  if (isNew)
    it->second = checkAndInfer(context, node, schema, operands);
  return it->second;
}

//===----------------------------------------------------------------------===//
// Subgraphs
//===----------------------------------------------------------------------===//

SmallVector<Type> getSubgraphInputTypes(MLIRContext *context, StringRef opType,
                                        TypeRange operands, unsigned count) {
  Builder builder(context);
  Type unknown = builder.getType<UnknownType>();
  SmallVector<Type> types;
  for (Type type : operands) {
    auto sequence = dyn_cast<SequenceType>(type);
    if (sequence && opType == "SequenceMap")
      type = sequence.getElementType();
    types.push_back(isa<NoneType>(type) ? unknown : withoutShape(type));
  }
  // Scan-8 has the lengths of its sequences as first operand.
  if (opType == "Scan" && types.size() > count)
    types.erase(types.begin(), types.end() - count);
  types.resize(count, unknown);
  if (opType == "Loop" && count >= 2) {
    types[0] = RankedTensorType::get({}, builder.getI64Type());
    types[1] = RankedTensorType::get({}, builder.getI1Type());
  }
  return types;
}

SmallVector<Type> getSubgraphResultTypes(MLIRContext *context, StringRef opType,
                                         TypeRange yielded, unsigned count) {
  // Subgraphs of other operators do not determine their results.
  if (!llvm::is_contained({"If", "Loop", "Scan", "SequenceMap"}, opType))
    return SmallVector<Type>(count, UnknownType::get(context));
  // The body of Loop yields a condition first.
  if (opType == "Loop" && !yielded.empty())
    yielded = yielded.drop_front();
  SmallVector<Type> types;
  for (Type type : yielded.take_front(count)) {
    if (isa<NoneType>(type))
      type = UnknownType::get(context);
    // The shape yielded by one iteration may be only a part of the result's.
    if (opType != "If")
      type = withoutShape(type);
    types.push_back(opType == "SequenceMap" ? SequenceType::get(context, type)
                                            : type);
  }
  types.resize(count, UnknownType::get(context));
  return types;
}

} // namespace mp
