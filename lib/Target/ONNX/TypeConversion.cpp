//===- TypeConversion.cpp - TypeProto and MLIR types ----------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

Type convertElementType(MLIRContext *context, int32_t dataType) {
  return dataType >= 0 && dataType <= UINT8_MAX
             ? getElementType(context, ElementKind(dataType))
             : Type();
}

template <typename TensorProtoType>
static Type convertTensorType(MLIRContext *context,
                              const TensorProtoType &tensor) {
  Type element = convertElementType(context, tensor.elem_type());
  if (!element)
    return UnknownType::get(context);
  if (!tensor.has_shape())
    return UnrankedTensorType::get(element);
  SmallVector<int64_t> shape;
  for (const auto &dim : tensor.shape().dim())
    // Negative sizes other than -1, which some writers use for an unknown size,
    // are refused on import.
    shape.push_back(dim.has_dim_value() && dim.dim_value() >= 0
                        ? dim.dim_value()
                        : ShapedType::kDynamic);
  return RankedTensorType::get(shape, element);
}

Type convertType(MLIRContext *context, const ::onnx::TypeProto &type) {
  using Proto = ::onnx::TypeProto;
  switch (type.value_case()) {
  case Proto::kTensorType:
    return convertTensorType(context, type.tensor_type());
  case Proto::kSparseTensorType:
    return SparseTensorType::get(
        context, convertTensorType(context, type.sparse_tensor_type()));
  case Proto::kSequenceType:
    return SequenceType::get(
        context, convertType(context, type.sequence_type().elem_type()));
  case Proto::kOptionalType:
    return OptionalType::get(
        context, convertType(context, type.optional_type().elem_type()));
  case Proto::kMapType: {
    Type key = convertElementType(context, type.map_type().key_type());
    return MapType::get(context, key ? key : UnknownType::get(context),
                        convertType(context, type.map_type().value_type()));
  }
  case Proto::kOpaqueType:
    return onnxir::OpaqueType::get(context, type.opaque_type().domain(),
                                   type.opaque_type().name());
  case Proto::VALUE_NOT_SET:
    break;
  }
  return UnknownType::get(context);
}

template <typename TensorProtoType>
static void convertTensorType(TensorType type, TensorProtoType &tensor) {
  tensor.set_elem_type(int32_t(getElementKind(type.getElementType())));
  if (!type.hasRank())
    return;
  auto *shape = tensor.mutable_shape();
  for (int64_t size : type.getShape()) {
    auto *dim = shape->add_dim();
    if (!ShapedType::isDynamic(size))
      dim->set_dim_value(size);
  }
}

void convertType(Type type, ::onnx::TypeProto &result) {
  llvm::TypeSwitch<Type>(type)
      .Case([&](TensorType tensor) {
        convertTensorType(tensor, *result.mutable_tensor_type());
      })
      .Case([&](SparseTensorType sparse) {
        if (auto tensor = dyn_cast<TensorType>(sparse.getElementType()))
          convertTensorType(tensor, *result.mutable_sparse_tensor_type());
      })
      .Case([&](SequenceType sequence) {
        convertType(sequence.getElementType(),
                    *result.mutable_sequence_type()->mutable_elem_type());
      })
      .Case([&](OptionalType optional) {
        convertType(optional.getElementType(),
                    *result.mutable_optional_type()->mutable_elem_type());
      })
      .Case([&](MapType map) {
        result.mutable_map_type()->set_key_type(
            int32_t(getElementKind(map.getKeyType())));
        convertType(map.getValueType(),
                    *result.mutable_map_type()->mutable_value_type());
      })
      .Case([&](onnxir::OpaqueType opaque) {
        result.mutable_opaque_type()->set_domain(opaque.getDomain().str());
        result.mutable_opaque_type()->set_name(opaque.getName().str());
      });
}

void patchType(Type type, ::onnx::TypeProto &proto) {
  using Proto = ::onnx::TypeProto;
  if (auto tensor = dyn_cast<TensorType>(type)) {
    // An element type that is unspecified, or is of a later ONNX, is kept.
    if (proto.value_case() == Proto::kTensorType &&
        convertElementType(type.getContext(), proto.tensor_type().elem_type()))
      proto.mutable_tensor_type()->set_elem_type(
          int32_t(getElementKind(tensor.getElementType())));
  } else if (auto sequence = dyn_cast<SequenceType>(type)) {
    if (proto.sequence_type().has_elem_type())
      patchType(sequence.getElementType(),
                *proto.mutable_sequence_type()->mutable_elem_type());
  } else if (auto optional = dyn_cast<OptionalType>(type)) {
    if (proto.optional_type().has_elem_type())
      patchType(optional.getElementType(),
                *proto.mutable_optional_type()->mutable_elem_type());
  }
}

} // namespace mp
