//===- TypeRules.cpp - Types and interfaces of graphs ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TypeRules.h"

#include "ValueChecks.h"

using namespace mlir;
using TypeProto = ::onnx::TypeProto;
using TensorProto = ::onnx::TensorProto;

namespace mp {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static LogicalResult checkElement(int32_t element, bool isComplete,
                                  EmitErrorFn emitError) {
  if (!TensorProto::DataType_IsValid(element))
    return emitError() << "expected an element type of ONNX, found element "
                          "type "
                       << element;
  if (element == TensorProto::UNDEFINED && isComplete)
    return emitError() << "expected an element type, found none";
  return success();
}

static bool isKeyType(int32_t type) {
  switch (type) {
  case TensorProto::INT8:
  case TensorProto::INT16:
  case TensorProto::INT32:
  case TensorProto::INT64:
  case TensorProto::UINT8:
  case TensorProto::UINT16:
  case TensorProto::UINT32:
  case TensorProto::UINT64:
  case TensorProto::STRING:
    return true;
  default:
    return false;
  }
}

static LogicalResult checkKey(int32_t key, bool isComplete,
                              EmitErrorFn emitError) {
  if (isKeyType(key) || (key == TensorProto::UNDEFINED && !isComplete))
    return success();
  return emitError() << "expected integers or strings as key type, found "
                     << (TensorProto::DataType_IsValid(key)
                             ? TensorProto::DataType_Name(
                                   TensorProto::DataType(key))
                             : std::to_string(key));
}

/// The type inside of a sequence, an optional or a map; null for others.
static const TypeProto *getInner(const TypeProto &type) {
  switch (type.value_case()) {
  case TypeProto::kSequenceType:
    return &type.sequence_type().elem_type();
  case TypeProto::kOptionalType:
    return &type.optional_type().elem_type();
  case TypeProto::kMapType:
    return &type.map_type().value_type();
  default:
    return nullptr;
  }
}

LogicalResult checkType(const TypeProto &type, bool isComplete,
                        EmitErrorFn emitError) {
  // Nested as deep as protobuf reads.
  for (const TypeProto *inner = &type; inner; inner = getInner(*inner)) {
    LogicalResult result = success();
    switch (inner->value_case()) {
    case TypeProto::kTensorType:
      result =
          checkElement(inner->tensor_type().elem_type(), isComplete, emitError);
      break;
    case TypeProto::kSparseTensorType:
      result = checkElement(inner->sparse_tensor_type().elem_type(), isComplete,
                            emitError);
      break;
    case TypeProto::kMapType:
      result = checkKey(inner->map_type().key_type(), isComplete, emitError);
      break;
    case TypeProto::VALUE_NOT_SET:
      if (isComplete)
        return emitError() << (inner == &type ? "expected a type, found none"
                                              : "expected an element type, "
                                                "found none");
      break;
    default:
      break;
    }
    if (failed(result))
      return failure();
  }
  return success();
}

/// The shape of a tensor, dense or sparse; null if it states none.
static const ::onnx::TensorShapeProto *getShape(const TypeProto &type) {
  if (type.has_tensor_type() && type.tensor_type().has_shape())
    return &type.tensor_type().shape();
  if (type.has_sparse_tensor_type() && type.sparse_tensor_type().has_shape())
    return &type.sparse_tensor_type().shape();
  return nullptr;
}

LogicalResult checkSizes(const TypeProto &type, const Twine &what, Location loc,
                         Deviations &deviations) {
  const TypeProto *innermost = &type;
  while (const TypeProto *inner = getInner(*innermost))
    innermost = inner;
  const ::onnx::TensorShapeProto *shape = getShape(*innermost);
  if (!shape)
    return success();
  SmallVector<int64_t> sizes;
  bool hasMinusOne = false;
  for (const auto &dim : shape->dim()) {
    hasMinusOne |= dim.has_dim_value() && dim.dim_value() == -1;
    if (dim.has_dim_value() && dim.dim_value() < -1)
      return emitError(loc)
             << what << ": expected sizes of 0 or more, found "
             << dim.dim_value() << " in dimension " << sizes.size();
    sizes.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  }
  if (hasTooManyElements(sizes))
    return emitError(loc) << what
                          << ": expected at most 2^48 elements, found a "
                             "greater product of the declared sizes";
  return hasMinusOne ? deviations.add(Deviation::MinusOne, what) : success();
}

//===----------------------------------------------------------------------===//
// Interfaces
//===----------------------------------------------------------------------===//

namespace {

class InterfaceChecker {
public:
  InterfaceChecker(const ::onnx::GraphProto &graph, GraphPlace place,
                   Location loc, Deviations &deviations)
      : graph(graph), place(place), loc(loc), deviations(deviations) {}

