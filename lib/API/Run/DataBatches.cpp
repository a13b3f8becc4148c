//===- DataBatches.cpp - Several batches of input data --------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/API/Run/DataBatches.h"

#include "mp-opt/API/Model/DataRules.h"
#include "mp-opt/API/Model/InputFit.h"
#include "mp-opt/Data/Convert.h"
#include "mp-opt/Support/Directory.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <optional>

using namespace llvm;

namespace mp {

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Splits at commas, except between brackets and in names of files that exist.
static void splitPaths(StringRef text, std::vector<std::string> &to) {
  size_t open = 0, start = 0;
  if (sys::fs::exists(text)) {
    to.push_back(text.str());
    return;
  }
  for (size_t at = 0; at <= text.size(); ++at) {
    char c = at < text.size() ? text[at] : ',';
    open += c == '[';
    open -= c == ']' && open;
    if (c != ',' || (open && at < text.size()))
      continue;
    if (at > start)
      to.push_back(text.slice(start, at).trim().str());
    start = at + 1;
  }
}

static bool isDataFile(StringRef name) {
  return name.ends_with(".npz") || name.ends_with(".safetensors") ||
         name.ends_with(".npy");
}

/// Adds the folder itself if it has the inputs of one data set, otherwise the
/// folders and files in it.
static Error addFolder(StringRef path, std::vector<std::string> &to) {
  auto fail = [&](std::error_code code) {
    return createStringError(path + ": cannot read it: " + code.message());
  };
  ErrorOr<Directory> opened = Directory::open(path);
  if (!opened)
    return fail(opened.getError());
  auto names = opened->list();
  if (!names)
    return fail(names.getError());
  if (llvm::is_contained(*names, "input_0.pb")) {
    to.push_back(path.str());
    return Error::success();
  }
  llvm::sort(*names, [](StringRef a, StringRef b) {
    int order = a.compare_numeric(b);
    return order ? order < 0 : a < b;
  });
  size_t before = to.size();
  for (StringRef name : *names) {
    SmallString<128> inner(path);
    sys::path::append(inner, name);
    bool isSet =
        sys::fs::is_directory(inner) && sys::fs::exists(inner + "/input_0.pb");
    if (isSet || (isDataFile(name) && sys::fs::is_regular_file(inner)))
      to.push_back(inner.str().str());
  }
  if (to.size() == before)
    return createStringError(
        path + ": expected files such as 'input_0.pb' in it, folders such as "
               "'test_data_set_0', or .npz, .safetensors or .npy files");
  return Error::success();
}

/// Reads NAME=FILE or NAME:FILE:TYPE[SIZES]; absent if it has neither form.
static Expected<std::optional<NamedTensor>> readInputFile(StringRef text) {
  auto [rest, type] = text.rsplit(':');
  auto [rawName, rawPath] = rest.rsplit(':');
  ElementKind kind;
  SmallVector<int64_t> sizes;
  std::optional<NamedTensor> found;
  auto take = [&](Expected<NamedTensor> read) -> Error {
    if (read)
      found = std::move(*read);
    return read.takeError();
  };
  Error failed = Error::success();
  if (!rawName.empty() && !rawPath.empty() &&
      parseTensorType(type, kind, sizes))
    failed = take(readRawTensor(rawName, rawPath, kind, sizes));
  else if (auto [name, path] = text.rsplit('='); !name.empty() && !path.empty())
    failed = take(readTensor(name, path));
  if (failed)
    return failed;
  return found;
}

//===----------------------------------------------------------------------===//
// Batches of one file
//===----------------------------------------------------------------------===//

namespace {

/// Parts of a tensor that are the batches of an input.
enum class BatchForm : uint8_t { Same, Batches, Rows };

/// Divides the tensors of one file.
class BatchCutter {
public:
  BatchCutter(DataSet &data, ArrayRef<ModelValue> inputs,
              const DataBatchOptions &options)
      : data(data), inputs(inputs), options(options) {}

