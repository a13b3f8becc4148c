//===- Batches.cpp - Training data, a batch at a time ---------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Train/Batches.h"

#include "mp-opt/API/Model/InputFit.h"
#include "mp-opt/Data/Convert.h"
#include "mp-opt/Support/Nearest.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>
#include <numeric>
#include <random>

using namespace llvm;

namespace mp {

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Reports inputs of the step that have no data, together with unused data.
static Error reportMissing(ArrayRef<const ModelValue *> missing,
                           const std::vector<std::string> &unused,
                           const DataSet &data) {
  std::string text, meant;
  raw_string_ostream os(text);
  os << "missing: ";
  ListSeparator comma;
  for (const ModelValue *input : missing) {
    os << comma << input->name << " (batches or rows of " << input->describe()
       << ")";
    StringRef nearest = findNearest(input->name, unused);
    if (!nearest.empty())
      meant +=
          ("; is '" + nearest + "' meant to be '" + input->name + "'?").str();
  }
  os << "; the data have: ";
  ListSeparator next;
  for (const NamedTensor &named : data.inputs)
    os << next << named.name;
  if (data.inputs.empty())
    os << "nothing";
  return createStringError(text + meant);
}

void Batches::noteUnused(const TrainingStep &step,
                         const std::vector<std::string> &unused) {
  std::vector<StringRef> open;
  for (auto [index, input] : llvm::enumerate(step.inputs))
    if (!step.isState[index])
      open.push_back(input.name);
  for (const std::string &name : unused) {
    auto input = llvm::find_if(step.inputs, [&](const ModelValue &known) {
      return known.name == name;
    });
    if (input == step.inputs.end())
      remarks.warnings.push_back("'" + name +
                                 "' is not used: the step has no "
                                 "such input" +
                                 suggestNearest(name, open));
    else
      remarks.warnings.push_back("'" + name +
                                 "' is not used: it is a state of "
                                 "the step, with which --init=FILE can start");
  }
}

Error Batches::addSources(const TrainingStep &step, const DataSet &data) {
  if (data.isPositional)
    return createStringError("its tensors have no names: expected an .npz or "
                             ".safetensors file with those of the inputs");
  std::vector<bool> isGiven(step.inputs.size());
  std::vector<std::string> unused;
  for (const auto &[name, tensor] : data.inputs) {
    auto known = llvm::find_if(step.inputs, [&name = name](auto &input) {
      return input.name == name;
    });
    size_t place = known - step.inputs.begin();
    if (known == step.inputs.end() || step.isState[place]) {
      unused.push_back(name);
      continue;
    }
    if (isGiven[place])
      return createStringError("input '" + name + "' is given twice");
    isGiven[place] = true;
    sources.push_back({unsigned(place), name, tensor, {}, {}, {}});
  }
  SmallVector<const ModelValue *> missing;
  for (auto [index, input] : llvm::enumerate(step.inputs))
    if (!isGiven[index] && !input.hasDefault)
      missing.push_back(&input);
  if (!missing.empty())
    return reportMissing(missing, unused, data);
  if (sources.empty())
    return createStringError("there are no data for any input");
  noteUnused(step, unused);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Sizes and types
//===----------------------------------------------------------------------===//

/// "float32[256,3]".
static std::string describeData(const Tensor &data) {
  return describeArray(data.getKind(), data.getSizes());
}

static Error refuseForm(const ModelValue &input, const Tensor &data) {
  return createStringError("input '" + input.name +
                           "': expected batches or rows of " +
                           input.describe() + ", found " + describeData(data) +
                           adviseForm(input, data.getKind(), data.getSizes()));
}

/// Some data are rows, and others have one axis more. If a call of numpy makes
/// rows of one of these, that one most likely has another form than its input.
Error Batches::refuseMixture(ArrayRef<ModelValue> inputs) {
  auto areRows = [&](const Source &source) {
    return source.data.getRank() == int64_t(inputs[source.input].sizes.size());
  };
  for (const Source &source : sources) {
    const ModelValue &input = inputs[source.input];
    const Tensor &data = source.data;
    if (!areRows(source) &&
        !adviseForm(input, data.getKind(), data.getSizes()).empty())
      return refuseForm(input, data);
  }
  const Source &first = sources.front();
  const Source &other = *llvm::find_if(sources, [&](const Source &source) {
    return areRows(source) != areRows(first);
  });
  return createStringError(
      "input '" + other.name + "': " + describeData(other.data) + " are " +
      (areRows(first) ? "batches, but '" : "rows, but '") + first.name +
      "' has " + (areRows(first) ? "rows" : "batches"));
}

/// Rows with an axis too many look like batches.
Error Batches::refuseRows(ArrayRef<ModelValue> inputs) {
  for (const Source &source : sources) {
    const ModelValue &input = inputs[source.input];
    const Tensor &data = source.data;
    Tensor batch(data.getKind(), data.getSizes().drop_front(), nullptr,
                 nullptr);
    if (Error failed = checkSizes(input, batch)) {
      consumeError(std::move(failed));
      if (!adviseForm(input, data.getKind(), data.getSizes()).empty())
        return refuseForm(input, data);
    }
  }
  return Error::success();
}

Error Batches::findForm(ArrayRef<ModelValue> inputs) {
  for (const Source &source : sources) {
    const ModelValue &input = inputs[source.input];
    int64_t rank = int64_t(input.sizes.size()), given = source.data.getRank();
    if (given == 0 || (given != rank && given != rank + 1))
      return refuseForm(input, source.data);
  }
  bool first = true;
  for (const Source &source : sources) {
    int64_t rank = int64_t(inputs[source.input].sizes.size());
    bool areRows = source.data.getRank() == rank;
    if (!first && isByRow != areRows)
      return refuseMixture(inputs);
    isByRow = areRows;
    uint64_t size = source.data.getSizes()[0];
    if (!first && size != rows)
      return createStringError("input '" + source.name + "' has " +
                               Twine(size) + (isByRow ? " rows" : " batches") +
                               ", '" + sources[0].name + "' has " +
                               Twine(rows));
    rows = size;
    first = false;
  }
  return isByRow ? Error::success() : refuseRows(inputs);
}

Error Batches::chooseSize(ArrayRef<ModelValue> inputs) {
  if (!isByRow) {
    if (options.size)
      return createStringError("the data are batches already: --batch does not "
                               "apply");
    options.shuffle = false;
    count = rows / options.ranks;
  } else {
    // The model takes batches of one fixed size.
    for (const Source &source : sources)
      if (int64_t size = inputs[source.input].sizes[0];
          !options.size && size > 0)
        options.size = size;
    if (!options.size)
      return createStringError("the data are rows: --batch=N must say how many "
                               "make up a batch");
    count = rows / options.size / options.ranks;
  }
  if (count == 0 && options.ranks > 1)
    return createStringError(
        "the data have " + Twine(rows) +
        (isByRow ? " rows, less than a batch of " + Twine(options.size)
                 : Twine(" batches, less than one")) +
        " for each of " + Twine(options.ranks) + " ranks");
  if (count == 0)
    return createStringError(
        "the data have " + Twine(rows) +
        (isByRow ? " rows, less than a batch" : " batches"));
  return Error::success();
}

/// Converts elements to the input's type, which is known to be possible before
/// the first step. Large float64 that overflow in float are found together with
/// other non-finite numbers.
Error Batches::convert(Source &source, const ModelValue &input) {
  ElementKind given = source.data.getKind();
  if (given == input.kind)
    return Error::success();
  if (Error failed = checkKind(input, source.data))
    return failed;
  if (input.kind != ElementKind::Float)
    if (Error failed = checkElements(input, source.data))
      return failed;
  remarks.notes.push_back(describeConversion(input, given));
  // Class numbers are checked as integers, so all of them are converted at
  // once. They are few compared with the data that they label.
  bool areNumbers = isInteger(input.kind) && !isInteger(given);
  Expected<Tensor> room = Tensor::create(
      input.kind, areNumbers ? source.data.getSizes() : source.sizes);
  if (!room)
    return room.takeError();
  if (areNumbers) {
    copyElements(source.data, *room);
    source.data = std::move(*room);
  } else {
    source.converted = std::move(*room);
  }
  return Error::success();
}

/// Adds advice to the error if sequence labels do not fit: the step may take
/// the wrong axis of the scores for their classes.
static Error adviseClassAxis(const ModelValue &input, Error failed) {
  bool isLabels = StringRef(input.name).starts_with("labels") &&
                  isInteger(input.kind) && input.sizes.size() > 1;
  if (!failed || !isLabels)
    return failed;
  return createStringError(toString(std::move(failed)) +
                           "; the step takes axis 1 of the scores for their "
                           "classes: mp-opt --train --class-axis=-1 if the "
                           "last axis holds them");
}

Error Batches::makeRoom(Source &source, const ModelValue &input) {
  ArrayRef<int64_t> sizes = source.data.getSizes();
  source.sizes.assign(sizes.begin() + !isByRow, sizes.end());
  if (isByRow)
    source.sizes[0] = int64_t(options.size);
  Tensor batch(source.data.getKind(), source.sizes, nullptr, nullptr);
  if (Error failed = adviseClassAxis(input, checkSizes(input, batch)))
    return failed;
  if (Error failed = convert(source, input))
    return failed;
  if (!options.shuffle)
    return Error::success();
  Expected<Tensor> room = Tensor::create(source.data.getKind(), source.sizes);
  if (!room)
    return room.takeError();
  source.gathered = std::move(*room);
  return Error::success();
}

Error Batches::fill(const TrainingStep &step, const DataSet &data) {
  if (Error failed = addSources(step, data))
    return failed;
  if (Error failed = findForm(step.inputs))
    return failed;
  if (Error failed = chooseSize(step.inputs))
    return failed;
  for (Source &source : sources)
    if (Error failed = makeRoom(source, step.inputs[source.input]))
      return failed;
  return Error::success();
}

Expected<Batches> Batches::create(const TrainingStep &step, const DataSet &data,
                                  BatchOptions options) {
  Batches batches(options);
  Error failed = batches.fill(step, data);
  if (failed && !data.path.empty())
    return addContext(data.path, std::move(failed));
  if (failed)
    return failed;
  return batches;
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

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

/// The batch in the type that the data have.
Tensor Batches::getBatch(Source &source, uint64_t batch) {
  char *data = static_cast<char *>(source.data.getData());
  size_t rowBytes = source.data.getNumBytes() / std::max<uint64_t>(rows, 1);
  if (!options.shuffle) {
    uint64_t first = isByRow ? batch * options.size : batch;
    return Tensor(source.data.getKind(), source.sizes, data + first * rowBytes,
                  std::make_shared<Tensor>(source.data));
  }
  char *gathered = static_cast<char *>(source.gathered.getData());
  for (uint64_t row = 0; row < options.size; ++row)
    std::memcpy(gathered + row * rowBytes,
                data + order[batch * options.size + row] * rowBytes, rowBytes);
  return source.gathered;
}

Error Batches::load(uint64_t step, MutableArrayRef<Tensor> inputs,
                    function_ref<bool(unsigned input)> isWanted) {
  uint64_t number = step / count;
  uint64_t batch = step % count * options.ranks + options.rank;
  if (options.shuffle && epoch != number)
    shuffleRows(number);
  for (Source &source : sources) {
    if (isWanted && !isWanted(source.input))
      continue;
    Tensor loaded = getBatch(source, batch);
    if (source.converted.getData()) {
      copyElements(loaded, source.converted);
      loaded = source.converted;
    }
    inputs[source.input] = loaded;
  }
  return Error::success();
}

uint64_t Batches::getFirstSize() const {
  ArrayRef<int64_t> sizes = sources.front().sizes;
  return sizes.empty() ? 0 : uint64_t(sizes.front());
}

std::vector<NamedTensor> Batches::getTensors() const {
  std::vector<NamedTensor> tensors;
  for (const Source &source : sources)
    tensors.push_back({source.name, source.data});
  return tensors;
}

void Batches::describe(DataAttributes &settings) const {
  // The size counts the rows of all ranks.
  settings["batch"] = std::to_string(options.size * options.ranks);
  settings["shuffle"] = options.shuffle ? "yes" : "no";
  settings["seed"] = std::to_string(options.seed);
  for (const Source &source : sources)
    settings["data " + source.name] =
        describeType(source.data.getKind(), source.data.getSizes());
}

} // namespace mp
