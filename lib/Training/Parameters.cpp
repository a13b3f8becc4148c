//===- Parameters.cpp - The values that training starts from --------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements are read where they are mapped, in chunks. A first loop without a
// branch tests whether a chunk has a NaN or an infinity.
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Training/Parameters.h"

#include "Roles/ConstantContents.h"
#include "mp-opt/Autodiff/Autodiff.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mp::onnxir;

namespace mp {

/// The index of the first element whose exponent bits are all set; data in a
/// file may have any alignment.
template <typename Bits>
static std::optional<int64_t> findSpecial(ArrayRef<char> bytes, Bits exponent) {
  auto isSpecial = [&](size_t index) {
    Bits bits;
    memcpy(&bits, bytes.data() + index * sizeof bits, sizeof bits);
    return (bits & exponent) == exponent;
  };
  constexpr size_t chunkSize = 4096;
  size_t count = bytes.size() / sizeof(Bits);
  for (size_t begin = 0; begin < count; begin += chunkSize) {
    size_t end = std::min(count, begin + chunkSize);
    Bits found = 0;
    for (size_t index = begin; index < end; ++index)
      found |= Bits(isSpecial(index));
    for (size_t index = begin; found && index < end; ++index)
      if (isSpecial(index))
        return int64_t(index);
  }
  return std::nullopt;
}

static std::optional<int64_t> findSpecial(TypedAttr value) {
  ArrayRef<char> bytes;
  if (auto elements = dyn_cast_or_null<DenseElementsAttr>(value)) {
    bytes = elements.getRawData();
  } else if (auto elements =
                 dyn_cast_or_null<DenseResourceElementsAttr>(value)) {
    if (AsmResourceBlob *blob = elements.getRawHandle().getBlob())
      bytes = blob->getData();
  }
  if (bytes.empty())
    return std::nullopt;
  switch (getElementKind(getTensorElementType(value.getType()))) {
  case ElementKind::Float16:
    return findSpecial<uint16_t>(bytes, 0x7c00);
  case ElementKind::BFloat16:
    return findSpecial<uint16_t>(bytes, 0x7f80);
  case ElementKind::Float:
    return findSpecial<uint32_t>(bytes, 0x7f800000);
  case ElementKind::Double:
    return findSpecial<uint64_t>(bytes, 0x7ff0000000000000);
  default:
    return std::nullopt;
  }
}

/// The index of an element in a tensor of this shape: "[1, 2]".
static std::string formatPlace(ArrayRef<int64_t> shape, int64_t index) {
  SmallVector<std::string> places;
  for (int64_t size : llvm::reverse(shape)) {
    places.push_back(std::to_string(index % size));
    index /= size;
  }
  return "[" + llvm::join(llvm::reverse(places), ", ") + "]";
}

LogicalResult checkFinite(Operation *constant, StringRef name) {
  TypedAttr value = getElements(constant);
  std::optional<int64_t> found = findSpecial(value);
  if (!found)
    return success();
  ArrayRef<int64_t> shape = cast<ShapedType>(value.getType()).getShape();
  double number = (*FloatElements::get(constant))[*found];
  return constant->emitError()
         << "parameter '" << name << "': its element "
         << formatPlace(shape, *found) << " is "
         << (std::isnan(number) ? "NaN" : "infinite") << ", and would stay so";
}

llvm::StringMap<Value> findValues(GraphOp graph) {
  llvm::StringMap<Value> values;
  Block &block = graph.getBody().front();
  for (BlockArgument input : block.getArguments())
    values.try_emplace(onnxir::getValueName(input), input);
  for (Operation &op : block.without_terminator()) {
    auto initializer = dyn_cast<InitializerOp>(op);
    if (initializer && initializer.getOverridable())
      continue;
    for (Value result : op.getResults())
      values.try_emplace(onnxir::getValueName(result), result);
  }
  return values;
}

FailureOr<Value> findLoss(GraphOp graph, StringRef name) {
  if (name.empty())
    if (auto marked = graph->getAttrOfType<StringAttr>(mark::loss))
      name = marked.getValue();
  if (name.empty())
    return graph.emitError() << "there is no loss to differentiate";
  Value value = findValues(graph).lookup(name);
  if (!value)
    return graph.emitError()
           << "loss '" << name << "': the graph has no value of this name";
  if (!isDifferentiable(value))
    return graph.emitError()
           << "loss '" << name << "': expected a float tensor, got "
           << value.getType();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return graph.emitError()
           << "loss '" << name << "': expected a scalar, got a tensor of "
           << "unknown rank";
  if (llvm::any_of(type.getShape(), [](int64_t size) { return size != 1; }))
    return graph.emitError()
           << "loss '" << name << "': expected a scalar, got " << type;
  return value;
}

} // namespace mp
