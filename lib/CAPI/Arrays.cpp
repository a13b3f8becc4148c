//===- Arrays.cpp - Tensors of the C API ----------------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Objects.h"

#include "mp-opt/API/Model/Error.h"
#include "mp-opt/API/Model/InputFit.h"
#include "mp-opt/Graph/SizeNames.h"
#include "mp-opt/Support/Nearest.h"

#include <cstring>

using namespace llvm;

namespace mp {

/// The address of tensors without elements, which must differ from a missing
/// tensor.
static uint64_t nothing;

/// Compiled code requires booleans to be 0 or 1.
static bool areBooleans(const void *data, uint64_t count) {
  ArrayRef<uint8_t> bytes(static_cast<const uint8_t *>(data), count);
  return all_of(bytes, [](uint8_t byte) { return byte <= 1; });
}

Expected<Tensor> makeTensor(const mp_opt_array &array, const Twine &what) {
  auto refuse = [&](const Twine &text) {
    return createStringError(what + ": " + text);
  };
  constexpr int32_t maxDims = 64;
  auto kind = ElementKind(array.type);
  unsigned size = array.type > 0 && array.type < 64 ? getElementBytes(kind) : 0;
  if (!size)
    return refuse("elements of type " + Twine(array.type) +
                  " are not supported");
  if (array.rank < 0 || array.rank > maxDims || (array.rank && !array.sizes))
    return refuse("expected 0 to " + Twine(maxDims) + " sizes, got " +
                  Twine(array.rank) +
                  (array.sizes || !array.rank ? "" : ", which are not there"));
  ArrayRef<int64_t> sizes(array.sizes, size_t(array.rank));
  std::optional<int64_t> bytes = getByteCount(sizes, size);
  if (!bytes)
    return refuse("its sizes are negative, or too big");
  if (uint64_t(*bytes) != array.bytes)
    return refuse(describeType(kind, sizes) + " takes " + Twine(*bytes) +
                  " bytes, found " + Twine(array.bytes));
  if (*bytes && !array.data)
    return refuse("it has no data");
  if (!*bytes)
    return Tensor(kind, sizes, &nothing, nullptr);
  if (kind == ElementKind::Bool && !areBooleans(array.data, array.bytes))
    return refuse("booleans are 0 or 1, found others");
  if (reinterpret_cast<uintptr_t>(array.data) % std::min(size, 8u) == 0)
    return Tensor(kind, sizes, array.data, nullptr);
  Expected<Tensor> copy = Tensor::create(kind, sizes);
  if (copy)
    std::memcpy(copy->getData(), array.data, size_t(*bytes));
  return copy;
}

mp_opt_value describe(const ProgramValue &value) {
  return {value.name.c_str(), int32_t(value.kind), int32_t(value.sizes.size()),
          value.sizes.data(), value.hasDefault};
}

CallInputs::CallInputs(ArrayRef<ProgramValue> given, ArrayRef<ModelValue> form,
                       SmallVector<unsigned> inputIndices)
    : inputIndices(std::move(inputIndices)), isNoted(given.size()) {
  for (const ProgramValue &value : given) {
    ModelValue input;
    static_cast<ProgramValue &>(input) = value;
    const auto *known = find_if(form, [&](const ModelValue &other) {
      return other.name == value.name;
    });
    if (known != form.end())
      input.dimNames = known->dimNames;
    inputs.push_back(std::move(input));
  }
}

/// The index of the input for an array, which may have no name and is number
/// `index` of `count` arrays. Fails if there is no such input.
Expected<size_t> CallInputs::findInput(const mp_opt_array &array, size_t index,
                                       size_t count) const {
  std::vector<StringRef> names;
  for (unsigned input : inputIndices)
    names.push_back(inputs[input].name);
  if (array.name) {
    StringRef name = array.name;
    size_t at = find(names, name) - names.begin();
    if (at == names.size())
      return createStringError("there is no input '" + name + "'" +
                               suggestNearest(name, names));
    return inputIndices[at];
  }
  if (index < names.size())
    return inputIndices[index];
  std::string known;
  for (StringRef name : names)
    known += (known.empty() ? "'" : ", '") + name.str() + "'";
  return createStringError("expected " + Twine(names.size()) +
                           (names.size() == 1 ? " input" : " inputs at most") +
                           (known.empty() ? "" : " (" + known + ")") +
                           ", got " + Twine(count));
}

Error CallInputs::bind(ArrayRef<mp_opt_array> arrays,
                       MutableArrayRef<Tensor> values, MessageSink &sink,
                       StringRef file) {
  std::vector<bool> isGiven(inputs.size());
  for (const auto &[index, array] : enumerate(arrays)) {
    Expected<size_t> found = findInput(array, index, arrays.size());
    if (!found)
      return found.takeError();
    size_t at = *found;
    std::string what = "input '" + inputs[at].name + "'";
    if (isGiven[at])
      return createStringError(what + " is given twice");
    isGiven[at] = true;
    Expected<Tensor> tensor = makeTensor(array, what);
    if (!tensor)
      return tensor.takeError();
    Expected<Tensor> fitting =
        fitInput(inputs[at], *tensor, [&](const Twine &text) {
          if (!isNoted[at])
            sink.report(file, mlir::DiagnosticSeverity::Note, text.str());
          isNoted[at] = true;
        });
    if (!fitting)
      return fitting.takeError();
    values[at] = std::move(*fitting);
  }
  return checkMissing(values);
}

Error CallInputs::checkMissing(ArrayRef<Tensor> values) const {
  for (unsigned input : inputIndices)
    if (values[input].getKind() == ElementKind::Undefined &&
        !inputs[input].hasDefault)
      return createStringError("input '" + inputs[input].name +
                               "' is missing: expected " +
                               inputs[input].describe());
  return Error::success();
}

std::string CallInputs::findMisfit(ArrayRef<Tensor> values) const {
  StringMap<std::pair<int64_t, unsigned>> known;
  for (unsigned input : inputIndices)
    for (auto [name, size] :
         zip(inputs[input].dimNames, values[input].getSizes())) {
      if (!isSizeName(name))
        continue;
      auto [other, isNew] = known.try_emplace(name, size, input);
      auto [otherSize, otherPlace] = other->second;
      if (otherSize != size)
        return name + " is " + std::to_string(size) + " in '" +
               inputs[input].name + "' and " + std::to_string(otherSize) +
               " in '" + inputs[otherPlace].name + "'";
    }
  return "";
}

} // namespace mp

using namespace mp;

mp_opt_status mp_opt_buffer_array(const mp_opt_buffer *buffer,
                                  mp_opt_array *array) {
  return guard([&] {
    if (!buffer || !array)
      return failUsage("buffer_array: no buffer, or no place for it");
    const auto &[name, tensor] = buffer->tensor;
    *array = {name.c_str(),
              int32_t(tensor.getKind()),
              int32_t(tensor.getRank()),
              tensor.getSizes().data(),
              tensor.getData(),
              tensor.getNumBytes()};
    return succeed();
  });
}

void mp_opt_buffer_destroy(mp_opt_buffer *buffer) { delete buffer; }
