//===- DataSet.cpp - What a model is fed with -----------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataSet.h"

#include "mp-opt/Support/Nearest.h"
#include "mp-opt/Support/Rounding.h"
#include "mp-opt/Target/ONNX/TestData.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cmath>
#include <random>

using namespace llvm;

namespace mp {

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Expected<DataSet> readDataSet(StringRef path) {
  DataSet data;
  data.path = path.str();
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

Expected<NamedTensor> readInput(StringRef text) {
  // Names have colons and dots more often than files have equals signs.
  auto [name, path] = text.rsplit('=');
  if (name.empty() || path.empty())
    return createStringError("--input: expected NAME=FILE, got '" + text + "'");
  if (sys::path::extension(path) == ".pb") {
    Expected<NamedTensor> tensor = readTensorProto(path);
    if (tensor)
      tensor->name = name.str();
    return tensor;
  }
  auto tensors = readDataFile(path);
  if (!tensors)
    return tensors.takeError();
  if (tensors->size() != 1)
    return createStringError(path + ": expected one tensor, found " +
                             Twine(tensors->size()));
  return NamedTensor{name.str(), tensors->front().tensor};
}

/// "float32[32,784]"; one size may be '?'.
static bool parseType(StringRef text, ElementKind &kind,
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

Expected<NamedTensor> readRaw(StringRef text) {
  auto [rest, type] = text.rsplit(':');
  auto [name, path] = rest.rsplit(':');
  ElementKind kind;
  SmallVector<int64_t> sizes;
  if (name.empty() || path.empty() || !parseType(type, kind, sizes))
    return createStringError("--raw: expected NAME:FILE:TYPE[SIZES] such as "
                             "x:x.bin:float32[?,784], got '" +
                             text + "'");
  Expected<DataBuffer> file = DataBuffer::open(path);
  if (!file)
    return prefixError(path, file.takeError());
  Expected<Tensor> tensor = parseRaw(*file, kind, sizes);
  if (!tensor)
    return prefixError(path, tensor.takeError());
  return NamedTensor{name.str(), std::move(*tensor)};
}

std::optional<int> DataFlags::check(const Flags &flags) const {
  uint64_t seed;
  if (random && !random->empty() && StringRef(*random).getAsInteger(10, seed))
    return flags.usageError("--random: expected a number, got '" + *random +
                            "'");
  return std::nullopt;
}

void DataFlags::addTo(Flags &flags) {
  flags.add("input", inputs, "NAME=FILE");
  flags.add("raw", raw, "NAME:FILE:TYPE[SIZES]");
  flags.addOptional("random", random, "a number");
}

Expected<DataSet> DataFlags::read(StringRef path) const {
  DataSet data;
  if (!path.empty()) {
    Expected<DataSet> read = readDataSet(path);
    if (!read)
      return read;
    data = std::move(*read);
  }
  auto add = [&](Expected<NamedTensor> named) -> Error {
    if (!named)
      return named.takeError();
    data.inputs.push_back(std::move(*named));
    return Error::success();
  };
  for (const std::string &text : inputs)
    if (Error failed = add(readInput(text)))
      return failed;
  for (const std::string &text : raw)
    if (Error failed = add(readRaw(text)))
      return failed;
  if (data.isPositional && (!inputs.empty() || !raw.empty()))
    return createStringError(path + ": its tensors have no names; --input "
                                    "cannot add to them");
  return data;
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

/// Of N(0, 1). The standard leaves its distributions to the library.
static double drawNormal(std::mt19937_64 &engine) {
  auto uniform = [&] { return (double(engine() >> 11) + 0.5) * 0x1p-53; };
  return std::sqrt(-2 * std::log(uniform())) *
         std::cos(2 * 3.14159265358979323846 * uniform());
}

static void fillRandom(const Tensor &tensor, std::mt19937_64 &engine) {
  switch (tensor.getKind()) {
  case ElementKind::Float:
    for (float &element : tensor.get<float>())
      element = float(drawNormal(engine));
    return;
  case ElementKind::Double:
    for (double &element : tensor.get<double>())
      element = drawNormal(engine);
    return;
  case ElementKind::Float16:
    for (uint16_t &element : tensor.get<uint16_t>())
      element = roundToFloat16(float(drawNormal(engine)));
    return;
  case ElementKind::BFloat16:
    for (uint16_t &element : tensor.get<uint16_t>())
      element = roundToBFloat16(float(drawNormal(engine)));
    return;
  default:
    break;
  }
  // Little-endian integers of any width, and booleans.
  size_t size = getElementBytes(tensor.getKind());
  auto *bytes = static_cast<uint8_t *>(tensor.getData());
  for (size_t at = 0, end = tensor.getNumBytes(); at < end; at += size)
    bytes[at] = engine() >> 63;
}

std::string ModelValue::describe() const {
  std::string text = getElementKindName(kind).str();
  for (size_t i = 0; i < sizes.size(); ++i) {
    StringRef dim = i < dimNames.size() ? dimNames[i] : StringRef();
    text += i ? "," : "[";
    text += sizes[i] >= 0 ? std::to_string(sizes[i])
            : dim.empty() ? "?"
                          : dim.str();
  }
  return sizes.empty() ? text : text + "]";
}

static Expected<Tensor> makeRandom(const ModelValue &input, uint64_t seed) {
  if (llvm::is_contained(input.sizes, -1))
    return createStringError("input '" + input.name + "' of type " +
                             input.describe() +
                             " has sizes that --random does not know; name "
                             "them by --dim=NAME=SIZE");
  Expected<Tensor> tensor = Tensor::create(input.kind, input.sizes);
  if (!tensor)
    return prefixError("input '" + input.name + "'", tensor.takeError());
  std::mt19937_64 engine(seed);
  fillRandom(*tensor, engine);
  return tensor;
}

//===----------------------------------------------------------------------===//
// Inputs of a model
//===----------------------------------------------------------------------===//

Error checkInput(const ModelValue &input, const Tensor &tensor) {
  bool fits = input.kind == tensor.getKind() &&
              input.sizes.size() == tensor.getSizes().size();
  for (size_t i = 0; fits && i < input.sizes.size(); ++i)
    fits = input.sizes[i] < 0 || input.sizes[i] == tensor.getSizes()[i];
  if (fits)
    return Error::success();
  return createStringError("input '" + input.name + "': expected " +
                           input.describe() + ", found " +
                           describeType(tensor.getKind(), tensor.getSizes()));
}

static Error bindByName(ArrayRef<ModelValue> inputs, const DataSet &data,
                        std::vector<Tensor> &bound) {
  std::vector<StringRef> names;
  for (const ModelValue &input : inputs)
    names.push_back(input.name);
  for (const auto &[name, tensor] : data.inputs) {
    auto place = llvm::find(names, name);
    if (place == names.end())
      return createStringError("the model has no input '" + name + "'" +
                               suggestNearest(name, names));
    Tensor &to = bound[place - names.begin()];
    if (to.getData())
      return createStringError("input '" + name + "' is given twice");
    to = tensor;
  }
  return Error::success();
}

/// Fills what is missing, and checks all.
static Error completeInputs(ArrayRef<ModelValue> inputs, const DataFlags &flags,
                            std::vector<Tensor> &bound) {
  uint64_t seed = 0;
  if (flags.random)
    StringRef(*flags.random).getAsInteger(10, seed);
  for (auto [input, tensor] : llvm::zip(inputs, bound)) {
    if (tensor.getData()) {
      if (Error failed = checkInput(input, tensor))
        return failed;
    } else if (!input.hasDefault && !flags.random) {
      return createStringError("input '" + input.name +
                               "' is missing: expected " + input.describe());
    } else if (!input.hasDefault) {
      Expected<Tensor> made = makeRandom(input, seed++);
      if (!made)
        return made.takeError();
      tensor = std::move(*made);
    }
  }
  return Error::success();
}

Expected<std::vector<Tensor>> bindInputs(ArrayRef<ModelValue> inputs,
                                         const DataSet &data,
                                         const DataFlags &flags) {
  std::vector<Tensor> bound(inputs.size());
  auto bind = [&]() -> Error {
    if (!data.isPositional) {
      if (Error failed = bindByName(inputs, data, bound))
        return failed;
    } else if (data.inputs.size() > inputs.size()) {
      return createStringError("it has " + Twine(data.inputs.size()) +
                               " inputs, the model " + Twine(inputs.size()));
    } else {
      for (size_t i = 0; i < data.inputs.size(); ++i)
        bound[i] = data.inputs[i].tensor;
    }
    return completeInputs(inputs, flags, bound);
  };
  Error failed = bind();
  if (failed && !data.path.empty())
    return prefixError(data.path, std::move(failed));
  if (failed)
    return failed;
  return bound;
}

} // namespace mp
