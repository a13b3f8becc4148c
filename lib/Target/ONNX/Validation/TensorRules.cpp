//===- TensorRules.cpp - Rules for data of tensors ------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorRules.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using TensorProto = ::onnx::TensorProto;

namespace mp {

//===----------------------------------------------------------------------===//
// Storage of element types
//===----------------------------------------------------------------------===//

namespace {

enum class Field { None, Float, Int32, Int64, Double, UInt64, String };

/// The storage of elements, by their type.
struct Storage {
  Field field = Field::None;
  /// Bits of an element in raw data; 0 if raw data are not allowed.
  unsigned bits = 0;
  /// Entries of the typed field for `perEntries` elements.
  unsigned entries = 1;
  unsigned perEntries = 1;
  /// Bounds of entries of the typed field.
  int64_t least = INT64_MIN, most = INT64_MAX;
};

} // namespace

static Storage getInt32Storage(unsigned bits, int64_t least, int64_t most) {
  return {Field::Int32, bits, 1, 1, least, most};
}

static Storage getStorage(int32_t dataType) {
  switch (dataType) {
  case TensorProto::FLOAT:
    return {Field::Float, 32};
  case TensorProto::DOUBLE:
    return {Field::Double, 64};
  case TensorProto::COMPLEX64:
    return {Field::Float, 64, 2};
  case TensorProto::COMPLEX128:
    return {Field::Double, 128, 2};
  case TensorProto::INT64:
    return {Field::Int64, 64};
  case TensorProto::UINT64:
    return {Field::UInt64, 64};
  case TensorProto::UINT32:
    return {Field::UInt64, 32, 1, 1, 0, UINT32_MAX};
  case TensorProto::INT32:
    return getInt32Storage(32, INT32_MIN, INT32_MAX);
  case TensorProto::INT16:
    return getInt32Storage(16, INT16_MIN, INT16_MAX);
  case TensorProto::INT8:
    return getInt32Storage(8, INT8_MIN, INT8_MAX);
  case TensorProto::UINT16:
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
    return getInt32Storage(16, 0, UINT16_MAX);
  case TensorProto::BOOL:
  case TensorProto::UINT8:
  case TensorProto::FLOAT8E4M3FN:
  case TensorProto::FLOAT8E4M3FNUZ:
  case TensorProto::FLOAT8E5M2:
  case TensorProto::FLOAT8E5M2FNUZ:
  case TensorProto::FLOAT8E8M0:
    return getInt32Storage(8, 0, UINT8_MAX);
  case TensorProto::INT4:
  case TensorProto::UINT4:
  case TensorProto::FLOAT4E2M1:
    // An entry is a byte of packed elements; some writers fill all four.
    return {Field::Int32, 4, 1, 2};
  case TensorProto::INT2:
  case TensorProto::UINT2:
    return {Field::Int32, 2, 1, 4};
  case TensorProto::STRING:
    return {Field::String, 0};
  default:
    return {};
  }
}

static uint64_t countEntries(const TensorProto &tensor, Field field) {
  switch (field) {
  case Field::Float:
    return uint64_t(tensor.float_data_size());
  case Field::Int32:
    return uint64_t(tensor.int32_data_size());
  case Field::Int64:
    return uint64_t(tensor.int64_data_size());
  case Field::Double:
    return uint64_t(tensor.double_data_size());
  case Field::UInt64:
    return uint64_t(tensor.uint64_data_size());
  case Field::String:
    return uint64_t(tensor.string_data_size());
  case Field::None:
    break;
  }
  return 0;
}

static constexpr std::pair<Field, StringLiteral> fieldNames[] = {
    {Field::Float, "float_data"},   {Field::Int32, "int32_data"},
    {Field::Int64, "int64_data"},   {Field::Double, "double_data"},
    {Field::UInt64, "uint64_data"}, {Field::String, "string_data"}};

std::optional<uint64_t> getDataSize(int32_t dataType, uint64_t count) {
  unsigned bits = getStorage(dataType).bits;
  if (!bits)
    return std::nullopt;
  return bits >= 8 ? count * (bits / 8) : llvm::divideCeil(count, 8 / bits);
}

FailureOr<uint64_t>
countElements(const google::protobuf::RepeatedField<int64_t> &dims,
              EmitErrorFn emitError) {
  // An upper bound for any memory.
  constexpr uint64_t limit = uint64_t(1) << 48;
  uint64_t elements = 1;
  for (int64_t dim : dims) {
    if (dim < 0 || (dim > 0 && elements > limit / uint64_t(dim)))
      return LogicalResult(emitError()
                           << "dimension " << dim << " is out of range");
    elements *= uint64_t(dim);
  }
  return elements;
}

//===----------------------------------------------------------------------===//
// Dense tensors
//===----------------------------------------------------------------------===//

/// The fields in which `tensor` has its own data.
static SmallVector<StringRef> findData(const TensorProto &tensor) {
  SmallVector<StringRef> places;
  if (!tensor.raw_data().empty())
    places.push_back("raw_data");
  for (auto [field, name] : fieldNames)
    if (countEntries(tensor, field))
      places.push_back(name);
  return places;
}

static LogicalResult checkEntries(const TensorProto &tensor,
                                  const Storage &storage, uint64_t elements,
                                  EmitErrorFn emitError) {
  uint64_t found = countEntries(tensor, storage.field);
  uint64_t expected =
      llvm::divideCeil(elements, storage.perEntries) * storage.entries;
  // An entry of narrow elements holds as many of them as one byte or four bytes
  // do, or a single one, as written by ONNX's text parser.
  uint64_t dense = llvm::divideCeil(elements, storage.perEntries * 4);
  bool isNarrow =
      storage.perEntries > 1 && (found == dense || found == elements);
  if (found != expected && !isNarrow)
    return emitError() << "expected " << expected << " numbers of data for "
                       << elements << " elements of "
                       << getElementKindName(ElementKind(tensor.data_type()))
                       << ", found " << found;
  auto check = [&](const auto &entries) -> LogicalResult {
    for (auto entry : entries)
      if (int64_t(entry) < storage.least || int64_t(entry) > storage.most)
        return emitError() << "expected data from " << storage.least << " to "
                           << storage.most << ", found " << int64_t(entry);
    return success();
  };
  if (storage.field == Field::Int32)
    return check(tensor.int32_data());
  if (storage.field == Field::UInt64 &&
      tensor.data_type() == TensorProto::UINT32)
    return check(tensor.uint64_data());
  return success();
}

LogicalResult checkTensorData(const TensorProto &tensor,
                              std::optional<uint64_t> outside,
                              EmitErrorFn emitError) {
  FailureOr<uint64_t> elements = countElements(tensor.dims(), emitError);
  if (failed(elements))
    return failure();
  Storage storage = getStorage(tensor.data_type());
  // Types of a later ONNX are not checked.
  if (storage.field == Field::None || tensor.has_segment())
    return success();
  SmallVector<StringRef> places = findData(tensor);
  if (outside)
    places.insert(places.begin(),
                  tensor.data_location() == TensorProto::EXTERNAL ? "a file"
                                                                  : "raw_data");
  if (places.size() > 1)
    return emitError() << "expected data in one place, found some in "
                       << places[0] << " and in " << places[1];
  // The size of data in another file is checked by its reader.
  if (places.empty() && tensor.data_location() == TensorProto::EXTERNAL)
    return success();
  StringRef place = places.empty() ? StringRef() : places.front();
  if (outside || place == "raw_data") {
    std::optional<uint64_t> size = getDataSize(tensor.data_type(), *elements);
    uint64_t found = outside ? *outside : tensor.raw_data().size();
    if (!size)
      return emitError() << "expected strings in string_data, found "
                            "them in "
                         << place;
    if (*size == found)
      return success();
    return emitError() << "expected " << *size << " bytes of data for "
                       << *elements << " elements of "
                       << getElementKindName(ElementKind(tensor.data_type()))
                       << ", found " << found;
  }
  for (auto [field, name] : fieldNames)
    if (place == name && field != storage.field)
      return emitError() << "expected data of "
                         << getElementKindName(ElementKind(tensor.data_type()))
                         << " in raw_data or another field, found them in "
                         << name;
  return checkEntries(tensor, storage, *elements, emitError);
}

//===----------------------------------------------------------------------===//
// Sparse tensors
//===----------------------------------------------------------------------===//

/// The indices: one for each value, or a row of coordinates for each.
static SmallVector<int64_t> readIndices(const TensorProto &indices) {
  if (!indices.has_raw_data())
    return {indices.int64_data().begin(), indices.int64_data().end()};
  SmallVector<int64_t> read(indices.raw_data().size() / sizeof(int64_t));
  memcpy(read.data(), indices.raw_data().data(), read.size() * sizeof(int64_t));
  return read;
}

/// The linear index of row `number` of coordinates; absent if one of them is
/// out of range.
static std::optional<int64_t>
flatten(ArrayRef<int64_t> row,
        const google::protobuf::RepeatedField<int64_t> &dims) {
  int64_t flat = 0;
  for (auto [index, dim] : llvm::zip(row, dims)) {
    if (index < 0 || index >= dim)
      return std::nullopt;
    flat = flat * dim + index;
  }
  return flat;
}

static LogicalResult checkIndices(const ::onnx::SparseTensorProto &sparse,
                                  uint64_t elements, uint64_t values,
                                  EmitErrorFn emitError) {
  const TensorProto &indices = sparse.indices();
  auto error = [&] { return emitError() << "indices: "; };
  if (indices.data_type() != TensorProto::INT64)
    return error() << "expected int64, found "
                   << getElementKindName(ElementKind(indices.data_type()));
  // Data outside of the message are not read.
  if (indices.has_data_location())
    return success();
  if (failed(checkTensorData(indices, std::nullopt, error)))
    return failure();
  bool isFlat = indices.dims_size() == 1;
  bool fits = (isFlat || indices.dims_size() == 2) &&
              uint64_t(indices.dims(0)) == values &&
              (isFlat || indices.dims(1) == sparse.dims_size());
  if (!fits)
    return error() << "expected " << values << " of them, or as many rows of "
                   << sparse.dims_size() << ", found a tensor of rank "
                   << indices.dims_size() << " with "
                   << (indices.dims_size() ? indices.dims(0) : 0);
  SmallVector<int64_t> read = readIndices(indices);
  ArrayRef<int64_t> rest = read;
  for (int64_t previous = -1; !rest.empty();) {
    size_t width = isFlat ? 1 : size_t(sparse.dims_size());
    std::optional<int64_t> flat =
        isFlat ? std::optional(rest.front())
               : flatten(rest.take_front(width), sparse.dims());
    if (!flat || *flat < 0 || uint64_t(*flat) >= elements)
      return error() << "expected them within the dimensions, found "
                     << rest.front();
    if (*flat <= previous)
      return error() << "expected them in rising order, found " << *flat
                     << " after " << previous;
    previous = *flat;
    rest = rest.drop_front(width);
  }
  return success();
}

LogicalResult checkSparseTensor(const ::onnx::SparseTensorProto &sparse,
                                EmitErrorFn emitError) {
  FailureOr<uint64_t> elements = countElements(sparse.dims(), emitError);
  if (failed(elements))
    return failure();
  if (sparse.dims().empty() || !*elements)
    return emitError() << (sparse.dims().empty() ? "expected dimensions"
                                                 : "dimension 0 is out of "
                                                   "range");
  const TensorProto &values = sparse.values();
  auto error = [&] { return emitError() << "values: "; };
  if (values.dims_size() != 1)
    return error() << "expected a tensor of rank 1, found one of rank "
                   << values.dims_size();
  if (!values.has_data_location() &&
      failed(checkTensorData(values, std::nullopt, error)))
    return failure();
  return checkIndices(sparse, *elements, uint64_t(values.dims(0)), emitError);
}

} // namespace mp
