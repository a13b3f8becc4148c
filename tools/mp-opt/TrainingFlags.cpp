//===- TrainingFlags.cpp - What the command line says of training ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingFlags.h"

#include "mp-opt/Training/LossScaling.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mp {

static constexpr StringLiteral help =
    R"(mp-opt --train: a training step of a forward model

usage: mp-opt INPUT --train --loss=LOSS [--optimizer=NAME] [--mixed-bf16 |
              --mixed-fp16] -o OUTPUT [options]

       mp-opt INPUT --train [--mixed-bf16 | --mixed-fp16] -o OUTPUT
              the step that the model's training_info describes

The result is one model: batch, parameters and state in; loss, updated
parameters and state out. Parameters and states are inputs with defaults; the
output NAME_new is what the input NAME is in the next step.

  --loss=LOSS           softmax-cross-entropy  scores [N, C, ...], classes int64
                        nll                    the same of log-probabilities
                        mse, l1, smooth-l1, huber   a target like the output
                        bce                    probabilities of 0 and 1
                        bce-with-logits        the same before the sigmoid
                        kl-div                 log-probabilities, probabilities
                        output:NAME            the model computes it already
                        LOSS:NAME takes the output NAME, not the first one. What
                        it is compared with is the input 'labels'. Settings come
                        last: mse:y:weight=0.5,reduction=sum
                          weight=W, labels=INPUT, reduction=mean|sum (kl-div:
                          batchmean), class-axis=N, ignore-index=LABEL,
                          label-smoothing=S, weights=A,B,...|@FILE of classes,
                          beta=B (smooth-l1), delta=D (huber), pos-weight=P,...
                        Repeated, the loss is the weighted sum of all; the
                        second is compared with 'labels_2', and so on
  --class-axis=N        axis of the classes (default: 1)
  --optimizer=NAME      sgd (default), momentum, nesterov, adam, adamw, adagrad,
                        lamb; with numbers as in adamw:beta2=0.95,eps=1e-6; or
                        none: the gradients become outputs
  --lr=RATE             default of the input 'learning_rate' (default: 0.001)
  --weight-decay=D      decay of the parameters (default: 0)
  --group=REGEX:KEY=N,...  other settings for the parameters of these names:
                        weight-decay, lr-scale (a factor), lr (while the step's
                        is --lr; both follow it), numbers of the optimizer; of
                        several that match, the last one that says it counts
  --clip-value=V        bound of each element of the gradients, and then
  --clip-norm=NORM      bound of the norm of all gradients together
  --accumulate=N        steps whose mean gradient makes one update
  --average=ema:decay=D states NAME.ema: moving averages of the parameters
  --train-only=REGEX    parameters, by name, that are trained (repeatable); or
                        @FILE, one name a line, as of torch's named_parameters
  --freeze=REGEX        parameters that are not trained; or @FILE (repeatable)
  --tie=NAME,NAME       equal initializers that become one parameter
  --untie=REGEX         parameters of which each module gets a copy
  --fix=NAME=SIZE,...   the step is for this size of a named dimension, or value
                        of an input that is a whole number: branches that depend
                        on it are settled
  --straight-through    gradients pass by pairs of QuantizeLinear and
                        DequantizeLinear, where nothing is clipped: what
                        quantization-aware training calls fake quantization
  --loss-scale=SCALE    none, a number, or dynamic (the default for fp16; bf16
                        needs none), which takes settings: dynamic:init=65536,
                        growth-factor=2,backoff-factor=0.5,growth-interval=2000,
                        hysteresis=1,floor=1,cap=16777216

Parameters are the float constants with the role of a weight, bias, scale,
embedding, position or token; the table at the end and --summary=json say what
is trained, and what is not and why. A list in the model's metadata (keys
mp-opt.parameters and mp-opt.buffers) decides where there is no --train-only.
Training graphs of onnxruntime are scaled where --loss-scale is given; the
state of a dynamic scale is for the caller to feed back.

Example:
  mp-opt net.onnx --train --loss=softmax-cross-entropy --optimizer=adamw \
         --lr=3e-4 --clip-norm=1 --mixed-fp16 -o step.onnx
)";

void printTrainingHelp() { outs() << help; }

void TrainingFlags::addTo(FlagSet &flags, TrainingRequest &request) {
  flags.add("train", train, "make a training step");
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
  flags.add("loss-scale", lossScale, "none, a number or dynamic");
}

static Error error(const Twine &message) { return createStringError(message); }

Error TrainingFlags::check(const FlagSet &flags, const TrainingRequest &request,
                           bool isMixed) const {
  StringRef ofStep = flags.findGiven(
      {"loss", "class-axis", "optimizer", "lr", "clip-norm", "clip-value",
       "freeze", "accumulate", "weight-decay", "group", "average", "train-only",
       "tie", "untie", "straight-through", "fix"});
  if (!train && !ofStep.empty())
    return error("--" + ofStep + " needs --train");
  if (flags.isGiven("loss-scale") && !train && !isMixed)
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

} // namespace mp
