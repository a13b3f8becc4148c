//===- OptionGroups.cpp - Flags of one thing each -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mp-opt/Options/OptionGroups.h"

#include "mp-opt/Execution/EmitPTX.h"
#include "mp-opt/Precision/Policy/InterfaceTypes.h"
#include "mp-opt/Precision/Policy/PolicyFile.h"
#include "mp-opt/Schema/RuntimeTable.h"
#include "mp-opt/Training/LossScaling.h"
#include "mp-opt/Training/Losses.h"
#include "mp-opt/Training/Optimizers.h"

using namespace llvm;

namespace mp {

//===----------------------------------------------------------------------===//
// Precision
//===----------------------------------------------------------------------===//

/// Flags that do not require --mixed-bf16 or a similar flag.
static constexpr StringRef alone[] = {
    "mixed-bf16",  "mixed-fp16",   "precision", "policy",  "emulate",
    "raise-opset", "gaudi-config", "dim",       "runtime", "dla",
    "io"};

void addPrecisionFlags(FlagTable &flags, bool &bf16, bool &fp16,
                       std::string &precision, StringRef help) {
  Flag &first = flags.add("mixed-bf16", bf16, help);
  first.synonyms = {"bf16"};
  first.foreignNames = {"bfloat16", "mixed-bfloat16"};
  Flag &second = flags.add("mixed-fp16", fp16, "the same with fp16");
  second.synonyms = {"fp16"};
  second.foreignNames = {"half", "float16", "mixed-float16"};
  flags
      .addChoice("precision", precision, "--mixed-bf16 or --mixed-fp16",
                 {"bf16", "fp16"})
      .foreignChoices = {
      {"bfloat16", "bf16"},      {"mixed-bfloat16", "bf16"},
      {"mixed-bf16", "bf16"},    {"bf16-mixed", "bf16"},
      {"half", "fp16"},          {"float16", "fp16"},
      {"mixed-float16", "fp16"}, {"mixed-fp16", "fp16"},
      {"16-mixed", "fp16"},
  };
  flags.addHint({"fp32", "float32", "float"},
                "a model stays in fp32 if neither --bf16 nor --fp16 is "
                "given");
  flags.addHint({"amp", "autocast", "mixed-precision", "mixed"},
                "--bf16 or --fp16 does that");
  flags.addHint({"int8", "fp8", "quantize"},
                "only bf16 and fp16 are supported: --bf16, --fp16");
}

Flag &addDeviceFlag(FlagTable &flags, StringRef help,
                    std::function<void(DeviceKind)> set) {
  Flag &row = flags.addChoice(
      "device", help, getDeviceWords(),
      [set = std::move(set)](size_t word) { set(DeviceKind(word)); });
  row.foreignChoices = {{"gpu", "cuda"}, {"nvidia", "cuda"}};
  return row;
}

/// Adds the flag of one member of a request.
template <typename Request>
static Flag &addField(FlagTable &flags, const RequestField<Request> &field,
                      Request &request) {
  auto add = [&](auto member) -> Flag & {
    auto &to = request.*member;
    using Type = std::decay_t<decltype(to)>;
    if constexpr (std::is_same_v<Type, std::vector<std::string>>)
      if (field.hasCommas)
        return flags.addCommas(field.flag, to, field.help, field.value);
    if constexpr (std::is_same_v<Type, std::string>)
      if (!field.choices.empty())
        return flags.addChoice(field.flag, to, field.help, field.choices);
    if constexpr (std::is_class_v<Type>)
      return flags.add(field.flag, to, field.help, field.value);
    else
      return flags.add(field.flag, to, field.help);
  };
  Flag &row = std::visit(add, field.member);
  for (StringRef name : field.foreignNames)
    if (!name.empty())
      row.foreignNames.push_back(name.str());
  return row;
}

static std::vector<std::string> listRuntimes() {
  std::vector<std::string> names = {"any"};
  for (StringRef name : RuntimeTable::getNames())
    names.push_back(name.str());
  return names;
}

PrecisionFlags::PrecisionFlags(FlagTable &flags, MixedPrecisionRequest &request,
                               std::vector<std::string> &dims,
                               CalibrationOptions *calibration)
    : flags(flags) {
  flags.beginGroup("Precision");
  addPrecisionFlags(flags, bf16, fp16, precision,
                    "bf16 where it is safe, fp32 elsewhere");
  for (const auto &field : PolicyRequest::getFields()) {
    if (field.flag.empty())
      continue;
    Flag &row = addField(flags, field, request.policy);
    if (field.flag == "policy")
      for (StringRef name : getKerasPolicies())
        row.words.push_back(name.str());
    if (field.flag == "io")
      row.words = {"fp16", "bf16", "fp32"};
  }
  for (const auto &field : MixedPrecisionRequest::getFields())
    // Sizes are not for mixed precision alone.
    if (field.flag == "dim")
      flags.addCommas(field.flag, dims, field.help, field.value);
    else if (field.flag == "runtime")
      addField(flags, field, request).words = listRuntimes();
    else
      addField(flags, field, request);
  if (!calibration)
    return;
  Flag &data = flags.add("calibrate", calibration->data,
                         "measure the values on data, which decide", "DATA");
  data.words = {"random"};
  flags.add("force-random", calibration->forcesRandom,
            "accept --calibrate=random");
  flags.addCommas("ranges", calibration->ranges,
                  "ranges to read or, with --calibrate, to write", "FILE");
}

Error PrecisionFlags::checkRanges(const MixedPrecisionRequest &request,
                                  const CalibrationOptions &calibration) const {
  bool isRandom = llvm::is_contained(calibration.data, "random");
  if (isRandom && calibration.data.size() > 1)
    return createStringError("--calibrate=random excludes other data");
  if (calibration.forcesRandom && !isRandom)
    return createStringError("--force-random needs --calibrate=random");
  if (!calibration.data.empty() && calibration.ranges.size() > 1)
    return createStringError("with --calibrate, --ranges is the one file that "
                             "is written; without it, files are read");
  if (llvm::is_contained(calibration.data, ""))
    return createStringError("--calibrate: expected a file or folder of data");
  if (llvm::is_contained(calibration.ranges, ""))
    return createStringError("--ranges: expected a file");
  if (flags.isGiven("head-room") && !(request.headRoom >= 1))
    return createStringError("--head-room: expected a factor from 1 on");
  return Error::success();
}

bool PrecisionFlags::isMixed() const {
  return bf16 || fp16 || !precision.empty() ||
         !flags.findGiven({"policy", "gaudi-config"}).empty();
}

/// --dla is the table of the accelerator that TensorRT drives.
static Error checkRuntime(MixedPrecisionRequest &request, bool isBF16) {
  if (request.dla) {
    auto [name, version] = StringRef(request.runtime).split(':');
    if (name != "tensorrt" && name != "tensorrt-dla")
      return createStringError("--dla needs --runtime=tensorrt[:VERSION]");
    request.runtime = "tensorrt-dla" + std::string(version.empty() ? "" : ":") +
                      version.str();
  }
  if (StringRef(request.runtime).starts_with("tensorrt-dla") && isBF16)
    return createStringError("the accelerator computes in fp16: expected "
                             "--mixed-fp16 with --dla");
  if (request.runtime == "any")
    request.runtime.clear();
  if (StringRef(request.runtime).starts_with("any:"))
    return createStringError("--runtime: 'any' has no versions");
  if (request.runtime.empty())
    return Error::success();
  auto profile = RuntimeProfile::create(request.runtime);
  return profile
             ? Error::success()
             : createStringError("--runtime: " + toString(profile.takeError()));
}

Error PrecisionFlags::check(MixedPrecisionRequest &request,
                            bool isMixed) const {
  bool isBF16 = bf16 || precision == "bf16",
       isFP16 = fp16 || precision == "fp16";
  if (isBF16 && isFP16)
    return createStringError(
        "--mixed-bf16 and --mixed-fp16 exclude each other");
  if (request.opsetLimit < 1)
    return createStringError("--opset-limit: expected an opset of at least 1");
  if (!isMixed && !flags.findGivenOf("Precision", alone).empty())
    return createStringError("options of mixed precision need --mixed-bf16, "
                             "--mixed-fp16 or --policy");
  if (isBF16 || isFP16)
    request.policy.precision = isBF16 ? "bf16" : "fp16";
  std::vector<PolicyEntry> rules;
  for (StringRef text : request.policy.io)
    if (Error failed = addInterfaceRules(text, "--io", rules))
      return failed;
  return checkRuntime(request, isBF16);
}

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

/// Splits a list for messages, "a, b, c:NAME", into values or prefixes of
/// values.
static std::vector<std::string> splitNames(StringRef names) {
  SmallVector<StringRef> parts;
  names.split(parts, ", ");
  std::vector<std::string> words;
  for (StringRef part : parts) {
    part.consume_back("NAME");
    words.push_back(part.str());
  }
  return words;
}

TrainingFlags::TrainingFlags(FlagTable &flags, TrainingRequest &request)
    : request(request), flags(flags) {
  flags.beginGroup("Training");
  flags.add("train", train, "make a training step");
  for (const auto &field : TrainingRequest::getFields()) {
    Flag &row = addField(flags, field, request);
    if (field.flag == "loss")
      row.words = splitNames(getLossNames());
    else if (field.flag == "optimizer")
      row.words = splitNames(getOptimizerNames() + ", none");
  }
  flags.addHint({"epochs", "steps", "max-steps", "batch", "batch-size", "data",
                 "checkpoint", "resume"},
                "'mp-run train' trains with the step that mp-opt makes: see "
                "mp-run train --help");
  flags.add("loss-scale", lossScale, "none, a number or dynamic", "SCALE")
      .words = {"none", "dynamic"};
}

static Error error(const Twine &message) { return createStringError(message); }

Error TrainingFlags::check(bool isMixed) const {
  StringRef ofStep = flags.findGivenOf("Training", {"train", "loss-scale"});
  if (!train && !ofStep.empty())
    return error("--" + ofStep + " needs --train");
  if (flags.isGiven("loss-scale") && !train && !isMixed)
    return error("--loss-scale needs --train, --mixed-bf16, --mixed-fp16 or "
                 "--policy");
  if (train && flags.isGiven("io"))
    return error("--io is for models, not for training steps, whose states "
                 "are fp32");
  if (train && request.loss.empty() && !ofStep.empty())
    return error("--" + ofStep + " needs --loss: without it the " +
                 "model's training_info says what is done");
  // A bound of zero is not valid.
  for (auto [flag, bound] : {std::pair("clip-norm", request.clipNorm),
                             std::pair("clip-value", request.clipValue)})
    if (flags.isGiven(flag) && bound == 0)
      return error("--" + Twine(flag) + ": expected a positive number");
  if (Error failed = checkTraining(request))
    return failed;
  if (request.syncBatchNorm && !request.distribute)
    return error("--sync-batch-norm needs --distribute");
  if (request.optimizer == "none" &&
      !flags
           .findGiven({"lr", "weight-decay", "clip-norm", "clip-value",
                       "accumulate", "group", "average", "distribute"})
           .empty())
    return error("--optimizer=none makes no update: --lr, "
                 "--weight-decay, --clip-norm, --clip-value, --accumulate, "
                 "--group, --average and --distribute do not apply");
  return lossScale == "auto" ? Error::success() : LossScale().parse(lossScale);
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

CodeFlags::CodeFlags(FlagTable &flags, CodeOptions &options) : flags(flags) {
  flags.beginGroup("Code");
  flags.add("target", target, "system or GPUs that code is made for",
            "TRIPLE|sm_80,...");
  flags.add("cpu", options.target.cpu, "processor that code is made for",
            "NAME");
  flags.addChoice("kernels", kernels, "how 16-bit operands are multiplied",
                  getKernelWords());
  flags.add("in-place", options.inPlace, "write next states over their inputs");
  flags.add("symbols", options.symbols, "prefix of names in C", "PREFIX");
  flags.add("cc", options.linker, "program that links libraries", "PROGRAM");
  flags.add("runtime-library", options.runtime,
            "run-time library of another target", "FILE");
}

/// The meaning of --target depends on --device.
Error CodeFlags::checkTarget(CodeOptions &options) const {
  if (options.device == DeviceKind::CPU) {
    options.target.triple = target;
    return StringRef(target).starts_with("sm_")
               ? error("--target=" + target + " needs --device=cuda")
               : Error::success();
  }
  StringRef device = stringifyDevice(options.device);
  StringRef other = flags.findGiven({"kernels", "runtime-library"});
  if (options.device == DeviceKind::Emulated && flags.isGiven("target"))
    other = "target";
  if (options.device == DeviceKind::CUDA && flags.isGiven("cpu"))
    other = "cpu";
  if (!other.empty())
    return error("--" + other + " is not for --device=" + device);
  if (options.device != DeviceKind::CUDA)
    return Error::success();
  auto gpus = parsePTXTargets(target.empty() ? "sm_80,sm_90a" : target);
  if (!gpus)
    return error("--target: " + toString(gpus.takeError()) +
                 " (':cubin' after one is machine code, by CUDA's ptxas)");
  options.gpus = std::move(*gpus);
  return Error::success();
}

Error CodeFlags::check(CodeOptions &options, bool isCode) const {
  StringRef given = flags.findGivenOf("Code");
  if (!isCode && !given.empty())
    return createStringError("--" + given + " needs --emit=llvm, obj or lib");
  options.kernels = cantFail(parseKernels(kernels));
  if (isCode)
    if (Error failed = checkTarget(options))
      return failed;
  if (flags.isGiven("symbols") && options.symbols != getCName(options.symbols))
    return createStringError("--symbols: expected the start of a name of C, "
                             "found '" +
                             options.symbols + "'");
  if (isReservedCName(options.symbols))
    return createStringError("--symbols: '" + options.symbols +
                             "': 'mp' and 'mp_...' are the run time's names, "
                             "expected another start");
  return Error::success();
}

} // namespace mp
