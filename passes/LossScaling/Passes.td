//===- Passes.td - Passes that scale losses ----------------*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_LOSSSCALING_PASSES_TD
#define MPOPT_PASSES_LOSSSCALING_PASSES_TD

include "mlir/Pass/PassBase.td"

class LossScalingPass<string flag> : Pass<flag, "::mlir::ModuleOp"> {
  let dependentDialects = ["::mp::onnxir::ONNXDialect",
                           "::mp::MPDialect"];
}

def InjectLossScaling : LossScalingPass<"mp-inject-loss-scaling"> {
  let summary = "Scale losses, unscale gradients, skip steps that overflow";
  let description = [{
    Before: a graph that trains. After: the value that starts its backward pass
    is multiplied by the loss scale, and every gradient is divided by it, in
    fp32, at the end of the backward pass, which an `mp.gradient` marks. All
    gradients are tested, scaled and unscaled, before the first update; if one
    is not finite, no update of the step changes a state. With a dynamic scale,
    it and its counters are inputs and outputs of the graph: `loss_scale` and
    `loss_scale.clean_steps`, `.tolerance`, `.skipped_steps`.

    Graphs of onnxruntime (operators that accumulate gradients into inputs) are
    recognised by their schemas and dataflow. There the optimizer is a separate
    model; in it, operators that take gradients and have an input to skip the
    update skip it if a gradient is not finite. With a dynamic scale,
    `.window_finite` and `.window_steps` are states too, and the scale changes
    where `lazy_reset_grad` starts a new window; states have no defaults, since
    sessions of that runtime do not feed inputs that have defaults.

    Graphs that do not train stay as they are. The scale is a number or
    `dynamic`. `auto` scales only if the module says that fp16 is the 16-bit
    type, and only steps that mp-opt makes: dynamically, or by 1024 if they only
    return gradients. Graphs that came with a backward pass may be scaled
    already; they are scaled only on request.

    Example: test/LossScaling/mp-inject-loss-scaling.mlir
  }];
  let options = [
    Option<"lossScale", "loss-scale", "std::string", /*default=*/"\"auto\"",
           "none, a number, auto, or dynamic with settings: init, "
           "growth-factor, backoff-factor, growth-interval, hysteresis, floor, "
           "cap">,
  ];
}

def ExpandLossScaling : LossScalingPass<"mp-expand-loss-scaling"> {
  let summary = "Write the mp dialect in standard ONNX ops";
  let description = [{
    After: no op of the mp dialect is left except `mp.all_reduce`, and no mark
    of passes. Updates become a Where on their condition, the finite test
    becomes one sum over all gradients, and the scale's update becomes a few ops
    on scalars. All of these are fp32.

    Example: test/LossScaling/mp-expand-loss-scaling.mlir
  }];
}

#endif // MPOPT_PASSES_LOSSSCALING_PASSES_TD