  LogicalResult check();

private:
  LogicalResult checkInput(const ::onnx::ValueInfoProto &info, int index);
  LogicalResult checkOutput(const ::onnx::ValueInfoProto &info, int index);
  LogicalResult checkNamed(const ::onnx::ValueInfoProto &info, StringRef what,
                           int index);

  const ::onnx::GraphProto &graph;
  GraphPlace place;
  Location loc;
  Deviations &deviations;
};

} // namespace

LogicalResult InterfaceChecker::checkNamed(const ::onnx::ValueInfoProto &info,
                                           StringRef what, int index) {
  if (info.name().empty())
    return emitError(loc) << "graph " << what << " #" << index
                          << ": expected a name, found none";
  return success();
}

LogicalResult InterfaceChecker::checkInput(const ::onnx::ValueInfoProto &info,
                                           int index) {
  if (failed(checkNamed(info, "input", index)))
    return failure();
  // Inputs of subgraphs and training steps have the types of the node's or
  // caller's values, so their declarations may be incomplete.
  if (failed(checkType(info.type(), place == GraphPlace::Main, [&] {
        return emitError(loc) << "graph input '" << info.name() << "': ";
      })))
    return failure();
  return checkSizes(info.type(), "graph input '" + info.name() + "'", loc,
                    deviations);
}

/// Two flags: true if the element type is missing, true if the shape is.
static std::pair<bool, bool> findOpen(const TypeProto &type) {
  auto ask = [](const auto &tensor) {
    return std::pair(!tensor.elem_type(), !tensor.has_shape());
  };
  switch (type.value_case()) {
  case TypeProto::kTensorType:
    return ask(type.tensor_type());
  case TypeProto::kSparseTensorType:
    return ask(type.sparse_tensor_type());
  case TypeProto::VALUE_NOT_SET:
    return {true, true};
  default:
    return {false, false};
  }
}

LogicalResult InterfaceChecker::checkOutput(const ::onnx::ValueInfoProto &info,
                                            int index) {
  if (failed(checkNamed(info, "output", index)) ||
      failed(checkType(info.type(), /*isComplete=*/false,
                       [&] {
                         return emitError(loc)
                                << "graph output '" << info.name() << "': ";
                       })) ||
      failed(checkSizes(info.type(), "graph output '" + info.name() + "'", loc,
                        deviations)))
    return failure();
  auto [hasNoType, hasNoShape] = findOpen(info.type());
  if (place != GraphPlace::Main || (!hasNoType && !hasNoShape))
    return success();
  return deviations.add(hasNoType ? Deviation::OpenOutput
                                  : Deviation::OpenShape,
                        "graph output '" + info.name() + "'");
}

LogicalResult InterfaceChecker::check() {
  if (graph.name().empty() &&
      failed(deviations.add(Deviation::UnnamedGraph, place == GraphPlace::Main
                                                         ? "the graph"
                                                         : "an inner graph")))
    return failure();
  for (int index = 0; index < graph.input_size(); ++index)
    if (failed(checkInput(graph.input(index), index)))
      return failure();
  for (int index = 0; index < graph.output_size(); ++index)
    if (failed(checkOutput(graph.output(index), index)))
      return failure();
  for (const ::onnx::ValueInfoProto &info : graph.value_info())
    if (failed(checkType(info.type(), /*isComplete=*/false,
                         [&] {
                           return emitError(loc)
                                  << "value_info '" << info.name() << "': ";
                         })) ||
        failed(checkSizes(info.type(), "value_info '" + info.name() + "'", loc,
                          deviations)))
      return failure();
  return success();
}

LogicalResult checkInterface(const ::onnx::GraphProto &graph, GraphPlace place,
                             Location loc, Deviations &deviations) {
  return InterfaceChecker(graph, place, loc, deviations).check();
}

} // namespace mp
