//===- Passes.td - Passes that make training steps ---------*- tablegen -*-===//
//
// Part of mp-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PASSES_AUTODIFF_PASSES_TD
#define MPOPT_PASSES_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

class TrainingPass<string flag> : Pass<flag, "::mlir::ModuleOp"> {
  let dependentDialects = ["::mp::onnxir::ONNXDialect",
                           "::mp::training::MPDialect"];
}

def AddLoss : TrainingPass<"mp-add-loss"> {
  let summary = "Add a loss to a forward graph";
  let description = [{
    After: the graph's first output is the loss, a scalar, of the output that
    `loss` names or of its first float output; what it is compared with is the
    input `labels`. The graph is marked `mp.loss`, the nodes that were added
    `mp.hazard`: they stay fp32.

    Example: test/Autodiff/mp-add-loss.mlir
  }];
  let options = [
    Option<"loss", "loss", "std::string", /*default=*/"\"\"",
           "softmax-cross-entropy, mse, bce or nll, each with :NAME of an "
           "output; or output:NAME">,
    Option<"classAxis", "class-axis", "int64_t", /*default=*/"1",
           "axis of the classes">,
  ];
}

def AddOptimizer : TrainingPass<"mp-add-optimizer"> {
  let summary = "Add an optimizer to a graph with gradients";
  let description = [{
    Before: `mp-differentiate`. After: each parameter, each state of the
    optimizer, the count of steps and the learning rate are inputs of the graph
    with defaults; each but the learning rate has an `mp.update`, which is an
    output called NAME_new.

    `clip-norm` bounds the norm of all gradients together. With `accumulate`,
    the mean of so many steps' gradients makes one update.

    Example: test/Autodiff/mp-add-optimizer.mlir
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", /*default=*/"\"sgd\"",
           "sgd, momentum, nesterov, adam, adamw, adagrad or lamb, with "
           "numbers as in adamw:beta2=0.95,eps=1e-6">,
    Option<"learningRate", "lr", "double", /*default=*/"0.001",
           "default of the learning rate">,
    Option<"weightDecay", "weight-decay", "double", /*default=*/"0.0",
           "decay of the parameters">,
    Option<"clipNorm", "clip-norm", "double", /*default=*/"0.0",
           "bound of the gradients' norm; 0 for none">,
    Option<"accumulate", "accumulate", "int64_t", /*default=*/"1",
           "steps whose gradients are averaged for one update">,
  ];
}

def InlineTraining : TrainingPass<"mp-inline-training"> {
  let summary = "Move the algorithms of training_info into the main graph";
  let description = [{
    After: there is no `onnx.training`; the nodes of its algorithm are at the
    end of the main graph, its inputs are the graph's, its outputs too.
    Initializers with an update_binding are inputs with defaults, and have an
    `mp.update`, whose group is the number of the entry.

    Names that an algorithm or a binding takes and nobody defines are errors.
    An initialization is left out, with a warning.

    Example: test/Autodiff/mp-inline-training.mlir
  }];
}

def ExpandTraining : TrainingPass<"mp-expand-training"> {
  let summary = "Write Gradient and the standard's optimizers in other ops";
  let description = [{
    After: the main graph has no node of ai.onnx.preview.training. A Gradient
    is the backward pass that it stands for, from an `mp.loss_seed` to an
    `mp.gradient` for each result; where its operands are not the values that
    it names, of a copy of the graph. Adam, Momentum and Adagrad are their
    specification's formulas.

    Example: test/Autodiff/mp-expand-training.mlir
  }];
}

def Differentiate : TrainingPass<"mp-differentiate"> {
  let summary = "Add the backward pass of a loss";
  let description = [{
    Before: the main graph has the value `loss` (or the one that `mp-add-loss`
    has marked), a float of one element; the opset is 18 at least. After: the
    graph holds the gradients of its parameters, each an operand of an
    `mp.gradient`; the backward pass starts at an `mp.loss_seed`. Parameters
    are graph inputs, their values defaults of the same names; so are the
    running statistics of BatchNormalization in training mode, whose new values
    are `mp.update`s.

    Parameters are the float initializers of rank one or more that the loss
    depends on, without those whose names `freeze` matches. With `wrt`, these
    inputs and initializers take their place. Gradients are written in the
    com.microsoft training vocabulary where it has an operator.

    An operator without a rule on the way is an error that names it and the
    way; so is a parameter that the loss depends on only through operators
    without a derivative or whose value is not finite, or a loss that depends
    on no parameter.

    Example: test/Autodiff/mp-differentiate.mlir
  }];
  let options = [
    Option<"loss", "loss", "std::string", /*default=*/"\"\"",
           "name of the value to differentiate">,
    ListOption<"freeze", "freeze", "std::string",
               "patterns for names of parameters that are not trained">,
    ListOption<"wrt", "wrt", "std::string",
               "names of what to differentiate with respect to">,
    Option<"outputs", "outputs", "bool", /*default=*/"false",
           "make the gradients outputs of the graph, named NAME_grad">,
  ];
}

def DecomposeGradients : TrainingPass<"onnx-decompose-gradients"> {
  let summary = "Write gradient operators in standard ONNX";
  let description = [{
    Before: any model. After: no node of the com.microsoft training vocabulary
    is left in the main graph, its subgraphs and the functions, but optimizers
    and accumulators that update their operands in place; the domain's import
    goes with its last node. An operator of that vocabulary that cannot be
    expressed as it is used is an error.

    With `contractions`, only those that become convolutions are rewritten:
    before the precision passes, which know these.

    Example: test/Autodiff/onnx-decompose-gradients.mlir
  }];
  let options = [
    Option<"contractions", "contractions", "bool", /*default=*/"false",
           "only what becomes convolutions">,
  ];
}

#endif // MPOPT_PASSES_AUTODIFF_PASSES_TD
