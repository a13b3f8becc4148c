//===- InferenceGuard.cpp - Protects ONNX's inference ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InferenceGuard.h"

#include "Conversion.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mp::onnxir;
using Proto = ::onnx::AttributeProto;
using TensorProto = ::onnx::TensorProto;

namespace mp {

/// The maximum number of elements of a tensor.
static constexpr int64_t maxDimension = int64_t(1) << 48;
/// Above the rank of any real model, and low enough to copy shapes fast.
static constexpr int maxRank = 1024;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// True for Slice's bounds, which are clipped to the dimension. Exporters write
/// the greatest integer to mean its end.
static bool isBound(StringRef name) {
  return name == "starts" || name == "ends";
}

/// True for attributes named after their type (value_ints, keys_int64s). They
/// hold data, which inference counts but does not read.
static bool holdsData(StringRef name) { return name.contains("_int"); }

bool mayBeHuge(StringRef attribute) {
  return isBound(attribute) || holdsData(attribute);
}

static bool isInRange(int64_t value) {
  return value >= -maxParameter && value <= maxParameter;
}

/// Sizes are also computed from floats, by scaling and by counting steps.
static bool isInRange(double value) {
  double size = std::abs(value);
  return size == 0 || (size * maxParameter >= 1 && size <= maxParameter);
}

template <typename Values> static bool areInRange(const Values &values) {
  return llvm::all_of(values, [](auto value) { return isInRange(value); });
}

/// The elements of raw data as type T.
template <typename T> static bool areInRangeRaw(StringRef bytes) {
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T element;
    memcpy(&element, bytes.data() + at, sizeof(T));
    if (!isInRange(Wide(element)))
      return false;
  }
  return true;
}

/// True if the dimensions of `tensor` match its data: raw elements of `size`
/// bytes, or `typed` entries.
static bool hasItsData(const TensorProto &tensor, size_t size, int typed) {
  uint64_t elements = 1;
  for (int64_t dim : tensor.dims()) {
    if (dim < 0 || (dim && elements > uint64_t(maxDimension) / uint64_t(dim)))
      return false;
    elements *= uint64_t(dim);
  }
  if (tensor.has_raw_data())
    return tensor.raw_data().size() == elements * size;
  return uint64_t(typed) == elements;
}

