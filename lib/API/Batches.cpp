//===- Batches.cpp - Training data, a batch at a time ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Batches.h"

#include "mp-opt/Support/Nearest.h"

#include <cstring>
#include <numeric>
#include <random>

using namespace llvm;

namespace mp {

Error Batches::addSources(ArrayRef<ModelValue> inputs, const DataSet &data) {
  std::vector<StringRef> names;
  for (const ModelValue &input : inputs)
    names.push_back(input.name);
  std::vector<bool> isGiven(inputs.size());
  for (const auto &[name, tensor] : data.inputs) {
    size_t place = llvm::find(names, name) - names.begin();
    if (place == names.size())
      return createStringError("the model has no input '" + name + "'" +
                               suggestNearest(name, names));
    if (isGiven[place])
      return createStringError("input '" + name + "' is given twice");
    isGiven[place] = true;
    sources.push_back({unsigned(place), name, tensor, {}, {}});
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!isGiven[i] && !inputs[i].hasDefault)
      return createStringError("input '" + inputs[i].name +
                               "' is missing: expected batches or rows of " +
                               inputs[i].describe());
  if (sources.empty())
    return createStringError("there are no data for any input");
  return Error::success();
}

Error Batches::findForm(ArrayRef<ModelValue> inputs) {
  bool first = true;
  for (const Source &source : sources) {
    const ModelValue &input = inputs[source.input];
    int64_t rank = int64_t(input.sizes.size()), given = source.data.getRank();
    std::string type =
        describeType(source.data.getKind(), source.data.getSizes());
    if (given == 0 || (given != rank && given != rank + 1))
      return createStringError("input '" + source.name +
                               "': expected batches "
                               "or rows of " +
                               input.describe() + ", found " + type);
    if (!first && isByRow != (given == rank))
      return createStringError(
          "input '" + source.name + "': " + type + " are " +
          (isByRow ? "batches, but '" : "rows, but '") + sources[0].name +
          "' has " + (isByRow ? "rows" : "batches"));
    isByRow = given == rank;
    uint64_t size = source.data.getSizes()[0];
    if (!first && size != rows)
      return createStringError("input '" + source.name + "' has " +
                               Twine(size) + (isByRow ? " rows" : " batches") +
                               ", '" + sources[0].name + "' has " +
                               Twine(rows));
    rows = size;
    first = false;
  }
  return Error::success();
}

Error Batches::chooseSize(ArrayRef<ModelValue> inputs) {
  if (!isByRow) {
    if (options.size)
      return createStringError("the data are batches already: --batch does not "
                               "apply");
    options.shuffle = false;
    count = rows;
  } else {
    // Of a model that takes batches of one size.
    for (const Source &source : sources)
      if (int64_t size = inputs[source.input].sizes[0];
          !options.size && size > 0)
        options.size = size;
    if (!options.size)
      return createStringError("the data are rows: --batch=N must say how many "
                               "make up a batch");
    count = rows / options.size;
  }
  if (count == 0)
    return createStringError(
        "the data have " + Twine(rows) +
        (isByRow ? " rows, less than a batch" : " batches"));
  return Error::success();
}

Expected<Batches> Batches::create(ArrayRef<ModelValue> inputs,
                                  const DataSet &data, BatchOptions options) {
  Batches batches(options);
  if (Error failed = batches.addSources(inputs, data))
    return failed;
  if (Error failed = batches.findForm(inputs))
    return failed;
  if (Error failed = batches.chooseSize(inputs))
    return failed;
  for (Source &source : batches.sources) {
    ArrayRef<int64_t> sizes = source.data.getSizes();
    source.sizes.assign(sizes.begin() + !batches.isByRow, sizes.end());
    if (batches.isByRow)
      source.sizes[0] = int64_t(batches.options.size);
    Tensor batch(source.data.getKind(), source.sizes, nullptr, nullptr);
    if (Error failed = checkInput(inputs[source.input], batch))
      return failed;
    if (!batches.options.shuffle)
      continue;
    Expected<Tensor> room = Tensor::create(source.data.getKind(), source.sizes);
    if (!room)
      return room.takeError();
    source.gathered = std::move(*room);
  }
  return batches;
}

/// Fisher and Yates, with numbers that do not depend on the library.
void Batches::shuffleRows(uint64_t number) {
  order.resize(rows);
  std::iota(order.begin(), order.end(), 0);
  std::seed_seq seeds{uint32_t(options.seed), uint32_t(options.seed >> 32),
                      uint32_t(number), uint32_t(number >> 32)};
  std::mt19937_64 engine(seeds);
  for (uint64_t left = rows; left > 1; --left) {
    // Numbers above the last multiple would favour the first rows.
    uint64_t limit = UINT64_MAX - UINT64_MAX % left, drawn;
    do
      drawn = engine();
    while (drawn >= limit);
    std::swap(order[left - 1], order[drawn % left]);
  }
  epoch = number;
}

Error Batches::load(uint64_t step, MutableArrayRef<Tensor> inputs) {
  uint64_t number = step / count, batch = step % count;
  if (options.shuffle && epoch != number)
    shuffleRows(number);
  for (Source &source : sources) {
    Tensor &to = inputs[source.input];
    char *data = static_cast<char *>(source.data.getData());
    size_t rowBytes = source.data.getNumBytes() / std::max<uint64_t>(rows, 1);
    if (!options.shuffle) {
      uint64_t first = isByRow ? batch * options.size : batch;
      to = Tensor(source.data.getKind(), source.sizes, data + first * rowBytes,
                  std::make_shared<Tensor>(source.data));
      continue;
    }
    char *gathered = static_cast<char *>(source.gathered.getData());
    for (uint64_t row = 0; row < options.size; ++row)
      std::memcpy(gathered + row * rowBytes,
                  data + order[batch * options.size + row] * rowBytes,
                  rowBytes);
    to = source.gathered;
  }
  return Error::success();
}

void Batches::describe(DataAttributes &settings) const {
  settings["batch"] = std::to_string(options.size);
  settings["shuffle"] = options.shuffle ? "yes" : "no";
  settings["seed"] = std::to_string(options.seed);
  for (const Source &source : sources)
    settings["data " + source.name] =
        describeType(source.data.getKind(), source.data.getSizes());
}

} // namespace mp
