//===- Safetensors.cpp - .safetensors files -------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file consists of eight bytes with the length of a JSON object, that object,
// and the elements of all tensors without gaps. The checks are those of the
// format's own reader.
//
//===----------------------------------------------------------------------===//

#include "Npy.h"

#include "mp-opt/Support/FlatJSON.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace mp {

static constexpr StringLiteral attributesKey = "__metadata__";
/// The limit of the format's own reader.
static constexpr uint64_t maxTable = 100 * 1000 * 1000;
/// The nesting of the format, and a little more.
static constexpr unsigned maxDepth = 8;

static constexpr std::pair<ElementKind, StringLiteral> typeNames[] = {
    {ElementKind::Bool, "BOOL"},
    {ElementKind::UInt8, "U8"},
    {ElementKind::Int8, "I8"},
    {ElementKind::UInt16, "U16"},
    {ElementKind::Int16, "I16"},
    {ElementKind::Float16, "F16"},
    {ElementKind::BFloat16, "BF16"},
    {ElementKind::UInt32, "U32"},
    {ElementKind::Int32, "I32"},
    {ElementKind::Float, "F32"},
    {ElementKind::UInt64, "U64"},
    {ElementKind::Int64, "I64"},
    {ElementKind::Double, "F64"},
    {ElementKind::Complex64, "C64"},
    {ElementKind::Float8E4M3FN, "F8_E4M3"},
    {ElementKind::Float8E5M2, "F8_E5M2"},
    {ElementKind::Float8E8M0, "F8_E8M0"},
};

static Error corrupt(const Twine &what) {
  return createStringError("corrupt safetensors file: " + what);
}

namespace {
struct Entry {
  std::string name;
  ElementKind kind = ElementKind::Undefined;
  SmallVector<int64_t> sizes;
  uint64_t begin = 0, end = 0;
};
} // namespace

/// Reads non-negative integers; false for anything else.
static bool readNumbers(const json::Value *value,
                        SmallVectorImpl<int64_t> &to) {
  const json::Array *array = value ? value->getAsArray() : nullptr;
  for (size_t i = 0; array && i < array->size(); ++i) {
    std::optional<int64_t> number = (*array)[i].getAsInteger();
    if (!number || *number < 0)
      return false;
    to.push_back(*number);
  }
  return array;
}

static Expected<Entry> readEntry(StringRef name, const json::Value &value,
                                 uint64_t dataSize) {
  auto fail = [&](const Twine &why) {
    return corrupt("tensor '" + name + "' " + why);
  };
  const json::Object *object = value.getAsObject();
  if (!object)
    return fail("is not described by an object");
  for (const auto &[key, ignored] : *object)
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      return fail("has an unknown entry '" + key.str() + "'");
  Entry entry;
  entry.name = name.str();
  std::optional<StringRef> type = object->getString("dtype");
  for (const auto &[kind, known] : typeNames)
    if (type == StringRef(known))
      entry.kind = kind;
  if (entry.kind == ElementKind::Undefined)
    return createStringError("tensor '" + name + "': the type '" +
                             type.value_or("") + "' is not supported");
  SmallVector<int64_t> offsets;
  if (!readNumbers(object->get("shape"), entry.sizes))
    return fail("has no shape of non-negative integers");
  if (!readNumbers(object->get("data_offsets"), offsets) ||
      offsets.size() != 2 || offsets[0] > offsets[1] ||
      uint64_t(offsets[1]) > dataSize)
    return fail("does not lie in the file");
  entry.begin = offsets[0];
  entry.end = offsets[1];
  return entry;
}

