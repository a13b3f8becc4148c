//===- DataSet.cpp - Input data of a model --------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Model/DataSet.h"

#include "mp-opt/Data/Checkpoint.h"
#include "mp-opt/Target/ONNX/TestData.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <chrono>

using namespace llvm;

namespace mp {

Expected<DataSet> readDataSet(StringRef path) {
  DataSet data;
  data.path = path.str();
  data.version = describeVersion(path);
  if (sys::fs::is_directory(path)) {
    Expected<TestData> read = readTestData(path);
    if (!read)
      return read.takeError();
    data.inputs = std::move(read->inputs);
    data.expected = std::move(read->outputs);
    data.isPositional = true;
    return data;
  }
  auto tensors = readDataFile(path);
  if (!tensors)
    return tensors.takeError();
  for (NamedTensor &named : *tensors) {
    StringRef name = named.name;
    if (name.consume_front("out:"))
      data.expected.push_back({name.str(), named.tensor});
    else if (name.consume_front("in:") || !name.empty())
      data.inputs.push_back({name.str(), named.tensor});
    else
      data.inputs.push_back(named);
    data.isPositional |= named.name.empty();
  }
  return data;
}

Expected<DataSet> readExpected(StringRef path) {
  Expected<DataSet> data = readDataSet(path);
  if (data && data->expected.empty())
    data->expected = std::move(data->inputs);
  if (data)
    data->inputs.clear();
  return data;
}

Expected<NamedTensor> readTensor(StringRef name, StringRef path) {
  if (sys::path::extension(path) == ".pb") {
    Expected<NamedTensor> named = readTensorProto(path);
    if (named)
      named->name = name.str();
    return named;
  }
  auto tensors = readDataFile(path);
  if (!tensors)
    return tensors.takeError();
  if (tensors->size() != 1)
    return createStringError(path + ": expected one tensor, found " +
                             Twine(tensors->size()));
  return NamedTensor{name.str(), tensors->front().tensor};
}

Expected<NamedTensor> readRawTensor(StringRef name, StringRef path,
                                    ElementKind kind, ArrayRef<int64_t> sizes) {
  Expected<DataBuffer> file = DataBuffer::open(path);
  if (!file)
    return prefixError(path, file.takeError());
  Expected<Tensor> tensor = parseRaw(*file, kind, sizes);
  if (!tensor)
    return prefixError(path, tensor.takeError());
  return NamedTensor{name.str(), std::move(*tensor)};
}

Expected<std::vector<NamedTensor>>
readTensors(StringRef path, function_ref<void(const Twine &)> warn) {
  if (CheckpointFolder::isOne(path)) {
    Expected<Checkpoint> checkpoint = CheckpointFolder(path).readNewest(warn);
    if (!checkpoint)
      return checkpoint.takeError();
    return std::move(checkpoint->states);
  }
  if (!sys::fs::is_directory(path))
    return readDataFile(path);
  Expected<DataSet> data = readDataSet(path);
  if (!data)
    return data.takeError();
  std::vector<NamedTensor> tensors;
  auto add = [&](StringRef prefix, std::vector<NamedTensor> &from) {
    for (size_t i = 0; i < from.size(); ++i)
      tensors.push_back(
          {(prefix + (from[i].name.empty() ? std::to_string(i) : from[i].name))
               .str(),
           from[i].tensor});
  };
  add("in:", data->inputs);
  add("out:", data->expected);
  return tensors;
}

std::string describeVersion(StringRef path) {
  sys::fs::file_status status;
  if (sys::fs::status(path, status) || !sys::fs::is_regular_file(status))
    return "";
  auto changed = status.getLastModificationTime().time_since_epoch();
  return std::to_string(status.getSize()) + ":" +
         std::to_string(status.getUniqueID().getFile()) + ":" +
         std::to_string(
             std::chrono::duration_cast<std::chrono::nanoseconds>(changed)
                 .count());
}

ElementKind parseElementKind(StringRef name) {
  return StringSwitch<ElementKind>(name)
      .Cases({"float32", "f32", "float"}, ElementKind::Float)
      .Cases({"float64", "f64", "double"}, ElementKind::Double)
      .Cases({"float16", "f16", "fp16"}, ElementKind::Float16)
      .Cases({"bfloat16", "bf16"}, ElementKind::BFloat16)
      .Cases({"int8", "i8"}, ElementKind::Int8)
      .Cases({"int16", "i16"}, ElementKind::Int16)
      .Cases({"int32", "i32"}, ElementKind::Int32)
      .Cases({"int64", "i64"}, ElementKind::Int64)
      .Cases({"uint8", "u8"}, ElementKind::UInt8)
      .Cases({"uint16", "u16"}, ElementKind::UInt16)
      .Cases({"uint32", "u32"}, ElementKind::UInt32)
      .Cases({"uint64", "u64"}, ElementKind::UInt64)
      .Case("bool", ElementKind::Bool)
      .Default(ElementKind::Undefined);
}

bool parseTensorType(StringRef text, ElementKind &kind,
                     SmallVectorImpl<int64_t> &sizes) {
  auto [name, rest] = text.split('[');
  kind = parseElementKind(name);
  if (name.size() < text.size() && !rest.consume_back("]"))
    return false;
  SmallVector<StringRef> parts;
  if (!rest.empty())
    rest.split(parts, ',');
  unsigned open = 0;
  for (StringRef part : parts) {
    int64_t size = -1;
    part = part.trim();
    if (part != "?" && (part.getAsInteger(10, size) || size < 0))
      return false;
    open += size < 0;
    sizes.push_back(size);
  }
  return kind != ElementKind::Undefined && open < 2;
}

} // namespace mp
