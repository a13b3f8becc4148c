//===- Commands.cpp - What the commands of mp-run share -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "Message.h"

#include "mp-opt/API/Train/TrainingStep.h"
#include "mp-opt/Support/AtomicFile.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using llvm::Expected;

namespace mp {

int reportError(llvm::Error error) {
  return reportError("mp-run", std::move(error));
}

int report(const Flags &flags, llvm::Error error) {
  ErrorDetails details = takeDetails(std::move(error));
  return details.kind == ErrorKind::Usage
             ? flags.usageError(details.text)
             : reportError(makeError(std::move(details)));
}

void sayOfModel(StringRef name, DiagnosticSeverity severity,
                const Twine &text) {
  printMessage(name.empty() ? "mp-run" : name, severity, text);
}

int finishOutput(int code) {
  llvm::Error failed = flushStandardOutput();
  return failed ? reportError(std::move(failed)) : code;
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

/// Reads NAME=FILE; the file has one tensor.
static Expected<NamedTensor> readInput(StringRef text, std::string &version) {
  // The text is split at the last "=": names contain colons and dots more often
  // than files contain "=".
  auto [name, path] = text.rsplit('=');
  if (name.empty() || path.empty())
    return llvm::createStringError("--input: expected NAME=FILE, got '" + text +
                                   "'");
  version = describeVersion(path);
  return readTensor(name, path);
}

/// Reads NAME:FILE:float32[32,784].
static Expected<NamedTensor> readRaw(StringRef text, std::string &version) {
  auto [rest, type] = text.rsplit(':');
  auto [name, path] = rest.rsplit(':');
  ElementKind kind;
  SmallVector<int64_t> sizes;
  if (name.empty() || path.empty() || !parseTensorType(type, kind, sizes))
    return llvm::createStringError(
        "--raw: expected NAME:FILE:TYPE[SIZES] such as "
        "x:x.bin:float32[?,784], got '" +
        text + "'");
  version = describeVersion(path);
  return readRawTensor(name, path, kind, sizes);
}

void DataFlags::addTo(Flags &flags) {
  flags.beginGroup("Inputs");
  flags.add("input", inputs, "one input from an .npy or .pb file", "NAME=FILE");
  flags.add("raw", raw, "one input from a file of plain elements",
            "NAME:FILE:TYPE[SIZES]");
  flags
      .addOptional("random", "random numbers for missing inputs", "SEED",
                   [this](StringRef text) {
                     seed = 0;
                     return text.empty() || !text.getAsInteger(10, *seed);
                   })
      .expected = "a number";
}

Expected<DataSet> DataFlags::read(StringRef path) const {
  Expected<DataSet> data = path.empty() ? DataSet() : readDataSet(path);
  if (!data)
    return data;
  std::vector<std::string> versions;
  if (!path.empty())
    versions.push_back(data->version);
  for (auto [texts, read] :
       {std::pair(&inputs, &readInput), std::pair(&raw, &readRaw)})
    for (StringRef text : *texts) {
      Expected<NamedTensor> named = read(text, versions.emplace_back());
      if (!named)
        return named.takeError();
      data->inputs.push_back(std::move(*named));
    }
  data->version =
      llvm::is_contained(versions, "") ? "" : llvm::join(versions, ",");
  if (data->isPositional && (!inputs.empty() || !raw.empty()))
    return llvm::createStringError(path +
                                   ": its tensors have no names; --input "
                                   "cannot add to them");
  return data;
}

void noteThreads(uint64_t wished) {
  if (wished > getNumThreads())
    printMessage("mp-run", DiagnosticSeverity::Note,
                 "--threads=" + Twine(wished) + ": " + Twine(getNumThreads()) +
                     (getNumThreads() == 1 ? " is" : " are") +
                     " used, one per processor that there is for this process");
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

void SessionFlags::addTo(Flags &flags) {
  model.addTo(flags);
  data.addTo(flags);
}

std::optional<int> SessionFlags::parse(Flags &flags, Arguments arguments,
                                       DialectRegistry &registry) {
  if (std::optional<int> code = flags.parse(arguments, files))
    return code;
  if (files.empty() || files.size() > 2)
    return flags.usageError("expected a model and, perhaps, its data, got " +
                            Twine(files.size()) + " files");
  if (llvm::Error failed = model.apply(registry, "mp-run"))
    return report(flags, std::move(failed));
  noteThreads(model.threads);
  return std::nullopt;
}

/// Makes the labels the only expected values of the outputs. A model with a
/// loss has them as an input, too.
static llvm::Error takeLabels(StringRef name, Model &model,
                              const CompileOptions &options, DataSet &data) {
  auto place = llvm::find_if(data.inputs, [&](const NamedTensor &named) {
    return named.name == name;
  });
  if (place == data.inputs.end())
    return llvm::createStringError("the data have no labels '" + name +
                                   "'; --accuracy=NAME names them");
  data.expected = {*place};
  auto inputs = model.getInputs(options.dims);
  if (!inputs)
    return inputs.takeError();
  if (llvm::none_of(*inputs, [&](auto &input) { return input.name == name; }))
    data.inputs.erase(place);
  return llvm::Error::success();
}

Expected<std::unique_ptr<Model>>
SessionFlags::read(const DialectRegistry &registry, StringRef precision,
                   const llvm::StringMap<int64_t> &dims, MessageFn say) const {
  auto loaded = model.read(files[0], registry, precision, dims, std::move(say));
  if (loaded && likeTraining)
    if (llvm::Error failed = computeLikeTraining(**loaded, dims))
      return std::move(failed);
  return loaded;
}

Expected<Session> SessionFlags::open(const DialectRegistry &registry,
                                     DataSet &to) const {
  auto loaded = read(registry, model.getPrecision(), model.sizes, sayOfModel);
  if (!loaded)
    return loaded.takeError();
  auto given = data.read(files.size() > 1 ? StringRef(files[1]) : "");
  if (!given)
    return given.takeError();
  to = std::move(*given);
  CompileOptions options = model.getOptions();
  if (!labels.empty())
    if (llvm::Error failed = takeLabels(labels, **loaded, options, to))
      return failed;
  options.keepReductions = keepReductions;
  return Session::create(std::move(*loaded), to,
                         {std::move(options), {data.seed, sayOfModel}});
}

Expected<DevicePlan> SessionFlags::plan(const DialectRegistry &registry) const {
  auto loaded = read(registry, model.getPrecision(), model.sizes, sayOfModel);
  if (!loaded)
    return loaded.takeError();
  CompileOptions options = model.getOptions();
  auto given = data.read(files.size() > 1 ? llvm::StringRef(files[1]) : "");
  if (!given)
    return given.takeError();
  if (!given->inputs.empty() || data.seed) {
    auto inputs = (*loaded)->getInputs(options.dims);
    if (!inputs)
      return inputs.takeError();
    auto bound = bindInputs(*inputs, *given, {data.seed, sayOfModel});
    if (!bound)
      return bound.takeError();
    addSizes(*inputs, *bound, options);
  }
  return (*loaded)->plan(options, model.estimated->chip);
}

} // namespace mp