  /// Names tensors that are given by position, and finds the form of each.
  Error analyze();
  uint64_t getCount() const { return count; }
  DataSet get(uint64_t batch) const;

private:
  struct Part {
    NamedTensor named;
    BatchForm form = BatchForm::Same;
    /// Rows in a batch.
    int64_t rows = 0;
  };

  const ModelValue *find(StringRef name) const;
  Error nameTensors();
  Error findForm(Part &part, const ModelValue &input);
  Error refuse(const ModelValue &input, const Tensor &tensor) const;
  Error agree(const Part &part, uint64_t found);
  Error countBatches();
  bool hasOpenRows() const;
  void cutOpenRows();

  DataSet &data;
  ArrayRef<ModelValue> inputs;
  const DataBatchOptions &options;
  std::vector<Part> parts;
  /// The part that set `count`.
  const Part *counted = nullptr;
  uint64_t count = 1;
};

} // namespace

const ModelValue *BatchCutter::find(StringRef name) const {
  auto input = llvm::find_if(
      inputs, [&](const ModelValue &input) { return input.name == name; });
  return input == inputs.end() ? nullptr : &*input;
}

Error BatchCutter::nameTensors() {
  if (!data.isPositional)
    return Error::success();
  if (data.inputs.size() > inputs.size())
    return createStringError("it has " + Twine(data.inputs.size()) +
                             " inputs, the model " + Twine(inputs.size()));
  for (auto [named, input] : llvm::zip(data.inputs, inputs))
    named.name = input.name;
  data.isPositional = false;
  return Error::success();
}

Error BatchCutter::refuse(const ModelValue &input, const Tensor &tensor) const {
  return createStringError(
      "input '" + input.name + "': expected " + input.describe() +
      ", rows or batches of it, found " +
      describeArray(tensor.getKind(), tensor.getSizes()) +
      adviseForm(input, tensor.getKind(), tensor.getSizes()));
}

/// True if the sizes from `skip` on are those of the input.
static bool hasSizes(ArrayRef<int64_t> sizes, const ModelValue &input,
                     size_t skip) {
  ArrayRef<int64_t> expected = ArrayRef(input.sizes).drop_front(skip);
  return sizes.size() == expected.size() &&
         llvm::all_of(llvm::zip(sizes, expected), [](auto pair) {
           auto [found, expected] = pair;
           return expected < 0 || found == expected;
         });
}

Error BatchCutter::findForm(Part &part, const ModelValue &input) {
  const Tensor &tensor = part.named.tensor;
  ArrayRef<int64_t> sizes = tensor.getSizes();
  size_t rank = input.sizes.size();
  if (hasSizes(sizes, input, 0))
    return Error::success();
  if (sizes.size() == rank + 1 && hasSizes(sizes.drop_front(), input, 0)) {
    part.form = BatchForm::Batches;
    return Error::success();
  }
  if (sizes.size() != rank || rank == 0 || input.sizes[0] < 1 ||
      !hasSizes(sizes.drop_front(), input, 1))
    return refuse(input, tensor);
  if (sizes[0] < input.sizes[0])
    return createStringError("input '" + input.name + "' has " +
                             Twine(sizes[0]) + " rows, less than a batch of " +
                             Twine(input.sizes[0]));
  part.form = BatchForm::Rows;
  part.rows = input.sizes[0];
  return Error::success();
}

Error BatchCutter::agree(const Part &part, uint64_t found) {
  if (counted && found != count)
    return createStringError("input '" + part.named.name + "' has " +
                             Twine(found) + " batches, '" +
                             counted->named.name + "' has " + Twine(count));
  counted = &part;
  count = found;
  return Error::success();
}

Error BatchCutter::countBatches() {
  for (const Part &part : parts) {
    if (part.form == BatchForm::Same)
      continue;
    int64_t size = part.named.tensor.getSizes()[0];
    bool isRows = part.form == BatchForm::Rows;
    if (Error failed = agree(part, isRows ? size / part.rows : size))
      return failed;
  }
  if (count == 0)
    return createStringError("input '" + counted->named.name +
                             "' has zero batches: " +
                             describeArray(counted->named.tensor.getKind(),
                                           counted->named.tensor.getSizes()));
  for (const Part &part : parts)
    if (part.named.tensor.getNumElements() == 0)
      return createStringError("input '" + part.named.name +
                               "' has no elements: " +
                               describeArray(part.named.tensor.getKind(),
                                             part.named.tensor.getSizes()));
  return Error::success();
}

/// True if the first dimension of inputs is one of rows: it is open, it is no
/// other dimension of any input, and one of these inputs has more than it. A
/// sequence alone, or a mask [seq, seq], is not cut. Without a name, it must be
/// the only open one.
bool BatchCutter::hasOpenRows() const {
  bool hasMore = false;
  std::optional<int64_t> rows;
  StringSet<> firstNames;
  for (const Part &part : parts) {
    const ModelValue &input = *find(part.named.name);
    if (input.sizes.empty() || input.sizes[0] >= 0)
      continue;
    int64_t size = part.named.tensor.getSizes()[0];
    if (rows && *rows != size)
      return false;
    rows = size;
    hasMore |= input.sizes.size() > 1;
    if (!input.dimNames.empty() && !input.dimNames[0].empty())
      firstNames.insert(input.dimNames[0]);
    else if (llvm::any_of(ArrayRef(input.sizes).drop_front(),
                          [](int64_t other) { return other < 0; }))
      return false;
  }
  for (const ModelValue &input : inputs)
    for (StringRef name :
         ArrayRef(input.dimNames)
             .drop_front(std::min<size_t>(1, input.dimNames.size())))
      if (firstNames.contains(name))
        return false;
  return hasMore && rows && uint64_t(*rows) > options.rows &&
         firstNames.size() < 2;
}

void BatchCutter::cutOpenRows() {
  for (Part &part : parts) {
    const ModelValue &input = *find(part.named.name);
    if (input.sizes.empty() || input.sizes[0] >= 0)
      continue;
    part.form = BatchForm::Rows;
    part.rows = int64_t(options.rows);
  }
}

Error BatchCutter::analyze() {
  if (Error failed = nameTensors())
    return failed;
  for (const NamedTensor &named : data.inputs) {
    const ModelValue *input = find(named.name);
    if (!input)
      continue;
    Part part{named};
    if (Error failed = findForm(part, *input))
      return failed;
    parts.push_back(std::move(part));
  }
  bool areAlike = llvm::all_of(
      parts, [](const Part &part) { return part.form == BatchForm::Same; });
  if (areAlike && options.rows && hasOpenRows())
    cutOpenRows();
  return countBatches();
}

DataSet BatchCutter::get(uint64_t batch) const {
  DataSet set;
  set.path = data.path;
  set.version = data.version;
  // Expected outputs belong to the data as a whole.
  if (!counted)
    set.expected = data.expected;
  for (const NamedTensor &named : data.inputs)
    if (!find(named.name))
      set.inputs.push_back(named);
  for (const Part &part : parts) {
    const Tensor &whole = part.named.tensor;
    if (part.form == BatchForm::Same) {
      set.inputs.push_back(part.named);
      continue;
    }
    bool isRows = part.form == BatchForm::Rows;
    SmallVector<int64_t> sizes(whole.getSizes());
    if (isRows)
      sizes[0] = part.rows;
    else
      sizes.erase(sizes.begin());
    Tensor cut(whole.getKind(), sizes, nullptr, nullptr);
    auto *bytes = static_cast<char *>(whole.getData());
    set.inputs.push_back(
        {part.named.name,
         Tensor(whole.getKind(), sizes, bytes + batch * cut.getNumBytes(),
                std::make_shared<Tensor>(whole))});
  }
  return set;
}

//===----------------------------------------------------------------------===//
// All batches
//===----------------------------------------------------------------------===//

namespace {

class BatchReader {
public:
  BatchReader(ArrayRef<ModelValue> inputs, const DataBatchOptions &options)
      : inputs(inputs), options(options) {}