static Expected<std::vector<Entry>> readEntries(const json::Object &header,
                                                uint64_t dataSize) {
  std::vector<Entry> entries;
  for (const auto &[key, value] : header) {
    if (StringRef(key) == attributesKey)
      continue;
    Expected<Entry> entry = readEntry(key, value, dataSize);
    if (!entry)
      return entry.takeError();
    entries.push_back(std::move(*entry));
  }
  // Empty tensors share their places.
  llvm::sort(entries, [](const Entry &a, const Entry &b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t end = 0;
  for (const Entry &entry : entries) {
    if (entry.begin != end)
      return corrupt("tensor '" + entry.name + "' begins at " +
                     Twine(entry.begin) + ", expected " + Twine(end));
    end = entry.end;
  }
  if (end != dataSize)
    return corrupt("it has " + Twine(dataSize) +
                   " bytes of data, its tensors " + Twine(end));
  return entries;
}

static Error readAttributes(const json::Object &header,
                            DataAttributes &attributes) {
  const json::Value *value = header.get(attributesKey);
  if (!value)
    return Error::success();
  const json::Object *object = value->getAsObject();
  if (!object)
    return corrupt("its metadata are no object");
  for (const auto &[key, text] : *object) {
    std::optional<StringRef> string = text.getAsString();
    if (!string)
      return corrupt("metadata entry '" + key.str() + "' is not text");
    attributes[key.str()] = string->str();
  }
  return Error::success();
}

Expected<std::vector<NamedTensor>>
parseSafetensors(const DataBuffer &file, DataAttributes *attributes) {
  StringRef text = file.getText();
  if (text.size() < 8)
    return corrupt("it is cut short");
  uint64_t size = support::endian::read64le(text.data());
  if (size > maxTable || size > text.size() - 8)
    return corrupt("its header cannot have " + Twine(size) + " bytes");
  StringRef headerText = text.substr(8, size);
  Expected<json::Value> header = parseFlatJSON(headerText, maxDepth);
  if (!header)
    return prefixError("corrupt safetensors file: its header",
                       header.takeError());
  const json::Object *object = header->getAsObject();
  if (!object)
    return corrupt("its header is not an object");
  DataAttributes ignored;
  if (Error failed =
          readAttributes(*object, attributes ? *attributes : ignored))
    return failed;
  uint64_t begin = 8 + size;
  auto entries = readEntries(*object, text.size() - begin);
  if (!entries)
    return entries.takeError();
  std::vector<NamedTensor> tensors;
  for (const Entry &entry : *entries) {
    Expected<Tensor> tensor =
        makeTensor(entry.kind, entry.sizes,
                   file.slice(begin + entry.begin, entry.end - entry.begin));
    if (!tensor)
      return prefixError("tensor '" + entry.name + "'", tensor.takeError());
    tensors.push_back({entry.name, std::move(*tensor)});
  }
  return tensors;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Error writeSafetensors(ArrayRef<NamedTensor> tensors,
                       const DataAttributes &attributes, raw_ostream &os) {
  std::string header;
  raw_string_ostream stream(header);
  json::OStream json(stream);
  uint64_t offset = 0;
  json.objectBegin();
  if (!attributes.empty())
    json.attributeObject(attributesKey, [&] {
      for (const auto &[key, text] : attributes)
        json.attribute(json::fixUTF8(key), json::fixUTF8(text));
    });
  for (const NamedTensor &named : tensors) {
    const auto *type = llvm::find_if(typeNames, [&](const auto &known) {
      return known.first == named.tensor.getKind();
    });
    if (type == std::end(typeNames))
      return createStringError("tensor '" + named.name +
                               "': safetensors have " +
                               "no type for elements of " +
                               getElementKindName(named.tensor.getKind()));
    json.attributeObject(json::fixUTF8(named.name), [&] {
      json.attribute("dtype", StringRef(type->second));
      json.attributeArray("shape", [&] {
        for (int64_t size : named.tensor.getSizes())
          json.value(size);
      });
      json.attributeArray("data_offsets", [&] {
        json.value(int64_t(offset));
        offset += named.tensor.getNumBytes();
        json.value(int64_t(offset));
      });
    });
  }
  json.objectEnd();
  // Data begin at a multiple of 64, so that they can be mapped.
  header.append((64 - (8 + header.size()) % 64) % 64, ' ');
  char length[8];
  support::endian::write64le(length, header.size());
  os << StringRef(length, 8) << header;
  for (const NamedTensor &named : tensors)
    os << getBytes(named.tensor);
  return Error::success();
}

} // namespace mp
