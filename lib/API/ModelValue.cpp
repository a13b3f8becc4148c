//===- ModelValue.cpp - What a model takes --------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/ModelValue.h"

#include "mp-opt/Support/Nearest.h"
#include "mp-opt/Support/Rounding.h"

#include <cmath>
#include <random>

using namespace llvm;

namespace mp {

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

static Expected<Tensor> makeRandom(const ModelValue &input, uint64_t seed) {
  if (llvm::is_contained(input.sizes, -1))
    return createStringError("input '" + input.name + "' of type " +
                             input.describe() +
                             " has unknown sizes, for which no random numbers "
                             "can be made: give data, or name the sizes by "
                             "--dim=NAME=SIZE");
  Expected<Tensor> tensor = Tensor::create(input.kind, input.sizes);
  if (!tensor)
    return prefixError("input '" + input.name + "'", tensor.takeError());
  std::mt19937_64 engine(seed);
  fillRandom(*tensor, engine);
  return tensor;
}

//===----------------------------------------------------------------------===//
// Binding
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
static Error completeInputs(ArrayRef<ModelValue> inputs,
                            std::optional<uint64_t> seed,
                            std::vector<Tensor> &bound) {
  for (auto [input, tensor] : llvm::zip(inputs, bound)) {
    if (tensor.getData()) {
      if (Error failed = checkInput(input, tensor))
        return failed;
    } else if (!input.hasDefault && !seed) {
      return createStringError("input '" + input.name +
                               "' is missing: expected " + input.describe());
    } else if (!input.hasDefault) {
      Expected<Tensor> made = makeRandom(input, (*seed)++);
      if (!made)
        return made.takeError();
      tensor = std::move(*made);
    }
  }
  return Error::success();
}

Expected<std::vector<Tensor>> bindInputs(ArrayRef<ModelValue> inputs,
                                         const DataSet &data,
                                         std::optional<uint64_t> seed) {
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
    return completeInputs(inputs, seed, bound);
  };
  Error failed = bind();
  if (failed && !data.path.empty())
    return prefixError(data.path, std::move(failed));
  if (failed)
    return failed;
  return bound;
}

} // namespace mp
