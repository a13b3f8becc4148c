//===- TensorConversion.cpp - TensorProto and elements attributes ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Data in any form of TensorProto become raw bytes: a dense attribute if they
// are small, or a resource over the mapped file if they are big. `fields`
// records the form if it was not raw_data ("storage"), and all other fields of
// the tensor.
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"
#include "ProtoAttr.h"
#include "Validation/TensorRules.h"
#include "WireFormat.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemAlloc.h"

using namespace mlir;
using namespace mp::onnxir;
using TensorProto = ::onnx::TensorProto;

namespace mp {

/// Constants of up to this many bytes are uniqued attributes that every pass
/// can inspect; bigger ones are resources.
static constexpr uint64_t maxDenseBytes = 1024;

/// An entry of `fields`: the data were in a typed field or absent, not in
/// raw_data.
static constexpr StringLiteral storageKey = "storage";
/// An entry of `fields`: the data were in another file.
static constexpr StringLiteral externalKey = "external";

/// Bytes per element for types with a plain MLIR form; 0 for others.
static unsigned getPlainSize(int32_t dataType) {
  switch (dataType) {
  case TensorProto::UINT8:
  case TensorProto::INT8:
  case TensorProto::BOOL:
    return 1;
  case TensorProto::UINT16:
  case TensorProto::INT16:
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
    return 2;
  case TensorProto::FLOAT:
  case TensorProto::INT32:
  case TensorProto::UINT32:
    return 4;
  case TensorProto::DOUBLE:
  case TensorProto::INT64:
  case TensorProto::UINT64:
    return 8;
  default:
    return 0;
  }
}

//===----------------------------------------------------------------------===//
// Data cut out of tensors
//===----------------------------------------------------------------------===//

std::optional<StringRef> TensorSource::take(uint64_t token) {
  taken.resize(pieces.size());
  if (token >= pieces.size() || taken[token])
    return std::nullopt;
  taken[token] = true;
  return pieces[token];
}

bool TensorSource::restore(google::protobuf::Message &message) {
  if (auto *tensor = dynamic_cast<TensorProto *>(&message)) {
    std::optional<uint64_t> token = getToken(*tensor);
    if (!token)
      return true;
    std::optional<StringRef> piece = take(*token);
    if (!piece)
      return false;
    clearToken(*tensor);
    tensor->set_raw_data(piece->str());
    return true;
  }
  using Field = google::protobuf::FieldDescriptor;
  const auto &reflection = *message.GetReflection();
  std::vector<const Field *> fields;
  reflection.ListFields(message, &fields);
  for (const Field *field : fields) {
    if (field->cpp_type() != Field::CPPTYPE_MESSAGE)
      continue;
    if (!field->is_repeated()) {
      if (!restore(*reflection.MutableMessage(&message, field)))
        return false;
      continue;
    }
    for (int i = 0, e = reflection.FieldSize(message, field); i < e; ++i)
      if (!restore(*reflection.MutableRepeatedMessage(&message, field, i)))
        return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Typed data fields
//===----------------------------------------------------------------------===//

/// Appends `values` as little-endian elements of type T; false if one of them
/// does not fit.
template <typename T, typename Values>
static bool pack(const Values &values, std::string &to) {
  for (auto value : values) {
    T element = T(value);
    if (decltype(value)(element) != value && !std::is_floating_point<T>::value)
      return false;
    char buffer[sizeof(T)];
    memcpy(buffer, &element, sizeof(T));
    to.append(buffer, sizeof(T));
  }
  return true;
}

/// The number of the field that holds the elements of a type one by one.
static int getTypedField(int32_t dataType) {
  switch (dataType) {
  case TensorProto::FLOAT:
    return TensorProto::kFloatDataFieldNumber;
  case TensorProto::DOUBLE:
    return TensorProto::kDoubleDataFieldNumber;
  case TensorProto::INT64:
    return TensorProto::kInt64DataFieldNumber;
  case TensorProto::UINT32:
  case TensorProto::UINT64:
    return TensorProto::kUint64DataFieldNumber;
  default:
    return TensorProto::kInt32DataFieldNumber;
  }
}

std::optional<std::string> packTyped(const TensorProto &tensor) {
  std::string bytes;
  bool ok = false;
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    ok = pack<float>(tensor.float_data(), bytes);
    break;
  case TensorProto::DOUBLE:
    ok = pack<double>(tensor.double_data(), bytes);
    break;
  case TensorProto::INT64:
    ok = pack<int64_t>(tensor.int64_data(), bytes);
    break;
  case TensorProto::INT32:
    ok = pack<int32_t>(tensor.int32_data(), bytes);
    break;
  case TensorProto::INT16:
    ok = pack<int16_t>(tensor.int32_data(), bytes);
    break;
  case TensorProto::INT8:
    ok = pack<int8_t>(tensor.int32_data(), bytes);
    break;
  case TensorProto::UINT16:
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
    ok = pack<uint16_t>(tensor.int32_data(), bytes);
    break;
  case TensorProto::UINT8:
  case TensorProto::BOOL:
    ok = pack<uint8_t>(tensor.int32_data(), bytes);
    break;
  case TensorProto::UINT32:
    ok = pack<uint32_t>(tensor.uint64_data(), bytes);
    break;
  case TensorProto::UINT64:
    ok = pack<uint64_t>(tensor.uint64_data(), bytes);
    break;
  default:
    break;
  }
  return ok ? std::optional(std::move(bytes)) : std::nullopt;
}

template <typename T, typename Add>
static void unpack(ArrayRef<char> bytes, Add add) {
  for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    T element;
    memcpy(&element, bytes.data() + i, sizeof(T));
    add(element);
  }
}

/// Unpacks raw bytes into the typed field: the inverse of packTyped.
static void unpackTyped(ArrayRef<char> bytes, TensorProto &tensor) {
  auto addInt = [&](auto value) { tensor.add_int32_data(value); };
  auto addUInt64 = [&](auto value) { tensor.add_uint64_data(value); };
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    return unpack<float>(bytes, [&](float v) { tensor.add_float_data(v); });
  case TensorProto::DOUBLE:
    return unpack<double>(bytes, [&](double v) { tensor.add_double_data(v); });
  case TensorProto::INT64:
    return unpack<int64_t>(bytes, [&](int64_t v) { tensor.add_int64_data(v); });
  case TensorProto::INT32:
    return unpack<int32_t>(bytes, addInt);
  case TensorProto::INT16:
    return unpack<int16_t>(bytes, addInt);
  case TensorProto::INT8:
    return unpack<int8_t>(bytes, addInt);
  case TensorProto::UINT16:
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
    return unpack<uint16_t>(bytes, addInt);
  case TensorProto::UINT8:
  case TensorProto::BOOL:
    return unpack<uint8_t>(bytes, addInt);
  case TensorProto::UINT32:
    return unpack<uint32_t>(bytes, addUInt64);
  default:
    return unpack<uint64_t>(bytes, addUInt64);
  }
}

