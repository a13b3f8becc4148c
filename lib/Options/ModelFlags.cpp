//===- ModelFlags.cpp - Flags to read and compile a model -----------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Options/ModelFlags.h"

#include "mp-opt/API/Model/DataSet.h"
#include "mp-opt/API/Run/InferenceMode.h"
#include "mp-opt/API/Train/TrainedModel.h"
#include "mp-opt/Codegen/Host/HostTarget.h"
#include "mp-opt/Execution/PresentDevice.h"
#include "mp-opt/Graph/ValueSizes.h"
#include "mp-opt/Options/InputFlags.h"
#include "mp-opt/Options/OptionGroups.h"

using namespace mlir;
using llvm::Expected;

namespace mp {

/// Names of device models are only valid for estimates.
void ModelFlags::addDevice(FlagTable &flags) {
  Flag &row =
      addDeviceFlag(flags, "where the model runs", [this](DeviceKind kind) {
        device = kind;
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

static llvm::Error usage(const Twine &text) {
  return makeError({ErrorKind::Usage, text.str()});
}

llvm::Error ModelFlags::chooseEstimated() {
  constexpr llvm::StringLiteral purpose =
      "--dry-run estimates what a GPU takes: ";
  if (!deviceModel && device != DeviceKind::CUDA)
    return usage(purpose + "expected --device=cuda:NAME, NAME out of " +
                 listDeviceModels() + ", got " + stringifyDevice(device));
  Expected<DeviceModel> chosen =
      deviceModel ? chooseDeviceModel(*deviceModel) : findPresentDevice();
  if (chosen) {
    estimated = std::move(*chosen);
    return llvm::Error::success();
  }
  std::string why = toString(chosen.takeError());
  if (deviceModel)
    return usage(purpose + "--device=cuda:NAME: " + why);
  return usage(purpose + "expected --device=cuda:NAME, NAME out of " +
               listDeviceModels() +
               ", got cuda, the GPU of this machine: " + why);
}

llvm::Error ModelFlags::checkDevice() {
  if (isEstimated)
    if (llvm::Error failed = chooseEstimated())
      return failed;
  if (!isEstimated && deviceModel)
    return usage("--device=cuda:" + *deviceModel +
                 ": only `mp-run bench --dry-run` takes names of "
                 "GPUs, what runs takes cpu, cuda or emulated");
  if (std::optional<std::string> misfit = findMisfit(fp32Products, device))
    return usage(*misfit);
  return llvm::Error::success();
}

void ModelFlags::addTo(FlagTable &flags) {
  flags.beginGroup("Model");
  flags.add("threads", threads, "threads", /*least=*/1, /*most=*/65536)
      .foreignNames = {"num-threads", "jobs"};
  flags.add("dim", dims, "sizes of symbolic dimensions", "NAME=SIZE");
  flags.addChoice("kernels", kernels, "how 16-bit operands are multiplied",
                  getKernelWords());
  addDevice(flags);
  flags.addChoice("fp32-products", "how a GPU multiplies fp32 by fp32",
                  getFP32ProductsWords(),
                  [this](size_t word) { fp32Products = FP32Products(word); });
  flags.add("excess-precision", excessPrecision,
            "drop roundings of 16-bit products that only fp32 nodes read");
  flags.add("in-place", inPlace, "write next states over their inputs");
  addPrecisionFlags(flags, bf16, fp16, precision,
                    "convert the model first, as mp-opt does");
  flags.add("schemas", schemas, "operators of further domains", "FILE");
  flags.add("external-data-root", roots,
            "folder that links of external data may lead to", "DIR");
  addCheck(flags, "model-check", check);
  Flag &where =
      flags.add("cache", cache, "where compiled code is kept", "WHERE");
  where.expected = "on, off or a folder with a slash in its name";
  where.words = {"on", "off"};
  flags.add("mlir-timing", isTimed, "print the times of compilation");
}

llvm::Error ModelFlags::apply(DialectRegistry &registry, StringRef title) {
  program = title.str();
  if ((bf16 || precision == "bf16") && (fp16 || precision == "fp16"))
    return usage("--mixed-bf16 and --mixed-fp16 exclude each other");
  if (llvm::Error failed = checkDevice())
    return failed;
  Expected<Target> host = getHostTarget(llvm::cantFail(parseKernels(kernels)));
  if (!host)
    return host.takeError();
  target = *host;
  if (llvm::Error failed = parseDimensions(dims, sizes))
    return usage("--dim: " + toString(std::move(failed)));
  if (llvm::Error failed = checkRoots(roots))
    return usage(toString(std::move(failed)));
  auto cacheOptions = CodeCacheOptions::parse(cache);
  if (!cacheOptions)
    return usage(toString(cacheOptions.takeError()));
  codeCache = std::make_unique<CodeCache>(std::move(*cacheOptions), program);
  if (isTimed) {
    timer.setEnabled(true);
    timing = std::make_unique<TimingScope>(timer.getRootScope());
  }
  if (llvm::Error failed = addSchemas(schemas, registry))
    return failed;
  if (threads)
    setNumThreads(unsigned(threads));
  return llvm::Error::success();
}

CompileOptions ModelFlags::getOptions() const {
  CompileOptions options;
  options.dims = sizes;
  options.target = target;
  options.device = device;
  options.fp32Products = fp32Products;
  options.excessPrecision = excessPrecision;
  options.updateInPlace = inPlace;
  options.keepTimes = keepTimes;
  options.cache = codeCache.get();
  options.title = showsCompiling ? program : std::string();
  options.timing = timing.get();
  return options;
}

ModelOptions ModelFlags::getModelOptions(MessageFn onMessage) const {
  ModelOptions options;
  options.externalDataRoots = roots;
  options.check = check;
  options.timing = timing.get();
  options.onMessage = std::move(onMessage);
  return options;
}

/// Called before the precision of the model is decided, since states are fp32.
llvm::Error ModelFlags::takeStates(Model &model,
                                   const MessageFn &onMessage) const {
  auto read = readTensors(states, [&](const Twine &text) {
    if (onMessage)
      onMessage(states, DiagnosticSeverity::Warning, text);
  });
  if (!read)
    return read.takeError();
  if (llvm::Error failed = setInitializers(model, *read))
    return prefixError(states, std::move(failed));
  useInferenceMode(model.getModule());
  return llvm::Error::success();
}

llvm::Error ModelFlags::prepare(Model &model, StringRef precision,
                                const llvm::StringMap<int64_t> &dims,
                                bool hasDims) {
  if (hasDims)
    if (llvm::Error failed = model.checkDimensions(dims))
      return failed;
  return model.mix(precision, dims);
}

Expected<std::unique_ptr<Model>>
ModelFlags::read(StringRef path, const DialectRegistry &registry,
                 StringRef precision, MessageFn onMessage, bool hasDims) const {
  return read(path, registry, precision, sizes, std::move(onMessage), hasDims);
}

Expected<std::unique_ptr<Model>>
ModelFlags::read(StringRef path, const DialectRegistry &registry,
                 StringRef precision, const llvm::StringMap<int64_t> &dims,
                 MessageFn onMessage, bool hasDims) const {
  auto model = Model::read(path, registry, getModelOptions(onMessage));
  if (!model)
    return model;
  if (!states.empty())
    if (llvm::Error failed = takeStates(**model, onMessage))
      return failed;
  if (llvm::Error failed = prepare(**model, precision, dims, hasDims))
    return failed;
  return model;
}

} // namespace mp
