//===- OptionGroups.cpp - Flags of one thing each -------------------------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptionGroups.h"

#include "mp-opt/Training/LossScaling.h"

using namespace llvm;

namespace mp {

//===----------------------------------------------------------------------===//
// Precision
//===----------------------------------------------------------------------===//

PrecisionFlags::PrecisionFlags(FlagSet &main, MixedPrecisionRequest &request) {
  for (const PolicyField &field : getPolicyFields()) {
    StringRef value = field.namesFiles ? "file" : "";
    if (field.flag.empty())
      continue;
    // A file that holds a policy says itself that precision is mixed.
    if (field.text)
      main.add(field.flag, request.policy.*field.text, field.help, value);
    else if (field.isOn)
      flags.add(field.flag, request.policy.*field.isOn, field.help);
    else if (field.hasCommas)
      flags.addCommas(field.flag, request.policy.*field.list, field.help);
    else
      flags.add(field.flag, request.policy.*field.list, field.help, value);
  }
  main.add("mixed-bf16", bf16, "mixed precision with bf16");
  main.add("mixed-fp16", fp16, "mixed precision with fp16");
  flags.add("assign", request.assign, "rule between allow and deny", "rule");
  flags.add("min-saving", request.minSaving,
            "percentage that a 16-bit region must save", "percent");
  flags.add("max-weight-copy", request.maxWeightCopy,
            "bytes up to which weights are stored in both types");
  flags.add("opset-limit", request.opsetLimit, "newest opset to raise to");
}

Error PrecisionFlags::check(MixedPrecisionRequest &request,
                            bool isMixed) const {
  if (bf16 && fp16)
    return createStringError(
        "--mixed-bf16 and --mixed-fp16 exclude each other");
  if (request.opsetLimit < 1)
    return createStringError("--opset-limit: expected an opset of at least 1");
  if (!isMixed && !flags.findGiven().empty())
    return createStringError("options of mixed precision need --mixed-bf16, "
                             "--mixed-fp16 or --policy");
  if (bf16 || fp16)
    request.policy.precision = bf16 ? "bf16" : "fp16";
  return flags.checkValues();
}

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

TrainingFlags::TrainingFlags(FlagSet &main, TrainingRequest &request)
    : request(request), main(main) {
  flags.add("loss", request.loss, "what is minimized");
  flags.add("class-axis", request.classAxis, "axis of the loss's classes");
  flags.add("optimizer", request.optimizer, "optimizer with its numbers");
  flags.add("lr", request.learningRate, "learning rate");
  flags.add("weight-decay", request.weightDecay, "decay of the parameters");
  flags.add("clip-norm", request.clipNorm, "bound of the gradients' norm");
  flags.add("clip-value", request.clipValue,
            "bound of the gradients' elements");
  flags.add("group", request.groups, "settings of parameters by their names");
  flags.add("average", request.average, "average of the parameters");
  flags.add("accumulate", request.accumulate,
            "steps whose gradients make one update");
  flags.add("train-only", request.trainOnly, "parameters that are trained",
            "regex|@file");
  flags.add("tie", request.tie, "initializers that become one parameter",
            "name,name");
  flags.add("untie", request.untie, "parameters that modules get copies of",
            "regex");
  flags.add("freeze", request.freeze, "parameters that are not trained",
            "regex|@file");
  flags.addCommas("fix", request.fixed, "sizes of inputs that the step is for",
                  "NAME=SIZE");
  flags.add("straight-through", request.straightThrough,
            "pass gradients by quantization that is undone at once");
  main.add("train", train, "make a training step");
  main.add("loss-scale", lossScale, "none, a number or dynamic");
}

static Error error(const Twine &message) { return createStringError(message); }

Error TrainingFlags::check(bool isMixed) const {
  StringRef ofStep = flags.findGiven();
  if (!train && !ofStep.empty())
    return error("--" + ofStep + " needs --train");
  if (main.isGiven("loss-scale") && !train && !isMixed)
    return error("--loss-scale needs --train, --mixed-bf16, --mixed-fp16 or "
                 "--policy");
  if (train && request.loss.empty() && !ofStep.empty())
    return error("--" + ofStep + " needs --loss: without it the " +
                 "model's training_info says what is done");
  // Zero would be no bound.
  for (auto [flag, bound] : {std::pair("clip-norm", request.clipNorm),
                             std::pair("clip-value", request.clipValue)})
    if (flags.isGiven(flag) && bound == 0)
      return error("--" + Twine(flag) + ": expected a positive number");
  if (Error failed = checkTraining(request))
    return failed;
  if (request.optimizer == "none" &&
      !flags
           .findGiven({"lr", "weight-decay", "clip-norm", "clip-value",
                       "accumulate", "group", "average"})
           .empty())
    return error("--optimizer=none: no update is made that --lr, "
                 "--weight-decay, --clip-norm, --clip-value, --accumulate, "
                 "--group or --average could speak of");
  return lossScale == "auto" ? Error::success() : LossScale().parse(lossScale);
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

CodeFlags::CodeFlags(CodeOptions &options) {
  flags.add("target", options.target.triple, "system that code is made for",
            "triple");
  flags.add("cpu", options.target.cpu, "processor that code is made for",
            "name");
  flags.add("kernels", kernels, "how 16-bit operands are multiplied");
  flags.add("in-place", options.inPlace, "write next states over their inputs");
  flags.add("symbols", options.symbols, "start of names in C", "prefix");
  flags.add("cc", options.linker, "links libraries", "program");
  flags.add("runtime", options.runtime, "run-time library of another target",
            "file");
}

Error CodeFlags::check(CodeOptions &options, bool isCode) const {
  StringRef given = flags.findGiven();
  if (!isCode && !given.empty())
    return createStringError("--" + given + " needs --emit=llvm, obj or lib");
  Expected<KernelChoice> choice = parseKernels(kernels);
  if (!choice)
    return createStringError("--kernels: " + toString(choice.takeError()));
  options.kernels = *choice;
  if (flags.isGiven("symbols") && options.symbols != getCName(options.symbols))
    return createStringError("--symbols: expected the start of a name of C, "
                             "found '" +
                             options.symbols + "'");
  return flags.checkValues();
}

} // namespace mp
