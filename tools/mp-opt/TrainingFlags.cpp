//===- TrainingFlags.cpp - What the command line says of training ---------===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainingFlags.h"

#include "mp-opt/Training/LossScaling.h"
#include "mp-opt/Training/Optimizers.h"

#include "llvm/Support/raw_ostream.h"

#include <cmath>

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

static Error error(const Twine &message) { return createStringError(message); }

Error TrainingFlags::checkOptimizer() const {
  const std::reference_wrapper<const cl::Option> ofUpdates[] = {
      learningRate, weightDecay, clipNorm, clipValue,
      accumulate,   groups,      average};
  if (optimizer == "none") {
    for (const cl::Option &option : ofUpdates)
      if (option.getNumOccurrences())
        return error("--optimizer=none: no update is made that --lr, "
                     "--weight-decay, --clip-norm, --clip-value, --accumulate, "
                     "--group or --average could speak of");
    return Error::success();
  }
  OptimizerSettings settings;
  if (Error failed = settings.parse(optimizer))
    return failed;
  for (const std::string &group : groups)
    if (Error failed = settings.addGroup(group))
      return failed;
  return settings.parseAverage(average);
}

Error TrainingFlags::check(bool isMixed) const {
  const std::reference_wrapper<const cl::Option> ofSteps[] = {
      loss,   classAxis,  optimizer,       learningRate, clipNorm, clipValue,
      freeze, accumulate, weightDecay,     groups,       average,  trainOnly,
      tie,    untie,      straightThrough, fixed};
  for (const cl::Option &option : ofSteps)
    if (!train && option.getNumOccurrences())
      return error("--" + option.ArgStr + " needs --train");
  if (lossScale.getNumOccurrences() && !train && !isMixed)
    return error("--loss-scale needs --train, --mixed-bf16, --mixed-fp16 or "
                 "--policy");
  for (const cl::Option &option : ofSteps)
    if (train && loss.empty() && option.getNumOccurrences())
      return error("--" + option.ArgStr + " needs --loss: without it the " +
                   "model's training_info says what is done");
  if (!(learningRate > 0) || !std::isfinite(learningRate))
    return error("--lr: expected a positive number");
  if (!(weightDecay >= 0) || !std::isfinite(weightDecay))
    return error("--weight-decay: expected a number from 0 on");
  if (clipNorm.getNumOccurrences() &&
      (!(clipNorm > 0) || !std::isfinite(clipNorm)))
    return error("--clip-norm: expected a positive number");
  if (clipValue.getNumOccurrences() &&
      (!(clipValue > 0) || !std::isfinite(clipValue)))
    return error("--clip-value: expected a positive number");
  if (accumulate < 1)
    return error("--accumulate: expected a count from 1 on");
  if (Error failed = checkOptimizer())
    return failed;
  return lossScale == "auto" ? Error::success() : LossScale().parse(lossScale);
}

void TrainingFlags::fill(TrainingOptions &options) const {
  options.loss = loss;
  options.classAxis = classAxis.getValue();
  options.trainOnly = trainOnly;
  options.freeze = freeze;
  options.tie = tie;
  options.untie = untie;
  options.fixed = fixed;
  options.straightThrough = straightThrough.getValue();
  options.optimizer = optimizer.getValue();
  options.learningRate = learningRate.getValue();
  options.weightDecay = weightDecay.getValue();
  options.clipNorm = clipNorm.getValue();
  options.clipValue = clipValue.getValue();
  options.group = groups;
  options.average = average.getValue();
  options.accumulate = accumulate.getValue();
}

} // namespace mp