  Error run(ArrayRef<std::string> texts);
  std::vector<DataSet> take() { return std::move(batches); }

private:
  Error findSources(ArrayRef<std::string> texts);
  Error addBatches(DataSet data, size_t sourcesLeft);
  Error addBound(DataSet data);

  ArrayRef<ModelValue> inputs;
  const DataBatchOptions &options;
  std::vector<std::string> files;
  /// Inputs from files of their own.
  DataSet single;
  std::vector<DataSet> batches;
};

} // namespace

Error BatchReader::findSources(ArrayRef<std::string> texts) {
  std::vector<std::string> paths;
  for (const std::string &text : texts)
    splitPaths(text, paths);
  if (paths.empty())
    return createStringError("expected a file or folder of data");
  for (const std::string &path : paths) {
    if (sys::fs::is_directory(path)) {
      if (Error failed = addFolder(path, files))
        return failed;
      continue;
    }
    if (!sys::fs::exists(path)) {
      auto named = readInputFile(path);
      if (!named)
        return named.takeError();
      if (*named) {
        single.inputs.push_back(std::move(**named));
        continue;
      }
    }
    files.push_back(path);
  }
  return Error::success();
}

/// Completes and checks a batch, in the types of the inputs.
Error BatchReader::addBound(DataSet data) {
  BindingOptions binding;
  // Messages about all batches of a file are the same.
  if (batches.empty() || batches.back().path != data.path)
    binding.onMessage = options.onMessage;
  auto bound = bindInputs(inputs, data, binding);
  if (!bound)
    return bound.takeError();
  data.inputs.clear();
  for (auto [input, tensor] : llvm::zip(inputs, *bound))
    if (tensor.getData())
      data.inputs.push_back({input.name, tensor});
  batches.push_back(std::move(data));
  return Error::success();
}

Error BatchReader::addBatches(DataSet data, size_t sourcesLeft) {
  BatchCutter cutter(data, inputs, options);
  if (Error failed = cutter.analyze())
    return data.path.empty() ? std::move(failed)
                             : prefixError(data.path, std::move(failed));
  uint64_t count = cutter.getCount(), taken = count;
  if (options.limit) {
    uint64_t room = options.limit - batches.size();
    taken = std::min<uint64_t>(count, divideCeil(room, sourcesLeft));
  }
  for (uint64_t i = 0; i < taken; ++i)
    if (Error failed = addBound(cutter.get(i * count / taken)))
      return failed;
  return Error::success();
}

Error BatchReader::run(ArrayRef<std::string> texts) {
  if (Error failed = findSources(texts))
    return failed;
  size_t left = files.size() + !single.inputs.empty();
  if (!single.inputs.empty())
    if (Error failed = addBatches(std::move(single), left--))
      return failed;
  for (const std::string &file : files) {
    if (options.limit && batches.size() >= options.limit)
      break;
    Expected<DataSet> data = readDataSet(file);
    if (!data)
      return data.takeError();
    if (Error failed = addBatches(std::move(*data), left--))
      return failed;
  }
  return Error::success();
}

Expected<std::vector<DataSet>>
readDataBatches(ArrayRef<std::string> paths, ArrayRef<ModelValue> inputs,
                const DataBatchOptions &options) {
  BatchReader reader(inputs, options);
  if (Error failed = reader.run(paths))
    return failed;
  return reader.take();
}

Error checkDataBatches(ArrayRef<DataSet> batches, mlir::ModuleOp module) {
  StringMap<DataRule> rules = findDataRules(module);
  for (auto [number, batch] : llvm::enumerate(batches))
    for (const NamedTensor &named : batch.inputs) {
      auto rule = rules.find(named.name);
      uint64_t elements = uint64_t(named.tensor.getNumElements());
      if (rule == rules.end())
        continue;
      if (DataFault fault = findFault(named.tensor, rule->second, 0, elements))
        return createStringError(
            (batch.path.empty() ? "" : batch.path + ": ") + "batch " +
            Twine(number) + ": " +
            describeFault(named, rule->second, fault, /*areBatches=*/false));
    }
  return Error::success();
}

} // namespace mp