//===----------------------------------------------------------------------===//
// TensorProto to attributes
//===----------------------------------------------------------------------===//

namespace {

/// Reads one tensor on import.
class TensorReader {
public:
  TensorReader(MLIRContext *context, const TensorProto &tensor,
               TensorSource &source, EmitErrorFn emitError)
      : context(context), tensor(tensor), source(source), emitError(emitError) {
  }

  FailureOr<TensorParts> read();

private:
  LogicalResult readShape();
  /// Finds the data; `bytes` stays empty if they have no plain form.
  LogicalResult readData();
  TypedAttr makeValue();

  MLIRContext *context;
  const TensorProto &tensor;
  TensorSource &source;
  EmitErrorFn emitError;

  RankedTensorType type;
  uint64_t elements = 1;
  bool plain = false;
  /// Data that are not in the tensor, but still in the file.
  std::optional<StringRef> cutOut;
  StringRef bytes;
  /// Holds `bytes` if they had to be made.
  std::string made;
  /// True if the bytes belong to a mapped file.
  bool mapped = false;
  StringRef storage = "raw";
};

} // namespace

LogicalResult TensorReader::readShape() {
  Type element = convertElementType(context, tensor.data_type());
  if (!element)
    return emitError() << "unknown element type " << tensor.data_type();
  FailureOr<uint64_t> count = countElements(tensor.dims(), emitError);
  if (failed(count))
    return failure();
  elements = *count;
  type = RankedTensorType::get(
      SmallVector<int64_t>(tensor.dims().begin(), tensor.dims().end()),
      element);
  return success();
}