bool isSafeValue(const TensorProto &value, const FormalParameter &parameter) {
  if (value.dims_size() > maxRank || value.has_data_location() ||
      value.has_segment())
    return false;
  StringRef raw = value.raw_data();
  switch (value.data_type()) {
  case TensorProto::INT64:
    return hasItsData(value, 8, value.int64_data_size()) &&
           (isBound(parameter.name) ||
            (areInRange(value.int64_data()) && areInRangeRaw<int64_t>(raw)));
  case TensorProto::INT32:
    return hasItsData(value, 4, value.int32_data_size());
  case TensorProto::FLOAT:
    return hasItsData(value, 4, value.float_data_size()) &&
           areInRange(value.float_data()) && areInRangeRaw<float>(raw);
  case TensorProto::DOUBLE:
    return hasItsData(value, 8, value.double_data_size()) &&
           areInRange(value.double_data()) && areInRangeRaw<double>(raw);
  default:
    // Inference functions do not read other types.
    return false;
  }
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// True if the attribute has the field of its kind and no other.
static bool isOfKind(const Proto &attribute, StringRef kind) {
  const auto *descriptor = Proto::descriptor();
  const auto *reflection = attribute.GetReflection();
  const auto *own =
      descriptor->FindFieldByName(llvm::StringSwitch<const char *>(kind)
                                      .Case("FLOAT", "f")
                                      .Case("INT", "i")
                                      .Case("STRING", "s")
                                      .Case("TENSOR", "t")
                                      .Case("SPARSE_TENSOR", "sparse_tensor")
                                      .Case("TYPE_PROTO", "tp")
                                      .Case("FLOATS", "floats")
                                      .Case("INTS", "ints")
                                      .Case("STRINGS", "strings")
                                      .Case("TENSORS", "tensors")
                                      .Case("SPARSE_TENSORS", "sparse_tensors")
                                      .Case("TYPE_PROTOS", "type_protos")
                                      .Default(""));
  // Models of IR 1 omit the type.
  bool saysKind = !attribute.has_type() ||
                  Proto::AttributeType_Name(attribute.type()) == kind;
  if (!own || !saysKind || attribute.has_ref_attr_name())
    return false;
  std::vector<const google::protobuf::FieldDescriptor *> fields;
  reflection->ListFields(attribute, &fields);
  bool hasOthers = llvm::any_of(fields, [&](const auto *field) {
    StringRef name = field->name();
    return field != own && name != "name" && name != "type" &&
           name != "doc_string";
  });
  return !hasOthers &&
         (own->is_repeated() || reflection->HasField(attribute, own));
}

/// True for letters with at most one ellipsis per term: for anything else left
/// of the arrow, ONNX 1.23.2 reads the same character forever.
static bool isEquation(StringRef text) {
  std::string dense = text.str();
  llvm::erase(dense, ' ');
  auto areLetters = [](StringRef part) {
    return llvm::all_of(part, llvm::isAlpha);
  };
  SmallVector<StringRef> terms;
  StringRef(dense).split("->").first.split(terms, ',');
  return llvm::all_of(terms, [&](StringRef term) {
    auto [before, after] = term.split("...");
    return areLetters(before) && areLetters(after);
  });
}

/// The error in `attribute`; empty if it is valid.
static std::string whyRefused(const Proto &attribute,
                              const AttributeSchema &schema) {
  StringRef name = schema.name;
  if (!isOfKind(attribute, schema.kind))
    return "attribute '" + schema.name + "' is not of kind " + schema.kind;
  SmallVector<int64_t> numbers(attribute.ints().begin(),
                               attribute.ints().end());
  if (attribute.has_i())
    numbers.push_back(attribute.i());
  if (!mayBeHuge(name) && !areInRange(numbers))
    return "attribute '" + schema.name + "' is out of range";
  if (schema.isSize() &&
      llvm::any_of(numbers, [](int64_t number) { return number <= 0; }))
    return "attribute '" + schema.name + "' is not positive";
  if (name == "equation" && !isEquation(attribute.s()))
    return "attribute 'equation' is not an equation";
  if (name == "scales" && !areInRange(attribute.floats()))
    return "attribute '" + schema.name + "' is out of range";
  return "";
}

static std::string whyAttributesRefused(const ::onnx::NodeProto &node,
                                        const OpSchema &schema) {
  llvm::StringMap<const Proto *> given;
  for (const Proto &attribute : node.attribute())
    if (!given.try_emplace(attribute.name(), &attribute).second)
      return "attribute '" + attribute.name() + "' is given twice";
  for (const AttributeSchema &described : schema.attributes) {
    // Types in subgraphs are inferred by the callers.
    if (StringRef(described.kind).starts_with("GRAPH"))
      return "it has subgraphs";
    const Proto *attribute = given.lookup(described.name);
    if (!attribute && described.required)
      return "attribute '" + described.name + "' is missing";
    if (!attribute)
      continue;
    if (std::string why = whyRefused(*attribute, described); !why.empty())
      return why;
    // Another list has this length and is indexed by that of the results.
    if (described.name == "num_outputs" && attribute->i() != node.output_size())
      return "attribute 'num_outputs' does not count its results";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// True if all required operands are present, and no result exceeds the schema.
/// Otherwise the verifier reports it.
static bool hasRequiredArity(const ::onnx::NodeProto &node,
                             const OpSchema &schema,
                             ArrayRef<InferenceOperand> operands) {
  for (auto [index, input] : llvm::enumerate(schema.inputs)) {
    bool isMissing = index >= operands.size();
    if (isMissing && input.option == FormalParameter::Single)
      return false;
    if (isMissing && input.option == FormalParameter::Variadic &&
        operands.size() < index + input.minArity)
      return false;
  }
  for (auto [index, operand] : llvm::enumerate(operands)) {
    const FormalParameter *input = schema.getInput(index);
    if (!input || (input->option != FormalParameter::Optional &&
                   isa<NoneType>(operand.type)))
      return false;
  }
  return node.output_size() == 0 || schema.getOutput(node.output_size() - 1);
}

std::string whyRefused(const ::onnx::NodeProto &node, const OpSchema &schema,
                       ArrayRef<InferenceOperand> operands) {
  if (!hasRequiredArity(node, schema, operands))
    return "operands or results are missing or too many";
  for (const InferenceOperand &operand : operands)
    if (auto type = dyn_cast<RankedTensorType>(operand.type);
        type && type.getRank() > maxRank)
      return "an operand has too many dimensions";
  return whyAttributesRefused(node, schema);
}

void hideHugeDimensions(::onnx::TypeProto &type) {
  auto hide = [](::onnx::TensorShapeProto &shape) {
    for (auto &dim : *shape.mutable_dim())
      if (dim.has_dim_value() && dim.dim_value() > maxDimension)
        dim.clear_dim_value();
  };
  // Types are nested at most as deeply as protobuf allows, which is not very
  // deep.
  ::onnx::TypeProto *inner = &type;
  while (inner->has_sequence_type() || inner->has_optional_type())
    inner = inner->has_sequence_type()
                ? inner->mutable_sequence_type()->mutable_elem_type()
                : inner->mutable_optional_type()->mutable_elem_type();
  if (inner->has_tensor_type() && inner->tensor_type().has_shape())
    hide(*inner->mutable_tensor_type()->mutable_shape());
  if (inner->has_sparse_tensor_type() &&
      inner->sparse_tensor_type().has_shape())
    hide(*inner->mutable_sparse_tensor_type()->mutable_shape());
}

} // namespace mp
