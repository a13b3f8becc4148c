//===- AttributeConversion.cpp - AttributeProto and attributes ------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"
#include "ProtoAttr.h"
#include "Validation/TensorRules.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mp::onnxir;
using Proto = ::onnx::AttributeProto;

namespace mp {

/// The number of value fields that an attribute uses.
static int countValues(const Proto &attribute) {
  return attribute.has_f() + attribute.has_i() + attribute.has_s() +
         attribute.has_t() + attribute.has_g() + attribute.has_tp() +
         attribute.has_sparse_tensor() + (attribute.floats_size() > 0) +
         (attribute.ints_size() > 0) + (attribute.strings_size() > 0) +
         (attribute.tensors_size() > 0) + (attribute.graphs_size() > 0) +
         (attribute.sparse_tensors_size() > 0) +
         (attribute.type_protos_size() > 0);
}

/// True if the field that the attribute's type promises is in use.
static bool hasOwnValue(const Proto &attribute) {
  switch (attribute.type()) {
  case Proto::FLOAT:
    return attribute.has_f();
  case Proto::INT:
    return attribute.has_i();
  case Proto::STRING:
    return attribute.has_s();
  case Proto::TENSOR:
    return attribute.has_t();
  case Proto::GRAPH:
    return attribute.has_g();
  case Proto::TYPE_PROTO:
    return attribute.has_tp();
  case Proto::SPARSE_TENSOR:
    return attribute.has_sparse_tensor();
  case Proto::FLOATS:
    return attribute.floats_size();
  case Proto::INTS:
    return attribute.ints_size();
  case Proto::STRINGS:
    return attribute.strings_size();
  case Proto::TENSORS:
    return attribute.tensors_size();
  case Proto::GRAPHS:
    return attribute.graphs_size();
  case Proto::SPARSE_TENSORS:
    return attribute.sparse_tensors_size();
  case Proto::TYPE_PROTOS:
    return attribute.type_protos_size();
  case Proto::UNDEFINED:
    break;
  }
  return false;
}

/// True if `attribute` has its name, its type, the type's own field, and
/// nothing else, so that the plain MLIR form holds all of it.
static bool isPlain(const Proto &attribute) {
  const auto *reflection = attribute.GetReflection();
  if (!attribute.has_type() ||
      !reflection->GetUnknownFields(attribute).empty() ||
      attribute.has_doc_string() || attribute.has_ref_attr_name())
    return false;
  bool only = hasOwnValue(attribute) && countValues(attribute) == 1;
  switch (attribute.type()) {
  case Proto::FLOAT:
  case Proto::INT:
  case Proto::STRING:
  case Proto::TENSOR:
  case Proto::TENSORS:
    return only;
  case Proto::FLOATS:
  case Proto::INTS:
  case Proto::STRINGS:
    return only || countValues(attribute) == 0;
  default:
    return false;
  }
}

static FailureOr<Attribute>
convertTensorAttribute(MLIRContext *context, const ::onnx::TensorProto &tensor,
                       TensorSource &source, EmitErrorFn emitError) {
  FailureOr<TensorParts> parts =
      convertTensor(context, tensor, source, emitError);
  if (failed(parts))
    return failure();
  if (parts->value && !parts->fields && !tensor.has_name())
    return Attribute(parts->value);
  NamedAttrList fields(parts->fields ? parts->fields
                                     : DictionaryAttr::get(context));
  if (tensor.has_name())
    fields.set("name", StringAttr::get(context, tensor.name()));
  return Attribute(
      TensorAttr::get(context, fields.getDictionary(context), parts->value));
}

LogicalResult checkAttributeType(const Proto &attribute,
                                 EmitErrorFn emitError) {
  bool isReference =
      attribute.has_ref_attr_name() && !attribute.ref_attr_name().empty();
  int values = countValues(attribute);
  if (values > 1 || (values && isReference))
    return emitError() << "expected one value, found "
                       << (isReference ? "one and a reference"
                                       : std::to_string(values));
  // Without a value, the default of the type is meant. A value of another type
  // is an error.
  if (attribute.has_type() && attribute.type() != Proto::UNDEFINED &&
      !hasOwnValue(attribute) && countValues(attribute))
    return emitError() << "expected a value of its type "
                       << Proto::AttributeType_Name(attribute.type())
                       << ", found one of another";
  return success();
}

/// Checks the tensors of an attribute that is kept field by field.
static LogicalResult checkTensors(const Proto &attribute,
                                  EmitErrorFn emitError) {
  auto check = [&](const ::onnx::TensorProto &tensor) {
    return checkTensorData(tensor, std::nullopt, emitError);
  };
  if (attribute.has_t() && failed(check(attribute.t())))
    return failure();
  for (const ::onnx::TensorProto &tensor : attribute.tensors())
    if (failed(check(tensor)))
      return failure();
  if (attribute.has_sparse_tensor() &&
      failed(checkSparseTensor(attribute.sparse_tensor(), emitError)))
    return failure();
  for (const ::onnx::SparseTensorProto &tensor : attribute.sparse_tensors())
    if (failed(checkSparseTensor(tensor, emitError)))
      return failure();
  return success();
}

FailureOr<Attribute> convertAttribute(MLIRContext *context,
                                      const Proto &attribute,
                                      TensorSource &source,
                                      EmitErrorFn emitError) {
  Builder builder(context);
  if (!isPlain(attribute)) {
    Proto whole = attribute;
    if (!source.restore(whole))
      return LogicalResult(emitError() << reservedField);
    if (failed(checkTensors(whole, emitError)))
      return failure();
    return Attribute(ProtoAttr::get(
        context, protoToAttr(context, whole, {Proto::kNameFieldNumber})));
  }
  switch (attribute.type()) {
  case Proto::FLOAT:
    return Attribute(builder.getF32FloatAttr(attribute.f()));
  case Proto::INT:
    return Attribute(builder.getI64IntegerAttr(attribute.i()));
  case Proto::STRING:
    return Attribute(builder.getStringAttr(attribute.s()));
  case Proto::FLOATS:
    return Attribute(builder.getDenseF32ArrayAttr(
        {attribute.floats().data(), size_t(attribute.floats_size())}));
  case Proto::INTS:
    return Attribute(builder.getDenseI64ArrayAttr(
        {reinterpret_cast<const int64_t *>(attribute.ints().data()),
         size_t(attribute.ints_size())}));
  case Proto::STRINGS: {
    SmallVector<Attribute> strings;
    for (const std::string &item : attribute.strings())
      strings.push_back(builder.getStringAttr(item));
    return Attribute(builder.getArrayAttr(strings));
  }
  case Proto::TENSOR:
    return convertTensorAttribute(context, attribute.t(), source, emitError);
  default: {
    SmallVector<Attribute> tensors;
    for (const ::onnx::TensorProto &item : attribute.tensors()) {
      FailureOr<Attribute> tensor =
          convertTensorAttribute(context, item, source, emitError);
      if (failed(tensor))
        return failure();
      tensors.push_back(*tensor);
    }
    return Attribute(builder.getArrayAttr(tensors));
  }
  }
}

static LogicalResult convertTensorAttribute(Attribute attribute,
                                            TensorSink &sink,
                                            ::onnx::TensorProto &tensor,
                                            EmitErrorFn emitError) {
  if (auto withFields = dyn_cast<TensorAttr>(attribute)) {
    TypedAttr value = withFields.getValue();
    return convertTensor(value,
                         value ? value.getType()
                               : Type(NoneType::get(attribute.getContext())),
                         withFields.getFields(), sink, tensor, emitError);
  }
  auto value = dyn_cast<TypedAttr>(attribute);
  if (!value || !isa<RankedTensorType>(value.getType()))
    return emitError() << "cannot export " << attribute;
  return convertTensor(value, value.getType(), {}, sink, tensor, emitError);
}

/// A list of strings or of tensors.
static LogicalResult convertList(ArrayAttr values, TensorSink &sink,
                                 Proto &result, EmitErrorFn emitError) {
  bool tensors = !values.empty() && !isa<StringAttr>(values[0]);
  result.set_type(tensors ? Proto::TENSORS : Proto::STRINGS);
  for (Attribute item : values) {
    auto string = dyn_cast<StringAttr>(item);
    if (tensors) {
      if (failed(convertTensorAttribute(item, sink, *result.add_tensors(),
                                        emitError)))
        return failure();
    } else if (string) {
      result.add_strings(string.str());
    } else {
      return emitError() << "cannot export " << item;
    }
  }
  return success();
}

LogicalResult convertAttribute(Attribute attribute, StringRef name,
                               TensorSink &sink, Proto &result,
                               EmitErrorFn emitError) {
  result.set_name(name.str());
  return llvm::TypeSwitch<Attribute, LogicalResult>(attribute)
      .Case([&](IntegerAttr value) {
        result.set_type(Proto::INT);
        result.set_i(value.getType().isSignlessInteger(64)
                         ? value.getInt()
                         : value.getValue().getSExtValue());
        return success();
      })
      .Case([&](FloatAttr value) {
        result.set_type(Proto::FLOAT);
        bool inexact;
        llvm::APFloat number = value.getValue();
        number.convert(llvm::APFloat::IEEEsingle(),
                       llvm::APFloat::rmNearestTiesToEven, &inexact);
        result.set_f(number.convertToFloat());
        return success();
      })
      .Case([&](StringAttr value) {
        result.set_type(Proto::STRING);
        result.set_s(value.str());
        return success();
      })
      .Case([&](DenseI64ArrayAttr values) {
        result.set_type(Proto::INTS);
        for (int64_t item : values.asArrayRef())
          result.add_ints(item);
        return success();
      })
      .Case([&](DenseF32ArrayAttr values) {
        result.set_type(Proto::FLOATS);
        for (float item : values.asArrayRef())
          result.add_floats(item);
        return success();
      })
      .Case([&](ArrayAttr values) {
        return convertList(values, sink, result, emitError);
      })
      .Case([&](ProtoAttr value) {
        return attrToProto(value.getFields(), result, emitError);
      })
      .Default([&](Attribute value) {
        result.set_type(Proto::TENSOR);
        return convertTensorAttribute(value, sink, *result.mutable_t(),
                                      emitError);
      });
}

} // namespace mp
