//===- Commands.cpp - What the commands of mp-run share -------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "InputFlags.h"
#include "Message.h"

#include "mp-opt/Codegen/Host/HostTarget.h"
#include "mp-opt/Execution/DeviceModels.h"
#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Support/AtomicFile.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using llvm::Expected;

namespace mp {

int reportError(llvm::Error error) {
  return reportError("mp-run", std::move(error));
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
// Models
//===----------------------------------------------------------------------===//

/// Devices by their names are for estimates.
void ModelFlags::addDevice(Flags &flags) {
  Flag &row = flags.addChoice("device", "where the model runs",
                              getDeviceWords(), [this](size_t word) {
                                device = DeviceKind(word);
                                deviceModel.reset();
                              });
  row.set = [this, setKind = row.set](llvm::StringRef text) {
    if (!text.consume_front("cuda:"))
      return setKind(text);
    device = DeviceKind::CUDA;
    deviceModel = text.str();
    return true;
  };
}

std::optional<int> ModelFlags::checkDevice(const Flags &flags) const {
  if (isEstimated && (!deviceModel || !findDeviceModel(*deviceModel)))
    return flags.usageError(
        "--dry-run estimates what a GPU takes: expected "
        "--device=cuda:NAME, NAME out of " +
        listDeviceModels() + ", got " +
        (deviceModel ? "'" + *deviceModel + "'" : stringifyDevice(device)));
  if (!isEstimated && deviceModel)
    return flags.usageError("--device=cuda:" + *deviceModel +
                            ": only `mp-run bench --dry-run` takes names of "
                            "GPUs, what runs takes cpu, cuda or emulated");
  if (std::optional<std::string> misfit = findMisfit(fp32Products, device))
    return flags.usageError(*misfit);
  return std::nullopt;
}

void ModelFlags::addTo(Flags &flags) {
  flags.beginGroup("Model");
  flags.add("threads", threads, "threads", /*least=*/1, /*most=*/65536);
  flags.add("dim", dims, "sizes of symbolic dimensions", "NAME=SIZE");
  flags.addChoice("kernels", kernels, "how 16-bit operands are multiplied",
                  getKernelWords());
  addDevice(flags);
  flags.addChoice("fp32-products", "how a GPU multiplies fp32 by fp32",
                  getFP32ProductsWords(),
                  [this](size_t word) { fp32Products = FP32Products(word); });
  flags.add("in-place", inPlace, "write next states over their inputs");
  flags.add("mixed-bf16", bf16, "convert the model first, as mp-opt does")
      .synonyms = {"bf16"};
  flags.add("mixed-fp16", fp16, "the same with fp16").synonyms = {"fp16"};
  flags.addChoice("precision", precision, "--mixed-bf16 or --mixed-fp16",
                  {"bf16", "fp16"});
  flags.add("schemas", schemas, "operators of further domains", "FILE");
  flags.add("external-data-root", roots,
            "folder where external data may lie behind links", "DIR");
  addCheck(flags, "model-check", check);
  Flag &where =
      flags.add("cache", cache, "where compiled code is kept", "WHERE");
  where.expected = "on, off or a folder with a slash in its name";
  where.words = {"on", "off"};
  flags.add("mlir-timing", isTimed, "print where the time of compiling goes");
}

std::optional<int> ModelFlags::apply(const Flags &flags,
                                     DialectRegistry &registry) {
  if ((bf16 || precision == "bf16") && (fp16 || precision == "fp16"))
    return flags.usageError("--mixed-bf16 and --mixed-fp16 exclude each other");
  if (std::optional<int> code = checkDevice(flags))
    return code;
  Expected<Target> host = getHostTarget(llvm::cantFail(parseKernels(kernels)));
  if (!host)
    return reportError(host.takeError());
  target = *host;
  if (llvm::Error failed = parseDimensions(dims, sizes))
    return flags.usageError("--dim: " + toString(std::move(failed)));
  if (llvm::Error failed = checkRoots(roots))
    return flags.usageError(toString(std::move(failed)));
  auto cacheOptions = CodeCacheOptions::parse(cache);
  if (!cacheOptions)
    return flags.usageError(toString(cacheOptions.takeError()));
  codeCache = std::make_unique<CodeCache>(std::move(*cacheOptions), "mp-run");
  if (isTimed) {
    timer.setEnabled(true);
    timing = std::make_unique<TimingScope>(timer.getRootScope());
  }
  if (llvm::Error failed = addSchemas(schemas, registry))
    return reportError(std::move(failed));
  if (threads)
    setNumThreads(unsigned(threads));
  return std::nullopt;
}

CompileOptions ModelFlags::getOptions() const {
  CompileOptions options;
  options.dims = sizes;
  options.target = target;
  options.device = device;
  options.fp32Products = fp32Products;
  options.updateInPlace = inPlace;
  options.keepTimes = keepTimes;
  options.cache = codeCache.get();
  options.title = "mp-run";
  options.timing = timing.get();
  return options;
}

Expected<std::unique_ptr<Model>>
ModelFlags::read(StringRef path, const DialectRegistry &registry,
                 StringRef precision, bool hasDims) const {
  return read(path, registry, precision, sizes, sayOfModel, hasDims);
}

Expected<std::unique_ptr<Model>>
ModelFlags::read(StringRef path, const DialectRegistry &registry,
                 StringRef precision, const llvm::StringMap<int64_t> &dims,
                 MessageFn onMessage, bool hasDims) const {
  ModelOptions options;
  options.externalDataRoots = roots;
  options.check = check;
  options.timing = timing.get();
  options.onMessage = std::move(onMessage);
  auto model = Model::read(path, registry, std::move(options));
  if (!model)
    return model;
  if (hasDims)
    if (llvm::Error failed = (*model)->checkDimensions(dims))
      return failed;
  if (llvm::Error failed = (*model)->mix(precision, dims))
    return failed;
  return model;
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

/// NAME=FILE; the file has one tensor.
static Expected<NamedTensor> readInput(StringRef text, std::string &version) {
  // Names have colons and dots more often than files have equals signs.
  auto [name, path] = text.rsplit('=');
  if (name.empty() || path.empty())
    return llvm::createStringError("--input: expected NAME=FILE, got '" + text +
                                   "'");
  version = describeVersion(path);
  return readTensor(name, path);
}

/// NAME:FILE:float32[32,784].
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
      .addOptional("random", "random numbers for what is missing", "SEED",
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
  return model.apply(flags, registry);
}

Expected<Session> SessionFlags::open(const DialectRegistry &registry,
                                     DataSet &to) const {
  auto loaded = model.read(files[0], registry, model.getPrecision());
  if (!loaded)
    return loaded.takeError();
  auto read = data.read(files.size() > 1 ? StringRef(files[1]) : "");
  if (!read)
    return read.takeError();
  to = std::move(*read);
  return Session::create(std::move(*loaded), to,
                         {model.getOptions(), {data.seed, sayOfModel}});
}

Expected<DevicePlan> SessionFlags::plan(const DialectRegistry &registry) const {
  auto loaded = model.read(files[0], registry, model.getPrecision());
  if (!loaded)
    return loaded.takeError();
  CompileOptions options = model.getOptions();
  auto read = data.read(files.size() > 1 ? llvm::StringRef(files[1]) : "");
  if (!read)
    return read.takeError();
  if (!read->inputs.empty() || data.seed) {
    auto inputs = (*loaded)->getInputs(options.dims);
    if (!inputs)
      return inputs.takeError();
    auto bound = bindInputs(*inputs, *read, {data.seed, sayOfModel});
    if (!bound)
      return bound.takeError();
    addSizes(*inputs, *bound, options);
  }
  return (*loaded)->plan(options);
}

} // namespace mp