LogicalResult TensorReader::readData() {
  unsigned size = getPlainSize(tensor.data_type());
  bool isPlain = size && !tensor.has_segment();
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    // Data that are not loaded must nevertheless exist.
    auto external = source.getExternal().get(tensor);
    if (!external)
      return emitError() << llvm::toString(external.takeError());
    bytes = *external;
  }
  bool isOutside = cutOut || tensor.data_location() == TensorProto::EXTERNAL;
  auto checkData = [&] {
    return checkTensorData(tensor,
                           isOutside ? std::optional<uint64_t>(bytes.size())
                                     : std::nullopt,
                           emitError);
  };
  if (!isPlain)
    return checkData();
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    mapped = true;
    storage = externalKey;
  } else if (cutOut) {
    bytes = *cutOut;
    mapped = true;
  } else if (tensor.has_raw_data()) {
    bytes = tensor.raw_data();
  } else if (std::optional<std::string> typed = packTyped(tensor)) {
    made = std::move(*typed);
    bytes = made;
    storage = made.empty() ? "none" : "typed";
  } else {
    return checkData();
  }
  if (bytes.size() != elements * size)
    return emitError() << "expected " << elements * size
                       << " bytes of data for " << type << ", found "
                       << bytes.size();
  if (failed(checkData()))
    return failure();
  plain = true;
  // Booleans are bits in MLIR; values other than 0 and 1 would be lost.
  if (tensor.data_type() == TensorProto::BOOL)
    plain = llvm::all_of(bytes, [](char c) { return c == 0 || c == 1; });
  return success();
}

TypedAttr TensorReader::makeValue() {
  ArrayRef<char> data(bytes.data(), bytes.size());
  if (tensor.data_type() == TensorProto::BOOL) {
    SmallVector<bool> bits(data.begin(), data.end());
    return DenseElementsAttr::get(type, bits);
  }
  if (data.size() <= maxDenseBytes)
    return DenseElementsAttr::getFromRawBuffer(type, data);
  // Tensors inside a model file are not aligned.
  unsigned alignment = getPlainSize(tensor.data_type());
  if (mapped && reinterpret_cast<uintptr_t>(data.data()) % alignment)
    alignment = 1;
  AsmResourceBlob blob =
      mapped ? AsmResourceBlob(
                   data, alignment,
                   [owner = source.getOwner()](void *, size_t, size_t) {},
                   /*dataIsMutable=*/false)
             : HeapAsmResourceBlob::allocateAndCopyWithAlign(
                   data, alignment, /*dataIsMutable=*/false);
  StringRef key = tensor.name().empty() ? "tensor" : StringRef(tensor.name());
  return DenseResourceElementsAttr::get(type, key, std::move(blob));
}

FailureOr<TensorParts> TensorReader::read() {
  if (std::optional<uint64_t> token = getToken(tensor)) {
    cutOut = source.take(*token);
    if (!cutOut)
      return LogicalResult(emitError() << reservedField);
  }
  if (failed(readShape()) || failed(readData()))
    return failure();
  TensorParts parts;
  parts.type = type;
  SmallVector<int> represented = {TensorProto::kNameFieldNumber};
  if (plain) {
    parts.value = makeValue();
    // A tensor may hold data in several fields, only one of which counts.
    represented.append({TensorProto::kDimsFieldNumber,
                        TensorProto::kDataTypeFieldNumber,
                        storage == "raw" ? int(TensorProto::kRawDataFieldNumber)
                                         : getTypedField(tensor.data_type())});
    if (storage == externalKey)
      represented.append({TensorProto::kExternalDataFieldNumber,
                          TensorProto::kDataLocationFieldNumber});
  }
  DictionaryAttr fields;
  if (cutOut) {
    TensorProto copy = tensor;
    clearToken(copy);
    if (!plain)
      copy.set_raw_data(cutOut->str());
    fields = protoToAttr(context, copy, represented);
  } else {
    fields = protoToAttr(context, tensor, represented);
  }
  if (plain && storage != "raw") {
    NamedAttrList list(fields);
    list.set(storageKey, StringAttr::get(context, storage));
    fields = list.getDictionary(context);
  }
  if (!fields.empty())
    parts.fields = fields;
  return parts;
}

