//===- ModelValue.cpp - Inputs and outputs of a model ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Model/ModelValue.h"

#include "mp-opt/API/Model/InputFit.h"
#include "mp-opt/Data/Convert.h"
#include "mp-opt/Graph/SizeNames.h"
#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Support/Nearest.h"
#include "mp-opt/Support/Rounding.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <random>

using namespace llvm;
using mlir::DiagnosticSeverity;

namespace mp {

std::string ModelValue::describe() const {
  std::string text = getArrayTypeName(kind).str();
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

/// Draws from N(0, 1) itself, because the standard does not specify the
/// algorithms of its distributions.
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

namespace {

/// Finds a tensor for each input.
class InputBinder {
public:
  InputBinder(ArrayRef<ModelValue> inputs, const DataSet &data,
              const BindingOptions &options)
      : inputs(inputs), data(data), options(options), seed(options.seed),
        bound(inputs.size()) {}

  Error run();
  std::vector<Tensor> take() { return std::move(bound); }

private:
  Error bindByName();
  Error bindByPlace();
  Error checkGiven();
  Error makeMissing();
  Error refuseMissing(const ModelValue &input) const;
  ModelValue chooseSizes(const ModelValue &input);
  void warnOfExtra() const;
  void noteSizes() const;

  ArrayRef<ModelValue> inputs;
  const DataSet &data;
  const BindingOptions &options;
  std::optional<uint64_t> seed;
  std::vector<Tensor> bound;
  /// Names in the data that the model has not.
  std::vector<StringRef> extra;
  /// Sizes by names of dimensions: those given by the data, and those that are
  /// unknown.
  StringMap<int64_t> known;
  SmallSetVector<StringRef, 4> chosen;
  std::vector<std::string> unnamed;
};

} // namespace

Error InputBinder::bindByName() {
  for (const auto &[name, tensor] : data.inputs) {
    auto place = llvm::find_if(inputs, [name = StringRef(name)](auto &input) {
      return input.name == name;
    });
    if (place == inputs.end()) {
      extra.push_back(name);
      continue;
    }
    Tensor &to = bound[place - inputs.begin()];
    if (to.getData())
      return createStringError("input '" + name + "' is given twice");
    to = tensor;
  }
  return Error::success();
}

Error InputBinder::bindByPlace() {
  if (data.inputs.size() > inputs.size())
    return createStringError("it has " + Twine(data.inputs.size()) +
                             " inputs, the model " + Twine(inputs.size()));
  for (size_t i = 0; i < data.inputs.size(); ++i)
    bound[i] = data.inputs[i].tensor;
  return Error::success();
}

Error InputBinder::checkGiven() {
  for (auto [input, tensor] : llvm::zip(inputs, bound)) {
    if (!tensor.getData())
      continue;
    Expected<Tensor> fitting = fitInput(input, tensor, [&](const Twine &text) {
      if (options.onMessage)
        options.onMessage(data.path, DiagnosticSeverity::Note, text);
    });
    if (!fitting)
      return fitting.takeError();
    tensor = std::move(*fitting);
    for (auto [name, size] : llvm::zip(input.dimNames, tensor.getSizes()))
      if (isSizeName(name))
        known.try_emplace(name, size);
  }
  return Error::success();
}

/// Lists unused data, since a missing input most likely has data under another
/// name.
Error InputBinder::refuseMissing(const ModelValue &input) const {
  std::string text =
      "input '" + input.name + "' is missing: expected " + input.describe();
  for (auto [index, name] : llvm::enumerate(extra))
    text += (index ? ", '" : ", found '") + name.str() + "'";
  return createStringError(text);
}

ModelValue InputBinder::chooseSizes(const ModelValue &input) {
  ModelValue sized = input;
  for (size_t axis = 0; axis < sized.sizes.size(); ++axis) {
    if (sized.sizes[axis] >= 0)
      continue;
    StringRef name =
        axis < input.dimNames.size() ? input.dimNames[axis] : StringRef();
    bool isNamed = isSizeName(name);
    auto given = known.find(name);
    sized.sizes[axis] =
        isNamed && given != known.end() ? given->second : defaultDimension;
    if (isNamed && given == known.end())
      chosen.insert(name);
    else if (!isNamed)
      unnamed.push_back("axis " + std::to_string(axis) + " of '" + input.name +
                        "'");
  }
  return sized;
}

Error InputBinder::makeMissing() {
  bool isMade = false;
  for (auto [input, tensor] : llvm::zip(inputs, bound)) {
    if (tensor.getData() || input.hasDefault)
      continue;
    if (!seed)
      return refuseMissing(input);
    isMade = true;
    Expected<Tensor> made = makeRandom(chooseSizes(input), (*seed)++);
    if (!made)
      return made.takeError();
    tensor = std::move(*made);
  }
  if (seed && !isMade && !data.inputs.empty() && options.onMessage)
    options.onMessage(data.path, DiagnosticSeverity::Warning,
                      "random numbers are not used: the data have all inputs");
  return Error::success();
}

void InputBinder::warnOfExtra() const {
  std::vector<StringRef> names;
  for (const ModelValue &input : inputs)
    names.push_back(input.name);
  for (StringRef name : extra)
    options.onMessage(data.path, DiagnosticSeverity::Warning,
                      "the model has no input '" + name +
                          "', which is left "
                          "out" +
                          suggestNearest(name, names));
}

/// Notes all chosen sizes in one line.
void InputBinder::noteSizes() const {
  std::vector<std::string> sizes;
  for (StringRef name : chosen)
    sizes.push_back((name + "=" + Twine(defaultDimension)).str());
  for (const std::string &place : unnamed)
    sizes.push_back(place + " " + std::to_string(defaultDimension));
  if (!sizes.empty())
    options.onMessage("", DiagnosticSeverity::Note,
                      "sizes that are not given: " + llvm::join(sizes, ", ") +
                          (chosen.empty() ? "; data give others"
                                          : "; --dim=NAME=SIZE gives others"));
}

Error InputBinder::run() {
  if (Error failed = data.isPositional ? bindByPlace() : bindByName())
    return failed;
  if (Error failed = checkGiven())
    return failed;
  if (Error failed = makeMissing())
    return failed;
  if (options.onMessage) {
    warnOfExtra();
    noteSizes();
  }
  return Error::success();
}

Expected<std::vector<Tensor>> bindInputs(ArrayRef<ModelValue> inputs,
                                         const DataSet &data,
                                         const BindingOptions &options) {
  InputBinder binder(inputs, data, options);
  Error failed = binder.run();
  if (failed && !data.path.empty())
    return prefixError(data.path, std::move(failed));
  if (failed)
    return failed;
  return binder.take();
}

} // namespace mp