FailureOr<TensorParts> convertTensor(MLIRContext *context,
                                     const TensorProto &tensor,
                                     TensorSource &source,
                                     EmitErrorFn emitError) {
  return TensorReader(context, tensor, source, emitError).read();
}

//===----------------------------------------------------------------------===//
// Attributes to TensorProto
//===----------------------------------------------------------------------===//

FailureOr<TensorData> getTensorData(TypedAttr value, EmitErrorFn emitError) {
  TensorData data;
  data.from = data.to =
      getElementKind(cast<TensorType>(value.getType()).getElementType());
  if (auto cast = dyn_cast<CastElementsAttr>(value)) {
    FailureOr<TensorData> inner = getTensorData(cast.getSource(), emitError);
    if (failed(inner))
      return failure();
    if (inner->from != inner->to) {
      if (inner->through != ElementKind::Undefined || inner->from != data.to)
        return emitError() << "unsupported chain of conversions: " << value;
      inner->through = inner->to;
    }
    if (FloatAttr clamp = cast.getClamp()) {
      if (inner->from != ElementKind::Float || inner->to != inner->from)
        return emitError() << "only f32 elements can be clamped: " << value;
      inner->clamp = float(clamp.getValueAsDouble());
    }
    inner->to = data.to;
    return inner;
  }
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return emitError() << "the elements are not in this text (elided); "
                            "emit it with --elide-weights=false";
    data.bytes = blob->getData();
  } else if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    ArrayRef<char> raw = dense.getRawData();
    bool isBool = dense.getElementType().isInteger(1);
    data.bytes = raw;
    if (!isBool && dense.isSplat() &&
        llvm::all_of(raw, [](char byte) { return byte == 0; })) {
      // Pages that are never written take no memory.
      size_t size = raw.size() * dense.getNumElements();
      std::shared_ptr<void> zeros(llvm::safe_calloc(1, size), std::free);
      data.isZero = true;
      data.bytes = {static_cast<const char *>(zeros.get()), size};
      data.owner = std::move(zeros);
    } else if (isBool || dense.isSplat()) {
      auto made = std::make_shared<std::string>();
      if (isBool)
        for (bool bit : dense.getValues<bool>())
          made->push_back(bit);
      else
        for (int64_t i = 0; i < dense.getNumElements(); ++i)
          made->append(raw.data(), raw.size());
      data.bytes = *made;
      data.owner = std::move(made);
    }
  } else {
    return emitError() << "cannot export " << value;
  }
  uint64_t expected = cast<ShapedType>(value.getType()).getNumElements() *
                      uint64_t(getPlainSize(int32_t(data.from)));
  if (data.bytes.size() != expected)
    return emitError() << "expected " << expected << " bytes of data for "
                       << value.getType() << ", found " << data.bytes.size();
  return data;
}

LogicalResult convertTensor(TypedAttr value, Type type, DictionaryAttr fields,
                            TensorSink &sink, TensorProto &tensor,
                            EmitErrorFn emitError) {
  StringRef storage = "raw";
  if (fields) {
    NamedAttrList list(fields);
    if (auto entry = dyn_cast_or_null<StringAttr>(list.erase(storageKey)))
      storage = entry;
    if (failed(attrToProto(list.getDictionary(type.getContext()), tensor,
                           emitError)))
      return failure();
  }
  if (!value)
    return success();
  auto tensorType = dyn_cast<RankedTensorType>(type);
  if (!tensorType || !tensorType.hasStaticShape())
    return emitError() << "expected a static shape, got " << type;
  for (int64_t dim : tensorType.getShape())
    tensor.add_dims(dim);
  tensor.set_data_type(int32_t(getElementKind(tensorType.getElementType())));
  FailureOr<TensorData> data = getTensorData(value, emitError);
  if (failed(data))
    return failure();
  if (storage == "typed" && data->from == data->to) {
    // An unused field of the original may be the one that receives the data
    // now.
    tensor.GetReflection()->ClearField(
        &tensor, TensorProto::descriptor()->FindFieldByNumber(
                     getTypedField(tensor.data_type())));
    unpackTyped(data->bytes, tensor);
    return success();
  }
  if (storage == "none" && data->bytes.empty())
    return success();
  sink.place(*data, storage == externalKey, tensor);
  return success();
}

} // namespace mp
